package adapter_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/meup-protocol/meup/internal/gateway/access"
	"github.com/meup-protocol/meup/internal/gateway/adapter"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server serves a gate whose API knows the token "good". A request reports to
// waits, if there is one, and then waits for release.
func server(t *testing.T, waits, release chan struct{}) *httptest.Server {
	t.Helper()
	api := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer good" {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"error":"unauthorized","message":"unknown"}`)
			return
		}
		_, _ = io.WriteString(w, `{"participant":"alice","spaces":[{"name":"lab","participant":"alice"}],"globs":[]}`)
	})
	gate := adapter.NewGate(adapter.Options{API: api, Origins: []string{"https://ui.example.org"}})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q, err := gate.Open(w, r, "", 1000)
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
	s := server(t, nil, nil)
	for _, test := range []struct {
		token, host, body string
		status            int
		want              string
	}{
		{"Bearer good", "", "{}", 200, "lab alice"},
		{"Bearer good", "ui.example.org", "{}", 200, "lab alice"},
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

// Only so many requests wait; the others are told to try again.
func TestGate_Waiting(t *testing.T) {
	waits, release := make(chan struct{}), make(chan struct{})
	s := server(t, waits, release)
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
