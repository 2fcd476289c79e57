package acp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/meup-protocol/meup/internal/exchange"
	"github.com/meup-protocol/meup/internal/kit/recent"
	"github.com/meup-protocol/meup/internal/turns/ask"
	"github.com/meup-protocol/meup/protocol"
)

// turn is the turn of one question, as the editor shows it.
type turn struct {
	server   *server
	session  *session
	question ask.Question

	shown   protocol.Seq                       // the editor has the turn up to here
	after   protocol.Seq                       // shown, when the turn was followed last
	growing *recent.Map[protocol.ID, *grown]   // texts of streams that the editor has
	answers int                                // that were shown, or begun
	saying  protocol.ID                        // the answer that is shown as it grows; "": none
	missed  *recent.Map[protocol.ID, struct{}] // streams of answers whose beginning was not shown

	asking   map[protocol.ID]context.CancelFunc // requests for permission
	deciding sync.WaitGroup
}

// How a turn is followed after the connection to the gateway was lost.
const (
	retryMin = 100 * time.Millisecond
	retryMax = 5 * time.Second
	retryFor = 2 * time.Minute
)

// follow shows the events of the turn until it ends. It continues after a lost
// connection.
func (t *turn) follow(ctx context.Context) error {
	o := &t.server.o
	wait, lost := retryMin, time.Time{}
	for {
		ended := false
		t.after = t.shown
		err := ask.Follow(ctx, o.Client, t.question, func(e *ask.Event) bool {
			wait, lost = retryMin, time.Time{}
			t.event(ctx, e)
			ended = e.Type == ask.Ended
			return ctx.Err() == nil
		})
		if ended || ctx.Err() != nil {
			return context.Cause(ctx)
		}
		var refusal *protocol.Error
		if errors.As(err, &refusal) && refusal.Code != protocol.CodeUnavailable {
			return err
		}
		if lost.IsZero() {
			lost = time.Now()
		}
		if time.Since(lost) > retryFor {
			return cmp.Or(err, errors.New("the stream of events ended"))
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		}
		wait = min(2*wait, retryMax)
	}
}

// close ends the requests for permission.
func (t *turn) close() {
	for _, cancel := range t.asking {
		cancel()
	}
	t.deciding.Wait()
}

// event shows an event of the turn. Events that the editor has are left out.
func (t *turn) event(ctx context.Context, e *ask.Event) {
	if e.InLog() {
		if e.Seq <= t.after {
			return
		}
		t.shown = e.Seq // several events may have one position
	}
	switch e.Type {
	case ask.Opened:
		t.thought(ctx, fmt.Sprintf("**%s** %s", e.Envelope.From, cmp.Or(e.Text, "begins to reason")))
	case ask.Thought:
		t.step(ctx, e)
	case ask.Said:
		t.thought(ctx, fmt.Sprintf("**%s**: %s", e.Envelope.From, e.Text))
	case ask.StreamOpened:
		t.growing.Put(e.Ref, newGrown())
	case ask.Delta:
		if shown, known := t.growing.Get(e.Ref); known && e.Text != "" {
			shown.add(e.Text)
			t.send(ctx, textChunk("agent_thought_chunk", e.Text))
		}
	case ask.Answering:
		t.say(ctx, e)
	case ask.Retracted:
		if e.Ref != t.saying {
			return
		}
		t.saying = ""
		t.answers--
		if t.answers == 0 { // what was shown of it cannot be taken back
			t.send(ctx, textChunk("agent_message_chunk", "\n\n"))
		}
	case ask.Closed:
		t.closed(ctx, e)
	case ask.Called, ask.Proposed:
		t.call(ctx, e)
	case ask.Returned:
		t.result(ctx, e)
	case ask.Settled:
		t.settled(ctx, e)
	case ask.Answered:
		t.answer(ctx, e)
	case ask.Ended:
		t.ended(ctx, e)
	}
}

func (t *turn) send(ctx context.Context, update map[string]any) {
	t.server.update(ctx, t.session, update)
}

func (t *turn) thought(ctx context.Context, text string) {
	t.send(ctx, textChunk("agent_thought_chunk", text+"\n\n"))
}

// grown identifies a text that grows, without keeping it.
type grown struct {
	hash maphash.Hash
	size int
}

var grownSeed = maphash.MakeSeed()

func newGrown() *grown {
	g := new(grown)
	g.hash.SetSeed(grownSeed)
	return g
}

func (g *grown) add(text string) {
	_, _ = g.hash.WriteString(text) // never fails
	g.size += len(text)
}

// rest returns what follows the grown text in a text; false: it does not begin with it.
func (g *grown) rest(text string) (string, bool) {
	if len(text) < g.size || maphash.String(grownSeed, text[:g.size]) != g.hash.Sum64() {
		return "", false
	}
	return text[g.size:], true
}

// step shows a step of reasoning, or what is missing of one that grew.
func (t *turn) step(ctx context.Context, e *ask.Event) {
	id := protocol.ID(e.Envelope.ParsePayload().Get("stream_id").Text())
	if shown, known := t.growing.Get(id); known && shown.size > 0 {
		t.growing.Put(id, newGrown())
		if rest, same := shown.rest(e.Text); same {
			t.thought(ctx, rest)
			return
		}
		t.send(ctx, textChunk("agent_thought_chunk", "\n\n"))
	}
	if e.Text != "" {
		t.thought(ctx, e.Text)
	}
}

// closed shows the end of a context.
func (t *turn) closed(ctx context.Context, e *ask.Event) {
	word := "concludes"
	if e.Envelope.Kind == protocol.KindReasoningCancel {
		word = "stops"
	}
	t.thought(ctx, strings.TrimSuffix(fmt.Sprintf("**%s** %s: %s", e.Envelope.From, word, e.Text), ": "))
}

// call shows a call, or a proposal of one, with the participant that runs the tool if another
// one does. It asks the user for the decision about a proposal that the participant may decide.
func (t *turn) call(ctx context.Context, e *ask.Event) {
	payload := e.Envelope.ParsePayload()
	params := payload.Get("params")
	name := cmp.Or(params.Get("name").Text(), payload.Get("method").Text())
	host := protocol.ParticipantIn(payload, "participant_id")
	if e.Type == ask.Called && len(e.Envelope.To) > 0 {
		host = e.Envelope.To[0]
	}
	title := name
	if host != "" && host != e.Envelope.From {
		title = string(host) + ": " + name
	}
	if more := params.Get("_meta").Get("title").Text(); more != "" && more != name {
		title += " (" + more + ")"
	}
	update := map[string]any{"sessionUpdate": "tool_call", "toolCallId": e.Ref, "kind": "other", "status": "in_progress", "title": title}
	_, shown := exchange.ShownCall(payload)
	if len(shown) > 0 {
		update["rawInput"] = json.RawMessage(shown)
	}
	if e.Type == ask.Proposed {
		update["status"] = "pending"
	}
	t.send(ctx, update)
	if e.Type != ask.Proposed || !ask.MayDecide(ctx, t.server.o.Client, t.server.o.Space, e.Envelope) {
		return
	}
	id := e.Envelope.ID
	ctx, cancel := context.WithCancel(ctx)
	t.asking[id] = cancel
	asked := map[string]any{"toolCallId": id, "status": "pending", "title": fmt.Sprintf("%s asks: %s", e.Envelope.From, title), "rawInput": update["rawInput"]}
	if len(shown) > 0 {
		asked["content"] = []any{map[string]any{"type": "content", "content": map[string]string{"type": "text", "text": fenced(string(shown))}}}
	}
	t.deciding.Go(func() { t.decide(ctx, id, asked) })
}

// result shows the response to a call.
func (t *turn) result(ctx context.Context, e *ask.Event) {
	payload := e.Envelope.ParsePayload()
	result, fault := payload.Get("result"), payload.Get("error")
	status, text := "completed", ""
	for c := range result.Get("content").Elements {
		text += c.Get("text").Text()
	}
	switch {
	case fault.Exists():
		status, text = "failed", fault.Get("message").Text()
	case result.Get("isError").Bool():
		status = "failed"
	case text == "":
		text = string(result.Raw())
	}
	t.send(ctx, statusOf(e.Ref, status, text))
}

func statusOf(call protocol.ID, status, text string) map[string]any {
	update := map[string]any{"sessionUpdate": "tool_call_update", "toolCallId": call, "status": status}
	if text != "" {
		update["content"] = []any{map[string]any{"type": "content", "content": map[string]string{"type": "text", "text": text}}}
	}
	return update
}

// settled shows the decision about a proposal.
func (t *turn) settled(ctx context.Context, e *ask.Event) {
	if cancel := t.asking[e.Ref]; cancel != nil {
		cancel()
		delete(t.asking, e.Ref)
	}
	if e.State == string(exchange.Fulfilled) {
		t.send(ctx, statusOf(e.Ref, "in_progress", ""))
		return
	}
	text := fmt.Sprintf("%s by %s", e.State, e.Envelope.From)
	if e.Text != "" {
		text += ": " + e.Text
	}
	t.send(ctx, statusOf(e.Ref, "failed", text))
}

// answer shows an answer; with its name, if several participants answer, or one that was
// not asked.
func (t *turn) answer(ctx context.Context, e *ask.Event) {
	text := e.Text
	stream := protocol.ID(e.Envelope.ParsePayload().Get("stream_id").Text())
	if shown, known := t.growing.Get(stream); known && stream == t.saying {
		t.saying = ""
		if rest, same := shown.rest(text); same {
			if rest != "" {
				t.send(ctx, textChunk("agent_message_chunk", rest))
			}
			return
		}
	}
	t.send(ctx, textChunk("agent_message_chunk", t.before(e.Envelope.From)+text))
}

// say shows an addition to an answer, unless another one grows.
func (t *turn) say(ctx context.Context, e *ask.Event) {
	if _, missed := t.missed.Get(e.Ref); e.Text == "" || missed {
		return
	}
	if t.saying != "" && t.saying != e.Ref {
		t.missed.Put(e.Ref, struct{}{})
		return
	}
	text := e.Text
	shown, known := t.growing.Get(e.Ref)
	if !known {
		shown = newGrown()
		t.growing.Put(e.Ref, shown)
		text = t.before(e.Envelope.From) + text
	}
	t.saying = e.Ref
	shown.add(e.Text)
	t.send(ctx, textChunk("agent_message_chunk", text))
}

// before returns the text between two answers, with the sender of the second if it was
// not asked or is not the first.
func (t *turn) before(from protocol.ParticipantID) (text string) {
	to := t.question.To
	if t.answers > 0 || len(to) > 0 && !slices.Contains(to, from) {
		text = fmt.Sprintf("**%s**: ", from)
	}
	if t.answers > 0 {
		text = "\n\n" + text
	}
	t.answers++
	return text
}

// ended shows the end of a turn that has no answer, and no text that says why.
func (t *turn) ended(ctx context.Context, e *ask.Event) {
	switch {
	case t.answers > 0 && e.State != ask.Withdrawn:
	case e.State == ask.Failed:
		t.send(ctx, textChunk("agent_message_chunk", "No participant has answered. "+e.Text))
	case e.State == ask.Withdrawn:
		t.send(ctx, textChunk("agent_message_chunk", "The question was withdrawn. "+e.Text))
	default:
		t.send(ctx, textChunk("agent_message_chunk", e.Text))
	}
}

// decide asks the user about a proposal, and publishes the decision.
func (t *turn) decide(ctx context.Context, about protocol.ID, call map[string]any) {
	var out struct {
		Outcome struct {
			Outcome string `json:"outcome"`
			Option  string `json:"optionId"`
		} `json:"outcome"`
	}
	err := t.server.conn.Call(ctx, "session/request_permission", map[string]any{
		"sessionId": t.session.id, "toolCall": call, "options": []any{
			map[string]string{"optionId": approve, "name": "Approve once", "kind": "allow_once"},
			map[string]string{"optionId": reject, "name": "Reject", "kind": "reject_once"},
		},
	}, &out)
	option := out.Outcome.Option
	if err != nil || out.Outcome.Outcome != "selected" || option != approve && option != reject || ctx.Err() != nil {
		return // another participant may decide
	}
	o := &t.server.o
	_, err = ask.Decide(ctx, o.Client, t.question, about, t.server.idOf(option, string(about)), option == approve, "disagree")
	if err != nil && ctx.Err() == nil {
		o.Log.Warn("decision not published", "proposal", about, "err", err)
		t.thought(ctx, fmt.Sprintf("The decision was not accepted: %v", faultOf(err)))
	}
}

// The ids of the options.
const (
	approve = "approve"
	reject  = "reject"
)
