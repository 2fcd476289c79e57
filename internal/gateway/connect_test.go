package gateway_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"github.com/goccy/go-yaml"

	"github.com/meup-protocol/meup/internal/testing/meuptest"
)

// stanza is a block of docs/connect.md that a reader copies.
type stanza struct{ section, language, text string }

var fence = regexp.MustCompile("(?ms)^## ([^\n]+)$|^```([a-z]*)\n(.*?)^```$")

func stanzas(t *testing.T) (list []stanza) {
	t.Helper()
	page, err := os.ReadFile("../../docs/connect.md")
	if err != nil {
		t.Fatal(err)
	}
	section := ""
	for _, m := range fence.FindAllStringSubmatch(string(page), -1) {
		if m[1] != "" {
			section = m[1]
			continue
		}
		list = append(list, stanza{section, m[2], m[3]})
	}
	return list
}

// commands returns the commands of a console block.
func (s stanza) commands() string {
	var lines []string
	within := false
	for _, line := range strings.Split(s.text, "\n") {
		command, begins := strings.CutPrefix(line, "$ ")
		if begins || within {
			lines = append(lines, command)
		}
		within = (begins || within) && strings.HasSuffix(line, `\`)
	}
	return strings.Join(lines, "\n") + "\n"
}

// Every stanza of docs/connect.md is correct in its language. The addresses of /mcp in
// it answer with the tools of the space, and the curl commands do what they claim.
func TestConnect_Stanzas(t *testing.T) {
	g := meuptest.Start(t, mcpConfig)
	const documented = "http://127.0.0.1:8080"
	sections := make(map[string]bool)
	for i, s := range stanzas(t) {
		sections[s.section] = true
		t.Run(fmt.Sprintf("%s %d", s.section, i), func(t *testing.T) {
			var value any
			switch s.language {
			case "json":
				d := json.NewDecoder(strings.NewReader(s.text))
				if err := d.Decode(&value); err != nil || d.More() {
					t.Errorf("not one JSON value: %v", err)
				}
			case "toml":
				if _, err := toml.Decode(s.text, &value); err != nil {
					t.Error(err)
				}
			case "yaml":
				if err := yaml.Unmarshal([]byte(s.text), &value); err != nil {
					t.Error(err)
				}
			case "console", "sh":
				script := s.text
				if s.language == "console" {
					script = s.commands()
				}
				checkScript(t, g, strings.ReplaceAll(script, documented, g.HTTP()))
			case "ts", "js", "python": // tested with the client itself
			default:
				t.Errorf("a block in the language %q", s.language)
			}
			for _, address := range addresses(value, documented+"/mcp") {
				path := strings.TrimPrefix(address, documented)
				if status, body := postAs(t, g, "alice-token", path, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); status != http.StatusOK || !strings.Contains(body, `"say"`) {
					t.Errorf("%s: %d %s", address, status, body)
				}
			}
		})
	}
	for _, name := range []string{"Claude Code", "Claude Desktop", "Cursor", "VS Code", "Codex", "Gemini CLI", "AG-UI front ends", "curl"} {
		if !sections[name] {
			t.Errorf("no stanza for %s", name)
		}
	}
}

// checkScript checks the syntax of commands, and runs the ones of curl.
func checkScript(t *testing.T, g *meuptest.Gateway, script string) {
	t.Helper()
	check := exec.CommandContext(t.Context(), "bash", "-n")
	check.Stdin = strings.NewReader(script)
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if !strings.HasPrefix(script, "curl ") {
		return
	}
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("no curl on this machine")
	}
	curl := exec.CommandContext(t.Context(), "bash", "-eu", "-c", script)
	curl.Env = append(os.Environ(), "MEUP_TOKEN=alice-token")
	out, err := curl.Output()
	if err != nil || len(bytes.TrimSpace(out)) == 0 || bytes.Contains(out, []byte(`"error"`)) || bytes.Contains(out, []byte(`"isError":true`)) {
		t.Errorf("%v\n%s", err, out)
	}
}

// addresses returns the texts in a value that begin with a prefix.
func addresses(value any, prefix string) (list []string) {
	switch v := value.(type) {
	case string:
		if strings.HasPrefix(v, prefix) {
			return []string{v}
		}
	case []any:
		for _, item := range v {
			list = append(list, addresses(item, prefix)...)
		}
	case map[string]any:
		for _, item := range v {
			list = append(list, addresses(item, prefix)...)
		}
	}
	return list
}
