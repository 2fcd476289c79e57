package queue_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	reasonerclient "github.com/meup-protocol/meup/client/reasoner"
	"github.com/meup-protocol/meup/client/reasoner/wire"
	"github.com/meup-protocol/meup/internal/reasoner"
	"github.com/meup-protocol/meup/internal/reasoner/queue"
	"github.com/meup-protocol/meup/internal/testing/testkit"
)

func wantRefusal(t *testing.T, err error, status int, code string) {
	t.Helper()
	var refused *reasonerclient.APIError
	if !errors.As(err, &refused) || refused.Status != status || refused.Code != code || refused.Message == "" {
		t.Errorf("got %v, want %d %s", err, status, code)
	}
}

// Faults of Decide are reported as over HTTP.
func TestRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	w := s.worker(decides(func(ctx context.Context, r *wire.AgentIntentRequest) (*wire.AgentIntentResponse, error) {
		switch r.GoalText {
		case "fault":
			return nil, &reasoner.Fault{Status: 422, Code: "unknown_tool", Message: "No such tool.", Path: "/forced_tool"}
		case "panic":
			panic("a bug")
		case "large":
			return &wire.AgentIntentResponse{Status: wire.StatusOK, FinalText: strings.Repeat("x", 2<<20)}, nil
		case "slow":
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return nil, errors.New("a secret of the house")
	}), func(o *queue.Options) { o.JobTimeout = 100 * time.Millisecond })
	c := s.client()
	for _, test := range []struct {
		goal   string
		status int
		code   string
	}{
		{"fault", 422, "unknown_tool"}, {"panic", 500, "internal"}, {"large", 507, wire.CodeResultTooLarge},
		{"slow", 504, "timeout"}, {"other", 500, "internal"},
	} {
		_, err := c.AgentIntent(t.Context(), &wire.AgentIntentRequest{SessionID: "s", GoalText: test.goal, CorrelationID: test.goal})
		wantRefusal(t, err, test.status, test.code)
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("%s tells %v", test.goal, err)
		}
	}
	_, err := c.AgentIntent(t.Context(), &wire.AgentIntentRequest{CorrelationID: "nothing"})
	wantRefusal(t, err, 422, "invalid_request")
	_, err = c.Workflow(t.Context(), &wire.WorkflowIntentRequest{RunID: "r", WorkflowName: "w"})
	wantRefusal(t, err, 400, wire.CodeUnsupported)
	testkit.Eventually(t, "the counts say so", func() bool {
		counts, err := w.Counts(context.Background())
		return err == nil && counts == (queue.Counts{Failed: 7})
	})
	if !strings.Contains(s.log.String(), "a bug") {
		t.Error("operators are not told of the panic")
	}
}

// A job that cannot be decoded is settled too; otherwise it would be
// redelivered forever.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.worker()
	s.putRaw(names.Key("a"), []byte("no JSON"))
	s.putRaw(names.Key("b"), []byte(`{"type":"agent_intent","correlation_id":"another","payload":{}}`))
	s.put(wire.QueueJob{Type: "brew_coffee", CorrelationID: "c"})
	s.putRaw(names.Key("d"), nil)
	testkit.Eventually(t, "all are settled", func() bool { return s.jobs() == 0 })
	for id, code := range map[string]string{"a": "invalid_request", "b": "invalid_request", "c": wire.CodeUnsupported, "d": "invalid_request"} {
		if r, ok := s.result(id); !ok || r.State != wire.JobFailed || r.Error == nil || r.Error.Error != code {
			t.Errorf("%s: %+v", id, r)
		}
	}
}

const key = "sk-a-key-that-nobody-may-see"

func withKey(id string) *wire.AgentIntentRequest {
	r := request(id)
	r.LLM = &wire.LLM{Provider: "openai", Model: "m", APIKey: key}
	return r
}

// An API key does not enter the queue, neither through the client nor by other
// means, and is not disclosed.
func TestAPIKeys(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var made atomic.Int32
	s.worker(counted(&made, decideNow), func(o *queue.Options) {
		o.Workflow = func(context.Context, *wire.WorkflowIntentRequest) (*wire.WorkflowIntentResponse, error) {
			made.Add(1)
			return nil, errors.New("decided")
		}
	})
	if _, err := s.client().AgentIntent(t.Context(), withKey("a")); !errors.Is(err, reasonerclient.ErrAPIKey) || strings.Contains(err.Error(), key) {
		t.Errorf("got %v", err)
	}
	workflow := &wire.WorkflowIntentRequest{RunID: "r", WorkflowName: "w", LLM: withKey("a").LLM}
	if _, err := s.client().Workflow(t.Context(), workflow); !errors.Is(err, reasonerclient.ErrAPIKey) || strings.Contains(err.Error(), key) {
		t.Errorf("got %v", err)
	}
	if n := s.state(names.JobsStream()).LastSeq; n != 0 {
		t.Errorf("%d jobs were written", n)
	}
	permits := s.client(func(o *reasonerclient.Options) { o.AllowAPIKeys = true })
	_, err := permits.AgentIntent(t.Context(), withKey("b"))
	wantRefusal(t, err, 422, wire.CodeAPIKeyInQueue)
	_, err = permits.Workflow(t.Context(), workflow)
	wantRefusal(t, err, 422, wire.CodeAPIKeyInQueue)
	if made.Load() != 0 {
		t.Error("decided with a key from the queue")
	}
}

func TestAPIKeysAllowed(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.worker(decides(func(_ context.Context, r *wire.AgentIntentRequest) (*wire.AgentIntentResponse, error) {
		if r.LLM == nil || r.LLM.APIKey != key {
			t.Errorf("got %+v", r.LLM)
		}
		return nil, errors.New("refused: " + r.LLM.APIKey)
	}), func(o *queue.Options) { o.AllowAPIKeys = true })
	_, err := s.client(func(o *reasonerclient.Options) { o.AllowAPIKeys = true }).AgentIntent(t.Context(), withKey("a"))
	wantRefusal(t, err, 500, "internal")
	r, _ := s.result("a")
	raw, _ := json.Marshal(r)
	if strings.Contains(string(raw), key) || strings.Contains(s.log.String(), key) {
		t.Errorf("the key is told: %s\n%s", raw, s.log)
	}
}

// A full queue rejects new jobs; it drops no queued ones.
func TestQueueFull(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.open(func(o *queue.Options) { o.MaxJobs = 1 })
	if _, err := s.client().AgentIntentAsync(t.Context(), request("a")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.client().AgentIntentAsync(t.Context(), request("a")); err != nil {
		t.Errorf("the same job: %v", err)
	}
	err := s.timesOut(200*time.Millisecond, func(c reasonerclient.Client) error {
		_, err := c.AgentIntentAsync(t.Context(), request("b"))
		return err
	}, func(err error) bool {
		var refused *reasonerclient.APIError
		return errors.As(err, &refused)
	})
	wantRefusal(t, err, 503, reasonerclient.CodeQueueFull)
	if n := s.jobs(); n != 1 {
		t.Errorf("%d jobs", n)
	}
}

func TestCorrelationIDs(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.worker()
	c := s.client()
	for _, id := range []string{"a.b", "*", ">", "ä b\x00", strings.Repeat("x", wire.MaxCorrelationID)} {
		resp, err := c.AgentIntent(t.Context(), request(id))
		if err != nil || resp.FinalText == "" {
			t.Errorf("%q: %+v, %v", id, resp, err)
		}
	}
	_, err := c.AgentIntent(t.Context(), request(strings.Repeat("x", wire.MaxCorrelationID+1)))
	if !errors.Is(err, wire.ErrCorrelationID) {
		t.Errorf("got %v", err)
	}
	if _, err := c.Cancel(t.Context(), ""); !errors.Is(err, wire.ErrCorrelationID) {
		t.Errorf("got %v", err)
	}
}

// Results are posted to the URL of a job before the job is removed, and again
// if a worker dies in between.
func TestCallback(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	posted := make(chan *wire.Callback, 4)
	s.worker(func(o *queue.Options) {
		o.Callback = func(_ context.Context, url string, body *wire.Callback) error {
			if url != "https://example.org/hook" {
				t.Errorf("posted to %s", url)
			}
			posted <- body
			return errors.New("nobody there")
		}
		o.Decide = func(ctx context.Context, r *wire.AgentIntentRequest) (*wire.AgentIntentResponse, error) {
			if r.GoalText == "fail" {
				return nil, &reasoner.Fault{Status: 422, Code: "unknown_tool", Message: "No such tool."}
			}
			return decideNow(ctx, r)
		}
	})
	r := request("a")
	r.CallbackURL = "https://example.org/hook"
	for range 2 { // the second delivery finds the result
		s.put(jobOf(r))
		got := receive(t, "a callback", posted)
		if got.JobID != "a" || got.CorrelationID != "a" || got.Status != wire.StatusOK || got.FinalText != "done: goal" {
			t.Errorf("posted %+v", got)
		}
		testkit.Eventually(t, "the job is acknowledged", func() bool { return s.jobs() == 0 })
	}
	r.CorrelationID, r.GoalText = "b", "fail"
	s.put(jobOf(r))
	if got := receive(t, "a callback", posted); got.Status != wire.StatusError || got.Error != "unknown_tool" || got.Message == "" || got.Trace == nil {
		t.Errorf("posted %+v", got)
	}
	if _, err := s.client().AgentIntent(t.Context(), request("no callback")); err != nil {
		t.Error(err)
	}
	if len(posted) != 0 {
		t.Errorf("posted %+v", <-posted)
	}
	if !strings.Contains(s.log.String(), "callback not delivered") {
		t.Error("operators are not told of a callback that is not delivered")
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	nc := s.conn()
	for want, o := range map[string]queue.Options{
		"Options.Conn is missing":   {Decide: decideNow},
		"Options.Decide is missing": {Conn: nc},
		"queue name":                {Conn: nc, Decide: decideNow, Name: "a.b"},
		"-1 workers":                {Conn: nc, Decide: decideNow, Workers: -1},
		"at least 500ms":            {Conn: nc, Decide: decideNow, AckWait: time.Millisecond},
		"6 replicas":                {Conn: nc, Decide: decideNow, Replicas: 6},
		"must not be negative":      {Conn: nc, Decide: decideNow, StatusPoll: -1},
		"3 replicas need a cluster": {Conn: nc, Decide: decideNow, Replicas: 3, Name: "three"},
	} {
		t.Run(want, func(t *testing.T) {
			q, err := queue.New(o)
			if err == nil {
				err = q.Open(t.Context())
			}
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("want %q, got %v", want, err)
			}
		})
	}
}
