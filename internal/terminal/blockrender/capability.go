package blockrender

import (
	"encoding/json"
	"strings"

	"github.com/meup-protocol/meup/internal/terminal/termsafe"
	"github.com/meup-protocol/meup/internal/textutil"
)

// Capabilities describes capabilities as text.
func Capabilities(list []json.RawMessage) []string {
	var out []string
	for _, raw := range list {
		out = append(out, describeCapability(raw))
	}
	if len(out) == 0 {
		return []string{"nothing"}
	}
	return out
}

// maxValue bounds a value, or the description of one capability, in bytes.
const maxValue = 300

func describeCapability(raw json.RawMessage) string {
	var kind string
	if json.Unmarshal(raw, &kind) == nil {
		return describeKind(kind)
	}
	var object struct {
		Kind    string          `json:"kind"`
		Payload json.RawMessage `json:"payload"`
		To      json.RawMessage `json:"to"`
		Context json.RawMessage `json:"context"`
		Deny    bool            `json:"deny"`
	}
	if json.Unmarshal(raw, &object) != nil {
		return termsafe.Exact(textutil.Shorten(string(raw), maxValue))
	}
	words := describeKind(object.Kind)
	if tool := toolPattern(object.Payload); tool != "" {
		words = "call tools: " + tool
	} else if len(object.Payload) > 0 {
		words += " where the payload is " + Value(object.Payload)
	}
	if len(object.To) > 0 {
		words += ", addressed to " + Value(object.To)
	}
	if len(object.Context) > 0 {
		words += ", in the context " + Value(object.Context)
	}
	if object.Deny {
		words = "never: " + words
	}
	return words
}

// kindDescriptions holds the descriptions of common kind patterns.
var kindDescriptions = map[string]string{
	"*":    "everything",
	"chat": "chat", "chat/*": "acknowledge and cancel messages",
	"reasoning/*": "reason", "reasoning/step": "reason within contexts", "reasoning/cancel": "cancel reasoning",
	"mcp/*": "call, answer and propose anything", "mcp/request": "call any tool", "mcp/response": "answer calls",
	"mcp/proposal": "propose calls", "mcp/withdraw": "withdraw proposals", "mcp/reject": "reject proposals",
	"stream/*": "stream", "observe": "see envelopes addressed to others",
	"capability/*": "grant and revoke capabilities", "capability/grant": "grant capabilities", "capability/revoke": "revoke capabilities",
	"space/*": "invite and remove participants", "space/invite": "invite participants", "space/kick": "remove participants",
	"participant/*": "control participants", "participant/status": "report its status",
	"participant/pause": "pause participants", "participant/resume": "resume participants", "participant/request-status": "ask participants for their status",
	"participant/restart": "restart participants", "participant/shutdown": "shut participants down",
}

func describeKind(kind string) string {
	if words := kindDescriptions[strings.Replace(kind, ".", "/", 1)]; words != "" {
		return words
	}
	return "send " + termsafe.Exact(textutil.Shorten(kind, maxValue))
}

// toolPattern returns the tools that a payload pattern selects, if it
// constrains only their names.
func toolPattern(payload json.RawMessage) string {
	var p struct {
		Method string `json:"method"`
		Params map[string]json.RawMessage
	}
	if json.Unmarshal(payload, &p) != nil || p.Method != "tools/call" && p.Method != "" || len(p.Params) != 1 {
		return ""
	}
	return Value(p.Params["name"])
}

// Value formats a pattern briefly: strings without quotes, lists with commas.
func Value(raw json.RawMessage) string {
	var one string
	var list []string
	switch {
	case json.Unmarshal(raw, &one) == nil:
		return termsafe.Exact(textutil.Shorten(one, maxValue))
	case json.Unmarshal(raw, &list) == nil:
		return termsafe.Exact(textutil.Shorten(strings.Join(list, ", "), maxValue))
	}
	return termsafe.Exact(textutil.Shorten(string(raw), maxValue))
}
