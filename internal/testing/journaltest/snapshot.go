package journaltest

import (
	"bytes"
	"errors"
	"testing"

	"github.com/meup-protocol/meup/internal/journal"
)

func saveSnapshot(t *testing.T, s *subject, space, data string) {
	t.Helper()
	x, err := s.Snapshot(space)
	if err != nil {
		t.Fatal(err)
	}
	x.Data = []byte(data)
	if err := s.SaveSnapshot(space, x); err != nil {
		t.Fatal(err)
	}
	clear(x.Data) // the journal has a copy
}

func wantSnapshot(t *testing.T, s *subject, space, want string) {
	t.Helper()
	x, err := s.Snapshot(space)
	if err != nil || string(x.Data) != want || (x.Data == nil) != (want == "") {
		t.Errorf("the snapshot of %s is %q, %v, want %q", space, x.Data, err, want)
	}
}

func testSnapshot(t *testing.T, s *subject) {
	s.must(t, "lab", draft("m-1"))
	wantSnapshot(t, s, "lab", "")
	saveSnapshot(t, s, "lab", "first")
	saveSnapshot(t, s, "lab2", "of a space without entries")
	wantSnapshot(t, s, "lab", "first")
	large := string(bytes.Repeat([]byte("0123456789abcdef"), 2<<20/16))
	saveSnapshot(t, s, "lab", large)
	wantSnapshot(t, s, "lab", large)
	wantSnapshot(t, s, "lab2", "of a space without entries")
	wantSnapshot(t, s, "la", "")
	if spaces, err := s.Spaces(t.Context()); err != nil || len(spaces) != 1 {
		t.Errorf("Spaces = %q, %v", spaces, err)
	}
	s.want(t, "lab", journal.Query{}, s.read(t, "lab", journal.Query{})[0].Envelope.Seq)
	x, err := s.Snapshot("lab")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.SaveSnapshot("lab", x); !errors.Is(err, journal.ErrUnavailable) {
		t.Errorf("SaveSnapshot after Close: %v", err)
	}
}

// RunSnapshots tests that a snapshot is lost with the copy of the log that it was stored
// in, and only then. open opens a journal whose copy is in the folder dir.
func RunSnapshots(t *testing.T, open func(t *testing.T, dir string) journal.Journal) {
	dir := t.TempDir()
	session(t, open, dir, func(s *subject) {
		s.must(t, "lab", draft("m-1"))
		saveSnapshot(t, s, "lab", "kept")
	})
	session(t, open, dir, func(s *subject) { wantSnapshot(t, s, "lab", "kept") })
	session(t, open, t.TempDir(), func(s *subject) { wantSnapshot(t, s, "lab", "") })
}
