package planner

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/kit/textutil"
)

// fault describes an error in a call or, if it has none, in the turn.
type fault struct {
	call   int    // index among the model's calls; -1: the turn
	text   string // for the model; may quote its text
	why    string // for logs and errors; quotes no arguments
	repeat bool   // the call was made before
	err    error  // of the decision, if the model does not correct the turn
}

// read returns the valid calls of a model's turn, and its faults. A turn with
// neither is an answer, a refusal, or was cut before its first word.
func (t *turn) read(resp *llm.Response) (calls []contextwindow.Call, faults []fault) {
	resp.Message.Role = llm.Assistant
	if len(resp.Message.Calls) == 0 || resp.Stop == llm.StopRefusal {
		empty := strings.TrimSpace(resp.Message.Text) == ""
		switch {
		case resp.Stop == llm.StopRefusal, resp.Stop == llm.StopLength && empty:
		case t.s.Forced != "":
			faults = []fault{{
				call: -1, text: fmt.Sprintf("Call the tool %s now.", t.offer.names[t.s.Forced]), why: "the forced tool was not called",
				err: fmt.Errorf("%w: %q", ErrNotCalled, t.s.Forced),
			}}
		case empty:
			faults = []fault{{
				call: -1, text: "You wrote neither a call nor an answer. Call a tool, or write the answer.", why: "neither a call nor an answer",
				err: ErrSilent,
			}}
		}
		return nil, faults
	}
	// Every call gets a unique id, since some providers give none.
	seen := make(map[string]bool)
	m := &resp.Message
	m.Calls = slices.Clone(m.Calls)
	for i := range m.Calls {
		if id := m.Calls[i].ID; id == "" || seen[id] {
			m.Calls[i].ID = fmt.Sprintf("call_%d_%d", len(t.s.Steps), i)
			m.Opaque = llm.ProviderState{} // it does not contain the new id
		}
		seen[m.Calls[i].ID] = true
	}
	done := make(map[string]bool) // keys of this turn's calls
	for i := range m.Calls {
		c, f := t.readCall(&m.Calls[i], done)
		if f == nil {
			calls = append(calls, c)
			continue
		}
		f.call = i
		if resp.Stop == llm.StopLength {
			f.text += " (The turn was cut at the bound on its length.)"
		}
		faults = append(faults, *f)
	}
	return calls, faults
}

// readCall returns the call, or its fault.
func (t *turn) readCall(c *llm.ToolCall, done map[string]bool) (contextwindow.Call, *fault) {
	tool := t.offer.find(c.Name)
	if tool == nil {
		return contextwindow.Call{}, &fault{
			text: fmt.Sprintf("There is no tool %.100q. The tools are: %s.", c.Name, t.offer.list()),
			why:  fmt.Sprintf("no tool %.100q", c.Name),
		}
	}
	if t.s.Forced != "" && tool.tool.Name != t.s.Forced {
		return contextwindow.Call{}, &fault{
			text: fmt.Sprintf("Only %s may be called now.", t.offer.names[t.s.Forced]),
			why:  tool.tool.Name + " is not the forced tool",
		}
	}
	args, reason, err := tool.strip(c.Arguments)
	if err == nil {
		err = Validate(tool.tool.InputSchema, args)
	}
	if err != nil {
		return contextwindow.Call{}, &fault{
			text: textutil.ShortenChars(fmt.Sprintf("%s was not called. %s. Mend the arguments and call it again.", c.Name, err), maxFault),
			why:  "the arguments of " + tool.tool.Name + " do not fit its schema",
		}
	}
	out := contextwindow.Call{ID: c.ID, Tool: tool.tool.Name, Arguments: args, Reason: reason}
	key := out.Key()
	if done[key] || t.s.Forced == "" && t.s.repeats(out) {
		return contextwindow.Call{}, &fault{
			repeat: true,
			text: fmt.Sprintf("%s was called with these arguments before, and nothing has happened since that could change its result. "+
				"Use that result, try something else, or write the answer.", c.Name),
			why: tool.tool.Name + " was called before",
		}
	}
	if len(done) >= maxCalls {
		return contextwindow.Call{}, &fault{
			text: fmt.Sprintf("No more than %d calls are made at the same time.", maxCalls),
			why:  "too many calls",
		}
	}
	done[key] = true
	return out, nil
}

// summarize lists the faults for logs and errors.
func summarize(faults []fault) string {
	var out []string
	for _, f := range faults {
		if !slices.Contains(out, f.why) {
			out = append(out, f.why)
		}
	}
	return textutil.ShortenChars(strings.Join(out, "; "), maxReason)
}

// correction returns the model's turn and the messages that correct it: a
// result for each of its calls.
func correction(said llm.Message, faults []fault) []llm.Message {
	if len(said.Calls) == 0 {
		out := []llm.Message{{Role: llm.User, Text: faults[0].text}}
		if strings.TrimSpace(said.Text) != "" {
			out = append([]llm.Message{said}, out...)
		}
		return out
	}
	wrong := make(map[int]string)
	for _, f := range faults {
		wrong[f.call] = f.text
	}
	out := []llm.Message{said}
	for i, c := range said.Calls {
		text := cmp.Or(wrong[i], c.Name+" was not called yet, since another call of this turn was wrong. Call it again together with what you mend.")
		out = append(out, llm.Message{Role: llm.ToolResult, CallID: c.ID, Text: text, IsError: true})
	}
	return out
}
