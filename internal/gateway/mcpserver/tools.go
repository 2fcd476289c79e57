package mcpserver

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meup-protocol/meup/internal/capability"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/protocol"
)

// maxName bounds a name, in bytes: a client may have room for 64, with a prefix
// such as mcp__meup__.
const maxName = 53

// ToolName returns the name of a tool of another participant: participant__tool,
// or, if that is not a valid or unambiguous name, one that ends with a hash.
func ToolName(host protocol.ParticipantID, tool string) string {
	id, name := string(host), string(host)+"__"+tool
	if len(name) <= maxName && textutil.LegalToolName(name) && !strings.Contains(id, "__") && !strings.HasSuffix(id, "_") && !textutil.IsHashedToolName(name) {
		return name
	}
	return textutil.HashedToolName(name, id+"\x00"+tool, maxName)
}

// Rights decide which tools of other participants an MCP client is offered. The gateway decides again when a tool is
// called.
type Rights struct{ set *capability.Set }

// RightsOf returns the rights of capabilities. What they require of the arguments
// of a call is left out: a tool is listed if some arguments may be allowed.
func RightsOf(given []json.RawMessage) Rights {
	var list []*capability.Capability
	for _, text := range given {
		if c, err := capability.ParseJSON(withoutArguments(text)); err == nil {
			list = append(list, c)
		}
	}
	return Rights{capability.NewSet(list...)}
}

// withoutArguments removes the pattern of the arguments from a capability. A rule
// that denies some arguments becomes one that denies nothing.
func withoutArguments(text json.RawMessage) json.RawMessage {
	var c, payload, params map[string]json.RawMessage
	if json.Unmarshal(text, &c) != nil || json.Unmarshal(c["payload"], &payload) != nil || json.Unmarshal(payload["params"], &params) != nil {
		return text
	}
	if _, ok := params["arguments"]; !ok {
		return text
	}
	if string(c["deny"]) == "true" {
		return nil
	}
	delete(params, "arguments")
	payload["params"] = encodeJSON(params)
	c["payload"] = encodeJSON(payload)
	return encodeJSON(c)
}

// MayCall reports whether the participant may call a tool, and whether it may
// propose the call.
func (r Rights) MayCall(host protocol.ParticipantID, tool string) (now, proposable bool) {
	text := encodeJSON(map[string]any{
		"jsonrpc": "2.0", "id": "1", "method": "tools/call", "participant_id": host,
		"params": map[string]any{"name": tool, "arguments": struct{}{}},
	})
	doc, err := protocol.ParseJSON(text, protocol.MaxDepth)
	if err != nil {
		return false, false
	}
	request := &capability.Request{Kind: protocol.KindMCPRequest, Payload: doc.Root(), To: []protocol.ParticipantID{host}}
	if r.set.Decide(request).Allowed {
		return true, true
	}
	request.Kind, request.To = protocol.KindMCPProposal, nil
	return false, r.set.Decide(request).Allowed
}

// IsForeignTool reports whether a name has the form of a tool of another participant.
func IsForeignTool(name string) bool {
	return strings.Contains(name, "__") || textutil.IsHashedToolName(name)
}

// encodeJSON returns v, which must have a form in JSON, as JSON.
func encodeJSON(v any) json.RawMessage {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}

// Bounds of the tools of one participant.
const (
	maxTools     = 500
	maxToolBytes = 1 << 20 // of the responses to tools/list
)

// ToolList has the tools that a participant listed.
type ToolList struct {
	Tools []*mcp.Tool
	At    time.Time // of the first response
	bytes int
}

// Add adds the tools of the payload of a response to tools/list, up to the bounds,
// and returns the cursor of the next page; "": there is none.
func (l *ToolList) Add(payload json.RawMessage) (next string) {
	var out struct {
		Result struct {
			Tools []json.RawMessage
			Next  string `json:"nextCursor"`
		}
	}
	l.bytes += len(payload)
	if l.bytes > maxToolBytes || json.Unmarshal(payload, &out) != nil {
		return ""
	}
	for _, text := range out.Result.Tools {
		tool := new(mcp.Tool)
		if len(l.Tools) == maxTools {
			return ""
		}
		if json.Unmarshal(text, tool) == nil && tool.Name != "" {
			l.Tools = append(l.Tools, tool)
		}
	}
	return out.Result.Next
}
