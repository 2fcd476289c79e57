package natsjournal

import (
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

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/testkit"
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
	if err := j.js.DeleteStream(t.Context(), s.name); err != nil {
		t.Fatal(err)
	}
	if _, err := j.js.CreateStream(t.Context(), s.config(1)); err != nil {
		t.Fatal(err)
	}
	for _, d := range drafts {
		publishRaw(t, j, space, d)
	}
}

// The stream was deleted and recreated, either while the gateway ran or before
// it started.
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
			replaced, untouched := watchReplaced(j, "lab"), watchReplaced(openTest(t, n.url(), nil), "x")
			tool := openTest(t, n.url(), nil)
			if !running {
				closeTest(t, j)
			}
			recreateStream(t, tool, "lab", chat("z", "alice"))
			if !running {
				j = openTest(t, n.url(), keep)
			} else {
				testkit.Eventually(t, "the replacement is announced", func() bool { return replaced.Load() == 1 })
			}
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

// NATS restarts without the last messages. Gateways that have read them, one
// that has not and one that starts later agree on a new id.
func TestStreamLostItsTail(t *testing.T) {
	t.Parallel()
	for name, overwritten := range map[string]bool{"shorter": false, "overwritten": true} {
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
			testkit.Eventually(t, "c is appended", func() bool {
				return b.Append(t.Context(), "lab", []journal.Draft{chat("c", "alice")})[0].Err == nil
			})
			waitForAgreement(t, "lab", 3, []*Journal{a, b})
			closeTest(t, b)
			replacedA := watchReplaced(a, "lab")
			line.down.Store(true)
			line.cut()
			n.stop()
			n.opts.StoreDir = old // c is lost
			n.start()
			b = openTest(t, n.url(), one)
			replacedB := watchReplaced(b, "lab")
			if overwritten {
				mustAppend(t, b, "lab", chat("d", "alice"))
				mustAppend(t, b, "lab", chat("e", "alice"))
			}
			line.down.Store(false)
			testkit.Eventually(t, "it is announced", func() bool { return replacedA.Load() == 1 && replacedB.Load() == 1 })
			want := 2
			if overwritten {
				want = 4 // a, b, d, e
			}
			waitForAgreement(t, "lab", want, []*Journal{a, b})
			late := openTest(t, n.url(), one)
			if id := logIDOf(t, a, "lab"); id == before || id != logIDOf(t, b, "lab") || id != logIDOf(t, late, "lab") {
				t.Errorf("log ids %q, %q and %q, before %q", id, logIDOf(t, b, "lab"), logIDOf(t, late, "lab"), before)
			}
			if len(keptCopies(t, dir)) != 1 {
				t.Errorf("copies kept: %q", keptCopies(t, dir))
			}
		})
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
			if err := j.js.DeleteStream(t.Context(), s.name); err != nil {
				t.Fatal(err)
			}
		},
		"empty": func(t *testing.T, j *Journal, _ *stream) { recreateStream(t, j, "lab") },
		"purged": func(t *testing.T, j *Journal, s *stream) {
			handle, err := s.open(t.Context())
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
	if !errors.Is(err, ErrForeignReplica) || !strings.Contains(err.Error(), mine) || !strings.Contains(err.Error(), k.logName) || !strings.Contains(err.Error(), dir) {
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
