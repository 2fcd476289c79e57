package block

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/meup-protocol/meup/internal/kit/termsafe"
	"github.com/meup-protocol/meup/internal/kit/textutil"
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

// Bounds of BriefCapabilities: capabilities, and characters of one.
const (
	maxBrief      = 5
	maxBriefWords = 70
)

// BriefCapabilities describes capabilities on a line that is not long. cut: it is not all of them.
func BriefCapabilities(list []json.RawMessage) (text string, cut bool) {
	all := Capabilities(list)
	shown := all[:min(maxBrief, len(all))]
	for i, words := range shown {
		shown[i] = termsafe.Cut(words, maxBriefWords)
		cut = cut || shown[i] != words
	}
	text = strings.Join(shown, "; ")
	if more := len(all) - len(shown); more > 0 {
		return text + fmt.Sprintf("; and %d more", more), true
	}
	return text, cut
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
		Claims  string          `json:"claims"`
		Deny    bool            `json:"deny"`
	}
	if json.Unmarshal(raw, &object) != nil {
		return termsafe.Exact(textutil.Shorten(string(raw), maxValue))
	}
	words := describeKind(object.Kind)
	if call := describeCall(object.Kind, object.Payload); call != "" {
		words = call
	} else if len(object.Payload) > 0 {
		words += " where the payload is " + Value(object.Payload)
	}
	if len(object.To) > 0 {
		words += ", addressed to " + Value(object.To)
	}
	if len(object.Context) > 0 {
		words += ", in the context " + Value(object.Context)
	}
	switch object.Claims {
	case "require":
		words += ", if it has claimed the paths"
	case "respect":
		words += ", unless others have claimed the paths"
	}
	if object.Deny {
		words = "never: " + words
	}
	return words
}

// kindDescriptions holds the descriptions of common kind patterns.
var kindDescriptions = map[string]string{
	"*":    "everything",
	"chat": "chat", "chat/*": "acknowledge and cancel messages", "decide": "decide on proposals", "feedback": "rate answers and steps",
	"reasoning/*": "reason", "reasoning/step": "reason within contexts", "reasoning/cancel": "cancel reasoning",
	"mcp/*": "call, answer and propose anything", "mcp/request": "call any tool", "mcp/response": "answer calls",
	"mcp/proposal": "propose calls", "mcp/withdraw": "withdraw proposals", "mcp/reject": "reject proposals",
	"mcp/opinion": "give opinions on proposals", "claim": "claim files and names", "release": "release claims",
	"budget/extend": "extend budgets", "reviewer/*": "promote and demote reviewers", "reviewer/promote": "promote reviewers", "reviewer/demote": "demote reviewers",
	"stream/*": "stream text", "observe": "see envelopes addressed to others",
	"capability/*": "grant and revoke capabilities", "capability/grant": "grant capabilities", "capability/revoke": "revoke capabilities",
	"space/*": "invite and remove participants", "space/invite": "invite participants", "space/kick": "remove participants",
	"participant/*": "control participants", "participant/status": "report its status", "participant/compact-done": "report that its memory is shortened",
	"participant/pause": "pause participants", "participant/resume": "resume participants", "participant/request-status": "ask participants for their status",
	"participant/restart": "restart participants", "participant/shutdown": "shut participants down",
}

func describeKind(kind string) string {
	if words := kindDescriptions[slashed(kind)]; words != "" {
		return words
	}
	return "send " + termsafe.Exact(textutil.Shorten(kind, maxValue))
}

// slashed returns a kind as the tables of this file spell it.
func slashed(kind string) string { return strings.Replace(kind, ".", "/", 1) }

// callVerbs holds the beginnings of descriptions of calls, by kind.
var callVerbs = map[string]string{"mcp/request": "call", "mcp/proposal": "propose to call", "decide": "decide on calls of"}

// describeCall describes a capability for calls, if its pattern of payloads constrains
// only the method, or only the names of tools and their arguments; otherwise it returns "".
func describeCall(kind string, payload json.RawMessage) string {
	var fields, params map[string]json.RawMessage
	verb := callVerbs[slashed(kind)]
	if verb == "" || json.Unmarshal(payload, &fields) != nil {
		return ""
	}
	if raw, ok := fields["params"]; ok && json.Unmarshal(raw, &params) != nil {
		return ""
	}
	method, tools := Value(fields["method"]), Value(params["name"])
	delete(fields, "method")
	delete(fields, "params")
	switch {
	case len(fields) > 0:
	case len(params) == 0 && method == "tools/list" && verb == "call":
		return "list tools"
	case len(params) == 0 && method != "":
		return verb + " the method " + method
	case tools == "" || method != "tools/call" && method != "":
	case len(params) == 1:
		return verb + " tools: " + tools
	case len(params) == 2 && len(params["arguments"]) > 0:
		return verb + " tools: " + tools + " with arguments " + Value(params["arguments"])
	}
	return ""
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
