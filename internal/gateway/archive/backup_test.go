package archive

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/journal/pebblejournal"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// rounds is how many backups are made and restored under load.
var rounds = flag.Int("backups", 3, "how many backups are made under load")

// running is a log with the socket of a gateway.
type running struct {
	*pebblejournal.Journal
	t    *testing.T
	data string
	stop func()
}

// dataDir returns a new folder below a short path, so that its socket has one.
func dataDir(t *testing.T) string {
	t.Helper()
	return filepath.Join(shortDir(t), "data")
}

// start opens the log in a data folder as a gateway does.
func start(t *testing.T, data string) *running {
	t.Helper()
	j, err := pebblejournal.Open(pebblejournal.Options{Dir: filepath.Join(data, logFolder)})
	if err != nil {
		t.Fatal(err)
	}
	server, err := ListenControl(data, j.Checkpoint, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(errors.Join(err, j.Close()))
	}
	ctx, cancel := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() { server.Serve(ctx) }) // until stop
	r := &running{Journal: j, t: t, data: data}
	r.stop = sync.OnceFunc(func() {
		cancel()
		serving.Wait()
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(r.stop)
	return r
}

// append appends an entry and waits until it is durable.
func (r *running) append(space string, id int) {
	r.t.Helper()
	d := journal.Draft{Envelope: protocol.Envelope{
		ID: protocol.ID(fmt.Sprintf("m-%d", id)), TS: time.Unix(int64(id), 0), From: "alice", Kind: protocol.KindChat,
		Payload: json.RawMessage(`{"message":"hello"}`),
	}}
	if got := r.Append(context.Background(), space, []journal.Draft{d}); got[0].Err != nil {
		r.t.Error(got[0].Err)
	}
}

// entries returns a line for each entry of a space.
func (r *running) entries(space string) (lines []string) {
	r.t.Helper()
	for e, err := range r.Range(context.Background(), space, journal.Query{}) {
		if err != nil {
			r.t.Fatal(err)
		}
		lines = append(lines, fmt.Sprintf("%d %s %s %s %s", e.Envelope.Seq, e.Envelope.ID, e.Envelope.TS, e.Envelope.From, e.Envelope.Payload))
	}
	return lines
}

func (r *running) logID() string {
	r.t.Helper()
	id, err := r.LogID(context.Background(), "")
	if err != nil {
		r.t.Fatal(err)
	}
	return id
}

func mustCreate(t *testing.T, data, to string) *BackupResult {
	t.Helper()
	r, err := CreateBackup(t.Context(), BackupOptions{Data: data, To: to, Version: "v1"})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// names lists a folder.
func names(t *testing.T, dir string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

// Writers append during backups. The restored log has everything that was acknowledged
// before, and a prefix of the later entries; it goes on as another log.
func TestBackup_UnderLoad(t *testing.T) {
	const writers = 4
	data, out := dataDir(t), t.TempDir()
	r := start(t, data)
	ctx, stop := context.WithCancel(t.Context())
	var load sync.WaitGroup
	defer load.Wait()
	defer stop()
	var acknowledged [writers]atomic.Int64
	for w := range writers {
		load.Go(func() { // ends with ctx
			for i := 1; ctx.Err() == nil && !t.Failed(); i++ {
				r.append(fmt.Sprint("space-", w), i)
				acknowledged[w].Store(int64(i))
			}
		})
	}
	for i := range *rounds {
		testkit.Eventually(t, "all writers go on", func() bool {
			for w := range acknowledged {
				if acknowledged[w].Load() < int64(100*(i+1)) {
					return false
				}
			}
			return true
		})
		var before [writers]int64
		for w := range writers {
			before[w] = acknowledged[w].Load()
		}
		to := filepath.Join(out, fmt.Sprintf("backup-%d", i)) + []string{".tar.gz", "", ".tgz"}[i%3]
		result := mustCreate(t, data, to)
		if !result.Running || result.Spaces != writers || result.Log != r.logID() {
			t.Fatalf("result %+v", result)
		}
		fresh := dataDir(t)
		restored, err := Restore(t.Context(), RestoreOptions{From: to, Data: fresh})
		if err != nil {
			t.Fatal(err)
		}
		again := start(t, fresh)
		if id := again.logID(); id != restored.Log || id == result.Log {
			t.Errorf("the restored log is %s, announced was %s, and the original is %s", id, restored.Log, result.Log)
		}
		var sum uint64
		for w := range writers {
			space := fmt.Sprint("space-", w)
			got, want := again.entries(space), r.entries(space)
			if len(got) < int(before[w]) || !slices.Equal(got, want[:len(got)]) {
				t.Errorf("space %d has %d entries, %d were acknowledged before the backup, or they differ", w, len(got), before[w])
			}
			sum += uint64(len(got))
			again.append(space, 1_000_000)
		}
		if sum != restored.Entries || sum != result.Entries {
			t.Errorf("%d entries, counted as %d and %d", sum, result.Entries, restored.Entries)
		}
		again.stop()
		if left := names(t, fresh); !slices.Equal(left, []string{logFolder}) {
			t.Errorf("the restored folder has %q", left)
		}
	}
}

func TestBackup_Stopped(t *testing.T) {
	data, out := dataDir(t), t.TempDir()
	r := start(t, data)
	for i := range 10 {
		r.append("lab", i)
	}
	want := r.entries("lab")
	r.stop()
	if err := os.Mkdir(filepath.Join(data, "search"), 0o700); err != nil {
		t.Fatal(err)
	}
	before := names(t, data)
	result := mustCreate(t, data, filepath.Join(out, "b.tar.gz"))
	if result.Running || result.Entries != 10 || result.Spaces != 1 || result.Size == 0 {
		t.Errorf("%+v", result)
	}
	if after := names(t, data); !slices.Equal(before, after) {
		t.Errorf("the data folder has %q, before %q", after, before)
	}
	if info, err := os.Stat(result.To); err != nil || info.Mode().Perm() != 0o600 || info.Size() != result.Size {
		t.Errorf("%v, %v", info, err)
	}
	fresh := dataDir(t)
	if _, err := Restore(t.Context(), RestoreOptions{From: result.To, Data: fresh}); err != nil {
		t.Fatal(err)
	}
	if got := start(t, fresh).entries("lab"); !slices.Equal(got, want) {
		t.Errorf("restored %q, want %q", got, want)
	}
}

// An interrupted backup leaves no file, and the checkpoint is removed.
func TestCreate_Interrupted(t *testing.T) {
	for _, test := range []struct {
		name      string
		interrupt func(r *running, cancel context.CancelFunc) // the backup notices it later
		want      string
	}{
		{"command", func(_ *running, cancel context.CancelFunc) { cancel() }, "context canceled"},
		{"gateway", func(r *running, _ context.CancelFunc) { r.stop() }, "the gateway ended during the backup"},
	} {
		for _, name := range []string{"b.tar.gz", "b"} {
			t.Run(test.name+" "+name, func(t *testing.T) {
				data, out := dataDir(t), t.TempDir()
				r := start(t, data)
				r.append("lab", 1)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				o := BackupOptions{Data: data, To: filepath.Join(out, name), Version: "v1", Progress: io.Discard}
				to, err := newDestination(o)
				if err != nil {
					t.Fatal(err)
				}
				_, err = create(ctx, o, &interrupted{destination: to, do: func(ctx context.Context) {
					test.interrupt(r, cancel)
					select {
					case <-ctx.Done():
					case <-testkit.Deadline(t).Done():
						t.Error("the backup does not notice it")
					}
				}}, time.Now())
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("got %v", err)
				}
				if left := names(t, out); len(left) > 0 {
					t.Errorf("%q is left", left)
				}
				testkit.Eventually(t, "the checkpoint is removed", func() bool {
					_, err := os.Stat(filepath.Join(data, CheckpointFolder))
					return errors.Is(err, os.ErrNotExist)
				})
			})
		}
	}
}

// interrupted calls do before the last file is added.
type interrupted struct {
	destination
	do  func(context.Context)
	ctx context.Context // of the backup
}

func (d *interrupted) add(ctx context.Context, name string, size int64, r io.Reader, p *copyProgress) error {
	d.ctx = ctx
	return d.destination.add(ctx, name, size, r, p)
}

func (d *interrupted) finish() (int64, error) {
	d.do(d.ctx)
	return d.destination.finish()
}

// One backup runs at a time; a second one is rejected, and the first one completes.
func TestCreate_Twice(t *testing.T) {
	data, out := dataDir(t), t.TempDir()
	r := start(t, data)
	r.append("lab", 1)
	o := BackupOptions{Data: data, To: filepath.Join(out, "first.tar.gz"), Version: "v1", Progress: io.Discard}
	to, err := newDestination(o)
	if err != nil {
		t.Fatal(err)
	}
	_, err = create(t.Context(), o, &interrupted{destination: to, do: func(context.Context) {
		if _, err := CreateBackup(t.Context(), BackupOptions{Data: data, To: filepath.Join(out, "second.tar.gz"), Version: "v1"}); err == nil || !strings.Contains(err.Error(), "another backup is running") {
			t.Errorf("the second: %v", err)
		}
	}}, time.Now())
	if err != nil {
		t.Error(err)
	}
	if left := names(t, out); !slices.Equal(left, []string{"first.tar.gz"}) {
		t.Errorf("%q", left)
	}
}

func TestCreate_Rejects(t *testing.T) {
	data, out := dataDir(t), t.TempDir()
	r := start(t, data)
	r.append("lab", 1)
	r.stop()
	file := filepath.Join(out, "b.tar.gz")
	mustCreate(t, data, file)
	notes := filepath.Join(out, "notes")
	if err := errors.Join(os.Mkdir(notes, 0o700), os.WriteFile(filepath.Join(notes, "mine"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	replica := dataDir(t)
	if err := os.MkdirAll(filepath.Join(replica, "replica"), 0o700); err != nil {
		t.Fatal(err)
	}
	empty := dataDir(t)
	if err := os.MkdirAll(empty, 0o700); err != nil {
		t.Fatal(err)
	}
	both := dataDir(t)
	if err := errors.Join(os.CopyFS(both, os.DirFS(data)), os.Mkdir(filepath.Join(both, "replica"), 0o700)); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name string
		o    BackupOptions
		want string
	}{
		{"no data folder", BackupOptions{Data: filepath.Join(out, "nowhere"), To: filepath.Join(out, "c.tar.gz")}, "is not a data folder"},
		{"no log", BackupOptions{Data: empty, To: filepath.Join(out, "c.tar.gz")}, "no log in"},
		{"log on JetStream", BackupOptions{Data: replica, To: filepath.Join(out, "c.tar.gz")}, "nats account backup"},
		{"either log", BackupOptions{Data: both, To: filepath.Join(out, "c.tar.gz")}, "--config"},
		{"existing file", BackupOptions{Data: data, To: file}, "exists"},
		{"existing folder", BackupOptions{Data: data, To: notes}, "exists"},
		{"folder that is no backup", BackupOptions{Data: data, To: notes, Force: true}, "is not a backup"},
		{"archive over a folder", BackupOptions{Data: data, To: mkdir(t, out, "d.tar.gz"), Force: true}, "not a regular file"},
		{"other archive", BackupOptions{Data: data, To: filepath.Join(out, "c.zip")}, ".tar.gz or .tgz"},
		{"in the data folder", BackupOptions{Data: data, To: filepath.Join(data, "c.tar.gz")}, "is in the data folder"},
		{"in the log", BackupOptions{Data: data, To: filepath.Join(data, "log", "c")}, "is in the data folder"},
		{"no folder for it", BackupOptions{Data: data, To: filepath.Join(out, "missing", "c.tar.gz")}, "no such file"},
		{"no destination", BackupOptions{Data: data}, "required"},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.o.Version = "v1"
			if _, err := CreateBackup(t.Context(), test.o); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v", err)
			}
		})
	}
	if _, err := CreateBackup(t.Context(), BackupOptions{Data: both, To: filepath.Join(out, "c.tar.gz"), Embedded: true, Version: "v1"}); err != nil {
		t.Error(err)
	}
}

func mkdir(t *testing.T, parent, name string) string {
	t.Helper()
	dir := filepath.Join(parent, name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestCreate_Force(t *testing.T) {
	data, out := dataDir(t), t.TempDir()
	r := start(t, data)
	for _, name := range []string{"b.tar.gz", "b"} {
		t.Run(name, func(t *testing.T) {
			to := filepath.Join(out, name)
			first := mustCreate(t, data, to)
			r.append("lab", int(first.Entries)+1)
			second, err := CreateBackup(t.Context(), BackupOptions{Data: data, To: to, Force: true, Version: "v1"})
			if err != nil || second.Entries != first.Entries+1 {
				t.Fatalf("%+v after %+v, %v", second, first, err)
			}
			restored, err := Restore(t.Context(), RestoreOptions{From: to, Data: dataDir(t)})
			if err != nil || restored.Entries != second.Entries {
				t.Errorf("%+v, %v", restored, err)
			}
		})
	}
	if left := names(t, out); !slices.Equal(left, []string{"b", "b.tar.gz"}) {
		t.Errorf("%q", left)
	}
}

// Between the start of a gateway and its socket, its log is in use.
func TestCreate_LogInUse(t *testing.T) {
	data, out := dataDir(t), t.TempDir()
	j, err := pebblejournal.Open(pebblejournal.Options{Dir: filepath.Join(data, logFolder)})
	if err != nil {
		t.Fatal(err)
	}
	o := BackupOptions{Data: data, To: filepath.Join(out, "b.tar.gz"), Version: "v1", wait: time.Nanosecond}
	if _, err := CreateBackup(t.Context(), o); err == nil || !strings.Contains(err.Error(), "and it does not answer at") {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o.wait = time.Hour
	if _, err := CreateBackup(ctx, o); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	created := make(chan error, 1)
	go func() { // ends when the log is free
		_, err := CreateBackup(t.Context(), o)
		created <- err
	}()
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-created; err != nil {
		t.Error(err)
	}
}

// A log that lacks acknowledged entries is not backed up as if it were complete.
func TestCreate_IncompleteLog(t *testing.T) {
	data, out := dataDir(t), t.TempDir()
	r := start(t, data)
	r.append("lab", 1)
	r.stop()
	if err := os.Remove(filepath.Join(data, logFolder, "ACKNOWLEDGED")); err != nil {
		t.Fatal(err)
	}
	if _, err := CreateBackup(t.Context(), BackupOptions{Data: data, To: filepath.Join(out, "b.tar.gz"), Version: "v1"}); err == nil || !strings.Contains(err.Error(), "complete log only") {
		t.Errorf("got %v", err)
	}
	if left := names(t, out); len(left) > 0 {
		t.Errorf("%q is left", left)
	}
}

func TestSize(t *testing.T) {
	for n, want := range map[int64]string{0: "0 bytes", 1023: "1023 bytes", 1536: "1.5 KiB", 3 << 30: "3.0 GiB", 5 << 50: "5120.0 TiB"} {
		t.Run(want, func(t *testing.T) {
			if got := ByteSize(n); got != want {
				t.Errorf("Size(%d) = %q", n, got)
			}
		})
	}
}
