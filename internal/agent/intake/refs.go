package intake

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/protocol"
)

// EnvelopeRefs assigns short ids to the envelopes of a question that a planner may
// refer to. It is safe for concurrent use.
type EnvelopeRefs struct {
	mu  sync.Mutex
	ids []protocol.ID
}

// Add returns the short id of an envelope.
func (r *EnvelopeRefs) Add(id protocol.ID) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.Index(r.ids, id)
	if i < 0 {
		i = len(r.ids)
		r.ids = append(r.ids, id)
	}
	return fmt.Sprintf("e%d", i+1)
}

// find returns the short id of an envelope; "" if it has none.
func (r *EnvelopeRefs) find(id protocol.ID) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.Index(r.ids, id); i >= 0 {
		return fmt.Sprintf("e%d", i+1)
	}
	return ""
}

// Resolve returns the envelope of a short id, or of its full id.
func (r *EnvelopeRefs) Resolve(ref string) (protocol.ID, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, id := range r.ids {
		if ref == fmt.Sprintf("e%d", i+1) || ref == string(id) {
			return id, true
		}
	}
	return "", false
}

// ResolveAll returns the envelopes of the ids that exist.
func (r *EnvelopeRefs) ResolveAll(list []string) []protocol.ID {
	var ids []protocol.ID
	for _, ref := range list {
		if id, ok := r.Resolve(strings.TrimSpace(ref)); ok && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// Evidence replaces the ids in a list of texts by the envelopes' ids, and shortens
// the others.
func (r *EnvelopeRefs) Evidence(list []string) []string {
	var out []string
	for _, text := range list {
		if id, ok := r.Resolve(text); ok {
			text = string(id)
		}
		out = append(out, textutil.ShortenChars(text, maxText))
	}
	return out
}
