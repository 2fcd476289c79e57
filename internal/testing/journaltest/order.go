package journaltest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

func testEmptyLog(t *testing.T, s *subject) {
	s.want(t, "lab", journal.Query{})
	oldest, newest, err := s.Bounds(context.Background(), "lab")
	if oldest != 0 || newest != 0 || err != nil {
		t.Errorf("Bounds = %d, %d, %v", oldest, newest, err)
	}
	spaces, err := s.Spaces(context.Background())
	if len(spaces) != 0 || err != nil {
		t.Errorf("Spaces = %q, %v", spaces, err)
	}
	testkit.Eventually(t, "the log is ready", func() bool { return s.Ready() == nil }) // NATS may have been silent
}

func testOneCallKeepsItsOrder(t *testing.T, s *subject) {
	var drafts []journal.Draft
	for i := range 300 {
		drafts = append(drafts, draft(protocol.ID(fmt.Sprintf("m-%d", i))))
	}
	seqs := slices.Concat(s.must(t, "lab", drafts[:120]...), s.must(t, "lab", drafts[120:]...))
	if !slices.IsSorted(seqs) || len(slices.Compact(slices.Clone(seqs))) != len(seqs) {
		t.Errorf("numbers do not grow strictly: %v", seqs)
	}
	for i, e := range s.read(t, "lab", journal.Query{}) {
		if !same(e, entryOf(drafts[i], seqs[i])) {
			t.Fatalf("entry %d is %+v", i, e)
		}
	}
	oldest, newest, err := s.Bounds(context.Background(), "lab")
	if oldest != seqs[0] || newest != seqs[299] || err != nil {
		t.Errorf("Bounds = %d, %d, %v; want %d, %d", oldest, newest, err, seqs[0], seqs[299])
	}
}

func testSpacesAreApart(t *testing.T, s *subject) {
	a := s.must(t, "lab", draft("m-1"))
	b := s.must(t, "lab-2", draft("m-1", from("bob")), draft("m-2"))
	c := s.must(t, "la", draft("m-2"))
	own := s.must(t, journal.GatewayLog, draft("m-1", state)) // its timestamp has passed
	s.want(t, journal.GatewayLog, journal.Query{}, own...)
	s.want(t, "lab", journal.Query{}, a...)
	s.want(t, "lab-2", journal.Query{}, b...)
	s.want(t, "la", journal.Query{}, c...)
	spaces, err := s.Spaces(context.Background())
	if err != nil || !slices.Equal(spaces, []string{"la", "lab", "lab-2"}) {
		t.Errorf("Spaces = %q, %v", spaces, err)
	}
}

func testNoDrafts(t *testing.T, s *subject) {
	if results := s.append("lab"); len(results) != 0 {
		t.Errorf("results %+v", results)
	}
	testEmptyLog(t, s)
}

// testRoundTrip appends entries with values that a careless encoding would
// change.
func testRoundTrip(t *testing.T, s *subject) {
	odd := draft("odd", within("msg-1/a.b/c:d"))
	odd.Envelope.Payload = json.RawMessage(`{"z":1e400,"a":-0.0,"big":123456789012345678901234567890.10,` +
		` "u":"\u00e9é\u2028 ` + "\U0001f600" + `","n":{"b":[],"a":null}}`)
	odd.Envelope.Extra = []byte(`"x-trace":{"b":2, "a":1},"priority":1.0`)
	odd.Envelope.Correlation = protocol.Correlation{IDs: []protocol.ID{"one"}, Array: true}
	odd.Envelope.To = []protocol.ParticipantID{"bob", "carol@id.example.org"}
	odd.Audience = []protocol.ParticipantID{"dave", "alice"}
	odd.Hidden = true
	odd.Private = []byte{0, 0xff, '\n', 0}

	plain := draft("plain")
	plain.Envelope.Correlation = protocol.CorrelateTo("one")
	plain.Envelope.To = []protocol.ParticipantID{}
	plain.Envelope.Payload = json.RawMessage(`{}`)
	plain.State = true

	many := draft("many", checkedAt(1<<40))
	for i := range protocol.MaxCorrelations {
		many.Envelope.Correlation.IDs = append(many.Envelope.Correlation.IDs, protocol.ID(fmt.Sprintf("c-%d", i)))
	}
	many.Envelope.Correlation.Array = true
	long := make([]byte, 300<<10)
	for i := range long {
		long[i] = 'a' + byte(i%26)
	}
	many.Envelope.Payload = json.RawMessage(`{"message":"` + string(long) + `"}`)

	drafts := []journal.Draft{odd, plain, many}
	seqs := s.must(t, "lab", drafts...)
	read := s.read(t, "lab", journal.Query{})
	sunk := s.sink.of("lab")
	for i, d := range drafts {
		want := entryOf(d, seqs[i])
		found, err := s.Lookup(context.Background(), "lab", d.Envelope.ID)
		if err != nil {
			t.Fatal(err)
		}
		for way, got := range map[string]*journal.Entry{"Range": read[i], "Lookup": found, "sink": sunk[i]} {
			if !same(got, want) {
				t.Errorf("%s: %s is %.400q, want %.400q", way, d.Envelope.ID,
					fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want))
			}
		}
	}
}

// testDraftsMayBeReused: the caller may reuse the slice after the call.
func testDraftsMayBeReused(t *testing.T, s *subject) {
	drafts := []journal.Draft{draft("m-1")}
	want := entryOf(drafts[0], s.must(t, "lab", drafts...)[0])
	drafts[0] = draft("m-2", from("bob"))
	s.must(t, "lab", drafts...)
	if got := s.sink.of("lab")[0]; !same(got, want) {
		t.Errorf("the first entry became %+v", got)
	}
}
