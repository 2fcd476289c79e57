// Package llmtest is a scripted model server with the providers' real wire
// formats: OpenAI's Chat Completions at /v1/chat/completions and Responses at
// /v1/responses, and Anthropic's Messages at /v1/messages. It serves tests of
// agents, and a demonstration without a model.
//
// A [Server] is an http.Handler; [Start] serves it for a test.
// [Server.Requests] returns the requests, converted to the types of package
// llm.
package llmtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/meup-protocol/meup/internal/agent/llm"
)

const (
	maxBody     = 32 << 20
	maxRecorded = 1000 // requests; older ones are dropped
)

// Request is a request that the server received.
type Request struct {
	llm.Request
	N      int // counted from 1
	Model  string
	Path   string
	Header http.Header
	Body   json.RawMessage // as received

	stream, usage, summary, encrypted bool // requested
}

// LastUser returns the text of the user's last message, "" if there is none.
func (r Request) LastUser() string { return r.last(llm.User) }

// LastResult returns the text of the last result of a tool, "" if there is
// none.
func (r Request) LastResult() string { return r.last(llm.ToolResult) }

func (r Request) last(role llm.Role) string {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if r.Messages[i].Role == role {
			return r.Messages[i].Text
		}
	}
	return ""
}

// Server answers with its script. Its methods are safe for concurrent use; its
// fields must not change while it serves.
type Server struct {
	// Key, if not empty, is required as a bearer token or in X-Api-Key.
	Key string
	// ThinkingField is the field for thinking in Chat Completions:
	// reasoning_content (the default for ""), reasoning, reasoning_details, or
	// content, with <think> tags.
	ThinkingField string

	script Script
	closed chan struct{}
	url    string

	mu       sync.Mutex
	n        int
	requests []Request
	changed  chan struct{} // closed when n grows
}

// New returns a server that the caller serves.
func New(script Script) *Server {
	return &Server{script: script, closed: make(chan struct{}), changed: make(chan struct{})}
}

// TB is the part of testing.TB that Start needs.
type TB interface {
	Helper()
	Fatalf(format string, args ...any)
	Cleanup(f func())
}

// Start serves on a local port until the test ends.
func Start(t TB, script Script, with ...func(*Server)) *Server {
	t.Helper()
	s := New(script)
	for _, f := range with {
		f(s)
	}
	var lc net.ListenConfig
	l, err := lc.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("serve a model: %v", err)
	}
	s.url = "http://" + l.Addr().String()
	srv := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(l) // it ends with http.ErrServerClosed
	}()
	t.Cleanup(func() {
		s.Close()
		_ = srv.Shutdown(context.Background()) // every answer has ended
		<-done
	})
	return s
}

// URL is the base URL of a server from Start, without a path: clients of Chat
// Completions add /v1.
func (s *Server) URL() string { return s.url }

// Close ends the answers that hang or wait for their gate.
func (s *Server) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.closed:
	default:
		close(s.closed)
	}
}

// Requests returns the latest requests, at most 1,000.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Asked waits for the nth request and returns it.
func (s *Server) Asked(ctx context.Context, n int) (Request, error) {
	for {
		s.mu.Lock()
		for _, r := range s.requests {
			if r.N == n {
				s.mu.Unlock()
				return r, nil
			}
		}
		changed := s.changed
		s.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return Request{}, fmt.Errorf("wait for request %d: %w", n, ctx.Err())
		}
	}
}

func (s *Server) record(r Request) Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n++
	r.N = s.n
	s.requests = append(s.requests, r)
	if len(s.requests) > maxRecorded {
		s.requests = s.requests[1:]
	}
	close(s.changed)
	s.changed = make(chan struct{})
	return r
}

// ServeHTTP answers a request in the format of its path.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodPost && r.URL.Path == "/v1/chat/completions":
		s.serve(w, r, s.completions())
	case r.Method == http.MethodPost && r.URL.Path == "/v1/messages":
		s.messages(w, r)
	case r.Method == http.MethodPost && r.URL.Path == "/v1/responses":
		s.serve(w, r, responses())
	default:
		writeJSON(w, http.StatusNotFound, refusal("not_found_error", "there is nothing at "+r.URL.Path))
	}
}

// format is a provider's wire format.
type format struct {
	// parse parses the body of a request.
	parse func(body []byte) (Request, error)
	// events returns the turn as events, each with its final empty line.
	events func(Request, Turn) []string
	// document returns the turn as one document; nil if the format has none.
	document func(Request, Turn) any
	// refusal returns the body of an error.
	refusal func(code, message string) any
}

// serve answers one request.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, f format) {
	if s.Key != "" && r.Header.Get("Authorization") != "Bearer "+s.Key && r.Header.Get("X-Api-Key") != s.Key {
		writeJSON(w, http.StatusUnauthorized, f.refusal("authentication_error", "the key is not right"))
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		writeJSON(w, http.StatusBadRequest, f.refusal("invalid_request_error", "read body: "+err.Error()))
		return
	}
	req, err := f.parse(body)
	if invalid, ok := errors.AsType[*rejection](err); ok {
		writeJSON(w, invalid.status, invalid.body())
		return
	}
	if err != nil {
		writeJSON(w, http.StatusBadRequest, f.refusal("invalid_request_error", err.Error()))
		return
	}
	req.Path, req.Header, req.Body = r.URL.Path, r.Header.Clone(), body
	req = s.record(req)
	s.respond(w, r, f, req, s.script(req).complete(req))
}

var errGone = errors.New("nobody waits for the answer")

// wait returns when c has a value or is closed, or errGone if the client or the
// server ends first. It returns at once for a nil channel.
func (s *Server) wait(ctx context.Context, c <-chan struct{}) error {
	if c == nil {
		return nil
	}
	select {
	case <-c:
		return nil
	case <-ctx.Done():
	case <-s.closed:
	}
	return errGone
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client may be gone
}

// refusal returns an error in OpenAI's form.
func refusal(code, message string) any {
	return map[string]any{"error": map[string]any{"message": message, "type": code, "param": nil, "code": nil}}
}
