package safety

import (
	"github.com/meup-protocol/meup/internal/safety/redact"
	"github.com/meup-protocol/meup/protocol"
)

// refusal returns the error for an envelope that is blocked by a value in root.
func (w *walk) refusal(root string) *protocol.Error {
	const leak = "The payload seems to contain a secret (%s). Remove it and send the envelope again."
	const other = "The gateway's policy rejects the payload (%s). Change it and send the envelope again."
	sentence := other
	if w.refusedBy == stageLeaks {
		sentence = leak
	}
	e := protocol.Errorf(protocol.CodeInvalidPayload, sentence, w.refused)
	e.Path = root + w.place
	e.Detail = "found by the rule " + w.refused
	return e
}

// within adds a step to the place of a value that blocks the payload, which is its
// JSON pointer; of the object, if it is a key.
func (w *walk) within(step string) { w.place = "/" + protocol.EscapePointer(step) + w.place }

// cleanKey returns a key without findings, which an error must not contain.
func (w *walk) cleanKey(k protocol.Value) string {
	body := []byte(k.Text())
	budget := redact.NewBudget(len(body))
	for _, stage := range w.p.stages {
		if found := stage.inspect(nil, input{body: body, budget: &budget}); len(found) > 0 {
			return redact.Marker(found[0].Rule)
		}
	}
	return string(body)
}
