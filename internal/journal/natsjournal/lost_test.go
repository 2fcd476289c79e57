package natsjournal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/testing/testkit"
)

// watchReplaced counts the notifications that a space's log was replaced.
func watchReplaced(j *Journal, space string) *atomic.Int64 {
	n := new(atomic.Int64)
	j.Follow(func(string, []*journal.Entry) {}, func(affected func(string) bool) {
		if affected(space) {
			n.Add(1)
		}
	})
	return n
}

func logIDOf(t *testing.T, j *Journal, space string) string {
	t.Helper()
	id, err := j.LogID(t.Context(), space)
	if err != nil || id == "" {
		t.Errorf("log id %q, %v", id, err)
	}
	return id
}

// keptCopies returns the copies that were set aside in a replica's folder.
func keptCopies(t *testing.T, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "db.replaced-*"))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// recreateStream deletes the stream of a space and recreates it with an entry.
func recreateStream(t *testing.T, j *Journal, space string, drafts ...journal.Draft) {
	t.Helper()
	s := j.streams[j.names.Bucket(space)]
	if err := api(t, j).DeleteStream(t.Context(), s.name); err != nil {
		t.Fatal(err)
	}
	if _, err := api(t, j).CreateStream(t.Context(), s.config(1)); err != nil {
		t.Fatal(err)
	}
	for _, d := range drafts {
		publishRaw(t, j, space, d)
	}
}

// refuses waits until the gateway serves the log no more, because NATS lost a part of it, and
// returns the reason.
func refuses(t *testing.T, j *Journal) string {
	t.Helper()
	var reason error
	testkit.Eventually(t, "not ready because of a loss", func() bool {
		reason = j.Ready()
		return errors.Is(reason, errLost)
	})
	return reason.Error()
}

// The stream was deleted and recreated, either while the gateway ran or before
// it started. The gateway goes on when an operator has accepted that.
func TestStreamReplaced(t *testing.T) {
	t.Parallel()
	for _, running := range []bool{true, false} {
		t.Run(fmt.Sprintf("running=%t", running), func(t *testing.T) {
			t.Parallel()
			n := openAccount(t)
			dir := t.TempDir()
			keep := func(o *Options) { o.ReplicaDir = dir }
			j := openTest(t, n.url(), keep)
			mustAppend(t, j, "lab", chat("a", "alice"), chat("b", "alice"))
			mustAppend(t, j, "x", chat("a", "alice")) // of the other stream
			if j.names.Bucket("x") == j.names.Bucket("lab") {
				t.Fatal("the spaces share a stream")
			}
			before, other := logIDOf(t, j, "lab"), logIDOf(t, j, "x")
			tool := openTest(t, n.url(), nil)
			replaced, untouched := watchReplaced(tool, "lab"), watchReplaced(openTest(t, n.url(), nil), "x")
			if !running {
				closeTest(t, j)
			}
			recreateStream(t, tool, "lab", chat("z", "alice"))
			if running {
				refuses(t, j)
				if got := content(t, j, "lab"); len(got) != 2 || len(keptCopies(t, dir)) > 0 {
					t.Errorf("before the decision the copy has %q; kept %q", got, keptCopies(t, dir))
				}
				closeTest(t, j)
			}
			j = openTest(t, n.url(), func(o *Options) { keep(o); o.AcceptLoss = true })
			testkit.Eventually(t, "the replacement is announced", func() bool { return replaced.Load() == 1 && tool.Ready() == nil })
			if got := content(t, j, "lab"); len(got) != 1 || !strings.HasSuffix(got[0], " z") {
				t.Errorf("the log has %q", got)
			}
			if got := content(t, j, "x"); len(got) != 1 {
				t.Errorf("the other stream has %q", got)
			}
			if after := logIDOf(t, j, "lab"); after == before {
				t.Errorf("the log id is still %q", after)
			}
			if after := logIDOf(t, j, "x"); after != other || untouched.Load() > 0 {
				t.Errorf("the other log's id is %q, was %q; %d notifications", after, other, untouched.Load())
			}
			if len(keptCopies(t, dir)) != 1 {
				t.Errorf("copies kept: %q", keptCopies(t, dir))
			}
			mustAppend(t, j, "lab", chat("a", "alice"))
			testkit.Eventually(t, "all gateways agree", func() bool {
				id, err := tool.LogID(t.Context(), "lab")
				return err == nil && id == logIDOf(t, j, "lab")
			})
		})
	}
}

// NATS restarts without the last messages. A gateway that has read them refuses, until an
// operator accepts the loss or has the entries put back. Then it, one that has not read them
// and one that starts later agree on the log and on a new id.
func TestStreamLostItsTail(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		overwritten, restored bool
		want                  []string
	}{
		"shorter":               {false, false, []string{"a", "b"}},
		"shorter, restored":     {false, true, []string{"a", "b", "c"}},
		"overwritten":           {true, false, []string{"a", "b", "d", "e"}},
		"overwritten, restored": {true, true, []string{"a", "b", "d", "e", "c"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := startNATS(t)
			one := func(o *Options) { o.streams, o.shorterWait = 1, 500*time.Millisecond }
			dir := t.TempDir()
			a, line := openThrough(t, n, func(o *Options) { one(o); o.ReplicaDir = dir })
			b := openTest(t, n.url(), one)
			mustAppend(t, b, "lab", chat("a", "alice"))
			mustAppend(t, b, "lab", chat("b", "alice"))
			waitForAgreement(t, "lab", 2, []*Journal{a, b})
			before := logIDOf(t, a, "lab")
			old := backup(t, n)
			persistAppend(t, b, "lab", chat("c", "alice"))
			waitForAgreement(t, "lab", 3, []*Journal{a, b})
			closeTest(t, b)
			line.down.Store(true)
			line.cut()
			n.stop()
			n.opts.StoreDir = old // c is lost
			n.start()
			b = openTest(t, n.url(), one)
			replacedB := watchReplaced(b, "lab")
			if test.overwritten {
				mustAppend(t, b, "lab", chat("d", "alice"))
				mustAppend(t, b, "lab", chat("e", "alice"))
			}
			line.down.Store(false)
			reason := refuses(t, a)
			for _, part := range []string{"the same up to message 2", "at message 3 (", "missing on NATS: 1", dir, "--restore-log", "--accept-loss"} {
				if !strings.Contains(reason, part) {
					t.Errorf("the reason does not name %q: %s", part, reason)
				}
			}
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			if r := a.Append(ctx, "lab", []journal.Draft{chat("f", "alice")})[0]; !errors.Is(r.Err, journal.ErrUnavailable) {
				t.Errorf("append before the decision: %+v", r)
			}
			if got := content(t, a, "lab"); len(got) != 3 || len(keptCopies(t, dir)) > 0 || replacedB.Load() > 0 {
				t.Errorf("before the decision the copy has %q; kept %q; %d notifications", got, keptCopies(t, dir), replacedB.Load())
			}
			closeTest(t, a)
			a = openTest(t, n.url(), func(o *Options) {
				one(o)
				o.ReplicaDir, o.RestoreLog, o.AcceptLoss = dir, test.restored, !test.restored
			})
			testkit.Eventually(t, "it is announced", func() bool { return replacedB.Load() == 1 })
			list := waitForAgreement(t, "lab", len(test.want), []*Journal{a, b})
			for i, id := range test.want {
				if !strings.HasSuffix(list[i], " "+id) {
					t.Errorf("the log is %q, want %q", list, test.want)
				}
			}
			late := openTest(t, n.url(), one)
			waitForAgreement(t, "lab", len(test.want), []*Journal{a, late})
			if id := logIDOf(t, a, "lab"); id == before || id != logIDOf(t, b, "lab") || id != logIDOf(t, late, "lab") {
				t.Errorf("log ids %q, %q and %q, before %q", id, logIDOf(t, b, "lab"), logIDOf(t, late, "lab"), before)
			}
			if len(keptCopies(t, dir)) != 1 {
				t.Errorf("copies kept: %q", keptCopies(t, dir))
			}
		})
	}
}

// The store of NATS is replaced between the comparison with the local copy and the creation of
// the consumer, and other messages take the places of the lost ones.
func TestStreamLostItsTail_Compared(t *testing.T) {
	t.Parallel()
	n := startNATS(t)
	one := func(o *Options) { o.streams, o.shorterWait = 1, 500*time.Millisecond }
	var window atomic.Bool
	reached, replaced := make(chan struct{}), make(chan struct{})
	a, line := openThrough(t, n, func(o *Options) {
		one(o)
		o.ReplicaDir = t.TempDir()
		o.OnFollow = func() {
			if window.CompareAndSwap(true, false) {
				reached <- struct{}{}
				<-replaced
			}
		}
	})
	b := openTest(t, n.url(), one)
	mustAppend(t, b, "lab", chat("a", "alice"))
	waitForAgreement(t, "lab", 1, []*Journal{a, b})
	old := backup(t, n)
	persistAppend(t, b, "lab", chat("b", "alice"))
	waitForAgreement(t, "lab", 2, []*Journal{a, b})
	closeTest(t, b)
	window.Store(true)
	line.cut()
	<-reached
	n.stop()
	n.opts.StoreDir = old // b is lost
	n.start()
	b = openTest(t, n.url(), one)
	for _, id := range []string{"c", "d", "e"} {
		mustAppend(t, b, "lab", chat(id, "alice"))
	}
	testkit.Eventually(t, "connected again", func() bool { return a.nc.IsConnected() })
	close(replaced)
	refuses(t, a)
	if got := content(t, a, "lab"); len(got) != 2 || !strings.HasSuffix(got[1], " b") {
		t.Errorf("before the decision the copy has %q", got)
	}
}

// All gateways have read messages that NATS has lost. All refuse, and the decision at one of them
// decides for all.
func TestStreamWentBack_OneDecidesForAll(t *testing.T) {
	t.Parallel()
	for _, restored := range []bool{true, false} {
		t.Run(fmt.Sprintf("restored=%t", restored), func(t *testing.T) {
			t.Parallel()
			n := startNATS(t)
			dirs := []string{t.TempDir(), t.TempDir(), t.TempDir()}
			open := func(i int, change func(o *Options)) *Journal {
				return openTest(t, n.url(), func(o *Options) { o.shorterWait, o.ReplicaDir = 500*time.Millisecond, dirs[i]; change(o) })
			}
			same := func(*Options) {}
			j := []*Journal{open(0, same), open(1, same), open(2, same)}
			spaces := []string{"lab", "x"} // of different streams
			for _, space := range spaces {
				mustAppend(t, j[0], space, grant("granted-"+space, 0))
			}
			old := backup(t, n)
			settle := chat("approved", "alice")
			settle.Settles = "proposal"
			for _, space := range spaces {
				persistAppend(t, j[1], space, grant("revoked-"+space, 1<<52))
				persistAppend(t, j[2], space, settle)
				waitForAgreement(t, space, 3, j)
			}
			n.stop()
			n.opts.StoreDir = old
			n.start()
			for _, k := range j {
				refuses(t, k)
			}
			// A gateway without a copy does not serve what NATS has left.
			empty := startTest(t, n.url(), nil)
			reason := refuses(t, empty)
			if !slices.ContainsFunc(dirs, func(dir string) bool { return strings.Contains(reason, ":"+dir+" has messages up to 3") }) {
				t.Errorf("the reason names no copy: %s", reason)
			}
			closeTest(t, j[1])
			j[1] = open(1, func(o *Options) { o.RestoreLog, o.AcceptLoss = restored, !restored })
			testkit.Eventually(t, "all are ready", func() bool {
				return j[0].Ready() == nil && j[1].Ready() == nil && j[2].Ready() == nil && empty.Ready() == nil
			})
			want := 1
			if restored {
				want = 3
			}
			again := settle
			again.Envelope.ID = "approved-again"
			for _, space := range spaces {
				waitForAgreement(t, space, want, append(j, empty, openTest(t, n.url(), nil)))
				var settled *journal.SettledError
				if r := j[2].Append(t.Context(), space, []journal.Draft{again})[0]; errors.As(r.Err, &settled) != restored {
					t.Errorf("a second decision on the proposal in %s: %+v", space, r)
				}
			}
		})
	}
}

// A copy in another format is compared with the stream before it is made again.
func TestStreamWentBack_OtherFormat(t *testing.T) {
	t.Parallel()
	n := startNATS(t)
	dir := t.TempDir()
	one := func(o *Options) { o.streams, o.shorterWait, o.ReplicaDir = 1, 500*time.Millisecond, dir }
	j := openTest(t, n.url(), one)
	mustAppend(t, j, "lab", chat("a", "alice"))
	old := backup(t, n)
	persistAppend(t, j, "lab", chat("b", "alice"))
	closeTest(t, j)
	n.stop()
	n.opts.StoreDir = old
	n.start()
	setReplicaFormat(t, dir, "4")
	j = startTest(t, n.url(), one)
	refuses(t, j)
	closeTest(t, j)
	j = openTest(t, n.url(), func(o *Options) { one(o); o.RestoreLog = true })
	if got := content(t, j, "lab"); len(got) != 2 {
		t.Errorf("the log has %q, want a and b", got)
	}
	if kept := keptCopies(t, dir); len(kept) != 1 {
		t.Errorf("kept %q, want the copy in the other format", kept)
	}
}

// A copy in another format that cannot be compared with the stream is kept, and another one is made.
func TestStreamWentBack_UnreadableFormat(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(key, value []byte) (newKey, newValue []byte){
		"keys": func(key, value []byte) ([]byte, []byte) {
			if key[0] == 'e' {
				key = append([]byte("e\xff\xff"), key...)
			}
			return key, value
		},
		"entries": func(key, value []byte) ([]byte, []byte) {
			if key[0] == 'e' {
				value[0] = 9
			}
			return key, value
		},
		"position": func(key, value []byte) ([]byte, []byte) {
			if bytes.HasPrefix(key, []byte("mposition/")) {
				value = append(value, 0)
			}
			return key, value
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := startNATS(t)
			dir := t.TempDir()
			one := func(o *Options) { o.streams, o.shorterWait, o.ReplicaDir = 1, 500*time.Millisecond, dir }
			j := openTest(t, n.url(), one)
			mustAppend(t, j, "lab", chat("a", "alice"))
			old := backup(t, n)
			persistAppend(t, j, "lab", chat("b", "alice"))
			closeTest(t, j)
			n.stop()
			n.opts.StoreDir = old
			n.start()
			setReplicaFormat(t, dir, "9")
			changeRows(t, filepath.Join(dir, "db"), change)
			j = openTest(t, n.url(), one)
			if got := content(t, j, "lab"); len(got) != 1 {
				t.Errorf("the log has %q, want a", got)
			}
			if kept := keptCopies(t, dir); len(kept) != 1 {
				t.Errorf("kept %q, want the copy in the other format", kept)
			}
		})
	}
}

// A copy in another format is kept if it is wrong for one stream, whichever stream is compared last.
func TestMakeAgain_WrongForOneStream(t *testing.T) {
	j := &Journal{repairs: make(chan repair, 1)}
	lost, intact := &stream{j: j}, &stream{j: j}
	j.streams = []*stream{lost, intact}
	if err := lost.startOver("it is wrong"); !errors.Is(err, errComparing) {
		t.Fatalf("%v, want that it waits for the other stream", err)
	}
	if err := intact.makeAgain("it has another format", false); !errors.Is(err, errReplaced) {
		t.Fatalf("%v, want that it is made again", err)
	}
	if r := <-j.repairs; !r.wipe {
		t.Error("the copy is deleted, want that it is kept")
	}
}

// changeRows changes the entries and the meta rows of a closed database.
func changeRows(t *testing.T, dir string, change func(key, value []byte) (newKey, newValue []byte)) {
	t.Helper()
	db, err := pebble.Open(dir, &pebble.Options{
		Merger: &pebble.Merger{Name: "meup.sum", Merge: pebble.DefaultMerger.Merge}, FormatMajorVersion: pebble.FormatNewest,
		DisableAutomaticCompactions: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := db.NewIter(&pebble.IterOptions{LowerBound: []byte("e"), UpperBound: []byte("n")})
	if err != nil {
		t.Fatal(err)
	}
	b := db.NewBatch()
	for ok := rows.First(); ok; ok = rows.Next() {
		key, value := change(bytes.Clone(rows.Key()), bytes.Clone(rows.Value()))
		if err := errors.Join(b.Delete(rows.Key(), nil), b.Set(key, value, nil)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(rows.Close(), b.Commit(pebble.Sync), db.Close()); err != nil {
		t.Fatal(err)
	}
}

// A stream went back and went on. Retention then removed the message at which the copy ends:
// the newest state entry of the copy shows the loss.
func TestStreamWentBack_ThenTrimmed(t *testing.T) {
	t.Parallel()
	n := startNATS(t)
	dir := t.TempDir()
	one := func(o *Options) { o.streams = 1 }
	keep := func(o *Options) { one(o); o.ReplicaDir = dir }
	a := openTest(t, n.url(), keep)
	mustAppend(t, a, "lab", grant("granted", 0))
	old := backup(t, n)
	persistAppend(t, a, "lab", grant("revoked", 1<<52))
	persistAppend(t, a, "lab", chat("c", "alice"))
	closeTest(t, a)
	n.stop()
	n.opts.StoreDir = old
	n.start()
	b := openTest(t, n.url(), one)
	mustAppend(t, b, "lab", grant("other", 1<<52))
	mustAppend(t, b, "lab", chat("d", "alice"))
	last := mustAppend(t, b, "lab", chat("e", "alice"))[0]
	handle, err := api(t, b).Stream(t.Context(), b.streams[0].name)
	if err != nil {
		t.Fatal(err)
	}
	if err := handle.Purge(t.Context(), jetstream.WithPurgeSubject(b.names.Subject("lab", false)), jetstream.WithPurgeSequence(blockMessage(last))); err != nil {
		t.Fatal(err)
	}
	refuses(t, startTest(t, n.url(), keep))
}

// The stream has a message of a later version where the copy has an entry: that is no loss.
func TestStreamWentBack_LaterVersion(t *testing.T) {
	t.Parallel()
	n := startNATS(t)
	dir := t.TempDir()
	one := func(o *Options) { o.streams, o.ReplicaDir = 1, dir }
	j := openTest(t, n.url(), one)
	mustAppend(t, j, "lab", chat("a", "alice"))
	old := backup(t, n)
	persistAppend(t, j, "lab", chat("b", "alice"))
	closeTest(t, j)
	n.stop()
	n.opts.StoreDir = old
	n.start()
	later := encodeTrim(1)
	later[1]++
	js, err := jetstream.New(dial(t, n.url()), jetstream.WithDefaultTimeout(testkit.Patience))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(t.Context(), j.names.Subject("lab", false), later); err != nil {
		t.Fatal(err)
	}
	j = startTest(t, n.url(), one)
	testkit.Eventually(t, "the later version is reported", func() bool { return errors.Is(j.Ready(), errNewerBlock) })
}

// A stream that went back ends with an epoch that the copy has from before. That is no
// decision on this loss.
func TestStreamWentBack_OlderEpoch(t *testing.T) {
	t.Parallel()
	n := startNATS(t)
	j := openTest(t, n.url(), func(o *Options) { o.streams, o.shorterWait = 1, 500*time.Millisecond })
	epoch := func(name string) {
		t.Helper()
		before := logIDOf(t, j, "lab")
		testkit.Eventually(t, "the epoch is published", func() bool {
			_, err := j.js.Publish(t.Context(), j.names.Epoch(0), encodeEpoch(name, false))
			return err == nil
		})
		testkit.Eventually(t, "the epoch has begun", func() bool { return logIDOf(t, j, "lab") != before })
	}
	mustAppend(t, j, "lab", chat("a", "alice"))
	epoch("first")
	old := backup(t, n)
	epoch("second")
	persistAppend(t, j, "lab", chat("b", "alice"))
	n.stop()
	n.opts.StoreDir = old
	n.start()
	refuses(t, j)
	if got := content(t, j, "lab"); len(got) != 2 {
		t.Errorf("the copy has %q", got)
	}
}

// A gateway that serves with a copy that was behind stops when another one finds a loss, and
// it goes on by itself when the complete store of NATS is back.
func TestStreamWentBack_StoreRestored(t *testing.T) {
	t.Parallel()
	n := startNATS(t)
	one := func(o *Options) { o.streams, o.shorterWait = 1, 500*time.Millisecond }
	a, line := openThrough(t, n, one)
	persistAppend(t, a, "lab", chat("a", "alice"))
	old := backup(t, n)
	persistAppend(t, a, "lab", chat("b", "alice"))
	line.down.Store(true)
	line.cut()
	n.stop()
	complete := n.opts.StoreDir
	n.opts.StoreDir = old
	n.start()
	behind := openTest(t, n.url(), one)
	line.down.Store(false)
	refuses(t, a)
	refuses(t, behind)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if r := behind.Append(ctx, "lab", []journal.Draft{chat("c", "alice")})[0]; !errors.Is(r.Err, journal.ErrUnavailable) {
		t.Errorf("append at a gateway that is held back: %+v", r)
	}
	n.stop()
	n.opts.StoreDir = complete
	n.start()
	testkit.Eventually(t, "both are ready", func() bool { return a.Ready() == nil && behind.Ready() == nil })
	persistAppend(t, behind, "lab", chat("c", "alice"))
	waitForAgreement(t, "lab", 3, []*Journal{a, behind, openTest(t, n.url(), one)})
}

// The digests of a copy with entries that NATS has lost differ from those of other gateways. It is
// not replaced because of that.
func TestStreamWentBack_NotVerified(t *testing.T) {
	t.Parallel()
	n := startNATS(t)
	one := func(o *Options) {
		o.streams, o.shorterWait, o.auditEvery = 1, 500*time.Millisecond, 10*time.Millisecond
	}
	a := openTest(t, n.url(), one)
	persistAppend(t, a, "lab", chat("a", "alice"))
	old := backup(t, n)
	persistAppend(t, a, "lab", chat("b", "alice"))
	n.stop()
	n.opts.StoreDir = old
	n.start()
	b := startTest(t, n.url(), one)
	refuses(t, a)
	refuses(t, b) // it has as many messages as A now, with the one that holds it back
	var reports atomic.Int64
	sub, err := a.nc.Subscribe(a.names.Audit(), func(*nats.Msg) { reports.Add(1) })
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	testkit.Eventually(t, "reports are compared", func() bool { return reports.Load() > 40 })
	if v, w := a.auditor.verifications.Load(), b.auditor.verifications.Load(); v+w > 0 {
		t.Errorf("%d and %d verifications of the copies", v, w)
	}
	if got := content(t, a, "lab"); len(got) != 2 {
		t.Errorf("the copy has %q", got)
	}
}

// The gateway that accepts the loss has a copy without a loss.
func TestStreamWentBack_AcceptedElsewhere(t *testing.T) {
	t.Parallel()
	n := startNATS(t)
	one := func(o *Options) { o.streams, o.shorterWait = 1, 500*time.Millisecond }
	a := openTest(t, n.url(), one)
	persistAppend(t, a, "lab", chat("a", "alice"))
	old := backup(t, n)
	persistAppend(t, a, "lab", chat("b", "alice"))
	n.stop()
	n.opts.StoreDir = old
	n.start()
	refuses(t, a)
	b := openTest(t, n.url(), func(o *Options) { one(o); o.AcceptLoss = true })
	testkit.Eventually(t, "the other gateway follows", func() bool { return a.Ready() == nil })
	waitForAgreement(t, "lab", 1, []*Journal{a, b})
}

// Each of two gateways has more of another stream. Each puts back what it has more of, and
// waits for the other one.
func TestRestoreLog_LongestCopy(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]bool{"both are there": false, "one is lost": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			restoreLongest(t, lost)
		})
	}
}

// restoreLongest puts the entries of two gateways back. If the copy of the second one is lost,
// the first one does not wait for it.
func restoreLongest(t *testing.T, lost bool) {
	n := startNATS(t)
	dirA, dirB := t.TempDir(), t.TempDir()
	options := func(dir string, restore, accept bool) func(o *Options) {
		return func(o *Options) {
			o.shorterWait, o.ReplicaDir, o.RestoreLog, o.AcceptLoss = 500*time.Millisecond, dir, restore, accept
		}
	}
	a, b := openTest(t, n.url(), options(dirA, false, false)), openTest(t, n.url(), options(dirB, false, false))
	persistAppend(t, a, "lab", chat("a", "alice"))
	persistAppend(t, a, "x", chat("a", "alice"))
	waitForAgreement(t, "lab", 1, []*Journal{a, b})
	waitForAgreement(t, "x", 1, []*Journal{a, b})
	closeTest(t, b)
	old, other := backup(t, n), backup(t, n)
	for _, id := range []string{"b", "c"} {
		persistAppend(t, a, "lab", chat(id, "alice"))
	}
	persistAppend(t, a, "x", chat("b", "alice"))
	closeTest(t, a)
	n.stop()
	n.opts.StoreDir = other
	n.start()
	b = openTest(t, n.url(), options(dirB, false, false))
	persistAppend(t, b, "lab", chat("b", "alice"))
	for _, id := range []string{"b", "c"} {
		persistAppend(t, b, "x", chat(id, "alice"))
	}
	closeTest(t, b)
	n.stop()
	n.opts.StoreDir = old
	n.start()

	b = startTest(t, n.url(), options(dirB, false, false))
	refuses(t, b)
	a = startTest(t, n.url(), options(dirA, true, false))
	longer := func(j *Journal, space string) func() bool {
		return func() bool { return errors.Is(j.streamOf(space).healthErr(), errLonger) }
	}
	testkit.Eventually(t, "A waits for the gateway that has more of x", longer(a, "x"))
	closeTest(t, b)
	if lost {
		closeTest(t, a)
		a = openTest(t, n.url(), options(dirA, true, true))
		waitForAgreement(t, "lab", 3, []*Journal{a})
		waitForAgreement(t, "x", 2, []*Journal{a})
		return
	}
	b = startTest(t, n.url(), options(dirB, true, false))
	waitOpen(t, a)
	waitOpen(t, b)
	waitForAgreement(t, "lab", 3, []*Journal{a, b})
	waitForAgreement(t, "x", 3, []*Journal{a, b})
}

// A stream that was purged by hand, and has other messages since, does not go on by itself.
// The entries of the copy are put into a new stream.
func TestStreamPurged(t *testing.T) {
	t.Parallel()
	n := openAccount(t)
	dir := t.TempDir()
	keep := func(o *Options) { o.ReplicaDir, o.missingWait = dir, time.Millisecond }
	a := openTest(t, n.url(), keep)
	mustAppend(t, a, "lab", grant("g", 0))
	mustAppend(t, a, "lab", chat("a", "alice"))
	closeTest(t, a)
	s := a.streamOf("lab")
	handle, err := api(t, a).Stream(t.Context(), s.name)
	if err == nil {
		err = handle.Purge(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	b := openTest(t, n.url(), nil)
	mustAppend(t, b, "lab", chat("b", "alice"))
	a = startTest(t, n.url(), func(o *Options) { keep(o); o.RestoreLog = true })
	if reason := refuses(t, a); !strings.Contains(reason, "nats stream rm "+s.name) {
		testkit.Eventually(t, "the reason names the way out", func() bool { return strings.Contains(a.Ready().Error(), "nats stream rm "+s.name) })
	}
	refuses(t, b)
	closeTest(t, b)
	if err := api(t, a).DeleteStream(t.Context(), s.name); err != nil {
		t.Fatal(err)
	}
	waitOpen(t, a)
	late := openTest(t, n.url(), nil)
	list := waitForAgreement(t, "lab", 2, []*Journal{a, late})
	if !strings.HasSuffix(list[0], " g") || !strings.HasSuffix(list[1], " a") {
		t.Errorf("the log has %q", list)
	}
}

// A stream that has lost messages, but no entry, goes on by itself.
func TestStreamLostNoEntry(t *testing.T) {
	t.Parallel()
	n := startNATS(t)
	j := openTest(t, n.url(), func(o *Options) { o.streams, o.shorterWait = 1, 500*time.Millisecond })
	persistAppend(t, j, "lab", chat("a", "alice"))
	old := backup(t, n)
	testkit.Eventually(t, "a message without entries is stored", func() bool {
		_, err := j.js.Publish(t.Context(), j.names.Subject("lab", false), encodeTrim(1))
		return err == nil
	})
	persistBarrier(t, j, "lab")
	n.stop()
	n.opts.StoreDir = old
	n.start()
	persistAppend(t, j, "lab", chat("b", "alice"))
	waitForAgreement(t, "lab", 2, []*Journal{j, openTest(t, n.url(), func(o *Options) { o.streams = 1 })})
}

// NATS lost all streams. The entries that retention has left are put back, with the base of
// the others; an id that was used before is a retry.
func TestRestoreLog_AllStreamsGone(t *testing.T) {
	t.Parallel()
	n := openAccount(t)
	dir := t.TempDir()
	keep := func(o *Options) { o.ReplicaDir, o.missingWait = dir, time.Millisecond }
	j := openTest(t, n.url(), keep)
	name := j.logName
	mustAppend(t, j, "lab", chat("dropped", "alice"))
	mustAppend(t, j, "lab", grant("g", 0))
	kept := mustAppend(t, j, "lab", chat("a", "alice"), chat("b", "bob"))
	mustAppend(t, j, "x", chat("c", "alice"))
	for control, data := range map[string][]byte{"base": encodeBase(journal.Base{Data: []byte("folded"), Before: kept[0]}), "trim": encodeTrim(kept[0])} {
		persistControl(t, j, control, "lab", kept[0], data)
	}
	testkit.Eventually(t, "the first entry is dropped", func() bool { return len(content(t, j, "lab")) == 3 })
	persistBarrier(t, j, "lab")
	closeTest(t, j)
	for _, s := range j.streams {
		if err := api(t, j).DeleteStream(t.Context(), s.name); err != nil {
			t.Fatal(err)
		}
	}
	j = openTest(t, n.url(), func(o *Options) { keep(o); o.RestoreLog = true })
	if j.logName != name {
		t.Errorf("the log is %s, and was %s", j.logName, name)
	}
	late := openTest(t, n.url(), nil)
	list := waitForAgreement(t, "lab", 3, []*Journal{j, late})
	for i, id := range []string{"g", "a", "b"} {
		if !strings.HasSuffix(list[i], " "+id) {
			t.Errorf("entry %d is %s, want %s", i, list[i], id)
		}
	}
	waitForAgreement(t, "x", 1, []*Journal{j, late})
	for _, k := range []*Journal{j, late} {
		if base, err := k.Base("lab"); err != nil || string(base.Data) != "folded" {
			t.Errorf("the base is %+v, %v", base, err)
		}
		if r := k.Append(t.Context(), "lab", []journal.Draft{chat("b", "bob")})[0]; !r.Retry {
			t.Errorf("an id that was put back: %+v", r)
		}
	}
	if len(keptCopies(t, dir)) != 1 {
		t.Errorf("copies kept: %q", keptCopies(t, dir))
	}
	closeTest(t, j)
	j = openTest(t, n.url(), func(o *Options) { keep(o); o.RestoreLog = true })
	waitForAgreement(t, "lab", 3, []*Journal{j, late})
	if len(keptCopies(t, dir)) != 1 {
		t.Errorf("a restore without a loss keeps copies: %q", keptCopies(t, dir))
	}
}

// backup stops the server, copies its files, and starts it again. It returns
// the folder of the copy.
func backup(t *testing.T, n *natsServer) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "backup")
	n.stop()
	if err := os.CopyFS(dir, os.DirFS(n.opts.StoreDir)); err != nil {
		t.Fatal(err)
	}
	n.start()
	return dir
}

// The stream is missing or empty while the local copy has entries: an operator
// has to decide, and until then the copy is not changed.
func TestStreamLost_OperatorDecides(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(t *testing.T, j *Journal, s *stream){
		"gone": func(t *testing.T, j *Journal, s *stream) {
			if err := api(t, j).DeleteStream(t.Context(), s.name); err != nil {
				t.Fatal(err)
			}
		},
		"empty": func(t *testing.T, j *Journal, _ *stream) { recreateStream(t, j, "lab") },
		"purged": func(t *testing.T, j *Journal, s *stream) {
			handle, err := api(t, j).Stream(t.Context(), s.name)
			if err == nil {
				err = handle.Purge(t.Context())
			}
			if err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := openAccount(t)
			dir, dirB := t.TempDir(), t.TempDir()
			soon := func(o *Options) { o.missingWait = 500 * time.Millisecond }
			keep := func(o *Options) { soon(o); o.ReplicaDir = dir }
			j := openTest(t, n.url(), keep)
			b := openTest(t, n.url(), func(o *Options) { soon(o); o.ReplicaDir = dirB })
			persistAppend(t, j, "lab", chat("a", "alice"))
			waitForAgreement(t, "lab", 1, []*Journal{j, b})
			before := logIDOf(t, j, "lab")
			s := j.streams[j.names.Bucket("lab")]
			lose(t, j, s)
			signal(s.checkRequests)
			signal(b.streams[s.index].checkRequests)
			testkit.Eventually(t, "not ready", func() bool { return errors.Is(j.Ready(), errLost) && errors.Is(b.Ready(), errLost) })
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			if r := j.Append(ctx, "lab", []journal.Draft{chat("b", "alice")})[0]; !errors.Is(r.Err, journal.ErrUnavailable) {
				t.Errorf("append: %+v", r)
			}
			if got := content(t, j, "lab"); len(got) != 1 || len(keptCopies(t, dir)) > 0 {
				t.Errorf("the copy has %q; kept %q", got, keptCopies(t, dir))
			}
			closeTest(t, j)
			replaced := watchReplaced(b, "lab")
			j = openTest(t, n.url(), func(o *Options) { keep(o); o.AcceptLoss = true })
			persistAppend(t, j, "lab", chat("c", "alice"))
			if got := content(t, j, "lab"); len(got) != 1 || len(keptCopies(t, dir)) != 1 {
				t.Errorf("after the loss was accepted: %q, kept %q", got, keptCopies(t, dir))
			}
			// The decision at one gateway also applies to the others.
			testkit.Eventually(t, "the other gateway follows", func() bool { return replaced.Load() == 1 && b.Ready() == nil })
			waitForAgreement(t, "lab", 1, []*Journal{j, b})
			if id := logIDOf(t, j, "lab"); id == before || id != logIDOf(t, b, "lab") {
				t.Errorf("log ids %q and %q, before %q", id, logIDOf(t, b, "lab"), before)
			}
		})
	}
}

// The data folder belongs to another NATS.
func TestForeignReplica(t *testing.T) {
	t.Parallel()
	n, m := openAccount(t), openAccount(t)
	dir := t.TempDir()
	keep := func(o *Options) { o.ReplicaDir = dir }
	j := openTest(t, n.url(), keep)
	mustAppend(t, j, "lab", chat("a", "alice"))
	mine := j.logName
	closeTest(t, j)
	k := openTest(t, m.url(), nil)
	mustAppend(t, k, "lab", chat("b", "alice"))

	_, err := Open(t.Context(), Options{Conn: dial(t, m.url()), ReplicaDir: dir, streams: 2})
	if !errors.Is(err, errForeignReplica) || !strings.Contains(err.Error(), mine) || !strings.Contains(err.Error(), k.logName) || !strings.Contains(err.Error(), dir) {
		t.Errorf("another log's folder: %v", err)
	}
	j = openTest(t, n.url(), keep)
	if got := content(t, j, "lab"); len(got) != 1 || len(keptCopies(t, dir)) > 0 {
		t.Errorf("the copy has %q; kept %q", got, keptCopies(t, dir))
	}
	closeTest(t, j)
	j = openTest(t, m.url(), func(o *Options) { keep(o); o.AcceptLoss = true })
	if got := content(t, j, "lab"); !slices.Equal(got, content(t, k, "lab")) || len(keptCopies(t, dir)) != 1 {
		t.Errorf("after the loss was accepted: %q; kept %q", got, keptCopies(t, dir))
	}
}
