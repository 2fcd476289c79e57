package redact

import (
	"fmt"
	"strings"
	"testing"
)

func TestFaultsOfRuleFiles(t *testing.T) {
	ids := []string{"jwt"}
	const head = "# one\n# two\n"
	for name, c := range map[string]struct{ text, want string }{
		"fine":                {"", ""},
		"syntax":              {"[[rules]\nid = 1", "4: not TOML"},
		"type":                {"[[rules]]\nid = 7", "not a rules file: line 4 (last key \"rules.id\"): incompatible types"},
		"regex":               {"[[rules]]\nid = \"a\"\n\nregex = '''(x'''", "rule \"a\": error parsing regexp"},
		"lookahead":           {"[[rules]]\nid = \"a\"\nregex = '''(?=x)'''", "rule \"a\": error parsing regexp: invalid or unsupported Perl syntax"},
		"second":              {"[[rules]]\nid = \"a\"\nregex = '''\n[[rules]]\n'''\n[[rules]]\nid = \"b\"\nregex = '('", "rule \"b\""},
		"id":                  {"[[rules]]\nid = \"A_b\"\nregex = 'x'", "rule \"A_b\": an id consists of"},
		"no id":               {"[[rules]]\nregex = 'x'", "rule \"\": an id"},
		"twice":               {"[[rules]]\nid = \"a\"\nregex = 'x'\n[[rules]]\nid = \"a\"\nregex = 'x'", "rule \"a\" is in the file twice"},
		"group":               {"[[rules]]\nid = \"a\"\nregex = 'x'\nsecretGroup = 1", "rule \"a\": secretGroup 1"},
		"severity":            {"[[rules]]\nid = \"a\"\nregex = 'x'\nseverity = \"bad\"", "rule \"a\": the severity must be one of"},
		"allowlist":           {"[[rules]]\nid = \"a\"\nregex = 'x'\n[[rules.allowlists]]\nregexes = ['(']", "rule \"a\": allowlist"},
		"general":             {"[[rules]]\nid = \"a\"\nregex = 'x'\n[[allowlists]]\nregexes = ['(']", "allowlist"},
		"no regex":            {"[[rules]]\nid = \"nothing-like-it\"\ndescription = 'x'", "rule \"nothing-like-it\" has no regex, and there is no built-in rule with this id"},
		"path":                {"[[rules]]\nid = \"a\"\nregex = 'x'\npath = 'y'", "warning: rule \"a\" matches paths only"},
		"path alone":          {"[[rules]]\nid = \"a\"\npath = 'y'", "warning: rule \"a\" matches paths only"},
		"skip":                {"[[rules]]\nid = \"a\"\nregex = 'x'\nskipReport = true", "warning: rule \"a\" only supports other rules"},
		"required":            {"[[rules]]\nid = \"a\"\nregex = 'x'\n[[rules.required]]\nid = \"b\"", "warning: the required rules of rule \"a\""},
		"unknown":             {"[[rules]]\nid = \"a\"\nregex = 'x'\nregexp = 'y'", "warning: unknown key \"rules.regexp\""},
		"extend":              {"[extend]\npath = \"other.toml\"", "warning: extend: path and url"},
		"disabled":            {"[extend]\ndisabledRules = [\"nothing-like-it\"]", "warning: disabledRules: there is no built-in rule \"nothing-like-it\""},
		"fragment":            {"[fragments]\nc = 'z'\n[[rules]]\nid = \"a\"\nregex = 'x(?&b)'", "rule \"a\": there is no fragment \"b\""},
		"fragment of itself":  {"[fragments]\nb = '(?&b)y'\n[[rules]]\nid = \"a\"\nregex = 'x(?&b)'", "rule \"a\": a fragment contains itself"},
		"fragments that grow": {"[fragments]\nb = '(?&c)(?&c)'\nc = '(?&d)(?&d)'\nd = '" + strings.Repeat("y", maxRegex/4) + "'\n[[rules]]\nid = \"a\"\nregex = 'x(?&b)'", "rule \"a\": the regex with its fragments has more than"},
		"no fragments":        {"[[rules]]\nid = \"a\"\nregex = '(x|\\(?&b)'", ""},
		"fragments":           {"[fragments]\nb = 'y|(?&c)'\nc = 'z'\n[[rules]]\nid = \"a\"\nregex = 'x(?&b)w'", ""},
		"inline":              {"rules = [{id = \"a\", regex = '('}]", "rule \"a\""},
		"long":                {strings.Repeat("#", maxRuleFile), "the file has more than"},
	} {
		file, faults := ParseRules(head+c.text, ids)
		var said []string
		bad := false
		for _, f := range faults {
			warning := ""
			if f.Warning {
				warning = "warning: "
			}
			bad = bad || !f.Warning
			if f.Line > 0 {
				warning = fmt.Sprintf("%d: ", f.Line)
			}
			said = append(said, warning+f.Message)
		}
		got := strings.Join(said, "\n")
		if !strings.HasPrefix(got, c.want) || len(faults) > 1 || (file == nil) != bad || c.want == "" && got != "" {
			t.Errorf("%s: got %q, %v, want %q", name, got, file != nil, c.want)
		}
	}
}
