package queue_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"log/slog"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/meup-protocol/meup/client/reasoner"
	"github.com/meup-protocol/meup/client/reasoner/wire"
	"github.com/meup-protocol/meup/internal/kit/natsconn"
	"github.com/meup-protocol/meup/internal/kit/natsembed"
	"github.com/meup-protocol/meup/internal/reasoner/queue"
	"github.com/meup-protocol/meup/internal/testing/testkit"
)

// TestMain runs more tests at a time than there are processors: many wait for time-outs
// of the queue.
func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	testkit.Main(m)
}

var names, _ = wire.NewQueueNames("")

// site is a NATS server and the connections of a test.
type site struct {
	t   testing.TB
	dir string
	*natsembed.Server
	log *testkit.Log
}

func newSite(t testing.TB) *site {
	t.Helper()
	s := &site{t: t, dir: t.TempDir(), log: new(testkit.Log)}
	s.start(testkit.FreeAddress(t)) // some tests start it there again
	t.Cleanup(func() { s.Close() })
	return s
}

func (s *site) start(listen string) {
	s.t.Helper()
	server, err := natsembed.Start(context.Background(), natsembed.Options{Dir: s.dir, Listen: listen})
	if err != nil {
		s.t.Fatal(err)
	}
	s.Server = server
}

// conn returns a new network connection, as a separate process would have. It is not given up
// on a busy machine: a request on a connection that is not there fails at once.
func (s *site) conn() *nats.Conn {
	s.t.Helper()
	nc, err := natsconn.Connect(s.URL(), nil, nats.ReconnectWait(20*time.Millisecond), nats.ReconnectJitter(0, 0),
		nats.Timeout(testkit.Patience), nats.PingInterval(testkit.Patience))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(nc.Close)
	return nc
}

func (s *site) js() jetstream.JetStream {
	s.t.Helper()
	js, err := jetstream.New(s.conn(), jetstream.WithDefaultTimeout(testkit.Patience))
	if err != nil {
		s.t.Fatal(err)
	}
	return js
}

// client has the timeout of a test and does not retry, by default.
func (s *site) client(change ...func(*reasoner.Options)) reasoner.Client {
	s.t.Helper()
	o := reasoner.Options{Conn: s.conn(), Timeout: testkit.Patience, Retries: reasoner.NoRetries}
	for _, f := range change {
		f(&o)
	}
	c, err := reasoner.NewQueue(o)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = c.Close() })
	return c
}

// timesOut calls with a client of a short timeout, and with longer ones until the error
// shows that the queue was heard: on a busy machine, it may not be heard before.
func (s *site) timesOut(timeout time.Duration, call func(reasoner.Client) error, heard func(error) bool, change ...func(*reasoner.Options)) error {
	s.t.Helper()
	for ; ; timeout *= 2 {
		short := func(o *reasoner.Options) { o.Timeout = timeout }
		err := call(s.client(append(change, short)...))
		if err == nil || heard(err) || timeout > testkit.Patience {
			return err
		}
	}
}

// running is a running worker.
type running struct {
	*queue.Queue
	conn      *nats.Conn
	interrupt context.CancelFunc
	done      chan struct{}
}

// stop shuts the worker down gracefully.
func (r *running) stop() {
	r.interrupt()
	<-r.done
}

// shortLease redelivers jobs soon whose worker has died. There is one worker: on a busy machine
// a lease may end before it is extended, and another worker would decide the job too.
func shortLease(o *queue.Options) { o.AckWait, o.Workers = 600*time.Millisecond, 1 }

// longLease redelivers no job of a worker that is slow.
func longLease(o *queue.Options) { o.AckWait = time.Hour }

// open opens the queue without processing it.
func (s *site) open(change ...func(*queue.Options)) *running {
	s.t.Helper()
	o := queue.Options{
		Conn: s.conn(), Decide: decideNow, AckWait: time.Minute, Drain: testkit.Patience,
		Logger: slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	for _, f := range change {
		f(&o)
	}
	q, err := queue.New(o)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := q.Open(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	return &running{Queue: q, conn: o.Conn}
}

func (s *site) worker(change ...func(*queue.Options)) *running {
	s.t.Helper()
	r := s.open(change...)
	ctx, cancel := context.WithCancel(context.Background())
	r.interrupt, r.done = cancel, make(chan struct{})
	go func() {
		defer close(r.done)
		if err := r.Run(ctx); err != nil {
			s.t.Error(err)
		}
	}()
	s.t.Cleanup(r.stop)
	return r
}

// decideNow decides immediately.
func decideNow(_ context.Context, r *wire.AgentIntentRequest) (*wire.AgentIntentResponse, error) {
	return &wire.AgentIntentResponse{Status: wire.StatusOK, IntentID: "i-" + r.CorrelationID, Finish: true, FinalText: "done: " + r.GoalText, Trace: []wire.TraceItem{}}, nil
}

// decide is Options.Decide.
type decide = func(context.Context, *wire.AgentIntentRequest) (*wire.AgentIntentResponse, error)

func decides(f decide) func(*queue.Options) {
	return func(o *queue.Options) { o.Decide = f }
}

func request(id string) *wire.AgentIntentRequest {
	return &wire.AgentIntentRequest{SessionID: "s", GoalText: "goal", CorrelationID: id}
}

// ask sends a request in the background.
func ask(t testing.TB, c reasoner.Client, r *wire.AgentIntentRequest) <-chan answer {
	t.Helper()
	ch := make(chan answer, 1)
	go func() {
		resp, err := c.AgentIntent(context.Background(), r)
		ch <- answer{resp, err}
	}()
	return ch
}

type answer struct {
	resp *wire.AgentIntentResponse
	err  error
}

func receive[T any](t testing.TB, what string, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(testkit.Patience):
		t.Fatalf("never: %s", what)
		panic("not reached")
	}
}

// jobs returns the number of unsettled jobs.
func (s *site) jobs() int {
	s.t.Helper()
	return int(s.state(names.JobsStream()).Msgs)
}

func (s *site) state(stream string) jetstream.StreamState {
	s.t.Helper()
	handle, err := s.js().Stream(context.Background(), stream)
	if err != nil {
		s.t.Fatal(err)
	}
	return handle.CachedInfo().State
}

// result returns the stored result of a job.
func (s *site) result(id string) (wire.QueueResult, bool) {
	s.t.Helper()
	handle, err := s.js().Stream(context.Background(), names.ResultsStream())
	if err != nil {
		s.t.Fatal(err)
	}
	msg, err := handle.GetLastMsgForSubject(context.Background(), names.Result(names.Key(id)))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return wire.QueueResult{}, false
	}
	if err != nil {
		s.t.Fatal(err)
	}
	var r wire.QueueResult
	if err := json.Unmarshal(msg.Data, &r); err != nil {
		s.t.Fatal(err)
	}
	return r, true
}

// put adds a job to the queue without the client.
func (s *site) put(j wire.QueueJob) {
	s.t.Helper()
	data, err := json.Marshal(j)
	if err != nil {
		s.t.Fatal(err)
	}
	s.putRaw(names.Key(j.CorrelationID), data)
}

func (s *site) putRaw(key string, data []byte) {
	s.t.Helper()
	if _, err := s.js().Publish(context.Background(), names.Job(key), data); err != nil {
		s.t.Fatal(err)
	}
}

func jobOf(r *wire.AgentIntentRequest) wire.QueueJob {
	raw, _ := json.Marshal(r)
	return wire.QueueJob{Type: wire.JobAgentIntent, CorrelationID: r.CorrelationID, Payload: raw}
}

// claim receives a job like a worker that then dies: it neither extends nor
// acknowledges it.
func (s *site) claim() jetstream.Msg {
	s.t.Helper()
	consumer, err := s.js().Consumer(context.Background(), names.JobsStream(), "workers")
	if err != nil {
		s.t.Fatal(err)
	}
	msg, err := consumer.Next(jetstream.FetchMaxWait(testkit.Patience))
	if err != nil {
		s.t.Fatal(err)
	}
	return msg
}
