package mcptools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meup-protocol/meup/internal/kit/textutil"
)

// Op performs a request to a server over a session; the result may be nil.
type Op func(context.Context, *mcp.ClientSession) (mcp.Result, error)

// await returns the session, and waits for a server that is being restarted. It
// does not return ended, a session known to have ended.
func (s *server) await(ctx context.Context, ended *mcp.ClientSession) (*mcp.ClientSession, error) {
	for {
		s.mu.Lock()
		session, back := s.session, s.back
		s.mu.Unlock()
		if session != nil && session != ended {
			return session, nil
		}
		if session != nil { // the keeper has not noticed its end yet
			back = s.gone(session)
			select { // a server may close its input and continue to run: the keeper ends it
			case s.broken <- session:
			default:
			}
		}
		select {
		case <-back:
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", ErrServerGone, ctx.Err())
		}
	}
}

// gone marks the session as ended and returns the channel that is closed when
// there is another one.
func (s *server) gone(session *mcp.ClientSession) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.session == session {
		s.session, s.back = nil, make(chan struct{})
	}
	return s.back
}

// maxSessions bounds the sessions that one call tries.
const maxSessions = 3

// do performs an operation on a running server. An operation is retried with
// the next session only if it was not sent.
func (s *server) do(ctx context.Context, op Op) (Result, error) {
	ctx, done := s.operations.begin(context.WithValue(ctx, inputKey{}, new(input)))
	defer done()
	var ended *mcp.ClientSession
	var err error
	for range maxSessions {
		var session *mcp.ClientSession
		session, err = s.await(ctx, ended)
		if err != nil {
			return Result{}, callError(ctx, err)
		}
		var result Result
		result, err = doOnce(ctx, session, op)
		if err == nil {
			return result, nil
		}
		if !errors.Is(err, mcp.ErrConnectionClosed) {
			break
		}
		ended = session
	}
	return Result{}, callError(ctx, err)
}

func doOnce(ctx context.Context, session *mcp.ClientSession, op Op) (Result, error) {
	keep := new(capture)
	ctx = context.WithValue(ctx, captureKey{}, keep)
	res, err := op(ctx, session)
	if raw := keep.raw(); raw != nil {
		result := ResultOf(raw)
		// The SDK rejects a result with one item of a type that it does not know.
		if _, isCall := res.(*mcp.CallToolResult); err == nil || isCall && ctx.Err() == nil && hasContent(result.root) {
			return result, nil
		}
		return Result{}, &badResponse{err}
	}
	switch {
	case err != nil:
		return Result{}, err
	case res == nil:
		return ResultOf(json.RawMessage(`{}`)), nil
	}
	raw, err := json.Marshal(res) // from the SDK's cache
	if err != nil {
		return Result{}, fmt.Errorf("marshal result: %w", err)
	}
	return ResultOf(raw), nil
}

// badResponse is a response of the server that cannot be decoded.
type badResponse struct{ error }

// Error describes the fault.
func (e *badResponse) Error() string { return "answer not understood: " + textutil.JSONFault(e.error) }

// callError separates a server that is gone from a server that refuses.
func callError(ctx context.Context, err error) error {
	var refusal *jsonrpc.Error
	var answer *badResponse
	switch {
	case ctx.Err() != nil, errors.Is(err, ErrServerGone), errors.Is(err, errInput), errors.As(err, &answer):
		return err
	case errors.As(err, &refusal) && (refusal.Code != -32005 || refusal.Message != "rejected by transport"):
		return err // of the server: the other one is the SDK's, for a request that did not reach a server
	}
	return fmt.Errorf("%w: %w", ErrServerGone, err)
}
