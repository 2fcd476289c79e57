package httpapi

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"

	"github.com/meup-protocol/meup/internal/agent/telemetry"
	"github.com/meup-protocol/meup/internal/reasoner"
)

// discardWriter discards log output. Unlike slog.DiscardHandler, it does not
// avoid the cost of formatting.
type discardWriter struct{}

func (discardWriter) Write(p []byte) (int, error) { return len(p), nil }

// BenchmarkAgentIntentHTTP sends requests to the service, configured as in
// meup-reasoner, over persistent connections. Clients and service share the
// machine.
func BenchmarkAgentIntentHTTP(b *testing.B) {
	log := slog.New(slog.NewTextHandler(discardWriter{}, nil))
	tel, err := telemetry.Start(b.Context(), telemetry.Options{Logger: log})
	if err != nil {
		b.Fatal(err)
	}
	server := httptest.NewServer(New(Options{
		Service: reasoner.New(reasoner.Options{Logger: log, Telemetry: tel}), Tokens: []string{"token"}, Logger: log,
	}))
	defer server.Close()
	transport := &http.Transport{MaxIdleConnsPerHost: 256}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	b.SetParallelism(max(1, 16/runtime.GOMAXPROCS(0)))
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, server.URL+"/agent_intent", bytes.NewReader([]byte(example)))
			if err != nil {
				b.Error(err)
				return
			}
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Authorization", "Bearer token")
			resp, err := client.Do(req)
			if err != nil {
				b.Error(err)
				return
			}
			if n, _ := io.Copy(io.Discard, resp.Body); resp.StatusCode != http.StatusOK || n == 0 {
				b.Errorf("status %d, %d bytes", resp.StatusCode, n)
			}
			resp.Body.Close()
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "intents/s")
}

// BenchmarkDecide makes decisions by rules, without HTTP.
func BenchmarkDecide(b *testing.B) {
	s := reasoner.New(reasoner.Options{})
	b.ReportAllocs()
	for b.Loop() {
		r, err := reasoner.DecodeAgentIntent([]byte(example))
		if err != nil {
			b.Fatal(err)
		}
		if _, err := s.Decide(b.Context(), r); err != nil {
			b.Fatal(err)
		}
	}
}
