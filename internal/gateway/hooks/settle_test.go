package hooks

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meup-protocol/meup/internal/gateway/access"
	"github.com/meup-protocol/meup/protocol"
)

// A turn that ends while a proposal of it is being published withdraws the proposal.
func TestServer_StopWhileProposing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var kinds []string
		var stop func()
		s := New(Options{Logger: slog.New(slog.DiscardHandler), API: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.Header.Get("Accept") == "text/event-stream":
				<-r.Context().Done()
			case r.Method == http.MethodPost:
				draft, err := io.ReadAll(r.Body)
				if err != nil {
					t.Error(err)
				}
				doc, err := protocol.ParseJSON(draft, protocol.MaxDepth)
				if err != nil {
					t.Error(err)
				}
				kind := doc.Root().Get("kind").Text()
				mu.Lock()
				kinds = append(kinds, kind)
				n := len(kinds)
				mu.Unlock()
				if kind == string(protocol.KindMCPProposal) {
					go stop() // ends when the proposal was withdrawn
					synctest.Wait()
				}
				fmt.Fprintf(w, `{"id":"e","seq":%d}`, n)
			case strings.Contains(r.URL.Path, "/envelopes/"): // an id that nobody has used
				access.WriteError(w, protocol.Errorf(protocol.CodeNotFound, "There is no such envelope."))
			default:
				w.Header().Set("Meup-Next", "9")
			}
		})})
		fires := func(body string) {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil)
			r.SetPathValue("program", "claude")
			r.SetPathValue("space", "lab")
			r.Header.Set("Authorization", "Bearer t")
			w := httptest.NewRecorder()
			s.Serve(w, r, Caller{ID: "claude", Space: openSpace{}, Release: func() {}}, []byte(body))
			if w.Code != http.StatusOK || w.Body.String() != "{}" {
				t.Errorf("%s: %d %s", body, w.Code, w.Body)
			}
		}
		stop = func() { fires(`{"hook_event_name":"Stop","session_id":"s"}`) }
		began := time.Now()
		fires(`{"hook_event_name":"PermissionRequest","session_id":"s","tool_name":"Bash","tool_input":{"command":"x"}}`)
		synctest.Wait()
		if took := time.Since(began); took > 0 {
			t.Errorf("the request waited for %s", took)
		}
		want := []string{"reasoning.start", "mcp.proposal", "mcp.withdraw", "reasoning.conclusion"}
		slices.Sort(kinds[3:]) // the request that waited withdraws it too, before the conclusion or after it
		kinds = slices.Compact(kinds)
		if !slices.Equal(kinds, want) {
			t.Errorf("%q", kinds)
		}
	})
}
