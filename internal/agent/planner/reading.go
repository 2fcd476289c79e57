package planner

import (
	"fmt"
	"slices"
	"strings"

	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/llm"
)

const (
	maxFault     = 2000 // characters that a model is told of one
	maxNarrative = 4000 // characters of what it says before its calls
)

// reading is what a model's turn amounts to.
type reading struct {
	resp    *llm.Response
	calls   []contextwindow.Call // those that can be made
	faults  []fault
	answers bool  // it is an answer
	err     error // it is neither, and this is what to say of it in the end
}

// fault is what is wrong with a call, or, without one, with the turn.
type fault struct {
	call   int    // its place among the model's; -1: the turn
	text   string // for the model; may quote what it wrote
	why    string // for logs and errors; quotes no arguments
	repeat bool   // the call was made before
}

// read takes a model's turn apart.
func (t *turn) read(resp *llm.Response) reading {
	resp.Message.Role = llm.Assistant
	r := reading{resp: resp}
	if len(resp.Message.Calls) == 0 || resp.Stop == llm.StopRefusal {
		t.readText(&r)
		return r
	}
	identify(&resp.Message, len(t.s.Steps))
	done := make(map[string]bool) // the calls of this turn
	for i := range resp.Message.Calls {
		c, f := t.readCall(&resp.Message.Calls[i], done, len(r.calls))
		if f != nil {
			f.call = i
			if resp.Stop == llm.StopLength {
				f.text += " (The turn was cut at the bound on its length.)"
			}
			r.faults = append(r.faults, *f)
			continue
		}
		r.calls = append(r.calls, c)
	}
	return r
}

// readText reads a turn without calls.
func (t *turn) readText(r *reading) {
	empty := strings.TrimSpace(r.resp.Message.Text) == ""
	switch {
	case r.resp.Stop == llm.StopRefusal, r.resp.Stop == llm.StopLength && empty:
		r.answers = !empty
		if empty {
			r.err = silence(r.resp.Stop)
		}
	case t.s.Forced != "":
		r.err = fmt.Errorf("%w: the model did not call %q", ErrForced, t.s.Forced)
		r.faults = []fault{{call: -1, text: fmt.Sprintf("Call the tool %s now.", t.offer.names[t.s.Forced]), why: "the forced tool was not called"}}
	case empty:
		r.err = ErrSilent
		r.faults = []fault{{call: -1, text: "You wrote neither a call nor an answer. Call a tool, or write the answer.", why: "neither a call nor an answer"}}
	default:
		r.answers = true
	}
}

// readCall returns the call, or what is wrong with it.
func (t *turn) readCall(c *llm.ToolCall, done map[string]bool, before int) (contextwindow.Call, *fault) {
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
	args, reason, err := tool.take(c.Arguments)
	if err != nil {
		return contextwindow.Call{}, &fault{
			text: cut(fmt.Sprintf("%s was not called. %s. Mend the arguments and call it again.", c.Name, err), maxFault),
			why:  "the arguments of " + tool.tool.Name + " do not fit its schema",
		}
	}
	out := contextwindow.Call{ID: c.ID, Tool: tool.tool.Name, Arguments: args, Reason: reason}
	key := signature(out)
	if done[key] || t.s.Forced == "" && t.s.repeats(out) {
		return contextwindow.Call{}, &fault{
			repeat: true,
			text: fmt.Sprintf("%s was called with these arguments before, and nothing has happened since that could change its result. "+
				"Use that result, try something else, or write the answer.", c.Name),
			why: tool.tool.Name + " was called before",
		}
	}
	if before >= maxCalls {
		return contextwindow.Call{}, &fault{
			text: fmt.Sprintf("No more than %d calls are made at the same time.", maxCalls),
			why:  "too many calls",
		}
	}
	done[key] = true
	return out, nil
}

// identify gives every call a name of its own, which some providers do not.
func identify(m *llm.Message, step int) {
	seen := make(map[string]bool)
	m.Calls = slices.Clone(m.Calls)
	for i := range m.Calls {
		if id := m.Calls[i].ID; id == "" || seen[id] {
			m.Calls[i].ID = fmt.Sprintf("call_%d_%d", step, i)
			m.Opaque = llm.Opaque{} // does not know that name
		}
		seen[m.Calls[i].ID] = true
	}
}

// list names the tools, as many as fit into a line or two.
func (o *offer) list() string {
	var names []string
	for _, t := range o.tools {
		names = append(names, t.Name)
	}
	return cut(strings.Join(names, ", "), maxReason)
}

func (r *reading) onlyRepeats() bool {
	return len(r.faults) > 0 && !slices.ContainsFunc(r.faults, func(f fault) bool { return !f.repeat })
}

// told is what was wrong, for logs and errors.
func (r *reading) told() string {
	var out []string
	for _, f := range r.faults {
		out = append(out, f.why)
	}
	return cut(strings.Join(unique(out), "; "), maxReason)
}

// correction is the model's turn and what it is told of it: a result for each
// of its calls.
func (r *reading) correction() []llm.Message {
	said := r.resp.Message
	if len(said.Calls) == 0 {
		out := []llm.Message{{Role: llm.User, Text: r.faults[0].text}}
		if strings.TrimSpace(said.Text) != "" {
			out = append([]llm.Message{said}, out...)
		}
		return out
	}
	wrong := make(map[int]string)
	for _, f := range r.faults {
		wrong[f.call] = f.text
	}
	out := []llm.Message{said}
	for i, c := range said.Calls {
		text := wrong[i]
		if text == "" {
			text = c.Name + " was not called yet, since another call of this turn was wrong. Call it again together with what you mend."
		}
		out = append(out, llm.Message{Role: llm.ToolResult, CallID: c.ID, Text: text, IsError: true})
	}
	return out
}
