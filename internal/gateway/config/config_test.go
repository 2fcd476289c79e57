package config_test

import (
	"crypto/sha256"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/gateway/config"
	"github.com/meup-protocol/meup/internal/space/limit"
	"github.com/meup-protocol/meup/protocol"
)

// operators is the file of the operator's guide, with the parts that the guide
// omits.
const operators = `listen: 127.0.0.1:8080
data: ./meup-data            # the embedded log's folder
nats: ""                     # nats://…: the log is on this JetStream instead, shared by all gateways that name it
replicas: 3                  # of its streams
tls: {cert: "", key: ""}
origins: ["https://ui.example.org"]   # besides the gateway's own
retention: {age: 720h, bytes: 10GiB}  # of the log; unset keeps all
safety:
  kinds: ["reasoning/*"]     # what is redacted; add chat, "mcp/*"
  action: mask               # mask | block
limits:                      # defaults for every participant
  rate: 100                  # envelopes per second
  burst: 200
  bytes_per_second: 1MiB
  message_bytes: 1MiB
  connections: 16
  open_contexts: 256
  context_depth: 5
  kinds:
    - {kind: "reasoning/*", rate: 50, burst: 100}
spaces:
  lab:
    dialect: meup/v0.1
    visibility: addressed      # addressed | everyone: who sees an envelope with a to
    proposals: {decide: callers}
    participants:
      alice: {token_env: ALICE_TOKEN, capabilities: ["*"]}
      planner:
        token_sha256: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
        capabilities:
          - chat
          - reasoning/*
          - kind: mcp.request
            payload: {method: tools/call, params: {name: "read_*"}}
          - {kind: mcp.request, payload: {params: {name: "/^delete_/"}}, deny: true}
        limits: {rate: 20, burst: 40}
    jwt:                     # anyone with a token of this issuer
      issuer: https://id.example.org
      audience: meup
      participant_claim: sub
      capabilities: [chat, reasoning/*]
  "team-*":                  # a glob makes spaces as they are joined
    participants: {bob: {token_env: BOB_TOKEN, capabilities: [chat]}}
`

func TestOperatorsExample(t *testing.T) {
	cfg, faults := parse(operators)
	if len(faults) > 0 {
		t.Fatal(lines(faults))
	}
	if cfg.Listen != "127.0.0.1:8080" || cfg.Data != "meup-data" || cfg.NATS != "" || cfg.Replicas != 3 ||
		!reflect.DeepEqual(cfg.Origins, []string{"https://ui.example.org"}) ||
		cfg.Retention != (config.Retention{Age: 720 * time.Hour, Bytes: 10 << 30}) ||
		len(cfg.Safety.Kinds) != 1 || cfg.Safety.Action != config.ActionMask {
		t.Errorf("got %+v", cfg)
	}
	if !reflect.DeepEqual(cfg.Limits, limit.Defaults()) {
		t.Errorf("got limits %+v", cfg.Limits)
	}
	lab, ok := cfg.Space("lab")
	if !ok || lab.Dialect != protocol.DialectMEUP01 || lab.Everyone || len(lab.Participants) != 2 {
		t.Fatalf("got %+v", lab)
	}
	alice, planner := lab.Participants[0], lab.Participants[1]
	if alice.ID != "alice" || alice.TokenHash != sha256.Sum256([]byte(environment["ALICE_TOKEN"])) || alice.Limits.Rate != 100 {
		t.Errorf("got %+v", alice)
	}
	if planner.TokenHash != sha256.Sum256([]byte("test")) || planner.Limits.Rate != 20 || planner.Limits.Burst != 40 ||
		planner.Limits.MessageBytes != 1<<20 || len(planner.Limits.Kinds) != 1 {
		t.Errorf("got %+v", planner)
	}
	if c := planner.Capabilities; len(c) != 4 || !c[3].Deny() ||
		c[2].String() != `{"kind":"mcp.request","payload":{"method":"tools/call","params":{"name":"read_*"}}}` {
		t.Errorf("got %v", c)
	}
	if j := lab.JWT; j == nil || j.Issuer != "https://id.example.org" || j.Audience != "meup" || j.ParticipantClaim != "sub" ||
		len(j.Capabilities) != 2 || j.Limits.Rate != 100 {
		t.Errorf("got %+v", j)
	}
}

func TestLimits_OverrideFieldByField(t *testing.T) {
	cfg := mustParse(t, `
limits: {rate: 1, burst: 2, connections: 3}
spaces:
  lab:
    limits: {burst: 20, kinds: [{kind: chat, rate: 5}]}
    participants:
      alice: {token_env: ALICE_TOKEN, capabilities: [chat], limits: {connections: 300, kinds: []}}
      bob: {token_env: BOB_TOKEN, capabilities: [chat]}
    jwt: {issuer: https://id.example.org, audience: meup, capabilities: [chat], limits: {rate: 0}}
`)
	lab := cfg.Spaces[0]
	for name, c := range map[string]struct {
		got                      limit.Limits
		rate                     float64
		burst, connection, kinds int
	}{
		"all":    {cfg.Limits, 1, 2, 3, 0},
		"space":  {lab.Limits, 1, 20, 3, 1},
		"alice":  {lab.Participants[0].Limits, 1, 20, 300, 0},
		"bob":    {lab.Participants[1].Limits, 1, 20, 3, 1},
		"others": {lab.JWT.Limits, 0, 20, 3, 1},
	} {
		if c.got.Rate != c.rate || c.got.Burst != c.burst || c.got.Connections != c.connection || len(c.got.Kinds) != c.kinds ||
			c.got.OpenContexts != 256 {
			t.Errorf("%s: got %+v", name, c.got)
		}
	}
	if k := lab.Limits.Kinds[0]; k.Pattern.String() != "chat" || k.Rate != 5 || k.Burst != 0 {
		t.Errorf("got %+v", k)
	}
}

func TestLimits_RateSetsAllTrafficLimits(t *testing.T) {
	const participants = "\nspaces: {lab: {participants: {alice: {token_env: ALICE_TOKEN, capabilities: [chat]}}}}"
	if l := mustParse(t, "limits: {connections: 3}"+participants).Limits; l.Rate != 100 || l.BytesPerSecond != 1<<20 || len(l.Kinds) != 1 {
		t.Errorf("without a rate: got %+v", l)
	}
	if l := mustParse(t, "limits: {rate: 500}"+participants).Limits; l.Rate != 500 || l.Burst != 0 || l.BytesPerSecond != 0 ||
		len(l.Kinds) != 0 || l.MessageBytes != 1<<20 || l.OpenContexts != 256 {
		t.Errorf("with a rate: got %+v", l)
	}
}

func TestAnchorsAndMerges(t *testing.T) {
	cfg := mustParse(t, `
limits: &slow {rate: 1, burst: 2}
spaces:
  lab:
    participants:
      alice: &dev
        token_env: ALICE_TOKEN
        capabilities: &caps [chat, "reasoning/*"]
        limits: {<<: [{burst: 7}, *slow], connections: 9}
      bob:
        <<: *dev
        token_env: BOB_TOKEN
  other:
    participants:
      alice: *dev
      "007": {token_file: alice.token, capabilities: *caps}
`)
	lab, other := cfg.Spaces[0], cfg.Spaces[1]
	for _, p := range []config.Participant{lab.Participants[0], lab.Participants[1], other.Participants[0]} {
		if l := p.Limits; l.Rate != 1 || l.Burst != 7 || l.Connections != 9 || len(p.Capabilities) != 2 {
			t.Errorf("%s: got %+v", p.ID, p)
		}
	}
	if lab.Participants[1].TokenHash != sha256.Sum256([]byte(environment["BOB_TOKEN"])) {
		t.Error("bob's own token lost against the merged one")
	}
	if p := other.Participants[1]; p.ID != "007" || p.TokenHash != sha256.Sum256([]byte("alice-in-a-file-0123456789")) {
		t.Errorf("got %+v", p)
	}
}

// White space around a description is not a part of it; a blank one is none.
func TestDescription(t *testing.T) {
	for text, want := range map[string]string{
		`" Keeps the books.\n"`: "Keeps the books.", `" \t\n"`: "", `"\u00a0"`: "",
		`"` + strings.Repeat(" ", 300) + strings.Repeat("é", 200) + `"`: strings.Repeat("é", 200),
	} {
		cfg := mustParse(t, "spaces: {lab: {participants: {alice: {token_env: ALICE_TOKEN, capabilities: [chat], description: "+text+"}}}}")
		if got := cfg.Spaces[0].Participants[0].Description; got != want {
			t.Errorf("%s: %q", text, got)
		}
	}
}

// In the example of all keys, no participant has the description of another one.
func TestFullExample(t *testing.T) {
	text, err := os.ReadFile("../../../examples/config/full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	cfg, faults := config.Parse("full.yaml", text, func(name string) (string, bool) { return name + "-0123456789", true },
		func(string) ([]byte, error) { return []byte(secrets["good.toml"]), nil })
	if cfg == nil {
		t.Fatal(lines(faults))
	}
	described := make(map[string]protocol.ParticipantID)
	for _, s := range cfg.Spaces {
		for _, p := range s.Participants {
			if first := described[p.Description]; p.Description != "" && first != "" {
				t.Errorf("%s and %s have one description", first, p.ID)
			}
			described[p.Description] = p.ID
		}
	}
	if len(described) < 2 {
		t.Error("no participant has a description")
	}
}

func TestSpaceLookup(t *testing.T) {
	cfg := mustParse(t, `
spaces:
  "*": {}
  "team-*": {}
  "team-*-eu": {}
  "*-red-eu": {}
  team-red: {}
`)
	for name, want := range map[string]string{
		"team-red": "team-red", "team-blue": "team-*", "team-blue-eu": "team-*-eu", "team-red-eu": "team-*-eu",
		"a-red-eu": "*-red-eu", "lab": "*", "team-": "team-*", "": "", "a b": "", "a/b": "",
	} {
		s, ok := cfg.Space(name)
		if ok != (want != "") || ok && s.Name != want {
			t.Errorf("%q: got %v, want %q", name, s, want)
		}
	}
	cfg = mustParse(t, "spaces: {lab: {}, \"team-*\": {}}")
	if s, ok := cfg.Space("tea"); ok {
		t.Errorf("got %v", s)
	}
}

func TestSettings(t *testing.T) {
	cfg := mustParse(t, `
metrics_listen: "[::1]:9090"
nats: nats://user:secret@a:4222,tls://b:4222
origins: [HTTPS://UI.example.org, "http://localhost:5173", "https://*.example.org"]
log: {level: debug, format: json}
safety: {kinds: [], action: block}
idle_timeout: 0s
ping_interval: 0
violations: {max: 0}
ring: {entries: 7, bytes: 64KiB}
login_failures: {burst: 3, refill: 1m}
retention: {age: 1d12h, bytes: 1500}
spaces: {lab: {dialect: mew/v0.3, visibility: everyone, proposals: {decide: explicit}}}
`)
	want := config.Default()
	want.MetricsListen, want.NATS, want.Data = "[::1]:9090", "nats://user:secret@a:4222,tls://b:4222", "meup-data"
	want.Origins = []string{"https://ui.example.org", "http://localhost:5173", "https://*.example.org"}
	want.Log = config.Log{Level: slog.LevelDebug, Format: config.FormatJSON}
	want.Safety.Kinds, want.Safety.Action = nil, config.ActionBlock
	want.IdleTimeout, want.PingInterval, want.Violations.Max = 0, 0, 0
	want.Ring = config.Ring{Entries: 7, Bytes: 64 << 10}
	want.LoginFailures = config.LoginFailures{Burst: 3, Refill: time.Minute}
	want.Retention = config.Retention{Age: 36 * time.Hour, Bytes: 1500}
	want.Spaces = []config.Space{{Name: "lab", Dialect: protocol.DialectMEW04, Everyone: true, DecideExplicitly: true, Limits: limit.Defaults()}}
	if !reflect.DeepEqual(cfg, want) {
		t.Errorf("got  %+v\nwant %+v", cfg, want)
	}
}

func TestEmptyValues_CountAsAbsent(t *testing.T) {
	got := mustParse(t, "listen:\nlimits:\n  rate: ~\n  kinds:\ntls:\norigins: null\nreplicas:\nspaces: {lab: }")
	want := config.Default()
	want.Data = "meup-data"
	want.Spaces = []config.Space{{Name: "lab", Limits: limit.Defaults()}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestParse_ByteOrderMarkAndCRLF(t *testing.T) {
	_, faults := parse("\ufeff# a comment\r\nlisten: 127.0.0.1:1\r\nspaces:\r\n  lab:\r\n    dialct: x\r\n")
	if got := lines(faults); got != "meup.yaml:5:5: unknown key \"dialct\"; did you mean \"dialect\"?\n" {
		t.Error(got)
	}
}

func TestParse_InvalidUTF8(t *testing.T) {
	_, faults := parse("listen: 127.0.0.1:1\ndata: ä\xff\n")
	if got := lines(faults); got != "meup.yaml:2:8: not UTF-8; save the file in that encoding\n" {
		t.Error(got)
	}
}

func TestDiagnostics_Truncated(t *testing.T) {
	cfg, faults := parse("a: &x\n" + strings.Repeat("b: 1\n", 1000))
	if cfg != nil || len(faults) != 201 || faults[200].String() != "meup.yaml: 801 more faults" {
		t.Errorf("%d faults, the last %v", len(faults), faults[len(faults)-1])
	}
}

// Of many warnings, one that is left out may be of a capability that nothing can match.
func TestDiagnostics_TruncatedMistake(t *testing.T) {
	text := "spaces: {lab: {participants: {alice: {token: alice-0123456789abcdef, capabilities: [" + strings.Repeat("chat,\n", 300) + "%s]}}}}"
	for last, want := range map[string]bool{"chat": false, "chta": true} {
		cfg, faults := parse(fmt.Sprintf(text, last))
		rest := faults[len(faults)-1]
		if cfg == nil || len(faults) != 201 || rest.Severity != config.Warning || rest.Mistake != want {
			t.Errorf("%s: %d faults, the last %+v", last, len(faults), rest)
		}
	}
}

// A promotion needs no more decisions without a miss than decisions, unless the file says so.
func TestDeciders_Promotion(t *testing.T) {
	for promote, want := range map[string][2]int{
		"{}": {50, 50}, "{decisions: 10}": {10, 10}, "{decisions: 80}": {80, 50}, "{without_miss: 5}": {50, 5}, "{decisions: 10, without_miss: 20}": {10, 20},
	} {
		cfg := mustParse(t, `spaces: {lab: {proposals: {deciders: [{reviewer: rev, promote: `+promote+`}, {people: [alice]}]},
			participants: {alice: {token: alice-0123456789abcdef, capabilities: ["*"]}, rev: {token: rev-0123456789abcdef, capabilities: ["*", observe]}}}}`)
		v := cfg.Spaces[0].Deciders.Reviewers[0]
		if got := [2]int{v.Decisions, v.WithoutMiss}; got != want {
			t.Errorf("%s: %v, want %v", promote, got, want)
		}
	}
}

func TestTokens_NotInConfig(t *testing.T) {
	cfg := mustParse(t, `spaces: {lab: {participants: {
		alice: {token: alice-0123456789abcdef, capabilities: [chat]}, bob: {token_env: BOB_TOKEN, capabilities: [chat]}}}}`)
	if text := fmt.Sprintf("%+v %#v", cfg, cfg); strings.Contains(text, "0123456789") {
		t.Error(text)
	}
}

func TestLoad_RelativeFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("alice.token", "alice-0123456789abcdef\n")
	write("meup.yaml", "spaces: {lab: {participants: {alice: {token_file: alice.token, capabilities: [chat]}}}}")
	cfg, faults := config.Load(filepath.Join(dir, "meup.yaml"))
	if len(faults) > 0 {
		t.Fatal(lines(faults))
	}
	if cfg.Data != filepath.Join(dir, "meup-data") {
		t.Errorf("data is %s", cfg.Data)
	}
	if cfg.Spaces[0].Participants[0].TokenHash != sha256.Sum256([]byte("alice-0123456789abcdef")) {
		t.Error("another token")
	}

	cfg, faults = config.Load(filepath.Join(dir, "none.yaml"))
	if cfg != nil || len(faults) != 1 || !strings.HasSuffix(faults[0].String(), "none.yaml: cannot be read: no such file or directory") {
		t.Error(lines(faults))
	}
}

func TestEnvironmentAndFlags(t *testing.T) {
	cfg := config.Default()
	faults := cfg.ApplyEnv(func(name string) (string, bool) {
		value, ok := map[string]string{
			"MEUP_LISTEN": ":9000", "MEUP_DATA": ":memory:", "MEUP_NATS": "", "MEUP_REPLICAS": "3",
			"MEUP_LOG_LEVEL": "warn", "MEUP_LOG_FORMAT": "json",
		}[name]
		return value, ok
	})
	if len(faults) > 0 {
		t.Fatal(lines(faults))
	}
	if err := cfg.Set("listen", "127.0.0.1:0"); err != nil {
		t.Error(err)
	}
	want := config.Default()
	want.Listen, want.Data, want.Replicas = "127.0.0.1:0", config.InMemory, 3
	want.Log = config.Log{Level: slog.LevelWarn, Format: config.FormatJSON}
	if !reflect.DeepEqual(cfg, want) {
		t.Errorf("got %+v", cfg)
	}
}

func TestApplyEnv_DiagnosticNamesVariable(t *testing.T) {
	cfg := config.Default()
	faults := cfg.ApplyEnv(func(name string) (string, bool) { return "s3cret", true })
	got := lines(faults)
	for _, name := range []string{"MEUP_LISTEN: ", "MEUP_NATS: ", "MEUP_REPLICAS: ", "MEUP_LOG_LEVEL: ", "MEUP_LOG_FORMAT: ", "MEUP_METRICS_LISTEN: ", "MEUP_PPROF_LISTEN: "} {
		if !strings.Contains(got, name) {
			t.Errorf("no fault of %s in\n%s", name, got)
		}
	}
	if err := cfg.Set("listen", "8080"); err == nil || !strings.HasPrefix(err.Error(), "--listen: ") {
		t.Error(err)
	}
	if err := cfg.Set("colour", "red"); err == nil {
		t.Error("an unknown setting passes")
	}
}

func FuzzParse(f *testing.F) {
	f.Add(operators)
	f.Add("a: &x [*x, {<<: *x}]\n? b\n: !!str c\n")
	f.Add("- - - a: |\n  b\n")
	f.Add("%YAML 1.2\n---\nspaces: {\"*\": {jwt: }}\n...\n")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<14 {
			t.Skip() // the parser is quadratic in places; the bound is tested elsewhere
		}
		cfg, faults := parse(text)
		if (cfg == nil) != config.HasErrors(faults) {
			t.Errorf("config %v, faults %v", cfg != nil, faults)
		}
		for _, fault := range faults {
			if fault.Message == "" || fault.Line > 0 && fault.Column < 1 || strings.ContainsAny(fault.String(), "\n\x00") {
				t.Errorf("odd fault %#v", fault)
			}
		}
	})
}
