package gateway_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// Decisions about one proposal that are made through two gateways at once: one counts,
// the others are refused, and both gateways have the same one.
func TestProposals_TwoGateways(t *testing.T) {
	t.Parallel()
	config := onNATS(t, aguiConfig)
	gateways := []*meuptest.Gateway{meuptest.Start(t, config), meuptest.Start(t, config)}
	const most = 25
	// send sends an envelope, which has an id, when the log is available.
	send := func(g *meuptest.Gateway, token, envelope string) (status int, body string) {
		testkit.Eventually(t, "the log is available", func() bool {
			status, body = postAs(t, g, token, "/api/spaces/lab/envelopes", envelope)
			return status != http.StatusServiceUnavailable
		})
		return status, body
	}
	for i := range most {
		id := fmt.Sprintf("p%d", i)
		call := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"wipe","arguments":{"n":%d}}}`, i, i)
		proposal := fmt.Sprintf(`{"id":%q,"kind":"mcp.proposal","payload":{"method":"tools/call","params":{"name":"wipe","arguments":{"n":%d}},"participant_id":"files"}}`, id, i)
		if status, body := send(gateways[i%2], "planner-token", proposal); status != http.StatusOK {
			t.Fatalf("%d %s", status, body)
		}
		decisions := []struct{ token, body string }{
			{"alice-token", fmt.Sprintf(`{"id":"%[1]s-0","kind":"mcp.request","to":["files"],"correlationId":%[1]q,"payload":%[2]s}`, id, call)},
			{"watcher-token", fmt.Sprintf(`{"id":"%[1]s-1","kind":"mcp.reject","correlationId":%[1]q,"payload":{"reason":"unsafe"}}`, id)},
			{"files-token", fmt.Sprintf(`{"id":"%[1]s-2","kind":"mcp.reject","correlationId":%[1]q,"payload":{"reason":"policy"}}`, id)},
			{"planner-token", fmt.Sprintf(`{"id":"%[1]s-3","kind":"mcp.withdraw","correlationId":%[1]q,"payload":{"reason":"no_longer_needed"}}`, id)},
		}
		var all sync.WaitGroup
		statuses := make([]int, len(decisions))
		for k, d := range decisions {
			all.Go(func() {
				var body string
				statuses[k], body = send(gateways[(i+k)%2], d.token, d.body)
				if statuses[k] != http.StatusOK && statuses[k] != protocol.CodeProposalSettled.HTTPStatus() {
					t.Errorf("%s: %d %s", d.body, statuses[k], body)
				}
			})
		}
		all.Wait()
		made := 0
		for _, s := range statuses {
			if s == http.StatusOK {
				made++
			}
		}
		if made != 1 {
			t.Errorf("proposal %s has %d decisions, want one: %v", id, made, statuses)
		}
	}
	// settled returns how the proposals were settled, as a gateway has it; "": one waits.
	settled := func(g *meuptest.Gateway) (text string) {
		list, err := whenAvailable(t, func() (*api.Proposals, error) {
			return g.API(t, "alice").Proposals(t.Context(), "lab", "all", 2*most, 0)
		})
		if err != nil {
			t.Fatal(err)
		}
		for i := range list.Proposals {
			p := &list.Proposals[i]
			if p.SettledBy == nil {
				return ""
			}
			text += fmt.Sprintf("%s %s %+v\n", p.Envelope.ID, p.State, *p.SettledBy)
		}
		if len(list.Proposals) != most {
			t.Errorf("there are %d proposals, want %d", len(list.Proposals), most)
		}
		return text
	}
	// decided returns who decided, with what was recorded of it.
	decided := func(g *meuptest.Gateway) (text string) {
		list, err := whenAvailable(t, func() (*api.Decisions, error) {
			return g.API(t, "alice").Decisions(t.Context(), "lab", api.DecisionQuery{Limit: 100})
		})
		if err != nil {
			t.Fatal(err)
		}
		for i := range list.Decisions {
			x := &list.Decisions[i]
			if x.Outcome != "withdrawn" && x.Decided.Policy != list.Policy {
				t.Errorf("recorded: %+v", x.Decided)
			}
			text += inWords(x) + "\n"
		}
		if len(list.Decisions) != most {
			t.Errorf("there are %d decisions, want %d", len(list.Decisions), most)
		}
		return text
	}
	testkit.Eventually(t, "both gateways have all decisions", func() bool { return settled(gateways[0]) != "" && settled(gateways[1]) != "" })
	if a, b := settled(gateways[0]), settled(gateways[1]); a != b {
		t.Errorf("the gateways differ:\n%s\n%s", a, b)
	}
	if a, b := decided(gateways[0]), decided(gateways[1]); a != b {
		t.Errorf("the gateways differ:\n%s\n%s", a, b)
	}
}
