package agent

import (
	"context"
	"errors"
	"sync"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/participant"
	"github.com/meup-protocol/meup/protocol"
)

// publish publishes envelopes in order, without waiting for one before sending
// the next. It returns when each is admitted or refused, with the error of the
// first that was not admitted.
func (a *Agent) publish(ctx context.Context, envs ...protocol.Envelope) error {
	for _, err := range a.publishEach(ctx, envs...) {
		if err != nil {
			return err
		}
	}
	return nil
}

// publishEach is publish with an error for each envelope; a refusal by the
// gateway is a *protocol.Error. Envelopes refused because the agent is paused
// are sent again when the pause ends. If ctx ends, publishEach waits a little
// longer for the envelopes already sent, because only unsent and refused envelopes
// count as not published. If the result remains unknown, the
// error is an *unknownOutcome.
func (a *Agent) publishEach(ctx context.Context, envs ...protocol.Envelope) []error {
	errs := make([]error, len(envs))
	waiting := make([]*client.Pending, len(envs))
	mark := a.runtime.Gate.Generation()
	for i := range envs {
		if envs[i].ID == "" {
			envs[i].ID = newID()
		}
		a.sentIDs.add(envs[i].ID)
		waiting[i], errs[i] = a.opts.Space.SendAsync(ctx, envs[i])
	}
	for i, p := range waiting {
		if p == nil {
			errs[i] = causeOf(ctx, errs[i])
			continue
		}
		errs[i] = a.resend(ctx, envs[i], mark, a.awaitReceipt(ctx, p))
	}
	return errs
}

// awaitReceipt waits for the gateway's answer to an envelope.
func (a *Agent) awaitReceipt(ctx context.Context, p *client.Pending) error {
	_, err := p.Wait(ctx)
	if err == nil || ctx.Err() == nil {
		return err
	}
	late, cancel := a.finalContext()
	defer cancel()
	if _, err = p.Wait(late); err != nil && late.Err() != nil {
		return &unknownOutcome{context.Cause(ctx)}
	}
	return err
}

// unknownOutcome is the error of an envelope that may or may not be in the log.
type unknownOutcome struct{ cause error }

// Error returns the text of the cause.
func (u *unknownOutcome) Error() string { return u.cause.Error() }

// Unwrap returns the cause, for errors.As.
func (u *unknownOutcome) Unwrap() error { return u.cause }

// maybePublished reports whether an envelope is or may be in the log.
func maybePublished(err error) bool {
	var u *unknownOutcome
	return err == nil || errors.As(err, &u)
}

// resend resends an envelope while it is refused because of a pause.
func (a *Agent) resend(ctx context.Context, env protocol.Envelope, mark int, err error) error {
	for isPaused(err) && ctx.Err() == nil {
		if err := a.runtime.Gate.WaitRefused(ctx, mark); err != nil {
			return err
		}
		mark = a.runtime.Gate.Generation()
		_, err = a.opts.Space.Send(ctx, env)
	}
	if !maybePublished(err) {
		return causeOf(ctx, err)
	}
	return err
}

func isPaused(err error) bool { return errors.Is(err, &protocol.Error{Code: protocol.CodePaused}) }

// causeOf replaces the error of an ended context by the context's cause.
func causeOf(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// publishFinal publishes an envelope after the work has ended, so that every
// request has a response and no context remains open, if the gateway allows it.
// During a pause it waits and resends.
func (a *Agent) publishFinal(what string, env protocol.Envelope) {
	if env.ID == "" {
		env.ID = newID()
	}
	a.sentIDs.add(env.ID)
	for {
		mark := a.runtime.Gate.Generation()
		err := a.sendFinal(env)
		if isPaused(err) && a.runtime.Gate.WaitRefused(a.runtime.Work, mark) == nil {
			continue
		}
		if err != nil {
			a.log.Warn(what+" not shared", "context", env.Context, "err", err)
		}
		return
	}
}

func (a *Agent) sendFinal(env protocol.Envelope) error {
	ctx, cancel := a.finalContext()
	defer cancel()
	_, err := a.opts.Space.Send(ctx, env)
	return err
}

// finalContext returns a context for the envelopes that are published after the
// work has ended. When the agent shuts down, all of them share one deadline.
func (a *Agent) finalContext() (context.Context, context.CancelFunc) {
	return context.WithTimeout(a.runtime.Final, participant.ClosingTime)
}

// idSet is a bounded set of ids. Agent.sentIDs holds the ids of envelopes that
// this process sent and has not received back: other envelopes of the same
// participant come from a person with its token, or from another process that
// takes over.
type idSet struct {
	mu    sync.Mutex
	ids   map[protocol.ID]bool
	order []protocol.ID // oldest first
}

// maxIDs bounds the stored ids; the oldest are evicted.
const maxIDs = 100_000

func (o *idSet) add(id protocol.ID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ids == nil {
		o.ids = make(map[protocol.ID]bool)
	}
	o.ids[id] = true
	if o.order = append(o.order, id); len(o.order) > maxIDs {
		delete(o.ids, o.order[0])
		o.order = o.order[1:]
	}
}

func (o *idSet) has(id protocol.ID) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.ids[id]
}

// remove removes an id, and reports whether it was in the set.
func (o *idSet) remove(id protocol.ID) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	mine := o.ids[id]
	delete(o.ids, id)
	return mine
}

// inbox delivers envelopes that correlate to the agent's own requests and
// proposals to the goroutines that wait for them.
type inbox struct {
	mu    sync.Mutex
	boxes map[protocol.ID]*box
}

// box receives the envelopes that correlate to one envelope.
type box struct {
	in chan protocol.Envelope
	// follow are the received requests. Their responses are expected too, from
	// the time each request is received.
	follow []protocol.ID
}

// maxUnread bounds the queue of one box: a few responses, and presence notices
// in between. If the queue is full, envelopes are dropped; the reader has its
// own timeout.
const maxUnread = 16

// expect opens a box for envelopes that correlate to id. Call it before sending
// the envelope, so that no response is missed.
func (in *inbox) expect(id protocol.ID) <-chan protocol.Envelope {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.expectLocked(id).in
}

func (in *inbox) expectLocked(id protocol.ID) *box {
	if b := in.boxes[id]; b != nil {
		return b
	}
	if in.boxes == nil {
		in.boxes = make(map[protocol.ID]*box)
	}
	b := &box{in: make(chan protocol.Envelope, maxUnread)}
	in.boxes[id] = b
	return b
}

// release closes a box and the boxes of the requests received in it.
func (in *inbox) release(id protocol.ID) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if b := in.boxes[id]; b != nil {
		for _, request := range b.follow {
			delete(in.boxes, request)
		}
		delete(in.boxes, id)
	}
}

// deliver passes an envelope to the boxes that it correlates to, the end of a
// context to the box of its reasoning.start, and presence to every box. It reports whether a box accepted it as an answer. It does not
// block.
func (in *inbox) deliver(env *protocol.Envelope) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if env.Kind == protocol.KindSystemPresence {
		for _, b := range in.boxes {
			b.put(env)
		}
		return false
	}
	taken := false
	if env.Kind == protocol.KindReasoningConclusion || env.Kind == protocol.KindReasoningCancel {
		if b := in.boxes[protocol.ID(env.Context.Last())]; b != nil && !env.Correlation.Names(protocol.ID(env.Context.Last())) {
			b.put(env) // the end of a part that another agent took
		}
	}
	for _, id := range env.Correlation.IDs {
		b := in.boxes[id]
		if b == nil || !b.put(env) {
			continue
		}
		if taken = true; env.Kind != protocol.KindMCPRequest {
			continue
		}
		in.expectLocked(env.ID)
		b.follow = append(b.follow, env.ID)
	}
	return taken
}

func (b *box) put(env *protocol.Envelope) bool {
	select {
	case b.in <- *env:
		return true
	default:
		return false
	}
}
