package relay_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/meup-protocol/meup/internal/mcp/relay"
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
		err := relay.Run(ctx, relay.Options{Endpoint: s.URL, Token: "secret", Version: "1", In: in, Out: out})
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

// What is no response to a request is an error of the request, and the relay goes on.
func TestRun_NoResponse(t *testing.T) {
	var response string
	r := relayTo(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, response) })
	for _, response = range []string{
		`[{"jsonrpc":"2.0","id":1,"result":{}}]`, "[]", "42", `"text"`, "null", "true", "{}", `{"jsonrpc":"2.0","id":1}`, "<html>", "",
	} {
		r.send(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
		r.expect(`{"error":{"code":-32603,"message":"the gateway ended the connection without a response (200 OK); try again"},"id":1,"jsonrpc":"2.0"}`)
	}
	response = `{"jsonrpc":"2.0","id":1,"result":{}}`
	r.send(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	r.expect(response)
}

// A response has a bound, and what a header cannot contain is not sent.
func TestRun_Unpassable(t *testing.T) {
	r := relayTo(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(body(r), "stream") {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: ")
		}
		_, _ = w.Write(make([]byte, 64<<20+1))
	})
	for _, name := range []string{"plain", "stream"} {
		r.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + name + `"}}`)
		r.expect("the response is longer than 64 MiB; ask for less")
	}
	for message, header := range map[string]string{
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a\nb"}}`:        "Mcp-Name",
		`{"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"a\u007fb"}}`: "Mcp-Name",
		`{"jsonrpc":"2.0","id":2,"method":"a\u0000b"}`:                                   "Mcp-Method",
	} {
		r.send(message)
		r.expect(`{"error":{"code":-32600,"message":"the value of the header ` + header + ` has control characters; remove them from the message"},"id":2,`)
	}
}

// The requests of a batch have one response each: the server's, or an error.
func TestRun_Batch(t *testing.T) {
	var status int
	var response string
	r := relayTo(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, response)
	})
	const batch = `[{"jsonrpc":"2.0","id":1,"method":"a"},{"jsonrpc":"2.0","method":"b"},{"jsonrpc":"2.0","id":"q","result":{}},{"jsonrpc":"2.0","id":"two","method":"c"}]`
	for _, test := range []struct {
		name, response string
		status         int
		want           []string
	}{
		{"all", ` [{"jsonrpc":"2.0","id":1,"result":{}}, {"jsonrpc":"2.0","id":"two","result":{}}]`, http.StatusOK, []string{
			`[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":"two","result":{}}]`,
		}},
		{"one by one", `{"jsonrpc":"2.0","id":1,"result":{}}`, http.StatusOK, []string{
			`{"jsonrpc":"2.0","id":1,"result":{}}`, `without a response (200 OK); try again"},"id":"two"`,
		}},
		{"some twice", `[{"jsonrpc":"2.0","id":"two","result":{}},{"jsonrpc":"2.0","id":"two","result":{}},{"jsonrpc":"2.0","id":9,"result":{}},7]`, http.StatusOK, []string{
			`[{"jsonrpc":"2.0","id":"two","result":{}}]`, `without a response (200 OK); try again"},"id":1`,
		}},
		{"none", "", http.StatusAccepted, []string{`"id":1`, `"id":"two"`}},
		{"refused", `{"error":"unavailable","message":"The gateway is busy."}`, http.StatusServiceUnavailable, []string{
			`The gateway is busy."},"id":1`, `The gateway is busy."},"id":"two"`,
		}},
		{"invalid", `{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"there is no c"}}`, http.StatusBadRequest, []string{
			`{"error":{"code":-32601,"message":"there is no c"},"id":1,"jsonrpc":"2.0"}`, `{"error":{"code":-32601,"message":"there is no c"},"id":"two","jsonrpc":"2.0"}`,
		}},
		{"failed", "no JSON", http.StatusBadGateway, []string{`the gateway responds 502 Bad Gateway"},"id":1`, `"id":"two"`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			r.t, status, response = t, test.status, test.response
			r.send(batch)
			for _, want := range test.want {
				r.expect(want)
			}
		})
	}
	r.t = t
	r.send("[" + strings.Repeat(`{"jsonrpc":"2.0","id":5,"method":"a"},`, 2) + `{"jsonrpc":"2.0","id":6,"method":"a"}]`)
	for _, id := range []string{"5", "null", "6"} {
		r.expect(`"message":"id 5 is in progress; use another one"},"id":` + id)
	}
}

// A batch cancels the requests that it names.
func TestRun_CancelInBatch(t *testing.T) {
	started, canceled := make(chan struct{}, 2), make(chan struct{}, 2)
	r := relayTo(t, func(w http.ResponseWriter, r *http.Request) {
		switch text := body(r); {
		case strings.Contains(text, "cancelled"):
			w.WriteHeader(http.StatusAccepted)
		case strings.Contains(text, "ping"):
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{}}`)
		default:
			started <- struct{}{}
			<-r.Context().Done()
			canceled <- struct{}{}
		}
	})
	for id := 1; id <= 2; id++ {
		r.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"slow"}`, id))
		<-started
	}
	const cancel = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`
	r.send("[" + cancel + "1}}," + cancel + "7}}," + cancel + "2}}]")
	<-canceled
	<-canceled
	r.send(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	r.expect(`{"jsonrpc":"2.0","id":1,"result":{}}`) // and no response before
}

// bubble is a client of a relay in fake time.
type bubble struct {
	*relayed
	out  *io.PipeReader
	sent chan *http.Request // what the server got
}

// inBubble runs a test of a relay to a server that responds only to pings.
func inBubble(t *testing.T, test func(t *testing.T, b *bubble)) {
	t.Helper()
	before := http.DefaultTransport
	t.Cleanup(func() { http.DefaultTransport = before })
	synctest.Test(t, func(t *testing.T) {
		sent := make(chan *http.Request, 1000)
		http.DefaultTransport = roundTrip(func(r *http.Request) (*http.Response, error) {
			sent <- r
			if r.Header.Get("Mcp-Method") != "ping" {
				<-r.Context().Done()
				return nil, r.Context().Err()
			}
			return &http.Response{Status: "200 OK", StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(`{"jsonrpc":"2.0","id":null,"result":{}}`))}, nil
		})
		in, toIn := io.Pipe()
		fromOut, out := io.Pipe()
		r := &relayed{t, toIn, bufio.NewScanner(fromOut), make(chan error, 1)}
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			r.ended <- relay.Run(ctx, relay.Options{Endpoint: "http://gateway/mcp", Token: "secret", Version: "1", In: in, Out: out})
			close(r.ended)
		}()
		test(t, &bubble{r, fromOut, sent})
		cancel()
		<-r.ended //nolint:errcheck // canceled, or checked by the test
		_ = toIn.Close()
		_ = fromOut.Close()
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A client that does not read can cancel, and end the relay.
func TestRun_OutBlocked(t *testing.T) {
	blocked := func(b *bubble) (slow *http.Request) {
		b.send(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
		b.send(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)
		b.send("garbage")
		synctest.Wait()
		<-b.sent
		<-b.sent
		b.send(`{"jsonrpc":"2.0","id":3,"method":"slow"}`)
		return <-b.sent
	}
	t.Run("cancellation", func(t *testing.T) {
		inBubble(t, func(t *testing.T, b *bubble) {
			blocked(b)
			b.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}`)
			if got := (<-b.sent).Header.Get("Mcp-Method"); got != "notifications/cancelled" {
				t.Errorf("the server got %q, want the cancellation", got)
			}
		})
	})
	t.Run("end of the input", func(t *testing.T) {
		inBubble(t, func(t *testing.T, b *bubble) {
			slow := blocked(b)
			_ = b.in.Close()
			if err := <-b.ended; err != nil {
				t.Errorf("the relay ended with %v, want nil", err)
			}
			if slow.Context().Err() == nil {
				t.Error("the request is not canceled")
			}
		})
	})
}

// A client that is gone ends the relay.
func TestRun_OutFails(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		failed := errors.New("no space left")
		b.send("garbage")
		synctest.Wait()
		_ = b.out.CloseWithError(failed)
		if err := <-b.ended; !errors.Is(err, failed) {
			t.Errorf("the relay ended with %v, want %v", err, failed)
		}
	})
}

// A request with the id of one in progress is refused without that id, which would end the other.
func TestRun_DuplicateID(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		b.send(`{"jsonrpc":"2.0","id":1,"method":"slow"}`)
		first := <-b.sent
		b.send(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
		b.expect(`{"error":{"code":-32600,"message":"id 1 is in progress; use another one"},"id":null,"jsonrpc":"2.0"}`)
		b.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
		if got := (<-b.sent).Header.Get("Mcp-Method"); got != "notifications/cancelled" {
			t.Errorf("the server got %q, want the cancellation", got)
		}
		if first.Context().Err() != nil {
			t.Error("the request ended before the server knows of the cancellation")
		}
		b.send(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
		b.expect(`{"id":1,"jsonrpc":"2.0","result":{}}`)
	})
}

// Requests beyond the bound are refused; other messages have room beside them, and wait beyond theirs.
func TestRun_Bounds(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		var batch []string
		for i := range 50 {
			batch = append(batch, fmt.Sprintf(`{"jsonrpc":"2.0","id":"b%d","method":"slow"}`, i))
		}
		b.send("[" + strings.Join(batch, ",") + "]")
		for i := range 206 {
			b.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"slow"}`, i))
		}
		b.send(`{"jsonrpc":"2.0","id":"one more","method":"slow"}`)
		b.expect(`{"error":{"code":-32603,"message":"at most 256 requests may be in progress; wait for a response"},"id":"one more","jsonrpc":"2.0"}`)
		go func() { // ends with the input
			_, _ = io.WriteString(b.in, strings.Repeat(`{"jsonrpc":"2.0","method":"notifications/slow"}`+"\n", 10_000))
		}()
		synctest.Wait()
		if got := len(b.sent); got != 2*256 {
			t.Errorf("%d messages are being sent, want 512", got)
		}
	})
}
