package capability

import (
	"fmt"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/protocol"
)

// decideCall reports whether a rule, with everything allowed beside a deny rule, admits a call.
func decideCall(t *testing.T, rule, arguments string) bool {
	t.Helper()
	doc, err := protocol.ParseJSON([]byte(`{"method":"tools/call","params":{"name":"Bash","arguments":`+arguments+`}}`), protocol.MaxDepth)
	if err != nil {
		t.Fatal(err)
	}
	set := NewSet(must(t, rule))
	if strings.Contains(rule, "deny") {
		set = NewSet(must(t, rule), must(t, "mcp.request"))
	}
	return set.Decide(&Request{Kind: protocol.KindMCPRequest, Payload: doc.Root()}).Allowed
}

// A glob that allows says nothing about a path that climbs, nor about a command that is several.
// One that denies matches as broadly as before.
func TestDecide_UncertainText(t *testing.T) {
	for _, test := range []struct {
		argument, pattern, value string
		allowed                  bool
	}{
		{"file_path", "/repo/docs/**", "/repo/docs/a/b.md", true},
		{"file_path", "/repo/docs/**", "/repo/docs/a..b/..c/...", true},
		{"file_path", "/repo/docs/**", "/repo/docs/../../etc/passwd", false},
		{"file_path", "/repo/docs/**", "/repo/docs/..", false},
		{"file_path", `C:\repo\**`, `C:\repo\..\x`, false},
		{"file_path", "!/etc/**", "/repo/../etc/passwd", false},
		{"file_path", "!/etc/**", "/repo/passwd", true},
		{"file_path", "/repo/../x", "/repo/../x", true},
		{"file_path", "/^.repo/", "/repo/../x", true},
		{"file_path", "**", "/repo/../x", true},
		{"url", "https://h/docs/**", "https://h/docs/%2E%2e/admin", false},
		{"url", "https://h/docs/**", "https://h/docs/..?x", false},
		{"url", "https://h/**", "https://h/?a=1&b=(2);c", true},
		{"command", "git *", "git log --oneline", true},
		{"command", "go test **", "go test ./...", true},
		{"command", "git *", "git log HEAD..main", true},
		{"command", "cat **", "cat ../secret", false},
		{"command", "git *", "git log; rm -rf ~", false},
		{"command", "git log; *", "git log; rm", false},
		{"command", "git log; rm", "git log; rm", true},
		{"command", "*", "git log; rm", true},
	} {
		t.Run(test.argument+" "+test.pattern+" "+test.value, func(t *testing.T) {
			rule := fmt.Sprintf(`{"kind":"mcp.request","payload":{"params":{"arguments":{%q:%s}}}}`, test.argument, quote(test.pattern))
			arguments := fmt.Sprintf(`{%q:%s}`, test.argument, quote(test.value))
			if got := decideCall(t, rule, arguments); got != test.allowed {
				t.Errorf("allowed: %t, want %t", got, test.allowed)
			}
			if strings.HasPrefix(test.pattern, "!") || test.pattern == "git log; *" {
				return
			}
			if deny := strings.TrimSuffix(rule, "}") + `,"deny":true}`; decideCall(t, deny, arguments) {
				t.Error("a rule that denies does not match")
			}
		})
	}
	for _, c := range ";&|<>$`()\n\r" {
		for _, rule := range []string{
			`{"kind":"mcp.request","payload":{"params":{"name":"Bash","arguments":{"command":"git *"}}}}`,
			`{"kind":"mcp.request","payload":{"$.params.arguments.command":"git *"}}`,
			`{"kind":"mcp.request","payload":{"$..command":"git **"}}`,
			`{"kind":"mcp.request","payload":{"**":{"comm*":["ls *","git *"]}}}`,
		} {
			for _, command := range []string{quote("git log " + string(c) + " x"), "[" + quote("git log "+string(c)+" x") + "]"} {
				if decideCall(t, rule, `{"command":`+command+`}`) {
					t.Errorf("%s allows the command %s", rule, command)
				}
			}
		}
	}
}

// A list is allowed by a glob of which each of its elements is an instance, and denied by one.
func TestDecide_ListOfTexts(t *testing.T) {
	for _, test := range []struct {
		argument, pattern, value string
		allowed, denied          bool
	}{
		{"command", "git *", `["git log","git status"]`, true, true},
		{"command", "git *", `["git log","rm -rf /"]`, false, true},
		{"command", "git *", `["rm -rf /","git log"]`, false, true},
		{"command", "git *", `[["git log"],["rm -rf /"]]`, false, true},
		{"command", "git *", `[]`, false, false},
		{"file_path", "/repo/docs/**", `["/repo/docs/a","/repo/docs/b"]`, true, true},
		{"file_path", "/repo/docs/**", `["/repo/docs/a","/etc/passwd"]`, false, true},
	} {
		t.Run(test.pattern+" "+test.value, func(t *testing.T) {
			rule := fmt.Sprintf(`{"kind":"mcp.request","payload":{"params":{"arguments":{%q:%q}}}`, test.argument, test.pattern)
			arguments := fmt.Sprintf(`{%q:%s}`, test.argument, test.value)
			if got := decideCall(t, rule+"}", arguments); got != test.allowed {
				t.Errorf("allowed: %t, want %t", got, test.allowed)
			}
			if got := !decideCall(t, rule+`,"deny":true}`, arguments); got != test.denied {
				t.Errorf("denied: %t, want %t", got, test.denied)
			}
		})
	}
}

// The command of a shell has different names in the arguments of different tools.
func TestDecide_CommandKeys(t *testing.T) {
	for _, key := range []string{"command", "commands", "cmd", "script", "shell_command"} {
		rule := fmt.Sprintf(`{"kind":"mcp.request","payload":{"params":{"arguments":{%q:"git *"}}}}`, key)
		for command, want := range map[string]bool{`"git log"`: true, `["git log"]`: true, `"git log; rm"`: false, `["git log","git log; rm"]`: false} {
			if got := decideCall(t, rule, fmt.Sprintf(`{%q:%s}`, key, command)); got != want {
				t.Errorf("%s: %s is allowed: %t, want %t", key, command, got, want)
			}
		}
	}
}

// A grant of an exact text that a glob does not match is not held.
func TestCovers_UncertainText(t *testing.T) {
	const format = `{"kind":"mcp.request","payload":{"params":{"arguments":{"command":%q}}}}`
	glob := must(t, fmt.Sprintf(format, "git **"))
	for text, want := range map[string]bool{"git log": true, "git log; rm": false, "git -C ../x log": false} {
		work := newWork(&Request{})
		if got := glob.covers(must(t, fmt.Sprintf(format, text)), &work); got != want {
			t.Errorf("git ** covers %s: %t, want %t", text, got, want)
		}
	}
}
