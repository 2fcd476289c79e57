package tui

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/terminal/block"
	"github.com/meup-protocol/meup/internal/terminal/conversation"
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
	model  *conversation.Model

	ctx    context.Context // ends with close, or with the context of Run
	cancel context.CancelFunc
	group  sync.WaitGroup

	recalled protocol.Seq   // of the newest envelope at the start; 0: none
	earlier  []api.Proposal // pending ones from before them, newest first

	events chan conversation.Event
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
		opts: opts, events: make(chan conversation.Event, maxBatch), wake: make(chan struct{}, 1),
	}
	since, err := s.startPosition(ctx)
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
	style := block.Colors()
	if opts.NoColor {
		style = block.Style{}
	}
	s.model = conversation.New(s.client.Welcome(), conversation.Options{Style: style, Now: opts.Now, NewID: opts.NewID})
	s.group.Go(s.receive)
	return s, nil
}

// maxEarlier bounds the pending proposals from before the envelopes that are recalled.
const maxEarlier = 50

// startPosition returns the position in the log at which to begin, and reads the proposals from
// before it that wait for a decision.
func (s *session) startPosition(ctx context.Context) (client.Position, error) {
	opts := &s.opts
	if opts.Recall < 0 {
		return client.Position{}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	page, err := opts.API.Envelopes(ctx, opts.Space, api.EnvelopeQuery{Descending: true, Limit: min(opts.Recall, 1000)})
	if err != nil {
		return client.Position{}, fmt.Errorf("read the history of %s: %w", opts.Space, err)
	}
	if len(page.Envelopes) == 0 {
		return client.Position{}, nil
	}
	s.recalled = page.Envelopes[0].Seq
	first := page.Envelopes[len(page.Envelopes)-1].Seq
	earlier, err := opts.API.Proposals(ctx, opts.Space, "pending", maxEarlier, first)
	if err != nil {
		return client.Position{}, fmt.Errorf("read the proposals of %s: %w", opts.Space, err)
	}
	s.earlier = earlier.Proposals
	return client.After(first - 1).In(page.Log), nil
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

func (s *session) takeStates() (list []conversation.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, state := range s.state {
		list = append(list, conversation.Linked{State: state})
	}
	s.state = nil
	return list
}

// post sends an event to the front end, unless the session has ended.
func (s *session) post(e conversation.Event) {
	select {
	case s.events <- e:
	case <-s.ctx.Done():
	}
}

// receive receives envelopes until the client ends.
func (s *session) receive() {
	for _, p := range slices.Backward(s.earlier) { // oldest first
		s.post(conversation.Received{Envelope: p.Envelope.Envelope})
	}
	recalling := s.recalled > 0
	for {
		env, err := s.client.Receive(s.ctx)
		var gap *client.GapError
		switch {
		case err == nil:
			s.post(conversation.Received{Envelope: env})
			if recalling && env.Seq >= s.recalled {
				recalling = false
				s.post(conversation.Recalled{})
			}
		case errors.As(err, &gap):
			s.post(conversation.Missed{Err: gap})
		case s.ctx.Err() != nil: // the session has ended, not the client
			return
		default:
			s.post(conversation.Ended{Err: err})
			return
		}
	}
}

// next waits for events and returns the available ones in order; nil when the
// session has ended.
func (s *session) next(ticks <-chan time.Time) []conversation.Event {
	select {
	case e := <-s.events:
		list := []conversation.Event{e}
		for len(list) < maxBatch {
			select {
			case e := <-s.events:
				list = append(list, e)
			default:
				return list
			}
		}
		return list
	case <-s.wake:
		if list := s.takeStates(); len(list) > 0 {
			return list
		}
		return s.next(ticks) // the states were taken before the wake
	case <-ticks:
		if s.busy.Load() {
			return []conversation.Event{conversation.Ticked{}}
		}
		return []conversation.Event{}
	case <-s.ctx.Done():
		return nil
	}
}

// startEffects starts the effects of the model, and reports whether the person
// leaves. It does not block: a read is refused if too many are in progress.
func (s *session) startEffects() (left bool) {
	for {
		list := s.model.TakeEffects()
		if len(list) == 0 {
			s.busy.Store(s.model.Busy())
			return left
		}
		for _, e := range list {
			if _, leaving := e.(conversation.Leave); leaving {
				left = true
				continue
			}
			count, limit := s.inProgress(e)
			if *count >= limit {
				s.model.Apply(refusedRead(e))
				continue
			}
			*count++
			s.group.Go(func() { s.post(finished{e, s.perform(e)}) })
		}
	}
}

// inProgress returns the counter for an effect of this type, and its limit.
func (s *session) inProgress(e conversation.Effect) (count *int, limit int) {
	switch e.(type) {
	case conversation.Send:
		return &s.sends, math.MaxInt
	case conversation.ReadTurn, conversation.ReadProposal:
		return &s.turnReads, maxTurnReads
	}
	return &s.reads, maxReads
}

// finished is the result of an effect.
type finished struct {
	effect conversation.Effect
	event  conversation.Event
}

// take applies an event to the model.
func (s *session) take(e conversation.Event) {
	if f, ok := e.(finished); ok {
		count, _ := s.inProgress(f.effect)
		*count--
		e = f.event
	}
	s.model.Apply(e)
}

var errTooManyReads = errors.New("too many reads are in progress; try again in a moment")

// refusedRead returns the event of a read that exceeds the limit.
func refusedRead(e conversation.Effect) conversation.Event {
	switch e := e.(type) {
	case conversation.ReadTurn:
		return conversation.TurnRead{Request: e, Err: errTooManyReads}
	case conversation.ReadHistory:
		return conversation.HistoryRead{Request: e, Err: errTooManyReads}
	case conversation.ReadEnvelope:
		return conversation.EnvelopeRead{Request: e, Err: errTooManyReads}
	case conversation.Search:
		return conversation.Searched{Request: e, Err: errTooManyReads}
	case conversation.Export:
		return conversation.Exported{File: e.File, Err: errTooManyReads}
	case conversation.ReadGrants:
		return conversation.GrantsRead{Request: e, Err: errTooManyReads}
	case conversation.ReadParticipants:
		return conversation.ParticipantsRead{Err: errTooManyReads}
	case conversation.ReadProposal:
		return conversation.ProposalRead{Request: e, Err: errTooManyReads}
	case conversation.ReadScopes:
		return conversation.ScopesRead{Request: e, Err: errTooManyReads}
	}
	return nil
}

// perform performs an effect and returns its result.
func (s *session) perform(e conversation.Effect) conversation.Event {
	if e, ok := e.(conversation.Send); ok {
		_, err := s.client.Send(s.ctx, e.Envelope)
		return conversation.Sent{ID: e.Envelope.ID, Err: err}
	}
	ctx, cancel := context.WithTimeout(s.ctx, askFor)
	defer cancel()
	switch e := e.(type) {
	case conversation.ReadTurn:
		turn, err := s.turnOf(ctx, e.Envelope)
		return conversation.TurnRead{Request: e, Turn: turn, Err: err}
	case conversation.ReadHistory:
		return s.history(ctx, e)
	case conversation.ReadEnvelope:
		raw, err := s.opts.API.Envelope(ctx, s.opts.Space, e.ID)
		return conversation.EnvelopeRead{Request: e, Raw: raw, Err: err}
	case conversation.Search:
		found, err := s.opts.API.Search(ctx, s.opts.Space, api.SearchQuery{Text: e.Text})
		return conversation.Searched{Request: e, Result: found, Err: err}
	case conversation.Export:
		return s.export(ctx, e)
	case conversation.ReadParticipants:
		here, err := s.opts.API.Participants(ctx, s.opts.Space)
		return conversation.ParticipantsRead{Participants: here, Err: err}
	case conversation.ReadProposal:
		p, err := s.opts.API.Proposal(ctx, s.opts.Space, e.ID, e.At)
		return conversation.ProposalRead{Request: e, Proposal: p, Err: err}
	case conversation.ReadScopes:
		list, err := s.opts.API.Scopes(ctx, s.opts.Space, e.Proposal, e.Approval.To[0])
		return conversation.ScopesRead{Request: e, Scopes: list, Err: err}
	case conversation.ReadGrants:
		list, err := conversation.FetchGrants(ctx, s.opts.API, s.opts.Space)
		return conversation.GrantsRead{Request: e, Envelopes: list, Err: err}
	}
	return nil
}
