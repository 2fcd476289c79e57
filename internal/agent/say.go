package agent

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/protocol"
)

// say puts envelopes into the log, all of them on their way at once and in
// their order, and returns when every one is there. The error is that of the
// first one that is not.
func (a *Agent) say(ctx context.Context, envs ...protocol.Envelope) error {
	for _, err := range a.ask(ctx, envs...) {
		if err != nil {
			return err
		}
	}
	return nil
}

// ask is say with an error for each envelope; a refusal of the gateway is a
// *protocol.Error. What was refused because the agent is paused is said again
// once it is not. When ctx ends meanwhile, what is on its way is waited for a
// little longer: only what did not go out, or was refused, may be taken for
// unsaid. A fate that stays unknown is an *unsettled.
func (a *Agent) ask(ctx context.Context, envs ...protocol.Envelope) []error {
	errs := make([]error, len(envs))
	waiting := make([]*client.Pending, len(envs))
	mark := a.gate.mark()
	for i := range envs {
		if envs[i].ID == "" {
			envs[i].ID = a.opts.NewID()
		}
		a.own.note(envs[i].ID)
		waiting[i], errs[i] = a.opts.Space.SendAsync(ctx, envs[i])
	}
	for i, p := range waiting {
		if p == nil {
			errs[i] = causeOf(ctx, errs[i])
			continue
		}
		errs[i] = a.again(ctx, envs[i], mark, a.settled(ctx, p))
	}
	return errs
}

// settled waits until it is known what became of an envelope.
func (a *Agent) settled(ctx context.Context, p *client.Pending) error {
	_, err := p.Wait(ctx)
	if err == nil || ctx.Err() == nil {
		return err
	}
	late, cancel := a.lastWords(ctx)
	defer cancel()
	if _, err = p.Wait(late); err != nil && late.Err() != nil {
		return &unsettled{context.Cause(ctx)}
	}
	return err
}

// unsettled is the error of an envelope that may or may not be in the log.
type unsettled struct{ cause error }

// Error says why nobody waits any longer.
func (u *unsettled) Error() string { return u.cause.Error() }

// Unwrap gives the cause to errors.As.
func (u *unsettled) Unwrap() error { return u.cause }

// maybeSaid reports whether an envelope is in the log, or may be.
func maybeSaid(err error) bool {
	var u *unsettled
	return err == nil || errors.As(err, &u)
}

// again repeats an envelope until it is not for a pause that it is refused.
func (a *Agent) again(ctx context.Context, env protocol.Envelope, mark int, err error) error {
	for isPaused(err) && ctx.Err() == nil {
		if err := a.gate.wait(ctx, mark); err != nil {
			return err
		}
		mark = a.gate.mark()
		_, err = a.opts.Space.Send(ctx, env)
	}
	if !maybeSaid(err) {
		return causeOf(ctx, err)
	}
	return err
}

func isPaused(err error) bool { return errors.Is(err, &protocol.Error{Code: protocol.CodePaused}) }

// causeOf gives an error of an ended context its reason.
func causeOf(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// sayStill says something although the work is over: every request gets a
// response, and no context stays open, as far as the gateway lets us. A pause
// holds it back and does not swallow it.
func (a *Agent) sayStill(ctx context.Context, what string, env protocol.Envelope) {
	if env.ID == "" {
		env.ID = a.opts.NewID()
	}
	a.own.note(env.ID)
	for {
		mark := a.gate.mark()
		err := a.sayOnce(ctx, env)
		if isPaused(err) && a.gate.wait(a.life, mark) == nil {
			continue
		}
		if err != nil {
			a.log.Warn(what+" not shared", "context", env.Context, "err", err)
		}
		return
	}
}

func (a *Agent) sayOnce(ctx context.Context, env protocol.Envelope) error {
	ctx, cancel := a.lastWords(ctx)
	defer cancel()
	_, err := a.opts.Space.Send(ctx, env)
	return err
}

// lastWords is a context for what is still to be said when the work is over.
// Once the agent itself ends, all of it together has closingTime.
func (a *Agent) lastWords(ctx context.Context) (context.Context, context.CancelFunc) {
	by := time.Now().Add(closingTime)
	if end := a.endBy.Load(); end != nil && end.Before(by) {
		by = *end
	}
	return context.WithDeadline(context.WithoutCancel(ctx), by)
}

// own remembers the ids of what this process has said and not heard back yet.
// The same participant may have other hands: a person with its token, or
// another process that takes over.
type own struct {
	mu    sync.Mutex
	ids   map[protocol.ID]bool
	order []protocol.ID // as they were noted
}

// maxOwn bounds what is remembered: the latest.
const maxOwn = 100_000

func (o *own) note(id protocol.ID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ids == nil {
		o.ids = make(map[protocol.ID]bool)
	}
	o.ids[id] = true
	if o.order = append(o.order, id); len(o.order) > maxOwn {
		delete(o.ids, o.order[0])
		o.order = o.order[1:]
	}
}

// heard reports whether this process has said it, and forgets it.
func (o *own) heard(id protocol.ID) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	mine := o.ids[id]
	delete(o.ids, id)
	return mine
}
