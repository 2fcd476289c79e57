package safety

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/safety/redact"
)

func ruleFile(t testing.TB, text string) *redact.RuleFile {
	t.Helper()
	f, faults := ParseRules(text)
	if f == nil {
		t.Fatal(faults)
	}
	return f
}

func TestOwnRules(t *testing.T) {
	own := ruleFile(t, `
title = "ours"
minVersion = "v8.25.0"
[extend]
useDefault = true
disabledRules = ["npm-access-token", "control-token", "secret-field", "seed-phrase"]

[[rules]]
id = "acme-token"
description = "ours"
regex = '''\bacme_[a-z]{8}\b'''
keywords = ["acme_"]
tags = ["ours"]

[[rules]]
id = "badge"
regex = '''badge (\d{4})-(\d{4})'''
secretGroup = 2

[[rules]]
id = "github-pat"
regex = '''ghp_only_this'''
keywords = ["ghp_"]

[[rules]]
id = "project-name"
regex = '''(?i)project nightingale'''
keywords = ["nightingale"]
severity = "high"

[[rules]]
id = "gitlab-pat"
[[rules.allowlists]]
stopwords = ["sample"]

[allowlist]
description = "the older form, for all rules"
stopwords = ["testing"]

[[allowlists]]
targetRules = ["acme-token"]
regexes = ['''^acme_aaaa''']
`)
	p := pipeline(t, Config{Rules: []*redact.RuleFile{own}})
	glpat := "glpat-" + random(source, "alnum", 20)
	for in, want := range map[string]string{
		"x acme_abcdefgh y":    "x [redacted:acme-token] y",
		"badge 1234-5678":      "badge 1234-[redacted:badge]",
		ghp + " ghp_only_this": ghp + " [redacted:github-pat]",
		npm:                    npm,
		"acme_aaaabbbb":        "acme_aaaabbbb",
		"glpat-sample" + random(source, "alnum", 14): "",
		glpat:           "[redacted:gitlab-pat]",
		"acme_testingx": "acme_testingx",
	} {
		if want == "" {
			want = in
		}
		if got := p.Text(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
	v, err := thought(p, parse(t, `{"m":"Project Nightingale <|im_end|>","arguments":{"password":"ab"}}`))
	if err != nil || string(v.Payload) != `{"m":"Project Nightingale <|im_end|>","arguments":{"password":"ab"},"review":["project-name"]}` {
		t.Errorf("got %s, %v", v.Payload, err)
	}
	ids, failure := RuleIDs([]*redact.RuleFile{own})
	if failure != nil || !slices.Contains(ids, "acme-token") || slices.Contains(ids, "npm-access-token") || slices.Contains(ids, ruleField) {
		t.Errorf("got %v, %v", ids, failure)
	}
	if p := pipeline(t, Config{}); p.Text(npm+ghp) == npm+ghp || p.Text("acme_abcdefgh") != "acme_abcdefgh" {
		t.Error("one pipeline's own rules are in another one's")
	}
	blocking := pipeline(t, Config{Rules: []*redact.RuleFile{own}, Actions: map[string]Action{"acme-token": ActionBlock}})
	if _, err := request(blocking, parse(t, `{"m":"acme_abcdefgh"}`)); err == nil {
		t.Error("an own rule does not block")
	}
}

// TestLaterFilesGoBeforeEarlierOnes: also where a rule moves to another stage.
func TestLaterFilesGoBeforeEarlierOnes(t *testing.T) {
	first := ruleFile(t, "[[rules]]\nid = \"a\"\nregex = 'one'\n[[rules]]\nid = \"b\"\nregex = 'two'\nseverity = \"medium\"")
	second := ruleFile(t, "[[rules]]\nid = \"a\"\nregex = 'three'\nseverity = \"high\"\n[[rules]]\nid = \"b\"\nregex = 'two'")
	p := pipeline(t, Config{Rules: []*redact.RuleFile{first, second}})
	v, _ := thought(p, parse(t, `{"m":"one two three"}`))
	if string(v.Payload) != `{"m":"one [redacted:b] three","redacted":["b"],"review":["a"]}` || p.Text("two") != "[redacted:b]" {
		t.Errorf("got %s", v.Payload)
	}
}

// TestOddRules checks that inspection ends for rules that match nothing, everything
// or their own mark.
func TestOddRules(t *testing.T) {
	for _, regex := range []string{"a*", ".", ".*", ".+", "", "(a)|b", `\[`, `redacted`, `[a-z]+`, `^`, `$`, `\b`} {
		text := fmt.Sprintf("[[rules]]\nid = \"odd\"\nregex = '''%s'''", regex)
		own, _ := ParseRules(text)
		if own == nil {
			continue // the empty one is refused
		}
		p := pipeline(t, Config{Rules: []*redact.RuleFile{own}})
		for _, in := range []string{"", "abc", "[x] redacted", strings.Repeat("ab ", 500)} {
			v, err := thought(p, parse(t, `{"m":"`+in+`"}`))
			if err != nil {
				t.Fatal(err)
			}
			if v.Payload == nil {
				continue
			}
			if again, _ := thought(p, parse(t, string(v.Payload))); again.Payload != nil {
				t.Errorf("%q, %q: %.200s, then %.200s", regex, in, v.Payload, again.Payload)
			}
		}
	}
}

func TestFaultyConfigurationsAreRefused(t *testing.T) {
	for name, c := range map[string]Config{
		"action":        {Action: "shred"},
		"review leaks":  {Action: ActionReview},
		"rule":          {Actions: map[string]Action{"no-such-rule": ActionMask}},
		"rule's action": {Actions: map[string]Action{"jwt": ActionWarn}},
		"severity":      {Policy: map[string]Action{"odd": ActionWarn}},
		"policy":        {Policy: map[string]Action{"low": "x"}},
		"disabled":      {Actions: map[string]Action{"jwt": ActionMask}, Rules: []*redact.RuleFile{ruleFile(t, "[extend]\ndisabledRules = [\"jwt\"]")}},
	} {
		if _, err := New(c); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
