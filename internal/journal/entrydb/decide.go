package entrydb

import (
	"fmt"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/protocol"
)

// Ref names an entry that an id or a settled proposal leads to. The zero value
// is none.
type Ref struct {
	Seq  protocol.Seq
	From protocol.ParticipantID
}

// refKey is an id in a space.
type refKey struct {
	space string
	id    protocol.ID
}

// pending holds the references to the entries of a batch, which the database
// does not show before the commit.
type pending struct {
	ids     map[refKey]Ref
	settled map[refKey]Ref // by the proposal
}

func (p *pending) add(space string, e *journal.Entry) {
	if p.ids == nil {
		p.ids, p.settled = make(map[refKey]Ref), make(map[refKey]Ref)
	}
	ref := Ref{e.Envelope.Seq, e.Envelope.From}
	p.ids[refKey{space, e.Envelope.ID}] = ref
	if e.Settles != "" {
		p.settled[refKey{space, e.Settles}] = ref
	}
}

// Decide applies the rules of [journal.Journal] to a draft, against the entries
// of the database and of the batch. A result without an error or Retry means
// that the draft is to be appended. Otherwise earlier is the entry because of
// which it is not; none if the draft is stale, that is checked before lastState.
// Err: ErrUnavailable.
func (b *Batch) Decide(space string, d *journal.Draft, lastState protocol.Seq) (r journal.Result, earlier Ref, err error) {
	return b.db.decide(&b.pending, space, d, lastState)
}

// Decide is [Batch.Decide] without a batch.
func (d *DB) Decide(space string, draft *journal.Draft, lastState protocol.Seq) (r journal.Result, earlier Ref, err error) {
	return d.decide(&pending{}, space, draft, lastState)
}

func (d *DB) decide(p *pending, space string, draft *journal.Draft, lastState protocol.Seq) (r journal.Result, earlier Ref, err error) {
	var key [2 + 2*protocol.MaxIDBytes]byte
	env := &draft.Envelope
	earlier, known := p.ids[refKey{space, env.ID}]
	if !known {
		earlier, err = d.ref(space, idKey(key[:0], space, env.ID))
	}
	switch {
	case err != nil:
		return r, Ref{}, fmt.Errorf("look up id in %s: %w", space, err)
	case earlier.Seq > 0 && earlier.From == env.From:
		return journal.Result{Seq: earlier.Seq, Retry: true}, earlier, nil
	case earlier.Seq > 0:
		return journal.Result{Err: journal.ErrDuplicateID}, earlier, nil
	case draft.CheckedAtStateSeq < lastState:
		return journal.Result{Err: journal.ErrStale}, Ref{}, nil
	case draft.Settles == "":
		return r, Ref{}, nil
	}
	earlier, err = d.settlement(p, space, draft.Settles)
	if err != nil {
		return r, Ref{}, err
	}
	if earlier.Seq > 0 {
		r.Err = &journal.SettledError{By: earlier.From, Seq: earlier.Seq}
	}
	return r, earlier, nil
}

// Settled returns the entry that settles a proposal, in the database or in the batch; the
// zero Ref if there is none. Err: ErrUnavailable.
func (b *Batch) Settled(space string, proposal protocol.ID) (Ref, error) {
	return b.db.settlement(&b.pending, space, proposal)
}

func (d *DB) settlement(p *pending, space string, proposal protocol.ID) (Ref, error) {
	var key [2 + 2*protocol.MaxIDBytes]byte
	by, known := p.settled[refKey{space, proposal}]
	if known {
		return by, nil
	}
	by, err := d.ref(space, settledKey(key[:0], space, proposal))
	if err != nil {
		return Ref{}, fmt.Errorf("look up the decision on a proposal in %s: %w", space, err)
	}
	return by, nil
}
