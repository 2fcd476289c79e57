// Package adapter has what the adapters of other protocols share: the admission of
// their requests by a [Gate], the gateway's own [API] in the process, streams of
// events, ids that are the same for a retry, and payloads.
package adapter

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/gateway/access"
	"github.com/meup-protocol/meup/internal/space/limit"
	"github.com/meup-protocol/meup/protocol"
)

// Bounds of the requests of one adapter.
const (
	budgetBytes = 64 << 20 // of the bodies of all requests
	shareBytes  = 16 << 20 // of the bodies of one token
	copies      = 4        // of a body: as received, decoded, published
	maxWaiting  = 256      // requests that wait; those of one participant are bounded by its connections
	bodyTimeout = 15 * time.Second
)

// Options configures a Gate.
type Options struct {
	API     API // of the gateway
	Origins []string
	Logger  *slog.Logger
	// MaySend reports whether the capabilities of a participant may allow it to send an
	// envelope of a kind; nil: they may.
	MaySend func(ctx context.Context, space string, id protocol.ParticipantID, kind protocol.Kind) bool
	// Secret returns a secret of the log, the same after a restart and at all its gateways,
	// for ids that no participant can guess. nil: there is none.
	Secret func(ctx context.Context) ([]byte, error)
	// BodyTimeout bounds the time in which a body arrives; 0: 15 s.
	BodyTimeout time.Duration
}

// Gate admits the requests of an adapter.
type Gate struct {
	options Options
	budget  *limit.Budget
	waiting chan struct{}
}

// NewGate returns a Gate.
func NewGate(o Options) *Gate {
	o.BodyTimeout = cmp.Or(o.BodyTimeout, bodyTimeout)
	return &Gate{options: o, budget: limit.NewBudget(budgetBytes, shareBytes), waiting: make(chan struct{}, maxWaiting)}
}

// Request is a request that was admitted. Close must be called.
type Request struct {
	// Client calls the handler of the API with the token of the request. Send and Await
	// do without it.
	Client *api.Client
	// Token is that token.
	Token string
	// Body was read; nil after Wait.
	Body []byte

	gate    *Gate
	bearer  access.Bearer
	session *api.Session
	hold    limit.Hold
	waits   bool
}

// Open admits a request with a valid token and reads its body of at most maxBody
// bytes. The token must be good for the space; "": for any. Errors:
// *protocol.Error, with unauthorized for a missing or wrong token.
func (g *Gate) Open(w http.ResponseWriter, r *http.Request, space string, maxBody int64) (*Request, error) {
	if err := access.CheckHost(r, g.options.Origins); err != nil {
		return nil, err
	}
	token, source, err := access.TokenFromRequest(r)
	if err != nil || source != access.SourceHeader {
		return nil, protocol.Errorf(protocol.CodeUnauthorized, "Send a token: Authorization: Bearer TOKEN.")
	}
	client, err := NewClient(g.options.API, r, token, g.options.Logger)
	if err != nil {
		return nil, protocol.Errorf(protocol.CodeUnauthorized, "The token cannot be one of this gateway.")
	}
	q := &Request{Client: client, Token: token, gate: g, bearer: access.Bearer{Address: access.Address(r), Token: token}}
	q.session, err = g.options.API.Session(r.Context(), q.bearer, space)
	if err != nil {
		return nil, protocol.AsError(err)
	}
	size := min(max(r.ContentLength, 0), maxBody) // ReadBody rejects a longer one
	var ok bool
	q.hold, ok = g.budget.Take(token, copies*size)
	if !ok {
		q.hold.Release()
		return nil, access.Busy()
	}
	body := &charged{ReadCloser: r.Body, hold: &q.hold}
	if r.ContentLength < 0 {
		r.Body = body
	}
	q.Body, err = access.ReadBody(w, r, maxBody, g.options.BodyTimeout)
	if err != nil {
		q.hold.Release()
		if body.busy {
			err = access.Busy()
		}
		return nil, err
	}
	return q, nil
}

// charged is a body of unknown size, which takes memory while it is read.
type charged struct {
	io.ReadCloser
	hold *limit.Hold
	busy bool // there is no more
}

// Read reads from the body.
func (c *charged) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	if n > 0 && !c.hold.Grow(copies*int64(n)) {
		c.busy = true
		return 0, access.Busy()
	}
	return n, err
}

// Space returns the space with a name and the participant that the token identifies
// there; "" is the only space of the token. Errors: *protocol.Error.
func (q *Request) Space(ctx context.Context, name string) (string, protocol.ParticipantID, error) {
	if name == "" {
		if len(q.session.Spaces) != 1 || len(q.session.Globs) > 0 {
			return "", "", access.BadRequest("The token is good for more than one space; name one.")
		}
		return q.session.Spaces[0].Name, q.session.Spaces[0].Participant, nil
	}
	if you := q.session.In(name); you != "" {
		return name, you, nil
	}
	session, err := q.gate.options.API.Session(ctx, q.bearer, name)
	if err != nil {
		return "", "", protocol.AsError(err)
	}
	return name, session.In(name), nil
}

// CheckKind returns the error capability_violation if a participant may send no envelope
// of a kind. A handler that ends with such an envelope calls it before other work.
func (q *Request) CheckKind(ctx context.Context, space string, you protocol.ParticipantID, kind protocol.Kind) error {
	if may := q.gate.options.MaySend; may == nil || may(ctx, space, you, kind) {
		return nil
	}
	err := protocol.Errorf(protocol.CodeCapabilityViolation, "Your capabilities do not allow this %s.", kind)
	err.AttemptedKind = string(kind)
	return err
}

// Spaces returns the existing spaces of the token.
func (q *Request) Spaces() []api.SessionSpace { return q.session.Spaces }

// Wait drops the body and returns its memory, before the request waits for others.
// A handler that uses parts of the body while it waits does not call it. Error:
// too_many_requests if too many requests wait.
func (q *Request) Wait() error {
	if q.waits {
		return nil
	}
	select {
	case q.gate.waiting <- struct{}{}:
	default:
		return access.Busy()
	}
	q.waits, q.Body = true, nil
	q.hold.Release()
	return nil
}

// Close ends the request.
func (q *Request) Close() {
	if q.waits {
		<-q.gate.waiting
		q.waits = false
	}
	q.hold.Release()
}

// Secret returns the secret of the log for the ids of envelopes that follow from the
// content of a request: a participant that guesses such an id could use it first. Error: unavailable.
func (q *Request) Secret(ctx context.Context) (string, error) {
	if q.gate.options.Secret == nil {
		return "", nil
	}
	secret, err := q.gate.options.Secret(ctx)
	if err != nil {
		q.gate.options.Logger.Warn("the secret of the log cannot be read", "error", err)
		return "", access.LogUnavailable(err)
	}
	return hex.EncodeToString(secret), nil
}

// ID returns an id of an envelope that is the same for the same parts: with the
// participant, the space and the id of a client's request among them, a retry of the
// request publishes nothing twice.
func ID(prefix string, parts ...string) protocol.ID {
	text, err := json.Marshal(parts)
	if err != nil {
		panic(err) // of texts
	}
	sum := sha256.Sum256(text)
	return protocol.ID(prefix + "-" + hex.EncodeToString(sum[:16]))
}

// Object encodes pairs of a name and a value as an object, without empty texts and
// nil values.
func Object(pairs ...any) json.RawMessage {
	fields := make(map[string]any, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		if name, ok := pairs[i].(string); ok && pairs[i+1] != nil && pairs[i+1] != "" {
			fields[name] = pairs[i+1]
		}
	}
	text, err := json.Marshal(fields)
	if err != nil {
		panic(err) // of texts, numbers and JSON that was read
	}
	return text
}
