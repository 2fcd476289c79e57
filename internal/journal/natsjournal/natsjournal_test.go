package natsjournal

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/kit/natsconn"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// TestMain runs more tests at a time than there are processors: most of the time
// they wait for timeouts of the journal and elections of NATS.
func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	testkit.Main(testsOfPackage{m})
}

// testsOfPackage runs the tests, and stops the shared server after them.
type testsOfPackage struct{ *testing.M }

func (p testsOfPackage) Run() int {
	code := p.M.Run()
	stopShared()
	return code
}

// shared is the NATS server of all tests that do not stop it.
var shared = sync.OnceValues(func() (*server.Server, error) {
	dir, err := os.MkdirTemp("", "natsjournal")
	if err != nil {
		return nil, err
	}
	var users accountUsers
	srv, err := startServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: dir,
		SyncAlways: true, NoLog: true, NoSigs: true, CustomClientAuthentication: &users,
	}, &users)
	stopShared = func() {
		if srv != nil {
			stopServer(srv)
		}
		_ = os.RemoveAll(dir)
	}
	return srv, err
})

var stopShared = func() {}

// accountUsers lets clients in to the account that their token names.
type accountUsers struct{ srv *server.Server }

func (u *accountUsers) Check(c server.ClientAuthentication) bool {
	account, err := u.srv.LookupAccount(c.GetOpts().Token)
	if err != nil {
		return false
	}
	c.RegisterUser(&server.User{Username: account.Name, Account: account})
	return true
}

// natsServer is a NATS server of a test, or an account on the shared one. A server can
// be stopped and restarted, at the same address, with the same files.
type natsServer struct {
	t       *testing.T
	opts    *server.Options
	srv     *server.Server
	account string
}

// openAccount returns an account of its own on the shared server.
func openAccount(t *testing.T) *natsServer {
	t.Helper()
	srv, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	account, err := srv.RegisterAccount("test-" + uuid.NewString())
	if err == nil {
		err = account.EnableJetStream(nil, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	port := srv.Addr().(*net.TCPAddr).Port
	return &natsServer{t: t, opts: &server.Options{Port: port}, account: account.Name}
}

// startNATS starts a server that the test may stop.
func startNATS(t *testing.T) *natsServer {
	t.Helper()
	n := &natsServer{t: t, opts: &server.Options{
		Host: "127.0.0.1", Port: testkit.FreePort(t), JetStream: true, StoreDir: t.TempDir(),
		SyncAlways: true, NoLog: true, NoSigs: true,
	}}
	n.start()
	t.Cleanup(n.stop)
	return n
}

func (n *natsServer) start() {
	n.t.Helper()
	srv, err := startServer(n.opts.Clone(), nil)
	if err != nil {
		n.t.Fatal(err)
	}
	n.srv = srv
}

func startServer(o *server.Options, users *accountUsers) (*server.Server, error) {
	srv, err := server.NewServer(o)
	if err != nil {
		return nil, err
	}
	if users != nil {
		users.srv = srv
	}
	srv.Start()
	if !srv.ReadyForConnections(testkit.Patience) {
		return nil, errors.New("NATS does not start")
	}
	return srv, nil
}

func (n *natsServer) stop() { stopServer(n.srv) }

func stopServer(srv *server.Server) {
	srv.Shutdown()
	srv.WaitForShutdown()
}

func (n *natsServer) address() string { return fmt.Sprintf("127.0.0.1:%d", n.opts.Port) }

func (n *natsServer) url() string { return n.urlAt(n.address()) }

// urlAt returns the address for clients of a proxy of the server.
func (n *natsServer) urlAt(address string) string {
	if n.account == "" {
		return "nats://" + address
	}
	return "nats://" + n.account + "@" + address
}

// testLog returns a logger that writes to the test's output.
func testLog(t testing.TB) *slog.Logger {
	return slog.New(slog.NewTextHandler(testkit.Output(t), &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// dial returns a connection that the end of the test closes. It is not given up on an
// overloaded machine.
func dial(t testing.TB, url string, options ...nats.Option) *nats.Conn {
	t.Helper()
	patient := []nats.Option{nats.Timeout(testkit.Patience), nats.PingInterval(testkit.Patience)}
	nc, err := natsconn.Connect(url, testLog(t), append(patient, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// openTest opens a journal with few streams, which starts faster, and a timeout
// that an overloaded machine keeps.
func openTest(t *testing.T, url string, change func(*Options), connect ...nats.Option) *Journal {
	t.Helper()
	j := startTest(t, url, change, connect...)
	waitOpen(t, j)
	return j
}

// startTest is openTest without the wait for the end of the log.
func startTest(t *testing.T, url string, change func(*Options), connect ...nats.Option) *Journal {
	t.Helper()
	o := Options{
		Conn: dial(t, url, connect...), ReplicaDir: filepath.Join(t.TempDir(), "replica"),
		Logger: testLog(t), streams: 2, RetainEvery: time.Hour, firstRetain: time.Hour, AppendTimeout: testkit.Patience,
	}
	if change != nil {
		change(&o)
	}
	j, err := open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeTest(t, j) })
	return j
}

func waitOpen(t *testing.T, j *Journal) {
	t.Helper()
	select {
	case <-j.complete:
	case err := <-j.fatal:
		t.Fatal(err)
	case <-time.After(testkit.Patience):
		t.Fatal(j.Ready())
	}
}

// waitReady waits until the journal is ready: on an overloaded machine, a stream that was
// silent for a moment is followed anew.
func waitReady(t *testing.T, j *Journal) {
	t.Helper()
	testkit.Eventually(t, "the journal is ready", func() bool { return j.Ready() == nil })
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

// persistAppend appends a draft, again after a failure: an overloaded machine
// may need longer than the AppendTimeout of a test.
func persistAppend(t *testing.T, j *Journal, space string, d journal.Draft) {
	t.Helper()
	testkit.Eventually(t, fmt.Sprintf("%s is appended", d.Envelope.ID), func() bool {
		r := j.Append(t.Context(), space, []journal.Draft{d})[0]
		failed := errors.Is(r.Err, journal.ErrUnavailable) || errors.Is(r.Err, journal.ErrOutcomeUnknown)
		if r.Err != nil && !failed {
			t.Fatal(r.Err)
		}
		return !failed
	})
}

// persistBarrier waits for a Barrier, again after a failure, for the same reason.
func persistBarrier(t *testing.T, j *Journal, space string) {
	t.Helper()
	testkit.Eventually(t, "the barrier holds", func() bool {
		err := j.Barrier(t.Context(), space)
		if err != nil && !errors.Is(err, journal.ErrUnavailable) {
			t.Fatal(err)
		}
		return err == nil
	})
}

// persist does something again after a time-out of NATS; any other error fails the test.
func persist(t *testing.T, what string, do func() error) {
	t.Helper()
	testkit.Eventually(t, what, func() bool {
		err := do()
		if err != nil && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, nats.ErrTimeout) {
			t.Fatalf("%s: %v", what, err)
		}
		return err == nil
	})
}

// persistControl publishes a control block, which NATS stores once: its message ID is the same.
func persistControl(t *testing.T, j *Journal, name, space string, before protocol.Seq, data []byte) {
	t.Helper()
	persist(t, "publish the control block", func() error { return j.publishControl(t.Context(), name, space, before, data) })
}

// persistTrims proposes the trims of a time.
func persistTrims(t *testing.T, j *Journal, now time.Time) {
	t.Helper()
	persist(t, "propose the trims", func() error { return j.propose(t.Context(), j.opts.Retention, now) })
}

// api returns the API of JetStream at the journal's connection, with a timeout that
// is long enough for an overloaded machine.
func api(t *testing.T, j *Journal) jetstream.JetStream {
	t.Helper()
	js, err := jetstream.New(j.nc, jetstream.WithDefaultTimeout(testkit.Patience))
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// content lists a space as "seq id".
func content(t *testing.T, j *Journal, space string) []string {
	t.Helper()
	list, err := readSpace(j, space)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// readSpace is content for a journal that may be unavailable.
func readSpace(j *Journal, space string) (list []string, err error) {
	for e, err := range j.Range(context.Background(), space, journal.Query{}) {
		if err != nil {
			return nil, err
		}
		list = append(list, fmt.Sprintf("%d %s", e.Envelope.Seq, e.Envelope.ID))
	}
	return list, nil
}

func TestAppendAndRead(t *testing.T) {
	t.Parallel()
	n := openAccount(t)
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
	waitReady(t, j)
	if s, err := j.Spaces(t.Context()); err != nil || len(s) != 1 || s[0] != "lab.one:a" {
		t.Errorf("spaces %q, %v", s, err)
	}
}
