package natsjournal

import (
	"errors"
	"testing"

	"github.com/meup-protocol/meup/internal/journal"
)

// A snapshot belongs to one database: it is neither found in another one nor stored
// there.
func TestSnapshot_ReplacedDatabase(t *testing.T) {
	for name, replace := range map[string]func(r *replica) error{
		"rebuilt":   (*replica).Rebuild,
		"set aside": func(r *replica) error { _, err := r.SetAside(); return err },
	} {
		t.Run(name, func(t *testing.T) {
			r := openTestReplica(t)
			before, err := r.Snapshot("lab")
			if err != nil {
				t.Fatal(err)
			}
			before.Data = []byte("x")
			if err := r.SaveSnapshot("lab", before); err != nil {
				t.Fatal(err)
			}
			if err := replace(r); err != nil {
				t.Fatal(err)
			}
			if err := r.SaveSnapshot("lab", before); !errors.Is(err, journal.ErrUnavailable) {
				t.Errorf("stored in an incomplete replica: %v", err)
			}
			r.Complete()
			if err := r.SaveSnapshot("lab", before); !errors.Is(err, journal.ErrReplaced) {
				t.Errorf("stored in another database: %v", err)
			}
			if s, err := r.Snapshot("lab"); err != nil || s.Data != nil {
				t.Errorf("snapshot %q of another database, %v", s.Data, err)
			}
		})
	}
}
