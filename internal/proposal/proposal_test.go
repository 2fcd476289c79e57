package proposal_test

import (
	"testing"

	"github.com/meup-protocol/meup/internal/proposal"
	"github.com/meup-protocol/meup/protocol"
)

func decode(t *testing.T, text string) *protocol.Envelope {
	t.Helper()
	e, err := protocol.DecodeDelivered([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return &e
}

func TestSettles(t *testing.T) {
	p := decode(t, `{"id":"p","from":"scout","kind":"mcp.proposal","context":"c/d","payload":{"method":"resources/read"}}`)
	for text, want := range map[string]proposal.Outcome{
		`"from":"al","kind":"mcp.request","correlationId":"p","payload":{"method":"tools/call"}`:              proposal.Fulfilled,
		`"from":"al","kind":"mcp.request","correlationId":["x","p"],"payload":{"method":"resources/read"}`:    proposal.Fulfilled,
		`"from":"al","kind":"mcp.request","correlationId":"p","payload":{"method":"tools/list"}`:              proposal.Pending,
		`"from":"al","kind":"mcp.request","correlationId":"p","payload":{"method":"notifications/cancelled"}`: proposal.Pending,
		`"from":"al","kind":"mcp.request","correlationId":"p","payload":{}`:                                   proposal.Pending,
		`"from":"al","kind":"mcp.request","correlationId":"x","payload":{"method":"tools/call"}`:              proposal.Pending,
		`"from":"scout","kind":"mcp.request","correlationId":"p","payload":{"method":"tools/call"}`:           proposal.Pending,
		`"from":"al","kind":"mcp.reject","correlationId":"p","payload":{}`:                                    proposal.Rejected,
		`"from":"scout","kind":"mcp.reject","correlationId":"p","payload":{}`:                                 proposal.Pending,
		`"from":"scout","kind":"mcp.withdraw","correlationId":"p","payload":{"reason":"done"}`:                proposal.Withdrawn,
		`"from":"scout","kind":"mcp.withdraw","correlationId":"p","payload":{"reason":"timeout"}`:             proposal.Expired,
		`"from":"al","kind":"mcp.withdraw","correlationId":"p","payload":{}`:                                  proposal.Pending,
		`"from":"scout","kind":"reasoning.conclusion","context":"c/d","payload":{}`:                           proposal.Expired,
		`"from":"al","kind":"reasoning.cancel","context":"c","payload":{}`:                                    proposal.Expired,
		`"from":"al","kind":"reasoning.cancel","context":"c/d/e","payload":{}`:                                proposal.Pending,
		`"from":"al","kind":"reasoning.cancel","context":"c/dd","payload":{}`:                                 proposal.Pending,
		`"from":"al","kind":"reasoning.cancel","correlationId":"d","payload":{}`:                              proposal.Expired,
		`"from":"al","kind":"reasoning.cancel","correlationId":["x","c"],"payload":{}`:                        proposal.Expired,
		`"from":"al","kind":"reasoning.cancel","correlationId":"x","payload":{}`:                              proposal.Pending,
		`"from":"al","kind":"reasoning.conclusion","correlationId":"c","payload":{}`:                          proposal.Pending,
		`"from":"scout","kind":"chat","correlationId":"p","payload":{}`:                                       proposal.Pending,
	} {
		if got := proposal.Settles(p, decode(t, `{"id":"e",`+text+`}`)); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// TestWhoSeesADecision: everybody who saw the proposal, unless the call is for
// somebody.
func TestWhoSeesADecision(t *testing.T) {
	for _, c := range []struct{ proposal, to, approval, rejection string }{
		{`"payload":{"method":"m","params":{"n":1.00}}`, "", "[]", "[]"},
		{`"to":["alice","files","scout"],"payload":{"method":"m","params":{"n":1.00}}`, "", "[scout alice files]", "[scout alice files]"},
		{`"to":["alice"],"payload":{"method":"m","params":{"n":1.00},"participant_id":"files"}`, "", "[files]", "[scout alice]"},
		{`"payload":{"method":"m","params":{"n":1.00},"participant_id":"files"}`, "bob", "[bob]", "[]"},
	} {
		p := decode(t, `{"id":"p","from":"scout","kind":"mcp.proposal","context":"c",`+c.proposal+`}`)
		e, err := proposal.Approval(p, "own", protocol.ParticipantID(c.to))
		if err != nil || e.Kind != protocol.KindMCPRequest || e.ID != "own" || !e.Correlation.Names("p") || e.Context != "c" {
			t.Errorf("%+v, %v", e, err)
		}
		if got, want := string(e.Payload), `{"jsonrpc":"2.0","id":"own","method":"m","params":{"n":1.00}}`; got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if got := names(e.To); got != c.approval {
			t.Errorf("%s: the approval goes to %s", c.proposal, got)
		}
		r := proposal.Rejection(p, `no "way"`)
		if got := names(r.To); got != c.rejection || r.Kind != protocol.KindMCPReject || string(r.Payload) != `{"reason":"no \"way\""}` || r.Context != "c" {
			t.Errorf("%s: the rejection goes to %s: %+v", c.proposal, got, r)
		}
	}
}

func names(to []protocol.ParticipantID) string {
	list := "["
	for i, id := range to {
		if i > 0 {
			list += " "
		}
		list += string(id)
	}
	return list + "]"
}

func TestWhatCannotBeApproved(t *testing.T) {
	for _, payload := range []string{`{}`, `{"method":7}`, `no JSON`, ``} {
		if e, err := proposal.Approval(&protocol.Envelope{ID: "p", Payload: []byte(payload)}, "own", ""); err == nil {
			t.Errorf("%s: %+v", payload, e)
		}
	}
}

// FuzzApproval: what is sent for a stranger's proposal is JSON, with the method
// and the parameters of the proposal.
func FuzzApproval(f *testing.F) {
	f.Add([]byte(`{"method":"tools/call","params":{"name":"x","arguments":{"a":[1,"\ud800"]}},"participant_id":"files"}`))
	f.Add([]byte(`{"method":"\u0000"}`))
	f.Fuzz(func(t *testing.T, payload []byte) {
		p := &protocol.Envelope{ID: "p", From: "scout", Kind: protocol.KindMCPProposal, Payload: payload}
		e, err := proposal.Approval(p, "own", "")
		if err != nil {
			return
		}
		doc, err := protocol.ParseJSON(e.Payload, protocol.MaxDepth)
		if err != nil {
			t.Fatalf("%s of %s: %v", e.Payload, payload, err)
		}
		e.From = "alice"
		if got := proposal.Settles(p, &e); got != proposal.Fulfilled {
			t.Fatalf("%s of %s is %q", doc.Root().Raw(), payload, got)
		}
	})
}
