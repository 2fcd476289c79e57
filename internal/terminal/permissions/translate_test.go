package permissions

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/meup-protocol/meup/internal/capability"
	"github.com/meup-protocol/meup/internal/capability/argument"
	"github.com/meup-protocol/meup/protocol"
)

func TestTranslate_Errors(t *testing.T) {
	for _, test := range []struct{ name, program, path, text, want string }{
		{"no JSON", "claude", "s.json", "{\n\"permissions\": {,}}", "s.json:2: "},
		{"a comment", "claude", "s.json", "{\n// no\n}", "s.json:2: "},
		{"no object", "claude", "s.json", "[]", "s.json: expected a JSON object"},
		{"no list", "claude", "s.json", "{\n\n\"permissions\": {\"allow\": \"Bash\"}}", "s.json:3: permissions.allow: expected an array of texts"},
		{"a comment in the configuration of Cursor's CLI", "cursor", "cli-config.json", "{\n// no\n}", "cli-config.json:2: "},
		{"no list of Cursor", "cursor", "permissions.json", "{\"mcpAllowlist\": 1}", "permissions.json:1: mcpAllowlist: expected"},
		{"a comment without an end", "cursor", "permissions.json", "{\n/*", "permissions.json:2: "},
		{"no Starlark", "codex", "x.rules", "\nprefix_rule(pattern=[", "x.rules:2: "},
		{"no decision", "codex", "x.rules", "\nprefix_rule(pattern=[\"a\"], decision=\"maybe\")", `x.rules:2: decision "maybe": expected allow, prompt or forbidden`},
		{"no pattern", "codex", "x.rules", "prefix_rule()", "x.rules:1: prefix_rule has no pattern"},
		{"an empty pattern", "codex", "x.rules", "prefix_rule(pattern=[])", "x.rules:1: the pattern is empty"},
		{"deep Starlark", "codex", "x.rules", strings.Repeat("[", 1<<20), "x.rules:1: excessive nesting"},
		{"deep TOML", "codex", "config.toml", "a = " + strings.Repeat("[", 100<<10), "config.toml:1: "},
		{"large TOML", "codex", "config.toml", strings.Repeat("#", 257<<10), "config.toml has more than"},
		{"deep JSON", "claude", "s.json", strings.Repeat("[", 1<<20), "s.json:1: nested deeper"},
		{"no TOML", "codex", "config.toml", "a = 1\nb = [", "config.toml:2: "},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Translate(test.program, []File{{Path: test.path, Text: []byte(test.text)}}, Options{})
			if err == nil || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("%v, want %s", err, test.want)
			}
		})
	}
}

// The editor of Cursor accepts comments, and commas at the end.
func TestTranslate_CommentsOfCursor(t *testing.T) {
	text := "\xef\xbb\xbf{\n  // one\n  \"terminalAllowlist\": [\"git\", /* \"rm\", */ \"a:\\\"//b/*,]\",],\n}\n"
	result, err := Translate("cursor", []File{{Path: ".cursor/permissions.json", Text: []byte(text)}}, Options{})
	if err != nil || len(result.Capabilities) != 1 || len(result.Capabilities[0].Sources) != 1 || len(result.Left) != 1 || result.Left[0].Line != 3 || result.Left[0].Text != `a:"//b/*,]` {
		t.Errorf("%v %+v", err, result)
	}
}

func TestTranslate_Windows(t *testing.T) {
	got := summaries(t, "claude", `{"permissions":{"allow":["Read(//c/Users/**)"],"ask":["Read(.env)"]}}`, Options{Windows: true})
	want := []string{
		`Read {file_path: {$path: {below: "C:/Users"}}}`,
		`Read {file_path: [".env", ".env/**", ".env\\**", "**/.env", "**\\.env", "**/.env/**", "**\\.env\\**"]}`,
	}
	if len(got) != 3 || !slices.Equal(got[:2], want) {
		t.Errorf("%q", got)
	}
}

func TestTranslate_Options(t *testing.T) {
	text := `{"permissions":{"allow":["Bash(git diff:*)","Bash(find:*)","Bash(/usr/bin/find *)","Bash(ls)"]}}`
	if got := summaries(t, "claude", text, Options{Options: true}); len(got) != 1 || got[0] != `Bash runs ["git diff -**", "find **", "/usr/bin/find **", ls]` {
		t.Errorf("%q", got)
	}
	if got := summaries(t, "codex", `prefix_rule(pattern=["git"])`, Options{Options: true}); len(got) != 1 || got[0] != `Bash runs ["git -**"]` {
		t.Errorf("%q", got)
	}
}

// Rules that allow count in managed settings alone if these say so.
func TestTranslate_Managed(t *testing.T) {
	files := []File{
		{Path: "user", Text: []byte(`{"permissions":{"allow":["Bash"],"deny":["WebFetch"]},"allowManagedPermissionRulesOnly":true}`)},
		{Path: "managed", Managed: true, Text: []byte(`{"permissions":{"allow":["Read"]}}`)},
	}
	result, err := Translate("claude", files, Options{})
	if err != nil || len(result.Capabilities) != 3 || len(result.Left) != 0 {
		t.Errorf("%v %+v", err, result)
	}
	files[1].Text = []byte(`{"permissions":{"allow":["Read"]},"allowManagedPermissionRulesOnly":true}`)
	result, err = Translate("claude", files, Options{})
	if err != nil || len(result.Capabilities) != 2 || len(result.Left) != 1 || result.Left[0].Text != "Bash" {
		t.Errorf("%v %+v", err, result)
	}
}

// A rule that several files have is translated once; a list of many commands is several
// capabilities, and a rule that is too long for one is widened or left.
func TestTranslate_Bounds(t *testing.T) {
	files := []File{
		{Path: "a", Text: []byte(`{"permissions":{"allow":["Bash(ls)","Read"]}}`)},
		{Path: "b", Text: []byte(`{"permissions":{"allow":["Bash(ls)","Read"]}}`)},
	}
	result, err := Translate("claude", files, Options{})
	if err != nil || len(result.Capabilities) != 2 || result.Capabilities[0].Sources[0].File != "a" {
		t.Errorf("%v %+v", err, result)
	}
	var rules []string
	for i := range 100 {
		rules = append(rules, fmt.Sprintf("Bash(run %d %s)", i, strings.Repeat("x", i)))
	}
	long := strings.Repeat("y", 5000)
	text := string(encode(map[string]any{"permissions": map[string]any{"allow": append(rules, "Bash("+long+" *)", "Read("+long+")", "Read(//"+long[:2000]+")", "WebFetch(domain:"+long[:300]+")", long), "deny": []string{"Bash(rm " + long + ")", "Read(" + long + "/**)", "Edit(" + long + "/x/**)", "Read(//" + long[:2000] + ")", "WebFetch(domain:" + long[:300] + ")", long}}}))
	result, err = Translate("claude", []File{{Path: "f", Text: []byte(text)}}, Options{Participant: "claude"})
	if err != nil {
		t.Fatal(err)
	}
	commands := 0
	for i := range result.Capabilities {
		if c := &result.Capabilities[i]; c.commands {
			commands += len(c.commandsOf())
			if len(c.commandsOf()) > maxCommands {
				t.Errorf("%d commands", len(c.commandsOf()))
			}
		}
	}
	if commands != 100 || len(result.Left) != 5 {
		t.Errorf("%d commands, left %d", commands, len(result.Left))
	}
	compile(t, result)
}

// compile compiles the capabilities.
func compile(t *testing.T, result *Result) *capability.Set {
	t.Helper()
	var out []*capability.Capability
	for i := range result.Capabilities {
		out = append(out, compileOne(t, result.Capabilities[i].value))
	}
	return capability.NewSet(out...)
}

func compileOne(t *testing.T, value object) *capability.Capability {
	t.Helper()
	doc, err := protocol.ParseJSON(value.json(), protocol.MaxDepth)
	if err != nil {
		t.Fatal(err)
	}
	c, err := capability.Parse(doc.Root())
	if err != nil {
		t.Fatalf("%s: %v", value.json(), err)
	}
	return c
}

// What is asked about can be proposed, and what is denied cannot.
func TestTranslate_Effects(t *testing.T) {
	text := `{"permissions":{
		"allow":["Bash(git:*)","Bash(ls *)","Read(./docs/**)","Edit(/src/**)","WebFetch(domain:*.example.com)","mcp__files"],
		"ask":["Bash(git push *)","WebFetch(domain:api.example.com)","Edit(src/vendor/**)"],
		"deny":["Bash(* --force)","Bash(rm:*)","mcp__files__delete_*","Read(.env)","Edit(src/secret/**)"]}}`
	result, err := Translate("claude", []File{{Path: "f", Root: "/repo", Text: []byte(text)}}, Options{Participant: "claude"})
	if err != nil {
		t.Fatal(err)
	}
	result.Capabilities = append(result.Capabilities, Capability{value: object{{"kind", "mcp.proposal"}}})
	set := compile(t, result)
	for _, test := range []struct {
		name, arguments   string
		request, proposal bool
	}{
		{"Bash", `{"command":"git diff HEAD"}`, true, true},
		{"Bash", `{"command":"git diff --stat"}`, false, true},
		{"Bash", `{"command":"git status && ls x"}`, true, true},
		{"Bash", `{"command":"git status; whoami"}`, false, true},
		{"Bash", `{"command":"git push origin main"}`, false, true},
		{"Bash", `{"command":"git fetch --force"}`, false, false},
		{"Bash", `{"command":"ls a; rm -rf b"}`, false, false},
		{"Bash", `{"command":"git status; sudo rm b"}`, false, false},
		{"Read", `{"file_path":"/repo/docs/x.md"}`, true, true},
		{"Read", `{"file_path":"/repo/docs/../x.md"}`, false, true},
		{"Read", `{"file_path":"/repo/docs/.env"}`, false, false},
		{"Read", `{"file_path":"/etc/passwd"}`, false, true},
		{"Edit", `{"file_path":"/repo/src/a.go"}`, true, true},
		{"Write", `{"file_path":"/repo/src/a.go"}`, true, true},
		{"Write", `{"file_path":"/repo/src/vendor/a.go"}`, false, true},
		{"Write", `{"file_path":"/repo/src/secret/a.go"}`, false, false},
		{"Write", `{"file_path":"/repo/src/.env"}`, false, false},
		{"NotebookEdit", `{"notebook_path":"/repo/src/a.ipynb"}`, true, true},
		{"WebFetch", `{"url":"https://www.example.com/x"}`, true, true},
		{"WebFetch", `{"url":"https://api.example.com/x"}`, false, true},
		{"WebFetch", `{"url":"https://example.org"}`, false, true},
		{"mcp__files__list", `{}`, true, true},
		{"mcp__files__delete_all", `{}`, false, false},
		{"mcp__other__list", `{}`, false, true},
	} {
		t.Run(test.name+" "+test.arguments, func(t *testing.T) {
			payload := fmt.Sprintf(`{"method":"tools/call","params":{"name":%q,"arguments":%s}}`, test.name, test.arguments)
			doc, err := protocol.ParseJSON([]byte(payload), protocol.MaxDepth)
			if err != nil {
				t.Fatal(err)
			}
			r := capability.Request{Kind: protocol.KindMCPRequest, Payload: doc.Root(), To: []protocol.ParticipantID{"claude"}, Place: argument.Place{Root: "/repo", Dir: "/repo"}}
			request := set.Decide(&r).Allowed
			r.Kind, r.To = protocol.KindMCPProposal, nil
			proposal := set.Decide(&r).Allowed
			if request != test.request || proposal != test.proposal {
				t.Errorf("request %v, proposal %v", request, proposal)
			}
		})
	}
}

// Both outputs have the same capabilities, whatever characters the rules have.
func TestResult_Write(t *testing.T) {
	rules := []string{"Bash(git status)", "Bash(git commit -m 'é ü':*)", "Read(./a b/yes)", "Read(//x\u2028y\u0085z)", "Read(./\x1b[31m)", "Read(no/on)", "Read(//\U0001F600)", "mcp__a b__c", "Edit(x\n- chat)", "Bash(a\n- chat)"}
	files := []File{{Path: "a\n- chat", Text: encode(map[string]any{"permissions": map[string]any{"allow": rules, "deny": append(rules, "Bash(n:1)")}})}}
	result, err := Translate("claude", files, Options{Participant: "true"})
	if err != nil {
		t.Fatal(err)
	}
	var asYAML, asJSON bytes.Buffer
	if err := result.WriteYAML(&asYAML); err != nil {
		t.Fatal(err)
	}
	if err := result.WriteJSON(&asJSON); err != nil {
		t.Fatal(err)
	}
	var out struct {
		Capabilities []any
		Translated   []struct{ Capability int }
	}
	if err := json.Unmarshal(asJSON.Bytes(), &out); err != nil {
		t.Fatal(err)
	}
	var list []any
	if err := yaml.Unmarshal(asYAML.Bytes(), &list); err != nil {
		t.Fatalf("%v\n%s", err, asYAML.String())
	}
	text, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	if got, want := encode(list), encode(out.Capabilities); !bytes.Equal(got, want) {
		t.Errorf("YAML has\n%s\nJSON has\n%s", got, want)
	}
	if len(out.Translated) < len(list) || bytes.ContainsRune(asYAML.Bytes(), 0x1b) || bytes.ContainsRune(asJSON.Bytes(), 0x1b) {
		t.Errorf("%d rules\n%s", len(out.Translated), asYAML.String())
	}
	result, err = Translate("claude", []File{{Path: "f"}}, Options{Participant: "p"})
	if err != nil {
		t.Fatal(err)
	}
	asYAML.Reset()
	if err := result.WriteYAML(&asYAML); err != nil || !strings.HasSuffix(asYAML.String(), "\n[]\n") {
		t.Errorf("%v %s", err, asYAML.String())
	}
}
