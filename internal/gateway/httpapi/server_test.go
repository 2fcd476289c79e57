package httpapi_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// ask sends a request as alice.
func ask(t *testing.T, g *meuptest.Gateway, method, path, body string, header ...string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, g.HTTP()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer alice-token")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	resp, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

func text(t *testing.T, resp *http.Response) string {
	t.Helper()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// A line of JSON Lines is one envelope, even if its sender used line breaks.
func TestJSONLines_OneLinePerEnvelope(t *testing.T) {
	g := meuptest.Start(t, meuptest.Config)
	for i := range 3 {
		body := fmt.Sprintf("{\"id\": \"m%d\", \"kind\": \"x.y\", \"note\":\n[1,\r\n2], \"payload\": {\n\"a\":\r\n%d}}", i, i)
		if resp := ask(t, g, http.MethodPost, "/api/spaces/lab/envelopes", body); resp.StatusCode != http.StatusOK {
			t.Fatal(text(t, resp))
		}
	}
	resp := ask(t, g, http.MethodGet, "/api/spaces/lab/envelopes?limit=2", "", "Accept", "application/jsonl")
	lines := bufio.NewScanner(resp.Body)
	n := 0
	for ; lines.Scan(); n++ {
		var e struct {
			ID      string
			Payload struct{ A int }
		}
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil || e.ID != fmt.Sprint("m", n) || e.Payload.A != n {
			t.Errorf("line %d: %s: %v", n, lines.Text(), err)
		}
	}
	if n != 2 || resp.Header.Get("Meup-Next") != "2" || resp.Header.Get("Meup-Has-More") != "true" {
		t.Errorf("%d lines, then from %q, more: %q", n, resp.Header.Get("Meup-Next"), resp.Header.Get("Meup-Has-More"))
	}
}

// A page of a listed origin may use the API; any other is rejected in the
// preflight, before it has sent anything.
func TestPreflight(t *testing.T) {
	g := meuptest.Start(t, "origins: [\"https://ui.example.org\"]\n"+meuptest.Config)
	resp := ask(t, g, http.MethodOptions, "/api/spaces/lab/envelopes", "", "Origin", "https://ui.example.org", "Access-Control-Request-Method", "POST")
	if resp.StatusCode != http.StatusNoContent || resp.Header.Get("Access-Control-Allow-Origin") != "https://ui.example.org" ||
		!strings.Contains(resp.Header.Get("Access-Control-Allow-Headers"), "Authorization") {
		t.Errorf("status %d, %v", resp.StatusCode, resp.Header)
	}
	resp = ask(t, g, http.MethodOptions, "/api/spaces/lab/envelopes", "", "Origin", "https://evil.example", "Access-Control-Request-Method", "POST")
	if resp.StatusCode != http.StatusForbidden || resp.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("status %d, %v", resp.StatusCode, resp.Header)
	}
}

// A request for something that does not exist gets a JSON error that reveals no
// internals.
func TestNotFound(t *testing.T) {
	g := meuptest.Start(t, meuptest.Config)
	for _, c := range []struct {
		method, path string
		status       int
	}{
		{http.MethodGet, "/api", http.StatusNotFound},
		{http.MethodGet, "/api/spaces/lab/nothing", http.StatusNotFound},
		{http.MethodGet, "/api/spaces/a%2Fb/envelopes", http.StatusNotFound},
		{http.MethodGet, "/api/spaces/%00/envelopes", http.StatusNotFound},
		{http.MethodGet, "/api/spaces/lab/contexts/nothing", http.StatusNotFound},
		{http.MethodPost, "/api/spaces/lab/envelopes?x=y", http.StatusBadRequest},
		{http.MethodPost, "/api/spaces/nowhere/envelopes", http.StatusNotFound},
	} {
		resp := ask(t, g, c.method, c.path, "{")
		var e struct{ Error, Message string }
		body := text(t, resp)
		if err := json.Unmarshal([]byte(body), &e); err != nil || e.Error == "" || e.Message == "" || resp.StatusCode != c.status {
			t.Errorf("%s %s: status %d: %s", c.method, c.path, resp.StatusCode, body)
		}
		if strings.Contains(body, "goroutine") || strings.Contains(body, ".go:") {
			t.Errorf("%s %s: %s", c.method, c.path, body)
		}
	}
}

// A HEAD request for a stream gets the headers and joins no member.
func TestHead(t *testing.T) {
	g := meuptest.Start(t, meuptest.Config)
	resp := ask(t, g, http.MethodHead, "/api/spaces/lab/events", "")
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("status %d, %v", resp.StatusCode, resp.Header)
	}
	if body := text(t, ask(t, g, http.MethodGet, "/api/spaces/lab/participants", "")); !strings.Contains(body, `"participants":[]`) {
		t.Errorf("participants: %s", body)
	}
}
