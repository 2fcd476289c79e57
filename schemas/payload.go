package schemas

import (
	"errors"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/meup-protocol/meup/protocol"
)

// Payload checks the payload of a kind by section 2. Kinds without a schema,
// mostly kinds of applications, are always valid. It does not allocate for the
// most frequent shapes.
//
// The error is invalid_payload, with the place in the envelope as Path
// ("/payload/message"), the expected value as Detail, and advice as Message.
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
