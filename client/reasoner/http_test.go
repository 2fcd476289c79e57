package reasoner_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meup-protocol/meup/client/reasoner"
	"github.com/meup-protocol/meup/client/reasoner/wire"
	"github.com/meup-protocol/meup/internal/testing/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

const token = "a-token-that-nobody-may-see"

// service serves one handler; calls counts the requests.
func service(t *testing.T, h http.HandlerFunc) (url string, calls *atomic.Int32) {
	t.Helper()
	calls = new(atomic.Int32)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		h(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL, calls
}

func newClient(t *testing.T, o reasoner.Options) reasoner.Client {
	t.Helper()
	if o.Timeout == 0 {
		o.Timeout = time.Minute
	}
	o.Token, o.Rand = token, func() float64 { return 0 }
	c, err := reasoner.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func request() *wire.AgentIntentRequest {
	return &wire.AgentIntentRequest{SessionID: "s", GoalText: "g", CorrelationID: "c"}
}

// Each method uses its endpoint, with the headers of the API.
func TestEndpoints(t *testing.T) {
	url, _ := service(t, func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		if r.Method != http.MethodPost || r.Header.Get("Accept-Version") != "v1" || r.Header.Get("Content-Type") != "application/json" ||
			r.Header.Get("Authorization") != "Bearer "+token {
			t.Errorf("%s %s %v", r.Method, r.URL, r.Header)
		}
		switch r.URL.Path {
		case "/api/agent_intent":
			answer(w, 200, wire.AgentIntentResponse{Status: wire.StatusOK, IntentID: string(raw), ToolName: "t", ToolArgs: []byte(`{"q":1}`)})
		case "/api/agent_intent_async":
			answer(w, 202, wire.Accepted{Status: "accepted", JobID: "j"})
		case "/api/agent_intent_cancel":
			answer(w, 200, wire.CancelResponse{OK: strings.Contains(string(raw), `"c"`)})
		case "/api/workflow_intent":
			answer(w, 200, wire.WorkflowIntentResponse{Status: wire.StatusOK, NextNode: "n"})
		}
	})
	c := newClient(t, reasoner.Options{URL: url + "/api/", Tools: []string{"t"}})
	resp, err := c.AgentIntent(t.Context(), request())
	if err != nil || resp.ToolName != "t" || string(resp.ToolArgs) != `{"q":1}` || resp.IntentID != `{"session_id":"s","goal_text":"g","correlation_id":"c"}` {
		t.Errorf("%+v, %v", resp, err)
	}
	if a, err := c.AgentIntentAsync(t.Context(), request()); err != nil || a.JobID != "j" {
		t.Errorf("%+v, %v", a, err)
	}
	for id, want := range map[string]bool{"c": true, "d": false} {
		if found, err := c.Cancel(t.Context(), id); err != nil || found != want {
			t.Errorf("cancel %s: %v, %v", id, found, err)
		}
	}
	if w, err := c.Workflow(t.Context(), &wire.WorkflowIntentRequest{RunID: "r"}); err != nil || w.NextNode != "n" {
		t.Errorf("%+v, %v", w, err)
	}
}

// Which errors are retried, how often, and with which outcome.
func TestRetries(t *testing.T) {
	for _, test := range []struct {
		name    string
		answers []int // statuses; the last repeats
		retries int
		calls   int32
		status  int // of the error; 0: none
	}{
		{"5xx, then an answer", []int{500, 503, 200}, 2, 3, 0},
		{"5xx for ever", []int{502}, 2, 3, 502},
		{"by default twice", []int{500}, 0, 3, 500},
		{"never", []int{500}, reasoner.NoRetries, 1, 500},
		{"4xx is final", []int{422}, 2, 1, 422},
		{"also 429", []int{429}, 2, 1, 429},
		{"a redirection is none of ours", []int{302}, 2, 1, 302},
	} {
		t.Run(test.name, func(t *testing.T) {
			var n atomic.Int32
			url, calls := service(t, func(w http.ResponseWriter, _ *http.Request) {
				status := test.answers[min(int(n.Add(1)), len(test.answers))-1]
				if status == 200 {
					answer(w, status, wire.AgentIntentResponse{Status: wire.StatusOK, Finish: true})
					return
				}
				w.Header().Set("Location", "/elsewhere")
				answer(w, status, wire.ErrorBody{Error: "a_code", Message: "A sentence.", Path: "/goal_text"})
			})
			_, err := newClient(t, reasoner.Options{URL: url, Retries: test.retries}).AgentIntent(t.Context(), request())
			var refused *reasoner.APIError
			switch {
			case test.status == 0:
				if err != nil {
					t.Error(err)
				}
			case !errors.As(err, &refused) || refused.Status != test.status || refused.Code != "a_code" || refused.Message != "A sentence." || refused.Path != "/goal_text":
				t.Errorf("got %v", err)
			case !strings.Contains(err.Error(), "A sentence.") || strings.Contains(err.Error(), token):
				t.Errorf("got %v", err)
			}
			if calls.Load() != test.calls {
				t.Errorf("asked %d times", calls.Load())
			}
		})
	}
}

// unanswered is a service that does not answer.
type unanswered struct{ calls atomic.Int32 }

func (u *unanswered) RoundTrip(r *http.Request) (*http.Response, error) {
	u.calls.Add(1)
	_ = r.Body.Close()
	<-r.Context().Done()
	return nil, r.Context().Err()
}

func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var u unanswered
		_, err := newClient(t, reasoner.Options{HTTPClient: &http.Client{Transport: &u}, Timeout: 50 * time.Millisecond}).AgentIntent(t.Context(), request())
		if !errors.Is(err, reasoner.ErrTimeout) || !strings.Contains(err.Error(), "timeout after 50ms, 3 times") || u.calls.Load() != 3 {
			t.Errorf("asked %d times: %v", u.calls.Load(), err)
		}
		// The caller's own timeout has expired: there is no retry.
		u.calls.Store(0)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		c := newClient(t, reasoner.Options{HTTPClient: &http.Client{Transport: &u}})
		_, err = c.AgentIntent(ctx, request())
		if !errors.Is(err, reasoner.ErrTimeout) || !errors.Is(err, context.DeadlineExceeded) || u.calls.Load() != 1 {
			t.Errorf("asked %d times: %v", u.calls.Load(), err)
		}
		// A canceled call is not a timeout.
		ctx, giveUp := context.WithCancel(t.Context())
		giveUp()
		_, err = c.AgentIntent(ctx, request())
		if !errors.Is(err, context.Canceled) || errors.Is(err, reasoner.ErrTimeout) {
			t.Errorf("got %v", err)
		}
	})
}

// A refused connection is reported immediately.
func TestRefusedConnection(t *testing.T) {
	addr := testkit.FreeAddress(t)
	dials := 0
	c := newClient(t, reasoner.Options{URL: "http://" + addr, HTTPClient: &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			dials++
			return (&net.Dialer{}).DialContext(ctx, network, addr)
		},
	}}})
	_, err := c.AgentIntent(t.Context(), request())
	if err == nil || errors.Is(err, reasoner.ErrTimeout) || dials != 1 || strings.Contains(err.Error(), token) {
		t.Errorf("dialed %d times: %v", dials, err)
	}
}

func TestValidation(t *testing.T) {
	for _, test := range []struct {
		name    string
		chosen  string
		request []string
		options []string
		forced  string
		refused bool
	}{
		{"offered by the request", "read", []string{"read", "search"}, nil, "", false},
		{"not offered by the request", "drop", []string{"read", "search"}, nil, "", true},
		{"not offered by the options", "drop", nil, []string{"read"}, "", true},
		{"offered by the options", "read", nil, []string{"read"}, "", false},
		{"the request takes precedence", "drop", []string{"read"}, []string{"drop"}, "", true},
		{"nothing offered", "drop", nil, nil, "", true},
		{"nothing offered, the tool of the API", "context.fts_search", nil, nil, "", false},
		{"nothing offered, forced", "drop", nil, nil, "drop", false},
		{"nothing offered, another one forced", "drop", nil, nil, "read", true},
		{"finished", "", []string{"read"}, nil, "", false},
		{"finished, nothing offered", "", nil, nil, "", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			url, _ := service(t, func(w http.ResponseWriter, _ *http.Request) {
				answer(w, 200, wire.AgentIntentResponse{Status: wire.StatusOK, ToolName: test.chosen, Finish: test.chosen == ""})
			})
			r := request()
			r.ForcedTool = test.forced
			for _, name := range test.request {
				r.Tools = append(r.Tools, wire.Tool{Name: name})
			}
			_, err := newClient(t, reasoner.Options{URL: url, Tools: test.options}).AgentIntent(t.Context(), r)
			var invalid *reasoner.ValidationError
			if errors.As(err, &invalid) != test.refused || err != nil && !test.refused {
				t.Errorf("%+v: %v", test, err)
			}
			if test.refused && (invalid.Code() != "intent_validation_error" || invalid.Tool != test.chosen || !strings.HasPrefix(err.Error(), "intent_validation_error: ")) {
				t.Errorf("%+v: %v", test, err)
			}
		})
	}
}

// The size of responses is bounded, and they may come from other programs.
func TestInvalidResponses(t *testing.T) {
	for name, test := range map[string]struct {
		h    http.HandlerFunc
		want string
	}{
		"too long": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"status":"ok","final_text":"`)
			for range 9 {
				_, _ = io.WriteString(w, strings.Repeat("x", 1<<20))
			}
			_, _ = io.WriteString(w, `"}`)
		}, "more than 8388608 bytes"},
		"a page":    {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }, "not that of a reasoning service"},
		"a proxy's": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "who are you?", http.StatusForbidden) }, "answered 403: who are you?"},
		"a proxy's page": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, "<html>")
		}, "answered 404: Not Found"},
		"an error with status 200": {func(w http.ResponseWriter, _ *http.Request) {
			answer(w, 200, wire.AgentIntentResponse{Status: wire.StatusError, Error: "a_code", Message: "A sentence."})
		}, "(a_code): A sentence."},
		"cut off": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "{")
		}, "read response"},
	} {
		t.Run(name, func(t *testing.T) {
			url, calls := service(t, test.h)
			_, err := newClient(t, reasoner.Options{URL: url}).AgentIntent(t.Context(), request())
			if err == nil || !strings.Contains(err.Error(), test.want) || len(err.Error()) > 600 || calls.Load() != 1 {
				t.Errorf("%s: asked %d times: %v", name, calls.Load(), err)
			}
		})
	}
}

func TestOptions(t *testing.T) {
	for want, o := range map[string]reasoner.Options{
		"expected http://":                     {URL: "localhost:9000"},
		"service's URL":                        {URL: "ftp://host"},
		"Options.Timeout must not be negative": {Timeout: -1},
		"must be at most 100":                  {Retries: 101},
		`"mongo"`:                              {Transport: "mongo"},
		"queue name":                           {Transport: reasoner.NATS, Queue: "a.b"},
	} {
		t.Run(want, func(t *testing.T) {
			c, err := reasoner.Open(o)
			if err == nil {
				_ = c.Close()
			}
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("want %q, got %v", want, err)
			}
		})
	}
	c, err := reasoner.Open(reasoner.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
}

func TestFromEnvironment(t *testing.T) {
	env := map[string]string{
		"REASONING_API_URL": "http://r:1", "REASONING_API_TOKEN": token, "REASONING_API_TIMEOUT_MS": "250", "REASONING_API_RETRIES": "0",
		"REASONING_API_VERSION": "v1", "REASONING_TRANSPORT": "nats", "REASONING_NATS_URL": "nats://n:2", "REASONING_QUEUE": "Q",
	}
	o, err := reasoner.FromEnvironment(func(k string) string { return env[k] })
	if err != nil || o.URL != "http://r:1" || o.Token != token || o.Timeout != 250*time.Millisecond || o.Retries != reasoner.NoRetries ||
		o.Version != "v1" || o.Transport != reasoner.NATS || o.NATSURL != "nats://n:2" || o.Queue != "Q" {
		t.Errorf("%+v, %v", o, err)
	}
	if o, err := reasoner.FromEnvironment(func(string) string { return "" }); err != nil || o.Timeout != 0 || o.Retries != 0 {
		t.Errorf("%+v, %v", o, err)
	}
	for name, value := range map[string]string{
		"REASONING_API_TIMEOUT_MS": "5s", "REASONING_API_RETRIES": "-1", "REASONING_TRANSPORT": "mongo", "REASONING_API_VERSION": "v9",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := reasoner.FromEnvironment(func(k string) string { return map[string]string{name: value}[k] })
			if err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%s=%s: %v", name, value, err)
			}
		})
	}
}

// TestOptions_Version: a version that the client does not have is rejected at the
// start, not by the service for each request.
func TestOptions_Version(t *testing.T) {
	for _, open := range []func(reasoner.Options) (reasoner.Client, error){reasoner.New, reasoner.NewQueue} {
		if _, err := open(reasoner.Options{Version: "v9", NATSURL: "nats://127.0.0.1:1"}); err == nil || !strings.Contains(err.Error(), `"v9": this client supports only v1`) {
			t.Errorf("%v", err)
		}
	}
}

// FuzzAnswer: any response is decoded or an error.
func FuzzAnswer(f *testing.F) {
	for _, s := range []string{"", "{}", `{"status":"ok","tool_name":"t"}`, `{"status":"error"}`, "[]", "<html>", `{"trace":7}`} {
		f.Add(200, []byte(s))
		f.Add(500, []byte(s))
	}
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		if status < 200 || status > 599 {
			return
		}
		c, err := reasoner.New(reasoner.Options{Retries: reasoner.NoRetries, Tools: []string{"t"}, HTTPClient: &http.Client{Transport: canned{status, body}}})
		if err != nil {
			t.Fatal(err)
		}
		resp, err := c.AgentIntent(context.Background(), request())
		if (resp == nil) == (err == nil) {
			t.Errorf("%+v, %v", resp, err)
		}
		if resp != nil && resp.ToolName != "" && resp.ToolName != "t" {
			t.Errorf("took the tool %q", resp.ToolName)
		}
	})
}

type canned struct {
	status int
	body   []byte
}

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		_ = r.Body.Close()
	}
	return &http.Response{StatusCode: c.status, Header: make(http.Header), Body: io.NopCloser(strings.NewReader(string(c.body))), Request: r}, nil
}
