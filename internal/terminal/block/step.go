package block

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/meup-protocol/meup/internal/exchange"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/protocol"
)

// Add adds the content of an envelope to the reasoning.
func (d *Reasoning) Add(env *protocol.Envelope, refer Refer) {
	text, stream := d.describe(env)
	details := d.detailsOf(env, text, refer)
	if text == "" && len(details) > 0 {
		_, text = env.Kind.Split()
	}
	if text == "" {
		return
	}
	whole := Step{Text: text, Details: details, context: env.Context, By: d.other(env.From)}
	if i := d.streamStep(stream, env.From); i >= 0 {
		d.steps[i] = whole
		return
	}
	d.push(whole)
}

// other returns the author of a step if it is not the agent, or "".
func (d *Reasoning) other(from protocol.ParticipantID) protocol.ParticipantID {
	if from == d.Agent {
		return ""
	}
	return from
}

func (d *Reasoning) push(s Step) {
	s.Text = textutil.Shorten(s.Text, MaxStep)
	d.steps = append(d.steps, s)
	if len(d.steps) > MaxSteps {
		d.steps = slices.Delete(d.steps, 0, 1)
		d.Dropped++
	}
}

// streamStep returns the index of the step that a participant's stream extends,
// or -1. Streams of one id and different authors are different steps, since any
// participant can send data under any id.
func (d *Reasoning) streamStep(stream string, from protocol.ParticipantID) int {
	by := d.other(from)
	return slices.IndexFunc(d.steps, func(s Step) bool { return s.Stream == stream && stream != "" && s.By == by })
}

// DropStream removes the step of a participant's stream, and reports whether there was one.
func (d *Reasoning) DropStream(stream string, from protocol.ParticipantID) bool {
	i := d.streamStep(stream, from)
	if i >= 0 {
		d.steps = slices.Delete(d.steps, i, i+1)
	}
	return i >= 0
}

// describe returns one line for the content of an envelope, and the stream that
// sent it in pieces before; "" for none.
func (d *Reasoning) describe(env *protocol.Envelope) (text, stream string) {
	switch {
	case env.Kind == protocol.KindMCPRequest:
		if d.calls[env.Correlation.First()].proposed {
			return d.call(env, "approved %s…"), ""
		}
		return d.call(env, "calling %s…"), ""
	case env.Kind == protocol.KindMCPProposal:
		return d.call(env, "proposing %s…"), ""
	case env.Kind == protocol.KindMCPResponse:
		return d.result(env), ""
	case env.Kind == protocol.KindMCPReject:
		return "rejected: " + ReasonFor(env, ""), ""
	case env.Kind == protocol.KindReasoningCancel && env.Context != d.Path:
		return "a part was canceled", ""
	case env.Kind.IsReasoning() && env.Context == d.Path && env.Kind.ClosesContext():
		return "", ""
	case env.Kind.IsReasoning():
		return stepText(env)
	}
	return "", ""
}

// stepText returns the text of a reasoning step, from any of its field names.
func stepText(env *protocol.Envelope) (text, stream string) {
	var p struct {
		Message    string `json:"message"`
		Content    string `json:"content"`
		Hypothesis string `json:"hypothesis"`
		Decision   string `json:"decision"`
		Questions  []any  `json:"questions"`
		Stream     string `json:"stream_id"`
	}
	_ = json.Unmarshal(env.Payload, &p) // a payload of another form has no text
	text = p.Message
	for _, other := range []string{p.Content, p.Hypothesis, p.Decision} {
		if text == "" {
			text = other
		}
	}
	if text == "" && len(p.Questions) > 0 {
		text = fmt.Sprint(p.Questions[0])
	}
	_, name := env.Kind.Split()
	switch name {
	case "observation", "hypothesis", "question":
		text = name + ": " + text
	}
	return text, p.Stream
}

// call records the tool that a request calls; the method if it is another one. Of a
// notification it returns "".
func (d *Reasoning) call(env *protocol.Envelope, form string) string {
	var p struct {
		Method string `json:"method"`
		Params struct {
			Name string `json:"name"`
		} `json:"params"`
	}
	_ = json.Unmarshal(env.Payload, &p)
	name := p.Method
	if name == "tools/call" && p.Params.Name != "" {
		name = p.Params.Name
	}
	if name == "" || strings.HasPrefix(p.Method, "notifications/") {
		return ""
	}
	if len(d.calls) < MaxSteps {
		d.calls[env.ID] = call{tool: name, from: env.From, to: env.To, proposed: env.Kind == protocol.KindMCPProposal}
	}
	return fmt.Sprintf(form, name)
}

// result describes the outcome of a call.
func (d *Reasoning) result(env *protocol.Envelope) string {
	c, known := d.calls[env.Correlation.First()]
	if !known || !c.isAnswered(env.From) {
		return ""
	}
	doc, err := protocol.ParseJSON(env.Payload, protocol.MaxDepth)
	if err != nil {
		return ""
	}
	return c.tool + " → " + cmp.Or(exchange.ShownResult(doc.Root()), "success")
}

// AddPiece appends a piece of a stream to its step. A piece without a step, as
// after connecting in the middle of a stream, begins one if it is the agent's; the
// pieces of others are ignored then. It reports whether the reasoning changed.
func (d *Reasoning) AddPiece(env *protocol.Envelope, stream string, from protocol.ParticipantID, data json.RawMessage) bool {
	i := d.streamStep(stream, from)
	switch {
	case i < 0 && env.Kind == protocol.KindStreamData && from != d.Agent:
		return false
	case i < 0:
		d.push(Step{Stream: stream, context: env.Context, By: d.other(from)})
		i = len(d.steps) - 1
	}
	if env.Kind == protocol.KindStreamData {
		var piece string
		if json.Unmarshal(data, &piece) == nil {
			d.steps[i].Text = tail(d.steps[i].Text+piece, MaxStep)
		}
	}
	d.NoteActivity(env, true)
	return true
}

// tail returns the end of a text, of at most n bytes.
func tail(s string, n int) string {
	if len(s) <= n {
		return s
	}
	s = s[len(s)-n:]
	for s != "" && !utf8.RuneStart(s[0]) {
		s = s[1:]
	}
	return s
}

// ReasonFor returns the reason in an envelope, with its sender unless that is
// the participant concerned.
func ReasonFor(env *protocol.Envelope, about protocol.ParticipantID) string {
	reason := textutil.Shorten(env.ParsePayload().Get("reason").Text(), 500)
	switch {
	case env.From == about:
		return reason
	case reason == "":
		return "by " + string(env.From)
	}
	return "by " + string(env.From) + ": " + reason
}
