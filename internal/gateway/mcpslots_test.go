package gateway_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/meup-protocol/meup/internal/gateway/adapter"
	"github.com/meup-protocol/meup/internal/gateway/mcpserver"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
)

// stuck is the response to a client that does not read.
type stuck struct {
	header  http.Header
	once    sync.Once
	written chan<- struct{} // gets the first write
	end     <-chan struct{}
}

func (s *stuck) Header() http.Header { return s.header }
func (s *stuck) WriteHeader(int)     {}
func (s *stuck) FlushError() error   { return nil }

func (s *stuck) Write([]byte) (int, error) {
	s.once.Do(func() { s.written <- struct{}{} })
	<-s.end
	return 0, io.ErrClosedPipe
}

// Clients that do not read the progress of their calls keep no slots.
func TestMCP_ClientsThatDoNotRead(t *testing.T) {
	g := meuptest.Start(t, foreignConfig)
	bridgeTo(t, g, "lamp-token", lamp())
	handler := mcpserver.New(mcpserver.Options{Options: adapter.Options{API: g.Gateway().API(), Logger: slog.New(slog.DiscardHandler)}, ListWait: meuptest.ListWait})
	serve := func(w http.ResponseWriter, body string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mcp?space=lab", strings.NewReader(body))
		r.Host = "localhost"
		r.Header.Set("Authorization", "Bearer alice-token")
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		handler.ServeHTTP(w, r)
	}
	list := func() {
		w := httptest.NewRecorder()
		serve(w, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "lamp__steps") {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
	list()
	const slots = 8
	written, end := make(chan struct{}, slots), make(chan struct{})
	var calls sync.WaitGroup
	for range slots {
		calls.Go(func() {
			w := &stuck{header: make(http.Header), written: written, end: end}
			serve(w, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"lamp__steps","arguments":{},"_meta":{"progressToken":"p"}}}`)
			if got := w.header.Get("X-Accel-Buffering"); got != "no" {
				t.Errorf("X-Accel-Buffering is %q: a proxy may hold progress back", got)
			}
		})
	}
	for range slots {
		<-written
	}
	list()
	close(end)
	calls.Wait()
}
