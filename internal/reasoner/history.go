package reasoner

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/meup-protocol/meup/client/reasoner/wire"

	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/kit/textutil"
)

// Bounds of the history that is read. Results are not shortened here: the code
// that builds a model's prompt shortens and marks them.
const (
	maxSteps   = 500      // the last ones
	maxMessage = 64 << 10 // bytes of one message
	maxNotes   = 50
	maxNote    = 2000 // bytes
)

// past is a parsed history.
type past struct {
	steps     []contextwindow.Record // with tools
	messages  []llm.Message          // by people and by the agent
	notes     []string               // sentences about past events
	stepCount int                    // number of steps with tools, including those not in steps
}

// readHistory converts the steps of a history to records. Each runtime writes
// steps in its own form.
func readHistory(items []wire.HistoryItem) past {
	var p past
	older := items[:max(0, len(items)-maxSteps)]
	for _, item := range items[len(older):] {
		p.add(item)
	}
	p.stepCount = len(p.steps)
	for _, item := range older {
		if step := object(item); step != nil && toolOf(step, object(step["action"])) != "" {
			p.stepCount++
		}
	}
	if len(p.notes) > maxNotes {
		p.notes = p.notes[len(p.notes)-maxNotes:]
	}
	return p
}

func (p *past) add(item wire.HistoryItem) {
	var sentence string
	if json.Unmarshal(item, &sentence) == nil {
		p.addNote(sentence)
		return
	}
	var step map[string]json.RawMessage
	if json.Unmarshal(item, &step) != nil {
		return
	}
	action := object(step["action"]) // some runtimes nest the decision within the step
	tool := toolOf(step, action)
	if tool == "" { // a message, or a note
		words := first(step, action, "content", "text", "message", "final", "final_text", "reasoning", "thought", "result", "output", "error")
		switch role := text(step["role"]); {
		case words == "":
		case role == "user":
			p.messages = append(p.messages, llm.Message{Role: llm.User, Text: textutil.Shorten(words, maxMessage)})
		case role == "assistant":
			p.messages = append(p.messages, llm.Message{Role: llm.Assistant, Text: textutil.Shorten(words, maxMessage)})
		default:
			p.addNote(words)
		}
		return
	}
	thought := first(step, action, "reasoning", "thought")
	p.steps = append(p.steps, contextwindow.Record{
		Index: len(p.steps), Thought: textutil.Shorten(thought, maxNote), Action: contextwindow.UseTools,
		Calls:   []contextwindow.Call{{Tool: tool, Arguments: argumentsOf(step, action), Reason: textutil.Shorten(thought, maxNote)}},
		Results: []contextwindow.Result{resultOf(tool, step)},
	})
}

func (p *past) addNote(sentence string) {
	sentence = strings.TrimSpace(sentence)
	if sentence != "" {
		p.notes = append(p.notes, textutil.Shorten(sentence, maxNote))
	}
}

// kinds are the values of action that are not the name of a tool.
var kinds = []string{"tool", "tool_call", "use_tool", "use_tools", "call", "finish", "reason", "think", "thought", "error", "done"}

func toolOf(step, action map[string]json.RawMessage) string {
	if name := first(step, action, "tool_name", "tool"); name != "" {
		return name
	}
	name := text(step["action"])
	if slices.Contains(kinds, strings.ToLower(name)) {
		return ""
	}
	return name
}

func argumentsOf(step, action map[string]json.RawMessage) json.RawMessage {
	for _, from := range []map[string]json.RawMessage{step, action} {
		for _, name := range []string{"tool_args", "args", "arguments"} {
			if object(from[name]) != nil {
				return from[name]
			}
		}
	}
	return json.RawMessage("{}")
}

func resultOf(tool string, step map[string]json.RawMessage) contextwindow.Result {
	if fault := text(step["error"]); fault != "" {
		return contextwindow.Result{Tool: tool, Outcome: contextwindow.Failure, Error: fault}
	}
	for _, name := range []string{"result", "output", "observation", "content"} {
		raw, ok := step[name]
		if !ok || isNull(raw) {
			continue
		}
		words, failed := plain(raw)
		if failed {
			return contextwindow.Result{Tool: tool, Outcome: contextwindow.Failure, Error: words}
		}
		return contextwindow.Result{Tool: tool, Success: true, Text: words}
	}
	return contextwindow.Result{Tool: tool, Outcome: contextwindow.Failure, Error: "The history does not contain the result."}
}

// plain returns a result as text: a string unchanged, the result of an MCP
// server as its texts, and anything else as JSON.
func plain(raw json.RawMessage) (words string, failed bool) {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s, false
	}
	fields := object(raw)
	var blocks []struct{ Text *string }
	if json.Unmarshal(fields["content"], &blocks) != nil {
		return string(raw), false
	}
	_ = json.Unmarshal(fields["isError"], &failed) // absent: success
	var texts []string
	for _, b := range blocks {
		if b.Text != nil {
			texts = append(texts, *b.Text)
		}
	}
	if len(texts) == 0 && len(blocks) > 0 {
		return string(raw), failed
	}
	return strings.Join(texts, "\n"), failed
}

// first returns the first of the fields that is not empty, in the step or in
// its action.
func first(step, action map[string]json.RawMessage, names ...string) string {
	for _, from := range []map[string]json.RawMessage{step, action} {
		for _, name := range names {
			if s := text(from[name]); s != "" {
				return s
			}
		}
	}
	return ""
}

// text returns a string, trimmed, or the message of an error object. Anything
// else is "".
func text(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 {
		return ""
	}
	if json.Unmarshal(raw, &s) == nil {
		return strings.TrimSpace(s)
	}
	if o := object(raw); o["message"] != nil && json.Unmarshal(o["message"], &s) == nil {
		return strings.TrimSpace(s)
	}
	return ""
}

// object returns the fields of an object; nil for anything else.
func object(raw json.RawMessage) map[string]json.RawMessage {
	var fields map[string]json.RawMessage
	if len(raw) == 0 || json.Unmarshal(raw, &fields) != nil {
		return nil
	}
	return fields
}
