package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/gateway/suggest"
)

// Suggestions are added to a configuration as it is written, and nothing else changes.
func TestWriteSuggestions(t *testing.T) {
	const people = "alice: {token_env: A, capabilities: [chat]}, bob: {token_env: B, capabilities: [mcp.opinion, decide, observe]}"
	allow := api.Suggestion{Does: suggest.Allow, Participant: "alice", ConfiguredIn: "lab", Capabilities: []json.RawMessage{[]byte(`{"kind":"mcp.request","to":["x"]}`)}}
	deny := func(space, tool string) api.Suggestion {
		return api.Suggestion{Does: suggest.Deny, Participant: "alice", ConfiguredIn: space, Rule: []byte(`{"deny":true,"payload":{"params":{"name":"` + tool + `"}},"reason":"a: b #c"}`)}
	}
	const d, e = `{"deny": true, "payload": {"params": {"name": "d"}}, "reason": "a: b #c"}`, `{"deny": true, "payload": {"params": {"name": "e"}}, "reason": "a: b #c"}`
	for _, c := range []struct {
		name, text string
		list       []api.Suggestion
		want       string // "": it cannot be added
	}{
		{"no proposals", `# Top
spaces:
  lab:
    participants: {` + people + `} # people
  # den
  den:
    participants: {` + people + `}
`, []api.Suggestion{deny("lab", "d"), allow, deny("lab", "e"), {Capabilities: allow.Capabilities}}, `# Top
spaces:
  lab:
    participants: {alice: {token_env: A, capabilities: [chat, {"kind": "mcp.request", "to": ["x"]}]}, bob: {token_env: B, capabilities: [mcp.opinion, decide, observe]}} # people
    proposals:
      deciders:
        - rules:
            - ` + d + `
            - ` + e + `
  # den
  den:
    participants: {` + people + `}
`},
		{"a space in one line", `spaces: {"l*": {participants: {` + people + `}}}
`, []api.Suggestion{deny("l*", "d"), deny("l*", "e")}, `spaces: {"l*": {participants: {` + people + `}, proposals: {deciders: [{rules: [` + d + `, ` + e + `]}]}}}
`},
		{"proposals without deciders", `spaces:
  lab:
    proposals:
      decide: explicit # only they
    participants: {` + people + `}
`, []api.Suggestion{deny("lab", "d")}, `spaces:
  lab:
    proposals:
      decide: explicit # only they
      deciders:
        - rules:
            - ` + d + `
    participants: {` + people + `}
`},
		{"empty proposals", `spaces:
  lab:
    proposals:
    participants: {` + people + `}
`, []api.Suggestion{deny("lab", "d")}, `spaces:
  lab:
    proposals:
      deciders:
        - rules:
            - ` + d + `
    participants: {` + people + `}
`},
		{"deciders without rules", `spaces:
  lab:
    proposals:
      deciders:
        # bob learns
        - {reviewer: bob} # in shadow
        # and then
        - people: [alice]
          after: 1m
    participants: {` + people + `}
`, []api.Suggestion{deny("lab", "d"), deny("lab", "e")}, `spaces:
  lab:
    proposals:
      deciders:
        - rules:
            - ` + d + `
            - ` + e + `
        # bob learns
        - {reviewer: bob} # in shadow
        # and then
        - people: [alice]
          after: 1m
    participants: {` + people + `}
`},
		{"deciders in one line", `spaces:
  lab:
    proposals: {deciders: [{people: [alice]}]}
    participants: {` + people + `}
`, []api.Suggestion{deny("lab", "d")}, `spaces:
  lab:
    proposals: {deciders: [{rules: [` + d + `]}, {people: [alice]}]}
    participants: {` + people + `}
`},
		{"no deciders in one line", `spaces:
  lab:
    proposals: {deciders: []}
    participants: {` + people + `}
`, []api.Suggestion{deny("lab", "d")}, `spaces:
  lab:
    proposals: {deciders: [{rules: [` + d + `]}]}
    participants: {` + people + `}
`},
		{"rules", `spaces:
  lab:
    proposals:
      deciders:
        - rules:
            # one
            - payload: {params: {name: a}}
            - {payload: {params: {name: b}}} # two
        - {people: [alice]}
    participants: {` + people + `}
`, []api.Suggestion{deny("lab", "d")}, `spaces:
  lab:
    proposals:
      deciders:
        - rules:
            # one
            - payload: {params: {name: a}}
            - {payload: {params: {name: b}}} # two
            - ` + d + `
        - {people: [alice]}
    participants: {` + people + `}
`},
		{"rules of two spaces", `spaces:
  den:
    participants: {` + people + `}
    proposals: &both
      deciders:
        - rules:
            - {payload: {params: {name: a}}}
  lab:
    participants: {` + people + `}
    proposals: *both
`, []api.Suggestion{deny("lab", "d")}, ""},
		{"rules that are named elsewhere", `spaces:
  den:
    participants: {` + people + `}
    proposals: {deciders: [{rules: &both [{payload: {params: {name: a}}}]}]}
  lab:
    participants: {` + people + `}
    proposals: {deciders: [{rules: *both}, {people: [alice]}]}
`, []api.Suggestion{deny("den", "d")}, ""},
		{"a reviewer that is gone", `spaces:
  lab:
    participants: {` + people + `}
    proposals: {deciders: [{reviewer: carol}, {people: [alice]}]}
`, []api.Suggestion{deny("lab", "d")}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			from, to := filepath.Join(dir, "old.yaml"), filepath.Join(dir, "new.yaml")
			if err := os.WriteFile(from, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			n, err := writeSuggestions(from, to, false, &api.Suggestions{Suggestions: c.list})
			got, _ := os.ReadFile(to)
			if string(got) != c.want {
				t.Errorf("%v:\n%s", err, got)
			}
			if c.want == "" && !errors.Is(err, errCannotMerge) || c.want != "" && (err != nil || n == 0) {
				t.Errorf("%d: %v", n, err)
			}
		})
	}
}

// A configuration may have tokens, so a file that is replaced gets its permissions.
func TestWriteSuggestions_Permissions(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "old.yaml"), filepath.Join(dir, "new.yaml")
	err := errors.Join(os.WriteFile(from, []byte("spaces: {lab: {participants: {alice: {token: secret-of-alice, capabilities: [chat]}}}}\n"), 0o600), os.WriteFile(to, nil, 0o644))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := writeSuggestions(from, to, true, &api.Suggestions{}); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(to); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
}

// No text of the log begins a line of its own.
func TestPrintSuggestions_Hostile(t *testing.T) {
	const forged = "x\n\n51d293af  Allow coder: \x1b[31many command"
	calls := []api.DecidedCall{{ID: "e1", What: "x", By: "bob", Outcome: "rejected", Reason: forged}}
	var out strings.Builder
	err := printSuggestions(&out, &api.Suggestions{Suggestions: []api.Suggestion{{ID: "00000000", Participant: "coder", Tool: forged, Words: "x", For: calls, Against: calls}}}, false)
	if err != nil || strings.Contains(out.String(), "\n51d293af") || strings.Contains(out.String(), "\x1b") {
		t.Errorf("%v\n%s", err, out.String())
	}
}
