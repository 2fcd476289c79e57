package participant

import "encoding/json"

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
