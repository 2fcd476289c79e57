package natsjournal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/journal/entrydb"
	"github.com/meup-protocol/meup/internal/testing/testkit"
)

// load appends from several goroutines until it is stopped.
type load struct {
	stop    chan struct{}
	wg      sync.WaitGroup
	failed  atomic.Int64 // appends that returned an error
	ok      atomic.Int64
	mu      sync.Mutex
	acked   []string // "seq id"
	unknown map[string]bool
	timeout time.Duration // of an append
}

func startLoad(t *testing.T, space string, journals ...*Journal) *load {
	l := &load{stop: make(chan struct{}), unknown: make(map[string]bool), timeout: testkit.Patience}
	for w := range 4 {
		j := journals[w%len(journals)]
		l.wg.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-l.stop:
					return
				default:
				}
				l.append(t, j, space, fmt.Sprintf("m-%d-%d", w, i))
			}
		})
	}
	return l
}

func (l *load) append(t *testing.T, j *Journal, space, id string) {
	ctx, cancel := context.WithTimeout(context.Background(), l.timeout)
	defer cancel()
	r := j.Append(ctx, space, []journal.Draft{chat(id, "alice")})[0]
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case r.Err == nil:
		l.acked = append(l.acked, fmt.Sprintf("%d %s", r.Seq, id))
		l.ok.Add(1)
	case errors.Is(r.Err, journal.ErrOutcomeUnknown):
		l.unknown[id] = true
		l.failed.Add(1)
	case errors.Is(r.Err, journal.ErrUnavailable): // not in the log, which check verifies
		l.failed.Add(1)
	default:
		t.Error(r.Err)
	}
}

func (l *load) end() {
	close(l.stop)
	l.wg.Wait()
}

// more waits until n more appends were acknowledged.
func (l *load) more(t *testing.T, n int64) {
	t.Helper()
	from := l.ok.Load()
	testkit.Eventually(t, fmt.Sprintf("%d more appends", n), func() bool { return l.ok.Load() >= from+n })
}

// check compares the log with the results of Append: each acknowledged entry is
// in it once, and no entry that was rejected.
func (l *load) check(t *testing.T, list []string) {
	t.Helper()
	there := make(map[string]bool)
	ids := make(map[string]bool)
	for _, line := range list {
		_, id, _ := strings.Cut(line, " ")
		if there[line] || ids[id] {
			t.Errorf("%s is there twice", line)
		}
		there[line], ids[id] = true, true
	}
	acked := make(map[string]bool)
	for _, line := range l.acked {
		_, id, _ := strings.Cut(line, " ")
		acked[id] = true
		if !there[line] {
			t.Errorf("%s was acknowledged and is not there", line)
		}
	}
	for id := range ids {
		if !acked[id] && !l.unknown[id] {
			t.Errorf("%s is there and nobody was told", id)
		}
	}
}

func TestRestartOfNATSUnderLoad(t *testing.T) {
	t.Parallel()
	n := startNATS(t)
	short := func(o *Options) { o.AppendTimeout = 3 * time.Second } // of the ones that must fail
	a, b := openTest(t, n.url(), short), openTest(t, n.url(), short)
	ra, rb := record(a), record(b)
	l := startLoad(t, "lab", a, b)
	for range 2 {
		l.more(t, 50)
		n.stop()
		testkit.Eventually(t, "not ready", func() bool { return a.Ready() != nil && b.Ready() != nil })
		failed := l.failed.Load()
		testkit.Eventually(t, "appends fail", func() bool { return l.failed.Load() > failed+3 })
		n.start()
	}
	l.more(t, 50)
	testkit.Eventually(t, "ready again", func() bool { return a.Ready() == nil && b.Ready() == nil })
	l.end()
	list := content(t, a, "lab")
	testkit.Eventually(t, "both have all", func() bool {
		list = content(t, a, "lab")
		return len(list) >= len(l.acked) && slices.Equal(content(t, b, "lab"), list)
	})
	l.check(t, list)
	waitForAgreement(t, "lab", len(list), []*Journal{a, b}, ra, rb)

	// A gateway that reads the whole log again gets the same entries.
	c := openTest(t, n.url(), nil)
	waitForAgreement(t, "lab", len(list), []*Journal{a, b, c})
}

func TestOpenWaitsForNATS(t *testing.T) {
	t.Parallel()
	n := startNATS(t)
	n.stop()
	var log testkit.Log
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	conn, opened := dial(t, n.url()), make(chan error, 1)
	go func() { // ends with ctx
		_, err := Open(ctx, Options{Conn: conn, Logger: slog.New(slog.NewTextHandler(&log, nil)), reasonEvery: time.Millisecond})
		opened <- err
	}()
	if line := log.Wait(t, "the log is not open yet"); !strings.Contains(line, errDisconnected.Error()) {
		t.Errorf("the reason: %s", line)
	}
	cancel()
	if err := <-opened; !errors.Is(err, errDisconnected) {
		t.Errorf("without NATS: %v", err)
	}
	failed, started := make(chan struct{}, 1), make(chan struct{})
	go func() {
		defer close(started)
		<-failed
		n.start()
	}()
	j := openTest(t, n.url(), nil, nats.ReconnectErrHandler(func(*nats.Conn, error) { signal(failed) }))
	<-started
	mustAppend(t, j, "lab", chat("a", "alice"))
}

func TestAppend_Canceled(t *testing.T) {
	t.Parallel()
	n := startNATS(t)
	j := openTest(t, n.url(), nil)
	n.stop()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	r := j.Append(ctx, "lab", []journal.Draft{chat("a", "alice")})[0]
	// The outcome is unknown if the connection was not known to be lost.
	failed := errors.Is(r.Err, journal.ErrUnavailable) || errors.Is(r.Err, journal.ErrOutcomeUnknown)
	if !failed || !errors.Is(r.Err, context.DeadlineExceeded) {
		t.Errorf("%+v", r)
	}
	n.start()
}

// damage modifies a file of the replica.
func damage(t *testing.T, dir, pattern string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "db", pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("no %s in the replica: %v", pattern, err)
	}
	for _, name := range files {
		if err := os.WriteFile(name, []byte("this is no file of the store, and long enough to be read as one"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// setReplicaFormat changes the format of a replica that is closed, and returns the former one.
func setReplicaFormat(t *testing.T, dir, format string) (before string) {
	t.Helper()
	db, err := entrydb.Open(entrydb.Options{Dir: filepath.Join(dir, "db")})
	if err != nil {
		t.Fatal(err)
	}
	had, err := db.Meta("format")
	b := db.NewBatch()
	b.SetMeta("format", []byte(format))
	if err := errors.Join(err, b.Commit(true), db.Close()); err != nil {
		t.Fatal(err)
	}
	return string(had)
}

func TestReplica_Rebuilt(t *testing.T) {
	t.Parallel()
	n := openAccount(t)
	dir := t.TempDir()
	keep := func(o *Options) { o.ReplicaDir = dir }
	j := openTest(t, n.url(), keep)
	mustAppend(t, j, "lab", chat("a", "alice"), chat("b", "bob"))
	mustAppend(t, j, "lab", grant("g", 0))
	want := content(t, j, "lab")
	closeTest(t, j)
	for name, harm := range map[string]func(){
		"nothing":  func() {},
		"manifest": func() { damage(t, dir, "MANIFEST-*") },
		"deleted":  func() { _ = os.RemoveAll(dir) },
		"format":   func() { setReplicaFormat(t, dir, "0") },
	} {
		t.Run(name, func(t *testing.T) {
			harm()
			j := openTest(t, n.url(), keep)
			if got := content(t, j, "lab"); !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
			if r := j.Append(t.Context(), "lab", []journal.Draft{chat("a", "alice")})[0]; !r.Retry {
				t.Errorf("the ids are forgotten: %+v", r)
			}
			closeTest(t, j)
			if format := setReplicaFormat(t, dir, replicaFormat); format != replicaFormat {
				t.Errorf("the replica has format %q, want %q", format, replicaFormat)
			}
		})
	}
}

// A gateway that is killed leaves a replica that was not synced, or only in
// part. The files are copied while they are written.
func TestReplicaOfKilledGateway(t *testing.T) {
	t.Parallel()
	n := openAccount(t)
	dir := t.TempDir()
	a := openTest(t, n.url(), func(o *Options) { o.ReplicaDir = dir })
	ra := record(a)
	l := startLoad(t, "lab", a)
	var copies []string
	for range 3 {
		l.more(t, 100)
		left := filepath.Join(t.TempDir(), "left")
		if err := os.CopyFS(left, os.DirFS(dir)); err != nil {
			t.Log(err) // a file was removed meanwhile
		}
		copies = append(copies, left)
	}
	l.end()
	list := content(t, a, "lab")
	for _, left := range copies {
		b := openTest(t, n.url(), func(o *Options) { o.ReplicaDir = left })
		waitForAgreement(t, "lab", len(list), []*Journal{a, b}, ra)
	}
}

func TestOpen_ReplicaInUse(t *testing.T) {
	t.Parallel()
	n := openAccount(t)
	dir := t.TempDir()
	j := openTest(t, n.url(), func(o *Options) { o.ReplicaDir = dir })
	mustAppend(t, j, "lab", chat("a", "alice"))
	if _, err := Open(t.Context(), Options{Conn: dial(t, n.url()), ReplicaDir: dir}); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("second journal on one replica: %v", err)
	}
	mustAppend(t, j, "lab", chat("b", "alice"))
}

// A consumer that disappears on the server is recreated at the same position.
func TestLostConsumer(t *testing.T) {
	t.Parallel()
	n := openAccount(t)
	a, b := openTest(t, n.url(), nil), openTest(t, n.url(), nil)
	ra, rb := record(a), record(b)
	l := startLoad(t, "lab", a, b)
	s := a.streams[a.names.Bucket("lab")]
	for range 2 {
		l.more(t, 20)
		handle, err := api(t, b).Stream(t.Context(), s.name)
		if err != nil {
			t.Fatal(err)
		}
		for name := range handle.ConsumerNames(t.Context()).Name() {
			_ = handle.DeleteConsumer(t.Context(), name) // it may have been deleted just now
		}
	}
	l.more(t, 20)
	l.end()
	if l.failed.Load() > 0 {
		t.Errorf("%d appends failed", l.failed.Load())
	}
	l.check(t, waitForAgreement(t, "lab", len(l.acked), []*Journal{a, b}, ra, rb))
}

// The replica is wiped and rebuilt while the gateway runs. The sink receives
// each entry once, including those appended meanwhile.
func TestRepairUnderLoad(t *testing.T) {
	t.Parallel()
	n := openAccount(t)
	a, b := openTest(t, n.url(), nil), openTest(t, n.url(), nil)
	ra, rb := record(a), record(b)
	l := startLoad(t, "lab", a, b)
	for range 3 {
		l.more(t, 50)
		before := a.replica.Completed()
		a.repair(repair{reason: errors.New("the test says so"), wipe: true})
		testkit.Eventually(t, "it is repaired", func() bool { return a.replica.Completed() != before && a.Ready() == nil })
	}
	l.more(t, 50)
	l.end()
	persistBarrier(t, b, "lab")
	list := content(t, b, "lab")
	l.check(t, list)
	waitForAgreement(t, "lab", len(list), []*Journal{a, b}, ra, rb)
}

// All gateways skip garbage on a stream; none skips a block of a later version.
func TestForeignMessages(t *testing.T) {
	t.Parallel()
	n := openAccount(t)
	j := openTest(t, n.url(), nil)
	mustAppend(t, j, "lab", chat("a", "alice"))
	subject := j.names.Subject("lab", false)
	for subject, data := range map[string]string{
		subject:               "garbage",
		subject + ".and.more": "garbage",
		strings.TrimSuffix(j.names.All(0), ">") + "%zz":      "garbage",
		strings.TrimSuffix(j.names.All(1), ">") + "no-space": string(encodeTrim(7)), // of another stream, mostly
	} {
		if _, err := api(t, j).Publish(t.Context(), subject, []byte(data)); err != nil {
			t.Fatal(err)
		}
	}
	mustAppend(t, j, "lab", chat("b", "alice"))
	waitReady(t, j)
	later := encodeTrim(1)
	later[1]++
	if _, err := api(t, j).Publish(t.Context(), subject, later); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "the journal stops there", func() bool { return errors.Is(j.Ready(), errNewerBlock) })
	if list := content(t, j, "lab"); len(list) != 2 {
		t.Errorf("%q", list)
	}
	_, err := Open(t.Context(), Options{Conn: dial(t, n.url()), ReplicaDir: t.TempDir(), streams: len(j.streams)})
	if !errors.Is(err, errNewerBlock) || !strings.Contains(err.Error(), j.streamOf("lab").name+" was written by a newer meup") || !strings.Contains(err.Error(), "format 2, this build reads 1") {
		t.Errorf("another start: %v, want that a newer meup wrote the stream, its name and both formats", err)
	}
}

func TestOpen_ForeignStream(t *testing.T) {
	t.Parallel()
	n := openAccount(t)
	j := openTest(t, n.url(), nil)
	c := j.streams[0].config(1)
	c.Name, c.Subjects, c.MaxAge = "OTHER_00", []string{"other.00.>"}, time.Hour
	if _, err := api(t, j).CreateStream(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	_, err := Open(t.Context(), Options{Conn: dial(t, n.url()), Prefix: "other", streams: 1})
	if !errors.Is(err, errUnsuitable) {
		t.Errorf("stream that drops messages: %v", err)
	}
}

func TestOnCommit(t *testing.T) {
	t.Parallel()
	n := openAccount(t)
	var drafts atomic.Int64
	j := openTest(t, n.url(), func(o *Options) {
		o.OnCommit = func(n, bytes int, took time.Duration) {
			if bytes <= 0 || took <= 0 {
				t.Errorf("%d bytes in %s", bytes, took)
			}
			drafts.Add(int64(n))
		}
	})
	mustAppend(t, j, "lab", chat("a", "alice"), chat("b", "alice"))
	mustAppend(t, j, "lab", grant("c", 0))
	testkit.Eventually(t, "three drafts are reported", func() bool { return drafts.Load() == 3 })
}

func TestBadOptions(t *testing.T) {
	for _, o := range []Options{{Prefix: "a.b"}, {Prefix: "a b"}, {Replicas: -1}, {Replicas: 6}} {
		if _, err := Open(t.Context(), o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}
