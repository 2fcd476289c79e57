package openaiapi

import (
	"net/http"
	"strings"

	"github.com/meup-protocol/meup/internal/gateway/adapter"
	"github.com/meup-protocol/meup/internal/kit/textutil"
)

// Bounds of a text that is kept until the turn ends, in bytes.
const (
	maxReasoning = 256 << 10
	maxAnswer    = 1 << 20
)

// text is a text within a bound.
type text struct {
	strings.Builder
	most int
	full bool
}

// add appends a text, and returns the part that was appended.
func (t *text) add(s string) string {
	if t.full {
		return ""
	}
	if len(s) > t.most-t.Len() {
		t.full = true
		s = textutil.Truncate(s, t.most-t.Len()) + " […]"
	}
	t.WriteString(s)
	return s
}

// reset makes the text empty.
func (t *text) reset() {
	t.Reset()
	t.full = false
}

// chat shows a turn as a chat completion: in chunks, or as one object at the end.
type chat struct {
	w       http.ResponseWriter
	stream  *adapter.Stream // nil: one object
	id      string
	model   string
	created int64
	usage   bool // the last chunk has the usage

	begun     bool
	reasons   bool // there is a step of reasoning
	open      bool // the client takes more
	reasoning text
	content   text
}

func newChat(w http.ResponseWriter, in *input, a *asked) *chat {
	c := &chat{
		w: w, id: "chatcmpl-" + a.hash, model: in.model, created: a.created, usage: in.usage, open: true,
		reasoning: text{most: maxReasoning}, content: text{most: maxAnswer},
	}
	if in.stream {
		c.stream = adapter.NewStream(w)
	}
	return c
}

func (c *chat) more() bool { return c.open }

func (c *chat) think(s string, begins bool) {
	if begins && c.reasons {
		s = "\n\n" + s
	}
	c.reasons = true
	if c.stream == nil {
		c.reasoning.add(s)
		return
	}
	c.delta("reasoning_content", s)
}

func (c *chat) say(s string) {
	if c.stream == nil {
		c.content.add(s)
		return
	}
	c.delta("content", s)
}

// delta sends an addition to a text of the message.
func (c *chat) delta(field, s string) {
	d := map[string]any{field: s}
	if !c.begun {
		c.begun = true
		d["role"] = "assistant"
	}
	c.chunk([]any{map[string]any{"index": 0, "delta": d, "finish_reason": nil, "logprobs": nil}}, nil)
}

func (c *chat) chunk(choices []any, used any) {
	o := map[string]any{"id": c.id, "object": "chat.completion.chunk", "created": c.created, "model": c.model, "choices": choices}
	if c.usage {
		o["usage"] = used
	}
	c.send(string(quote(o)))
}

func (c *chat) send(data string) { c.open = c.stream.Write("data: "+data+"\n\n") && c.open }

func (c *chat) end(u usage) {
	used := u.with(map[string]any{
		"prompt_tokens": u.input, "completion_tokens": u.output,
		"prompt_tokens_details": map[string]any{"cached_tokens": u.cached}, "completion_tokens_details": map[string]any{"reasoning_tokens": u.reasoning},
	})
	if c.stream == nil {
		message := map[string]any{"role": "assistant", "content": c.content.String(), "refusal": nil}
		if c.reasons {
			message["reasoning_content"] = c.reasoning.String()
		}
		writeJSON(c.w, http.StatusOK, map[string]any{
			"id": c.id, "object": "chat.completion", "created": c.created, "model": c.model, "usage": used,
			"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": "stop", "logprobs": nil}},
		})
		return
	}
	c.chunk([]any{map[string]any{"index": 0, "delta": map[string]any{}, "finish_reason": "stop", "logprobs": nil}}, nil)
	if c.usage {
		c.chunk([]any{}, used)
	}
	c.send("[DONE]")
}

func (c *chat) fail(f *fault) {
	if c.stream == nil {
		f.write(c.w)
		return
	}
	c.send(string(quote(map[string]any{"error": f.object()})))
}
