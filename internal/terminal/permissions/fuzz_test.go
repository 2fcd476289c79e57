package permissions

import (
	"bytes"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// Whatever the rules are, all capabilities compile, and the fragment has exactly these.
func FuzzTranslate(f *testing.F) {
	for _, seed := range []string{"Bash(git diff:*)", "Bash(a 'b c' \"d\")", "Read(//a/**/b?[c])", "Edit(../x\\*/)", "WebFetch(domain:*.a.b)", "mcp__a__b*", "Agent(a:b)", "Shell(a:b c*)", "Write(/x)", "Mcp(*:a)", "!/x/", "Read(~)", "Read( 0000)", "Edit(..,00)", "WebFetch(domain:a.0)", "mcp__" + strings.Repeat("a", maxGlob)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, rule string) {
		list := []string{rule}
		rules := map[string]any{"allow": list, "ask": list, "deny": list}
		settings := encode(map[string]any{"permissions": rules, "terminalAllowlist": list, "mcpAllowlist": list})
		for _, program := range []string{"claude", "cursor"} {
			result, err := Translate(program, []File{{Path: "f", Root: "/r", Text: settings}}, Options{Participant: "p", Home: "/h"})
			if err != nil {
				t.Fatal(err)
			}
			compile(t, result)
			var out bytes.Buffer
			if err := result.WriteYAML(&out); err != nil {
				t.Fatal(err)
			}
			var got []any
			if err := yaml.Unmarshal(out.Bytes(), &got); err != nil || len(got) != len(result.Capabilities) {
				t.Fatalf("%v\n%s", err, out.String())
			}
		}
		starlark := "prefix_rule(" + string(encode([]string{rule})) + ")\nprefix_rule(" + string(encode([]string{rule, rule})) + ", \"forbidden\")"
		result, err := Translate("codex", []File{{Path: "f", Text: []byte(starlark)}}, Options{Participant: "p"})
		if err == nil { // JSON has escapes that Starlark has not
			compile(t, result)
		}
	})
}
