package mcpserver

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meup-protocol/meup/protocol"
)

// sessionless is the first revision of MCP in which each request names its
// revision.
const sessionless = "2026-07-28"

// codeFailed is the JSON-RPC code of errors of the gateway.
const codeFailed = -32000

// forwarded is a result as another participant wrote it: the types of the SDK
// would round numbers and drop unknown fields.
type forwarded struct {
	mcp.ResultBase
	JSON       json.RawMessage // an object
	resultType string          // if the participant wrote none
}

// MarshalJSON returns the result.
func (r *forwarded) MarshalJSON() ([]byte, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(r.JSON, &fields); err != nil {
		return nil, err
	}
	if _, ok := fields["resultType"]; !ok && r.resultType != "" {
		fields["resultType"] = encodeJSON(r.resultType)
	}
	if _, ok := fields["cacheScope"]; ok {
		fields["cacheScope"] = encodeJSON("private") // others may have other rights
	}
	if len(r.Meta) > 0 {
		meta := make(map[string]json.RawMessage)
		for name, value := range r.Meta {
			meta[name] = encodeJSON(value)
		}
		if own, ok := fields["_meta"]; ok {
			if err := json.Unmarshal(own, &meta); err != nil { // replaces the same names
				return nil, err
			}
		}
		fields["_meta"] = encodeJSON(meta)
	}
	return json.Marshal(fields)
}

// forwardedResult returns the result of a response, or its error, for a client of a
// revision.
func forwardedResult(e *protocol.Envelope, revision string) (*forwarded, error) {
	payload := e.ParsePayload()
	if failed := payload.Get("error"); failed.Exists() {
		out := &jsonrpc.Error{Code: codeFailed, Message: failed.Get("message").Text(), Data: json.RawMessage(failed.Get("data").Raw())}
		_ = json.Unmarshal(failed.Get("code").Raw(), &out.Code) // otherwise codeFailed
		return nil, out
	}
	result := payload.Get("result")
	if result.Type() != protocol.TypeObject {
		return nil, &jsonrpc.Error{Code: codeFailed, Message: fmt.Sprintf("the response of %s has no result", e.From)}
	}
	if revision < sessionless && result.Get("resultType").Text() == "input_required" {
		return nil, &jsonrpc.Error{Code: codeFailed, Message: fmt.Sprintf("%s asks for input, which needs a client of revision %s", e.From, sessionless)}
	}
	return rawResult(result.Raw(), revision), nil
}

// rawResult returns a result for a client of a revision: later ones have a type.
func rawResult(result []byte, revision string) *forwarded {
	out := &forwarded{JSON: result}
	if revision >= sessionless {
		out.resultType = "complete"
	}
	return out
}

// refusal returns an error of the API as a JSON-RPC error. Arguments that do not fit the schema of a
// tool are invalid params.
func refusal(err error) error {
	var refused *protocol.Error
	if !errors.As(err, &refused) {
		return err
	}
	code, fields := codeFailed, map[string]any{"error": refused.Code}
	if refused.Code == protocol.CodeInvalidPayload {
		code, fields["path"] = jsonrpc.CodeInvalidParams, refused.Path
	}
	data, _ := json.Marshal(fields) // texts
	return &jsonrpc.Error{Code: int64(code), Message: refused.Message, Data: data}
}

// notProposed returns the error of a call that the caller may not make, and whose proposal was
// refused as well. If the refusal of the proposal is one of its rights too, or a rule that rejects
// the call, the error has both texts; otherwise it is the one of the proposal: a limit, a pause, a
// log that takes nothing.
func notProposed(call, proposal error) error {
	var first, second *protocol.Error
	if !errors.As(call, &first) || !errors.As(proposal, &second) || second.Code != first.Code {
		return proposal
	}
	both := *first
	both.Message += " " + second.Message
	return &both
}
