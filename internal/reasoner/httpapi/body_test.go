package httpapi

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/meup-protocol/meup/client/reasoner/wire"
	"github.com/meup-protocol/meup/internal/testing/testkit"
)

// dial opens a connection and sends the headers of a POST, without the body.
func (a *testServer) dial(t *testing.T, path, headers string) (net.Conn, *bufio.Reader) {
	t.Helper()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", a.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil { // bounds the test if a fault occurs
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n%s\r\n", path, headers); err != nil {
		t.Fatal(err)
	}
	return c, bufio.NewReader(c)
}

// TestHandler_RejectedBody: a rejected request whose body is not sent
// does not keep the connection open.
func TestHandler_RejectedBody(t *testing.T) {
	a := serve(t, Options{Tokens: []string{"a-token"}, MaxBody: 50, Metrics: http.NotFoundHandler()})
	for _, test := range []struct {
		path, headers string
		status        int
	}{
		{"/agent_intent", "", 401},
		{"/agent_intent", "Authorization: Bearer a-token\r\n", 413},
		{"/agent_intent", "Authorization: Bearer a-token\r\nAccept-Version: v9\r\n", 406},
		{"/nothing", "", 404},
		{"/healthz", "", 405},
	} {
		t.Run(fmt.Sprint(test.path, " ", test.status), func(t *testing.T) {
			t.Parallel() // the server waits before it ends a connection
			_, from := a.dial(t, test.path, test.headers)
			resp, err := http.ReadResponse(from, nil)
			if err != nil {
				t.Fatalf("%s: %v", test.path, err)
			}
			if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != test.status || !resp.Close {
				t.Errorf("%s: %d, %v, closes: %v", test.path, resp.StatusCode, err, resp.Close)
			}
			if _, err := from.ReadByte(); err != io.EOF {
				t.Errorf("%s: the connection did not end: %v", test.path, err)
			}
			if err := resp.Body.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestHandler_BodyLimit: a body of exactly MaxBody bytes is accepted, one of a byte
// more is not, whether its length is announced or not.
func TestHandler_BodyLimit(t *testing.T) {
	a := serve(t, Options{MaxBody: int64(len(example))})
	for name, test := range map[string]struct {
		body   string
		length bool
		status int
	}{
		"limit":             {example, true, 200},
		"limit, chunked":    {example, false, 200},
		"one more":          {example + " ", true, 413},
		"one more, chunked": {example + " ", false, 413},
	} {
		t.Run(name, func(t *testing.T) {
			var body io.Reader = strings.NewReader(test.body)
			if !test.length {
				body = struct{ io.Reader }{body}
			}
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, a.URL+"/agent_intent", body)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			resp, err := a.Client().Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if resp.StatusCode != test.status {
				t.Errorf("%d", resp.StatusCode)
			}
		})
	}
}

// TestHandler_SlowBodies: decisions continue while bodies are read.
func TestHandler_SlowBodies(t *testing.T) {
	a := serve(t, Options{MaxConcurrent: 1})
	for i := range readersPerSlot {
		c, from := a.dial(t, "/agent_intent", "Expect: 100-continue\r\n")
		if line, err := from.ReadString('\n'); err != nil || !strings.Contains(line, "100") {
			t.Fatalf("%q, %v", line, err) // the server sends 100 Continue when it begins to read
		}
		if i == 0 {
			continue
		}
		resp, body := a.ask(t, "POST", "/agent_intent", example)
		if want := i < readersPerSlot-1; (resp.StatusCode == http.StatusOK) != want {
			t.Errorf("beside %d: %d %s", i+1, resp.StatusCode, body)
		}
		_ = c
	}
}

// TestBytesInFlight: large requests are rejected before all slots are in use,
// as long as the bytes of others are held.
func TestBytesInFlight(t *testing.T) {
	begun, release := make(chan struct{}, bodiesInFlight), make(chan struct{})
	large := fmt.Sprintf(`{"session_id":"s","goal_text":%q}`, strings.Repeat("x", 1000))
	h := New(Options{
		MaxBody: int64(len(large)),
		Service: decider(func(context.Context, *wire.AgentIntentRequest) (*wire.AgentIntentResponse, error) {
			begun <- struct{}{}
			<-release
			return &wire.AgentIntentResponse{Status: "ok"}, nil
		}),
	})
	inner, ok := h.(*handler)
	if !ok {
		t.Fatalf("%T", h)
	}
	a := &testServer{Server: httptest.NewServer(h), log: new(testkit.Log)}
	t.Cleanup(a.Close)
	var asking sync.WaitGroup
	for range bodiesInFlight {
		asking.Go(func() {
			if resp, body := a.ask(t, "POST", "/agent_intent", large); resp.StatusCode != http.StatusOK {
				t.Errorf("%d %s", resp.StatusCode, body)
			}
		})
	}
	for range bodiesInFlight {
		<-begun
	}
	if resp, body := a.ask(t, "POST", "/agent_intent", large); resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	close(release)
	asking.Wait()
	a.ask(t, "POST", "/agent_intent", large+" ") // too large
	a.Close()                                    // waits for the handlers
	if !inner.bytes.TryAcquire(bodiesInFlight * int64(len(large))) {
		t.Error("bytes of bodies are still reserved")
	}
}
