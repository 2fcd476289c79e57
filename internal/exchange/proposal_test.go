package exchange_test

import (
	"errors"
	"os"
	"slices"
	"testing"

	"github.com/meup-protocol/meup/internal/exchange"
	"github.com/meup-protocol/meup/protocol"
)

func decode(t *testing.T, text []byte) *protocol.Envelope {
	t.Helper()
	e, err := protocol.DecodeDelivered(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return &e
}

// rules parses the cases of the rules, which are independent of the language.
func rules(t *testing.T, list string) protocol.Value {
	t.Helper()
	text, err := os.ReadFile("testdata/rules.json")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := protocol.ParseJSON(text, protocol.MaxDepth)
	if err != nil {
		t.Fatal(err)
	}
	return doc.Root().Get(list)
}

func TestSettles(t *testing.T) {
	for c := range rules(t, "settles").Elements {
		t.Run(c.Get("name").Text(), func(t *testing.T) {
			p, e := decode(t, c.Get("proposal").Raw()), decode(t, c.Get("envelope").Raw())
			if got, want := exchange.Settles(p, e), exchange.Outcome(c.Get("outcome").Text()); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

func TestAmong(t *testing.T) {
	failed := errors.New("failed")
	lookup := func(id protocol.ID) (*protocol.Envelope, error) {
		switch id {
		case "failed":
			return nil, failed
		case "unknown":
			return nil, nil
		case "chat":
			return &protocol.Envelope{ID: id, Kind: protocol.KindChat}, nil
		}
		return &protocol.Envelope{ID: id, Kind: protocol.KindMCPProposal}, nil
	}
	for _, test := range []struct {
		ids  []protocol.ID
		want protocol.ID
		err  error
	}{
		{nil, "", nil},
		{[]protocol.ID{"unknown", "chat"}, "", nil},
		{[]protocol.ID{"chat", "a", "unknown", "a"}, "a", nil},
		{[]protocol.ID{"a", "b"}, "", nil},
		{[]protocol.ID{"a", "failed"}, "", failed},
	} {
		found, err := exchange.ProposalAmong(test.ids, lookup)
		var id protocol.ID
		if found != nil {
			id = found.ID
		}
		if id != test.want || !errors.Is(err, test.err) {
			t.Errorf("the proposal among %q is %q, %v, want %q, %v", test.ids, id, err, test.want, test.err)
		}
	}
}

func TestApproval(t *testing.T) {
	const exact = `{"jsonrpc":"2.0","id":"own","method":"m","params":{"n":1.00}}`
	const edited = `{"jsonrpc":"2.0","id":"own","method":"m","params":{"n":1.00},"edited":true}`
	for _, c := range []struct {
		name, proposal, to string
		host               protocol.ParticipantID
		payload            string
	}{
		{"host named", `"payload":{"method":"m","params":{"n":1.00},"participant_id":"files"}`, "", "files", exact},
		{"proposer is the host", `"payload":{"method":"m","params":{"n":1.00},"participant_id":"scout"}`, "", "scout", exact},
		{"host chosen", `"to":["alice"],"payload":{"method":"m","params":{"n":1.00}}`, "bob", "bob", exact},
		{"named host chosen", `"payload":{"method":"m","params":{"n":1.00},"participant_id":"files"}`, "files", "files", exact},
		{"metadata of the proposer", `"payload":{"method":"m","params":{"_meta":{"a":1},"n":1.00},"participant_id":"files"}`, "", "files", exact},
		{"another host chosen", `"payload":{"method":"m","params":{"n":1.00},"participant_id":"files"}`, "bob", "bob", edited},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := decode(t, []byte(`{"id":"p","from":"scout","kind":"mcp.proposal","context":"c",`+c.proposal+`}`))
			e, err := exchange.Approval(p, "own", protocol.ParticipantID(c.to))
			if err != nil {
				t.Fatal(err)
			}
			e.From = "alice"
			if exchange.Settles(p, &e) != exchange.Fulfilled || e.ID != "own" || e.Context != "c" {
				t.Errorf("%+v", e)
			}
			if !slices.Equal(e.To, []protocol.ParticipantID{c.host}) || string(e.Payload) != c.payload {
				t.Errorf("to %v: %s, want %s: %s", e.To, e.Payload, c.host, c.payload)
			}
		})
	}
}

// TestShown runs the cases of the parameters that are shown for a decision.
func TestShown(t *testing.T) {
	for c := range rules(t, "shown").Elements {
		t.Run(c.Get("name").Text(), func(t *testing.T) {
			name, params := exchange.ShownCall(c.Get("payload"))
			if want := string(c.Get("params").Raw()); name != c.Get("tool").Text() || string(params) != want {
				t.Errorf("%s %s, want %s %s", name, params, c.Get("tool").Text(), want)
			}
		})
	}
}

func TestApproval_Refused(t *testing.T) {
	for _, payload := range []string{`{}`, `{"method":7}`, `no JSON`, ``} {
		if e, err := exchange.Approval(&protocol.Envelope{ID: "p", Payload: []byte(payload)}, "own", "files"); err == nil {
			t.Errorf("%s: %+v", payload, e)
		}
	}
	p := &protocol.Envelope{ID: "p", From: "scout", Payload: []byte(`{"method":"m"}`)}
	if e, err := exchange.Approval(p, "own", ""); !errors.Is(err, exchange.ErrNoHost) {
		t.Errorf("without a host: %+v, %v", e, err)
	}
}

// TestRejection_Audience checks that a rejection is visible to all participants
// that can see the proposal.
func TestRejection_Audience(t *testing.T) {
	for to, want := range map[string][]protocol.ParticipantID{
		``:                              nil,
		`"to":["alice"],`:               {"scout", "alice"},
		`"to":["alice","bob","scout"],`: {"scout", "alice", "bob"},
	} {
		p := decode(t, []byte(`{"id":"p","from":"scout","kind":"mcp.proposal","context":"c",`+to+`"payload":{"method":"m"}}`))
		e := exchange.Rejection(p, `no "way"`)
		if !slices.Equal(e.To, want) || string(e.Payload) != `{"reason":"no \"way\""}` || e.Context != "c" || exchange.Settles(p, &e) != exchange.Rejected {
			t.Errorf("%s: %+v", to, e)
		}
	}
}

// FuzzApproval checks that an approval of an untrusted proposal is JSON and
// fulfills it.
func FuzzApproval(f *testing.F) {
	f.Add([]byte(`{"method":"tools/call","params":{"name":"x","arguments":{"a":[1,"\ud800"]}},"participant_id":"files"}`))
	f.Add([]byte(`{"method":"\u0000"}`))
	f.Fuzz(func(t *testing.T, payload []byte) {
		p := &protocol.Envelope{ID: "p", From: "scout", Kind: protocol.KindMCPProposal, Payload: payload}
		e, err := exchange.Approval(p, "own", "bob")
		if err != nil {
			return
		}
		doc, err := protocol.ParseJSON(e.Payload, protocol.MaxDepth)
		if err != nil {
			t.Fatalf("%s of %s: %v", e.Payload, payload, err)
		}
		e.From = "alice"
		if got := exchange.Settles(p, &e); got != exchange.Fulfilled {
			t.Fatalf("%s of %s is %q", doc.Root().Raw(), payload, got)
		}
	})
}
