package gateway_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/terminal/hookconfig"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
)

// An unmodified Claude Code whose own rules allow a command does not run it if the space cannot
// be asked about it, unless its settings say so.
func TestClaudeCode_FailsClosed(t *testing.T) {
	const away = "http://127.0.0.1:1"
	g := meuptest.Start(t, hooksConfig)
	for _, test := range []struct {
		name, gateway, who string
		open, plain        bool // plain: settings without onFailure
		padding            int  // bytes of the command
		reason             string
		runs               bool
	}{
		{"the gateway is away", away, "wide", false, false, 0, "onFailure", false},
		{"the gateway is away, and calls may pass", away, "wide", true, false, 0, "", true},
		{"a wrong token", g.HTTP(), "nobody", false, true, 0, "does not know this token", false},
		{"a wrong token, and calls may pass", g.HTTP(), "nobody", true, false, 0, "", true},
		{"a large call", g.HTTP(), "wide", false, true, 1 << 20, "at most 1048576 bytes", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			claudeCode(t)
			gateway, err := url.Parse(test.gateway)
			if err != nil {
				t.Fatal(err)
			}
			h := hookconfig.Hooks{Program: "claude", Gateway: gateway, Space: "lab", TokenEnv: "SPACE_TOKEN", FailOpen: test.open}
			settings, err := h.Add(nil)
			if err != nil {
				t.Fatal(err)
			}
			if test.plain {
				settings = []byte(strings.ReplaceAll(string(settings), `"onFailure": "block"`, `"statusMessage": "asks the space"`))
			}
			model := func(last string, tools []string) turn {
				if strings.Contains(last, "tool_result") || len(tools) == 0 {
					return turn{text: last}
				}
				input, err := json.Marshal(map[string]string{"command": "echo ran-$((40+2)) #" + strings.Repeat("x", test.padding), "description": "Print it"})
				if err != nil {
					t.Error(err)
				}
				return turn{"I will run it.", "Bash", string(input)}
			}
			wait, _ := runClaude(t, settings, test.who, model, "-p", "Run it, please.", "--allowedTools", "Bash")
			out, err := wait()
			if err != nil || strings.Contains(out, "ran-42") != test.runs || !strings.Contains(out, test.reason) {
				t.Errorf("claude: %v, want that the command runs: %t, and the text %q\n%.3000s", err, test.runs, test.reason, out)
			}
		})
	}
}
