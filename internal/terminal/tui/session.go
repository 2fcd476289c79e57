package tui

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/protocol"
)

// Bounds of the work in progress. Sends are bounded by the outbox alone, so
// that no read can delay a message.
const (
	maxReads     = 16  // requested by the person
	maxTurnReads = 48  // requested by the terminal itself
	maxBatch     = 256 // events passed to the front end at once
	tickEvery    = 100 * time.Millisecond
	askFor       = 20 * time.Second // for one call of the API
)

// session connects a model with the space.
type session struct {
	opts   Options
	client *client.Client
	model  *model

	ctx    context.Context // ends with close, or with the context of Run
	cancel context.CancelFunc
	group  sync.WaitGroup

	events chan event
	// The number of effects in progress; owned by the front end's goroutine.
	sends, reads, turnReads int
	busy                    atomic.Bool // the model needs ticks

	mu    sync.Mutex
	state []client.State // the latest states that are not handled yet
	wake  chan struct{}
}

// join connects and begins to receive.
func join(ctx context.Context, opts Options) (*session, error) {
	s := &session{
		opts: opts, events: make(chan event, maxBatch), wake: make(chan struct{}, 1),
	}
	since, err := startPosition(ctx, opts)
	if err != nil {
		return nil, err
	}
	s.client, err = client.Dial(ctx, client.Options{
		URL: opts.URL, Space: opts.Space, Token: opts.Token, Since: since,
		Backoff: opts.Backoff, OnState: s.onState, Logger: opts.Logger,
	})
	if err != nil {
		return nil, fmt.Errorf("join %s: %w", opts.Space, err)
	}
	s.ctx, s.cancel = context.WithCancel(ctx)
	s.model = newModel(s.client.Welcome(), opts)
	s.group.Go(s.receive)
	return s, nil
}

// startPosition returns the position in the log at which to begin.
func startPosition(ctx context.Context, opts Options) (client.Position, error) {
	if opts.Recall < 0 {
		return client.Position{}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	page, err := opts.API.Envelopes(ctx, opts.Space, api.EnvelopeQuery{Descending: true, Limit: min(opts.Recall, 1000)})
	if err != nil {
		return client.Position{}, fmt.Errorf("look what was said before in %s: %w", opts.Space, err)
	}
	if len(page.Envelopes) == 0 {
		return client.Position{}, nil
	}
	return client.After(page.Envelopes[len(page.Envelopes)-1].Seq - 1).In(page.Log), nil
}

// close leaves the space and waits for all goroutines.
func (s *session) close() {
	s.cancel()
	_ = s.client.Close()
	s.group.Wait()
}

// onState receives the states of the connection from the client. It must not
// block, so it queues the states.
func (s *session) onState(state client.State) {
	s.mu.Lock()
	s.state = append(s.state, state)
	if len(s.state) > 8 {
		s.state = s.state[len(s.state)-8:]
	}
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *session) takeStates() []event {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []event
	for _, state := range s.state {
		list = append(list, linked{state})
	}
	s.state = nil
	return list
}

// post sends an event to the front end, unless the session has ended.
func (s *session) post(e event) {
	select {
	case s.events <- e:
	case <-s.ctx.Done():
	}
}

// receive receives envelopes until the client ends.
func (s *session) receive() {
	for {
		env, err := s.client.Receive(s.ctx)
		var gap *client.GapError
		switch {
		case err == nil:
			s.post(received{env})
		case errors.As(err, &gap):
			s.post(missed{gap})
		default:
			s.post(ended{err})
			return
		}
	}
}

// next waits for events and returns the available ones in order; nil when the
// session has ended.
func (s *session) next(ticks <-chan time.Time) []event {
	select {
	case e := <-s.events:
		return s.drain([]event{e})
	case <-s.wake:
		return s.takeStates()
	case <-ticks:
		if s.busy.Load() {
			return []event{ticked{}}
		}
		return []event{}
	case <-s.ctx.Done():
		return nil
	}
}

func (s *session) drain(list []event) []event {
	for len(list) < maxBatch {
		select {
		case e := <-s.events:
			list = append(list, e)
		default:
			return list
		}
	}
	return list
}

// startEffects starts the effects of the model, and reports whether the person
// leaves. It does not block.
func (s *session) startEffects() (left bool) {
	for {
		list := s.model.takeEffects()
		if len(list) == 0 {
			s.busy.Store(s.model.busy())
			return left
		}
		for _, e := range list {
			if _, leaving := e.(leave); leaving {
				left = true
				continue
			}
			s.begin(e)
		}
	}
}

// begin starts an effect, or refuses a read if too many are in progress.
func (s *session) begin(e effect) {
	count, limit := s.inProgress(e)
	if *count >= limit {
		s.model.apply(refusedRead(e))
		return
	}
	*count++
	s.group.Go(func() { s.post(finished{e, s.perform(e)}) })
}

// inProgress returns the counter for an effect of this type, and its limit.
func (s *session) inProgress(e effect) (count *int, limit int) {
	switch e.(type) {
	case send:
		return &s.sends, math.MaxInt
	case readTurn:
		return &s.turnReads, maxTurnReads
	}
	return &s.reads, maxReads
}

// finished is the result of an effect.
type finished struct {
	effect effect
	event  event
}

// take applies an event to the model.
func (s *session) take(e event) {
	if f, ok := e.(finished); ok {
		count, _ := s.inProgress(f.effect)
		*count--
		e = f.event
	}
	s.model.apply(e)
}

// idle reports whether no effect is in progress and no message is unsent.
func (s *session) idle() bool {
	return s.sends+s.reads+s.turnReads == 0 && s.model.outbox.unsent() == 0
}

var errTooManyReads = errors.New("too many reads are in progress; try again in a moment")

// refusedRead returns the event of a read that exceeds the limit.
func refusedRead(e effect) event {
	switch e := e.(type) {
	case readTurn:
		return turnRead{asked: e, err: errTooManyReads}
	case readHistory:
		return historyRead{asked: e, err: errTooManyReads}
	case export:
		return exported{file: e.file, err: errTooManyReads}
	case readGrants:
		return grantsRead{asked: e, err: errTooManyReads}
	case readPeople:
		return peopleRead{err: errTooManyReads}
	}
	return nil
}

// perform performs an effect and returns its result.
func (s *session) perform(e effect) event {
	if e, ok := e.(send); ok {
		_, err := s.client.Send(s.ctx, e.env)
		return answered{e.env.ID, err}
	}
	ctx, cancel := context.WithTimeout(s.ctx, askFor)
	defer cancel()
	switch e := e.(type) {
	case readTurn:
		turn, err := s.turnOf(ctx, e.envelope)
		return turnRead{e, turn, err}
	case readHistory:
		return s.history(ctx, e)
	case export:
		return s.export(ctx, e)
	case readPeople:
		here, err := s.opts.API.Participants(ctx, s.opts.Space)
		return peopleRead{here, err}
	case readGrants:
		kinds := []string{string(protocol.KindCapabilityGrant), string(protocol.KindCapabilityRevoke)}
		page, err := s.opts.API.Envelopes(ctx, s.opts.Space, api.EnvelopeQuery{Kinds: kinds, Limit: 1000, Descending: true})
		if err != nil {
			return grantsRead{asked: e, err: err}
		}
		return grantsRead{asked: e, envs: page.Envelopes}
	}
	return nil
}
