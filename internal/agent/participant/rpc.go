package participant

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/protocol"
)

// Codes of the JSON-RPC errors that participants return. MCP servers may also
// use the codes from -32000 on.
const (
	CodeNoSuchMethod  = -32601
	CodeInvalidParams = -32602
	CodeFailed        = -32000
	CodeTimeout       = -32001
	CodeCancelled     = -32002
)

// Request is the JSON-RPC request or notification in an mcp.request.
type Request struct {
	// ID is the id as written, or else the envelope's id as a JSON string: MEW
	// clients omit the id.
	ID     json.RawMessage
	Method string
	Params protocol.Value
	// IsNotification: the sender expects no response.
	IsNotification bool
}

// ParseRequest parses the payload of an mcp.request. Field names are matched
// exactly, as the gateway matches them.
func ParseRequest(env *protocol.Envelope) (Request, error) {
	doc, err := protocol.ParseJSON(env.Payload, protocol.MaxDepth)
	if err != nil {
		return Request{}, fmt.Errorf("read request: %w", err)
	}
	rpc := doc.Root()
	id := rpc.Get("id")
	r := Request{ID: id.Raw(), Method: rpc.Get("method").Text(), Params: rpc.Get("params")}
	r.IsNotification = strings.HasPrefix(r.Method, "notifications/") || r.Method == "" && !id.Exists()
	if !id.Exists() {
		r.ID = protocol.AppendString(nil, string(env.ID))
	}
	return r, nil
}

// RequestID returns the JSON-RPC id of a request, or null if it has no valid
// payload.
func RequestID(env *protocol.Envelope) json.RawMessage {
	request, err := ParseRequest(env)
	if err != nil {
		return json.RawMessage("null")
	}
	return request.ID
}

// Response returns the payload of an mcp.response: the error fault, or the
// result if fault is nil.
func Response(id, result json.RawMessage, fault *client.RPCError) json.RawMessage {
	name, value := "result", result
	if fault != nil {
		var err error
		name = "error"
		value, err = json.Marshal(fault)
		if err != nil { // its data is not valid JSON
			value, _ = json.Marshal(client.RPCError{Code: fault.Code, Message: fault.Message}) // cannot fail
		}
	}
	payload := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	payload = append(append(payload, `,"`...), name...)
	payload = append(append(payload, `":`...), value...)
	return append(payload, '}')
}

// RespondTo returns the mcp.response to a request, addressed to its sender.
func RespondTo(request *protocol.Envelope, payload json.RawMessage) protocol.Envelope {
	return protocol.Envelope{
		Kind: protocol.KindMCPResponse, To: []protocol.ParticipantID{request.From}, Context: request.Context,
		Correlation: protocol.CorrelateTo(request.ID), Payload: payload,
	}
}

// AsksFor reports whether a nested reasoning.start asks a participant to reason
// in its context: the payload names it in participant_id, and the start is for
// all or addressed to it.
func AsksFor(start *protocol.Envelope, who protocol.ParticipantID) bool {
	return start.From != who && (len(start.To) == 0 || start.AddressedTo(who)) &&
		start.ParsePayload().Get("participant_id").EqualText(string(who))
}
