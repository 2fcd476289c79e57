package otlpreceiver

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/meup-protocol/meup/client/api"
)

// A participant whose open contexts are the limit, because another gateway had them,
// can export again: old ones of traces are closed, and no others.
func TestExport_LostTraces(t *testing.T) {
	canceled := ""
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			old, young := time.Now().Add(-2*maxLost).Format(time.RFC3339), time.Now().Format(time.RFC3339)
			_, _ = fmt.Fprintf(w, `{"contexts":[{"path":"otlp-old","opener":"bot","state":"abandoned","started":%[1]q},
				{"path":"otlp-ended","opener":"bot","state":"concluded","started":%[1]q,"ended":%[2]q},{"path":"otlp-open","opener":"bot","started":%[1]q},
				{"path":"otlp-young","opener":"bot","started":%[2]q},{"path":"otlp-other","opener":"eve","started":%[1]q},{"path":"other","opener":"bot","started":%[1]q}]}`, old, young)
			return
		}
		body, _ := io.ReadAll(r.Body)
		switch text := string(body); {
		case strings.Contains(text, "reasoning.cancel"):
			canceled += text
		case canceled == "":
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = io.WriteString(w, `{"error":"rate_limited","message":"too many","limit":"open_contexts","retry_after_ms":1000}`)
			return
		}
		_, _ = io.WriteString(w, `{"id":"x","seq":1}`)
	}))
	defer s.Close()
	client, err := api.New(api.Options{URL: s.URL, Token: "token"})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	x := &export{rejected: make(map[string]bool), client: client, memory: newMemory(), space: "lab", you: "bot"}
	x.memory.opened(x.owner(), "otlp-open", time.Now())
	x.memory.restored(x.owner())
	list := []*span{{trace: strings.Repeat("1", 32), id: strings.Repeat("2", 16), name: "s", kind: call}}
	if err := x.all(t.Context(), list); err != nil || len(x.rejected) > 0 {
		t.Fatalf("%v, %d rejected: %s", err, len(x.rejected), x.reason)
	}
	if strings.Count(canceled, "reasoning.cancel") != 1 || !strings.Contains(canceled, `"context":"otlp-old"`) {
		t.Errorf("canceled %s", canceled)
	}
}
