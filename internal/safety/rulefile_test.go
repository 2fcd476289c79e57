package safety

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func ruleFile(t testing.TB, text string) *RuleFile {
	t.Helper()
	f, faults := ParseRules("own.toml", text)
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
	p := pipeline(t, Config{Rules: []*RuleFile{own}})
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
	ids, failure := RuleIDs([]*RuleFile{own})
	if failure != nil || !slices.Contains(ids, "acme-token") || slices.Contains(ids, "npm-access-token") || slices.Contains(ids, ruleField) {
		t.Errorf("got %v, %v", ids, failure)
	}
	if p := pipeline(t, Config{}); p.Text(npm+ghp) == npm+ghp || p.Text("acme_abcdefgh") != "acme_abcdefgh" {
		t.Error("one pipeline's own rules are in another one's")
	}
	blocking := pipeline(t, Config{Rules: []*RuleFile{own}, Actions: map[string]Action{"acme-token": ActionBlock}})
	if _, err := request(blocking, parse(t, `{"m":"acme_abcdefgh"}`)); err == nil {
		t.Error("an own rule does not block")
	}
}

// TestLaterFilesGoBeforeEarlierOnes: also where a rule moves to another stage.
func TestLaterFilesGoBeforeEarlierOnes(t *testing.T) {
	first := ruleFile(t, "[[rules]]\nid = \"a\"\nregex = 'one'\n[[rules]]\nid = \"b\"\nregex = 'two'\nseverity = \"medium\"")
	second := ruleFile(t, "[[rules]]\nid = \"a\"\nregex = 'three'\nseverity = \"high\"\n[[rules]]\nid = \"b\"\nregex = 'two'")
	p := pipeline(t, Config{Rules: []*RuleFile{first, second}})
	v, _ := thought(p, parse(t, `{"m":"one two three"}`))
	if string(v.Payload) != `{"m":"one [redacted:b] three","redacted":["b"],"review":["a"]}` || p.Text("two") != "[redacted:b]" {
		t.Errorf("got %s", v.Payload)
	}
}

// TestOddRules: what matches nothing, everything, or its own mark ends all the
// same.
func TestOddRules(t *testing.T) {
	for _, regex := range []string{"a*", ".", ".*", ".+", "", "(a)|b", `\[`, `redacted`, `[a-z]+`, `^`, `$`, `\b`} {
		text := fmt.Sprintf("[[rules]]\nid = \"odd\"\nregex = '''%s'''", regex)
		own, _ := ParseRules("own.toml", text)
		if own == nil {
			continue // the empty one is refused
		}
		p := pipeline(t, Config{Rules: []*RuleFile{own}})
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

func TestFaultsOfRuleFiles(t *testing.T) {
	const head = "# one\n# two\n"
	for name, c := range map[string]struct{ text, want string }{
		"fine":       {"", ""},
		"syntax":     {"[[rules]\nid = 1", "4: not TOML"},
		"type":       {"[[rules]]\nid = 7", "4: not a file of rules: \"rules.id\": incompatible types"},
		"regex":      {"[[rules]]\nid = \"a\"\n\nregex = '''(x'''", "6: rule \"a\": error parsing regexp"},
		"lookahead":  {"[[rules]]\nid = \"a\"\nregex = '''(?=x)'''", "5: rule \"a\": error parsing regexp: invalid or unsupported Perl syntax"},
		"second":     {"[[rules]]\nid = \"a\"\nregex = '''\n[[rules]]\n'''\n[[rules]]\nid = \"b\"\nregex = '('", "10: rule \"b\""},
		"id":         {"[[rules]]\nid = \"A_b\"\nregex = 'x'", "4: rule \"A_b\": an id is made of"},
		"no id":      {"[[rules]]\nregex = 'x'", "3: rule \"\": an id"},
		"twice":      {"[[rules]]\nid = \"a\"\nregex = 'x'\n[[rules]]\nid = \"a\"\nregex = 'x'", "7: rule \"a\" stands in the file already"},
		"group":      {"[[rules]]\nid = \"a\"\nregex = 'x'\nsecretGroup = 1", "6: rule \"a\": secretGroup 1"},
		"severity":   {"[[rules]]\nid = \"a\"\nregex = 'x'\nseverity = \"bad\"", "6: rule \"a\": a severity is one of"},
		"check":      {"[[rules]]\nid = \"a\"\nregex = 'x'\ncheck = \"sum\"", "6: rule \"a\": a check is"},
		"allowlist":  {"[[rules]]\nid = \"a\"\nregex = 'x'\n[[rules.allowlists]]\nregexes = ['(']", "6: rule \"a\": allowlist"},
		"general":    {"[[rules]]\nid = \"a\"\nregex = 'x'\n[[allowlists]]\nregexes = ['(']", "6: allowlist"},
		"no regex":   {"[[rules]]\nid = \"nothing-like-it\"\ndescription = 'x'", "3: rule \"nothing-like-it\" has no regex, and no built-in rule is called so"},
		"path":       {"[[rules]]\nid = \"a\"\nregex = 'x'\npath = 'y'", "6: warning: rule \"a\" looks at paths"},
		"path alone": {"[[rules]]\nid = \"a\"\npath = 'y'", "5: warning: rule \"a\" looks at paths"},
		"skip":       {"[[rules]]\nid = \"a\"\nregex = 'x'\nskipReport = true", "6: warning: rule \"a\" reports nothing"},
		"required":   {"[[rules]]\nid = \"a\"\nregex = 'x'\n[[rules.required]]\nid = \"b\"", "6: warning: rule \"a\" is not held"},
		"unknown":    {"[[rules]]\nid = \"a\"\nregex = 'x'\nregexp = 'y'", "6: warning: unknown key \"rules.regexp\""},
		"extend":     {"[extend]\npath = \"other.toml\"", "3: warning: extend knows disabledRules"},
		"disabled":   {"[extend]\ndisabledRules = [\"nothing-like-it\"]", "4: warning: disabledRules: no built-in rule is called \"nothing-like-it\""},
		"inline":     {"rules = [{id = \"a\", regex = '('}]", "3: rule \"a\""},
		"long":       {strings.Repeat("#", maxRuleFile), "1: the file has more than"},
	} {
		file, faults := ParseRules("own.toml", head+c.text)
		var said []string
		bad := false
		for _, f := range faults {
			warning := ""
			if f.Warning {
				warning = "warning: "
			}
			bad = bad || !f.Warning
			said = append(said, fmt.Sprintf("%d: %s%s", f.Line, warning, f.Message))
		}
		got := strings.Join(said, "\n")
		if !strings.HasPrefix(got, c.want) || len(faults) > 1 || (file == nil) != bad || c.want == "" && got != "" {
			t.Errorf("%s: got %q, %v, want %q", name, got, file != nil, c.want)
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
		"disabled":      {Actions: map[string]Action{"jwt": ActionMask}, Rules: []*RuleFile{ruleFile(t, "[extend]\ndisabledRules = [\"jwt\"]")}},
	} {
		if _, err := New(c); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
