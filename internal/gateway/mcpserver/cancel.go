package mcpserver

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

// requestKey identifies a request of a client. Clients count their ids from the
// same number, and a stateless server has no sessions: two requests may have one
// key.
type requestKey struct {
	view  viewKey
	agent string // the client's User-Agent
	id    string // as written
}

func (c *caller) requestKey(r *http.Request, id string) requestKey {
	return requestKey{viewKey{c.space, c.you, c.of}, r.UserAgent(), id}
}

// requests are the requests in progress, which a notification of their client
// can cancel. Its methods may be called concurrently.
type requests struct {
	mu  sync.Mutex
	all map[requestKey]map[*context.CancelCauseFunc]struct{}
}

// errCanceled is the cause of the end of a request that its client canceled.
var errCanceled = errors.New("the client has canceled the request")

// add adds a request, until remove is called.
func (q *requests) add(key requestKey, cancel context.CancelCauseFunc) (remove func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.all == nil {
		q.all = make(map[requestKey]map[*context.CancelCauseFunc]struct{})
	}
	if q.all[key] == nil {
		q.all[key] = make(map[*context.CancelCauseFunc]struct{})
	}
	q.all[key][&cancel] = struct{}{}
	return func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		if delete(q.all[key], &cancel); len(q.all[key]) == 0 {
			delete(q.all, key)
		}
	}
}

// cancel cancels the request with a key. If several have it, none is canceled: it
// could be the one of another client.
func (q *requests) cancel(key requestKey) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.all[key]) != 1 {
		return
	}
	for cancel := range q.all[key] {
		(*cancel)(errCanceled)
	}
}

// cancelTimeout bounds the time to pass a cancellation on.
const cancelTimeout = 5 * time.Second

// abandon cancels a request at the participant that handles it, if the client has
// canceled its own, or is gone. A request with a key goes on then: the client may
// send it again and gets the response.
func (c *caller) abandon(e *protocol.Envelope, key string) {
	switch cause := context.Cause(c.ended); {
	case errors.Is(cause, errCanceled):
	case errors.Is(cause, context.Canceled) && key == "":
	default:
		return // it has not ended, or took too long and goes on
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ended), cancelTimeout)
	defer cancel()
	_, err := c.door.Send(ctx, c.space, protocol.Envelope{
		Kind: protocol.KindMCPRequest, To: e.To, Context: e.Context, Correlation: protocol.CorrelateTo(e.ID),
		Payload: object("jsonrpc", "2.0", "method", methodCancelled, "params", map[string]any{"requestId": e.ID, "reason": "the client no longer waits"}),
	})
	if err != nil {
		c.server.options.Logger.Debug("cancellation not passed on", "space", c.space, "participant", c.you, "err", err)
	}
}
