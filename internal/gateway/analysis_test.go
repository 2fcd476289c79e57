package gateway_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
)

const analysisConfig = `
spaces:
  lab:
    participants:
      alice: {token: alice-token, capabilities: ["*"]}
      bob: {token: bob-token, capabilities: [mcp.proposal, mcp.withdraw]}
      carol: {token: carol-token, capabilities: [{kind: capability.grant, payload: {recipient: eve}}]}
      files: {token: files-token, capabilities: [mcp.response]}
      eve: {token: eve-token, capabilities: [observe]}
`

// approve has alice approve calls of bob, by the ids of the proposals. A proposal to nobody is
// for all.
func (v *visit) approve(to string, ids ...string) {
	v.t.Helper()
	for _, id := range ids {
		const call = `"method":"tools/call","params":{"name":"lookup","arguments":{"q":"a"}}`
		p := logLine{ID: id, From: "bob", Kind: "mcp.proposal", Payload: json.RawMessage(`{"participant_id":"files",` + call + `}`)}
		if to != "" {
			p.To = json.RawMessage(`["` + to + `"]`)
		}
		tell(v.t, v, p, logLine{ID: "r" + id, From: "alice", Kind: "mcp.request", To: json.RawMessage(`["files"]`), Answers: json.RawMessage(`"` + id + `"`),
			Payload: json.RawMessage(`{"jsonrpc":"2.0","id":1,` + call + `}`)})
	}
}

func (v *visit) suggestions(who string) *api.Suggestions {
	v.t.Helper()
	s, err := v.g.API(v.t, who).Suggestions(v.t.Context(), "lab", time.Time{})
	if err != nil {
		v.t.Fatal(err)
	}
	return s
}

// TestSuggestions: who may send the grant of a suggestion is told so, and what was dismissed or
// granted is not suggested.
func TestSuggestions(t *testing.T) {
	v := &visit{t, meuptest.Start(t, analysisConfig)}
	v.approve("", "p1", "p2", "p3")
	for who, grantable := range map[string]bool{"alice": true, "eve": false} {
		s := v.suggestions(who)
		if len(s.Suggestions) != 1 || s.Suggestions[0].Grantable != grantable || s.Fewer != 3 || s.Partial || s.Since.IsZero() {
			t.Fatalf("%s: %+v", who, s)
		}
	}
	x := v.suggestions("alice").Suggestions[0]
	tell(t, v, logLine{From: "alice", Kind: "policy.dismiss", Payload: x.Dismissal})
	if s := v.suggestions("alice"); len(s.Suggestions) != 0 || s.Dismissed != 1 {
		t.Errorf("after the dismissal: %+v", s)
	}
	v.approve("", "p4", "p5", "p6")
	s := v.suggestions("alice")
	if len(s.Suggestions) != 1 {
		t.Fatalf("after further decisions: %+v", s)
	}
	tell(t, v, logLine{From: "alice", Kind: "capability.grant", To: json.RawMessage(`["bob"]`), Payload: s.Suggestions[0].Grant})
	if s := v.suggestions("alice"); len(s.Suggestions) != 0 || s.Dismissed != 0 {
		t.Errorf("after the grant: %+v", s)
	}
	if v.post(logLine{From: "alice", Kind: "policy.dismiss", Payload: json.RawMessage(`{"recipient":"bob","capabilities":[{"kind":7}],"decisions":1}`)}) {
		t.Error("a dismissal of no capability was admitted")
	}
	if v.post(logLine{From: "bob", Kind: "policy.dismiss", Payload: x.Dismissal}) {
		t.Error("bob may dismiss suggestions")
	}
}

// What a participant may not see does not count for it.
func TestSuggestions_Visible(t *testing.T) {
	v := &visit{t, meuptest.Start(t, analysisConfig)}
	v.approve("alice", "p1", "p2", "p3")
	tell(t, v, logLine{From: "alice", Kind: "chat", Payload: json.RawMessage(`{"text":"a"}`)})
	v.approve("alice", "p4")
	tell(t, v, logLine{From: "alice", Kind: "chat", Payload: json.RawMessage(`{"text":"b"}`)})
	for who, want := range map[string]int{"eve": 1, "alice": 1, "carol": 0} {
		s := v.suggestions(who)
		if text, err := json.Marshal(s); err != nil || len(s.Suggestions) != want || strings.Contains(string(text), "lookup") != (want > 0) || (s.Unseen > 0) != (who == "carol") {
			t.Errorf("%s: %s %v", who, text, err)
		}
	}
}

// Suggestions and backtests are for those that may read the policy; the others are told how to.
func TestAnalysis_Rights(t *testing.T) {
	v := &visit{t, meuptest.Start(t, analysisConfig+`
      dora: {token: dora-token, capabilities: [chat, decide, mcp.opinion, policy.dismiss, mcp.request]}
      fred: {token: fred-token, capabilities: [{kind: capability.revoke, payload: {recipient: eve}}]}
`)}
	for who, may := range map[string]bool{"alice": true, "carol": true, "eve": true, "fred": true, "bob": false, "files": false, "dora": false} {
		t.Run(who, func(t *testing.T) {
			c := v.g.API(t, who)
			_, policy := c.Policy(t.Context(), "lab")
			_, suggestions := c.Suggestions(t.Context(), "lab", time.Time{})
			_, backtest := c.Backtest(t.Context(), "lab", []byte("spaces: {lab: {participants: {alice: {token_env: A, capabilities: [chat]}}}}"), time.Time{})
			for name, err := range map[string]error{"policy": policy, "suggestions": suggestions, "backtest": backtest} {
				var refused *api.StatusError
				switch {
				case may && err != nil:
					t.Errorf("%s: %v", name, err)
				case may:
				case !errors.As(err, &refused) || refused.Status != http.StatusForbidden || !strings.Contains(refused.Refusal.Message, "grant you the capability observe"):
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
}

// The policy of one space in a text is compared with the one in force; nothing that the text
// names is read, and nothing else that it says counts.
func TestBacktest(t *testing.T) {
	t.Setenv("UNREAD_TOKEN", "not-to-be-read")
	v := &visit{t, meuptest.Start(t, "administration: {space: office}\n"+analysisConfig+`
  office:
    participants:
      root: {token: root-token, capabilities: ["*"]}
`)}
	v.approve("", "p1", "p2")
	tell(t, v, proposed("p3", "lookup", ""), rejects("r3", "alice", "p3"))
	next := func(capabilities, more string) string {
		return `
safety: {rules: [/nowhere/rules.toml], secret_env: [UNREAD_TOKEN], kinds: ["*"], action: block}
administration: {space: lab2}
tls: {cert: /nowhere/cert.pem, key: /nowhere/key.pem}
spaces:
  lab2: {participants: {x: {token_env: UNREAD_TOKEN, capabilities: ["*"]}}}
  lab:
    participants:
      alice: {token_file: /nowhere/token, capabilities: ["*"]}
      bob: {token_env: UNREAD_TOKEN_OF_BOB, capabilities: [` + capabilities + `]}
      files: {token_env: OTHER, capabilities: [mcp.response]}
      eve: {token_sha256: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08, capabilities: [observe]}
` + more
	}
	test := func(text string) (*api.Backtest, error) {
		return v.g.API(t, "alice").Backtest(t.Context(), "lab", []byte(text), time.Time{})
	}
	same, err := test(next("mcp.proposal, mcp.withdraw", ""))
	if err != nil || same.Different != 0 || same.Envelopes != 6 || same.Baseline != "current" || same.Since.IsZero() {
		t.Errorf("the same policy: %+v %v", same, err)
	}
	wider, err := test(next(`mcp.proposal, mcp.withdraw, mcp.requst, {kind: mcp.request, to: files}`, ""))
	if err != nil {
		t.Fatal(err)
	}
	if wider.Allowed != 3 || wider.LetThrough != 1 || wider.Different != 3 || wider.Summary != "This configuration would have asked 3 times fewer and let through 1 call that was rejected." ||
		len(wider.Groups) != 2 || wider.MoreGroups != 0 {
		t.Errorf("a wider policy: %+v", wider)
	}
	if text := strings.Join(wider.Warnings, "\n"); !strings.Contains(text, "configuration:10:88: warning: no kind") || strings.Contains(text, "nowhere") {
		t.Errorf("warnings: %s", text)
	}
	for name, c := range map[string]struct{ text, message, detail string }{
		"faults":   {next("mcp.proposal", "      bob2: {token: short, caps: [chat]}\n"), "has 1 error", "configuration:13:28: unknown key"},
		"no YAML":  {"spaces: {lab", "has 1 error", "configuration:1:9: not YAML"},
		"no space": {"spaces: {other: {participants: {alice: {token_env: A, capabilities: [chat]}}}}", "has no space lab", ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := test(c.text)
			var refused *api.StatusError
			if !errors.As(err, &refused) || refused.Status != http.StatusBadRequest || !strings.Contains(refused.Refusal.Message, c.message) || !strings.Contains(refused.Refusal.Detail, c.detail) {
				t.Fatalf("%v\n%s", err, refused.Refusal.Detail)
			}
			if strings.Contains(refused.Refusal.Detail, "not-to-be-read") || strings.Contains(refused.Refusal.Detail, "nowhere") {
				t.Errorf("%s", refused.Refusal.Detail)
			}
		})
	}
}

// The groups of a backtest are bounded.
func TestBacktest_ManyGroups(t *testing.T) {
	v := &visit{t, meuptest.Start(t, analysisConfig)}
	for i := range 201 {
		tell(t, v, logLine{From: "alice", Kind: fmt.Sprintf("x.kind%d", i), Payload: json.RawMessage(`{}`)})
	}
	b, err := v.g.API(t, "alice").Backtest(t.Context(), "lab", []byte("spaces: {lab: {participants: {alice: {token_env: A, capabilities: [chat]}}}}"), time.Time{})
	if err != nil || b.Refused != 201 || len(b.Groups) != 200 || b.MoreGroups != 1 {
		t.Errorf("%+v %v", b, err)
	}
}
