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

// toolResult converts a tool's result for the planner.
func toolResult(res mcptools.Result) contextwindow.Result {
	if res.IsError {
		return failedResult(res.Text)
	}
	return contextwindow.Result{Success: true, Text: textutil.Truncate(res.Text, maxText), JSON: string(res.JSON)}
}

// envelopeResult reads the response to a request, from any participant.
func envelopeResult(env *protocol.Envelope) contextwindow.Result {
	const unreadable = "the response cannot be read"
	doc, err := protocol.ParseForeignJSON(env.Payload, protocol.MaxDepth)
	if err != nil || doc.Root().Type() != protocol.TypeObject {
		return failedResult(unreadable)
	}
	if fault := doc.Root().Get("error"); fault.Exists() && fault.Type() != protocol.TypeNull {
		return failedResult(cmp.Or(fault.Get("message").Text(), unreadable))
	}
	result := doc.Root().Get("result")
	res, ok := mcptools.ResultIn(result)
	if !ok { // not a tool result: return it unchanged
		return contextwindow.Result{Success: true, Text: string(result.Raw()), JSON: string(result.Raw())}
	}
	return toolResult(res)
}

func failedResult(why string) contextwindow.Result {
	return contextwindow.Result{Error: textutil.Truncate(why, maxError)}
}
