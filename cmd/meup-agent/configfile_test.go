package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/meup-protocol/meup/internal/kit/program"
)

// write writes a text into a file and returns its path.
func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "agent.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// configured returns the flags of a command line combined with a file.
func configured(t *testing.T, text string, args ...string) (*runFlags, error) {
	t.Helper()
	var f runFlags
	fl := pflag.NewFlagSet("run", pflag.ContinueOnError)
	f.register(fl)
	if err := fl.Parse(args); err != nil {
		t.Fatal(err)
	}
	return &f, applyConfig(fl, write(t, text))
}

func TestConfigurationFile(t *testing.T) {
	f, err := configured(t, `
# All kinds of values.
gateway: ws://localhost:8080/ws
space: 7
max_steps: 12
tool_timeout: 1m30s
rules_behind: true
summarization_model: ollama:small
mcp:
  - npx -y server /srv/docs
  - "other 'with words'"
mcp_http: [http://localhost:9000/mcp]
currency: EUR
price:
  - gpt-6.1-terra input=2.5 output=10 cached=0.25
  - qwen3:8b input=0 output=0
instructions: |
  Be brief.
  Be kind.
context_tokens: 32_000
`)
	if err != nil {
		t.Fatal(err)
	}
	want := "ws://localhost:8080/ws 7 12 1m30s true ollama:small [npx -y server /srv/docs|other 'with words'] [http://localhost:9000/mcp] \"Be brief.\\nBe kind.\\n\" 32000"
	got := fmt.Sprintf("%s %s %d %s %t %s [%s] [%s] %q %d", f.gateway, f.space, f.maxSteps, f.toolTimeout, f.think.rulesBehind, f.think.summarization,
		strings.Join(f.mcp, "|"), strings.Join(f.mcpHTTP, "|"), f.think.instructions, f.think.contextTokens)
	if got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if list := strings.Join(f.think.price, "|"); f.think.currency != "EUR" || list != "gpt-6.1-terra input=2.5 output=10 cached=0.25|qwen3:8b input=0 output=0" {
		t.Errorf("prices %s in %s", list, f.think.currency)
	}
	if f.answer != "auto" || f.connectTimeout != 30*time.Second {
		t.Error("what the file does not say has lost its default")
	}
}

func TestConfigurationFile_Precedence(t *testing.T) {
	const file = "space: file\nmodel: ollama:file\nname: file\nmcp: [file]\nbase_url: http://file\nmcp_http: http://file"
	t.Setenv("MEUP_SPACE", "environment")
	t.Setenv("MEUP_MODEL", "ollama:environment")
	t.Setenv("MEUP_BASE_URL", "")
	f, err := configured(t, file, "--space", "flag", "--mcp", "flag", "--mcp", "flag too")
	if err != nil {
		t.Fatal(err)
	}
	for what, pair := range map[string][2]string{
		"flag over both":             {f.space, "flag"},
		"environment over file":      {f.think.model, "ollama:environment"},
		"file over nothing":          {f.name, "file"},
		"an empty variable is none":  {f.think.baseURL, "http://file"},
		"lists are not joined":       {strings.Join(f.mcp, "|"), "flag|flag too"},
		"one value is a list of one": {strings.Join(f.mcpHTTP, "|"), "http://file"},
	} {
		t.Run(what, func(t *testing.T) {
			if pair[0] != pair[1] {
				t.Errorf("%s: %q, want %q", what, pair[0], pair[1])
			}
		})
	}
	// A flag that is set to its default is still set.
	f, err = configured(t, "max_steps: 12", "--max-steps", "8")
	if err != nil || f.maxSteps != 8 {
		t.Errorf("%d steps, %v", f.maxSteps, err)
	}
}

func TestConfigurationFile_Empty(t *testing.T) {
	for _, text := range []string{"", "\n\n", "# a remark\n", "---\n", "{}\n", "---\n# a remark\n---\n"} {
		if f, err := configured(t, text); err != nil || f.maxSteps != 8 {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestConfigurationFile_Invalid(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"unknown key":            {"name: x\nmax_stepps: 3\n", `:2:1: unknown key "max_stepps"`},
		"a key in a flag's form": {"max-steps: 3\n", `:1:1: unknown key "max-steps"`},
		"no key of a file":       {"  config: other.yaml\n", `:1:3: unknown key "config"`},
		"keys within":            {"think:\n  model: x\n", `:1:1: unknown key "think"`},
		"second document":        {"name: x\n---\nfoo: 3\n", `:3:1: unknown key "foo"`},
		"a word for a number":    {"name: x\n\nmax_steps: many\n", `:3:1: max_steps: `},
		"a word for true":        {"rules_behind: maybe\n", `:1:1: rules_behind: `},
		"a time without a unit":  {"tool_timeout: 30\n", `:1:1: tool_timeout: `},
		"a list for one value":   {"name: x\nspace: [a, b]\n", `:2:1: space: expected one value`},
		"an empty list":          {"space: []\n", `:1:1: space: expected one value`},
		"keys for one value":     {"space: {a: b}\n", `:1:1: space: expected a text`},
		"keys in a list":         {"mcp:\n  - a\n  - b: c\n", `:1:1: mcp: expected a text`},
		"nothing":                {"name:\n", `:1:1: name: expected a text`},
		"the same key twice":     {"max_steps: 3\nmax_steps: 4\n", `:2:1: not YAML: mapping key "max_steps" already defined`},
		"no YAML":                {"name: x\na: b: c\n", `:2:4: not YAML: `},
		"an open quote":          {"name: \"my-secret\n", `:1:7: not YAML: `},
		"a text":                 {"hello\n", `:1:1: expected keys with values`},
		"a list":                 {"- max_steps: 3\n", `:1:1: expected keys with values`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := configured(t, test.text)
			if err == nil || !strings.Contains(err.Error(), "agent.yaml"+test.want) {
				t.Errorf("%s: %v, want %s", name, err, test.want)
			}
			if err != nil && strings.Contains(err.Error(), "my-secret") {
				t.Errorf("%s: %v quotes the file", name, err)
			}
		})
	}
}

func TestConfigurationFile_Unreadable(t *testing.T) {
	fl := pflag.NewFlagSet("run", pflag.ContinueOnError)
	for path, want := range map[string]string{
		filepath.Join(t.TempDir(), "none.yaml"):          "no such file",
		t.TempDir():                                      "is a directory",
		write(t, strings.Repeat("# a remark\n", 100000)): "more than 1048576 bytes",
	} {
		if err := applyConfig(fl, path); err == nil || !strings.HasPrefix(err.Error(), "read configuration: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestConfigurationFile_ExitCodes(t *testing.T) {
	t.Setenv("MEUP_TOKEN", "secret-token")
	good := write(t, "gateway: ws://127.0.0.1:1/ws\nspace: lab\nconnect_timeout: 1ms\nlog_level: error\n")
	for _, test := range []struct {
		path string
		more []string
		want int
	}{
		{good, nil, program.ExitFailed}, // there is no gateway
		{good, []string{"--metrics-listen", "192.0.2.1:1"}, program.ExitFailed},
		{good, []string{"--effort", "much"}, program.ExitUsage},
		{good, []string{"--base-url", "http://localhost"}, program.ExitUsage},
		{good, []string{"--price", "m input=1 output=-1"}, program.ExitUsage},
		{good, []string{"--currency", "euro"}, program.ExitUsage},
		{good, []string{"--model", "rules", "--price", "m input=1 output=1"}, program.ExitUsage},
		{write(t, "max_stepps: 3"), nil, program.ExitUsage},
		{write(t, "max_steps: many"), nil, program.ExitUsage},
		{write(t, "space: [a, b]"), nil, program.ExitUsage},
		{write(t, "a: b: c"), nil, program.ExitUsage},
		{filepath.Join(t.TempDir(), "none.yaml"), nil, program.ExitUsage},
	} {
		if got := run(t.Context(), program.Process(), append([]string{"run", "--config", test.path}, test.more...)); got != test.want {
			t.Errorf("%s %v: exit code %d, want %d", test.path, test.more, got, test.want)
		}
	}
}

// Every flag has a key, and every flag with an environment variable exists.
func TestEveryFlagHasAKey(t *testing.T) {
	var f runFlags
	fl := pflag.NewFlagSet("run", pflag.ContinueOnError)
	f.register(fl)
	fl.VisitAll(func(flag *pflag.Flag) {
		if flag.Name == "config" {
			return
		}
		value := map[string]string{"int": "3", "bool": "true", "duration": "3s"}[flag.Value.Type()]
		if value == "" {
			value = "three"
		}
		if name := variables[flag.Name]; name != "" {
			t.Setenv(name, "")
		}
		if err := applyConfig(fl, write(t, strings.ReplaceAll(flag.Name, "-", "_")+": "+value)); err != nil || !strings.Contains(flag.Value.String(), value) {
			t.Errorf("--%s is %q: %v", flag.Name, flag.Value, err)
		}
	})
	for name := range variables {
		if fl.Lookup(name) == nil {
			t.Errorf("there is no flag --%s", name)
		}
	}
}
