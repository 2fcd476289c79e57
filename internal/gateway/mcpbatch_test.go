package gateway_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/testing/meuptest"
)

// batch returns a batch of pings and other messages.
func batch(n int, more ...string) string {
	for i := range n {
		more = append(more, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, i))
	}
	return "[" + strings.Join(more, ",") + "]"
}

// servedMCP returns the answer of /mcp to a message, without a network: over one, a busy machine
// sends fewer messages than the participant may send again meanwhile.
func servedMCP(t *testing.T, g *meuptest.Gateway, token, body string) (int, string) {
	t.Helper()
	w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mcp", strings.NewReader(body))
	r.Host = "localhost"
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Authorization", "Bearer "+token)
	g.Gateway().ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// A batch is bounded, and each of its messages is charged to its participant.
func TestMCP_Batch(t *testing.T) {
	g := meuptest.Start(t, `
limits: {rate: 1, burst: 1}
spaces:
  lab:
    participants:
      alice: {token: alice-token, capabilities: ["*"]}
      bob: {token: bob-token, capabilities: ["*"]}
`)
	deep := `{"jsonrpc":"2.0","id":"x","method":"ping","params":` + strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 100) + "}"
	for name, body := range map[string]string{"long": batch(51), "long and deep": batch(50, deep)} {
		if status, text := postAs(t, g, "alice-token", "/mcp", body); status != http.StatusBadRequest || !strings.Contains(text, "at most 50") {
			t.Errorf("%s: %d %.200s, want 400", name, status, text)
		}
	}
	for n := 1; ; n++ {
		status, text := servedMCP(t, g, "alice-token", batch(50))
		if n == 1 && (status != http.StatusOK || strings.Count(text, `"result"`) != 50) {
			t.Errorf("the first batch: %d %.200s, want 50 results", status, text)
		}
		if status == http.StatusTooManyRequests {
			break
		}
		if n == 200 {
			t.Fatal("10,000 messages in batches were not charged")
		}
	}
	if status, text := postAs(t, g, "bob-token", "/mcp", batch(50)); status != http.StatusOK {
		t.Errorf("another participant: %d %.200s", status, text)
	}
}
