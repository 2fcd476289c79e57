package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/meup-protocol/meup/client/reasoner/wire"

	"github.com/meup-protocol/meup/internal/reasoner"
	"github.com/meup-protocol/meup/internal/reasoner/queue"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/schemas"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func checkSchema(t *testing.T, schema string, v any) {
	t.Helper()
	raw, err := json.Marshal(v)
	if err == nil {
		err = schemas.Document("reasoner/"+schema, raw)
	}
	if err != nil {
		t.Errorf("%s: %v", raw, err)
	}
}

// testServer is the service with a real listener.
type testServer struct {
	*httptest.Server
	log *testkit.Log
}

func serve(t testing.TB, o Options) *testServer {
	t.Helper()
	a := &testServer{log: new(testkit.Log)}
	o.Logger = slog.New(slog.NewTextHandler(a.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	if o.Service == nil {
		o.Service = reasoner.New(reasoner.Options{Logger: o.Logger})
	}
	a.Server = httptest.NewServer(New(o))
	t.Cleanup(a.Close)
	return a
}

// ask sends a request; headers are "Name: value".
func (a *testServer) ask(t testing.TB, method, path, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, a.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
		if value == "" {
			req.Header.Del(name)
		}
	}
	resp, err := a.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(raw)
}

const example = `{"session_id":"s1","persona":{},"goal_text":"search project for TODOs"}`

func TestEndpoints(t *testing.T) {
	a := serve(t, Options{Version: "1.2.3", Tokens: []string{"first-token", "second-token"}, MaxBody: 10_000})
	const bearer = "Authorization: Bearer second-token"
	workflow := `{"run_id":"r","workflow_name":"w","current_node":"a","params":{"next":"b"}}`
	for _, test := range []struct {
		name, method, path, body string
		headers                  []string
		status                   int
		want                     string
	}{
		{"decision", "POST", "/agent_intent", example, []string{bearer}, 200, `"tool_args":{"query":"search project for TODOs"}`},
		{"version 1", "POST", "/agent_intent", example, []string{bearer, "Accept-Version: v1"}, 200, `"status":"ok"`},
		{"one of several versions", "POST", "/agent_intent", example, []string{bearer, "Accept-Version: v2, v1"}, 200, `"status":"ok"`},
		{"another token, another case", "POST", "/agent_intent", example, []string{"Authorization: bearer first-token"}, 200, `"status":"ok"`},
		{"charset", "POST", "/agent_intent", example, []string{bearer, "Content-Type: application/json; charset=utf-8"}, 200, `"status":"ok"`},
		{"workflow", "POST", "/workflow_intent", workflow, []string{bearer}, 200, `"next_node":"b"`},
		{"nothing to cancel", "POST", "/agent_intent_cancel", `{"correlation_id":"c"}`, []string{bearer}, 200, `{"ok":false,"error":`},
		{"health", "GET", "/healthz", "", nil, 200, `{"status":"ok"}`},
		{"health by its other name", "GET", "/health", "", nil, 200, `{"status":"ok"}`},
		{"health, head alone", "HEAD", "/health", "", nil, 200, ``},
		{"what runs", "GET", "/version", "", nil, 200, `"version":"1.2.3"`},

		{"no token", "POST", "/agent_intent", example, nil, 401, `"error":"unauthorized"`},
		{"wrong token", "POST", "/agent_intent", example, []string{"Authorization: Bearer second-toke"}, 401, `"error":"unauthorized"`},
		{"no bearer", "POST", "/agent_intent", example, []string{"Authorization: Basic second-token"}, 401, `"error":"unauthorized"`},
		{"another version", "POST", "/agent_intent", example, []string{bearer, "Accept-Version: v2"}, 406, `"error":"unsupported_version"`},
		{"a form", "POST", "/agent_intent", example, []string{bearer, "Content-Type: application/x-www-form-urlencoded"}, 415, `"error":"unsupported_media_type"`},
		{"plain text", "POST", "/agent_intent", example, []string{bearer, "Content-Type: text/plain"}, 415, `"error":"unsupported_media_type"`},
		{"no type", "POST", "/agent_intent", example, []string{bearer, "Content-Type: "}, 415, `"error":"unsupported_media_type"`},
		{"too long", "POST", "/agent_intent", `{"session_id":"` + strings.Repeat("x", 20_000) + `"}`, []string{bearer}, 413, `"error":"too_large"`},
		{"no JSON", "POST", "/agent_intent", `{"session_id"`, []string{bearer}, 400, `"error":"invalid_json"`},
		{"twins", "POST", "/agent_intent", `{"session_id":"a","session_id":"b","goal_text":"g"}`, []string{bearer}, 400, `"error":"invalid_json"`},
		{"wrong type", "POST", "/agent_intent", `{"session_id":"a","goal_text":["g"]}`, []string{bearer}, 422, `"path":"/goal_text"`},
		{"no goal", "POST", "/agent_intent", `{"session_id":"a"}`, []string{bearer}, 422, `lacks /goal_text`},
		{"a base URL", "POST", "/agent_intent", `{"session_id":"a","goal_text":"g","llm":{"base_url":"http://169.254.169.254"}}`, []string{bearer}, 422, `"path":"/llm/base_url"`},
		{"unknown forced tool", "POST", "/agent_intent", `{"session_id":"a","goal_text":"g","forced_tool":"x","tools":[{"name":"y"}]}`, []string{bearer}, 422, `"error":"unknown_tool"`},
		{"unknown node", "POST", "/workflow_intent", `{"run_id":"r","workflow_name":"w","current_node":"z","params":{"workflow":{"nodes":[{"id":"a"}]}}}`, []string{bearer}, 400, `"error":"unknown_node"`},
		{"asynchronous without jobs", "POST", "/agent_intent_async", example, []string{bearer}, 400, `"error":"callback_refused"`},
		{"wrong method", "GET", "/agent_intent", "", []string{bearer}, 405, `"error":"method_not_allowed"`},
		{"preflight of a browser", "OPTIONS", "/agent_intent", "", []string{"Origin: http://evil.example"}, 405, `"error":"method_not_allowed"`},
		{"nothing there", "POST", "/agent_intents", example, []string{bearer}, 404, `"error":"not_found"`},
		{"metrics that are elsewhere", "GET", "/metrics", "", nil, 404, `"error":"not_found"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			resp, body := a.ask(t, test.method, test.path, test.body, test.headers...)
			if resp.StatusCode != test.status || !strings.Contains(body, test.want) {
				t.Errorf("%d %s", resp.StatusCode, body)
			}
			if resp.StatusCode >= 400 {
				checkSchema(t, "error", json.RawMessage(body))
			}
			if resp.StatusCode == http.StatusMethodNotAllowed && resp.Header.Get("Allow") != "POST" || resp.StatusCode == http.StatusUnauthorized && resp.Header.Get("WWW-Authenticate") == "" {
				t.Errorf("%v", resp.Header)
			}
		})
	}
	if strings.Contains(a.log.String(), "second-token") || strings.Contains(a.log.String(), "TODOs") {
		t.Errorf("the log tells too much:\n%s", a.log)
	}
}

func TestHandler_WithoutTokens(t *testing.T) {
	metrics := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "counters") })
	open := New(Options{Service: reasoner.New(reasoner.Options{}), Metrics: metrics})
	closed := New(Options{Service: reasoner.New(reasoner.Options{}), Metrics: metrics, Tokens: []string{"token"}})
	paths := map[string]string{"/agent_intent": "POST", "/agent_intent_cancel": "POST", "/version": "GET", "/metrics": "GET"}
	for _, test := range []struct {
		name, host, origin string
		ok                 bool
	}{
		{"loopback address", "127.0.0.1:9000", "", true},
		{"another loopback address", "127.8.9.1", "", true},
		{"IPv6", "[::1]:9000", "", true},
		{"IPv6 without a port", "[::1]", "", true},
		{"localhost", "LocalHost:9000", "", true},
		{"its own page", "localhost:9000", "http://localhost:9000", true},
		{"a rebound name", "evil.example", "", false},
		{"a rebound name with its page", "evil.example:9000", "http://evil.example:9000", false},
		{"a name that begins like it", "localhost.evil.example:9000", "", false},
		{"an address of the network", "192.168.1.7:9000", "", false},
		{"no host", "", "", false},
		{"another site's page", "localhost:9000", "https://evil.example", false},
		{"another port's page", "localhost:9000", "http://localhost:8080", false},
		{"a page without an origin", "localhost:9000", "null", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			ask := func(h http.Handler, method, path string) *httptest.ResponseRecorder {
				r := httptest.NewRequest(method, path, strings.NewReader(`{"session_id":"s","goal_text":"g","correlation_id":"c"}`))
				r.Host = test.host
				r.Header.Set("Content-Type", "application/json")
				r.Header.Set("Authorization", "Bearer token")
				if test.origin != "" {
					r.Header.Set("Origin", test.origin)
				}
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				return w
			}
			for path, method := range paths {
				if w := ask(open, method, path); (w.Code == http.StatusOK) != test.ok || !test.ok && !strings.Contains(w.Body.String(), `"error":"forbidden"`) {
					t.Errorf("%s: %d %s", path, w.Code, w.Body)
				}
				if w := ask(closed, method, path); w.Code != http.StatusOK {
					t.Errorf("%s with a token: %d %s", path, w.Code, w.Body)
				}
			}
			if w := ask(open, "GET", "/healthz"); w.Code != http.StatusOK {
				t.Errorf("/healthz: %d %s", w.Code, w.Body)
			}
		})
	}
}

// decider is a Service made of a function.
type decider func(ctx context.Context, r *wire.AgentIntentRequest) (*wire.AgentIntentResponse, error)

func (d decider) Decide(ctx context.Context, r *wire.AgentIntentRequest) (*wire.AgentIntentResponse, error) {
	return d(ctx, r)
}

func (d decider) Check(*wire.AgentIntentRequest) error { return nil }

func (d decider) Workflow(context.Context, *wire.WorkflowIntentRequest) (*wire.WorkflowIntentResponse, error) {
	panic("no workflows")
}

func TestHandler_Panic(t *testing.T) {
	a := serve(t, Options{Service: decider(nil)})
	for range 2 {
		resp, body := a.ask(t, "POST", "/workflow_intent", `{"run_id":"r","workflow_name":"w","current_node":"a"}`)
		if resp.StatusCode != http.StatusInternalServerError || !strings.Contains(body, `"error":"internal"`) || strings.Contains(body, "no workflows") {
			t.Errorf("%d %s", resp.StatusCode, body)
		}
	}
	if !strings.Contains(a.log.String(), "no workflows") {
		t.Errorf("%s", a.log)
	}
}

// TestHandler_Overload: requests beyond the bound are rejected until a slot is
// free.
func TestHandler_Overload(t *testing.T) {
	begun, release := make(chan struct{}, 10), make(chan struct{})
	a := serve(t, Options{MaxConcurrent: 1, Service: decider(func(context.Context, *wire.AgentIntentRequest) (*wire.AgentIntentResponse, error) {
		begun <- struct{}{}
		<-release
		return &wire.AgentIntentResponse{Status: "ok"}, nil
	})})
	var first sync.WaitGroup
	first.Go(func() {
		if resp, body := a.ask(t, "POST", "/agent_intent", example); resp.StatusCode != http.StatusOK {
			t.Errorf("%d %s", resp.StatusCode, body)
		}
	})
	<-begun
	resp, body := a.ask(t, "POST", "/agent_intent", example)
	if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" || !strings.Contains(body, `"error":"overloaded"`) {
		t.Errorf("%d %v %s", resp.StatusCode, resp.Header, body)
	}
	if resp, _ := a.ask(t, "GET", "/healthz", ""); resp.StatusCode != http.StatusOK {
		t.Errorf("a busy service is not healthy: %d", resp.StatusCode)
	}
	close(release)
	first.Wait()
	if resp, body := a.ask(t, "POST", "/agent_intent", example); resp.StatusCode != http.StatusOK {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}

// TestHandler_Disconnect: a decision is canceled when its client disconnects.
func TestHandler_Disconnect(t *testing.T) {
	begun, ended := make(chan struct{}), make(chan error, 1)
	a := serve(t, Options{Service: decider(func(ctx context.Context, _ *wire.AgentIntentRequest) (*wire.AgentIntentResponse, error) {
		close(begun)
		<-ctx.Done()
		ended <- ctx.Err()
		return nil, ctx.Err()
	})})
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.URL+"/agent_intent", strings.NewReader(example))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	go func() { <-begun; cancel() }()
	if _, err := a.Client().Do(req); err == nil {
		t.Fatal("answered")
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestMetrics(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	m := NewMetrics(reg)
	a := serve(t, Options{Observe: m.Request})
	a.ask(t, "POST", "/agent_intent", example)
	a.ask(t, "GET", "/agent_intent/%2e%2e/x", "")
	a.ask(t, "GET", "/invented", "")
	m.Callback(true)
	m.Callback(false)
	want := `# HELP meup_reasoner_callbacks_total Callbacks by outcome.
# TYPE meup_reasoner_callbacks_total counter
meup_reasoner_callbacks_total{outcome="delivered"} 1
meup_reasoner_callbacks_total{outcome="given_up"} 1
# HELP meup_reasoner_requests_total Responses by endpoint and HTTP status.
# TYPE meup_reasoner_requests_total counter
meup_reasoner_requests_total{endpoint="/agent_intent",status="200"} 1
meup_reasoner_requests_total{endpoint="other",status="404"} 2
`
	if err := testutil.GatherAndCompare(reg, strings.NewReader(want), "meup_reasoner_requests_total", "meup_reasoner_callbacks_total"); err != nil {
		t.Error(err)
	}
}

// receiver is a callback URL that answers with statuses in turn.
type receiver struct {
	*httptest.Server
	got chan callbackRequest
}

type callbackRequest struct {
	header http.Header
	body   []byte
}

func receive(t *testing.T, statuses ...int) *receiver {
	t.Helper()
	r := &receiver{got: make(chan callbackRequest, len(statuses))}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			t.Error(err)
		}
		w.WriteHeader(statuses[len(r.got)])
		r.got <- callbackRequest{req.Header, body}
	}))
	t.Cleanup(r.Close)
	return r
}

// serveJobs is serve with asynchronous decisions, which may be posted to this
// machine.
func serveJobs(t *testing.T, decide func(context.Context, *wire.AgentIntentRequest) (*wire.AgentIntentResponse, error)) (*testServer, *queue.Pool) {
	t.Helper()
	g, err := NewGuard([]string{"127.0.0.1"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := NewPoster(PosterOptions{Guard: g, Secret: []byte("callback-secret"), Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }})
	t.Cleanup(c.Close)
	b := queue.NewPool(queue.PoolOptions{Decide: decide, Post: c.Post, Logger: slog.New(slog.DiscardHandler)})
	t.Cleanup(func() {
		if err := b.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return serve(t, Options{Jobs: b, CheckCallback: g.Check}), b
}

// TestAsynchronous covers the path from the request to the callback, over real
// connections.
func TestAsynchronous(t *testing.T) {
	a, _ := serveJobs(t, reasoner.New(reasoner.Options{}).Decide)
	r := receive(t, 500, 200)
	resp, body := a.ask(t, "POST", "/agent_intent_async", `{"session_id":"s","goal_text":"find x","correlation_id":"c-9","callback_url":"`+r.URL+`/cb"}`)
	var accepted wire.Accepted
	if err := json.Unmarshal([]byte(body), &accepted); err != nil || resp.StatusCode != http.StatusAccepted || accepted.Status != "accepted" || accepted.JobID == "" {
		t.Fatalf("%d %s", resp.StatusCode, body)
	}
	checkSchema(t, "agent_intent.accepted", accepted)
	first, second := <-r.got, <-r.got
	if !bytes.Equal(first.body, second.body) || !strings.Contains(string(second.body), `"job_id":"`+accepted.JobID+`","correlation_id":"c-9"`) {
		t.Errorf("%s", second.body)
	}
	if !wire.Signed([]byte("callback-secret"), second.header.Get(wire.TimestampHeader), second.body, second.header.Get(wire.SignatureHeader)) {
		t.Error("the signature does not hold")
	}
	for name, test := range map[string]struct {
		fields string
		status int
		want   string
	}{
		"no callback_url":      {``, 400, `"error":"invalid_request"`},
		"empty callback_url":   {`,"callback_url":""`, 400, `"path":"/callback_url"`},
		"address not public":   {`,"callback_url":"http://169.254.169.254/"`, 400, `"error":"callback_refused"`},
		"path of that address": {`,"callback_url":"http://10.0.0.1/"`, 400, `"path":"/callback_url"`},
		"unknown tool":         {`,"forced_tool":"a","tools":[{"name":"b"}],"callback_url":"` + r.URL + `"`, 422, `"error":"unknown_tool"`},
	} {
		t.Run(name, func(t *testing.T) {
			resp, body := a.ask(t, "POST", "/agent_intent_async", `{"session_id":"s","goal_text":"x"`+test.fields+`}`)
			if resp.StatusCode != test.status || !strings.Contains(body, test.want) {
				t.Errorf("%d %s", resp.StatusCode, body)
			}
		})
	}
}

func TestCancelOverHTTP(t *testing.T) {
	begun := make(chan struct{})
	a, b := serveJobs(t, func(ctx context.Context, _ *wire.AgentIntentRequest) (*wire.AgentIntentResponse, error) {
		close(begun)
		<-ctx.Done()
		return nil, ctx.Err()
	})
	r := receive(t, 200)
	a.ask(t, "POST", "/agent_intent_async", `{"session_id":"s","goal_text":"find x","correlation_id":"c-9","callback_url":"`+r.URL+`"}`)
	<-begun
	resp, body := a.ask(t, "POST", "/agent_intent_cancel", `{"correlation_id":"c-9"}`)
	if resp.StatusCode != http.StatusOK || body != `{"ok":true}` {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	if err := b.Close(t.Context()); err != nil || len(r.got) != 0 {
		t.Errorf("%v, %d callbacks", err, len(r.got))
	}
}
