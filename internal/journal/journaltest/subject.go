package journaltest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/protocol"
)

var start = time.Date(2026, 11, 20, 12, 0, 0, 123456000, time.UTC)

// subject is a journal under test with a sink that remembers everything.
type subject struct {
	journal.Journal
	sunk  sunk
	close sync.Once
}

// Close closes the journal, the first time.
func (s *subject) Close() (err error) {
	s.close.Do(func() { err = s.Journal.Close() })
	return err
}

// sunk is what a sink was given.
type sunk struct {
	mu     sync.Mutex
	spaces map[string][]*journal.Entry
}

func (s *sunk) add(space string, entries []*journal.Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spaces[space] = append(s.spaces[space], entries...)
}

func (s *sunk) of(space string) []*journal.Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.spaces[space])
}

func (s *sunk) has(space string, seq protocol.Seq) bool {
	return slices.ContainsFunc(s.of(space), func(e *journal.Entry) bool { return e.Envelope.Seq == seq })
}

// follow sets the sink of a journal and closes it with the test.
func follow(t *testing.T, j journal.Journal) *subject {
	t.Helper()
	s := &subject{Journal: j, sunk: sunk{spaces: map[string][]*journal.Entry{}}}
	j.Follow(s.sunk.add, nil)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// draft makes a draft of alice's; change it with the functions below.
func draft(id protocol.ID, change ...func(*journal.Draft)) journal.Draft {
	d := journal.Draft{Envelope: protocol.Envelope{
		ID: id, TS: start, From: "alice", Kind: protocol.KindChat,
		Payload: json.RawMessage(fmt.Sprintf(`{"message":%q}`, id)),
	}}
	for _, f := range change {
		f(&d)
	}
	return d
}

func from(p protocol.ParticipantID) func(*journal.Draft) {
	return func(d *journal.Draft) { d.Envelope.From = p }
}

func within(c protocol.ContextPath) func(*journal.Draft) {
	return func(d *journal.Draft) { d.Envelope.Context = c }
}

func basis(seq protocol.Seq) func(*journal.Draft) {
	return func(d *journal.Draft) { d.CheckedAtStateSeq = seq }
}

func settles(proposal protocol.ID) func(*journal.Draft) {
	return func(d *journal.Draft) { d.Settles = proposal }
}

func at(ts time.Time) func(*journal.Draft) {
	return func(d *journal.Draft) { d.Envelope.TS = ts }
}

func state(d *journal.Draft) { d.State = true }

// append appends in one call.
func (s *subject) append(space string, drafts ...journal.Draft) []journal.Result {
	return s.Append(context.Background(), space, drafts)
}

// must appends in one call, all of it, and returns the numbers.
func (s *subject) must(t *testing.T, space string, drafts ...journal.Draft) []protocol.Seq {
	t.Helper()
	results := s.append(space, drafts...)
	if len(results) != len(drafts) {
		t.Fatalf("%d results for %d drafts", len(results), len(drafts))
	}
	seqs := make([]protocol.Seq, len(results))
	for i, r := range results {
		if r.Err != nil || r.Retry || r.Seq == 0 {
			t.Fatalf("append %s: %+v", drafts[i].Envelope.ID, r)
		}
		seqs[i] = r.Seq
	}
	return seqs
}

// read runs a query to its end.
func (s *subject) read(t *testing.T, space string, q journal.Query) []*journal.Entry {
	t.Helper()
	var list []*journal.Entry
	for e, err := range s.Range(context.Background(), space, q) {
		if err != nil {
			t.Fatalf("range %+v: %v", q, err)
		}
		list = append(list, e)
	}
	return list
}

// want compares what a query finds with the given numbers.
func (s *subject) want(t *testing.T, space string, q journal.Query, want ...protocol.Seq) {
	t.Helper()
	if got := seqsOf(s.read(t, space, q)); !slices.Equal(got, want) {
		t.Errorf("range %+v: got %v, want %v", q, got, want)
	}
}

func seqsOf(entries []*journal.Entry) []protocol.Seq {
	var seqs []protocol.Seq
	for _, e := range entries {
		seqs = append(seqs, e.Envelope.Seq)
	}
	return seqs
}

// entryOf is what a draft becomes.
func entryOf(d journal.Draft, seq protocol.Seq) *journal.Entry {
	e := &journal.Entry{Envelope: d.Envelope, Audience: d.Audience, State: d.State, Hidden: d.Hidden, Private: d.Private, Settles: d.Settles}
	e.Envelope.Seq = seq
	e.Envelope.TS = d.Envelope.TS.Truncate(time.Microsecond)
	return e
}

// same reports whether two entries are equal to the last byte. Encodings tell
// nil from empty, and leave out what a time remembers of its zone.
func same(a, b *journal.Entry) bool {
	return bytes.Equal(journal.AppendEntry(nil, a), journal.AppendEntry(nil, b))
}

// eventually waits until a condition holds that a journal's own goroutine
// brings about.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(20 * time.Second)
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("still not so: %s", what)
		}
	}
}
