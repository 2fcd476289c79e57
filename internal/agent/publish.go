package agent

import (
	"context"
	"errors"

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
		a.sentIDs.Add(envs[i].ID)
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
	a.sentIDs.Add(env.ID)
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
