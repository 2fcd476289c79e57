package mcprelay_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/mcprelay"
)

// relayed is a client of a relay to a server.
type relayed struct {
	t     *testing.T
	in    *io.PipeWriter
	lines *bufio.Scanner
	ended chan error
}

func relayTo(t *testing.T, server http.HandlerFunc) *relayed {
	t.Helper()
	s := httptest.NewServer(server)
	in, toIn := io.Pipe()
	fromOut, out := io.Pipe()
	r := &relayed{t, toIn, bufio.NewScanner(fromOut), make(chan error, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		err := mcprelay.Run(ctx, mcprelay.Options{Endpoint: s.URL, Token: "secret", Version: "1", In: in, Out: out})
		_ = out.Close()
		r.ended <- err
		close(r.ended)
	}()
	t.Cleanup(func() {
		cancel()
		_ = toIn.Close()
		_ = fromOut.Close()
		<-r.ended //nolint:errcheck // canceled, or checked by the test
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		s.Close()
	})
	return r
}

func (r *relayed) send(line string) {
	r.t.Helper()
	if _, err := io.WriteString(r.in, line+"\n"); err != nil {
		r.t.Fatal(err)
	}
}

func (r *relayed) expect(part string) {
	r.t.Helper()
	if !r.lines.Scan() || !strings.Contains(r.lines.Text(), part) {
		r.t.Fatalf("the client got %s, want %s", r.lines.Text(), part)
	}
}

func body(r *http.Request) string {
	b, _ := io.ReadAll(r.Body)
	return string(b)
}

// What is no message is rejected, and the next message is passed on.
func TestRun_NoMessage(t *testing.T) {
	r := relayTo(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{"of":"`+r.Header.Get("Authorization")+`"}}`)
	})
	for line, code := range map[string]string{
		"garbage": `"code":-32700`, "42": `"code":-32600`, "[]": `"code":-32600`, `{"a":1}`: `"code":-32600`,
		`{"jsonrpc":"2.0","id":{},"method":"x"}`: `"code":-32600`, `"` + strings.Repeat("x", 5<<20) + `"`: `"code":-32600`,
	} {
		r.send(line)
		r.expect(code)
	}
	r.send(`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`)
	r.expect(`"id":1.5`)
	if !strings.Contains(r.lines.Text(), "Bearer secret") {
		t.Errorf("no token: %s", r.lines.Text())
	}
}

// The messages of a stream reach the client, its answers and cancellations the server. A
// canceled request has no response.
func TestRun_Stream(t *testing.T) {
	answered, canceled, ended := make(chan string, 1), make(chan string, 1), make(chan struct{})
	r := relayTo(t, func(w http.ResponseWriter, r *http.Request) {
		switch text := body(r); {
		case strings.Contains(text, "initialize"):
			w.Header().Set("Mcp-Session-Id", "s1")
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25"}}`)
		case strings.Contains(text, "accept"):
			answered <- r.Header.Get("Mcp-Session-Id") + " " + r.Header.Get("Mcp-Protocol-Version")
			w.WriteHeader(http.StatusAccepted)
		case strings.Contains(text, "cancelled"):
			canceled <- text
			w.WriteHeader(http.StatusAccepted)
		case strings.Contains(text, "ping"):
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":3,"result":{}}`)
		default:
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}\n\n"+
				"data: {\"jsonrpc\":\"2.0\",\"id\":\"q\",\ndata: \"method\":\"elicitation/create\"}\n\n")
			_ = http.NewResponseController(w).Flush()
			<-canceled
			_, _ = io.WriteString(w, "data: {\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":0,\"message\":\"context canceled\"}}\n\n")
			close(ended)
		}
	})
	r.send(`{"jsonrpc":"2.0","id":1,"method":"initialize"}`)
	r.expect(`"id":1`)
	r.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ask"}}`)
	r.expect("notifications/progress")
	r.expect(`{"jsonrpc":"2.0","id":"q","method":"elicitation/create"}`)
	r.send(`{"jsonrpc":"2.0","id":"q","result":{"action":"accept"}}`)
	if got := <-answered; got != "s1 2025-11-25" {
		t.Errorf("session and revision of the answer: %q", got)
	}
	r.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)
	<-ended
	r.send(`{"jsonrpc":"2.0","id":3,"method":"ping"}`)
	r.expect(`"id":3`)
}

// An error of the API, and the end of a connection, are the error of the request.
func TestRun_Fails(t *testing.T) {
	r := relayTo(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(body(r), "ping") {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, `{"error":"unavailable","message":"The gateway is busy."}`)
			return
		}
		panic(http.ErrAbortHandler)
	})
	r.send(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	r.expect("The gateway is busy.")
	r.send(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
	r.expect("check that it runs")
}

// The end of the input cancels what has no response.
func TestRun_EndOfInput(t *testing.T) {
	begun, gone := make(chan struct{}), make(chan error, 1)
	r := relayTo(t, func(_ http.ResponseWriter, r *http.Request) {
		_ = body(r)
		close(begun)
		<-r.Context().Done()
		gone <- r.Context().Err()
	})
	r.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow"}}`)
	<-begun
	_ = r.in.Close()
	if err := <-r.ended; err != nil {
		t.Errorf("it ended with %v", err)
	}
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("the request ended with %v", err)
	}
}
