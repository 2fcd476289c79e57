package journal_test

import (
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/testing/journaltest"
)

func open(*testing.T) journal.Journal { return journal.NewMemory(journal.MemoryOptions{}) }

func TestJournal(t *testing.T) { journaltest.Run(t, open) }

func TestContiguous(t *testing.T) { journaltest.RunContiguous(t, open) }

func TestRetention(t *testing.T) {
	journaltest.RunRetention(t, func(_ *testing.T, ret journal.Retention, clock func() time.Time) journal.Journal {
		return journal.NewMemory(journal.MemoryOptions{Retention: ret, Clock: clock})
	})
}
