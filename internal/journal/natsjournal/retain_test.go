package natsjournal

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/testing/journaltest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

var laterTime = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// later sets a clock at which the entries of chat have expired.
func later(o *Options) {
	o.Retention.Age = time.Hour
	o.Now = func() time.Time { return laterTime }
}

// recent changes a draft so that it has not expired for later.
func recent(d journal.Draft) journal.Draft {
	d.Envelope.TS = time.Date(2026, 11, 22, 11, 59, 0, 0, time.UTC)
	return d
}

// messages returns the number of messages that a space has on NATS.
func messages(t *testing.T, j *Journal, space string, state bool) uint64 {
	t.Helper()
	handle, err := api(t, j).Stream(t.Context(), j.names.Stream(j.names.Bucket(space)))
	if err != nil {
		t.Fatal(err)
	}
	subject := j.names.Subject(space, state)
	info, err := handle.Info(t.Context(), jetstream.WithSubjectFilter(subject))
	if err != nil {
		t.Fatal(err)
	}
	return info.State.Subjects[subject]
}

type bounds struct{ oldest, newest protocol.Seq }

func boundsOf(t *testing.T, j *Journal, space string) bounds {
	t.Helper()
	oldest, newest, err := j.Bounds(t.Context(), space)
	if err != nil {
		t.Fatal(err)
	}
	return bounds{oldest, newest}
}

// After a trim, both gateways and one that rebuilds its replica have the same
// entries, and NATS has no more.
func TestRetentionAcrossGateways(t *testing.T) {
	t.Parallel()
	n := openAccount(t)
	a, b := openTest(t, n.url(), later), openTest(t, n.url(), later)
	mustAppend(t, a, "lab", chat("m-0", "alice"))
	mustAppend(t, a, "lab", grant("g-1", 0))
	for i := range 20 {
		mustAppend(t, b, "lab", chat(fmt.Sprintf("old-%d", i), "alice"))
	}
	fresh := mustAppend(t, a, "lab", recent(chat("new-1", "alice")), recent(chat("new-2", "alice")))
	mustAppend(t, a, "gone", chat("m", "alice"))
	waitForAgreement(t, "lab", 24, []*Journal{a, b})
	for _, j := range []*Journal{a, b} { // both at the same time
		persistTrims(t, j, laterTime)
	}
	list := waitForAgreement(t, "lab", 3, []*Journal{a, b})
	waitForAgreement(t, "gone", 0, []*Journal{a, b})
	if list[1] != fmt.Sprintf("%d new-1", fresh[0]) {
		t.Errorf("left: %q", list)
	}
	testkit.Eventually(t, "the stream is purged", func() bool {
		// new-1 and new-2 in one block, and the control block.
		return messages(t, a, "lab", false) == 2 && messages(t, a, "lab", true) == 1 && messages(t, a, "gone", false) == 1
	})

	c := openTest(t, n.url(), later)
	waitForAgreement(t, "lab", 3, []*Journal{a, b, c})
	for _, space := range []string{"lab", "gone"} {
		want := boundsOf(t, a, space)
		for _, j := range []*Journal{b, c} {
			if got := boundsOf(t, j, space); got != want {
				t.Errorf("bounds of %s: %+v, want %+v", space, got, want)
			}
		}
	}
	if got := boundsOf(t, c, "lab"); got.oldest > fresh[0] || got.newest != fresh[1] {
		t.Errorf("bounds %+v", got)
	}
	if _, err := c.Lookup(t.Context(), "lab", "old-3"); !errors.Is(err, journal.ErrNotFound) {
		t.Errorf("lookup of a dropped entry: %v", err)
	}
	mustAppend(t, c, "lab", recent(chat("m-0", "bob"))) // the id is free again
	waitForAgreement(t, "lab", 4, []*Journal{a, b, c})
}

// The first round does not wait for RetainEvery, even if the gateway is not ready
// when it is due.
func TestRetention_SoonAfterStart(t *testing.T) {
	t.Parallel()
	n := openAccount(t)
	a := openTest(t, n.url(), later)
	mustAppend(t, a, "lab", chat("old", "alice"))
	before := boundsOf(t, a, "lab").oldest
	openTest(t, n.url(), func(o *Options) { later(o); o.firstRetain = time.Millisecond }) // sooner than it is ready
	testkit.Eventually(t, "the old entry is dropped", func() bool { return boundsOf(t, a, "lab").oldest > before })
}

// A gateway that starts with a clock that is ahead drops nothing before its age by the time
// of NATS.
func TestRetention_ClockAhead(t *testing.T) {
	t.Parallel()
	n := openAccount(t)
	var rounds atomic.Int64
	var log testkit.Log
	a := openTest(t, n.url(), func(o *Options) {
		o.Retention.Age, o.RetainEvery, o.firstRetain = time.Hour, 20*time.Millisecond, time.Millisecond
		o.Logger = slog.New(slog.NewTextHandler(&log, nil))
		o.Now = func() time.Time {
			rounds.Add(1)
			return time.Now().Round(0).Add(2 * time.Hour)
		}
	})
	mustAppend(t, a, "lab", chat("old", "alice"))
	now := chat("now", "alice")
	now.Envelope.TS = time.Now()
	mustAppend(t, a, "lab", now)
	waitForAgreement(t, "lab", 1, []*Journal{a})
	before := rounds.Load()
	testkit.Eventually(t, "three rounds of retention", func() bool { return rounds.Load() >= before+3 })
	if got := content(t, a, "lab"); len(got) != 1 {
		t.Errorf("left: %q, want the entry of this minute", got)
	}
	log.Wait(t, "is ahead of NATS")
}

// Without the time of NATS, retention by size goes on, and retention by age waits.
func TestRetention_NoTimeOfNATS(t *testing.T) {
	t.Parallel()
	n := openAccount(t)
	var log testkit.Log
	start := func(fault error) *Journal {
		return openTest(t, n.url(), func(o *Options) {
			later(o)
			o.Retention.Bytes, o.RetainEvery, o.firstRetain, o.natsTimeFault = 2<<10, 20*time.Millisecond, time.Millisecond, fault
			o.Logger = slog.New(slog.NewTextHandler(&log, nil))
		})
	}
	a := start(errNoAnswer)
	for i := range 64 {
		mustAppend(t, a, "lab", chat(fmt.Sprint("m-", i), "alice"))
	}
	testkit.Eventually(t, "entries above the size are dropped", func() bool { return len(content(t, a, "lab")) < 32 })
	log.Wait(t, "retention by age waits")
	if len(content(t, a, "lab")) == 0 {
		t.Error("all entries are dropped by their age, want the ones within the size")
	}
	start(nil)
	testkit.Eventually(t, "all entries are dropped", func() bool { return len(content(t, a, "lab")) == 0 })
}

// Without a limit of age, NATS is not asked for its time.
func TestRetention_NoAge(t *testing.T) {
	t.Parallel()
	n := openAccount(t)
	var log testkit.Log
	a := openTest(t, n.url(), func(o *Options) {
		o.Retention.Bytes, o.RetainEvery, o.firstRetain, o.natsTimeFault = 2<<10, 20*time.Millisecond, time.Millisecond, errNoAnswer
		o.Logger = slog.New(slog.NewTextHandler(&log, nil))
	})
	for i := range 64 {
		mustAppend(t, a, "lab", chat(fmt.Sprint("m-", i), "alice"))
	}
	testkit.Eventually(t, "entries above the size are dropped", func() bool { return len(content(t, a, "lab")) < 32 })
	if strings.Contains(log.String(), "retention by age waits") {
		t.Errorf("a round without a limit of age asked NATS for its time:\n%s", log.String())
	}
}

// TestRetention_Base: a gateway that reads the log after the purge, and one of an
// interrupted trim, have the base of the space.
func TestRetention_Base(t *testing.T) {
	t.Parallel()
	n := openAccount(t)
	folding := func(o *Options) { later(o); o.Fold = journaltest.FoldIDs }
	a := openTest(t, n.url(), folding)
	mustAppend(t, a, "lab", chat("x", "alice"))
	mustAppend(t, a, "lab", chat("y", "alice"), recent(chat("last", "alice")))
	persistTrims(t, a, laterTime)
	waitForAgreement(t, "lab", 1, []*Journal{a})
	testkit.Eventually(t, "the stream is purged", func() bool {
		return messages(t, a, "lab", false) == 3 // y and last, base, trim
	})
	b := openTest(t, n.url(), folding)
	want, err := b.Base("lab")
	if err != nil || string(want.Data) != "x y" || want.Before != boundsOf(t, b, "lab").oldest {
		t.Errorf("base of a new gateway: %+v, %v", want, err)
	}
	// A gateway that has a base of an earlier round publishes it late.
	persistControl(t, a, "base", "lab", 1, encodeBase(journal.Base{Data: []byte("late"), Before: 1}))
	mustAppend(t, b, "lab", recent(chat("more", "alice")))
	if got, err := b.Base("lab"); err != nil || string(got.Data) != string(want.Data) || got.Before != want.Before {
		t.Errorf("after one of an earlier round: %+v, %v", got, err)
	}
}

// TestRetention_LargeBase: a base that NATS cannot store does not stop retention.
func TestRetention_LargeBase(t *testing.T) {
	t.Parallel()
	n := openAccount(t)
	a := openTest(t, n.url(), func(o *Options) {
		later(o)
		o.Fold = func(context.Context, string, []byte, iter.Seq2[*journal.Entry, error]) ([]byte, error) {
			return make([]byte, o.Conn.MaxPayload()), nil
		}
	})
	mustAppend(t, a, "lab", chat("x", "alice"), recent(chat("last", "alice")))
	persistTrims(t, a, laterTime)
	waitForAgreement(t, "lab", 1, []*Journal{a})
}

// publishRaw publishes a block without the checks of a gateway, like a gateway
// that has not yet read the latest messages of the stream.
func publishRaw(t *testing.T, j *Journal, space string, drafts ...journal.Draft) {
	t.Helper()
	var body []byte
	for i := range drafts {
		body, _ = appendDraft(body, nil, &drafts[i])
	}
	data := encodeDrafts([][]byte{encodeSection(len(drafts), body)}, 1<<20)
	if _, err := api(t, j).Publish(t.Context(), j.names.Subject(space, drafts[0].State), data); err != nil {
		t.Fatal(err)
	}
}

// A decision is trimmed while a later, rejected one stays in the stream. A
// rebuilt replica must reject the later one as well.
func TestPurge_RejectedDecision(t *testing.T) {
	t.Parallel()
	n := openAccount(t)
	a := openTest(t, n.url(), later)
	decision := func(id, who string) journal.Draft {
		d := chat(id, who)
		d.Settles = "p"
		return d
	}
	mustAppend(t, a, "lab", chat("first", "alice"))
	mustAppend(t, a, "lab", decision("r-1", "alice"))
	publishRaw(t, a, "lab", decision("r-2", "bob"), recent(chat("stays", "alice")))
	mustAppend(t, a, "lab", recent(chat("last", "alice")))
	waitForAgreement(t, "lab", 4, []*Journal{a})
	persistTrims(t, a, laterTime)
	want := waitForAgreement(t, "lab", 2, []*Journal{a})
	testkit.Eventually(t, "the stream is purged up to the decision", func() bool {
		return messages(t, a, "lab", false) == 4 // r-1, the mixed block, last, trim
	})
	b := openTest(t, n.url(), later)
	if got := content(t, b, "lab"); !slices.Equal(got, want) {
		t.Errorf("read anew: %q, want %q", got, want)
	}
}

// An id is trimmed while its rejected retry stays: the hazard that guards
// prevent. A rebuilt replica must not accept the retry as an entry.
func TestPurge_RejectedRetry(t *testing.T) {
	t.Parallel()
	n := openAccount(t)
	a := openTest(t, n.url(), later)
	mustAppend(t, a, "lab", chat("first", "alice"))
	mustAppend(t, a, "lab", chat("x", "alice"))
	mustAppend(t, a, "lab", chat("y", "alice"))
	// The retry shares a block with an entry that stays, so it stays as well.
	publishRaw(t, a, "lab", chat("x", "alice"), recent(chat("stays", "alice")))
	// A state draft, on the subject that is never purged.
	late := grant("y", 1<<52)
	publishRaw(t, a, "lab", late)
	seqs := mustAppend(t, a, "lab", recent(chat("last", "alice")))
	waitForAgreement(t, "lab", 5, []*Journal{a})
	persistTrims(t, a, laterTime)
	want := waitForAgreement(t, "lab", 2, []*Journal{a})
	testkit.Eventually(t, "the stream is purged up to x", func() bool {
		// x, y, the mixed block, last, trim
		return messages(t, a, "lab", false) == 5
	})
	b := openTest(t, n.url(), later)
	if got := content(t, b, "lab"); !slices.Equal(got, want) {
		t.Errorf("read anew: %q, want %q", got, want)
	}

	// When the retry has expired too, both are purged.
	persistControl(t, a, "trim", "lab", seqs[0], encodeTrim(seqs[0]))
	want = waitForAgreement(t, "lab", 1, []*Journal{a, b})
	testkit.Eventually(t, "everything old is purged", func() bool {
		return messages(t, a, "lab", false) == 3 && messages(t, a, "lab", true) == 0
	})
	c := openTest(t, n.url(), later)
	if got := content(t, c, "lab"); !slices.Equal(got, want) {
		t.Errorf("read anew: %q, want %q", got, want)
	}
}

func TestGuards_SurviveRestart(t *testing.T) {
	t.Parallel()
	n := openAccount(t)
	dir := t.TempDir()
	keep := func(o *Options) { o.ReplicaDir = dir }
	j := openTest(t, n.url(), keep)
	mustAppend(t, j, "lab", chat("x", "alice"))
	publishRaw(t, j, "lab", chat("x", "alice"))
	mustAppend(t, j, "lab", chat("y", "alice"))
	closeTest(t, j)
	j = openTest(t, n.url(), keep)
	if safe, _, err := j.replica.PurgeBound("lab", 2); safe != 1 || err != nil {
		t.Errorf("cut at %d between an entry and its retry, %v", safe, err)
	}
}
