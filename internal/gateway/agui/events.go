package agui

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/meup-protocol/meup/internal/exchange"
	"github.com/meup-protocol/meup/internal/turns/ask"
	"github.com/meup-protocol/meup/protocol"
)

// run turns the events of a turn into events of AG-UI. Everything that it opens, it
// closes before the run ends.
type run struct {
	in   *input
	send func(map[string]any)
	// after is the position up to which the client has the turn: it gets what is still
	// open there, and what follows.
	after protocol.Seq
	// mayDecide reports whether a proposal waits for a decision that the participant
	// may make.
	mayDecide func(*protocol.Envelope) bool

	shown    bool // the client has what was open at after
	contexts []*span
	growing  map[protocol.ID]*text // streams of text
	saying   map[protocol.ID]*text // answers that grow
	closing  *ask.Event            // a conclusion that the answer may repeat; nil: none
	answered bool
}

// span is a context that is open.
type span struct {
	path        protocol.ContextPath
	participant protocol.ParticipantID
	goal        string
}

// text is a text that grows: a reasoning message until the complete text arrives, or an
// answer.
type text struct {
	context protocol.ContextPath
	from    protocol.ParticipantID // of an answer, or of one that was retracted
	sent    strings.Builder
	full    bool // sent is not all that was sent
	shown   bool
}

// Bounds of the texts that grow.
const (
	maxGrowing = 1024
	maxSent    = 256 << 10 // bytes of a text, for the comparison with the complete one
)

// id returns the id of a context in the events: the last segment of its path.
func (s *span) id() string { return s.path.Last() }

// subagent returns the id of the subagent that a context belongs to; "" is
// the agent itself.
func subagent(path protocol.ContextPath) string {
	if path.Depth() > 1 {
		return path.Last()
	}
	return ""
}

// attribute adds the subagent of a context to an event.
func attribute(event map[string]any, path protocol.ContextPath) map[string]any {
	if id := subagent(path); id != "" {
		event["subagentRunId"] = id
	}
	return event
}

// event sends an event of the turn; it returns false at the end of the run.
func (r *run) event(e *ask.Event) bool {
	if e.Seq > r.after && !r.shown {
		r.shown = true
		for _, s := range r.contexts {
			r.open(s)
		}
	}
	if c := r.closing; c != nil {
		r.closing = nil
		r.closed(c, e.Type == ask.Answered && e.Envelope.From == c.Envelope.From && ask.Repeats(e.Text, c.Text))
	}
	switch e.Type {
	case ask.Opened:
		path, _ := e.Envelope.Opens()
		asked := protocol.ParticipantIn(e.Envelope.ParsePayload(), "participant_id")
		s := &span{path, cmp.Or(asked, e.Envelope.From), e.Text}
		r.contexts = append(r.contexts, s)
		if r.shown {
			r.open(s)
		}
	case ask.Closed:
		if e.Envelope.Kind == protocol.KindReasoningConclusion && e.Envelope.Context.Depth() == 1 && !r.repeats(e) {
			r.closing = e
		} else {
			r.closed(e, r.repeats(e))
		}
	case ask.StreamOpened:
		if len(r.growing) < maxGrowing {
			r.growing[e.Ref] = &text{context: e.Envelope.Context}
		}
	case ask.Delta:
		r.delta(e)
	case ask.StreamClosed:
	case ask.Answering:
		r.say(e)
	case ask.Retracted:
		if t := r.saying[e.Ref]; t != nil {
			r.endAnswer(e.Ref)
			if len(r.growing) < maxGrowing {
				r.growing[e.Ref] = t
			}
		}
	case ask.Thought, ask.Said:
		r.thought(e)
	case ask.Called:
		r.call(e)
	case ask.Returned, ask.Settled:
		r.result(e)
	case ask.Proposed:
		r.call(e)
		if r.mayDecide(e.Envelope) {
			r.showEnd() // also if the client has it: no decision was made
			r.interrupt(e.Envelope)
			return false
		}
	case ask.Answered:
		r.answered = true
		r.answer(e)
	case ask.Ended:
		r.end(e)
		return false
	}
	return true
}

// emit sends an event if the client lacks it.
func (r *run) emit(event map[string]any) {
	if r.shown {
		r.send(event)
	}
}

// open sends the beginning of a context.
func (r *run) open(s *span) {
	if id := subagent(s.path); id != "" {
		event := map[string]any{"type": "SUBAGENT_STARTED", "subagentRunId": id, "name": string(s.participant), "description": s.goal}
		if parent := subagent(s.path.Parent()); parent != "" && r.find(s.path.Parent()) != nil {
			event["parentSubagentRunId"] = parent
		}
		r.emit(event)
	}
	r.emit(attribute(map[string]any{
		"type": "REASONING_START", "messageId": s.id(), "metadata": map[string]any{"participant": s.participant, "goal": s.goal},
	}, s.path))
}

func (r *run) find(path protocol.ContextPath) *span {
	for _, s := range r.contexts {
		if s.path == path {
			return s
		}
	}
	return nil
}

// repeats reports whether a conclusion is the beginning of an answer that grows.
func (r *run) repeats(e *ask.Event) bool {
	for _, t := range r.saying {
		if t.from == e.Envelope.From && e.Envelope.Kind == protocol.KindReasoningConclusion && ask.Repeats(t.sent.String(), e.Text) {
			return true
		}
	}
	return false
}

// closed sends the conclusion of a context, unless the answer repeats it, and its end with
// those below it.
func (r *run) closed(e *ask.Event, repeated bool) {
	if r.find(e.Envelope.Context) == nil {
		return
	}
	if e.Text != "" && !repeated {
		r.reasoning(string(e.Envelope.ID), e.Envelope.Context, e.Text)
	}
	reason := ""
	if e.Envelope.Kind == protocol.KindReasoningCancel {
		reason = cmp.Or(e.Text, "canceled")
	}
	r.closeWithin(e.Envelope.Context, func(s *span) map[string]any {
		if reason != "" {
			return map[string]any{"type": "SUBAGENT_ERROR", "subagentRunId": subagent(s.path), "message": reason}
		}
		return map[string]any{"type": "SUBAGENT_FINISHED", "subagentRunId": subagent(s.path)}
	})
}

// closeWithin closes a context and those below it, the innermost first; "": all. last
// makes the event that ends a subagent.
func (r *run) closeWithin(path protocol.ContextPath, last func(*span) map[string]any) {
	if path == "" {
		for id := range r.saying {
			r.endAnswer(id)
		}
	}
	for id, t := range r.growing {
		if t.context.Within(path) {
			r.endText(id, t)
		}
	}
	for _, s := range slices.Backward(slices.Clone(r.contexts)) {
		if !s.path.Within(path) {
			continue
		}
		r.emit(attribute(map[string]any{"type": "REASONING_END", "messageId": s.id()}, s.path))
		if subagent(s.path) != "" {
			r.emit(last(s))
		}
		r.contexts = slices.DeleteFunc(r.contexts, func(x *span) bool { return x == s })
	}
}

// reasoning sends a complete text of a context.
func (r *run) reasoning(id string, path protocol.ContextPath, content string) {
	r.emit(attribute(map[string]any{"type": "REASONING_MESSAGE_START", "messageId": id, "role": "reasoning"}, path))
	r.emit(attribute(map[string]any{"type": "REASONING_MESSAGE_CONTENT", "messageId": id, "delta": content}, path))
	r.emit(attribute(map[string]any{"type": "REASONING_MESSAGE_END", "messageId": id}, path))
}

// delta sends an addition to a text that grows.
func (r *run) delta(e *ask.Event) {
	t := r.growing[e.Ref]
	if t == nil || e.Text == "" || !r.shown || r.find(t.context) == nil {
		return
	}
	if !t.shown {
		t.shown = true
		r.emit(attribute(map[string]any{"type": "REASONING_MESSAGE_START", "messageId": string(e.Ref), "role": "reasoning"}, t.context))
	}
	t.full = t.full || t.sent.Len()+len(e.Text) > maxSent
	if !t.full {
		t.sent.WriteString(e.Text)
	}
	r.emit(attribute(map[string]any{"type": "REASONING_MESSAGE_CONTENT", "messageId": string(e.Ref), "delta": e.Text}, t.context))
}

func (r *run) endText(id protocol.ID, t *text) {
	if t.shown {
		r.emit(attribute(map[string]any{"type": "REASONING_MESSAGE_END", "messageId": string(id)}, t.context))
	}
	delete(r.growing, id)
}

// thought sends a step of reasoning, or what is missing of one that grew.
func (r *run) thought(e *ask.Event) {
	if e.Text == "" || r.find(e.Envelope.Context) == nil {
		return
	}
	id := protocol.ID(e.Envelope.ParsePayload().Get("stream_id").Text())
	content := e.Text
	if e.Type == ask.Said {
		content = string(e.Envelope.From) + ": " + content
	}
	t := r.growing[id]
	if t != nil && t.from != "" && t.from == e.Envelope.From { // it was sent as an answer
		delete(r.growing, id)
		if rest, same := strings.CutPrefix(content, t.sent.String()); same {
			content = strings.TrimSpace(rest)
		}
		if content == "" {
			return
		}
	}
	if t != nil && t.shown {
		rest, same := strings.CutPrefix(content, t.sent.String())
		if t.full {
			rest, same = "", true
		}
		if same && rest != "" {
			r.emit(attribute(map[string]any{"type": "REASONING_MESSAGE_CONTENT", "messageId": string(id), "delta": rest}, t.context))
		}
		if r.endText(id, t); same {
			return
		}
	}
	r.reasoning(string(e.Envelope.ID), e.Envelope.Context, content)
}

// call sends a request or a proposal.
func (r *run) call(e *ask.Event) {
	name, params := exchange.ShownCall(e.Envelope.ParsePayload())
	arguments := cmp.Or(string(params), "{}")
	id, path := string(e.Envelope.ID), e.Envelope.Context
	if r.find(path) == nil {
		path = ""
	}
	host := e.Envelope.ParsePayload().Get("participant_id").Text()
	if len(e.Envelope.To) == 1 && e.Type == ask.Called {
		host = string(e.Envelope.To[0])
	}
	r.emit(attribute(map[string]any{
		"type": "TOOL_CALL_START", "toolCallId": id, "toolCallName": name,
		"metadata": map[string]any{"participant": e.Envelope.From, "host": host, "proposed": e.Type == ask.Proposed},
	}, path))
	r.emit(attribute(map[string]any{"type": "TOOL_CALL_ARGS", "toolCallId": id, "delta": arguments}, path))
	r.emit(attribute(map[string]any{"type": "TOOL_CALL_END", "toolCallId": id}, path))
}

// result sends the response to a call, or the decision that ends a proposal without one.
func (r *run) result(e *ask.Event) {
	payload := e.Envelope.ParsePayload()
	result, failed := payload.Get("result"), payload.Get("error")
	var content string
	switch {
	case e.Type == ask.Settled && e.State == "fulfilled":
		return // its response follows
	case e.Type == ask.Settled:
		content = strings.TrimSuffix(e.State+" by "+string(e.Envelope.From)+": "+e.Text, ": ")
	case failed.Exists():
		content = "error: " + failed.Get("message").Text()
	default: // the texts of a result, or else its JSON
		var texts []string
		for c := range result.Get("content").Elements {
			if !c.Get("type").EqualText("text") {
				texts = nil
				break
			}
			texts = append(texts, c.Get("text").Text())
		}
		content = strings.Join(texts, "\n")
		if len(texts) == 0 {
			content = string(result.Raw())
		}
	}
	r.emit(map[string]any{
		"type": "TOOL_CALL_RESULT", "messageId": string(e.Envelope.ID), "toolCallId": string(e.Ref), "content": content, "role": "tool",
		"metadata": map[string]any{"participant": e.Envelope.From},
	})
}

// say sends an addition to an answer that grows.
func (r *run) say(e *ask.Event) {
	t := r.saying[e.Ref]
	if e.Text == "" || !r.shown || t == nil && len(r.saying) >= maxGrowing {
		return
	}
	if t == nil {
		t = &text{from: e.Envelope.From}
		r.saying[e.Ref] = t
		r.emit(map[string]any{"type": "TEXT_MESSAGE_START", "messageId": string(e.Ref), "role": "assistant", "name": string(t.from)})
	}
	t.full = t.full || t.sent.Len()+len(e.Text) > maxSent
	if !t.full {
		t.sent.WriteString(e.Text)
	}
	r.emit(map[string]any{"type": "TEXT_MESSAGE_CONTENT", "messageId": string(e.Ref), "delta": e.Text})
}

// answer sends an answer, or the rest of one that grew.
func (r *run) answer(e *ask.Event) {
	id := protocol.ID(e.Envelope.ParsePayload().Get("stream_id").Text())
	t := r.saying[id]
	if t == nil || t.from != e.Envelope.From {
		r.message(string(e.Envelope.ID), e.Envelope.From, e.Text)
		return
	}
	rest, same := strings.CutPrefix(e.Text, t.sent.String())
	if same && !t.full && rest != "" {
		r.emit(map[string]any{"type": "TEXT_MESSAGE_CONTENT", "messageId": string(id), "delta": rest})
	}
	r.endAnswer(id)
	if !same || t.full {
		r.message(string(e.Envelope.ID), e.Envelope.From, e.Text)
	}
}

// endAnswer ends an answer that grows, if it does.
func (r *run) endAnswer(id protocol.ID) {
	if r.saying[id] != nil {
		r.emit(map[string]any{"type": "TEXT_MESSAGE_END", "messageId": string(id)})
		delete(r.saying, id)
	}
}

// message sends an answer.
func (r *run) message(id string, from protocol.ParticipantID, content string) {
	if content == "" {
		return
	}
	r.emit(map[string]any{"type": "TEXT_MESSAGE_START", "messageId": id, "role": "assistant", "name": string(from)})
	r.emit(map[string]any{"type": "TEXT_MESSAGE_CONTENT", "messageId": id, "delta": content})
	r.emit(map[string]any{"type": "TEXT_MESSAGE_END", "messageId": id})
}

// decisionSchema is the schema of the payload of a resumed interrupt.
var decisionSchema = json.RawMessage(`{"type":"object","properties":{"approved":{"type":"boolean"},"reason":{"type":"string"}},"required":["approved"]}`)

// interrupt ends the run with a proposal that waits for the participant's decision.
func (r *run) interrupt(p *protocol.Envelope) {
	r.closeWithin("", func(s *span) map[string]any {
		return map[string]any{
			"type": "SUBAGENT_FINISHED", "subagentRunId": subagent(s.path),
			"outcome": map[string]any{"type": "suspended", "interruptIds": []string{string(p.ID)}},
		}
	})
	payload := p.ParsePayload()
	interrupt := map[string]any{
		"id": string(p.ID), "reason": "tool_call", "toolCallId": string(p.ID), "responseSchema": decisionSchema,
		"message": string(p.From) + " asks for the approval of " + payload.Get("params").Get("name").Text() + ".",
	}
	if at := payload.Get("expires_at").Text(); at != "" {
		interrupt["expiresAt"] = at
	}
	r.send(map[string]any{
		"type": "RUN_FINISHED", "threadId": r.in.thread, "runId": r.in.run,
		"outcome": map[string]any{"type": "interrupt", "interrupts": []any{interrupt}},
	})
}

// showEnd makes the events of the end shown. Contexts that the client was not told of
// have no end.
func (r *run) showEnd() {
	if !r.shown {
		r.shown, r.contexts = true, nil
	}
}

// end ends the run with the turn.
func (r *run) end(e *ask.Event) {
	r.showEnd()
	r.closeWithin("", func(s *span) map[string]any {
		return map[string]any{"type": "SUBAGENT_FINISHED", "subagentRunId": subagent(s.path)}
	})
	switch e.State {
	case ask.Failed:
		r.send(map[string]any{"type": "RUN_ERROR", "message": cmp.Or(e.Text, "No participant has answered."), "code": "failed"})
		return
	case ask.Completed:
		if !r.answered {
			r.message(r.in.run+"-conclusion", "", e.Text)
		}
	}
	outcome := map[string]any{"type": "success"}
	if e.State == ask.Withdrawn {
		outcome["type"] = "cancelled"
	}
	r.send(map[string]any{"type": "RUN_FINISHED", "threadId": r.in.thread, "runId": r.in.run, "outcome": outcome})
}

// fail ends the run with an error.
func (r *run) fail(message string) {
	r.showEnd()
	r.closeWithin("", func(s *span) map[string]any {
		return map[string]any{"type": "SUBAGENT_ERROR", "subagentRunId": subagent(s.path), "message": message}
	})
	r.send(map[string]any{"type": "RUN_ERROR", "message": message, "code": "unavailable"})
}
