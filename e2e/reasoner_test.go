package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/meup-protocol/meup/client/reasoner"
	"github.com/meup-protocol/meup/client/reasoner/wire"
	"github.com/meup-protocol/meup/internal/testing/testkit"
)

// slowModel is a provider that never answers the first request and refuses the
// others, so that rules decide.
type slowModel struct {
	*httptest.Server
	asked chan struct{} // gets the first request
	calls atomic.Int32
}

func newSlowModel(t *testing.T) *slowModel {
	t.Helper()
	m := &slowModel{asked: make(chan struct{}, 1)}
	over := make(chan struct{})
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // otherwise the server would not detect that the worker is gone
		if m.calls.Add(1) > 1 {
			http.Error(w, `{"error":{"message":"no"}}`, http.StatusBadRequest)
			return
		}
		m.asked <- struct{}{}
		select {
		case <-r.Context().Done():
		case <-over:
		}
	}))
	t.Cleanup(func() { close(over); m.Close() })
	return m
}

// startReasoner starts the program and waits for a line of its log.
func startReasoner(t *testing.T, line string, args ...string) *process {
	t.Helper()
	env := []string{"OPENAI_API_KEY=a-key-for-tests", "REASONING_API_TOKEN=", "REASONING_NATS_URL="}
	p := start(t, env, filepath.Join(bin, "meup-reasoner"), args...)
	eventually(t, "meup-reasoner says "+line, func() bool {
		select {
		case <-p.done:
			t.Fatalf("it ended:\n%s", p.log)
		default:
		}
		return strings.Contains(p.log.String(), line)
	})
	return p
}

func queueClient(t *testing.T, url string) reasoner.Client {
	t.Helper()
	c, err := reasoner.NewQueue(reasoner.Options{NATSURL: url, Timeout: testkit.Patience, Retries: reasoner.NoRetries})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func todo(id string) *wire.AgentIntentRequest {
	return &wire.AgentIntentRequest{SessionID: "s1", GoalText: "search project for TODOs", CorrelationID: id}
}

// intentOf sends a request in the background.
func intentOf(c reasoner.Client, r *wire.AgentIntentRequest) <-chan error {
	done := make(chan error, 1)
	go func() {
		resp, err := c.AgentIntent(context.Background(), r)
		if err == nil && resp.ToolName == "" {
			err = errors.New("no tool was chosen")
		}
		done <- err
	}()
	return done
}

// stateOf returns the state of one of the queue's streams.
func stateOf(t *testing.T, url, stream string) jetstream.StreamState {
	t.Helper()
	nc, err := nats.Connect(url, nats.Timeout(testkit.Patience))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	s, err := js.Stream(testkit.Deadline(t), stream)
	if err != nil {
		t.Fatal(err)
	}
	return s.CachedInfo().State
}

// A worker is killed in the middle of a job: another one completes it, and
// there is one result.
func TestReasoner_WorkerKilled(t *testing.T) {
	t.Parallel()
	port := freePort(t)
	startNATS(t, port, t.TempDir())
	url := "nats://127.0.0.1:" + port
	model := newSlowModel(t)
	args := []string{
		"worker", "--nats", url, "--ack-wait", "1s",
		"--model", "openai:slow", "--base-url", model.URL, "--model-timeout", "5m",
	}
	first := startReasoner(t, "msg=working", args...)
	done := intentOf(queueClient(t, url), todo("a"))
	await(t, "the model is asked", model.asked)
	first.kill()
	startReasoner(t, "msg=working", args...)
	if err := await(t, "an answer", done); err != nil {
		t.Fatal(err)
	}
	if n := stateOf(t, url, "MEUP_INTENT_RESULTS").LastSeq; n != 1 {
		t.Errorf("%d results were written", n)
	}
	eventually(t, "the job is acknowledged", func() bool { return stateOf(t, url, "MEUP_INTENT_JOBS").Msgs == 0 })
	if n := model.calls.Load(); n < 2 { // more if a worker was too slow to keep its job
		t.Errorf("the model was asked %d times", n)
	}
}

// A terminated worker leaves unfinished jobs to another one immediately, and
// exits cleanly.
func TestReasoner_WorkerStopped(t *testing.T) {
	t.Parallel()
	port := freePort(t)
	startNATS(t, port, t.TempDir())
	url := "nats://127.0.0.1:" + port
	model := newSlowModel(t)
	args := []string{
		"worker", "--nats", url, "--ack-wait", "1h", "--drain-timeout", "100ms",
		"--model", "openai:slow", "--base-url", model.URL, "--model-timeout", "5m",
	}
	first := startReasoner(t, "msg=working", args...)
	done := intentOf(queueClient(t, url), todo("a"))
	await(t, "the model is asked", model.asked)
	first.signal(syscall.SIGTERM)
	if code := first.wait(); code != 0 {
		t.Errorf("exit code %d:\n%s", code, first.log)
	}
	startReasoner(t, "msg=working", args...)
	if err := await(t, "an answer", done); err != nil {
		t.Error(err)
	}
}

// Cancelling a job cancels the request to the model.
func TestReasoner_CancelRunning(t *testing.T) {
	t.Parallel()
	port := freePort(t)
	startNATS(t, port, t.TempDir())
	url := "nats://127.0.0.1:" + port
	model := newSlowModel(t)
	worker := startReasoner(t, "msg=working", "worker", "--nats", url, "--ack-wait", "1h", "--status-poll", "20ms",
		"--model", "openai:slow", "--base-url", model.URL, "--model-timeout", "5m")
	done := intentOf(queueClient(t, url), todo("a"))
	await(t, "the model is asked", model.asked)
	if found, err := queueClient(t, url).Cancel(t.Context(), "a"); err != nil || !found {
		t.Errorf("canceled: %v, %v", found, err)
	}
	if err := await(t, "an answer", done); !errors.Is(err, reasoner.ErrCanceled) {
		t.Errorf("got %v", err)
	}
	eventually(t, "the status line says so", func() bool {
		return strings.Contains(worker.log.String(), "queued=0 processing=0 done=0 canceled=1 failed=0")
	})
	if err := await(t, "the worker is free again", intentOf(queueClient(t, url), todo("b"))); err != nil {
		t.Error(err)
	}
}

// postJSON posts to the service and decodes the response into v.
func postJSON(t *testing.T, url string, body, v any) int {
	t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Post(url, "application/json", bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(v); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode
}

// A service with its own store is killed: after a restart the accepted jobs are
// completed, and their results posted.
func TestReasoner_ServeKilled(t *testing.T) {
	t.Parallel()
	dir, port, natsPort := t.TempDir(), freePort(t), freePort(t)
	posted := make(chan wire.Callback, 64)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var c wire.Callback
		if err := json.NewDecoder(r.Body).Decode(&c); err != nil {
			t.Error(err)
		}
		posted <- c
	}))
	defer hook.Close()
	base, url := "http://127.0.0.1:"+port, "nats://127.0.0.1:"+natsPort
	args := []string{
		"serve", "--listen", "127.0.0.1:" + port, "--data", dir, "--nats-listen", "127.0.0.1:" + natsPort,
		"--callback-allow", "127.0.0.1", "--ack-wait", "1s",
	}
	first := startReasoner(t, "msg=serving", append(args, "--workers", "0")...)
	want := map[string]bool{"a": true, "b": true, "c": true}
	for _, id := range []string{"a", "b", "c", "canceled"} {
		r := todo(id)
		r.CallbackURL = hook.URL
		var accepted wire.Accepted
		if status := postJSON(t, base+"/agent_intent_async", r, &accepted); status != http.StatusAccepted || accepted.JobID != id {
			t.Fatalf("status %d, %+v", status, accepted)
		}
	}
	var canceled wire.CancelResponse
	if status := postJSON(t, base+"/agent_intent_cancel", wire.CancelRequest{CorrelationID: "canceled"}, &canceled); status != http.StatusOK || !canceled.OK {
		t.Errorf("status %d, %+v", status, canceled)
	}
	same := todo("canceled")
	same.CallbackURL = hook.URL
	if _, err := queueClient(t, url).AgentIntent(t.Context(), same); !errors.Is(err, reasoner.ErrCanceled) {
		t.Errorf("the canceled job: %v", err)
	}
	// Another request with the same id is refused.
	var refused wire.ErrorBody
	if status := postJSON(t, base+"/agent_intent_async", &wire.AgentIntentRequest{
		SessionID: "s1", GoalText: "another", CorrelationID: "a", CallbackURL: hook.URL,
	}, &refused); status != http.StatusConflict || refused.Error != wire.CodeConflict {
		t.Errorf("status %d, %+v", status, refused)
	}
	first.kill()

	second := startReasoner(t, "msg=serving", args...)
	for len(want) > 0 {
		c := await(t, "a callback", posted)
		if c.JobID == "canceled" || c.Status != wire.StatusOK || c.ToolName == "" {
			t.Errorf("posted %+v", c)
		}
		delete(want, c.CorrelationID)
	}
	// The queue is open to clients of other processes, and to HTTP clients.
	if err := await(t, "an answer", intentOf(queueClient(t, url), todo("d"))); err != nil {
		t.Error(err)
	}
	var resp wire.AgentIntentResponse
	if status := postJSON(t, base+"/agent_intent", todo(""), &resp); status != http.StatusOK || resp.ToolName == "" {
		t.Errorf("status %d, %+v", status, resp)
	}
	second.signal(syscall.SIGTERM)
	if code := second.wait(); code != 0 {
		t.Errorf("exit code %d:\n%s", code, second.log)
	}
}

// A service with its own store is killed while it answers: a client that has an
// answer gets the same one again.
func TestReasoner_ServeKilledResults(t *testing.T) {
	t.Parallel()
	dir, port, natsPort := t.TempDir(), freePort(t), freePort(t)
	args := []string{
		"serve", "--listen", "127.0.0.1:" + port, "--data", dir, "--nats-listen", "127.0.0.1:" + natsPort, "--ack-wait", "1s",
	}
	type answer struct {
		id   string
		resp *wire.AgentIntentResponse
	}
	got := make(map[string]string) // intent ids
	for round := range 4 {
		p := startReasoner(t, "msg=serving", args...)
		ctx, cancel := context.WithCancel(t.Context())
		client := queueClient(t, "nats://127.0.0.1:"+natsPort)
		answers := make(chan answer)
		var asking sync.WaitGroup
		for i := range 30 {
			asking.Go(func() { // ends with the answer, or with ctx
				id := fmt.Sprintf("r%d-%d", round, i)
				if resp, err := client.AgentIntent(ctx, todo(id)); err == nil {
					select {
					case answers <- answer{id, resp}:
					case <-ctx.Done():
					}
				}
			})
		}
		for range 10 {
			a := await(t, "an answer", answers)
			got[a.id] = a.resp.IntentID
		}
		p.kill()
		cancel()
		asking.Wait()
	}
	startReasoner(t, "msg=serving", args...)
	client := queueClient(t, "nats://127.0.0.1:"+natsPort)
	for id, intent := range got {
		resp, err := client.AgentIntent(t.Context(), todo(id))
		if err != nil || intent == "" || resp.IntentID != intent {
			t.Errorf("%s: %+v, %v, want intent %s", id, resp, err, intent)
		}
	}
}

// A folder belongs to one process; a second one fails with an error that
// explains this. A worker of another process joins by the address, with the
// token.
func TestReasoner_SharedQueue(t *testing.T) {
	t.Setenv("MEUP_NATS_TOKEN", "a-token-for-nats")
	dir, port := t.TempDir(), freePort(t)
	url := "nats://127.0.0.1:" + port
	served := startReasoner(t, "msg=serving", "serve", "--listen", "127.0.0.1:0", "--data", dir, "--nats-listen", "127.0.0.1:"+port, "--workers", "0")
	second := start(t, nil, filepath.Join(bin, "meup-reasoner"), "worker", "--data", dir, "--nats-listen", "127.0.0.1:0")
	if code := second.wait(); code != 1 || !strings.Contains(second.log.String(), "is in use by another process") {
		t.Errorf("exit code %d:\n%s", code, second.log)
	}
	worker := startReasoner(t, "msg=working", "worker", "--nats", url)
	c, err := reasoner.NewQueue(reasoner.Options{NATSURL: url, Timeout: testkit.Patience, NATSOptions: []nats.Option{nats.Token("a-token-for-nats")}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if err := await(t, "an answer", intentOf(c, todo(""))); err != nil {
		t.Error(err)
	}
	if nc, err := nats.Connect(url); err == nil {
		nc.Close()
		t.Error("a stranger was let in")
	}
	for _, p := range []*process{served, worker} {
		if strings.Contains(p.log.String(), os.Getenv("MEUP_NATS_TOKEN")) {
			t.Errorf("the token is logged:\n%s", p.log)
		}
	}
}
