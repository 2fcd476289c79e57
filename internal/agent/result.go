package agent

import (
	"cmp"

	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/mcptools"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/protocol"
)

// Bounds of the part of one result that the planner receives, in bytes.
const (
	maxText  = 12 << 20
	maxError = 64 << 10
)

// ToolResult converts a tool's result for the planner.
func ToolResult(res mcptools.Result) contextwindow.Result {
	if res.IsError {
		return FailedResult(res.Text)
	}
	return contextwindow.Result{Success: true, Text: textutil.Truncate(res.Text, maxText), JSON: string(res.JSON)}
}

// EnvelopeResult reads the response to a request, from any participant.
func EnvelopeResult(env *protocol.Envelope) contextwindow.Result {
	const unreadable = "the response cannot be read"
	doc, err := protocol.ParseForeignJSON(env.Payload, protocol.MaxDepth)
	if err != nil || doc.Root().Type() != protocol.TypeObject {
		return FailedResult(unreadable)
	}
	if fault := doc.Root().Get("error"); fault.Exists() && fault.Type() != protocol.TypeNull {
		return FailedResult(cmp.Or(fault.Get("message").Text(), unreadable))
	}
	result := doc.Root().Get("result")
	res, ok := mcptools.ResultIn(result)
	if !ok { // not a tool result: return it unchanged
		return contextwindow.Result{Success: true, Text: string(result.Raw()), JSON: string(result.Raw())}
	}
	return ToolResult(res)
}

func FailedResult(why string) contextwindow.Result {
	return contextwindow.Result{Error: textutil.Truncate(why, maxError)}
}
