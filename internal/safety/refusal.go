package safety

import (
	"strconv"

	"github.com/meup-protocol/meup/internal/redact"
	"github.com/meup-protocol/meup/protocol"
)

// refusal returns the error for an envelope that is blocked by the value v at place.
func (w *walk) refusal(place string, v protocol.Value) *protocol.Error {
	const leak = "The payload seems to contain a secret (%s). Remove it and send the envelope again."
	const other = "The gateway's policy rejects the payload (%s). Change it and send the envelope again."
	sentence := other
	if w.refusedBy == (*leaks)(nil).name() {
		sentence = leak
	}
	e := protocol.Errorf(protocol.CodeInvalidPayload, sentence, w.refused)
	e.Path = place + w.pathTo(v)
	e.Detail = "found by the rule " + w.refused
	return e
}

// pathTo returns the JSON pointer of the string where the first finding is; of
// the object, if it is in a key.
func (w *walk) pathTo(v protocol.Value) string {
	i := 0
	for x := range v.Elements {
		if w.within(x) {
			return "/" + strconv.Itoa(i) + w.pathTo(x)
		}
		i++
	}
	for k, x := range v.Members {
		if w.within(x) {
			return "/" + protocol.EscapePointer(w.cleanKey(k)) + w.pathTo(x)
		}
	}
	return ""
}

func (w *walk) within(v protocol.Value) bool {
	return w.at >= v.Offset() && w.at < v.Offset()+len(v.Raw())
}

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
