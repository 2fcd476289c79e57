package ask

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/meup-protocol/meup/internal/exchange"
	"github.com/meup-protocol/meup/internal/kit/recent"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/protocol"
)

// Bounds of a turn; what exceeds them has no events, or no further ones.
const (
	maxRoots     = 256
	maxRequests  = 8192
	maxProposals = 256
	maxStreams   = 1024
	maxHeld      = 1 << 10 // bytes of a stream that may be the beginning of the answer
)

// turn selects the envelopes that belong to a question.
type turn struct {
	question  Question
	tracker   *exchange.Answers
	roots     map[string]*root // outermost contexts, by name
	open      int              // roots that are open
	requests  *recent.Map[protocol.ID, request]
	proposals map[protocol.ID]proposed // without a decision
	streams   *recent.Map[protocol.ID, *thought]
	growing   *recent.Map[protocol.ID, *growth] // streams of answers
	answered  map[protocol.ParticipantID]bool

	answer, conclusion, reason string
}

// root is an outermost context that was opened for the question.
type root struct {
	opener    protocol.ParticipantID
	closed    bool
	cancelled bool // closed by a cancellation
}

// proposed is a proposal of the turn, without its payload.
type proposed struct {
	envelope protocol.Envelope
	call     exchange.Call
}

// thought is a stream within a context. Events cannot be taken back, so the text of one
// that may be the beginning of the answer is held until its end.
type thought struct {
	holds bool
	held  *Event // the Delta of its text so far; nil: none
}

// growth is an answer that grows. It is hidden if its text begins with reasoning, which is
// split from a complete text only.
type growth struct {
	from          protocol.ParticipantID
	held          string // its text, until it is known whether it begins with reasoning
	begun, hidden bool
}

// request is a call that belongs to the turn.
type request struct {
	to  []protocol.ParticipantID
	ref protocol.ID // of the call, or of the proposal that it fulfills
}

func newTurn(q Question) *turn {
	t := &turn{
		question: q, tracker: exchange.NewAnswers(), roots: make(map[string]*root), proposals: make(map[protocol.ID]proposed),
		requests: recent.New[protocol.ID, request](maxRequests), streams: recent.New[protocol.ID, *thought](maxStreams),
		growing:  recent.New[protocol.ID, *growth](maxStreams),
		answered: make(map[protocol.ParticipantID]bool),
	}
	t.tracker.Apply(&protocol.Envelope{ID: q.ID, From: q.From, To: q.To, Kind: protocol.KindChat})
	return t
}

// apply returns the events of an envelope of the space.
func (t *turn) apply(e *protocol.Envelope) []*Event {
	if e.ID == t.question.ID {
		return nil
	}
	return t.fold(e, t.tracker.Apply(e) == t.question.ID)
}

// fold returns the events of an envelope. asked reports that it belongs to the question,
// whatever it correlates to.
func (t *turn) fold(e *protocol.Envelope, asked bool) (list []*Event) {
	for _, id := range slices.Sorted(maps.Keys(t.proposals)) { // the order is the same each time
		if event := t.settle(id, t.proposals[id], e); event != nil {
			list = append(list, event)
		}
	}
	var event *Event
	switch {
	case e.Kind == protocol.KindChatCancel && e.From == t.question.From && e.Correlation.Names(t.question.ID):
		return append(list, &Event{Type: Ended, State: Withdrawn, Text: textOf(e, "reason")})
	case e.Kind == protocol.KindChat && e.Context == "":
		event = t.chat(e, asked)
	case e.Kind == protocol.KindMCPResponse:
		event = t.response(e)
	case e.Kind == protocol.KindStreamOpen && e.Context == "":
		if e.From != t.question.From && (asked || e.Correlation.Names(t.question.ID)) {
			t.growing.Put(protocol.ID(textOf(e, "stream_id")), &growth{from: e.From})
		}
	case e.Kind == protocol.KindStreamData || e.Kind == protocol.KindStreamClose:
		list = append(list, t.stream(e)...)
	default:
		event = t.inContext(e, asked)
	}
	if event != nil {
		list = append(list, event)
	}
	if t.over() {
		list = append(list, t.end())
	}
	return list
}

// chat returns the event of a chat outside of contexts.
func (t *turn) chat(e *protocol.Envelope, asked bool) *Event {
	if e.From == t.question.From || !asked && !e.Correlation.Names(t.question.ID) {
		return nil
	}
	t.answered[e.From] = true
	marks, answer := textutil.SplitMarks(textOf(e, "message"))
	t.answer = answer
	return &Event{Type: Answered, Envelope: e, Text: answer, Steps: marks.Steps}
}

// response returns the event of a response to a call of the turn.
func (t *turn) response(e *protocol.Envelope) *Event {
	for _, id := range e.Correlation.IDs {
		r, known := t.requests.Get(id)
		for _, to := range r.to {
			if known && to == e.From {
				return &Event{Type: Returned, Envelope: e, Ref: r.ref}
			}
		}
	}
	return nil
}

// settle returns the event of a decision about a proposal.
func (t *turn) settle(id protocol.ID, p proposed, e *protocol.Envelope) *Event {
	outcome := exchange.SettlesCall(&p.envelope, p.call, e)
	if outcome == exchange.Pending {
		return nil
	}
	delete(t.proposals, id)
	if outcome == exchange.Fulfilled {
		t.requests.Put(e.ID, request{e.To, id})
	}
	return &Event{Type: Settled, Envelope: e, Ref: id, State: string(outcome), Text: textOf(e, "reason")}
}

// stream returns the events of a stream of the turn.
func (t *turn) stream(e *protocol.Envelope) []*Event {
	payload := e.ParsePayload()
	id, text, reason := protocol.ID(payload.Get("stream_id").Text()), payload.Get("data").Text(), payload.Get("reason").Text()
	closes := e.Kind == protocol.KindStreamClose
	if g, answers := t.growing.Get(id); answers && g.from == e.From {
		if !g.begun {
			text, g.held = g.held+text, ""
			if begins, open := textutil.BeginsMarks(text); open && len(text) <= maxHeld {
				g.held = text
			} else {
				g.begun, g.hidden = true, begins
			}
		}
		switch {
		case g.hidden, !g.begun && !closes:
		case !closes:
			return []*Event{{Type: Answering, Envelope: e, Ref: id, Text: text}}
		case reason == protocol.StreamWithdrawn:
			return []*Event{{Type: Retracted, Envelope: e, Ref: id}}
		}
		return nil
	}
	s, known := t.streams.Get(id)
	if !known {
		return nil
	}
	event := &Event{Type: Delta, Envelope: e, Ref: id, Text: text}
	if closes {
		event.Type, event.Text = StreamClosed, reason
	}
	held := s.held
	switch {
	case !closes && held == nil && s.holds:
		s.held = event
		return nil
	case !closes && held != nil && len(held.Text)+len(text) <= maxHeld:
		held.Text += text
		return nil
	}
	s.held, s.holds = nil, false
	if held == nil || closes && reason == protocol.StreamWithdrawn {
		return []*Event{event}
	}
	return []*Event{held, event}
}

// inContext returns the event of an envelope within a context of the turn, or of one
// that opens an outermost context for the question.
func (t *turn) inContext(e *protocol.Envelope, asked bool) *Event {
	name := cmp.Or(string(e.Context.Root()), string(e.ID))
	r, inside := t.roots[name], e.Context != "" || e.Kind == protocol.KindReasoningStart
	if r == nil && asked && inside && len(t.roots) < maxRoots {
		r = &root{opener: e.From}
		t.roots[name] = r
		t.open++
	}
	if inside && r == nil || !inside && !asked {
		return nil
	}
	event := &Event{Envelope: e, Text: textOf(e, "message")}
	switch e.Kind {
	case protocol.KindReasoningStart:
		event.Type = Opened
	case protocol.KindReasoningConclusion, protocol.KindReasoningCancel:
		event.Type, event.Text = Closed, cmp.Or(event.Text, textOf(e, "reason"))
		t.close(r, e, event.Text)
	case protocol.KindMCPRequest:
		event.Type, event.Ref = Called, e.ID
		if _, known := t.requests.Get(e.ID); known { // it fulfills a proposal, which has an event
			return nil
		}
		t.requests.Put(e.ID, request{e.To, e.ID})
	case protocol.KindMCPProposal:
		event.Type, event.Ref = Proposed, e.ID
		if len(t.proposals) < maxProposals {
			t.proposals[e.ID] = proposed{protocol.Envelope{ID: e.ID, From: e.From, Context: e.Context}, exchange.CallOf(e)}
		}
	case protocol.KindStreamOpen:
		event.Type, event.Ref, event.Text = StreamOpened, protocol.ID(textOf(e, "stream_id")), textOf(e, "description")
		t.streams.Put(event.Ref, &thought{holds: e.ParsePayload().Get("provisional").Bool()})
	case protocol.KindChat:
		event.Type = Said
	default:
		if !e.Kind.IsReasoning() {
			return nil
		}
		event.Type = Thought
	}
	return event
}

// close closes an outermost context, if the envelope does.
func (t *turn) close(r *root, e *protocol.Envelope, text string) {
	concludes := e.Kind == protocol.KindReasoningConclusion
	if e.Context.Depth() != 1 || r.closed || concludes && e.From != r.opener {
		return
	}
	r.closed = true
	t.open--
	if concludes {
		_, t.conclusion = textutil.SplitMarks(text)
	} else {
		r.cancelled = true
		t.reason = text
	}
}

// over reports whether the turn has ended: an answer of each participant that was
// asked, and no open context.
func (t *turn) over() bool {
	if t.open > 0 || len(t.answered) == 0 {
		return false
	}
	gaveUp := make(map[protocol.ParticipantID]bool) // openers of contexts, of which none is open now
	for _, r := range t.roots {
		gaveUp[r.opener] = true
	}
	for _, id := range t.question.To {
		if !t.answered[id] && !gaveUp[id] {
			return false
		}
	}
	return true
}

// cancelled reports whether all contexts of a participant were canceled: its chat says
// why there is no answer.
func (t *turn) cancelled(id protocol.ParticipantID) bool {
	found := false
	for _, r := range t.roots {
		if r.opener == id {
			if !r.cancelled {
				return false
			}
			found = true
		}
	}
	return found
}

// quiet reports whether nothing more is expected: all openers of open contexts have
// answered, or all contexts are closed.
func (t *turn) quiet() bool {
	if len(t.roots) == 0 {
		return false
	}
	for _, r := range t.roots {
		if !r.closed && !t.answered[r.opener] {
			return false
		}
	}
	return true
}

// end returns the last event.
func (t *turn) end() *Event {
	given := t.conclusion != ""
	for id := range t.answered {
		given = given || !t.cancelled(id)
	}
	if !given {
		return &Event{Type: Ended, State: Failed, Text: cmp.Or(t.reason, t.answer)}
	}
	return &Event{Type: Ended, State: Completed, Text: cmp.Or(t.answer, t.conclusion)}
}

func textOf(e *protocol.Envelope, field string) string { return e.ParsePayload().Get(field).Text() }

// Repeats reports whether a text begins with a conclusion, which may have been cut, and may
// have marks of reasoning: a conclusion of one sentence is often the beginning of the answer.
func Repeats(text, conclusion string) bool {
	_, whole := textutil.SplitMarks(conclusion)
	whole = strings.TrimSpace(whole)
	beginning := strings.TrimSpace(strings.TrimSuffix(whole, "…"))
	rest, begins := strings.CutPrefix(strings.TrimSpace(text), beginning)
	next, _ := utf8.DecodeRuneInString(rest)
	return begins && beginning != "" && (beginning != whole || !unicode.IsLetter(next) && !unicode.IsNumber(next))
}
