package adapter_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/gateway/access"
	"github.com/meup-protocol/meup/internal/gateway/adapter"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// tokens is an API that knows two tokens of alice.
type tokens struct{ adapter.API }

func (tokens) Session(_ context.Context, b access.Bearer, _ string) (*api.Session, error) {
	if b.Token != "good" && b.Token != "other" {
		return nil, protocol.Errorf(protocol.CodeUnauthorized, "unknown")
	}
	return &api.Session{Participant: "alice", Spaces: []api.SessionSpace{{Name: "lab", Participant: "alice"}}}, nil
}

// server serves a gate whose API knows the tokens "good" and "other". A request
// reports to waits, if there is one, and then waits for release.
func server(t *testing.T, maxBody int64, bodyTimeout time.Duration, waits, release chan struct{}) *httptest.Server {
	t.Helper()
	gate := adapter.NewGate(adapter.Options{API: tokens{}, Origins: []string{"https://ui.example.org"}, BodyTimeout: bodyTimeout})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q, err := gate.Open(w, r, "", maxBody)
		if err != nil {
			access.WriteError(w, err)
			return
		}
		defer q.Close()
		space, you, err := q.Space(r.Context(), "")
		if err == nil {
			err = q.Wait()
		}
		if err != nil {
			access.WriteError(w, err)
			return
		}
		if waits != nil {
			waits <- struct{}{}
			<-release
		}
		_, _ = io.WriteString(w, space+" "+string(you))
	}))
	t.Cleanup(s.Close)
	return s
}

func post(t *testing.T, s *httptest.Server, token, host, body string) (status int, text string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", token)
	}
	if host != "" {
		r.Host = host
	}
	resp, err := s.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	out, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(out)
}

func TestGate_Open(t *testing.T) {
	s := server(t, 1000, testkit.Patience, nil, nil)
	for _, test := range []struct {
		token, host, body string
		status            int
		want              string
	}{
		{"Bearer good", "", "{}", 200, "lab alice"},
		{"bearer good", "", "{}", 200, "lab alice"},
		{"Bearer good", "ui.example.org", "{}", 200, "lab alice"},
		{"Bearer good", "localhost:1", "{}", 200, "lab alice"},
		{"Bearer good", "localhost.example.org", "{}", 403, "forbidden"},
		{"Bearer good", "attacker.example.org", "{}", 403, "forbidden"},
		{"", "", "{}", 401, "token"},
		{"Basic good", "", "{}", 401, "token"},
		{"Bearer wrong", "", "{}", 401, "unknown"},
		{"Bearer good", "", strings.Repeat("x", 1001), 413, "1000 bytes"},
	} {
		if status, text := post(t, s, test.token, test.host, test.body); status != test.status || !strings.Contains(text, test.want) {
			t.Errorf("%+v: %d %s", test, status, text)
		}
	}
}

// endless returns a request whose body does not end; a size below 0 is unknown.
func endless(t *testing.T, s *httptest.Server, size int64) (r *http.Request, body *io.PipeWriter) {
	t.Helper()
	in, body := io.Pipe()
	t.Cleanup(func() { _ = body.Close() })
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, in)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer good")
	r.ContentLength = size
	return r, body
}

// A body that does not arrive in time is given up, and with it the memory of its token.
func TestGate_SlowBody(t *testing.T) {
	s := server(t, 4<<20, time.Second, nil, nil)
	r, _ := endless(t, s, 4<<20)
	resp, err := s.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if text, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusBadRequest || !strings.Contains(string(text), "in time") {
		t.Errorf("%d %s", resp.StatusCode, text)
	}
	for status := 0; status != http.StatusOK; {
		status, _ = post(t, s, "Bearer good", "", "{}")
	}
}

func TestGate_BodyOfUnknownSize(t *testing.T) {
	s := server(t, 1000, testkit.Patience, nil, nil)
	r, body := endless(t, s, -1)
	go func() { _, _ = body.Write(make([]byte, 1001)) }() // ends with the request
	resp, err := s.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Error(resp.Status)
	}
}

// Bodies that do not arrive use the memory of their own token only, and until they end.
func TestGate_Memory(t *testing.T) {
	s := server(t, 4<<20, testkit.Patience, nil, nil)
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	// The server asks for the body when it has the memory for it.
	fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer good\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n", 4<<20)
	if line, err := bufio.NewReader(c).ReadString('\n'); err != nil || !strings.Contains(line, "100 Continue") {
		t.Fatalf("%q, %v", line, err)
	}
	if status, text := post(t, s, "Bearer good", "", "{}"); status != http.StatusTooManyRequests {
		t.Errorf("the memory of a body is not counted: %d %s", status, text)
	}
	if status, text := post(t, s, "Bearer other", "", "{}"); status != http.StatusOK {
		t.Errorf("%d %s", status, text)
	}
	_ = c.Close()
	for status := 0; status != http.StatusOK; {
		status, _ = post(t, s, "Bearer good", "", "{}")
	}
}

// Only so many requests wait; the others are told to try again.
func TestGate_Waiting(t *testing.T) {
	waits, release := make(chan struct{}), make(chan struct{})
	s := server(t, 1000, testkit.Patience, waits, release)
	const most = 256
	done := make(chan int)
	for range most {
		go func() {
			status, _ := post(t, s, "Bearer good", "", "{}")
			done <- status
		}()
	}
	for range most {
		<-waits
	}
	if status, text := post(t, s, "Bearer good", "", "{}"); status != http.StatusTooManyRequests {
		t.Errorf("%d %s", status, text)
	}
	for range most {
		release <- struct{}{}
		if status := <-done; status != http.StatusOK {
			t.Error(status)
		}
	}
}

func TestID_DependsOnItsParts(t *testing.T) {
	if id := adapter.ID("x", "a", "b"); id != adapter.ID("x", "a", "b") || id == adapter.ID("x", "ab") {
		t.Error("ids do not follow from their parts")
	}
}

// Bodies of unknown size take memory as they arrive: many short ones of one token are
// read at the same time, and a body that would exceed the bound is refused.
func TestGate_ChunkedBodies(t *testing.T) {
	gate := adapter.NewGate(adapter.Options{API: tokens{}})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q, err := gate.Open(w, r, "", 32<<20)
		if err != nil {
			access.WriteError(w, err)
			return
		}
		q.Close()
	}))
	t.Cleanup(s.Close)
	send := func(body io.Reader) int {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, body)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer good")
		resp, err := s.Client().Do(r)
		if err != nil {
			t.Error(err)
			return 0
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	const count = 8
	var open []*io.PipeWriter
	done := make(chan int, count)
	for range count {
		in, out := io.Pipe()
		open = append(open, out)
		go func() { done <- send(in) }()
		if _, err := out.Write([]byte("{")); err != nil {
			t.Fatal(err)
		}
	}
	// Without a network, which may reset the connection of a client that still sends.
	r, w := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", io.LimitReader(zeros{}, 20<<20)), httptest.NewRecorder()
	r.Header.Set("Authorization", "Bearer good")
	if s.Config.Handler.ServeHTTP(w, r); w.Code != http.StatusTooManyRequests {
		t.Error(w.Code)
	}
	for _, out := range open {
		_ = out.Close()
	}
	for range count {
		if status := <-done; status != http.StatusOK {
			t.Error(status)
		}
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }
