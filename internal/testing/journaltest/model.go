package journaltest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/protocol"
)

// model is a reference implementation of a journal: it learns the numbers from
// the real one and decides everything else itself.
type model struct {
	journal *subject
	spaces  map[string][]*journal.Entry
}

var (
	modelIDs      = rapid.SampledFrom([]protocol.ID{"a", "b", "c", "d", "e", "f", "g", "h", "a.b", "a:b"})
	modelSenders  = rapid.SampledFrom([]protocol.ParticipantID{"alice", "bob"})
	modelSettles  = rapid.SampledFrom([]protocol.ID{"", "", "", "a", "p", "p.b"})
	modelContexts = rapid.SampledFrom([]protocol.ContextPath{"", "", "m", "m/n", "m/n/o", "mm", "m.n", "m/nn"})
)

func testModel(t *testing.T, s *subject) {
	// runs gives every run its own spaces, so that all runs can use one journal.
	var runs atomic.Int64
	rapid.Check(t, func(rt *rapid.T) {
		run := runs.Add(1)
		m := &model{journal: s, spaces: map[string][]*journal.Entry{}}
		spaces := rapid.SampledFrom([]string{fmt.Sprintf("run-%d", run), fmt.Sprintf("run-%d.x", run)})
		rt.Repeat(map[string]func(*rapid.T){
			"append": func(rt *rapid.T) { m.append(rt, spaces.Draw(rt, "space")) },
			"range":  func(rt *rapid.T) { m.read(rt, spaces.Draw(rt, "space")) },
			"lookup": func(rt *rapid.T) { m.lookup(rt, spaces.Draw(rt, "space")) },
			"bounds": func(rt *rapid.T) { m.bounds(rt, spaces.Draw(rt, "space")) },
		})
	})
}

// last returns the newest number of a space and the number of its newest state
// entry.
func (m *model) last(space string) (newest, state protocol.Seq) {
	for _, e := range m.spaces[space] {
		newest = e.Envelope.Seq
		if e.State {
			state = e.Envelope.Seq
		}
	}
	return newest, state
}

// find returns the first entry of a space that fits; nil: there is none.
func (m *model) find(space string, fits func(*journal.Entry) bool) *journal.Entry {
	list := m.spaces[space]
	if i := slices.IndexFunc(list, fits); i >= 0 {
		return list[i]
	}
	return nil
}

func (m *model) append(rt *rapid.T, space string) {
	_, lastState := m.last(space)
	drafts := make([]journal.Draft, rapid.IntRange(1, 5).Draw(rt, "drafts"))
	for i := range drafts {
		drafts[i] = draft(modelIDs.Draw(rt, "id"), from(modelSenders.Draw(rt, "from")), within(modelContexts.Draw(rt, "context")))
		drafts[i].Settles = modelSettles.Draw(rt, "settles")
		drafts[i].State = rapid.IntRange(0, 4).Draw(rt, "state") == 0
		drafts[i].CheckedAtStateSeq = rapid.SampledFrom([]protocol.Seq{lastState, lastState, 1 << 40, 0}).Draw(rt, "basis")
	}
	results := m.journal.append(space, drafts...)
	if len(results) != len(drafts) {
		rt.Fatalf("%d results for %d drafts", len(results), len(drafts))
	}
	stale := false
	for i, d := range drafts {
		if err := m.check(space, d, results[i], &stale); err != nil {
			rt.Fatalf("draft %d of %s, %+v: %v; got %+v", i, space, d, err, results[i])
		}
	}
}

// check compares the journal's decision on a draft with the model's.
func (m *model) check(space string, d journal.Draft, r journal.Result, stale *bool) error {
	newest, lastState := m.last(space)
	first := m.find(space, func(e *journal.Entry) bool { return e.Envelope.ID == d.Envelope.ID })
	var want error
	switch {
	case *stale:
		want = journal.ErrStale
	case first != nil && first.Envelope.From == d.Envelope.From:
		if (r != journal.Result{Seq: first.Envelope.Seq, Retry: true}) {
			return fmt.Errorf("is a retry of %d", first.Envelope.Seq)
		}
		return nil
	case first != nil:
		want = journal.ErrDuplicateID
	case d.CheckedAtStateSeq < lastState:
		want = journal.ErrStale
		*stale = true
	case d.Settles != "":
		e := m.find(space, func(e *journal.Entry) bool { return e.Settles == d.Settles })
		if e != nil {
			want := &journal.SettledError{By: e.Envelope.From, Seq: e.Envelope.Seq}
			if got := new(*journal.SettledError); !errors.As(r.Err, got) || **got != *want {
				return want
			}
			return nil
		}
	}
	if want != nil {
		if !errors.Is(r.Err, want) {
			return fmt.Errorf("want %w", want)
		}
		return nil
	}
	if r.Err != nil || r.Retry || r.Seq <= newest {
		return fmt.Errorf("want a number above %d", newest)
	}
	m.spaces[space] = append(m.spaces[space], entryOf(d, r.Seq))
	return nil
}

func (m *model) read(rt *rapid.T, space string) {
	newest, _ := m.last(space)
	seq := rapid.Uint64Range(0, uint64(newest)+2)
	q := journal.Query{
		After:     protocol.Seq(seq.Draw(rt, "after")),
		Before:    protocol.Seq(seq.Draw(rt, "before")),
		Context:   modelContexts.Draw(rt, "context"),
		StateOnly: rapid.Bool().Draw(rt, "stateOnly"),
		Backwards: rapid.Bool().Draw(rt, "backwards"),
		Limit:     rapid.IntRange(0, 4).Draw(rt, "limit"),
	}
	var got []*journal.Entry
	for e, err := range m.journal.Range(context.Background(), space, q) {
		if err != nil {
			rt.Fatalf("range: %v", err)
		}
		got = append(got, e)
	}
	if want := m.query(space, q); !slices.EqualFunc(got, want, same) {
		rt.Fatalf("range %s %+v: got %v, want %v", space, q, seqsOf(got), seqsOf(want))
	}
}

func (m *model) query(space string, q journal.Query) []*journal.Entry {
	var found []*journal.Entry
	for _, e := range m.spaces[space] {
		seq := e.Envelope.Seq
		if seq <= q.After || q.Before != 0 && seq >= q.Before {
			continue
		}
		if q.StateOnly && !e.State || !e.Envelope.Context.Within(q.Context) {
			continue
		}
		found = append(found, e)
	}
	if q.Backwards {
		slices.Reverse(found)
	}
	if q.Limit > 0 && len(found) > q.Limit {
		found = found[:q.Limit]
	}
	return found
}

func (m *model) lookup(rt *rapid.T, space string) {
	id := modelIDs.Draw(rt, "id")
	got, err := m.journal.Lookup(context.Background(), space, id)
	want := m.find(space, func(e *journal.Entry) bool { return e.Envelope.ID == id })
	if want == nil {
		if !errors.Is(err, journal.ErrNotFound) {
			rt.Fatalf("lookup %s in %s: %+v, %v", id, space, got, err)
		}
		return
	}
	if err != nil || !same(got, want) {
		rt.Fatalf("lookup %s in %s: %+v, %v", id, space, got, err)
	}
}

func (m *model) bounds(rt *rapid.T, space string) {
	newest, _ := m.last(space)
	var oldest protocol.Seq
	if newest > 0 {
		oldest = m.spaces[space][0].Envelope.Seq
	}
	o, n, err := m.journal.Bounds(context.Background(), space)
	if o != oldest || n != newest || err != nil {
		rt.Fatalf("bounds of %s: %d, %d, %v; want %d, %d", space, o, n, err, oldest, newest)
	}
}
