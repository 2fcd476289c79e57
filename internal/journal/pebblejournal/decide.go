package pebblejournal

import (
	"fmt"
	"time"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/protocol"
)

// decide decides one draft, and adds it to the group's batch if it is to be
// appended.
func (j *Journal) decide(g *group, l *spaceLog, space string, d *journal.Draft) journal.Result {
	env := &d.Envelope
	r, _, err := j.batch.Decide(space, d, l.lastState)
	switch {
	case err != nil:
		return refused(env.ID, journal.Unavailable(err))
	case r.Err != nil:
		return refused(env.ID, r.Err)
	case r.Retry:
		return r
	}
	e := entryOf(d, l.last+1)
	if err := j.batch.Put(space, e); err != nil {
		return refused(env.ID, journal.Unavailable(err))
	}
	l.last++
	if d.State {
		l.lastState = l.last
	}
	a := g.bySpace[space]
	if a == nil {
		a = &appended{space: space, head: l.head}
		g.bySpace[space] = a
		g.spaces = append(g.spaces, a)
	}
	a.entries = append(a.entries, e)
	g.entries++
	return journal.Result{Seq: l.last}
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
