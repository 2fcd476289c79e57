package pebblejournal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/protocol"
)

// groupEntries and groupBytes bound a batch; further drafts go into the next
// one.
const (
	groupEntries = 1024
	groupBytes   = 4 << 20
)

// maxSpaceLogs bounds the number of spaces whose log ends are in memory.
const maxSpaceLogs = 4096

// group holds the entries of one batch and the requests that wait for it.
type group struct {
	requests []*request
	spaces   []*appended
	bySpace  map[string]*appended
	entries  int
}

// appended holds the entries that a group adds to a space.
type appended struct {
	space   string
	head    *head
	entries []*journal.Entry
}

// spaceLog is the end of a space's log, including Seqs that the committer has
// assigned but not committed.
type spaceLog struct {
	head      *head
	last      protocol.Seq
	lastState protocol.Seq
}

// commitAll is the committer goroutine.
func (j *Journal) commitAll() {
	for {
		select {
		case r, ok := <-j.queue:
			if !ok {
				return
			}
			// Callers whose appends just returned join the batch, while more of them
			// arrive. That takes a few microseconds; a sync takes hundreds.
			for n := -1; len(j.queue) > n && n < groupEntries; {
				n = len(j.queue)
				runtime.Gosched()
			}
			if err := j.commit(r); err != nil && !j.reopenStore(err) {
				return
			}
		case <-j.db.Failed():
			if !j.reopenStore(j.db.Err()) {
				return
			}
		}
	}
}

// commit appends r and all other queued requests, and completes them. It
// returns the error of the store, if any.
func (j *Journal) commit(r *request) error {
	begun := time.Now()
	g := j.collect(r)
	if g.entries > 0 {
		j.batch.SetMeta(appendedKey, binary.AppendUvarint(nil, j.appended+uint64(g.entries)))
	}
	bytes := j.batch.Bytes()
	err := j.batch.Commit(true)
	if err == nil {
		err = j.checkPlace()
	}
	if err != nil {
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
		j.dropSpaceLogs()
	}
	return nil
}

// publish makes durable entries visible, counts them and passes them to the
// sink.
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

// dropSpaceLogs drops the ends of all logs, which are read from the store again
// when needed. Everything in the store must be durable.
func (j *Journal) dropSpaceLogs() {
	clear(j.logs)
	j.heads.Clear()
}

// fail completes all requests of the group with errors. An entry of the batch
// may have been appended or not, and the same holds for an entry that a retry
// has found. A draft may have been rejected because of such an entry.
func (j *Journal) fail(g *group, err error) {
	j.down.Store(&err) // here, so that commit does not allocate its error
	j.failed = g.spaces
	for _, r := range g.requests {
		for i := range r.results {
			if r.results[i].Err == nil {
				r.results[i] = journal.Result{Err: fmt.Errorf("%w: %w", journal.ErrOutcomeUnknown, err)}
			} else {
				r.results[i] = journal.Result{Err: journal.Unavailable(err)}
			}
		}
		close(r.done)
	}
}

// collect decides the drafts of r and of all other queued requests.
func (j *Journal) collect(r *request) *group {
	g := &group{bySpace: map[string]*appended{}}
	for {
		j.add(g, r)
		if g.entries >= groupEntries || j.batch.Bytes() >= groupBytes {
			return g
		}
		select {
		case next, ok := <-j.queue:
			if !ok {
				return g // commitAll finds it closed too
			}
			r = next
		default:
			return g
		}
	}
}

// add decides the drafts of one call.
func (j *Journal) add(g *group, r *request) {
	if !r.claimed.CompareAndSwap(false, true) {
		return // withdrawn by its caller
	}
	g.requests = append(g.requests, r)
	l, err := j.spaceLog(r.space)
	if err != nil {
		r.refuse(journal.Unavailable(err))
		return
	}
	for i := range r.drafts {
		r.results[i] = j.decide(g, l, r.space, &r.drafts[i])
		if err := r.results[i].Err; errors.Is(err, journal.ErrStale) || errors.Is(err, journal.ErrUnavailable) {
			// The later drafts assume that this one was appended.
			for k := i + 1; k < len(r.drafts); k++ {
				r.results[k].Err = err
			}
			return
		}
	}
}

// spaceLog returns the end of a space's log, which it reads from the store the
// first time.
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
	l := &spaceLog{head: new(head), last: last, lastState: lastState}
	l.head.durable.Store(uint64(last))
	j.heads.Store(space, l.head)
	j.logs[space] = l
	return l, nil
}
