package ask_test

import (
	"encoding/json"
	"testing"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/turns/ask"
	"github.com/meup-protocol/meup/protocol"
)

const decideConfig = `
spaces:
  lab: &lab
    participants:
      planner: {token: planner-token, capabilities: ["*"]}
      files: {token: files-token, capabilities: [mcp.response]}
      decider: {token: decider-token, capabilities: [decide]}
      decider-of-write: {token: decider-of-write-token, capabilities: [{kind: decide, payload: {params: {name: write}}}]}
      decider-of-read: {token: decider-of-read-token, capabilities: [{kind: decide, payload: {params: {name: read}}}]}
      caller: {token: caller-token, capabilities: [{kind: mcp.request, to: files}]}
      caller-of-b: {token: caller-of-b-token, capabilities: [{kind: mcp.request, payload: {params: {arguments: {path: b.txt}}}}]}
      caller-elsewhere: {token: caller-elsewhere-token, capabilities: [{kind: mcp.request, context: other}]}
      chatter: {token: chatter-token, capabilities: [chat]}
  strict:
    <<: *lab
    proposals: {decide: explicit}
`

// The gateway, which knows the capabilities and the rule of the space, tells who may
// decide, and no longer when there is a decision.
func TestMayDecide(t *testing.T) {
	g := meuptest.Start(t, decideConfig)
	client := func(who string) *api.Client {
		c, err := api.New(api.Options{URL: g.HTTP(), Token: who + "-token"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		return c
	}
	const call = `"method":"tools/call","params":{"name":"write","arguments":{"path":"a.txt"}}`
	planner := client("planner")
	send := func(space, id, kind, within, correlation, payload string) {
		e := protocol.Envelope{ID: protocol.ID(id), Kind: protocol.Kind(kind), Context: protocol.ContextPath(within), Payload: json.RawMessage(payload)}
		if correlation != "" {
			e.Correlation = protocol.CorrelateTo(protocol.ID(correlation))
		}
		if _, err := planner.Send(t.Context(), space, e); err != nil {
			t.Fatal(err)
		}
	}
	for space, by := range map[string]map[string]bool{
		"lab":    {"decider": true, "decider-of-write": true, "caller": true},
		"strict": {"decider": true, "decider-of-write": true},
	} {
		send(space, "s", "reasoning.start", "", "", `{"message":"a job"}`)
		send(space, "p", "mcp.proposal", "s", "", `{"participant_id":"files",`+call+`}`)
		send(space, "no-host", "mcp.proposal", "s", "", `{`+call+`}`)
		named, err := ask.Envelope(t.Context(), planner, space, "p")
		if err != nil {
			t.Fatal(err)
		}
		open, err := ask.Envelope(t.Context(), planner, space, "no-host")
		if err != nil {
			t.Fatal(err)
		}
		for _, who := range []string{"planner", "decider", "decider-of-write", "decider-of-read", "caller", "caller-of-b", "caller-elsewhere", "chatter"} {
			t.Run(space+" "+who, func(t *testing.T) {
				if got := ask.MayDecide(t.Context(), client(who), space, named); got != by[who] {
					t.Error(got)
				}
				if ask.MayDecide(t.Context(), client(who), space, open) {
					t.Error("a proposal without a host cannot be approved")
				}
			})
		}
		send(space, "w", "mcp.withdraw", "s", "p", `{"reason":"other"}`)
		if ask.MayDecide(t.Context(), client("decider"), space, named) {
			t.Errorf("%s: a withdrawn proposal waits for no decision", space)
		}
	}
}
