package admission

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/space/ring"
	"github.com/meup-protocol/meup/protocol"
)

// parent is an envelope that another one correlates to.
type parent struct {
	envelope *protocol.Envelope // shared: read-only; without Seq while it is pending
	audience []protocol.ParticipantID
	spelling ring.Spelling
	parsed   protocol.Value // see payload
	settles  protocol.ID    // the proposal that it decides on
}

// payload returns the parsed payload; absent if it cannot be parsed.
func (x *parent) payload() protocol.Value {
	if !x.parsed.Exists() {
		x.parsed = (&journal.Entry{Envelope: *x.envelope}).Payload()
	}
	return x.parsed
}

// references resolves the ids of an envelope and returns the envelopes that it
// correlates to. A retry is answered.
func (b *batch) references(ctx context.Context, p *candidate) ([]*parent, error) {
	if b.from.Dialect != protocol.DialectMEUP01 {
		if p.In.Envelope.ID != "" {
			sum := sha256.Sum256(p.In.Frame()) // including the sender's own ts
			p.spelling.Sum = hex.EncodeToString(sum[:16])
			if err := b.assignID(ctx, p, 0); err != nil || p.retry {
				return nil, err
			}
		}
		if err := b.resolve(ctx, p); err != nil {
			return nil, err
		}
	}
	parents, err := b.parents(ctx, &p.draft.Envelope)
	if err == nil {
		err = b.recordSpelling(ctx, p, parents)
	}
	p.draft.Private = p.note()
	return parents, err
}

// parents finds the envelopes that e correlates to, each once. It skips unknown
// ids. Names of contexts do not count: anybody can open a context by any name,
// and would see private answers to it.
func (b *batch) parents(ctx context.Context, e *protocol.Envelope) ([]*parent, error) {
	var found []*parent
	for i, id := range e.Correlation.IDs {
		if slices.Contains(e.Correlation.IDs[:i], id) {
			continue
		}
		x, err := b.parent(ctx, id)
		if errors.Is(err, journal.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		found = append(found, &x)
	}
	return found, nil
}

// audienceOf returns the senders of the parents, and their audiences.
func audienceOf(parents []*parent) []protocol.ParticipantID {
	var audience []protocol.ParticipantID
	add := func(id protocol.ParticipantID) {
		if id != protocol.GatewayID && id != ring.AllParticipants && !slices.Contains(audience, id) {
			audience = append(audience, id)
		}
	}
	for _, x := range parents {
		add(x.envelope.From)
		for _, id := range x.audience {
			add(id)
		}
	}
	return audience
}

// checkUndone checks that a demotion names at most one envelope, and that it is a decision of
// the reviewer, which the demotion says was wrong. That does not depend on the state.
func checkUndone(p *candidate, parents []*parent) error {
	ids, id := p.draft.Envelope.Correlation.IDs, protocol.ParticipantIn(p.In.Payload, "participant_id")
	switch {
	case len(ids) == 0:
		return nil
	case len(ids) > 1:
		return mismatch("A demotion names at most one decision; send one for each.")
	case len(parents) == 0 || parents[0].settles == "" || parents[0].envelope.Kind == protocol.KindMCPWithdraw || parents[0].envelope.From != id:
		return protocol.Errorf(protocol.CodeProposalMismatch, "%s is no decision of %s; leave correlationId out to demote it without one.", ids[0], id)
	}
	return nil
}

// recordsOwnCall reports whether e is a request that its sender addresses to
// itself alone and explains by its own thought without addressees. Such a request
// records a call for the space; its recipient only keeps other tool hosts from
// executing it.
func recordsOwnCall(e *protocol.Envelope, parents []*parent) bool {
	if e.Kind != protocol.KindMCPRequest || len(e.To) != 1 || e.To[0] != e.From {
		return false
	}
	return slices.ContainsFunc(parents, func(x *parent) bool {
		return x.envelope.Kind == protocol.KindReasoningThought && x.envelope.From == e.From && len(x.envelope.To) == 0
	})
}

// parent finds an envelope by its id: in the pending ones, in the ring, in the
// journal, and again after this gateway has caught up with the others.
func (b *batch) parent(ctx context.Context, id protocol.ID) (parent, error) {
	for _, p := range b.waiting {
		if p.draft.Envelope.ID == id {
			return parent{&p.draft.Envelope, p.draft.Audience, p.spelling, p.draft.Parsed, p.draft.Settles}, nil
		}
	}
	x, err := b.space.find(ctx, id)
	if !errors.Is(err, journal.ErrNotFound) || b.caughtUp {
		return x, err
	}
	if err := b.catchUp(ctx); err != nil {
		return parent{}, err
	}
	return b.space.find(ctx, id)
}

// find finds an admitted envelope by its id. Errors: ErrNotFound, ErrUnavailable.
func (s *View) find(ctx context.Context, id protocol.ID) (parent, error) {
	if e := s.Ring.Lookup(id); e != nil {
		return parent{envelope: e.Envelope, audience: e.Audience(), spelling: ring.ReadSpelling(e.Private()), settles: e.Settles()}, nil
	}
	e, err := s.Journal.Lookup(ctx, s.Name, id)
	if err != nil {
		return parent{}, err
	}
	return parent{&e.Envelope, e.Audience, ring.ReadSpelling(e.Private), e.Parsed, e.Settles}, nil
}

// catchUp waits until this gateway has applied everything that was durable, at
// any gateway, when the batch began.
func (b *batch) catchUp(ctx context.Context) error {
	if b.caughtUp {
		return nil
	}
	if err := b.space.Journal.Barrier(ctx, b.space.Name); err != nil {
		return err
	}
	b.caughtUp = true
	return nil
}

// current runs a check of the space's state. A rejection may be due to a state
// that lacks an entry which another gateway has acknowledged already, such as a
// grant. Then the check runs again after this gateway has caught up.
func (b *batch) current(ctx context.Context, check func() error) error {
	err := check()
	if err == nil || b.caughtUp {
		return err
	}
	if code := protocol.AsError(err).Code; code == protocol.CodeUnavailable || code == protocol.CodeRateLimited {
		return err
	}
	if b.catchUp(ctx) != nil {
		return protocol.Errorf(protocol.CodeUnavailable, "The gateway cannot tell now whether this is allowed: it is behind the log; send it again.")
	}
	return check()
}
