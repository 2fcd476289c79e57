package hooks

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/gateway/access"
	"github.com/meup-protocol/meup/protocol"
)

// refuse answers an event that cannot be served, of which body may be the beginning.
func refuse(w http.ResponseWriter, r *http.Request, p *program, body []byte, err error) {
	name, known := eventName(body)
	if !known || name == "" { // it may be a call
		name = "PreToolUse"
	}
	refuseEvent(w, r, p, name, err)
}

// refuseEvent denies the call that an event is about: an agent takes an error for no answer, and
// would make the call by its own rules. The answer to any other event is the error.
func refuseEvent(w http.ResponseWriter, r *http.Request, p *program, name string, err error) {
	kicked := errors.Is(err, &protocol.Error{Code: protocol.CodeKicked})
	failsOpen := r.URL.Query().Get("fail") == "open" // leaves the call to the agent's own rules
	if !slices.Contains(api.HookGates, name) || failsOpen && !kicked {
		access.WriteError(w, err)
		return
	}
	space := r.PathValue("space")
	reason := fmt.Sprintf("The participant was removed from the space %s.", space)
	if !kicked {
		refused := protocol.AsError(err)
		reason = fmt.Sprintf("The space %s could not be asked about this call, so it is not made: %s", space, cmp.Or(refused.Message, string(refused.Code)))
	}
	h := &hook{event: event{program: p, name: name}}
	writeAnswer(w, &h.event, h.denied(reason))
}

// eventName returns the name of an event whose body cannot be read, or is only the beginning
// of one. The arguments of a call are the model's, so only a member of the body itself counts.
// known is false if the name may be in a part that cannot be read.
func eventName(body []byte) (name string, known bool) {
	d := json.NewDecoder(bytes.NewReader(body))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return "", false
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return "", false
		}
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return "", false
		}
		if key == "hook_event_name" {
			return name, json.Unmarshal(value, &name) == nil
		}
	}
	_, err := d.Token()
	return "", err == nil
}
