// Package result has the results and errors of other participants, as they are passed
// on to an MCP client.
package mcpserver

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meup-protocol/meup/protocol"
)

// Sessionless is the first revision of MCP in which each request names its
// revision.
const Sessionless = "2026-07-28"

// CodeFailed is the JSON-RPC code of errors of the gateway.
const CodeFailed = -32000

// Forwarded is a result as another participant wrote it: the types of the SDK
// would round numbers and drop unknown fields.
type Forwarded struct {
	mcp.ResultBase
	JSON       json.RawMessage // an object
	resultType string          // if the participant wrote none
}

// MarshalJSON returns the result.
func (r *Forwarded) MarshalJSON() ([]byte, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(r.JSON, &fields); err != nil {
		return nil, err
	}
	if _, ok := fields["resultType"]; !ok && r.resultType != "" {
		fields["resultType"] = EncodeJSON(r.resultType)
	}
	if _, ok := fields["cacheScope"]; ok {
		fields["cacheScope"] = EncodeJSON("private") // others may have other rights
	}
	if len(r.Meta) > 0 {
		meta := make(map[string]json.RawMessage)
		for name, value := range r.Meta {
			meta[name] = EncodeJSON(value)
		}
		if own, ok := fields["_meta"]; ok {
			if err := json.Unmarshal(own, &meta); err != nil { // replaces the same names
				return nil, err
			}
		}
		fields["_meta"] = EncodeJSON(meta)
	}
	return json.Marshal(fields)
}

// ForwardedResult returns the result of a response, or its error, for a client of a
// revision.
func ForwardedResult(e *protocol.Envelope, revision string) (*Forwarded, error) {
	payload := e.ParsePayload()
	if failed := payload.Get("error"); failed.Exists() {
		out := &jsonrpc.Error{Code: CodeFailed, Message: failed.Get("message").Text(), Data: json.RawMessage(failed.Get("data").Raw())}
		_ = json.Unmarshal(failed.Get("code").Raw(), &out.Code) // otherwise CodeFailed
		return nil, out
	}
	result := payload.Get("result")
	if result.Type() != protocol.TypeObject {
		return nil, &jsonrpc.Error{Code: CodeFailed, Message: fmt.Sprintf("the response of %s has no result", e.From)}
	}
	if revision < Sessionless && result.Get("resultType").Text() == "input_required" {
		return nil, &jsonrpc.Error{Code: CodeFailed, Message: fmt.Sprintf("%s asks for input, which needs a client of revision %s", e.From, Sessionless)}
	}
	return RawResult(result.Raw(), revision), nil
}

// RawResult returns a result for a client of a revision: later ones have a type.
func RawResult(result []byte, revision string) *Forwarded {
	out := &Forwarded{JSON: result}
	if revision >= Sessionless {
		out.resultType = "complete"
	}
	return out
}

// Refusal returns an error of the API as a JSON-RPC error.
func Refusal(err error) error {
	var refused *protocol.Error
	if !errors.As(err, &refused) {
		return err
	}
	data, _ := json.Marshal(map[string]any{"error": refused.Code}) // a text
	return &jsonrpc.Error{Code: CodeFailed, Message: refused.Message, Data: data}
}
