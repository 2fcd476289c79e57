package block

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/internal/turns/reduce"
	"github.com/meup-protocol/meup/protocol"
)

// Bounds of the details that are kept of one envelope.
const (
	maxDetails = 16
	maxDetail  = 1 << 10 // bytes of one text
)

// Refer describes referenced envelopes for display.
type Refer func(ids []string) []string

// Details returns the metadata of the reasoning, the estimated duration beside the
// actual one, and its references.
func (d *Reasoning) Details() []api.Detail {
	r := api.Reasoning{Metadata: d.metadata, References: d.references}
	if d.State != Thinking && !d.Start.IsZero() {
		r.StartedAt, r.CompletedAt = protocol.Time{Time: d.Start}, &protocol.Time{Time: d.End}
	}
	return bound(r.Details())
}

// detailsOf returns the details of a step; of the outermost start, Details returns
// them.
func (d *Reasoning) detailsOf(env *protocol.Envelope, text string, refer Refer) []api.Detail {
	if !env.Kind.IsReasoning() || env.Kind == protocol.KindReasoningCancel {
		return nil
	}
	found := reduce.ReadReasoningDetails(env.ParsePayload())
	refs := refer(found.Note.References)
	switch {
	case env.ID == d.begun:
		return nil
	case env.Kind == protocol.KindReasoningStart:
		r := api.Reasoning{Metadata: boundMetadata(found.Metadata), References: refs}
		return bound(r.Details())
	case env.Kind.ClosesContext():
		found.Conclusion.References = refs
		if found.Conclusion.Decision == text {
			found.Conclusion.Decision = ""
		}
		return bound(found.Conclusion.Details())
	}
	found.Note.References = refs
	return bound(found.Note.Details())
}

// boundMetadata drops the values beyond the bound, in the order of their keys.
func boundMetadata(all map[string]json.RawMessage) map[string]json.RawMessage {
	for i, key := range slices.Sorted(maps.Keys(all)) {
		if i >= maxDetails {
			delete(all, key)
		}
	}
	return all
}

func bound(list []api.Detail) []api.Detail {
	list = list[:min(len(list), maxDetails+1)] // references come last
	for i := range list {
		list[i].Text = textutil.Shorten(list[i].Text, maxDetail)
	}
	return list
}
