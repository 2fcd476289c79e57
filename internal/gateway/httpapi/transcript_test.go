package httpapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/gateway/derived"
	"github.com/meup-protocol/meup/internal/turns"
	"github.com/meup-protocol/meup/internal/turns/transcript"
	"github.com/meup-protocol/meup/protocol"
)

// Before the first turn an error has its usual response; after it the response
// is cut, so that a client does not accept it as complete.
func TestTranscript_WriteFails(t *testing.T) {
	for _, c := range []struct {
		turns  int
		err    error
		status int // 0: the response is cut
		code   protocol.Code
	}{
		{0, fmt.Errorf("thread q1: %w", turns.ErrUnknown), http.StatusNotFound, protocol.CodeNotFound},
		{0, errors.New("the disk is gone"), http.StatusServiceUnavailable, protocol.CodeUnavailable},
		{0, derived.ErrTurnsClosed, http.StatusServiceUnavailable, protocol.CodeShuttingDown},
		{1, errors.New("the disk is gone"), 0, ""},
	} {
		t.Run(fmt.Sprintf("%d turns, %v", c.turns, c.err), func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				server := &Server{options: Options{Logger: slog.New(slog.DiscardHandler)}}
				server.transcript(w, transcript.Head{Space: "lab", ThreadID: "q1"}, func(yield func(*api.Turn, error) bool) {
					for n := range c.turns {
						yield(&api.Turn{TurnNumber: n + 1, UserInput: strings.Repeat("why? ", 10_000)}, nil)
					}
					yield(nil, c.err)
				})
			}))
			defer s.Close()
			resp, err := s.Client().Get(s.URL)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if c.status == 0 {
				if err == nil || !strings.HasPrefix(string(body), "# Thread `q1`") || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/markdown") {
					t.Errorf("%v, %d bytes, %v", err, len(body), resp.Header)
				}
				return
			}
			var refusal protocol.Error
			if json.Unmarshal(body, &refusal) != nil || refusal.Code != c.code || resp.StatusCode != c.status || !strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") {
				t.Errorf("%s %s, %v", resp.Status, body, resp.Header)
			}
		})
	}
}
