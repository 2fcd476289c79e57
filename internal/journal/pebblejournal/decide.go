package pebblejournal

import (
	"errors"
	"fmt"
	"time"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/protocol"
)

// decide decides one draft, and adds it to the group's batch if it is to be
// appended.
func (j *Journal) decide(g *group, l *spaceLog, space string, d *journal.Draft) journal.Result {
	env := &d.Envelope
	first, known, err := j.find(g, space, env.ID)
	switch {
	case err != nil:
		return refused(env.ID, unavailable(err))
	case known && first.from == env.From:
		return journal.Result{Seq: first.seq, Retry: true}
	case known:
		return refused(env.ID, journal.ErrDuplicateID)
	case d.CheckedAtStateSeq < l.lastState:
		return refused(env.ID, journal.ErrStale)
	}
	if by, settled, err := j.settledBy(g, space, d.Settles); err != nil {
		return refused(env.ID, unavailable(err))
	} else if settled {
		return refused(env.ID, &journal.SettledError{By: by.from, Seq: by.seq})
	}
	e := entryOf(d, l.last+1)
	if err := j.batch.Put(space, e); err != nil {
		return refused(env.ID, unavailable(err))
	}
	l.last++
	if d.State {
		l.lastState = l.last
	}
	g.record(l, space, e)
	return journal.Result{Seq: l.last}
}

// find looks up an id in the group and in the store.
func (j *Journal) find(g *group, space string, id protocol.ID) (entryRef, bool, error) {
	if p, ok := g.ids[idOfSpace{space, id}]; ok {
		return p, true, nil
	}
	seq, from, ok, err := j.db.LookupRef(space, id)
	return entryRef{seq, from}, ok, err
}

// settledBy looks up the entry that settles a proposal in the group and in the
// store; "" has none.
func (j *Journal) settledBy(g *group, space string, proposal protocol.ID) (entryRef, bool, error) {
	if proposal == "" {
		return entryRef{}, false, nil
	}
	if p, ok := g.settled[idOfSpace{space, proposal}]; ok {
		return p, true, nil
	}
	seq, from, ok, err := j.db.SettledBy(space, proposal)
	return entryRef{seq, from}, ok, err
}

// record adds a new entry to the group.
func (g *group) record(l *spaceLog, space string, e *journal.Entry) {
	at := entryRef{e.Envelope.Seq, e.Envelope.From}
	g.ids[idOfSpace{space, e.Envelope.ID}] = at
	if e.Settles != "" {
		g.settled[idOfSpace{space, e.Settles}] = at
	}
	a := g.bySpace[space]
	if a == nil {
		a = &appended{space: space, head: l.head}
		g.bySpace[space] = a
		g.spaces = append(g.spaces, a)
	}
	a.entries = append(a.entries, e)
	g.entries++
}

func entryOf(d *journal.Draft, seq protocol.Seq) *journal.Entry {
	e := *d
	e.Envelope.Seq, e.CheckedAtStateSeq = seq, 0
	// Truncate like the encoding does: the sink and readers must get equal
	// entries.
	e.Envelope.TS = d.Envelope.TS.UTC().Truncate(time.Microsecond)
	return &e
}

func refused(id protocol.ID, err error) journal.Result {
	return journal.Result{Err: fmt.Errorf("append envelope %s: %w", id, err)}
}

// stopsCall reports whether all later drafts of the same call get the same
// error.
func stopsCall(err error) bool {
	return errors.Is(err, journal.ErrStale) || errors.Is(err, journal.ErrUnavailable)
}
