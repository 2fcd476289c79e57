package natsjournal

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"go.uber.org/goleak"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// natsServer is a NATS server of a test. It can be stopped and restarted, at
// the same address, with the same files.
type natsServer struct {
	t    *testing.T
	opts *server.Options
	srv  *server.Server
}

func startNATS(t *testing.T) *natsServer {
	t.Helper()
	n := &natsServer{t: t, opts: &server.Options{
		Host: "127.0.0.1", Port: freePort(t), JetStream: true, StoreDir: t.TempDir(),
		SyncAlways: true, NoLog: true, NoSigs: true,
	}}
	n.start()
	t.Cleanup(n.stop)
	return n
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func (n *natsServer) start() {
	n.t.Helper()
	srv, err := server.NewServer(n.opts.Clone())
	if err != nil {
		n.t.Fatal(err)
	}
	srv.Start()
	if !srv.ReadyForConnections(10 * time.Second) {
		n.t.Fatal("NATS does not start")
	}
	n.srv = srv
}

func (n *natsServer) stop() {
	n.srv.Shutdown()
	n.srv.WaitForShutdown()
}

func (n *natsServer) url() string { return fmt.Sprintf("nats://127.0.0.1:%d", n.opts.Port) }

// testLog returns a logger that writes to the test's output.
func testLog(t *testing.T) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// openTest opens a journal with few streams, which starts faster.
func openTest(t *testing.T, url string, change func(*Options)) *Journal {
	t.Helper()
	o := Options{
		URL: url, ReplicaDir: filepath.Join(t.TempDir(), "replica"),
		Logger: testLog(t), streams: 2, RetainEvery: time.Hour,
	}
	if change != nil {
		change(&o)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	j, err := Open(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeTest(t, j) })
	return j
}

func closeTest(t *testing.T, j *Journal) {
	t.Helper()
	if err := j.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

// chat returns a draft that every participant may send.
func chat(id, from string) journal.Draft {
	return journal.Draft{
		CheckedAtStateSeq: 1 << 52, // newer than any state entry
		Envelope: protocol.Envelope{
			ID: protocol.ID(id), From: protocol.ParticipantID(from), Kind: protocol.KindChat,
			TS: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), Payload: []byte(`{"message":"` + id + `"}`),
		},
	}
}

// grant returns a state draft that was checked against basis.
func grant(id string, basis protocol.Seq) journal.Draft {
	d := chat(id, "alice")
	d.Envelope.Kind, d.State, d.CheckedAtStateSeq = protocol.KindCapabilityGrant, true, basis
	return d
}

// mustAppend appends drafts, all of which must be new, and returns their Seqs.
func mustAppend(t *testing.T, j *Journal, space string, drafts ...journal.Draft) []protocol.Seq {
	t.Helper()
	var seqs []protocol.Seq
	for i, r := range j.Append(t.Context(), space, drafts) {
		if r.Err != nil || r.Retry {
			t.Fatalf("append %s: %+v", drafts[i].Envelope.ID, r)
		}
		seqs = append(seqs, r.Seq)
	}
	return seqs
}

// content lists a space as "seq id".
func content(t *testing.T, j *Journal, space string) []string {
	t.Helper()
	var list []string
	for e, err := range j.Range(t.Context(), space, journal.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, fmt.Sprintf("%d %s", e.Envelope.Seq, e.Envelope.ID))
	}
	return list
}

// eventually polls until the condition holds.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for !condition() {
		if time.Now().After(deadline) {
			t.Fatalf("not within 30 s: %s", what)
		}
		<-time.After(5 * time.Millisecond)
	}
}

func TestAppendAndRead(t *testing.T) {
	n := startNATS(t)
	j := openTest(t, n.url(), nil)
	var got []string
	j.Follow(func(space string, entries []*journal.Entry) {
		for _, e := range entries {
			got = append(got, space+" "+string(e.Envelope.ID))
		}
	}, nil)
	seqs := mustAppend(t, j, "lab.one:a", chat("a", "alice"), chat("b", "bob"))
	if len(got) != 2 || got[0] != "lab.one:a a" {
		t.Errorf("the sink got %q", got)
	}
	if len(seqs) != 2 || seqs[0] < 1024 || seqs[1] <= seqs[0] {
		t.Errorf("seqs %v", seqs)
	}
	if r := j.Append(t.Context(), "lab.one:a", []journal.Draft{chat("a", "alice")}); !r[0].Retry || r[0].Seq != seqs[0] {
		t.Errorf("retry: %+v", r)
	}
	if err := j.Ready(); err != nil {
		t.Error(err)
	}
	if s, err := j.Spaces(t.Context()); err != nil || len(s) != 1 || s[0] != "lab.one:a" {
		t.Errorf("spaces %q, %v", s, err)
	}
}
