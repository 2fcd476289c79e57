package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/testing/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

const key = "sk-very-secret-0123456789"

// serve returns a client of a server with the handler.
func serve(t *testing.T, h http.HandlerFunc) *Client {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return &Client{
		Provider: "acme", BaseURL: srv.URL + "/v1/", HTTP: srv.Client(),
		Header:  func(h http.Header) { h.Set("Authorization", "Bearer "+key) },
		Secrets: []string{key},
		Retry:   Retry{Sleep: func(context.Context, time.Duration) error { return nil }},
		ParseError: func(_ int, body []byte) (string, string) {
			var e struct{ Code, Message string }
			_ = json.Unmarshal(body, &e)
			return e.Code, e.Message
		},
	}
}

// stream sends a request and returns the answer before it is decoded.
func (c *Client) stream(ctx context.Context, path string, body any) (*stream, error) {
	var s *stream
	err := c.withRetry(ctx, body, func(payload []byte) (refusal *Error, err error) {
		s, refusal, err = c.attempt(ctx, path, payload)
		return refusal, err
	})
	return s, err
}

func sse(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	io.WriteString(w, text)
	_ = http.NewResponseController(w).Flush()
}

func TestStream(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Method != http.MethodPost || r.URL.Path != "/v1/chat" || string(body) != `{"q":1}` {
			t.Errorf("%s %s %s", r.Method, r.URL.Path, body)
		}
		for name, want := range map[string]string{
			"Content-Type": "application/json", "Accept": "text/event-stream", "Authorization": "Bearer " + key,
		} {
			if got := r.Header.Get(name); got != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
		sse(w, "event: a\ndata: 1\n\ndata: 2\n\n")
	})
	s, err := c.stream(t.Context(), "/chat", map[string]int{"q": 1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	if s.isJSON {
		t.Error("a stream is no document")
	}
	for _, want := range events("a", "1", "", "2") {
		ev, err := s.next()
		if err != nil || ev.Name != want.Name || !bytes.Equal(ev.Data, want.Data) {
			t.Fatalf("%q %v, want %q", ev, err, want)
		}
	}
	for range 2 {
		if _, err := s.next(); !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
	}
}

func TestStream_JSONAnswer(t *testing.T) {
	for _, kind := range []string{"application/json", "application/json; charset=utf-8", "application/problem+json"} {
		c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			io.WriteString(w, `{"a":1}`)
		})
		s, err := c.stream(t.Context(), "/", nil)
		if err != nil {
			t.Fatal(err)
		}
		if !s.isJSON || string(s.json) != `{"a":1}` {
			t.Errorf("%q %v", s.json, s.isJSON)
		}
		if _, err := s.next(); !errors.Is(err, io.EOF) {
			t.Error(err)
		}
		s.close()
	}
}

func TestStream_ContentTypes(t *testing.T) {
	for _, kind := range []string{"text/plain", "", "application/octet-stream", "no/such;;"} {
		c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = []string{kind}
			io.WriteString(w, "data: 1\n\n")
		})
		s, err := c.stream(t.Context(), "/", nil)
		if err != nil {
			t.Fatalf("%q: %v", kind, err)
		}
		if ev, err := s.next(); err != nil || string(ev.Data) != "1" {
			t.Errorf("%q: %q %v", kind, ev.Data, err)
		}
		s.close()
	}
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, "<html>")
	})
	if _, err := c.stream(t.Context(), "/", nil); err == nil || !strings.Contains(err.Error(), "web page") {
		t.Errorf("a web page: %v", err)
	}
}

func TestStream_RefusalNotRetried(t *testing.T) {
	for _, status := range []int{400, 401, 403, 404, 408, 409, 422} {
		var asked atomic.Int32
		c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			asked.Add(1)
			w.WriteHeader(status)
			io.WriteString(w, `{"code":"bad","message":"so not"}`)
		})
		_, err := c.stream(t.Context(), "/", nil)
		var e *Error
		if !errors.As(err, &e) || e.Status != status || e.Code != "bad" || e.Message != "so not" || e.Provider != "acme" {
			t.Errorf("%d: %v", status, err)
		}
		if n := asked.Load(); n != 1 {
			t.Errorf("%d: asked %d times", status, n)
		}
	}
}

func TestRefusal_UnknownForm(t *testing.T) {
	for body, want := range map[string]string{
		"upstream is down":           "upstream is down",
		"<html><body>502 Bad</body>": "",
		"":                           "",
		strings.Repeat("é", 900):     strings.Repeat("é", 500) + "…",
	} {
		c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusTeapot)
			io.WriteString(w, body)
		})
		c.ParseError = nil
		_, err := c.stream(t.Context(), "/", nil)
		var e *Error
		if !errors.As(err, &e) || e.Message != want {
			t.Errorf("%.20q: %v, want %q", body, err, want)
		}
	}
}

func TestRefusal_BodyBound(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.Copy(io.Discard, r.Body)
		for r.Context().Err() == nil { // the response never ends by itself
			if _, err := w.Write(make([]byte, 1<<16)); err != nil {
				return
			}
		}
	})
	var got int
	c.ParseError = func(_ int, body []byte) (string, string) { got = len(body); return "", "" }
	if _, err := c.stream(t.Context(), "/", nil); err == nil {
		t.Fatal("no error")
	}
	if got != maxErrorBody {
		t.Errorf("%d bytes were read", got)
	}
}

// A server, or a proxy in front of it, may return the key in a response.
func TestClient_MasksKey(t *testing.T) {
	var logs bytes.Buffer
	for name, h := range map[string]http.HandlerFunc{
		"message": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusUnauthorized)
			json.NewEncoder(w).Encode(map[string]string{"code": key, "message": "bad " + r.Header.Get("Authorization")})
		},
		"plain": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusServiceUnavailable)
			io.WriteString(w, "no "+r.Header.Get("Authorization"))
		},
		"at the cut": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusUnauthorized)
			io.WriteString(w, strings.Repeat("x", maxMessage-10)+r.Header.Get("Authorization"))
		},
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://elsewhere.invalid/?k="+key, http.StatusTemporaryRedirect)
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := serve(t, h)
			c.Logger = slog.New(slog.NewTextHandler(&logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
			_, err := c.stream(t.Context(), "/", nil)
			if err == nil {
				t.Fatal("no error")
			}
			for _, secret := range []string{key, key[:12]} {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("the key is in the error: %v", err)
				}
				if strings.Contains(logs.String(), secret) {
					t.Errorf("the key is in the log: %s", &logs)
				}
			}
		})
	}
}

func TestRedirects(t *testing.T) {
	var stolen atomic.Bool
	thief := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { stolen.Store(true) }))
	defer thief.Close()
	for name, tc := range map[string]struct {
		to     func(r *http.Request) string
		status int
		want   string // in the error; "" for none
	}{
		"another host":  {func(*http.Request) string { return thief.URL }, 307, "another host"},
		"another port":  {func(*http.Request) string { return thief.URL + "/v1/b" }, 308, "another host"},
		"the same host": {func(*http.Request) string { return "/v1/b" }, 307, ""},
		"as a GET":      {func(*http.Request) string { return "/v1/b" }, 302, "from POST to GET"},
		"in a circle":   {func(*http.Request) string { return "/v1/a" }, 308, "too often"},
	} {
		t.Run(name, func(t *testing.T) {
			c := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/v1/a" {
					http.Redirect(w, r, tc.to(r), tc.status)
					return
				}
				body, _ := io.ReadAll(r.Body)
				if r.Header.Get("Authorization") == "" || string(body) != `"q"` {
					t.Errorf("the question has changed on its way: %q", body)
				}
				sse(w, "data: 1\n\n")
			})
			s, err := c.stream(t.Context(), "/a", "q")
			if err == nil {
				s.close()
			}
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("%v, want %q", err, tc.want)
			}
		})
	}
	if stolen.Load() {
		t.Error("another host was asked")
	}
}

func TestRedirects_HTTPSToHTTP(t *testing.T) {
	check := sameHostRedirect(nil)
	request := func(url string) *http.Request {
		r, err := http.NewRequest(http.MethodPost, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if check(request("http://a.test/"), []*http.Request{request("https://a.test/")}) == nil {
		t.Error("from https to http")
	}
	if err := check(request("https://a.test/"), []*http.Request{request("http://a.test/")}); err != nil {
		t.Error(err)
	}
	deny := sameHostRedirect(func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse })
	if !errors.Is(deny(request("https://a.test/"), []*http.Request{request("https://a.test/")}), http.ErrUseLastResponse) {
		t.Error("the client's own rule is forgotten")
	}
}

func TestStream_LostServerNotRetried(t *testing.T) {
	var dials atomic.Int32
	tr := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		dials.Add(1)
		return nil, errors.New("connection refused")
	}}
	c := &Client{Provider: "acme", BaseURL: "http://acme.test", HTTP: &http.Client{Transport: tr}}
	c.Retry.Sleep = func(context.Context, time.Duration) error { t.Error("waited"); return nil }
	_, err := c.stream(t.Context(), "/", nil)
	if err == nil || !strings.Contains(err.Error(), "ask acme") || !strings.Contains(err.Error(), "connection refused") {
		t.Error(err)
	}
	if n := dials.Load(); n != 1 {
		t.Errorf("dialled %d times", n)
	}
}

func TestStream_TooLarge(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		sse(w, "data: ")
		for range (maxEvent >> 16) + 2 {
			if _, err := w.Write(bytes.Repeat([]byte("x"), 1<<16)); err != nil {
				return
			}
		}
	})
	s, err := c.stream(t.Context(), "/", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	if _, err := s.next(); !errors.Is(err, ErrTooLarge) {
		t.Errorf("an event: %v", err)
	}

	s2 := &stream{client: c, ctx: t.Context(), left: 10, body: io.NopCloser(strings.NewReader("data: 12345\n\n"))}
	s2.timer = time.AfterFunc(time.Hour, func() {})
	defer s2.timer.Stop()
	s2.events = newReader(s2, maxEvent)
	if _, err := s2.next(); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a stream: %v", err)
	}
}

func TestUnmarshallableBody(t *testing.T) {
	c := &Client{Provider: "acme"}
	if _, err := c.stream(t.Context(), "/", func() {}); err == nil {
		t.Error("no error")
	}
	c.BaseURL = "http://\x7f"
	if _, err := c.stream(t.Context(), "/", nil); err == nil {
		t.Error("no error for a broken URL")
	}
}
