package schemas

import (
	"errors"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/meup-protocol/meup/protocol"
)

// Payload checks the payload of a kind by section 2. Kinds without a schema,
// those of applications above all, have nothing to satisfy. It allocates
// nothing for the shapes that are sent most.
//
// Error: invalid_payload, with the place in the envelope as Path
// ("/payload/message"), what was expected there as Detail, and what to do as
// Message.
func Payload(kind protocol.Kind, payload protocol.Value) *protocol.Error {
	if fastAccept(kind, payload) {
		return nil
	}
	schema, ok := payloads()[kind]
	if !ok {
		return nil
	}
	err := schema.Validate(instance(payload))
	if err == nil {
		return nil
	}
	var failed *jsonschema.ValidationError
	if !errors.As(err, &failed) {
		return refusal(kind, fault{detail: err.Error()})
	}
	return refusal(kind, explain(schema, payload, failed))
}
