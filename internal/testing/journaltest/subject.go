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

// subject is a journal under test with a sink that records all entries.
type subject struct {
	journal.Journal
	sink  sinkRecorder
	close sync.Once
}

// Close closes the journal; later calls do nothing.
func (s *subject) Close() (err error) {
	s.close.Do(func() { err = s.Journal.Close() })
	return err
}

// sinkRecorder records the entries that a sink receives.
type sinkRecorder struct {
	mu     sync.Mutex
	spaces map[string][]*journal.Entry
}

func (s *sinkRecorder) add(space string, entries []*journal.Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spaces[space] = append(s.spaces[space], entries...)
}

func (s *sinkRecorder) of(space string) []*journal.Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.spaces[space])
}

// has reports whether the sink has received an entry of the space lab.
func (s *sinkRecorder) has(seq protocol.Seq) bool {
	return slices.ContainsFunc(s.of("lab"), func(e *journal.Entry) bool { return e.Envelope.Seq == seq })
}

// follow sets the sink of a journal and closes it with the test.
func follow(t *testing.T, j journal.Journal) *subject {
	t.Helper()
	s := &subject{Journal: j, sink: sinkRecorder{spaces: map[string][]*journal.Entry{}}}
	j.Follow(s.sink.add, nil)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// draft returns a draft from alice; the functions below change it.
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

func checkedAt(seq protocol.Seq) func(*journal.Draft) {
	return func(d *journal.Draft) { d.CheckedAtStateSeq = seq }
}

func settles(proposal protocol.ID) func(*journal.Draft) {
	return func(d *journal.Draft) { d.Settles = proposal }
}

func at(ts time.Time) func(*journal.Draft) {
	return func(d *journal.Draft) { d.Envelope.TS = ts }
}

func state(d *journal.Draft) { d.State = true }

// append appends the drafts in one call.
func (s *subject) append(space string, drafts ...journal.Draft) []journal.Result {
	return s.Append(context.Background(), space, drafts)
}

// must appends the drafts in one call, all successfully, and returns the
// numbers.
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

// want compares the results of a query with the given numbers.
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

// entryOf returns the entry that a draft becomes.
func entryOf(d journal.Draft, seq protocol.Seq) *journal.Entry {
	e := &journal.Entry{Envelope: d.Envelope, Audience: d.Audience, State: d.State, Hidden: d.Hidden, Private: d.Private, Settles: d.Settles}
	e.Envelope.Seq = seq
	e.Envelope.TS = d.Envelope.TS.Truncate(time.Microsecond)
	return e
}

// same reports whether the encodings of two entries are equal. Encodings
// distinguish nil from empty, and omit the time zone.
func same(a, b *journal.Entry) bool {
	return bytes.Equal(journal.AppendEntry(nil, a), journal.AppendEntry(nil, b))
}
