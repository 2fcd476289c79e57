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

// callError converts the error of a call to an error of JSON-RPC.
func callError(ctx context.Context, err error) *client.RPCError {
	var refusal *jsonrpc.Error
	switch {
	case ctx.Err() != nil:
		return errCallCancelled
	case errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, mcptools.ErrServerGone):
		return &client.RPCError{Code: participant.CodeTimeout, Message: "the tool took too long"}
	case errors.Is(err, mcptools.ErrUnknownTool):
		return &client.RPCError{Code: participant.CodeInvalidParams, Message: "no such tool"}
	case errors.As(err, &refusal):
		return &client.RPCError{Code: refusal.Code, Message: textutil.ShortenChars(refusal.Message, maxMessage)}
	case errors.Is(err, mcptools.ErrServerGone):
		return failedCall("the tool server is gone")
	}
	return failedCall("the tool could not be called") // the reason is only logged, because it may contain addresses
}

// errCallCancelled is the fault of a call that was canceled.
var errCallCancelled = &client.RPCError{Code: participant.CodeCancelled, Message: "cancelled"}

// failedCall returns the fault of a call that failed for another reason.
func failedCall(message string) *client.RPCError {
	return &client.RPCError{Code: participant.CodeFailed, Message: message}
}
