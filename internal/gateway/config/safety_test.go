package config_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/gateway/config"
	"github.com/meup-protocol/meup/internal/safety"
	"github.com/meup-protocol/meup/protocol"
)

const safetyFile = `
safety:
  kinds: [chat]
  action: block
  actions: {jwt: mask, ours: block, social-security-number: block}
  rules: [good.toml]
  secret_env: [DEPLOY_KEY]
  policy: {low: review, critical: sanitise}
  max_text: 8KiB
spaces:
  lab:
    participants:
      alice: {token: plainly-0123456789abcdef, capabilities: [chat]}
      bob: {token_env: BOB_TOKEN, capabilities: [chat]}
      carol: {token_file: alice.token, capabilities: [chat]}
      dave: {token_sha256: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08, capabilities: [chat]}
`

func TestSafety(t *testing.T) {
	s := mustParse(t, safetyFile).Safety
	if len(s.Kinds) != 1 || s.Kinds[0].String() != "chat" || s.Action != config.ActionBlock || s.MaxText != 8<<10 || len(s.Rules) != 1 ||
		!reflect.DeepEqual(s.Actions, map[string]string{"jwt": "mask", "ours": "block", "social-security-number": "block"}) ||
		!reflect.DeepEqual(s.Policy, map[string]string{"low": "review", "medium": "sanitise", "high": "review", "critical": "sanitise"}) {
		t.Errorf("got %+v", s)
	}
	p, err := safety.New(s.Pipeline())
	if err != nil {
		t.Fatal(err)
	}
	in := "ours_abcdefgh, plainly-0123456789abcdef, bob-0123456789abcdef, alice-in-a-file-0123456789, deploy-0123456789abcdef, alice-0123456789abcdef"
	want := "[redacted:ours]" + strings.Repeat(", [redacted:known-secret]", 4) + ", alice-0123456789abcdef"
	if got := p.Text(in); got != want {
		t.Errorf("got %s", got)
	}
	if !p.Applies(protocol.KindChat) || p.Applies(protocol.KindReasoningThought) {
		t.Error("other kinds are inspected")
	}
}

func TestSafety_EmptyKinds(t *testing.T) {
	cfg := mustParse(t, "safety: {kinds: []}\nspaces: {lab: {participants: {alice: {token_env: ALICE_TOKEN, capabilities: [chat]}}}}")
	p, err := safety.New(cfg.Safety.Pipeline())
	if err != nil || p.Applies(protocol.KindReasoningThought) {
		t.Errorf("got %v, %v", p, err)
	}
	if got := p.Text("is alice-0123456789abcdef"); got != "is [redacted:known-secret]" {
		t.Errorf("got %s", got)
	}
}

// A configuration can be logged without revealing a token.
func TestTokens_NotPrinted(t *testing.T) {
	cfg := mustParse(t, safetyFile)
	var said strings.Builder
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(&said, verb+"\n"+verb+"\n"+verb+"\n", cfg, *cfg, cfg.Safety.Secrets)
	}
	for _, h := range []slog.Handler{slog.NewTextHandler(&said, nil), slog.NewJSONHandler(&said, nil)} {
		slog.New(h).Info("loaded", "config", cfg, "safety", cfg.Safety, "secrets", cfg.Safety.Secrets)
	}
	text, err := json.Marshal(cfg.Safety.Secrets)
	if err != nil {
		t.Fatal(err)
	}
	said.Write(text)
	for _, token := range []string{"plainly-0123456789abcdef", "bob-0123456789abcdef", "alice-in-a-file-0123456789", "deploy-0123456789abcdef"} {
		for _, form := range []string{token, fmt.Sprintf("%x", token), strings.Trim(fmt.Sprint([]byte(token)), "[]")} {
			if strings.Contains(said.String(), form) {
				t.Errorf("%s is told", token)
			}
		}
	}
	if len(cfg.Safety.Secrets) != 4 {
		t.Errorf("%d secrets", len(cfg.Safety.Secrets))
	}
}
