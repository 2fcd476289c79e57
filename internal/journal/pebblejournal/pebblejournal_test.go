package pebblejournal

import (
	"cmp"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/testing/journaltest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// open opens a journal that does not look at its mark by itself, unless the options say when:
// what a test does first, an append or a look, must not depend on its speed.
func open(t *testing.T, o Options) *Journal {
	t.Helper()
	o.markEvery = cmp.Or(o.markEvery, time.Hour)
	j, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func openEmpty(t *testing.T) journal.Journal { return open(t, Options{Dir: t.TempDir()}) }

func TestJournal(t *testing.T) { journaltest.Run(t, openEmpty) }

func TestContiguous(t *testing.T) { journaltest.RunContiguous(t, openEmpty) }

func TestDurable(t *testing.T) {
	journaltest.RunDurable(t, func(t *testing.T, dir string) journal.Journal {
		return open(t, Options{Dir: dir})
	})
}

func TestSnapshots(t *testing.T) {
	journaltest.RunSnapshots(t, func(t *testing.T, dir string) journal.Journal {
		return open(t, Options{Dir: dir})
	})
}

func TestRetention(t *testing.T) {
	journaltest.RunBase(t, func(t *testing.T, ret journal.Retention, clock func() time.Time, fold journal.Fold) journal.Journal {
		return open(t, Options{Retention: ret, RetentionEvery: time.Millisecond, Clock: clock, Fold: fold})
	})
	journaltest.RunRetention(t, func(t *testing.T, ret journal.Retention, clock func() time.Time) journal.Journal {
		return open(t, Options{Retention: ret, RetentionEvery: time.Millisecond, Clock: clock})
	})
}
