package toolbox

import (
	"encoding/json"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/mcptools"
	"github.com/meup-protocol/meup/internal/textutil"
	"github.com/meup-protocol/meup/protocol"
)

// Bounds of the part of one result that the planner receives, in bytes.
const (
	maxText  = 12 << 20
	maxError = 64 << 10
)

// ResultOf converts a tool's result for the planner.
func ResultOf(res mcptools.Result) contextwindow.Result {
	if res.IsError {
		return failed(res.Text)
	}
	return contextwindow.Result{Success: true, Text: textutil.Truncate(res.Text, maxText), JSON: string(res.JSON)}
}

// ResultIn reads the response to a request, from any participant.
func ResultIn(env *protocol.Envelope) contextwindow.Result {
	var p struct {
		Result json.RawMessage  `json:"result"`
		Error  *client.RPCError `json:"error"`
	}
	if err := json.Unmarshal(env.Payload, &p); err != nil {
		return failed("the response cannot be read")
	}
	if p.Error != nil {
		return failed(p.Error.Message)
	}
	res, err := mcptools.ParseResult(p.Result)
	if err != nil { // not a tool result: return it unchanged
		return contextwindow.Result{Success: true, Text: string(p.Result), JSON: string(p.Result)}
	}
	return ResultOf(res)
}

func failed(why string) contextwindow.Result {
	return contextwindow.Result{Error: textutil.Truncate(why, maxError)}
}
