package gateway_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/exchange"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/protocol"
	"github.com/meup-protocol/meup/schemas"
)

const decidersConfig = `
spaces:
  lab:
    participants:
      alice: {token: alice-token, capabilities: ["*", observe]}
      bob: {token: bob-token, capabilities: [mcp.proposal, mcp.withdraw]}
      opsann: {token: opsann-token, capabilities: [mcp.request, mcp.reject, decide]}
      opsben: {token: opsben-token, capabilities: [mcp.request, mcp.reject, decide]}
      rev: {token: rev-token, capabilities: [mcp.opinion, mcp.request, mcp.reject, decide]}
      files: {token: files-token, capabilities: [mcp.response]}
      eve: {token: eve-token, capabilities: [observe]}
    proposals:
      human_only:
        - {payload: {params: {name: "delete_*"}}}
      deciders:
        - rules: [{payload: {params: {name: list}}}]
        - {reviewer: rev, mode: shadow, for: [{payload: {params: {name: ["move", "wipe"]}}}], promote: {decisions: 2, without_miss: 2}}
        - {people: [alice]}
        - {people: ["ops*"], after: 10m}
`

// deciders returns what a participant reads of the deciders; nil: it may not.
func (v *visit) deciders(who, query string) *api.Deciders {
	v.t.Helper()
	resp := v.do(http.MethodGet, "/api/spaces/lab/deciders"+query, who, nil)
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	if resp.StatusCode == protocol.CodeCapabilityViolation.HTTPStatus() {
		return nil
	}
	if err := schemas.Document("http/deciders", body); err != nil || resp.StatusCode != http.StatusOK {
		v.t.Fatalf("%s %v\n%s", resp.Status, err, body)
	}
	var d api.Deciders
	if err := json.Unmarshal(body, &d); err != nil {
		v.t.Fatal(err)
	}
	return &d
}

// opines has rev judge a proposed call of a tool.
func opines(proposal, tool, verdict string) logLine {
	p := proposed(proposal, tool, "")
	call := exchange.CallOf(&protocol.Envelope{Payload: p.Payload}).Digest()
	return logLine{From: "rev", Kind: "mcp.opinion", Answers: json.RawMessage(`"` + proposal + `"`), Payload: fmt.Appendf(nil, `{"verdict":%q,"call":%q}`, verdict, call)}
}

func changesMode(kind, from, decision string) logLine {
	line := logLine{From: from, Kind: kind, Payload: json.RawMessage(`{"participant_id":"rev","reason":"seen"}`)}
	if decision != "" {
		line.Answers = json.RawMessage(`"` + decision + `"`)
	}
	return line
}

// shown has a line for each decider.
func shown(d *api.Deciders) string {
	var out strings.Builder
	for i := range d.Deciders {
		x := &d.Deciders[i]
		fmt.Fprintf(&out, "%s %s%s %s", x.Type, x.ID, x.Pattern, x.Mode)
		if x.AfterSeconds > 0 {
			fmt.Fprintf(&out, " after %gs", x.AfterSeconds)
		}
		if x.Score != nil {
			t := x.Score.Tally
			fmt.Fprintf(&out, " covered %d of %d, misses %d of %d, rejections %d of %d, saved %d", t.Covered, t.Proposals, t.Misses, t.Compared, t.AgreedRejections, t.PersonRejections, t.Saved)
		}
		if x.Promotion != nil {
			fmt.Fprintf(&out, ", %d of %d, may %v, %s", x.Promotion.Compared, x.Promotion.Decisions, x.Promotion.MayPromote, x.Promotion.Missing)
		}
		if x.Changed != nil {
			fmt.Fprintf(&out, ", %s by %s (%s)", x.Changed.Mode, x.Changed.By, x.Changed.Reason)
		}
		out.WriteString("\n")
	}
	return out.String()
}

func TestDeciders(t *testing.T) {
	t.Parallel()
	v := &visit{t, meuptest.Start(t, decidersConfig)}
	tell(t, v,
		logLine{From: "bob", Kind: "mcp.request", To: json.RawMessage(`["files"]`), Payload: json.RawMessage(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list"}}`)},
		proposed("p1", "move", ""), opines("p1", "move", "approve"), calling("r1", "alice", "move", "p1", ""),
		proposed("p2", "wipe", ""), opines("p2", "wipe", "reject"), rejects("r2", "alice", "p2"),
		proposed("p3", "delete_all", ""), opines("p3", "delete_all", "approve"), rejects("r3", "alice", "p3"),
	)
	before := "rules   covered 1 of 3, misses 0 of 0, rejections 0 of 0, saved 1\n" +
		"reviewer rev shadow covered 2 of 2, misses 0 of 2, rejections 1 of 1, saved 2, 2 of 2, may %v, \n" +
		"person alice  covered 3 of 3, misses 0 of 0, rejections 0 of 0, saved 0\n" +
		"person ops*  after 600s\n"
	for _, c := range []struct {
		who, want string
	}{
		{"alice", fmt.Sprintf(before, true)},
		{"eve", fmt.Sprintf(before, false)},
		{"rev", fmt.Sprintf(before, false)},
		{"opsann", fmt.Sprintf(before, false)}, // may not send promotions
		{"bob", ""},
		{"files", ""},
	} {
		t.Run("read by "+c.who, func(t *testing.T) {
			v := &visit{t, v.g}
			d := v.deciders(c.who, "")
			if d == nil && c.want != "" || d != nil && (shown(d) != c.want || !d.Configured || len(d.HumanOnly) != 1 || d.Partial) {
				t.Errorf("%+v\n%s\nwant\n%s", d, shown(d), c.want)
			}
		})
	}

	tell(t, v,
		changesMode("reviewer.promote", "alice", ""),
		proposed("p4", "move", ""), opines("p4", "move", "approve"), calling("r4", "rev", "move", "p4", ""),
	)
	if d := v.decisions("alice", "proposal=p4").Decisions[0].Decided; d.Decider != "reviewer" || d.Participant != "rev" {
		t.Errorf("%+v", d)
	}
	tell(t, v, proposed("p5", "move", ""))
	e := opines("p5", "move", "approve")
	opinion := protocol.Envelope{Kind: protocol.KindMCPOpinion, Correlation: protocol.CorrelateTo("p5"), Payload: e.Payload}
	receipt, err := v.g.API(t, "rev").Send(t.Context(), "lab", opinion)
	if err != nil || !receipt.Decides {
		t.Errorf("the opinion of a reviewer that decides: %+v, %v", receipt, err)
	}
	opinion.ID = receipt.ID
	receipt, err = v.g.API(t, "rev").Send(t.Context(), "lab", opinion)
	if err != nil || receipt.Decides {
		t.Errorf("its retry: %+v, %v", receipt, err)
	}
	tell(t, v, logLine{From: "bob", Kind: "mcp.withdraw", Answers: json.RawMessage(`"p5"`), Payload: json.RawMessage(`{"reason":"no_longer_needed"}`)})

	after := "reviewer rev decide covered 4 of 4, misses 0 of 2, rejections 1 of 1, saved 3, decide by alice (seen)\n"
	if got := shown(v.deciders("alice", "")); !strings.Contains(got, after) {
		t.Errorf("promoted:\n%s", got)
	}
	tell(t, v, changesMode("reviewer.demote", "alice", "r4"))
	d := v.deciders("alice", "")
	after = "reviewer rev shadow covered 4 of 4, misses 1 of 3, rejections 1 of 2, saved 2, 0 of 2, may true, people have decided on 0 of its opinions since its last demotion (" +
		d.Deciders[1].Changed.At.UTC().Format(time.RFC3339) + "), and 2 are needed, shadow by alice (seen)\n"
	if got := shown(d); !strings.Contains(got, after) || d.Deciders[1].Changed.Undone != "r4" {
		t.Errorf("demoted:\n%s", got)
	}
	list, err := v.g.API(t, "alice").Decisions(t.Context(), "lab", api.DecisionQuery{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	for i := range list.Decisions {
		x := &list.Decisions[i]
		if u := x.Undone; (u != nil) != (x.ID == "r4") || u != nil && (u.By != "alice" || u.Reason != "seen") {
			t.Errorf("%s is undone: %+v", x.ID, u)
		}
	}
	if got := shown(v.deciders("alice", "?since=0s")); !strings.Contains(got, "rev shadow covered 0 of 0") {
		t.Errorf("since now:\n%s", got)
	}
	for _, k := range d.Deciders[1].Score.Kinds {
		if k.Kind == "move" && (k.Proposals != 3 || k.Misses != 1) || k.Kind == "wipe" && k.AgreedRejections != 1 {
			t.Errorf("%+v", k)
		}
	}
}

// Without deciders in the configuration, those who have decided are listed.
func TestDeciders_NotConfigured(t *testing.T) {
	t.Parallel()
	v := &visit{t, meuptest.Start(t, reasonsConfig)}
	tell(t, v, proposed("p1", "move", ""), calling("r1", "alice", "move", "p1", ""), proposed("p2", "wipe", ""), rejects("r2", "alice", "p2"))
	d := v.deciders("eve", "")
	want := "person alice  covered 2 of 2, misses 0 of 0, rejections 0 of 0, saved 0\n"
	if d.Configured || shown(d) != want || v.deciders("carol", "") != nil {
		t.Errorf("%+v\n%s", d, shown(d))
	}
}
