package authority

import (
	"errors"
	"log/slog"
	"testing"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/protocol"
)

// openFailing loads the state of a log with 40 entries.
func openFailing(t *testing.T, l *stateLog) (*State, *Stored, *failing) {
	t.Helper()
	l.mixed(40)
	counted := newCountedLog()
	counted.add(t, l.entries...)
	log := &failing{Journal: counted}
	st, stored, err := Load(t.Context(), log, "lab", l.cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return st, stored, log
}

// A state that can never be stored, since its copy of the log was replaced, is encoded once.
func TestSave_ReplacedCopy(t *testing.T) {
	st, stored, log := openFailing(t, newStateLog(t))
	log.err = journal.ErrReplaced
	for range 3 {
		if err := stored.Save(st, later); !errors.Is(err, journal.ErrReplaced) {
			t.Error(err)
		}
	}
	if log.saves != 1 {
		t.Errorf("%d attempts, want 1", log.saves)
	}
}
