package llm

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// pipe returns a client whose connection is a pipe to say, all within a
// bubble of fake time.
func pipe(t *testing.T, say func(net.Conn)) *Client {
	t.Helper()
	done := make(chan struct{})
	tr := &http.Transport{DisableKeepAlives: true}
	tr.DialContext = func(context.Context, string, string) (net.Conn, error) {
		here, there := net.Pipe()
		go func() {
			defer close(done)
			defer there.Close()
			req, err := http.ReadRequest(bufio.NewReader(there))
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = io.Copy(io.Discard, req.Body)
			say(there)
		}()
		return here, nil
	}
	t.Cleanup(func() { <-done })
	return &Client{Provider: "acme", BaseURL: "http://acme.test", HTTP: &http.Client{Transport: tr}}
}

const head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"

// silence waits until the other end is closed.
func silence(c net.Conn) { _, _ = io.Copy(io.Discard, c) }

func TestStream_Stalled(t *testing.T) {
	for name, tc := range map[string]struct {
		say   func(net.Conn)
		after time.Duration
		cut   bool
	}{
		"before its status": {silence, defaultFirstByte, false},
		"before the first byte": {func(c net.Conn) {
			io.WriteString(c, head)
			silence(c)
		}, defaultFirstByte, true},
		"in the midst": {func(c net.Conn) {
			io.WriteString(c, head+"data: 1\n\n")
			<-time.After(defaultIdle - time.Second) // fake time
			io.WriteString(c, ": still here\n\n")
			silence(c)
		}, 2*defaultIdle - time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := pipe(t, tc.say)
				start := time.Now()
				s, err := c.stream(t.Context(), "/", nil)
				for err == nil {
					_, err = s.next()
				}
				if s != nil {
					s.close()
				}
				if !errors.Is(err, ErrStalled) || errors.Is(err, ErrTruncated) != tc.cut {
					t.Errorf("error %v", err)
				}
				if d := time.Since(start); d != tc.after {
					t.Errorf("after %v, want %v", d, tc.after)
				}
			})
		})
	}
}

// The timer does not run between reads.
func TestStream_SlowCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := pipe(t, func(c net.Conn) { io.WriteString(c, head+"data: 1\n\ndata: 2\n\n") })
		s, err := c.stream(t.Context(), "/", nil)
		if err != nil {
			t.Fatal(err)
		}
		defer s.close()
		for range 2 {
			if _, err := s.next(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Hour)
		}
		if _, err := s.next(); !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
	})
}

func TestStream_Cancel(t *testing.T) {
	for name, say := range map[string]func(http.ResponseWriter){
		"before its status":     func(http.ResponseWriter) {},
		"before the first byte": func(w http.ResponseWriter) { sse(w, "") },
		"in the midst":          func(w http.ResponseWriter) { sse(w, "data: 1\n\ndata: 2") },
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			c := serve(t, func(w http.ResponseWriter, r *http.Request) {
				say(w)
				cancel()
				gone(r)
			})
			s, err := c.stream(ctx, "/", nil)
			for err == nil {
				_, err = s.next()
			}
			if s != nil {
				s.close()
			}
			if !errors.Is(err, context.Canceled) || errors.Is(err, ErrTruncated) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestStream_BrokenConnection(t *testing.T) {
	for name, say := range map[string]func(http.ResponseWriter){
		"stream": func(w http.ResponseWriter) { sse(w, "data: 1\n\ndata: 2") },
		"document": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"a":`)
			_ = http.NewResponseController(w).Flush()
		},
	} {
		c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			say(w)
			panic(http.ErrAbortHandler)
		})
		s, err := c.stream(t.Context(), "/", nil)
		for err == nil {
			_, err = s.next()
		}
		if s != nil {
			s.close()
		}
		if !errors.Is(err, ErrTruncated) || errors.Is(err, ErrStalled) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestStream_ConcurrentClose(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		sse(w, "data: 1\n\n")
		gone(r)
	})
	s, err := c.stream(t.Context(), "/", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.next(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { _, err := s.next(); done <- err }()
	s.close()
	if err := <-done; err == nil || errors.Is(err, io.EOF) {
		t.Errorf("error %v", err)
	}
	s.close()
}

func TestMaskError_Unwrap(t *testing.T) {
	c := &Client{Secrets: []string{"", key}}
	err := c.maskError(errors.Join(io.ErrUnexpectedEOF, errors.New("at "+key)))
	if !errors.Is(err, io.ErrUnexpectedEOF) || strings.Contains(err.Error(), key) || !strings.Contains(err.Error(), maskedKey) {
		t.Error(err)
	}
}

// gone waits for the client to disconnect; a server detects that only after it
// has read the request.
func gone(r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}
