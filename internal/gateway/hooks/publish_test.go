package hooks

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/meup-protocol/meup/internal/gateway/access"
	"github.com/meup-protocol/meup/protocol"
)

// spaceLog is the API of a space that keeps what is sent, and counts what is read.
type spaceLog struct {
	t     *testing.T
	lines map[string]string // by the id
	ended map[string]string // ends of contexts, by the context
	reads atomic.Int64
}

func (l *spaceLog) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Header.Get("Accept") == "text/event-stream":
		<-r.Context().Done()
	case r.Method == http.MethodPost:
		draft, err := io.ReadAll(r.Body)
		if err != nil {
			l.t.Error(err)
		}
		doc, err := protocol.ParseJSON(draft, protocol.MaxDepth)
		if err != nil {
			l.t.Error(err)
		}
		id := doc.Root().Get("id").Text()
		l.put("claude", id, doc.Root().Get("kind").Text(), doc.Root().Get("context").Text())
		fmt.Fprintf(w, `{"id":%q,"seq":%d}`, id, len(l.lines))
	case strings.Contains(r.URL.Path, "/envelopes/"):
		l.reads.Add(1)
		line, found := l.lines[path.Base(r.URL.Path)]
		if !found {
			access.WriteError(w, protocol.Errorf(protocol.CodeNotFound, "There is no such envelope."))
			return
		}
		fmt.Fprint(w, line)
	default:
		l.reads.Add(1)
		w.Header().Set("Meup-Next", "9")
		for _, context := range r.URL.Query()["context"] {
			fmt.Fprint(w, l.ended[context])
		}
	}
}

func (l *spaceLog) put(from, id, kind, context string) {
	line := fmt.Sprintf(`{"protocol":"meup/v0.1","id":%q,"ts":"2026-01-02T03:04:05Z","from":%q,"kind":%q,"context":%q,"payload":{},"seq":%d}`+"\n",
		id, from, kind, context, len(l.lines)+1)
	l.lines[id] = line
	if context != "" && from == "claude" {
		l.ended[context] = line
	}
}

// The occurrence of a prompt without an id is found with few requests, however often the prompt
// was repeated before a restart. Ids that another participant has used are skipped, and hide no
// turn that is open.
func TestServer_RepeatedPrompts(t *testing.T) {
	const turns = 100
	for _, text := range []string{"go on", ""} {
		t.Run(fmt.Sprintf("%q", text), func(t *testing.T) {
			l := &spaceLog{t: t, lines: make(map[string]string), ended: make(map[string]string)}
			s := New(Options{Logger: slog.New(slog.DiscardHandler), API: l})
			prompt := string(object("hook_event_name", "UserPromptSubmit", "session_id", "s", "prompt", text))
			send := func(events ...string) (envelopes int, reads int64) {
				t.Helper()
				before := len(l.lines)
				l.reads.Store(0)
				for _, event := range events {
					if status, answer := serve(t, s, "claude", Caller{Space: openSpace{}}, event); status != http.StatusOK || answer != "{}" {
						t.Fatalf("%s: %d %s", event, status, answer)
					}
				}
				return len(l.lines) - before, l.reads.Load()
			}
			for i := range turns {
				if n, _ := send(prompt, `{"hook_event_name":"StopFailure","session_id":"s","error":"x"}`); n != 2 {
					t.Fatalf("turn %d: %d envelopes, want its start and its end", i, n)
				}
			}
			restart := func() { s = New(Options{Logger: slog.New(slog.DiscardHandler), API: l}) }
			restart()
			n, reads := send(prompt)
			if n != 1 {
				t.Errorf("%d envelopes after a restart, want a start", n)
			}
			if reads > 20 {
				t.Errorf("%d requests to find the occurrence after %d turns, want at most 20", reads, turns)
			}
			h := &hook{event: event{session: "s"}, caller: Caller{ID: "claude"}, space: "lab"}
			for i := range 2 {
				l.put("mallory", string(h.id("turn", text, fmt.Sprint(turns+1+i))), "chat", "")
			}
			restart()
			if n, _ := send(prompt); n != 0 {
				t.Errorf("%d envelopes for a turn that is open, want none", n)
			}
		})
	}
}
