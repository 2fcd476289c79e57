package llmtest

import (
	"cmp"
	"fmt"
	"iter"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/meup-protocol/meup/internal/agent/llm"
)

// Script returns the answer to a request. It is called concurrently for
// concurrent requests.
type Script func(Request) Turn

// Turns answers the first request with the first turn, and so on. It refuses
// later requests with status 400, which clients do not retry.
func Turns(turns ...Turn) Script {
	return func(r Request) Turn {
		if r.N > len(turns) {
			return Turn{Status: http.StatusBadRequest, Code: "script_over",
				Message: fmt.Sprintf("the script has %d turns, this is request %d", len(turns), r.N)}
		}
		return turns[r.N-1]
	}
}

// Turn is an answer. The zero value is an empty one.
type Turn struct {
	Thinking string
	Text     string
	Calls    []llm.ToolCall // calls without an ID get one
	Stop     llm.Stop       // "" means tool_calls if there are Calls, else stop
	Usage    llm.Usage      // zero means an estimate

	// Status refuses the request, with Code and Message, and with RetryAfter if
	// that is not 0.
	Status     int
	Code       string
	Message    string
	RetryAfter time.Duration

	// Fail ends a stream of Responses with a failure, with Code and Message.
	Fail bool

	// Hang, if not nil, delays the response, including its status.
	Hang <-chan struct{}
	// Gate, if not nil, delays each chunk: a value releases one chunk, closing
	// it releases all.
	Gate <-chan struct{}
	// CutAfter breaks the connection after this number of chunks; 0 does not.
	CutAfter int
	// Document answers in one piece, as servers without streaming do.
	Document bool
}

// complete sets the fields that the turn leaves to the server.
func (t Turn) complete(r Request) Turn {
	calls := make([]llm.ToolCall, len(t.Calls))
	for i, c := range t.Calls {
		if c.ID == "" {
			c.ID = fmt.Sprintf("call_%d_%d", r.N, i+1)
		}
		if len(c.Arguments) == 0 {
			c.Arguments = []byte("{}")
		}
		calls[i] = c
	}
	t.Calls = calls
	if t.Stop == "" {
		t.Stop = llm.StopEnd
		if len(t.Calls) > 0 {
			t.Stop = llm.StopTools
		}
	}
	if t.Usage == (llm.Usage{}) {
		thought := len(t.Thinking) / 4
		t.Usage = llm.Usage{Input: 1 + len(r.Body)/4, Output: 1 + len(t.Text)/4 + thought, Reasoning: thought}
	}
	return t
}

// respond sends a turn, up to the point at which it hangs or is cut.
func (s *Server) respond(w http.ResponseWriter, r *http.Request, f format, req Request, t Turn) {
	if s.wait(r.Context(), t.Hang) != nil {
		panic(http.ErrAbortHandler)
	}
	if t.Status != 0 {
		if t.RetryAfter > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(int((t.RetryAfter+time.Second-1)/time.Second)))
			w.Header().Set("Retry-After-Ms", strconv.FormatInt(t.RetryAfter.Milliseconds(), 10))
		}
		writeJSON(w, t.Status, f.refusal(cmp.Or(t.Code, "api_error"), cmp.Or(t.Message, http.StatusText(t.Status))))
		return
	}
	if (t.Document || !req.stream) && f.document != nil {
		writeJSON(w, http.StatusOK, f.document(req, t))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	flush(w)
	for i, event := range f.events(req, t) {
		if s.wait(r.Context(), t.Gate) != nil || t.CutAfter > 0 && i == t.CutAfter {
			panic(http.ErrAbortHandler)
		}
		if _, err := w.Write([]byte(event)); err != nil {
			return
		}
		flush(w)
	}
}

func flush(w http.ResponseWriter) {
	_ = http.NewResponseController(w).Flush() // a lost client is detected at the next write
}

// pieces splits a text after its words, each with its following space, as
// models stream it. Text with few spaces, such as arguments, is split into
// three pieces.
func pieces(text string) []string {
	out := strings.SplitAfter(text, " ")
	if text == "" {
		return nil
	}
	if n := len(text); len(out) < 3 && n >= 3 && utf8.RuneCountInString(text) == n { // ASCII
		return []string{text[:n/3], text[n/3 : 2*n/3], text[2*n/3:]}
	}
	return out
}

// Answer returns the answer of a model that is not asked over HTTP: thinking and
// text in one piece each and the beginnings of the calls, unless the request is for a
// whole answer, and the complete answer, or an error.
func Answer(req llm.Request, resp llm.Response, err error) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		if err != nil {
			yield(llm.Event{}, err)
			return
		}
		for _, d := range []llm.Delta{{Kind: llm.ThinkingDelta, Text: resp.Thinking}, {Kind: llm.TextDelta, Text: resp.Message.Text}} {
			if !req.Whole && d.Text != "" && !yield(llm.Event{Delta: d}, nil) {
				return
			}
		}
		for range resp.Message.Calls {
			if !req.Whole && !yield(llm.Event{Delta: llm.Delta{Kind: llm.CallDelta}}, nil) {
				return
			}
		}
		yield(llm.Event{Response: &resp}, nil)
	}
}
