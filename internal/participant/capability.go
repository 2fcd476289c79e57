package participant

import (
	"encoding/json"

	"github.com/meup-protocol/meup/protocol"
)

// CapabilityKind returns the kind pattern of a capability; "" for a denial.
func CapabilityKind(capability json.RawMessage) string {
	var kind string
	if json.Unmarshal(capability, &kind) == nil {
		return kind
	}
	var object struct {
		Kind string `json:"kind"`
		Deny bool   `json:"deny"`
	}
	if json.Unmarshal(capability, &object) != nil || object.Deny {
		return ""
	}
	return object.Kind
}

// MayAllow reports whether capabilities could allow an envelope of a kind. A
// capability with conditions counts as allowing it.
func MayAllow(capabilities []json.RawMessage, kind protocol.Kind) bool {
	allowed := false
	for _, raw := range capabilities {
		c := struct {
			Kind                 string
			Payload, To, Context json.RawMessage
			Deny                 bool
		}{}
		if json.Unmarshal(raw, &c.Kind) != nil && json.Unmarshal(raw, &c) != nil {
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
