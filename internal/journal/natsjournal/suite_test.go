package natsjournal

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/kit/natsconn"
	"github.com/meup-protocol/meup/internal/testing/journaltest"
)

// fresh returns the address of a server, and a function that gives each test
// its own streams on it.
func fresh(t *testing.T) (url string, own func(*Options)) {
	n := openAccount(t)
	var count atomic.Int64
	return n.url(), func(o *Options) { o.Prefix = fmt.Sprintf("SUITE%d", count.Add(1)) }
}

func TestSuite(t *testing.T) {
	t.Parallel()
	url, own := fresh(t)
	journaltest.Run(t, func(t *testing.T) journal.Journal { return openTest(t, url, own) })
}

func TestSuiteRetention(t *testing.T) {
	t.Parallel()
	url, own := fresh(t)
	journaltest.RunRetention(t, func(t *testing.T, ret journal.Retention, now func() time.Time) journal.Journal {
		return openTest(t, url, func(o *Options) {
			own(o)
			o.Retention, o.Now, o.RetainEvery = ret, now, 20*time.Millisecond
		})
	})
}

func TestSuiteBase(t *testing.T) {
	t.Parallel()
	url, own := fresh(t)
	journaltest.RunBase(t, func(t *testing.T, ret journal.Retention, now func() time.Time, fold journal.Fold) journal.Journal {
		return openTest(t, url, func(o *Options) {
			own(o)
			o.Retention, o.Now, o.RetainEvery, o.firstRetain, o.Fold = ret, now, 20*time.Millisecond, time.Millisecond, fold
		})
	})
}

func TestSuiteSnapshots(t *testing.T) {
	t.Parallel()
	n := openAccount(t)
	journaltest.RunSnapshots(t, func(t *testing.T, dir string) journal.Journal {
		return openTest(t, n.url(), func(o *Options) { o.Prefix, o.ReplicaDir = "SNAPSHOTS", dir })
	})
}

// The replica is kept; the other variant loses it on every restart.
func TestSuiteDurable(t *testing.T) {
	t.Parallel()
	for _, lose := range []bool{false, true} {
		t.Run(fmt.Sprintf("lose=%t", lose), func(t *testing.T) {
			t.Parallel()
			n := openAccount(t)
			count := 0
			journaltest.RunDurable(t, func(t *testing.T, dir string) journal.Journal {
				return openTest(t, n.url(), func(o *Options) {
					o.Prefix = strings.NewReplacer("%", "", "/", "").Replace(natsconn.EncodeToken(dir))
					o.ReplicaDir = dir
					count++
					if lose {
						o.ReplicaDir = filepath.Join(dir, fmt.Sprint(count))
					}
				})
			})
		})
	}
}

// All 64 streams, as in production.
func TestAllStreams(t *testing.T) {
	t.Parallel()
	n := openAccount(t)
	j := openTest(t, n.url(), func(o *Options) { o.streams = 0; o.Logger = nil })
	for i := range 200 {
		mustAppend(t, j, fmt.Sprintf("space.%d", i), chat("a", "alice"))
	}
	spaces, err := j.Spaces(context.Background())
	if err != nil || len(spaces) != 200 {
		t.Errorf("%d spaces, %v", len(spaces), err)
	}
	for _, s := range j.streams {
		if s.local.Pos.Seq == 0 {
			t.Errorf("stream %s is not used", s.name)
		}
	}
}
