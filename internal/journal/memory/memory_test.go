package memory_test

import (
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/journal/journaltest"
	"github.com/meup-protocol/meup/internal/journal/memory"
	"github.com/meup-protocol/meup/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func open(*testing.T) journal.Journal { return memory.New(memory.Options{}) }

func TestJournal(t *testing.T) { journaltest.Run(t, open) }

func TestContiguous(t *testing.T) { journaltest.RunContiguous(t, open) }

func TestRetention(t *testing.T) {
	journaltest.RunRetention(t, func(_ *testing.T, ret journal.Retention, clock func() time.Time) journal.Journal {
		return memory.New(memory.Options{Retention: ret, Clock: clock})
	})
}
