package agent

import (
	"context"
	"errors"
	"fmt"

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
// once it is not.
func (a *Agent) ask(ctx context.Context, envs ...protocol.Envelope) []error {
	errs := make([]error, len(envs))
	waiting := make([]*client.Pending, len(envs))
	mark := a.gate.mark()
	for i := range envs {
		if envs[i].ID == "" {
			envs[i].ID = a.opts.NewID()
		}
		waiting[i], errs[i] = a.opts.Space.SendAsync(ctx, envs[i])
	}
	for i, p := range waiting {
		if p == nil {
			errs[i] = a.causeOf(ctx, errs[i])
			continue
		}
		_, err := p.Wait(ctx)
		errs[i] = a.again(ctx, envs[i], mark, err)
	}
	return errs
}

// again repeats an envelope until it is not for a pause that it is refused.
func (a *Agent) again(ctx context.Context, env protocol.Envelope, mark int, err error) error {
	for errors.Is(err, &protocol.Error{Code: protocol.CodePaused}) && ctx.Err() == nil {
		if err := a.gate.wait(ctx, mark); err != nil {
			return err
		}
		mark = a.gate.mark()
		_, err = a.opts.Space.Send(ctx, env)
	}
	return a.causeOf(ctx, err)
}

// causeOf gives an error of an ended context its reason.
func (*Agent) causeOf(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// sayStill says something although the work is over: every request gets a
// response, and no context stays open, as far as the gateway lets us.
func (a *Agent) sayStill(ctx context.Context, what string, env protocol.Envelope) {
	if errors.Is(context.Cause(ctx), client.ErrClosed) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closingTime)
	defer cancel()
	if env.ID == "" {
		env.ID = a.opts.NewID()
	}
	if _, err := a.opts.Space.Send(ctx, env); err != nil {
		a.log.Warn(what+" not shared", "context", env.Context, "err", err)
	}
}

// explain says a cause in words for the space.
func explain(cause error) string {
	var refusal *protocol.Error
	if errors.As(cause, &refusal) {
		return fmt.Sprintf("the gateway does not let me (%s: %s)", refusal.Code, trimStop(refusal.Message))
	}
	return trimStop(cause.Error())
}
