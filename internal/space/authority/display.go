package authority

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

// CapabilitiesOf lists a participant's capabilities, spelled for the dialect.
func (st *State) CapabilitiesOf(id protocol.ParticipantID, d protocol.Dialect, now time.Time) []json.RawMessage {
	list := st.Ledger.Display(id, now)
	if d != protocol.DialectMEUP01 {
		list = st.Ledger.DisplaySlash(id, now)
	}
	if d == protocol.DialectMEW04 {
		return mewCapabilities(list)
	}
	return append(make([]json.RawMessage, 0, len(list)), list...)
}

// stepKinds are the kinds that reasoning/step covers in capabilities. The matcher
// of MEW's clients does not know it.
var stepKinds = []protocol.Kind{
	protocol.KindReasoningThought, protocol.KindReasoningObservation, protocol.KindReasoningHypothesis, protocol.KindReasoningQuestion,
}

// mewCapabilities spells capabilities, with slashes, for the matcher of MEW's
// clients: only objects, no deny rules, ** for every kind, and the right to
// answer, which these clients always have.
func mewCapabilities(list []json.RawMessage) []json.RawMessage {
	answer := json.RawMessage(`{"kind":"mcp/response"}`)
	out := make([]json.RawMessage, 0, len(list)+1)
	answers := false
	for _, c := range list {
		doc, err := protocol.ParseJSON(c, protocol.MaxDepth)
		if err != nil {
			continue // it was parsed when it was granted
		}
		v := doc.Root()
		if v.Get("deny").Bool() {
			continue
		}
		kind := v.Get("kind")
		if v.Type() == protocol.TypeString {
			kind = v
		}
		kinds := []string{kind.Text()}
		switch kinds[0] {
		case "*":
			kinds[0] = "**"
		case "reasoning/step":
			kinds = kinds[:0]
			for _, k := range stepKinds {
				kinds = append(kinds, k.Slash())
			}
		}
		for _, k := range kinds {
			spelled := mewCapability(v, k)
			answers = answers || bytes.Equal(spelled, answer)
			out = append(out, spelled)
		}
	}
	if !answers {
		out = append(out, answer)
	}
	return out
}

// mewCapability returns a capability with another kind.
func mewCapability(v protocol.Value, kind string) json.RawMessage {
	out := protocol.AppendString([]byte(`{"kind":`), kind)
	if v.Type() == protocol.TypeObject {
		for k, x := range v.Members {
			if !k.EqualText("kind") {
				out = append(append(append(append(out, ','), k.Raw()...), ':'), x.Raw()...)
			}
		}
	}
	return append(out, '}')
}
