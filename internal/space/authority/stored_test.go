package authority

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/protocol"
)

// openFailing loads the state of a log with at least 40 entries.
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

// Many revocations from configured participants are not stored again for each entry,
// neither by the gateway that stored them nor after it was started again.
func TestSave_ManyRevocations(t *testing.T) {
	l := newStateLog(t)
	for i := range 200 {
		l.add(protocol.KindCapabilityRevoke, fmt.Sprintf(`{"recipient":"alice","capabilities":["x.%s%d"]}`, strings.Repeat("long", 25), i))
	}
	st, stored, log := openFailing(t, l)
	save := func() int {
		t.Helper()
		before := log.saves
		e := l.add(protocol.KindCapabilityRevoke, fmt.Sprintf(`{"recipient":"alice","capabilities":["y.%d"]}`, len(l.entries)))
		st, _ = st.Apply(e)
		if err := stored.Save(st, later); err != nil {
			t.Fatal(err)
		}
		return log.saves - before
	}
	if n := save(); n != 1 {
		t.Fatalf("it was stored %d times", n)
	}
	if n := save(); n != 0 {
		t.Error("it is stored again for one entry")
	}
	log.Journal.(*countedLog).add(t, l.entries[200:]...)
	var err error
	st, stored, err = Load(t.Context(), log, "lab", l.cfg, slog.New(slog.DiscardHandler))
	if err != nil || stored.folded != 201 {
		t.Fatalf("a snapshot of %d entries, %v", stored.folded, err)
	}
	if n := save(); n != 0 {
		t.Error("it is stored again for one entry after a start")
	}
	for n := 0; save() == 0; n++ {
		if n > 100 {
			t.Fatal("it is not stored any more")
		}
	}
}

// A state that is too large keeps the last snapshot, and is not encoded again at once.
func TestSave_TooLarge(t *testing.T) {
	st, stored, log := openFailing(t, newStateLog(t))
	stored.limit = 100
	if err := stored.Save(st, later); !errors.Is(err, errTooLarge) {
		t.Error(err)
	}
	if err := stored.Save(st, later); err != nil || log.saves != 0 {
		t.Errorf("again: %v, %d saved", err, log.saves)
	}
}
