package a2a

import (
	"encoding/json"
	"testing"

	wire "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/meup-protocol/meup/protocol"
)

// A decision is asked for with all that an approval sends, and nothing else: every member
// of the parameters but the metadata of the proposer.
func TestAsks(t *testing.T) {
	m := asks(wire.TaskInfo{}, &protocol.Envelope{
		ID: "p1", From: "bob", Kind: protocol.KindMCPProposal,
		Payload: []byte(`{"method":"tools/call","params":{"name":"wipe","arguments":{"n":1},"task":{"ttl":5},"_meta":{"x":1}},"participant_id":"files"}`),
	})
	data := m.Parts[len(m.Parts)-1].Content.(wire.Data).Value.(map[string]any)
	const want = `{"name":"wipe","arguments":{"n":1},"task":{"ttl":5}}`
	if got, _ := data["params"].(json.RawMessage); string(got) != want {
		t.Errorf("the parameters are %s, want %s", got, want)
	}
}
