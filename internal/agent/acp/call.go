package acp

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/agent/participant"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/protocol"
)

// Bounds of a call.
const (
	maxInput  = 128 << 10 // bytes of the arguments
	maxResult = 32 << 10  // bytes of the shown result
	maxTitle  = 500       // characters
)

// call is a call of one of the program's tools.
type call struct {
	report
	thought  protocol.ID     // that explains it
	request  protocol.ID     // "": none was published
	approval protocol.ID     // the request of another participant that approved it
	rpc      json.RawMessage // its JSON-RPC id
	proposed bool
	settled  bool // the result was published, or there is none
	timer    *time.Timer
}

// report is the state of a call as the program reports it. Fields that a later report does
// not have keep their values.
type report struct {
	ID        string          `json:"toolCallId"`
	Title     string          `json:"title"`
	Name      string          `json:"name"`
	Kind      string          `json:"kind"`
	Status    string          `json:"status"`
	Input     json.RawMessage `json:"rawInput"`
	Output    json.RawMessage `json:"rawOutput"`
	Content   json.RawMessage `json:"content"`
	Locations json.RawMessage `json:"locations"`
	Meta      struct {
		Claude struct {
			Tool string `json:"toolName"`
		} `json:"claudeCode"`
	} `json:"_meta"`
}

func (r *report) tool() string { return cmp.Or(r.Name, r.Meta.Claude.Tool, r.Kind, "tool") }

// title returns a description of the call.
func (r *report) title() string { return textutil.ShortenChars(cmp.Or(r.Title, r.tool()), maxTitle) }

// isGiven reports whether JSON has a value other than null and {}.
func isGiven(raw json.RawMessage) bool {
	return len(raw) > 0 && string(raw) != "null" && string(raw) != "{}"
}

// arguments returns the arguments of the call: the input of the tool, or, if the program
// does not report it, all that it reports. ok is false if they cannot be shown exactly.
func (r *report) arguments() (arguments json.RawMessage, ok bool) {
	raw := r.Input
	if !isGiven(raw) {
		given := []any{"title", r.Title}
		for _, m := range []struct {
			name string
			raw  json.RawMessage
		}{{"locations", r.Locations}, {"content", r.Content}} {
			if isGiven(m.raw) && string(m.raw) != "[]" {
				given = append(given, m.name, m.raw)
			}
		}
		raw = object(given...)
	}
	if len(raw) > maxInput {
		return object("title", r.title(), "omitted", "the arguments are larger than an envelope takes"), false
	}
	doc, err := protocol.ParseForeignJSON(raw, protocol.MaxDepth-8) // of the payload around it
	if err != nil {
		return object("title", r.title(), "omitted", "the arguments are nested too deeply"), false
	}
	raw = doc.Root().Raw() // without duplicate keys and lone surrogates
	if raw[0] != '{' {
		return object("input", raw), true
	}
	return raw, true
}

// payload returns the payload of the request or the proposal of a call.
func (r *report) payload(more ...any) (payload json.RawMessage, exact bool) {
	arguments, exact := r.arguments()
	params := object("name", r.tool(), "arguments", arguments, "_meta", map[string]string{"title": r.title(), "kind": r.Kind})
	return object(append(more, "method", "tools/call", "params", params)...), exact
}

// mergeLocked adds a report to the state of its call; nil: it cannot be shown. If begins is set,
// a call that has ended is another one: programs use ids again.
func (t *turn) mergeLocked(raw json.RawMessage, begins bool) *call {
	var about struct {
		ID string `json:"toolCallId"`
	}
	if json.Unmarshal(raw, &about) != nil || about.ID == "" {
		return nil
	}
	c := t.calls[about.ID]
	if c == nil || c.settled && begins {
		if len(t.order) >= maxCalls {
			return nil
		}
		c = &call{}
		c.timer = time.AfterFunc(time.Hour, func() { // a call that waits for a request for permission
			t.mu.Lock()
			defer t.mu.Unlock()
			if !t.ended && !c.settled {
				t.announceLocked(c)
			}
		})
		c.timer.Stop()
		t.calls[about.ID], t.order = c, append(t.order, c)
	}
	next := c.report
	var typed *json.UnmarshalTypeError
	if err := json.Unmarshal(raw, &next); err != nil && !errors.As(err, &typed) {
		return nil
	}
	if !isGiven(next.Input) {
		next.Input = c.Input
	}
	c.report = next
	return c
}

// callLocked handles a tool_call or a tool_call_update. A call is published when it
// runs, or a little later than its last report, because a request for permission may
// follow, which is published as a proposal instead.
func (t *turn) callLocked(raw json.RawMessage, begins bool) {
	c := t.mergeLocked(raw, begins)
	if c == nil || c.settled {
		return
	}
	if c.thought == "" && strings.TrimSpace(t.text.String()) != "" {
		c.thought = t.flushLocked(c.tool())
	}
	switch c.Status {
	case "completed", "failed":
		t.announceLocked(c)
		c.settled = true
		text := textutil.Shorten(c.resultText(), maxResult)
		result := map[string]any{"content": []any{map[string]string{"type": "text", "text": text}}}
		if c.Status == "failed" {
			result["isError"] = true
		}
		instead := t.task.Inside(protocol.KindReasoningObservation, object("message", c.title()+"\n\n"+text, "tool_name", c.tool()))
		if e, ok := t.response(c, object("jsonrpc", "2.0", "id", c.rpc, "result", result)); ok {
			t.queueLocked(draft{Envelope: e, instead: &instead})
		} else {
			t.sendLocked(instead)
		}
	case "in_progress":
		t.announceLocked(c)
	default:
		if c.request == "" && !c.proposed {
			c.timer.Reset(t.agent.o.CallDelay)
		}
	}
}

// explainLocked publishes the thought that explains a call, if none does.
func (t *turn) explainLocked(c *call) {
	if c.thought == "" {
		c.thought = t.thoughtLocked(c.title(), "tool_name", c.tool())
	}
}

// announceLocked publishes the request of a call, unless it was published or approved. The
// program runs its tools itself, so the request is addressed to the participant.
func (t *turn) announceLocked(c *call) {
	c.timer.Stop()
	if c.request != "" || c.proposed {
		return
	}
	t.sendLocked(t.requestLocked(c))
}

// requestLocked returns the request of a call.
func (t *turn) requestLocked(c *call) protocol.Envelope {
	t.explainLocked(c)
	e := t.task.Inside(protocol.KindMCPRequest, nil)
	e.To, e.Correlation = []protocol.ParticipantID{t.task.Runtime.You}, protocol.CorrelateTo(c.thought)
	e.Payload, _ = c.payload("jsonrpc", "2.0", "id", string(e.ID))
	c.request, c.rpc = e.ID, protocol.AppendString(nil, string(e.ID))
	return e
}

// response returns the response to the requests of a call; false: it has none.
func (t *turn) response(c *call, payload json.RawMessage) (protocol.Envelope, bool) {
	ids := slices.DeleteFunc([]protocol.ID{c.request, c.approval}, func(id protocol.ID) bool { return id == "" })
	if len(ids) == 0 {
		return protocol.Envelope{}, false
	}
	e := t.task.Inside(protocol.KindMCPResponse, payload)
	e.Correlation = protocol.Correlation{IDs: ids, Array: len(ids) > 1}
	return e, true
}

// failure returns the response to a call that has no result; false: it has no request.
func (t *turn) failure(c *call, why string) (protocol.Envelope, bool) {
	c.settled = true
	if c.rpc == nil {
		return protocol.Envelope{}, false
	}
	fault := &client.RPCError{Code: participant.CodeCancelled, Message: textutil.ShortenChars(why, maxTitle)}
	return t.response(c, participant.Response(c.rpc, nil, fault))
}

func (r *report) resultText() string {
	var blocks []struct {
		Type    string          `json:"type"`
		Content json.RawMessage `json:"content"`
		Path    string          `json:"path"`
		Old     string          `json:"oldText"`
		New     string          `json:"newText"`
		Term    string          `json:"terminalId"`
	}
	_ = json.Unmarshal(r.Content, &blocks) // content of another form has no text
	var parts []string
	for _, b := range blocks {
		switch b.Type {
		case "content":
			parts = append(parts, contentText(b.Content))
		case "diff":
			parts = append(parts, fmt.Sprintf("%s:\n--- before\n%s\n--- after\n%s", b.Path, b.Old, b.New))
		default:
			parts = append(parts, "["+b.Type+"]")
		}
	}
	if text := strings.TrimSpace(strings.Join(parts, "\n")); text != "" {
		return text
	}
	var text string
	if json.Unmarshal(r.Output, &text) == nil {
		return text
	}
	return strings.ToValidUTF8(string(r.Output), "?")
}
