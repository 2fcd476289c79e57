package acp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/meup-protocol/meup/internal/agent"
	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/protocol"
)

// Bounds of a turn.
const (
	maxSegment = 16 << 10 // bytes of a thought; a longer one is several
	maxAnswer  = 48 << 10 // bytes of the answer; what precedes is thoughts
	maxOut     = 256      // envelopes that wait to be published while the program is read
	maxLate    = 768      // further ones, of one message and after the prompt was canceled
	maxCalls   = 4096     // calls of a turn; further ones are not shown
	maxRounds  = 4        // prompts after the first one
)

// turn is the work of the program on one question.
type turn struct {
	agent   *Agent
	task    *agent.Task
	session *session
	ctx     context.Context // of the question
	out     chan draft
	room    chan struct{} // signals that an envelope was taken from out; one entry
	over    chan error    // a limit of the question; one entry
	alive   chan struct{} // signals a message of the program; one entry
	asking  sync.WaitGroup
	failed  map[protocol.ID]error // requests that were not published; owned by publish

	mu      sync.Mutex
	live    *agent.DeltaStreams
	kind    llm.DeltaKind // of text
	text    strings.Builder
	split   [llm.ThinkingDelta + 1]textutil.Halves // of the chunks of each kind
	message string                                 // id of the message that grows
	answer  string                                 // the last complete message
	stream  string                                 // that carried it
	calls   map[string]*call
	order   []*call
	notes   []string // for the next prompt
	pending int      // requests for permission
	usage   usage
	ended   bool

	prompting context.Context // ends with the prompt in progress; nil: there is none
}

// draft is an envelope to publish.
type draft struct {
	protocol.Envelope
	about   protocol.ID        // in place of an envelope: result gets the error of this request
	result  chan<- error       // nil: the result is only logged
	instead *protocol.Envelope // of the response to a request that was refused; nil: none
}

// Solve implements agent.Solver.
func (a *Agent) Solve(ctx context.Context, task *agent.Task) (agent.Solution, error) {
	s, err := a.take(ctx, a.threadOf(task))
	if err != nil {
		return agent.Solution{}, err
	}
	defer a.release(s)
	t := &turn{
		agent: a, task: task, session: s, ctx: ctx, out: make(chan draft, maxOut+maxLate), room: make(chan struct{}, 1), over: make(chan error, 1), alive: make(chan struct{}, 1),
		live: task.Streams(), calls: make(map[string]*call), failed: make(map[protocol.ID]error), usage: usage{start: s.cost, cost: s.cost, before: s.tokens, used: s.tokens},
	}
	var publishing sync.WaitGroup
	publishing.Go(t.publish)
	p := s.program
	p.mu.Lock()
	p.turns[s.id] = t
	p.mu.Unlock()
	reason, err := t.work()
	p.mu.Lock()
	delete(p.turns, s.id)
	p.mu.Unlock()
	t.asking.Wait()
	t.finish(err)
	close(t.out)
	publishing.Wait()
	s.cost, s.tokens = t.usage.cost, t.usage.used
	// A call that the program has not ended gets a response.
	why := "the agent ended its turn without a result of this call"
	if err != nil {
		why = "the question ended before this call did; the call may have taken effect or not"
	}
	for _, c := range t.order {
		if c.settled {
			continue
		}
		if e, ok := t.failure(c, why); ok && t.answers(&e) {
			task.Out.Final("response", e)
		}
	}
	if err != nil {
		return agent.Solution{}, err
	}
	return t.solution(reason)
}

// work prompts the program until it has nothing more to read. It returns why the program
// stopped.
func (t *turn) work() (string, error) {
	text := t.agent.firstPrompt(t.task, t.session.fresh)
	for round := 0; ; round++ {
		reason, err := t.prompt(text)
		switch {
		case errors.Is(err, errPaused):
			if err := t.task.Runtime.Gate.Wait(t.ctx); err != nil {
				return "", err
			}
			text = resumedPrompt
			round--
			continue
		case err != nil:
			return "", err
		}
		// Before its answer is complete, the program reads why calls were not made, and the
		// remarks of other participants.
		t.mu.Lock()
		parts := t.notes
		t.notes = nil
		t.mu.Unlock()
		if remarks := t.task.Remarks(); remarks != "" {
			parts = append(parts, remarks)
		}
		if len(parts) == 0 {
			return reason, nil
		}
		t.mu.Lock()
		t.flushLocked("")
		t.mu.Unlock()
		if round >= maxRounds {
			return reason, nil
		}
		text = strings.Join(append(parts, "Continue, and end with your complete answer."), "\n\n")
	}
}

// errPaused is the cause that ends a prompt when the participant is paused.
var errPaused = errors.New("paused")

// prompt sends a prompt and waits for its end. It cancels the prompt when the question
// ends, the participant is paused, a limit is reached, or the program is silent; a program
// that does not end it then is killed.
func (t *turn) prompt(text string) (string, error) {
	ctx, stop := context.WithCancel(t.ctx)
	defer stop()
	t.mu.Lock()
	t.prompting = ctx
	t.mu.Unlock()
	paused := make(chan struct{})
	go func() { // ends with ctx
		if t.task.Runtime.Gate.WaitClosed(ctx) == nil {
			close(paused)
		}
	}()
	var out struct {
		Reason string `json:"stopReason"`
		Usage  *struct {
			Total int64 `json:"totalTokens"`
		} `json:"usage"`
	}
	done, p := make(chan error, 1), t.session.program
	go func() { // ends with the prompt, or with the program
		done <- p.conn.Call(context.WithoutCancel(t.ctx), "session/prompt", map[string]any{
			"sessionId": t.session.id, "prompt": []any{map[string]string{"type": "text", "text": text}},
		}, &out)
	}()
	ended, err := t.await(done, paused)
	stop()
	t.mu.Lock()
	t.prompting = nil
	t.mu.Unlock()
	if !ended {
		go func() { // ends with the program at the latest
			_ = p.conn.Notify(context.WithoutCancel(t.ctx), "session/cancel", map[string]any{"sessionId": t.session.id})
		}()
		timer := time.NewTimer(t.agent.o.CancelGrace)
		defer timer.Stop()
		select {
		case <-done: //nolint:errcheck // of a canceled prompt
		case <-timer.C:
			t.agent.o.Log.Warn("the agent program does not end a canceled prompt; it is killed")
			p.process.Kill()
			<-done //nolint:errcheck // of a canceled prompt
		}
		return "", err
	}
	if err != nil {
		return "", p.fault(t.ctx, err)
	}
	if out.Usage != nil {
		t.mu.Lock()
		t.usage.reported += out.Usage.Total
		t.checkLimitsLocked()
		t.mu.Unlock()
	}
	select {
	case err := <-t.over:
		return "", err
	default:
	}
	if out.Reason == "refusal" {
		return "", faultOf(nil, "the agent refused to go on")
	}
	return out.Reason, nil
}

// await waits for the end of a prompt, or for the reason to cancel it. It reports whether the prompt
// has ended.
func (t *turn) await(done <-chan error, paused <-chan struct{}) (bool, error) {
	idle := t.agent.o.After(t.agent.o.IdleTimeout)
	for {
		select {
		case err := <-done:
			return true, err
		case <-t.ctx.Done():
			return false, context.Cause(t.ctx)
		case <-paused:
			return false, errPaused
		case err := <-t.over:
			return false, err
		case <-t.alive:
			idle = t.agent.o.After(t.agent.o.IdleTimeout)
		case <-idle:
			t.mu.Lock()
			pending := t.pending
			t.mu.Unlock()
			if pending == 0 {
				return false, faultOf(nil, "the agent program sent nothing for %s", t.agent.o.IdleTimeout)
			}
			idle = t.agent.o.After(t.agent.o.IdleTimeout)
		}
	}
}

// publish publishes the drafts in order, until there are no more.
func (t *turn) publish() {
	for d := range t.out {
		select {
		case t.room <- struct{}{}:
		default:
		}
		if d.about != "" {
			d.result <- t.failed[d.about]
			continue
		}
		if !t.answers(&d.Envelope) {
			if d.instead == nil {
				continue
			}
			d.Envelope = *d.instead
		}
		err := t.task.Out.Publish(t.ctx, d.Envelope)
		if d.result != nil {
			d.result <- err
			continue
		}
		request := d.Kind == protocol.KindMCPRequest
		if err != nil && request {
			t.failed[d.ID] = err
		}
		if err != nil && t.ctx.Err() == nil && !(request && isViolation(err)) {
			t.agent.o.Log.Warn("a step is not shown", "kind", d.Kind, "err", err)
		}
	}
}

// isViolation reports whether the capabilities do not allow an envelope.
func isViolation(err error) bool {
	return errors.Is(err, &protocol.Error{Code: protocol.CodeCapabilityViolation})
}

// answers removes the requests that were refused from the ones that a response answers. It
// reports whether one is left.
func (t *turn) answers(e *protocol.Envelope) bool {
	if e.Kind != protocol.KindMCPResponse {
		return true
	}
	e.Correlation.IDs = slices.DeleteFunc(slices.Clone(e.Correlation.IDs), func(id protocol.ID) bool { return isViolation(t.failed[id]) })
	return len(e.Correlation.IDs) > 0
}

// awaitRoom waits while too many envelopes wait: the program is then not read. It does not
// wait after the prompt was canceled, so that the program can end it. Updates are handled
// one after the other, so one waits at a time.
func (t *turn) awaitRoom() {
	t.mu.Lock()
	prompting := t.prompting
	t.mu.Unlock()
	for prompting != nil && len(t.out) >= maxOut {
		select {
		case <-t.room:
		case <-prompting.Done():
			return
		}
	}
}

// errFull: the envelopes of a program that goes on after its prompt was canceled are dropped.
var errFull = errors.New("too many envelopes wait to be published")

// queueLocked queues a draft. It does not block: awaitRoom leaves room for what follows
// from one message of the program.
func (t *turn) queueLocked(d draft) {
	select {
	case t.out <- d:
	default:
		t.agent.o.Log.Warn("a step is not shown", "kind", d.Kind, "err", errFull)
		if d.result != nil {
			d.result <- errFull
		}
	}
}

// sendLocked queues an envelope.
func (t *turn) sendLocked(e protocol.Envelope) { t.queueLocked(draft{Envelope: e}) }

// thoughtLocked queues a thought.
func (t *turn) thoughtLocked(message string, more ...any) protocol.ID {
	e := t.task.Inside(protocol.KindReasoningThought, object(append([]any{"message", message}, more...)...))
	e.Correlation = protocol.CorrelateTo(protocol.ID(t.task.Context.Last())) // so that the asker sees the decisions about its calls
	t.sendLocked(e)
	return e.ID
}

// addLocked adds a text of the program.
func (t *turn) addLocked(kind llm.DeltaKind, text string) {
	limit := maxAnswer
	if kind == llm.ThinkingDelta {
		limit = maxSegment
	}
	if t.kind != kind {
		t.flushLocked("")
		t.kind = kind
	}
	for text != "" {
		part := strings.ToValidUTF8(text[:min(len(text), limit)], "")
		if len(part) == 0 || len(text) <= limit {
			part = text
		}
		if t.text.Len() > 0 && t.text.Len()+len(part) > limit {
			t.flushLocked("")
		}
		t.text.WriteString(part)
		t.live.Add(llm.Delta{Kind: kind, Text: part})
		text = text[len(part):]
	}
}

// flushLocked publishes the text so far as a thought, which explains a call of the tool, if
// any. It returns the id of the thought; "": there was no text.
func (t *turn) flushLocked(tool string) protocol.ID {
	t.live.Withdraw() // it is a thought
	text, ids := t.text.String(), t.live.End()
	t.text.Reset()
	if strings.TrimSpace(text) == "" {
		return ""
	}
	var more []any
	stream := ids.Text
	if t.kind == llm.ThinkingDelta {
		more, stream = append(more, "raw", true), ids.Thinking
	} else {
		t.answer, t.stream = text, ids.Text
	}
	if stream != "" {
		more = append(more, "stream_id", stream)
	}
	if tool != "" {
		more = append(more, "tool_name", tool)
	}
	return t.thoughtLocked(text, more...)
}

// finish ends the text that grows. The last message is the answer.
func (t *turn) finish(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	for _, c := range t.order {
		c.timer.Stop()
	}
	if err != nil || t.kind == llm.ThinkingDelta || strings.TrimSpace(t.text.String()) == "" {
		t.flushLocked("")
		return
	}
	ids := t.live.End()
	t.answer, t.stream = t.text.String(), cmp.Or(ids.Answer, ids.Text)
	t.text.Reset()
}

func (t *turn) solution(reason string) (agent.Solution, error) {
	s := agent.Solution{Answer: strings.TrimSpace(t.answer), Stream: t.stream, Metadata: map[string]any{"agent": t.session.program.name}}
	u := &t.usage
	tokens := u.tokens()
	if tokens > 0 {
		s.Metadata["tokens"] = tokens
	}
	if u.currency != "" {
		s.Metadata["cost"], s.Metadata["currency"] = math.Round((u.cost-u.start)*1e6)/1e6, u.currency
	}
	if reason != "end_turn" {
		s.Metadata["stop_reason"] = reason
	}
	switch reason {
	case "max_tokens", "max_turn_requests":
		s.Message = fmt.Sprintf("Stopped by a limit of the agent (%s).", reason)
		s.Answer = strings.TrimSpace(s.Answer + "\n\n(" + s.Message + ")")
	case "cancelled":
		if s.Answer == "" {
			return s, faultOf(nil, "the agent canceled its work")
		}
	}
	if s.Answer == "" {
		s.Answer = "I have finished, and have nothing to say about it."
	}
	s.Message = cmp.Or(s.Message, planner.FirstSentence(s.Answer))
	return s, nil
}
