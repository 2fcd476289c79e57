package gateway_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/schemas"
)

const reasonsConfig = `
spaces:
  lab:
    participants:
      alice: {token: alice-token, capabilities: ["*"]}
      bob: {token: bob-token, capabilities: [mcp.proposal, mcp.withdraw, "reasoning.*", {kind: mcp.request, payload: {params: {name: "read_*"}}}]}
      carol: {token: carol-token, capabilities: [{kind: decide, payload: {params: {name: wipe}}}]}
      files: {token: files-token, capabilities: [mcp.response]}
      eve: {token: eve-token, capabilities: [observe]}
`

func (v *visit) decisions(who, query string) (d api.Decisions) {
	v.t.Helper()
	resp := v.do(http.MethodGet, "/api/spaces/lab/decisions?"+query, who, nil)
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		v.t.Fatalf("%s: %s %s %v", query, resp.Status, body, err)
	}
	if err := schemas.Document("http/decisions", body); err != nil {
		v.t.Errorf("%v\n%s", err, body)
	}
	if err := json.Unmarshal(body, &d); err != nil {
		v.t.Fatal(err)
	}
	return d
}

// inWords returns one line for a decision.
func inWords(x *api.CallDecision) string {
	line := fmt.Sprintf("%s %s→%s %s %s by %s", x.ID, x.Caller, x.Host, x.Tool, x.Outcome, x.Decided.By)
	for _, part := range []string{string(x.Decided.Participant), x.Decided.When, x.Decided.Rule, string(x.Decided.Grant)} {
		if part != "" {
			line += " " + part
		}
	}
	if x.Today != nil {
		line += " today " + strings.TrimSpace(x.Today.Verdict+" "+x.Today.Rule)
	}
	return line
}

func tell(t *testing.T, v *visit, lines ...logLine) {
	t.Helper()
	for _, line := range lines {
		if !v.post(line) {
			t.Fatal(line.ID)
		}
	}
}

func calling(id, from, tool, answers, more string) logLine {
	line := logLine{ID: id, From: from, Kind: "mcp.request", To: json.RawMessage(`["files"]`), Payload: json.RawMessage(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":{}}` + more + `}`)}
	if answers != "" {
		line.Answers = json.RawMessage(`"` + answers + `"`)
	}
	return line
}

func proposed(id, tool, more string) logLine {
	return logLine{ID: id, From: "bob", Kind: "mcp.proposal", Payload: json.RawMessage(`{"method":"tools/call","params":{"name":"` + tool + `"},"participant_id":"files"` + more + `}`)}
}

func rejects(id, from, proposal string) logLine {
	return logLine{ID: id, From: from, Kind: "mcp.reject", Answers: json.RawMessage(`"` + proposal + `"`), Payload: json.RawMessage(`{"reason":"unsafe"}`)}
}

const readRule = `{"kind":"mcp.request","payload":{"params":{"name":"read_*"}}}`

// TestDecisions_Reasons: what let each call through, or did not, under which policy, and what
// the policy in force says.
func TestDecisions_Reasons(t *testing.T) {
	v := &visit{t, meuptest.Start(t, reasonsConfig)}
	long := strings.Repeat("x", 600)
	inside := func(line logLine, context string) logLine { line.Context = context; return line }
	tell(t, v,
		calling("r1", "bob", "read_file", "", ""),
		logLine{ID: "g1", From: "alice", Kind: "capability.grant", Payload: json.RawMessage(`{"recipient":"bob","capabilities":[{"kind":"mcp.request","payload":{"params":{"name":["list","` + long + `"]}}}]}`)},
		calling("r2", "bob", "list", "", ""),
		proposed("p3", "move", ""), calling("r3", "alice", "move", "p3", ""),
		proposed("p4", "wipe", ""), calling("r4", "carol", "wipe", "p4", ""),
		proposed("p5", "wipe", ""), rejects("r5", "carol", "p5"),
		proposed("p6", "move", ""), logLine{ID: "r6", From: "bob", Kind: "mcp.withdraw", Answers: json.RawMessage(`"p6"`), Payload: json.RawMessage(`{"reason":"no_longer_needed"}`)},
		proposed("p7", "move", ""), logLine{ID: "r7", From: "bob", Kind: "mcp.withdraw", Answers: json.RawMessage(`"p7"`), Payload: json.RawMessage(`{"reason":"timeout"}`)},
		proposed("p8", "move", `,"expires_at":"2020-01-01T00:00:00Z"`),
		proposed("p9", "move", `,"expires_at":"2020-01-01T00:00:00Z"`), rejects("r9", "alice", "p9"),
		logLine{ID: "c1", From: "bob", Kind: "reasoning.start"}, inside(proposed("p10", "move", ""), "c1"), inside(proposed("p11", "move", ""), "c1"),
		inside(logLine{ID: "e1", From: "bob", Kind: "reasoning.conclusion"}, "c1"),
		calling("r11", "alice", "move", "p11", ""),
		proposed("p12", "move", ""), calling("r12", "alice", "wipe", "p12", `,"edited":true`),
		proposed("p13", "move", ""),
		logLine{ID: "n1", From: "alice", Kind: "mcp.request", To: json.RawMessage(`["files"]`), Payload: json.RawMessage(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)},
	)
	grantRule := (`{"kind":"mcp.request","payload":{"params":{"name":["list","` + long)[:512] + "…"
	all := []string{
		`r12 bob→files wipe made by participant alice in_time "*" today asked`,
		`r11 bob→files move made by participant alice late "*" today asked`,
		"p10 bob→files move expired by nobody today asked",
		`r9 bob→files move rejected by participant alice late "*" today asked`,
		"p8 bob→files move expired by nobody today asked",
		"r7 bob→files move expired by nobody today asked",
		"r6 bob→files move withdrawn by participant bob in_time today asked",
		`r5 bob→files wipe rejected by participant carol in_time {"kind":"decide","payload":{"params":{"name":"wipe"}}} today asked`,
		`r4 bob→files wipe made by participant carol in_time {"kind":"decide","payload":{"params":{"name":"wipe"}}} today asked`,
		`r3 bob→files move made by participant alice in_time "*" today asked`,
		"r2 bob→files list made by grant at_once " + grantRule + " g1 today allowed " + grantRule,
		"r1 bob→files read_file made by rule at_once " + readRule + " today allowed " + readRule,
	}
	for _, c := range []struct {
		who, query string
		want       []string
	}{
		{"eve", "limit=100", all},
		{"eve", "tool=wipe", []string{all[0], all[7], all[8]}},
		{"eve", "participant=carol", []string{all[7], all[8]}},
		{"eve", "participant=alice&tool=move", []string{all[1], all[3], all[9]}},
		{"eve", "proposal=p5", []string{all[7]}},
		{"eve", "proposal=p8", []string{all[4]}},
		{"eve", "proposal=p13", nil},
		{"eve", "since=24h&limit=2", all[:2]},
		{"bob", "proposal=p3", []string{"r3 bob→files move made by participant alice in_time today asked"}},
		{"alice", "proposal=p3", []string{`r3 bob→files move made by participant alice in_time "*" today asked`}},
		{"files", "proposal=p3", []string{"r3 bob→files move made by participant alice in_time"}},
		{"bob", "tool=read_file", all[11:]},
		{"files", "tool=read_file", []string{"r1 bob→files read_file made by rule at_once"}},
		{"carol", "tool=read_file", nil},
	} {
		t.Run(c.who+" "+c.query, func(t *testing.T) {
			page := (&visit{t, v.g}).decisions(c.who, c.query)
			var got []string
			for i := range page.Decisions {
				x := &page.Decisions[i]
				got = append(got, inWords(x))
				if x.Decided.Policy != "" && x.Decided.Policy != page.Policy {
					t.Errorf("%s: policy %s, want %s", x.ID, x.Decided.Policy, page.Policy)
				}
				if x.Decided.Rule != "" && x.Decided.Policy == "" {
					t.Errorf("%s: no policy", x.ID)
				}
			}
			if a, b := strings.Join(got, "\n"), strings.Join(c.want, "\n"); a != b || page.Partial {
				t.Errorf("got\n%s\nwant\n%s", a, b)
			}
		})
	}
	v.g.Stop()
	v.g.Restart()
	var paged []string
	query := "limit=3"
	for {
		page := v.decisions("eve", query)
		for i := range page.Decisions {
			paged = append(paged, inWords(&page.Decisions[i]))
		}
		if !page.HasMore {
			break
		}
		query = fmt.Sprintf("limit=3&before=%d", page.Next)
	}
	if a, b := strings.Join(paged, "\n"), strings.Join(all, "\n"); a != b {
		t.Errorf("in pages, after a restart\n%s\nwant\n%s", a, b)
	}
	byID := make(map[string]api.CallDecision)
	for _, x := range v.decisions("eve", "limit=100").Decisions {
		byID[string(x.ID)] = x
	}
	if a, b := byID["r4"], byID["r5"]; a.Call != b.Call || a.Call == byID["r3"].Call || b.Reason != "unsafe" || !byID["r12"].Edited || a.Edited {
		t.Errorf("%+v\n%+v\n%+v", a, b, byID["r12"])
	}

	before := byID["r1"].Decided.Policy
	v.g.Gateway().Reload(parseConfig(t, strings.Replace(reasonsConfig, "read_*", "look_*", 1)))
	page := v.decisions("bob", "tool=read_file")
	x := page.Decisions[0]
	if x.Decided.Policy != before || page.Policy == before || x.Decided.Rule != readRule || x.Today.Verdict != "asked" {
		t.Errorf("after a reload: %s now, %+v, %+v", page.Policy, x.Decided, x.Today)
	}
	for _, query := range []string{"limit=0", "before=x", "since=yesterday"} {
		if resp := v.do(http.MethodGet, "/api/spaces/lab/decisions?"+query, "alice", nil); resp.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %s", query, resp.Status)
		}
	}
}
