package gateway_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/schemas"
)

func (v *visit) proposals(who, query string) (p api.Proposals) {
	v.t.Helper()
	resp := v.do(http.MethodGet, "/api/spaces/lab/proposals?"+query, who, nil)
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		v.t.Fatalf("%s: %s %s %v", query, resp.Status, body, err)
	}
	if err := schemas.Document("http/proposals", body); err != nil {
		v.t.Errorf("%v\n%s", err, body)
	}
	if err := json.Unmarshal(body, &p); err != nil {
		v.t.Fatal(err)
	}
	return p
}

// TestProposals_HTTP: proposals are listed by state, newest first, in pages, with who
// settled them, and only as far as the caller may see.
func TestProposals_HTTP(t *testing.T) {
	v := &visit{t, meuptest.Start(t, searchConfig)}
	propose := func(id, extra string) logLine {
		return logLine{ID: id, From: "bob", Kind: "mcp.proposal", Payload: json.RawMessage(`{"method":"tools/call","params":{"name":"wipe","arguments":{"n":1.00}},"participant_id":"bob"` + extra + `}`)}
	}
	hidden := propose("p5", "")
	hidden.To = json.RawMessage(`["alice"]`)
	inside := propose("p6", "")
	inside.Context = "c1"
	for _, line := range []logLine{
		propose("p1", ""), propose("p2", ""), propose("p3", ""), propose("p4", `,"expires_at":"2020-01-01T00:00:00Z"`), hidden,
		propose("p8", `,"expires_at":"2020-01-01T00:00:00Z"`),
		{ID: "c1", From: "bob", Kind: "reasoning.start"}, inside, propose("p7", ""),
		{ID: "d1", From: "alice", Kind: "mcp.request", To: json.RawMessage(`["bob"]`), Answers: json.RawMessage(`"p1"`), Payload: json.RawMessage(`{"id":1,"method":"tools/call","params":{"name":"wipe","arguments":{"n":1}}}`)},
		{ID: "d2", From: "alice", Kind: "mcp.reject", Answers: json.RawMessage(`"p2"`), Payload: json.RawMessage(`{"reason":"unsafe"}`)},
		{ID: "d3", From: "bob", Kind: "mcp.withdraw", Answers: json.RawMessage(`"p3"`), Payload: json.RawMessage(`{"reason":"no_longer_needed"}`)},
		{ID: "d6", From: "bob", Kind: "reasoning.conclusion", Context: "c1"},
		{ID: "d8", From: "alice", Kind: "mcp.reject", Answers: json.RawMessage(`"p8"`), Payload: json.RawMessage(`{"reason":"unsafe"}`)}, // late
	} {
		if !v.post(line) {
			t.Fatal(line.ID)
		}
	}
	for _, c := range []struct{ who, query, want string }{
		{"alice", "", "p7? p5?"}, {"carol", "", "p7 p1"}, {"eve", "state=pending", "p7 p5"}, {"alice", "state=fulfilled", "p1:d1"},
		{"alice", "state=rejected", "p8:d8 p2:d2"}, {"alice", "state=withdrawn", "p3:d3"}, {"alice", "state=expired", "p6:d6 p4"},
		{"carol", "state=fulfilled", ""}, {"alice", "state=all", "p7? p6:d6 p8:d8 p5? p4 p3:d3 p2:d2 p1:d1"}, {"bob", "limit=1", "p7 …"},
	} {
		t.Run(c.who+" "+c.query, func(t *testing.T) {
			page := (&visit{t, v.g}).proposals(c.who, c.query)
			var got []string
			for _, p := range page.Proposals {
				line := string(p.Envelope.ID)
				if p.MayDecide {
					line += "?"
				}
				if p.SettledBy != nil {
					line += ":" + string(p.SettledBy.ID)
				}
				got = append(got, line)
			}
			if page.HasMore {
				got = append(got, "…")
			}
			if s := strings.Join(got, " "); s != c.want || page.Partial {
				t.Errorf("%q, want %q", s, c.want)
			}
		})
	}
	first := v.proposals("alice", "state=all&limit=3")
	rest := v.proposals("alice", fmt.Sprintf("state=all&before=%d", first.Next))
	if len(first.Proposals) != 3 || len(rest.Proposals) != 5 || rest.HasMore || rest.Proposals[1].Envelope.ID != "p4" {
		t.Errorf("%+v, %+v", first, rest)
	}
	if p := rest.Proposals[4]; !strings.Contains(string(p.Envelope.Payload), `"n":1.00`) || rest.Proposals[3].SettledBy.Reason != "unsafe" {
		t.Errorf("%s, %+v", p.Envelope.Payload, rest.Proposals[3].SettledBy)
	}
	for _, query := range []string{"state=open", "limit=0", "before=x", "since=x"} {
		if resp := v.do(http.MethodGet, "/api/spaces/lab/proposals?"+query, "alice", nil); resp.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %s", query, resp.Status)
		}
	}
}

// Who may decide on a proposal reads that it was settled by an envelope to others: what its own
// decision would be told. Who may not decide reads nothing of it.
func TestProposals_SettledUnseen(t *testing.T) {
	v := &visit{t, meuptest.Start(t, `
spaces:
  lab:
    participants:
      alice: {token: alice-token, capabilities: ["*"]}
      bob: {token: bob-token, capabilities: ["*"]}
      host: {token: host-token, capabilities: [mcp.response]}
      dora: {token: dora-token, capabilities: [decide]}
      olga: {token: olga-token, capabilities: [decide, observe]}
      eve: {token: eve-token, capabilities: [chat]}
`)}
	for _, line := range []logLine{
		{ID: "c1", From: "bob", Kind: "reasoning.start"},
		{ID: "c2", From: "bob", Kind: "reasoning.start"},
	} {
		v.post(line)
	}
	for id, context := range map[string]string{"waits": "", "approved": "", "ended": "c1", "later": "c2"} {
		v.post(logLine{ID: id, From: "bob", Kind: "mcp.proposal", Context: context, Payload: json.RawMessage(`{"method":"tools/call","params":{"name":"wipe"},"participant_id":"host"}`)})
	}
	approve := func(id string) {
		v.post(logLine{ID: "run-" + id, From: "alice", Kind: "mcp.request", To: json.RawMessage(`["host"]`), Answers: fmt.Appendf(nil, "%q", id), Payload: json.RawMessage(`{"id":1,"method":"tools/call","params":{"name":"wipe"}}`)})
	}
	end := func(id, context string) {
		v.post(logLine{ID: id, From: "bob", Kind: "reasoning.conclusion", Context: context})
	}
	approve("approved")
	approve("ended")
	end("e1", "c1")
	end("e2", "c2")
	approve("later")
	_, told := postAs(t, v.g, "dora-token", "/api/spaces/lab/envelopes", `{"kind":"mcp.reject","correlationId":"approved","payload":{"reason":"unsafe"}}`)
	for who, want := range map[string]map[string]string{
		"dora": {"waits": "pending", "approved": "settled", "ended": "settled", "later": "settled"},
		"olga": {"waits": "pending", "approved": "fulfilled", "ended": "fulfilled", "later": "fulfilled"},
		"eve":  {"waits": "pending", "approved": "pending", "ended": "expired", "later": "expired"},
	} {
		for _, p := range v.proposals(who, "state=all").Proposals {
			if p.State != want[string(p.Envelope.ID)] {
				t.Errorf("%s: %s is %s, want %s", who, p.Envelope.ID, p.State, want[string(p.Envelope.ID)])
			}
			if p.State == "settled" && (p.MayDecide || p.SettledBy.From != "alice" || p.SettledBy.ID != "" || p.SettledBy.Reason != "") {
				t.Errorf("%s: %s: %+v, settled by %+v", who, p.Envelope.ID, p, p.SettledBy)
			}
			if p.State == "settled" && p.Envelope.ID == "approved" && !strings.Contains(told, fmt.Sprintf(`"by":"alice","seq":%d`, p.SettledBy.Seq)) {
				t.Errorf("%+v, but a decision is told %s", p.SettledBy, told)
			}
		}
	}
	settled := v.proposals("dora", "state=settled").Proposals
	if len(settled) != 3 {
		t.Fatalf("%+v", settled)
	}
	if after := v.proposals("dora", fmt.Sprintf("state=settled&since=%d", settled[1].Envelope.Seq)).Proposals; len(after) != 1 || after[0].Envelope.ID != settled[0].Envelope.ID {
		t.Errorf("since the older one: %+v", after)
	}
}

// A participant of a later stage is told from when on it may decide, unless the proposal expires before.
func TestProposals_LaterStage(t *testing.T) {
	g := meuptest.Start(t, `
spaces:
  lab:
    participants:
      alice: {token: alice-token, capabilities: [decide]}
      bob: {token: bob-token, capabilities: [mcp.proposal]}
      dora: {token: dora-token, capabilities: [decide]}
      eve: {token: eve-token, capabilities: [observe]}
    proposals: {deciders: [{people: [alice]}, {people: [dora, eve], after: 10m}]}
`)
	v := &visit{t, g}
	for id, expires := range map[string]time.Duration{"p1": time.Hour, "p2": 5 * time.Minute} {
		v.post(logLine{ID: id, From: "bob", Kind: "mcp.proposal", Payload: fmt.Appendf(nil, `{"method":"tools/call","params":{"name":"wipe"},"expires_at":%q}`, time.Now().Add(expires).UTC().Format(time.RFC3339))})
	}
	for who, want := range map[string]string{"alice": "p1 true 0s, p2 true 0s", "dora": "p1 false 10m0s, p2 false 0s", "eve": "p1 false 0s, p2 false 0s"} {
		var got []string
		for _, p := range v.proposals(who, "").Proposals {
			wait := time.Duration(0)
			if p.DecidesFrom != nil {
				wait = p.DecidesFrom.Sub(p.Envelope.TS)
			}
			got = append(got, fmt.Sprint(p.Envelope.ID, " ", p.MayDecide, " ", wait))
		}
		slices.Sort(got)
		if s := strings.Join(got, ", "); s != want {
			t.Errorf("%s: %s, want %s", who, s, want)
		}
	}
}

// A proposal of a participant that was removed can be rejected, but its call cannot be made.
func TestProposals_ProposerRemoved(t *testing.T) {
	for _, removal := range []string{"kicked", "left out of the configuration"} {
		t.Run(removal, func(t *testing.T) {
			g := meuptest.Start(t, searchConfig)
			v := &visit{t, g}
			for _, id := range []string{"p1", "p2"} {
				v.post(logLine{ID: id, From: "bob", Kind: "mcp.proposal", Payload: json.RawMessage(`{"method":"tools/call","params":{"name":"wipe"},"participant_id":"carol"}`)})
			}
			if removal == "kicked" {
				v.post(logLine{ID: "k", From: "alice", Kind: "space.kick", Payload: json.RawMessage(`{"participant_id":"bob"}`)})
			} else {
				g.Gateway().Reload(parseConfig(t, strings.Replace(searchConfig, `bob: {token: bob-token, capabilities: ["*"]}`, "", 1)))
			}
			if pending, expired := v.proposals("alice", ""), v.proposals("alice", "state=expired"); len(pending.Proposals) != 0 || len(expired.Proposals) != 2 || expired.Proposals[0].MayDecide {
				t.Errorf("pending %+v, expired %+v", pending, expired)
			}
			const path, call = "/api/spaces/lab/envelopes", `"method":"tools/call","params":{"name":"wipe"}`
			for _, edited := range []string{"", `,"edited":true`} {
				status, body := postAs(t, g, "alice-token", path, `{"kind":"mcp.request","to":["carol"],"correlationId":"p1","payload":{"id":1,`+call+edited+`}}`)
				if status != http.StatusForbidden || !strings.Contains(body, "proposal_mismatch") || !strings.Contains(body, "removed") {
					t.Errorf("%d %s", status, body)
				}
			}
			if status, body := postAs(t, g, "alice-token", path, `{"kind":"mcp.reject","correlationId":"p1","payload":{"reason":"other"}}`); status != http.StatusOK {
				t.Errorf("%d %s", status, body)
			}
			if removal != "kicked" {
				return
			}
			v.post(logLine{ID: "i", From: "alice", Kind: "space.invite", Payload: json.RawMessage(`{"participant_id":"bob"}`)})
			if status, body := postAs(t, g, "alice-token", path, `{"kind":"mcp.request","to":["carol"],"correlationId":"p2","payload":{"id":1,`+call+`}}`); status != http.StatusOK {
				t.Errorf("invited again: %d %s", status, body)
			}
		})
	}
}

// The content of a proposal never changes: neither its sender nor another participant can
// put another call under its id. Therefore a decision, also an edited one, is about the call
// that its participant has seen.
func TestProposals_ContentIsFixed(t *testing.T) {
	v := &visit{t, meuptest.Start(t, searchConfig)}
	propose := func(n int) string {
		return fmt.Sprintf(`{"id":"p1","kind":"mcp.proposal","payload":{"method":"tools/call","params":{"name":"wipe","arguments":{"n":%d}},"participant_id":"bob"}}`, n)
	}
	const envelopes = "/api/spaces/lab/envelopes"
	if status, body := postAs(t, v.g, "bob-token", envelopes, propose(1)); status != http.StatusOK {
		t.Fatal(status, body)
	}
	for range 2 {
		if status, again := postAs(t, v.g, "bob-token", envelopes, propose(2)); status != http.StatusOK || !strings.Contains(again, `"seq":1`) {
			t.Errorf("another call under the id, by its sender: %d %s, want the receipt of the first", status, again)
		}
		if status, refused := postAs(t, v.g, "alice-token", envelopes, propose(2)); status != http.StatusConflict || !strings.Contains(refused, "duplicate_id") {
			t.Errorf("another call under the id, by another participant: %d %s, want duplicate_id", status, refused)
		}
		v.g.Restart()
	}
	page := v.proposals("alice", "")
	if len(page.Proposals) != 1 || !strings.Contains(string(page.Proposals[0].Envelope.Payload), `"n":1}`) {
		t.Errorf("the proposal is %+v, want the first call", page.Proposals)
	}
}

// TestScopes_HTTP: who may grant sees what a grant to the proposer may allow, and such a grant allows
// the next call like the proposed one.
func TestScopes_HTTP(t *testing.T) {
	v := &visit{t, meuptest.Start(t, `
spaces:
  lab:
    participants:
      alice: {token: alice-token, capabilities: ["*"]}
      claude: {token: claude-token, capabilities: [mcp.proposal, chat]}
      dora: {token: dora-token, capabilities: [decide, mcp.request]}
      erin: {token: erin-token, capabilities: [capability.grant, {kind: mcp.request, to: claude, payload: {params: {arguments: {command: {$shell: {commands: ["git diff **"]}}}}}}]}
`)}
	call := func(command, dir string) json.RawMessage {
		return fmt.Appendf(nil, `{"method":"tools/call","params":{"name":"Bash","arguments":{"command":%q},"_meta":{"meup/cwd":%q}},"participant_id":"claude"}`, command, dir)
	}
	hidden := logLine{ID: "p2", From: "claude", Kind: "mcp.proposal", To: json.RawMessage(`["alice"]`), Payload: call("ls a", "/w")}
	nobody := logLine{ID: "p3", From: "claude", Kind: "mcp.proposal", Payload: json.RawMessage(`{"method":"tools/call","params":{"name":"list_tags"}}`)}
	for _, line := range []logLine{{ID: "p1", From: "claude", Kind: "mcp.proposal", Payload: call("git diff a.go", "/w")}, hidden, nobody, {ID: "c1", From: "claude", Kind: "chat", Payload: json.RawMessage(`{"text":"x"}`)}} {
		if !v.post(line) {
			t.Fatal(line.ID)
		}
	}
	const like = "similar `git diff` with any arguments, in /w"
	for _, c := range []struct {
		who, path string
		status    int
		want      string
	}{
		{"alice", "p1/scopes", 200, "same exactly this command, in /w; " + like + "; any any command"},
		{"alice", "p1/scopes?to=dora", 200, "same exactly this command; similar `git diff` with any arguments; any any command"},
		{"erin", "p1/scopes", 200, like},
		{"dora", "p1/scopes", 200, ""},
		{"claude", "p1/scopes", 200, ""},
		{"alice", "p2/scopes", 200, "same exactly this command, in /w; similar `ls` with any arguments, in /w; any any command"},
		{"erin", "p2/scopes", 404, ""},
		{"alice", "p3/scopes", 200, ""},
		{"alice", "p3/scopes?to=a/b", 200, ""},
		{"alice", "p3/scopes?to=dora", 200, "any any call of list_tags"},
		{"alice", "c1/scopes", 404, ""},
		{"alice", "none/scopes", 404, ""},
	} {
		t.Run(c.who+" "+c.path, func(t *testing.T) {
			resp := (&visit{t, v.g}).do(http.MethodGet, "/api/spaces/lab/proposals/"+c.path, c.who, nil)
			body, err := io.ReadAll(resp.Body)
			if err != nil || resp.StatusCode != c.status {
				t.Fatalf("%s %s %v", resp.Status, body, err)
			}
			if c.status != http.StatusOK {
				return
			}
			if err := schemas.Document("http/scopes", body); err != nil {
				t.Errorf("%v\n%s", err, body)
			}
			var page api.Scopes
			if err := json.Unmarshal(body, &page); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, s := range page.Scopes {
				got = append(got, s.ID+" "+s.Title)
			}
			if s := strings.Join(got, "; "); s != c.want {
				t.Errorf("%q, want %q", s, c.want)
			}
		})
	}
	scopes, err := v.g.API(t, "erin").Scopes(t.Context(), "lab", "p1", "")
	if err != nil || len(scopes) != 1 {
		t.Fatalf("%v %v", scopes, err)
	}
	again := logLine{From: "claude", Kind: "mcp.request", To: json.RawMessage(`["claude"]`), Payload: call("git diff b.go", "/w")}
	if v.post(again) {
		t.Error("allowed before the grant")
	}
	if !v.post(logLine{From: "erin", Kind: "capability.grant", Payload: fmt.Appendf(nil, `{"recipient":"claude","capabilities":[%s],"ttl_seconds":60}`, scopes[0].Capability)}) {
		t.Fatal("the grant was refused")
	}
	if !v.post(again) {
		t.Error("the grant does not allow a call like the proposed one")
	}
	again.Payload = call("git diff b.go; curl evil", "/w")
	if v.post(again) {
		t.Error("the grant allows more")
	}
}
