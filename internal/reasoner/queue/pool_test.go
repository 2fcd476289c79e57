package queue

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meup-protocol/meup/client/reasoner/wire"

	"github.com/meup-protocol/meup/internal/reasoner"
	"github.com/meup-protocol/meup/schemas"
)

const requestKey = "sk-request-0123456789abcdef"

func newPool(o PoolOptions) *Pool {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return NewPool(o)
}

func checkSchema(t *testing.T, v any) {
	t.Helper()
	raw, err := json.Marshal(v)
	if err == nil {
		err = schemas.Document("reasoner/agent_intent.callback", raw)
	}
	if err != nil {
		t.Errorf("%s: %v", raw, err)
	}
}

// posts collects the results that a Pool posts.
type posts struct {
	mu   sync.Mutex
	list []*wire.Callback
}

func (p *posts) post(_ context.Context, _ string, r *wire.Callback) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.list = append(p.list, r)
	return nil
}

func (p *posts) all() []*wire.Callback {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.list
}

func asyncRequest(correlation string) *wire.AgentIntentRequest {
	return &wire.AgentIntentRequest{SessionID: "s", GoalText: "find auth", CallbackURL: "http://x/", CorrelationID: correlation}
}

func submit(t *testing.T, b *Pool, correlation string) string {
	t.Helper()
	id, err := b.Submit(t.Context(), asyncRequest(correlation))
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestPool_PostsResults(t *testing.T) {
	var p posts
	b := newPool(PoolOptions{Decide: reasoner.New(reasoner.Options{}).Decide, Post: p.post})
	id := submit(t, b, "c-1")
	if err := b.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := p.all()
	if len(got) != 1 || got[0].JobID != id || got[0].CorrelationID != "c-1" || got[0].ToolName != wire.SearchTool {
		t.Fatalf("%+v", got)
	}
	checkSchema(t, got[0])
	if _, err := b.Submit(t.Context(), asyncRequest("")); reasoner.FaultOf(err).Status != 503 {
		t.Errorf("a closed one takes a job: %v", err)
	}
}

// blocking decides nothing until its ctx ends. It sends on begun when it
// starts.
type blocking struct{ begun chan string }

func (b *blocking) Decide(ctx context.Context, r *wire.AgentIntentRequest) (*wire.AgentIntentResponse, error) {
	b.begun <- r.CorrelationID
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestPool_Cancel(t *testing.T) {
	var p posts
	d := &blocking{begun: make(chan string, 10)}
	b := newPool(PoolOptions{Decide: d.Decide, Post: p.post, Workers: 1})
	submit(t, b, "running")
	<-d.begun
	submit(t, b, "waiting")
	submit(t, b, "waiting")
	for _, test := range []struct {
		id   string
		want bool
	}{{"waiting", true}, {"nobody", false}, {"", false}, {"running", true}} {
		if ok, err := b.Cancel(t.Context(), test.id); ok != test.want || err != nil {
			t.Errorf("%s: %v, %v", test.id, ok, err)
		}
	}
	if err := b.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(p.all()) != 0 || len(d.begun) != 0 || len(b.jobs) != 0 {
		t.Errorf("posted %+v, begun %d, left %v", p.all(), len(d.begun), b.jobs)
	}
}

// The ids of canceled jobs are kept for repeated requests, but at most twice as
// many as the bound on jobs.
func TestPool_Cancel_RecentIDs(t *testing.T) {
	d := &blocking{begun: make(chan string, 100)}
	b := newPool(PoolOptions{Decide: d.Decide, Post: new(posts).post, MaxJobs: 4})
	id := func(i int) string { return "job " + strconv.Itoa(i) }
	for i := range 50 {
		for ok := false; !ok; { // the previous job releases its slot when it ends
			_, err := b.Submit(t.Context(), asyncRequest(id(i)))
			ok = err == nil
		}
		if ok, _ := b.Cancel(t.Context(), id(i)); !ok {
			t.Fatalf("%s was not canceled", id(i))
		}
	}
	if err := b.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(b.canceled) + len(b.canceledBefore); n > 8 {
		t.Errorf("%d ids are kept", n)
	}
	for i, want := range map[int]bool{0: false, 46: true, 49: true} {
		if ok, _ := b.Cancel(t.Context(), id(i)); ok != want {
			t.Errorf("%s: %v", id(i), ok)
		}
	}
}

func TestPool_TooManyJobs(t *testing.T) {
	d := &blocking{begun: make(chan string, 10)}
	b := newPool(PoolOptions{Decide: d.Decide, Post: new(posts).post, MaxJobs: 2})
	submit(t, b, "a")
	submit(t, b, "b")
	if _, err := b.Submit(t.Context(), asyncRequest("c")); reasoner.FaultOf(err).Status != 503 || reasoner.FaultOf(err).Code != reasoner.CodeOverloaded {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.Close(ctx); err == nil || !strings.Contains(err.Error(), "2 were not finished") {
		t.Errorf("%v", err)
	}
}

// TestPool_ByteBudget: the bound covers jobs that wait for a decision.
// Jobs that wait for their receiver hold no request.
func TestPool_ByteBudget(t *testing.T) {
	large := func() *wire.AgentIntentRequest {
		r := asyncRequest("c")
		r.History = []wire.HistoryItem{[]byte(`"` + strings.Repeat("x", 10_000) + `"`)}
		return r
	}
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		b := newPool(PoolOptions{
			Bytes: 25_000, CallbackWorkers: 1,
			Decide: func(context.Context, *wire.AgentIntentRequest) (*wire.AgentIntentResponse, error) {
				<-release
				return &wire.AgentIntentResponse{}, nil
			},
			Post: func(ctx context.Context, _ string, _ *wire.Callback) error { <-ctx.Done(); return ctx.Err() },
		})
		for i := range 3 {
			if _, err := b.Submit(t.Context(), large()); (err == nil) != (i < 2) || err != nil && reasoner.FaultOf(err).Status != 503 {
				t.Errorf("%d: %v", i, err)
			}
		}
		close(release)
		synctest.Wait()
		if b.bytes != 0 {
			t.Errorf("%d bytes are reserved while callbacks are posted", b.bytes)
		}
		if _, err := b.Submit(t.Context(), large()); err != nil {
			t.Error(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := b.Close(ctx); err == nil {
			t.Error("nothing was lost")
		}
		if b.bytes != 0 {
			t.Errorf("%d bytes are reserved", b.bytes)
		}
	})
}

func TestPool_FailedJob(t *testing.T) {
	log := new(bytes.Buffer) // each job ends before the next one begins
	for name, test := range map[string]struct {
		decide func(context.Context, *wire.AgentIntentRequest) (*wire.AgentIntentResponse, error)
		code   string
	}{
		"refused": {func(context.Context, *wire.AgentIntentRequest) (*wire.AgentIntentResponse, error) {
			return nil, reasoner.Invalid("/goal_text", "Say more.")
		}, reasoner.CodeInvalidRequest},
		"failed": {func(context.Context, *wire.AgentIntentRequest) (*wire.AgentIntentResponse, error) {
			return nil, errors.New("the disk is on fire, " + requestKey)
		}, reasoner.CodeInternal},
		"panic": {func(context.Context, *wire.AgentIntentRequest) (*wire.AgentIntentResponse, error) {
			panic("oh")
		}, reasoner.CodeInternal},
	} {
		t.Run(name, func(t *testing.T) {
			var p posts
			b := newPool(PoolOptions{Decide: test.decide, Post: p.post, Logger: slog.New(slog.NewTextHandler(log, nil))})
			r := asyncRequest("c")
			r.LLM = &wire.LLM{APIKey: requestKey}
			if _, err := b.Submit(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			if err := b.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			got := p.all()
			if len(got) != 1 || got[0].Status != "error" || got[0].Error != test.code || strings.Contains(got[0].Message, "fire") {
				t.Fatalf("%+v", got)
			}
			checkSchema(t, got[0])
		})
	}
	if !strings.Contains(log.String(), "on fire") || !strings.Contains(log.String(), "panic: oh") || strings.Contains(log.String(), requestKey) {
		t.Errorf("%s", log)
	}
}

func TestPool_SlowDecision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p posts
		d := &blocking{begun: make(chan string, 1)}
		b := newPool(PoolOptions{Decide: d.Decide, Post: p.post})
		submit(t, b, "c")
		time.Sleep(defaultPoolTimeout + time.Second)
		if err := b.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := p.all(); len(got) != 1 || got[0].Error != reasoner.CodeTimeout {
			t.Errorf("%+v", got)
		}
	})
}

// TestPool_SlowReceivers: decisions continue while callbacks hang.
func TestPool_SlowReceivers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var decided atomic.Int32
		b := newPool(PoolOptions{
			Decide: func(context.Context, *wire.AgentIntentRequest) (*wire.AgentIntentResponse, error) {
				decided.Add(1)
				return &wire.AgentIntentResponse{}, nil
			},
			Post:    func(ctx context.Context, _ string, _ *wire.Callback) error { <-ctx.Done(); return ctx.Err() },
			Workers: 1, CallbackWorkers: 1,
		})
		for range 10 {
			submit(t, b, "c")
		}
		synctest.Wait()
		if decided.Load() != 10 {
			t.Errorf("%d decisions", decided.Load())
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := b.Close(ctx); err == nil {
			t.Error("nothing was lost")
		}
	})
}
