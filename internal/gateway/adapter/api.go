package adapter

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/google/uuid"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/gateway/access"
	"github.com/meup-protocol/meup/protocol"
)

// API is the HTTP API of the gateway, in the process. Its operations are what each call of
// a tool needs: they do what the handler does for the requests that they name, without HTTP
// and JSON. Their errors are a *protocol.Error, the end of ctx or that of the connection.
type API interface {
	http.Handler
	// Session authorizes a bearer for a space, and returns that space alone; "": all of
	// the bearer's, like GET /api/session.
	Session(ctx context.Context, b access.Bearer, space string) (*api.Session, error)
	// Send publishes the draft of one envelope: POST /api/spaces/{space}/envelopes.
	Send(ctx context.Context, b access.Bearer, space string, draft []byte) (api.Receipt, error)
	// Await waits until the log has envelopes after query.Since that the query selects and
	// that are not the bearer's own, and returns the first of them, which are shared and
	// so read-only: GET /api/spaces/{space}/events. It counts as a connection of the
	// participant. Limit, Before, Own and Descending are ignored.
	Await(ctx context.Context, b access.Bearer, space string, query api.EnvelopeQuery) (*api.Envelopes, error)
}

// Send publishes an envelope in a space, like [api.Client.Send].
func (q *Request) Send(ctx context.Context, space string, e protocol.Envelope) (api.Receipt, error) {
	if e.ID == "" {
		e.ID = protocol.ID(uuid.Must(uuid.NewV7()).String())
	}
	var receipt api.Receipt
	err := q.call(ctx, "send", func() (err error) {
		receipt, err = q.gate.options.API.Send(ctx, q.bearer, space, api.EncodeDraft(&e))
		return err
	})
	if errors.Is(err, &protocol.Error{Code: protocol.CodeOutcomeUnknown}) {
		return q.Client.Send(ctx, space, e) // until the outcome is known
	}
	if err != nil {
		return api.Receipt{ID: e.ID}, fmt.Errorf("send %s: %w", e.Kind, err)
	}
	receipt.ID = e.ID
	return receipt, nil
}

// Await waits for envelopes in a space, like [API].
func (q *Request) Await(ctx context.Context, space string, query api.EnvelopeQuery) (*api.Envelopes, error) {
	var page *api.Envelopes
	err := q.call(ctx, "await", func() (err error) {
		page, err = q.gate.options.API.Await(ctx, q.bearer, space, query)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("wait for envelopes of space %q: %w", space, err)
	}
	return page, nil
}

// call calls an operation of the API, and returns its error. What ends with ctx may be
// asked for again.
func (q *Request) call(ctx context.Context, name string, operation func() error) error {
	var err error
	failed := guard(q.gate.options.Logger, name, func() { err = operation() })
	if ended := context.Cause(ctx); ended != nil {
		return unfinished(ended)
	}
	if failed != nil {
		return failed
	}
	var coded *protocol.Error
	if errors.As(err, &coded) {
		return coded // without its reason, which no client gets
	}
	return err
}
