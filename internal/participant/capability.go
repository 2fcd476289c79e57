package participant

import (
	"encoding/json"

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

// CapabilityKind returns the kind pattern of a capability; "" for a denial.
func CapabilityKind(raw json.RawMessage) string {
	c, ok := parse(raw)
	if !ok || c.Deny {
		return ""
	}
	return c.Kind
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
