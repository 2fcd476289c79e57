package main

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/meup-protocol/meup/client/reasoner/wire"
)

// TestClose_Context checks that closing the queue need not wait for its
// jobs.
func TestClose_Context(t *testing.T) {
	asked := make(chan struct{}, 1)
	model := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // otherwise the server would not detect that the client is gone
		asked <- struct{}{}
		<-r.Context().Done()
	}))
	defer model.Close()
	t.Setenv("OPENAI_API_KEY", "a-key-for-tests")
	log := slog.New(slog.DiscardHandler)
	p, err := assemble(t.Context(), &commonFlags{model: "openai:slow", baseURL: model.URL, modelTimeout: time.Hour}, log, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.close(context.Background())
	f := &queueFlags{data: t.TempDir(), listen: "127.0.0.1:0", workers: 1, replicas: 1, drain: time.Hour}
	r, err := f.connect(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if err := <-r.work(t.Context(), f.workers); err != nil {
		t.Fatal(err)
	}
	if _, err := r.client.AgentIntentAsync(t.Context(), &wire.AgentIntentRequest{SessionID: "s", GoalText: "g"}); err != nil {
		t.Fatal(err)
	}
	<-asked
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.close(ctx); err != nil {
		t.Error(err)
	}
}
