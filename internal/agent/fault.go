package agent

import (
	"context"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/agent/mcptools"
	"github.com/meup-protocol/meup/internal/agent/participant"
	"github.com/meup-protocol/meup/internal/kit/textutil"
)

// maxMessage bounds the message of a fault, in bytes.
const maxMessage = 4000

// CallError converts the error of a call to an error of JSON-RPC.
func CallError(ctx context.Context, err error) *client.RPCError {
	var refusal *jsonrpc.Error
	switch {
	case ctx.Err() != nil:
		return ErrCallCancelled
	case errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, mcptools.ErrServerGone):
		return &client.RPCError{Code: participant.CodeTimeout, Message: "the tool took too long"}
	case errors.Is(err, mcptools.ErrUnknownTool):
		return &client.RPCError{Code: participant.CodeInvalidParams, Message: "no such tool"}
	case errors.As(err, &refusal):
		return &client.RPCError{Code: refusal.Code, Message: textutil.ShortenChars(refusal.Message, maxMessage)}
	case errors.Is(err, mcptools.ErrServerGone):
		return FailedCall("the tool server is gone")
	}
	return FailedCall("the tool could not be called") // the reason is only logged, because it may contain addresses
}

// ErrCallCancelled is the fault of a call that was canceled.
var ErrCallCancelled = &client.RPCError{Code: participant.CodeCancelled, Message: "cancelled"}

// FailedCall returns the fault of a call that failed for another reason.
func FailedCall(message string) *client.RPCError {
	return &client.RPCError{Code: participant.CodeFailed, Message: message}
}
