package agent

import (
	"cmp"
	"context"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/mcptools"
	"github.com/meup-protocol/meup/internal/agent/participant"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/protocol"
)

// maxResult bounds the mcp.response of a call, in bytes; longer results are
// truncated. The planner receives more.
const maxResult = 256 << 10

// refusalOf separates a refusal by the capabilities, which is the outcome of a
// call, from an error that ends the problem.
func refusalOf(err error) (refusal *protocol.Error, fatal error) {
	if err == nil {
		return nil, nil
	}
	var u *unknownError
	if errors.As(err, &u) {
		return nil, err
	}
	if errors.As(err, &refusal) && refusal.Code != protocol.CodeUnavailable {
		return refusal, nil
	}
	return nil, err
}

// Bounds of the part of one result that the planner receives, in bytes.
const (
	maxText  = 12 << 20
	maxError = 64 << 10
)

// toolResult converts a tool's result for the planner.
func toolResult(res mcptools.Result) contextwindow.Result {
	if res.IsError {
		return failed(res.Text)
	}
	return contextwindow.Result{Success: true, Text: textutil.Truncate(res.Text, maxText), JSON: string(res.JSON)}
}

// envelopeResult reads the response to a request, from any participant.
func envelopeResult(env *protocol.Envelope) contextwindow.Result {
	const unreadable = "the response cannot be read"
	doc, err := protocol.ParseForeignJSON(env.Payload, protocol.MaxDepth)
	if err != nil || doc.Root().Type() != protocol.TypeObject {
		return failed(unreadable)
	}
	if fault := doc.Root().Get("error"); fault.Exists() && fault.Type() != protocol.TypeNull {
		return failed(cmp.Or(fault.Get("message").Text(), unreadable))
	}
	result := doc.Root().Get("result")
	res, ok := mcptools.ResultIn(result)
	if !ok { // not a tool result: return it unchanged
		return contextwindow.Result{Success: true, Text: string(result.Raw()), JSON: string(result.Raw())}
	}
	return toolResult(res)
}

func failed(why string) contextwindow.Result {
	return contextwindow.Result{Error: textutil.Truncate(why, maxError)}
}

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
