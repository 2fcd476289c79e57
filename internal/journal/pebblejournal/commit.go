package pebblejournal

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"time"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/protocol"
)

// groupEntries and groupBytes bound a batch; what is beyond goes into the next.
const (
	groupEntries = 1024
	groupBytes   = 4 << 20
)

// maxSpaceLogs bounds for how many spaces the end of the log is in memory.
const maxSpaceLogs = 4096

// group is what one batch appends, and all who wait for it.
type group struct {
	requests []*request
	spaces   []*appended
	bySpace  map[string]*appended
	ids      map[idOfSpace]placed
	settled  map[idOfSpace]placed // by the proposal
	entries  int
}

// appended is what a group adds to a space.
type appended struct {
	space   string
	head    *head
	entries []*journal.Entry
}

type idOfSpace struct {
	space string
	id    protocol.ID
}

type placed struct {
	seq  protocol.Seq
	from protocol.ParticipantID
}

// spaceLog is the end of a space's log as the committer has given it out.
type spaceLog struct {
	head      *head
	last      protocol.Seq
	lastState protocol.Seq
}

// commitAll is the committer.
func (j *Journal) commitAll() {
	for {
		select {
		case r, ok := <-j.queue:
			if !ok {
				return
			}
			j.gather()
			if err := j.commit(r); err != nil && !j.recover(err) {
				return
			}
		case <-j.db.Failed():
			if !j.recover(j.db.Err()) {
				return
			}
		}
	}
}

// gather gives callers that were answered a moment ago the chance to be in the
// next batch, as long as more of them come: a few microseconds against a sync
// of hundreds.
func (j *Journal) gather() {
	for n := -1; len(j.queue) > n && n < groupEntries; {
		n = len(j.queue)
		runtime.Gosched()
	}
}

// commit appends r and whatever else is queued, and answers them all. It
// returns why it could not.
func (j *Journal) commit(r *request) error {
	begun := time.Now()
	g := j.collect(r)
	if g.entries > 0 {
		j.batch.SetMeta(appendedKey, binary.AppendUvarint(nil, j.appended+uint64(g.entries)))
	}
	bytes := j.batch.Bytes()
	if err := j.batch.Commit(true); err != nil {
		j.fail(g, err)
		return err
	}
	if g.entries > 0 {
		j.opt.OnCommit(g.entries, bytes, time.Since(begun))
	}
	j.publish(g.spaces)
	for _, r := range g.requests {
		close(r.done)
	}
	if len(j.logs) > maxSpaceLogs {
		j.forgetSpaces()
	}
	return nil
}

// publish makes entries that are durable visible, counts them and passes them to the sink.
func (j *Journal) publish(spaces []*appended) {
	for _, a := range spaces {
		j.appended += uint64(len(a.entries))
	}
	if len(spaces) > 0 {
		j.writeMark()
	}
	for _, a := range spaces {
		a.head.durable.Store(uint64(a.entries[len(a.entries)-1].Envelope.Seq))
		j.sink(a.space, a.entries)
	}
}

// forgetSpaces drops the ends of all logs, which are read again from the store
// when they are needed. Everything in the store must be durable.
func (j *Journal) forgetSpaces() {
	clear(j.logs)
	j.heads.Clear()
}

// fail answers everything in the group: an entry of the batch may have been
// appended or not, and so may the one that a retry has found. A draft that was
// refused may have been refused because of such an entry.
func (j *Journal) fail(g *group, err error) {
	j.down.Store(&err)
	j.failed = g.spaces
	for _, r := range g.requests {
		for i := range r.results {
			if r.results[i].Err == nil {
				r.results[i] = journal.Result{Err: fmt.Errorf("%w: %w", journal.ErrOutcomeUnknown, err)}
			} else {
				r.results[i] = journal.Result{Err: unavailable(err)}
			}
		}
		close(r.done)
	}
}

// collect places the drafts of r and of whatever else is queued.
func (j *Journal) collect(r *request) *group {
	g := &group{ids: map[idOfSpace]placed{}, settled: map[idOfSpace]placed{}, bySpace: map[string]*appended{}}
	for {
		j.add(g, r)
		if g.entries >= groupEntries || j.batch.Bytes() >= groupBytes {
			return g
		}
		select {
		case next, ok := <-j.queue:
			if !ok {
				return g // commitAll finds it closed as well
			}
			r = next
		default:
			return g
		}
	}
}

// add places the drafts of one call.
func (j *Journal) add(g *group, r *request) {
	if !r.claimed.CompareAndSwap(false, true) {
		return // given up by its caller
	}
	g.requests = append(g.requests, r)
	l, err := j.spaceLog(r.space)
	if err != nil {
		r.refuse(unavailable(err))
		return
	}
	for i := range r.drafts {
		r.results[i] = j.place(g, l, r.space, &r.drafts[i])
		if err := r.results[i].Err; stops(err) {
			// What stands behind it was sent in the belief that it is there.
			for k := i + 1; k < len(r.drafts); k++ {
				r.results[k].Err = err
			}
			return
		}
	}
}

// spaceLog returns the end of a space's log, read from the store the first
// time.
func (j *Journal) spaceLog(space string) (*spaceLog, error) {
	if l := j.logs[space]; l != nil {
		return l, nil
	}
	_, last, err := j.db.Bounds(space)
	if err != nil {
		return nil, err
	}
	lastState, err := j.db.LastState(space)
	if err != nil {
		return nil, err
	}
	l := &spaceLog{head: j.newHead(space, last), last: last, lastState: lastState}
	j.logs[space] = l
	return l, nil
}
