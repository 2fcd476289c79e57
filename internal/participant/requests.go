package participant

import (
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
