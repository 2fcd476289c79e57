package participant

import (
	"context"
	"errors"
	"sync"

	"github.com/meup-protocol/meup/protocol"
)

// Admission is the result of Requests.Admit.
type Admission int

// Results of Requests.Admit.
const (
	Accepted   Admission = iota
	Duplicate            // already in progress
	Overloaded           // no free place
)

// Requests holds the requests of a participant that are in progress or queued,
// by the id of the envelope. Places bounds their number; one requester has at
// most a quarter of the places, so that places remain for others.
type Requests[T comparable] struct {
	Places int

	mu   sync.Mutex
	held map[protocol.ID]held[T]
}

type held[T comparable] struct {
	from    protocol.ParticipantID
	request T
	waiting bool // occupies no place
}

// Hold stores a request that is to be admitted later and occupies no place.
func (r *Requests[T]) Hold(env *protocol.Envelope, request T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.storeLocked(env, request, true)
}

// Admit stores a request if a place is free. A request that Hold stored keeps
// its state if no place is free.
func (r *Requests[T]) Admit(env *protocol.Envelope, request T) Admission {
	r.mu.Lock()
	defer r.mu.Unlock()
	if h, exists := r.held[env.ID]; exists && (!h.waiting || h.request != request) {
		return Duplicate
	}
	places, ofRequester := 0, 0
	for _, h := range r.held {
		if h.waiting {
			continue
		}
		places++
		if h.from == env.From {
			ofRequester++
		}
	}
	if places >= r.Places || ofRequester >= max(1, r.Places/4) {
		return Overloaded
	}
	r.storeLocked(env, request, false)
	return Accepted
}

func (r *Requests[T]) storeLocked(env *protocol.Envelope, request T, waiting bool) {
	if r.held == nil {
		r.held = make(map[protocol.ID]held[T])
	}
	r.held[env.ID] = held[T]{env.From, request, waiting}
}

// Remove removes a request that has ended.
func (r *Requests[T]) Remove(id protocol.ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.held, id)
}

// Get returns the request with the id, or the zero value.
func (r *Requests[T]) Get(id protocol.ID) T {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.held[id].request
}

// All returns all requests.
func (r *Requests[T]) All() []T {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]T, 0, len(r.held))
	for _, h := range r.held {
		list = append(list, h.request)
	}
	return list
}

// Place is one of the places for requests that are worked on, which a channel with that
// many entries bounds. A request that waits for the decision of a person lends its place
// to others.
type Place struct {
	places chan struct{}
	taking chan struct{} // one entry while a part of the request waits for a place

	mu    sync.Mutex
	held  bool
	left  bool // the request has ended
	waits int  // decisions that are waited for
}

// NewPlace returns one of the places, which is not taken yet.
func NewPlace(places chan struct{}) *Place {
	return &Place{places: places, taking: make(chan struct{}, 1)}
}

// errLeft means that the request ended while a part of it waited for a place.
var errLeft = errors.New("the request has ended")

// Take waits for a place, unless the request has one. The error is the cause of ctx's end,
// or that the request has left.
func (p *Place) Take(ctx context.Context) error {
	select {
	case p.taking <- struct{}{}:
		defer func() { <-p.taking }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	p.mu.Lock()
	held := p.held
	p.mu.Unlock()
	if held { // another part of the request has taken it
		return nil
	}
	select {
	case p.places <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.left {
		<-p.places
		return errLeft
	}
	p.held = true
	return nil
}

// Leave gives the place back, if it is held, at the end of the request. A part that still
// waits for a place gets none.
func (p *Place) Leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left = true
	p.leaveLocked()
}

func (p *Place) leaveLocked() {
	if p.held {
		p.held = false
		<-p.places
	}
}

// Lend gives the place back while the request waits for a decision, also if another part
// of it works meanwhile. The returned function waits for a place again if the request waits
// for no other decision.
func (p *Place) Lend(ctx context.Context) (takeBack func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waits++
	p.leaveLocked()
	return func() {
		p.mu.Lock()
		p.waits--
		last := p.waits == 0
		p.mu.Unlock()
		if last {
			_ = p.Take(ctx) // the request ends with ctx, too
		}
	}
}
