package safety

import (
	"encoding/json"

	"github.com/meup-protocol/meup/protocol"
)

// Text returns a text as it may be shown: leaks are masked, regardless of the
// kinds that are inspected before the log.
func (p *Pipeline) Text(s string) string {
	return p.shown.stages[0].(*leaks).set.Mask(s) //nolint:forcetypeassert // build made it
}

// Parameters returns the arguments of a tool call for display: with leaks masked, and
// fields whose name implies a secret, at all depths. It is nil if nothing changes.
func (p *Pipeline) Parameters(args protocol.Value) json.RawMessage {
	w := walks.Get().(*walk) //nolint:forcetypeassert // the pool holds nothing else
	defer w.release()
	w.p, w.root, w.fields = p.shown, -1, true
	w.value(args, nil, false)
	if len(w.edits) == 0 {
		return nil
	}
	return w.splice(args)
}
