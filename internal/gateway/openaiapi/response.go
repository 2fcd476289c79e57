package openaiapi

import (
	"fmt"
	"maps"
	"net/http"

	"github.com/meup-protocol/meup/internal/gateway/adapter"
)

// response shows a turn as a response: a stream of events, or one object at the end.
// Steps of reasoning are parts of the summary of a reasoning item, and each answer is
// a message.
type response struct {
	w      http.ResponseWriter
	stream *adapter.Stream // nil: one object
	object map[string]any  // without its output
	hash   string

	output []any
	parts  []any // of the reasoning item that is open
	step   *text // its last part, which is open; nil: no item is open
	shown  int   // bytes of reasoning
	said   int   // bytes of answers
	number int   // of the next event
	begun  bool
	open   bool // the client takes more
}

func newResponse(w http.ResponseWriter, in *input, a *asked) *response {
	r := &response{w: w, hash: a.hash, open: true, output: []any{}, object: map[string]any{
		// The id has the space, so that the response can be found.
		"id": "resp_" + a.hash + "_" + a.question.Space, "object": "response", "created_at": a.created, "model": in.model, "status": "in_progress",
		"error": nil, "incomplete_details": nil, "instructions": nil, "metadata": map[string]any{}, "previous_response_id": nil,
		"parallel_tool_calls": false, "temperature": nil, "top_p": nil, "tool_choice": "none", "tools": []any{},
		"text": map[string]any{"format": map[string]any{"type": "text"}}, "truncation": "disabled", "usage": nil,
		"max_output_tokens": nil, "background": false, "store": true,
	}}
	if in.previous != "" {
		r.object["previous_response_id"] = in.previous
	}
	if in.stream {
		r.stream = adapter.NewStream(w)
	}
	return r
}

func (r *response) more() bool { return r.open }

// snapshot returns the response as it is now.
func (r *response) snapshot() map[string]any {
	o := maps.Clone(r.object)
	o["output"] = r.output
	return o
}

// send sends an event with pairs of a name and a value.
func (r *response) send(kind string, pairs ...any) {
	if r.stream == nil {
		return
	}
	if !r.begun {
		r.begun = true
		r.send("response.created", "response", r.snapshot())
		r.send("response.in_progress", "response", r.snapshot())
	}
	e := map[string]any{"type": kind, "sequence_number": r.number}
	for i := 0; i+1 < len(pairs); i += 2 {
		e[pairs[i].(string)] = pairs[i+1] //nolint:forcetypeassert // constants of this file
	}
	r.number++
	r.open = r.stream.Write(fmt.Sprintf("event: %s\ndata: %s\n\n", kind, quote(e))) && r.open
}

// itemID returns the id of the next item.
func (r *response) itemID(prefix string) string {
	return fmt.Sprintf("%s_%s_%d", prefix, r.hash, len(r.output))
}

func (r *response) think(s string, begins bool) {
	if r.step == nil {
		r.parts = []any{}
		r.send("response.output_item.added", "output_index", len(r.output), "item", r.reasoning("in_progress"))
		begins = true
	}
	id, index := r.itemID("rs"), len(r.output)
	if begins {
		r.closeStep()
		r.step = &text{most: maxReasoning - r.shown}
		r.send("response.reasoning_summary_part.added", "item_id", id, "output_index", index, "summary_index", len(r.parts), "part", summary(""))
	}
	s = r.step.add(s)
	if s != "" {
		r.shown = min(r.shown+len(s), maxReasoning)
		r.send("response.reasoning_summary_text.delta", "item_id", id, "output_index", index, "summary_index", len(r.parts), "delta", s)
	}
}

func summary(s string) map[string]any { return map[string]any{"type": "summary_text", "text": s} }

// reasoning returns the reasoning item that is open.
func (r *response) reasoning(status string) map[string]any {
	return map[string]any{"id": r.itemID("rs"), "type": "reasoning", "summary": r.parts, "status": status}
}

// closeStep closes the part of the summary that is open.
func (r *response) closeStep() {
	if r.step == nil {
		return
	}
	id, index, s := r.itemID("rs"), len(r.output), r.step.String()
	r.send("response.reasoning_summary_text.done", "item_id", id, "output_index", index, "summary_index", len(r.parts), "text", s)
	r.send("response.reasoning_summary_part.done", "item_id", id, "output_index", index, "summary_index", len(r.parts), "part", summary(s))
	r.parts = append(r.parts, summary(s))
}

// closeReasoning closes the reasoning item that is open.
func (r *response) closeReasoning() {
	if r.step == nil {
		return
	}
	r.closeStep()
	item := r.reasoning("completed")
	r.send("response.output_item.done", "output_index", len(r.output), "item", item)
	r.output = append(r.output, item)
	r.step, r.parts = nil, nil
}

func (r *response) say(s string) {
	r.closeReasoning()
	t := text{most: maxAnswer - r.said}
	s = t.add(s)
	r.said = min(r.said+len(s), maxAnswer)
	id, index := r.itemID("msg"), len(r.output)
	message := func(status string, content ...any) map[string]any {
		if content == nil {
			content = []any{}
		}
		return map[string]any{"id": id, "type": "message", "role": "assistant", "status": status, "content": content}
	}
	part := func(s string) map[string]any {
		return map[string]any{"type": "output_text", "text": s, "annotations": []any{}, "logprobs": []any{}}
	}
	r.send("response.output_item.added", "output_index", index, "item", message("in_progress"))
	r.send("response.content_part.added", "item_id", id, "output_index", index, "content_index", 0, "part", part(""))
	r.send("response.output_text.delta", "item_id", id, "output_index", index, "content_index", 0, "delta", s, "logprobs", []any{})
	r.send("response.output_text.done", "item_id", id, "output_index", index, "content_index", 0, "text", s, "logprobs", []any{})
	r.send("response.content_part.done", "item_id", id, "output_index", index, "content_index", 0, "part", part(s))
	item := message("completed", part(s))
	r.send("response.output_item.done", "output_index", index, "item", item)
	r.output = append(r.output, item)
}

func (r *response) end(u usage) {
	r.closeReasoning()
	r.object["status"] = "completed"
	r.object["usage"] = u.with(map[string]any{
		"input_tokens": u.input, "output_tokens": u.output,
		"input_tokens_details": map[string]any{"cached_tokens": u.cached}, "output_tokens_details": map[string]any{"reasoning_tokens": u.reasoning},
	})
	if r.stream == nil {
		writeJSON(r.w, http.StatusOK, r.snapshot())
		return
	}
	r.send("response.completed", "response", r.snapshot())
}

func (r *response) fail(f *fault) {
	if r.stream == nil {
		f.write(r.w)
		return
	}
	r.closeReasoning()
	r.object["status"] = "failed"
	r.object["error"] = map[string]any{"code": "server_error", "message": f.message}
	r.send("response.failed", "response", r.snapshot())
}
