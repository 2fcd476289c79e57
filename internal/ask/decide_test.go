package ask_test

import (
	"encoding/json"
	"testing"

	"github.com/meup-protocol/meup/internal/ask"
	"github.com/meup-protocol/meup/protocol"
)

func TestRights_MayDecide(t *testing.T) {
	const call = `"method":"tools/call","params":{"name":"write","arguments":{"path":"a.txt"}}`
	for _, test := range []struct {
		name, capability, payload string
		want                      bool
	}{
		{"decide alone", `"decide"`, `{"participant_id":"files",` + call + `}`, true},
		{"decide about the tool", `{"kind":"decide","payload":{"params":{"name":"write"}}}`, `{"participant_id":"files",` + call + `}`, true},
		{"decide about another tool", `{"kind":"decide","payload":{"params":{"name":"read"}}}`, `{"participant_id":"files",` + call + `}`, false},
		{"the call", `{"kind":"mcp.request","to":"files"}`, `{"participant_id":"files",` + call + `}`, true},
		{"the call with other arguments", `{"kind":"mcp.request","payload":{"params":{"arguments":{"path":"b.txt"}}}}`, `{"participant_id":"files",` + call + `}`, false},
		{"the call in another context", `{"kind":"mcp.request","context":"other"}`, `{"participant_id":"files",` + call + `}`, false},
		{"another kind", `"chat"`, `{"participant_id":"files",` + call + `}`, false},
		{"no host", `"*"`, `{` + call + `}`, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := &protocol.Envelope{From: "planner", Kind: protocol.KindMCPProposal, Context: "c", Payload: json.RawMessage(test.payload)}
			if got := ask.RightsOf([]json.RawMessage{json.RawMessage(test.capability)}).MayDecide(p); got != test.want {
				t.Error(got)
			}
		})
	}
}
