package agent

import (
	"context"
	"errors"
	"sync"

	"github.com/google/uuid"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/agent/participant"
	"github.com/meup-protocol/meup/protocol"
)

// Space is the part of *client.Client that the agent uses.
type Space interface {
	participant.Space
	// SendAsync returns before the envelope is admitted. Envelopes enter the
	// log in the order of the calls, unless the gateway held one of them back.
	SendAsync(ctx context.Context, draft protocol.Envelope) (*client.Pending, error)
}

// Publisher publishes envelopes. It is safe for concurrent use.
type Publisher struct {
	Space   Space
	Runtime *participant.Runtime
	// Sent are envelopes that this process sent and has not received back: others
	// of the same participant come from a person with its token, or from another
	// process that takes over.
	Sent recentIDs
}

// newID returns the id of a new envelope.
func newID() protocol.ID { return protocol.ID(uuid.Must(uuid.NewV7()).String()) }

// Publish publishes envelopes in order, without waiting for one before sending
// the next. It returns when each is admitted or refused, with the error of the
// first that was not admitted.
func (p *Publisher) Publish(ctx context.Context, envs ...protocol.Envelope) error {
	for _, err := range p.Each(ctx, envs...) {
		if err != nil {
			return err
		}
	}
	return nil
}

// Each is Publish with an error for each envelope; a refusal by the
// gateway is a *protocol.Error. Envelopes refused because the agent is paused
// are sent again when the pause ends. If ctx ends, Each waits a little
// longer for the envelopes already sent, because only unsent and refused envelopes
// count as not published. If the result remains unknown, the
// error is an *unknownError.
func (p *Publisher) Each(ctx context.Context, envs ...protocol.Envelope) []error {
	errs := make([]error, len(envs))
	waiting := make([]*client.Pending, len(envs))
	mark := p.Runtime.Gate.Generation()
	for i := range envs {
		if envs[i].ID == "" {
			envs[i].ID = newID()
		}
		p.Sent.Add(envs[i].ID)
		waiting[i], errs[i] = p.Space.SendAsync(ctx, envs[i])
	}
	for i, w := range waiting {
		if w == nil {
			errs[i] = causeOf(ctx, errs[i])
			continue
		}
		errs[i] = p.await(ctx, envs[i], w, mark)
	}
	return errs
}

// await waits for the gateway's answer to an envelope, and resends it while it is refused
// because of a pause. mark is the generation of the gate when it was sent.
func (p *Publisher) await(ctx context.Context, env protocol.Envelope, sent *client.Pending, mark int) error {
	_, err := sent.Wait(ctx)
	if err != nil && ctx.Err() != nil {
		late, cancel := p.finalContext()
		defer cancel()
		_, err = sent.Wait(late)
		if err != nil && late.Err() != nil {
			return &unknownError{context.Cause(ctx)}
		}
	}
	for isPaused(err) && ctx.Err() == nil {
		if err := p.Runtime.Gate.WaitRefused(ctx, mark); err != nil {
			return err
		}
		mark = p.Runtime.Gate.Generation()
		_, err = p.Space.Send(ctx, env)
	}
	if !MaybeSent(err) {
		return causeOf(ctx, err)
	}
	return err
}

// unknownError is the error of an envelope that may or may not be in the log.
type unknownError struct{ cause error }

// Error returns the text of the cause.
func (u *unknownError) Error() string { return u.cause.Error() }

// Unwrap returns the cause, for errors.As.
func (u *unknownError) Unwrap() error { return u.cause }

// MaybeSent reports whether an envelope is or may be in the log.
func MaybeSent(err error) bool {
	var u *unknownError
	return err == nil || errors.As(err, &u)
}

func isPaused(err error) bool { return errors.Is(err, &protocol.Error{Code: protocol.CodePaused}) }

// causeOf replaces the error of an ended context by the context's cause.
func causeOf(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// Final publishes an envelope after the work has ended, so that every
// request has a response and no context remains open, if the gateway allows it.
// During a pause it waits and resends.
func (p *Publisher) Final(what string, env protocol.Envelope) {
	if env.ID == "" {
		env.ID = newID()
	}
	p.Sent.Add(env.ID)
	for {
		mark := p.Runtime.Gate.Generation()
		ctx, cancel := p.finalContext()
		_, err := p.Space.Send(ctx, env)
		cancel()
		if isPaused(err) && p.Runtime.Gate.WaitRefused(p.Runtime.Work, mark) == nil {
			continue
		}
		if err != nil {
			p.Runtime.Log.Warn(what+" not shared", "context", env.Context, "err", err)
		}
		return
	}
}

// finalContext returns a context for the envelopes that are published after the
// work has ended. When the agent shuts down, all of them share one deadline.
func (p *Publisher) finalContext() (context.Context, context.CancelFunc) {
	return context.WithTimeout(p.Runtime.Final, participant.ClosingTime)
}

// recentIDs is a bounded set of ids. The zero recentIDs is empty. It is safe for concurrent
// use.
type recentIDs struct {
	mu    sync.Mutex
	ids   map[protocol.ID]bool
	order []protocol.ID // oldest first
}

// maxIDs bounds the stored ids; the oldest are evicted.
const maxIDs = 100_000

// Add adds an id.
func (o *recentIDs) Add(id protocol.ID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ids == nil {
		o.ids = make(map[protocol.ID]bool)
	}
	o.ids[id] = true
	o.order = append(o.order, id)
	if len(o.order) > maxIDs {
		delete(o.ids, o.order[0])
		o.order = o.order[1:]
	}
}

// Has reports whether an id is in the set.
func (o *recentIDs) Has(id protocol.ID) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.ids[id]
}

// Remove removes an id, and reports whether it was in the set.
func (o *recentIDs) Remove(id protocol.ID) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	mine := o.ids[id]
	delete(o.ids, id)
	return mine
}
