package acp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/protocol"
)

// update handles a session/update. What it does not know is left out.
func (t *turn) update(params json.RawMessage) {
	var in struct {
		Update json.RawMessage `json:"update"`
	}
	var u struct {
		Kind    string          `json:"sessionUpdate"`
		Content json.RawMessage `json:"content"`
		Message string          `json:"messageId"`
		Entries json.RawMessage `json:"entries"`
		Used    int64           `json:"used"`
		Cost    *struct {
			Amount   float64 `json:"amount"`
			Currency string  `json:"currency"`
		} `json:"cost"`
	}
	if json.Unmarshal(params, &in) != nil || json.Unmarshal(in.Update, &u) != nil {
		return
	}
	select {
	case t.alive <- struct{}{}:
	default:
	}
	t.awaitRoom()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return
	}
	switch u.Kind {
	case "agent_thought_chunk":
		t.addLocked(llm.ThinkingDelta, contentText(t.split[llm.ThinkingDelta].Join(u.Content)))
	case "agent_message_chunk":
		if t.message != u.Message && t.kind == llm.TextDelta && t.text.Len() > 0 {
			t.addLocked(llm.TextDelta, "\n\n") // of another message
		}
		t.message = u.Message
		t.addLocked(llm.TextDelta, contentText(t.split[llm.TextDelta].Join(u.Content)))
	case "tool_call", "tool_call_update":
		t.callLocked(in.Update, u.Kind == "tool_call")
	case "plan":
		t.planLocked(u.Entries)
	case "usage_update":
		t.usage.used = u.Used
		if u.Cost != nil {
			t.usage.cost, t.usage.currency = u.Cost.Amount, u.Cost.Currency
		}
		t.checkLimitsLocked()
	}
}

// contentText returns the text of a block of content, or its type.
func contentText(raw json.RawMessage) string {
	var c struct {
		Type     string `json:"type"`
		Text     string `json:"text"`
		URI      string `json:"uri"`
		Resource struct {
			URI  string `json:"uri"`
			Text string `json:"text"`
		} `json:"resource"`
	}
	if json.Unmarshal(raw, &c) != nil || c.Type == "" {
		return ""
	}
	if c.Type == "text" {
		return c.Text
	}
	return cmp.Or(c.Text, c.Resource.Text, strings.TrimSpace(fmt.Sprintf("[%s] %s", c.Type, cmp.Or(c.URI, c.Resource.URI))))
}

// planLocked publishes the plan of the program as a thought.
func (t *turn) planLocked(raw json.RawMessage) {
	var entries []struct {
		Content string `json:"content"`
		Status  string `json:"status"`
	}
	if json.Unmarshal(raw, &entries) != nil || len(entries) == 0 {
		return
	}
	var b strings.Builder
	b.WriteString("Plan:\n")
	for _, e := range entries {
		mark := map[string]string{"completed": "[x]", "in_progress": "[~]"}[e.Status]
		fmt.Fprintf(&b, "- %s %s\n", cmp.Or(mark, "[ ]"), e.Content)
	}
	t.flushLocked("")
	t.thoughtLocked(textutil.Shorten(strings.TrimSpace(b.String()), maxSegment))
}

// usage is what a question has used.
type usage struct {
	start, cost  float64 // of the session, before the question and now
	currency     string
	before, used int64 // tokens in the context of the model
	reported     int64 // tokens that the program reported at the ends of its prompts
}

// tokens returns the tokens of the question: the ones that were reported, or at least
// the growth of the context.
func (u *usage) tokens() int64 { return max(u.reported, u.used-u.before) }

// checkLimitsLocked ends the question if it has used more than it may.
func (t *turn) checkLimitsLocked() {
	var err error
	o, u := &t.agent.o, &t.usage
	switch {
	case o.MaxCost > 0 && u.cost-u.start > o.MaxCost:
		err = faultOf(nil, "this question has cost %.4f %s, and may cost %.4f (--max-cost)", u.cost-u.start, u.currency, o.MaxCost)
	case o.MaxTokens > 0 && u.tokens() > o.MaxTokens:
		err = faultOf(nil, "this question has used %d tokens, and may use %d (--max-tokens)", u.tokens(), o.MaxTokens)
	default:
		return
	}
	select {
	case t.over <- err:
	default:
	}
}

// object returns a JSON object of names, which are strings, and values.
func object(members ...any) json.RawMessage {
	out := bytes.NewBufferString("{")
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false) // arguments are shown to people
	for i := 0; i < len(members); i += 2 {
		if i > 0 {
			out.WriteByte(',')
		}
		name, _ := members[i].(string)
		out.Write(protocol.AppendString(nil, name))
		out.WriteByte(':')
		if err := enc.Encode(members[i+1]); err != nil {
			panic(err) // of texts, and JSON that was read
		}
		out.Truncate(out.Len() - 1) // the newline
	}
	out.WriteByte('}')
	return out.Bytes()
}
