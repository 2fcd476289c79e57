package llmtest

import (
	"fmt"

	"github.com/meup-protocol/meup/internal/agent/llm"
)

// responsesEvents returns an answer as the events of the API's stream.
func responsesEvents(req Request, t Turn) []string {
	w := &responsesWriter{}
	begun := responseObject(req, t, nil, "in_progress")
	begun["usage"] = nil
	w.add("response.created", object{"response": begun})
	w.add("response.in_progress", object{"response": begun})
	output := responsesOutput(req, t)
	for i, item := range output {
		w.item(i, item)
	}
	if t.Fail {
		failed := responseObject(req, t, output, "failed")
		failed["error"] = object{"code": t.Code, "message": t.Message}
		w.add("response.failed", object{"response": failed})
		return w.out
	}
	status := responsesStatus(t)
	w.add("response."+status, object{"response": responseObject(req, t, output, status)})
	return w.out
}

// responsesStatus returns completed, or incomplete for an answer that was cut.
func responsesStatus(t Turn) string {
	if t.Stop == llm.StopLength || t.Stop == llm.StopOther {
		return "incomplete"
	}
	return "completed"
}

// responsesOutput returns the items of an answer. The ids of the items after a
// reasoning item name it.
func responsesOutput(req Request, t Turn) []object {
	var out []object
	after := ""
	if t.Thinking != "" {
		item := object{"type": "reasoning", "id": fmt.Sprintf("rs_%d", req.N), "summary": []any{}}
		if req.summary {
			item["summary"] = []any{object{"type": "summary_text", "text": t.Thinking}}
		}
		if req.encrypted {
			item["encrypted_content"] = encrypted(t.Thinking)
		}
		out, after = append(out, item), fmt.Sprintf("_after_rs_%d", req.N)
	}
	if t.Text != "" {
		part := object{"type": "output_text", "text": t.Text, "annotations": []any{}, "logprobs": []any{}}
		if t.Stop == llm.StopRefusal {
			part = object{"type": "refusal", "refusal": t.Text}
		}
		status := responsesStatus(t)
		out = append(out, object{"type": "message", "id": fmt.Sprintf("msg_%d%s", req.N, after), "role": "assistant", "status": status, "content": []any{part}})
	}
	for i, c := range t.Calls {
		out = append(out, object{"type": "function_call", "id": fmt.Sprintf("fc_%d_%d%s", req.N, i, after), "call_id": c.ID,
			"name": c.Name, "arguments": string(c.Arguments), "status": "completed"})
	}
	return out
}

// responsesWriter numbers the events of one answer.
type responsesWriter struct{ out []string }

func (w *responsesWriter) add(kind string, data object) {
	data["sequence_number"] = len(w.out)
	w.out = append(w.out, named(kind, data))
}

// list and str read the script's own items; another type is empty.
func list(v any) []any { l, _ := v.([]any); return l }

func str(v any) string { s, _ := v.(string); return s }

// item adds the events of one item.
func (w *responsesWriter) item(index int, item object) {
	at := func(data object) object {
		data["item_id"], data["output_index"] = item["id"], index
		return data
	}
	begun := object{}
	for name, value := range item {
		begun[name] = value
	}
	begun["status"] = "in_progress"
	switch item["type"] {
	case "reasoning":
		delete(begun, "status")
		begun["summary"] = []any{}
		w.add("response.output_item.added", object{"output_index": index, "item": begun})
		for i, p := range list(item["summary"]) {
			part, _ := p.(object)
			text := str(part["text"])
			w.add("response.reasoning_summary_part.added", at(object{"summary_index": i, "part": object{"type": "summary_text", "text": ""}}))
			w.deltas("response.reasoning_summary_text.delta", text, func() object { return at(object{"summary_index": i}) })
			w.add("response.reasoning_summary_text.done", at(object{"summary_index": i, "text": text}))
			w.add("response.reasoning_summary_part.done", at(object{"summary_index": i, "part": p}))
		}
	case "message":
		begun["content"] = []any{}
		w.add("response.output_item.added", object{"output_index": index, "item": begun})
		part, _ := list(item["content"])[0].(object)
		kind, field := "response.output_text", "text"
		if part["type"] == "refusal" {
			kind, field = "response.refusal", "refusal"
		}
		w.add("response.content_part.added", at(object{"content_index": 0, "part": object{"type": part["type"], field: ""}}))
		w.deltas(kind+".delta", str(part[field]), func() object { return at(object{"content_index": 0}) })
		w.add(kind+".done", at(object{"content_index": 0, field: part[field]}))
		w.add("response.content_part.done", at(object{"content_index": 0, "part": part}))
	case "function_call":
		begun["arguments"] = ""
		w.add("response.output_item.added", object{"output_index": index, "item": begun})
		w.deltas("response.function_call_arguments.delta", str(item["arguments"]), func() object { return at(object{}) })
		w.add("response.function_call_arguments.done", at(object{"name": item["name"], "arguments": item["arguments"]}))
	}
	w.add("response.output_item.done", object{"output_index": index, "item": item})
}

func (w *responsesWriter) deltas(kind, text string, data func() object) {
	for _, p := range pieces(text) {
		d := data()
		d["delta"] = p
		w.add(kind, d)
	}
}

// responseObject returns a response, as in the first and the last event and in a
// document.
func responseObject(req Request, t Turn, output []object, status string) object {
	if output == nil {
		output = []object{}
	}
	r := object{"id": fmt.Sprintf("resp_%d", req.N), "object": "response", "created_at": created, "model": req.Model,
		"status": status, "output": output, "error": nil, "incomplete_details": nil, "store": false,
		"usage": object{
			"input_tokens": t.Usage.Input, "output_tokens": t.Usage.Output, "total_tokens": t.Usage.Input + t.Usage.Output,
			"input_tokens_details":  object{"cached_tokens": t.Usage.Cached},
			"output_tokens_details": object{"reasoning_tokens": t.Usage.Reasoning},
		}}
	if status == "incomplete" && t.Stop == llm.StopLength {
		r["incomplete_details"] = object{"reason": "max_output_tokens"}
	}
	return r
}
