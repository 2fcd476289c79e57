package admission

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/meup-protocol/meup/internal/exchange"
	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/protocol"
)

// Clients of the dialects meup/v0.2 and mew/v0.4 count their ids from 1 in each
// process, so a restarted client uses the ids of its predecessor again. The
// second envelope with an id NAME is stored as again-2-HASH(NAME), the third as
// again-3-…: the journal's index of ids finds them all, and the journal rejects a number
// that is taken. Clients of those dialects see NAME.

const againPrefix = "again-"

// maxReuseChecks bounds how many of the envelopes with the same id, newest first,
// are compared with a new one.
const maxReuseChecks = 8

// reusedID returns the id under which the n-th envelope with an id is stored.
func reusedID(id protocol.ID, n int) protocol.ID {
	if n <= 1 {
		return id
	}
	hash := sha256.Sum256([]byte(id))
	return protocol.ID(againPrefix + strconv.Itoa(n) + "-" + hex.EncodeToString(hash[:16]))
}

// note returns the Note of the candidate's entry.
func (p *candidate) note() []byte { return p.spelling.Note(p.tokenHash, p.reason) }

// countUses returns how many envelopes have the id as their senders wrote it.
func (s *View) countUses(ctx context.Context, id protocol.ID) (int, error) {
	var failed error
	isFree := func(n int) bool {
		_, err := s.find(ctx, reusedID(id, n))
		if err != nil && !errors.Is(err, journal.ErrNotFound) {
			failed = err
		}
		return err != nil
	}
	high := 1
	for !isFree(high) {
		high *= 2
	}
	low := high / 2
	n := low + sort.Search(max(0, high-low-1), func(i int) bool { return isFree(low + 1 + i) })
	return n, failed
}

// assignID sets the id under which an envelope of those dialects is stored, if
// its sender sent one, or answers it as a retry. above is how many uses of the id
// the journal is known to have.
func (b *batch) assignID(ctx context.Context, p *candidate, above int) error {
	id := p.In.Envelope.ID
	uses, err := b.space.countUses(ctx, id)
	if err != nil {
		return err
	}
	uses = max(uses, above)
	for n := uses; n > max(0, uses-maxReuseChecks); n-- {
		x, err := b.space.find(ctx, reusedID(id, n))
		if errors.Is(err, journal.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if x.envelope.From == b.from.ID && x.spelling.Sum == p.spelling.Sum {
			b.answerRetry(p, x.envelope.Seq)
			return nil
		}
	}
	p.use = uses + 1
	for _, w := range b.waiting { // in the same burst
		if w.In.Envelope.ID != id || w == p {
			continue
		}
		p.use = w.use + 1
		if w.spelling.Sum == p.spelling.Sum {
			p.use = w.use // the journal finds the retry
			break
		}
	}
	if p.use > 1 {
		p.spelling.ID = id
	}
	p.draft.Envelope.ID = reusedID(id, p.use)
	return nil
}

// reassignID handles a draft whose id is already in the journal. It reports
// whether the envelope was handled: it is pending under the next id, or was
// answered as a retry.
func (b *batch) reassignID(ctx context.Context, p *candidate) (bool, error) {
	x, err := b.space.find(ctx, p.draft.Envelope.ID)
	if err != nil {
		return false, err
	}
	if x.envelope.From == b.from.ID && x.spelling.Sum == p.spelling.Sum {
		return false, nil
	}
	if err := b.assignID(ctx, p, p.use); err != nil || p.retry {
		return p.retry, err
	}
	p.draft.Private = p.note()
	b.waiting = append(b.waiting, p)
	return true, nil
}

// referenced returns the stored id of the envelope that e refers to by an id that
// several envelopes may have. Another participant may have used the id in order
// to receive an answer, so the choice prefers, in this order: envelopes that the
// sender of e can see; of a kind that e can refer to; of a recipient of e; of
// the sender of e; of the participant that used the id first; the newest.
func (b *batch) referenced(ctx context.Context, e *protocol.Envelope, id protocol.ID, kinds ...protocol.Kind) (protocol.ID, error) {
	// The envelopes with the id as their senders wrote it: the pending ones, the
	// newest maxReuseChecks of the log and the first, newest first.
	var list []parent
	for i := len(b.waiting) - 1; i >= 0; i-- {
		if p := b.waiting[i]; p.In.Envelope.ID == id {
			list = append(list, parent{&p.draft.Envelope, p.draft.Audience, p.spelling, p.draft.Parsed, p.draft.Settles})
		}
	}
	uses, err := b.space.countUses(ctx, id)
	if err != nil {
		return id, err
	}
	for n := uses; n > 0; n-- {
		if n <= uses-maxReuseChecks {
			n = 1
		}
		x, err := b.space.find(ctx, reusedID(id, n))
		if errors.Is(err, journal.ErrNotFound) {
			continue
		}
		if err != nil {
			return id, err
		}
		list = append(list, x)
	}
	if len(list) == 0 {
		return id, nil
	}
	first := list[len(list)-1].envelope.From
	for _, prefer := range []func(*parent) bool{
		b.from.sees,
		func(x *parent) bool { return slices.Contains(kinds, x.envelope.Kind) },
		func(x *parent) bool { return slices.Contains(e.To, x.envelope.From) },
		func(x *parent) bool { return x.envelope.From == b.from.ID },
		func(x *parent) bool { return x.envelope.From == first },
	} {
		var preferred []parent
		for i := range list {
			if prefer(&list[i]) {
				preferred = append(preferred, list[i])
			}
		}
		if len(preferred) > 0 {
			list = preferred
		}
	}
	return list[0].envelope.ID, nil
}

// resolve replaces the ids in an envelope of those dialects by the stored ids of
// the envelopes that they refer to.
func (b *batch) resolve(ctx context.Context, p *candidate) error {
	e := &p.draft.Envelope
	var kinds []protocol.Kind // that an envelope of this kind correlates to by section 2; nil: any
	switch {
	case e.Kind == protocol.KindMCPResponse:
		kinds = []protocol.Kind{protocol.KindMCPRequest}
	case exchange.IsDecision(e.Kind):
		kinds = []protocol.Kind{protocol.KindMCPProposal}
	case e.Kind == protocol.KindChat || e.Kind == protocol.KindChatAcknowledge || e.Kind == protocol.KindChatCancel:
		kinds = []protocol.Kind{protocol.KindChat}
	}
	ids := make([]protocol.ID, len(e.Correlation.IDs))
	for i, id := range e.Correlation.IDs {
		stored, err := b.referenced(ctx, e, id, kinds...)
		if err != nil {
			return err
		}
		ids[i] = stored
	}
	if len(ids) > 0 {
		e.Correlation.IDs = ids
	}
	if e.Context != "" {
		segments := strings.Split(string(e.Context), "/")
		for i, segment := range segments {
			stored, err := b.referenced(ctx, &protocol.Envelope{}, protocol.ID(segment), protocol.KindReasoningStart)
			if err != nil {
				return err
			}
			segments[i] = string(stored)
		}
		e.Context = protocol.ContextPath(strings.Join(segments, "/"))
	}
	p.In.Envelope.Correlation, p.In.Envelope.Context = e.Correlation, e.Context
	return nil
}

// recordSpelling records the references of an envelope in the form for clients of
// those dialects, if they refer to envelopes with reused ids.
func (b *batch) recordSpelling(ctx context.Context, p *candidate, parents []*parent) error {
	e := &p.draft.Envelope
	for _, x := range parents {
		if x.spelling.ID == "" {
			continue
		}
		if p.spelling.Correlation == nil {
			p.spelling.Correlation = append([]protocol.ID(nil), e.Correlation.IDs...)
		}
		for i, id := range e.Correlation.IDs {
			if id == x.envelope.ID {
				p.spelling.Correlation[i] = x.spelling.ID
			}
		}
	}
	if !strings.Contains(string(e.Context), againPrefix) {
		return nil
	}
	segments := strings.Split(string(e.Context), "/")
	for i, segment := range segments {
		if !strings.HasPrefix(segment, againPrefix) {
			continue
		}
		x, err := b.parent(ctx, protocol.ID(segment))
		if err != nil && !errors.Is(err, journal.ErrNotFound) {
			return err
		}
		if err == nil && x.spelling.ID != "" {
			segments[i] = string(x.spelling.ID)
			p.spelling.Context = protocol.ContextPath(strings.Join(segments, "/"))
		}
	}
	return nil
}
