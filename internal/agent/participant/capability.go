package participant

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/meup-protocol/meup/protocol"
)

// capability is the part of a capability that a participant looks at.
type capability struct {
	Kind                 string
	Payload, To, Context json.RawMessage
	Deny                 bool
}

// parse decodes a capability, which is a kind pattern or an object.
func parse(raw json.RawMessage) (c capability, ok bool) {
	ok = json.Unmarshal(raw, &c.Kind) == nil || json.Unmarshal(raw, &c) == nil
	return c, ok
}

// IsAgent reports whether a capability names the reasoning kinds explicitly. The protocol
// does not mark agents otherwise.
func IsAgent(capabilities []json.RawMessage) bool {
	return slices.ContainsFunc(capabilities, func(raw json.RawMessage) bool {
		c, ok := parse(raw)
		stops := c.Kind == "reasoning/cancel" || c.Kind == "reasoning.cancel" // granted to people who stop agents
		return ok && !c.Deny && !stops && strings.HasPrefix(c.Kind, "reasoning")
	})
}

// NamesCall reports whether capabilities allow calls of a tool that a participant runs
// itself, and name the participant in to, and the tool or no tool. The patterns of a name
// are texts with * and arrays of them; a capability with any other condition does not
// count. Denials are left to the gateway, which decides about the request.
func NamesCall(capabilities []json.RawMessage, host protocol.ParticipantID, tool string) bool {
	for _, raw := range capabilities {
		c, ok := parse(raw)
		pattern, err := protocol.ParseKindPattern(c.Kind)
		if !ok || c.Deny || err != nil || !pattern.Match(protocol.KindMCPRequest) || c.Context != nil || !slices.Contains(texts(c.To), string(host)) {
			continue
		}
		if c.Payload == nil || namesTool(c.Payload, tool) {
			return true
		}
	}
	return false
}

// namesTool reports whether the pattern of a payload has no conditions but the method
// and the name of the tool, and matches.
func namesTool(payload json.RawMessage, tool string) bool {
	var p, params map[string]json.RawMessage
	if json.Unmarshal(payload, &p) != nil {
		return false
	}
	for key, value := range p {
		switch key {
		case "method":
			if !slices.Contains(texts(value), "tools/call") {
				return false
			}
		case "params":
			if json.Unmarshal(value, &params) != nil {
				return false
			}
		default:
			return false
		}
	}
	for key, value := range params {
		if key != "name" || !slices.ContainsFunc(texts(value), func(pattern string) bool {
			return !strings.ContainsAny(pattern, `!/?[\{`) && starMatches(pattern, tool) // only * is special
		}) {
			return false
		}
	}
	return true
}

// MayCall reports whether capabilities could allow calls of a tool that a participant
// runs. A capability counts unless a condition on the recipient, the method or the name
// consists of texts with * of which none matches.
func MayCall(capabilities []json.RawMessage, host protocol.ParticipantID, tool string) bool {
	return MayAllow(capabilities, protocol.KindMCPRequest) && slices.ContainsFunc(capabilities, func(raw json.RawMessage) bool {
		var payload, params map[string]json.RawMessage
		c, ok := parse(raw)
		pattern, err := protocol.ParseKindPattern(c.Kind)
		if !ok || c.Deny || err != nil || !pattern.Match(protocol.KindMCPRequest) {
			return false
		}
		_ = json.Unmarshal(c.Payload, &payload) // patterns of another form exclude nothing
		_ = json.Unmarshal(payload["params"], &params)
		return !excludes(c.To, string(host)) && !excludes(payload["method"], "tools/call") && !excludes(params["name"], tool)
	})
}

// excludes reports whether a pattern is texts with *, and none matches.
func excludes(pattern json.RawMessage, name string) bool {
	list := texts(pattern)
	return len(list) > 0 && !slices.ContainsFunc(list, func(p string) bool {
		return strings.HasPrefix(p, "/") || strings.ContainsAny(p, `!?[\{`) || strings.Count(p, "*") > 1 || starMatches(p, name)
	})
}

func starMatches(pattern, name string) bool {
	head, tail, special := strings.Cut(pattern, "*")
	if !special {
		return pattern == name
	}
	return !strings.Contains(tail, "*") && len(name) >= len(head)+len(tail) && strings.HasPrefix(name, head) && strings.HasSuffix(name, tail)
}

// texts returns a text, or the texts of an array; nil for anything else.
func texts(raw json.RawMessage) (list []string) {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		return []string{one}
	}
	if json.Unmarshal(raw, &list) != nil {
		return nil
	}
	return list
}

// MayAllow reports whether capabilities could allow an envelope of a kind. A
// capability with conditions counts as allowing it.
func MayAllow(capabilities []json.RawMessage, kind protocol.Kind) bool {
	allowed := false
	for _, raw := range capabilities {
		c, ok := parse(raw)
		if !ok {
			continue
		}
		pattern, err := protocol.ParseKindPattern(c.Kind)
		switch {
		case err != nil || !pattern.Match(kind):
		case !c.Deny:
			allowed = true
		case c.Payload == nil && c.To == nil && c.Context == nil:
			return false
		}
	}
	return allowed
}
