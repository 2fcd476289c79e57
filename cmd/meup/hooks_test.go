package main

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/kit/program"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// hooks runs meup hooks with an input.
func hooks(t *testing.T, input string, args ...string) (string, error) {
	t.Helper()
	root := newRoot(program.Process())
	var out bytes.Buffer
	root.SetArgs(append([]string{"hooks"}, args...))
	root.SetIn(strings.NewReader(input))
	root.SetOut(&out)
	root.SetErr(&out)
	err := root.ExecuteContext(t.Context())
	return out.String(), err
}

func TestHooks(t *testing.T) {
	g := meuptest.Start(t, meuptest.Config)
	dir := t.TempDir()
	path := filepath.Join(dir, ".claude", "settings.json")
	t.Setenv("HOME", dir)
	t.Setenv("CLAUDE_CONFIG_DIR", "")
	t.Setenv("XDG_CONFIG_HOME", dir)
	t.Setenv("MEUP_URL", g.HTTP())
	t.Setenv("MEUP_SPACE", "lab")
	t.Setenv("MEUP_TOKEN", "alice-token")
	for _, test := range []struct{ name, input, want, failure string }{
		{"status claude", "", "", "not installed in " + path},
		{"uninstall claude", "", "nothing to change", ""},
		{"install emacs", "", "", "expected the name of an agent: claude"},
		{"install claude", "", "Write it?", "not confirmed; --yes writes it"},
		{"install claude", "n\n", "+ ", "not written"},
		{"install claude", "y\n", "\"Authorization\": \"Bearer ${MEUP_TOKEN}\"\n", ""},
		{"status claude", "", "accepts them from alice in the space lab", ""},
		{"install claude", "", "nothing to change", ""},
		{"uninstall claude --yes", "", "- ", ""},
		{"status claude", "", "", "not installed in " + path},
	} {
		t.Run(test.name, func(t *testing.T) {
			out, err := hooks(t, test.input, strings.Fields(test.name)...)
			if !strings.Contains(out, test.want) || (err == nil) != (test.failure == "") || err != nil && !strings.Contains(err.Error(), test.failure) {
				t.Errorf("%v\n%s", err, out)
			}
			if strings.Contains(out, "alice-token") {
				t.Error("the output has the token")
			}
		})
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "{}\n" {
		t.Errorf("%v %s", err, text)
	}
	if info, err := os.Stat(path); err != nil {
		t.Error(err)
	} else if info.Mode().Perm() != 0o600 {
		t.Error(info.Mode())
	}
	t.Run("a project, by a link", func(t *testing.T) {
		project := t.TempDir()
		t.Chdir(project)
		real := filepath.Join(project, "real.json")
		if err := os.WriteFile(real, []byte(`{"model":"opus"}`), 0o640); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(".claude", 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(real, ".claude/settings.json"); err != nil {
			t.Fatal(err)
		}
		if out, err := hooks(t, "", "install", "claude", "--project", "--yes"); err != nil {
			t.Fatal(err, out)
		}
		text, err := os.ReadFile(real)
		if info, statErr := os.Lstat(".claude/settings.json"); err != nil || statErr != nil || info.Mode()&os.ModeSymlink == 0 || !strings.Contains(string(text), "/hooks/claude") || !strings.Contains(string(text), `"model": "opus"`) {
			t.Errorf("%v %v\n%s", err, statErr, text)
		}
	})
	t.Run("a token that is not valid", func(t *testing.T) {
		if out, err := hooks(t, "", "install", "claude", "--yes"); err != nil {
			t.Fatal(err, out)
		}
		t.Setenv("MEUP_TOKEN", "no-such-token")
		if out, err := hooks(t, "", "status", "claude"); err == nil || !strings.Contains(err.Error(), "does not know this token") {
			t.Errorf("%v\n%s", err, out)
		}
	})
}

// The settings name the space of the hooks: status and uninstall need no other address, and
// uninstall no token.
func TestHooks_SpaceOfTheSettings(t *testing.T) {
	g := meuptest.Start(t, meuptest.Config)
	for _, agent := range []string{"claude", "codex", "cursor"} {
		t.Run(agent, func(t *testing.T) {
			t.Setenv("HOME", t.TempDir())
			t.Setenv("XDG_CONFIG_HOME", t.TempDir())
			t.Setenv("CLAUDE_CONFIG_DIR", "")
			t.Setenv("CODEX_HOME", "")
			t.Setenv("MEUP_URL", "")
			t.Setenv("MEUP_SPACE", "")
			t.Setenv("MEUP_TOKEN", "alice-token")
			if out, err := hooks(t, "", "status", agent); err == nil {
				t.Errorf("not installed: %s", out)
			}
			for _, space := range []string{"other", "lab"} {
				if out, err := hooks(t, "", "install", agent, "--yes", "--gateway", g.HTTP(), "--space", space); err != nil {
					t.Fatal(err, out)
				}
			}
			for _, verb := range []string{"status", "uninstall"} {
				if out, err := hooks(t, "", verb, agent); err == nil || !strings.Contains(err.Error(), "--space other, or") {
					t.Errorf("of two spaces: %v %s", err, out)
				}
			}
			if out, err := hooks(t, "", "uninstall", agent, "--yes", "--space", "other"); err != nil {
				t.Fatal(err, out)
			}
			if out, err := hooks(t, "", "status", agent); err != nil || !strings.Contains(out, "from alice in the space lab") {
				t.Errorf("%v %s", err, out)
			}
			t.Setenv("MEUP_TOKEN", "")
			if out, err := hooks(t, "", "uninstall", agent, "--yes"); err != nil || !strings.Contains(out, "written") {
				t.Errorf("%v %s", err, out)
			}
		})
	}
}

// Before an installation, no gateway and no token is needed to say so.
func TestHooks_StatusBefore(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"CLAUDE_CONFIG_DIR", "CODEX_HOME", "MEUP_URL", "MEUP_SPACE", "MEUP_TOKEN"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", dir)
	t.Setenv("XDG_CONFIG_HOME", dir)
	for _, agent := range []string{"claude", "codex", "cursor"} {
		t.Run(agent, func(t *testing.T) {
			_, err := hooks(t, "", "status", agent)
			var usage *program.UsageError
			var exit *program.ExitError
			if err == nil || !strings.Contains(err.Error(), "not installed in "+dir) || !strings.Contains(err.Error(), "run meup hooks install "+agent) || errors.As(err, &usage) || errors.As(err, &exit) && exit.Code != program.ExitFailed {
				t.Error(err)
			}
		})
	}
}

// status says whose token it is, of those that the settings and the user name, and what becomes of its
// calls. It fails if each is denied.
func TestHooks_StatusOfParticipant(t *testing.T) {
	g := meuptest.Start(t, `
spaces:
  lab:
    participants:
      alice: {token: alice-token, capabilities: ["*"]}
      claude: {token: claude-token, capabilities: [chat, "reasoning/*", mcp.response, mcp.proposal, mcp.withdraw, {kind: mcp.request, to: claude, payload: {params: {name: Read}}}]}
      proposer: {token: proposer-token, capabilities: [chat, "reasoning/*", mcp.withdraw, mcp.proposal]}
      maker: {token: maker-token, capabilities: ["*", {kind: mcp.proposal, deny: true}, {kind: mcp.request, payload: {params: {name: Bash}}, deny: true}]}
      viewer: {token: viewer-token, capabilities: [chat, {kind: mcp.request, to: files}]}
      denied: {token: denied-token, capabilities: ["*", {kind: "mcp.*", deny: true}]}
`)
	dir := t.TempDir()
	file := filepath.Join(dir, "token")
	if err := os.WriteFile(file, []byte("claude-token\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"HOME": dir, "CLAUDE_CONFIG_DIR": "", "CODEX_HOME": "", "XDG_CONFIG_HOME": dir, "MEUP_URL": g.HTTP(), "MEUP_SPACE": "lab", "MEUP_TOKEN": "alice-token", "CLAUDE_TOKEN": ""} {
		t.Setenv(name, value)
	}
	t.Chdir(t.TempDir())
	for _, args := range []string{"install claude --yes --token-env CLAUDE_TOKEN", "install codex --yes --token-file " + file, "install cursor --yes --claims --token-file " + file, "install codex --project --yes --token-file " + file} {
		t.Setenv("CLAUDE_TOKEN", "claude-token") // install checks it
		if out, err := hooks(t, "", strings.Fields(args)...); err != nil || strings.Contains(out, "warning") {
			t.Fatal(err, out)
		}
	}
	for _, c := range []struct {
		name, args, token string // token: of CLAUDE_TOKEN
		want, failure     string
	}{
		{"the variable of the settings", "claude", "claude-token", "accepts them from claude in the space lab\ncalls of claude: some are made without a question, the others are proposed\n", ""},
		{"the file of the settings", "codex", "", "accepts them from claude in", ""},
		{"the variable of the settings is not set", "claude", "", "warning: the hooks take their token from CLAUDE_TOKEN, which is not set here; this is about the token of this command, which may be another one\nthe gateway accepts them from alice", ""},
		{"the file of a project's settings", "codex --project", "", "warning: the hooks of this project take their token from " + file + "; this is about the token of this command, which may be another one: --token-file and --token-env name it\nthe gateway accepts them from alice", ""},
		{"that of the user", "codex --token-env MEUP_TOKEN", "", "calls of alice: some are left to the agent's own rules, the others are proposed\n", ""},
		{"proposes all", "claude", "proposer-token", "calls of proposer: the others are proposed\nmeup: warning: results of calls are not shown: proposer lacks the capability mcp.response\n", ""},
		{"claims without the capability", "cursor", "", "warning: files are not claimed: claude lacks the capability claim\n", ""},
		{"proposes none", "claude", "maker-token", "calls of maker: some are left to the agent's own rules, the others are denied\n", ""},
		{"may do neither", "claude", "viewer-token", "accepts them from viewer", "each call is denied: viewer may neither make nor propose calls (mcp.request to viewer, mcp.proposal); is this the token of another participant?"},
		{"is denied both", "claude", "denied-token", "accepts them from denied", "each call is denied: denied may neither"},
		{"paused", "claude", "claude-token", "accepts them from claude", "each call is denied: claude is paused"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("CLAUDE_TOKEN", c.token)
			if c.name == "paused" {
				pause := protocol.Envelope{Kind: protocol.KindParticipantPause, To: []protocol.ParticipantID{"claude"}, Payload: []byte(`{}`)}
				if _, err := g.API(t, "alice").Send(t.Context(), "lab", pause); err != nil {
					t.Fatal(err)
				}
			}
			out, err := hooks(t, "", append([]string{"status"}, strings.Fields(c.args)...)...)
			if !strings.Contains(out, c.want) || (err == nil) != (c.failure == "") || err != nil && !strings.Contains(err.Error(), c.failure) {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// The settings of a project may be another person's: the gateway that they name gets no token that the
// user has not meant for it.
func TestHooks_StatusOfStrangersProject(t *testing.T) {
	tokens := make(chan string, 10)
	stranger := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { tokens <- r.Header.Get("Authorization") }))
	defer stranger.Close()
	g := meuptest.Start(t, meuptest.Config)
	for name, value := range map[string]string{"HOME": t.TempDir(), "XDG_CONFIG_HOME": t.TempDir(), "CLAUDE_CONFIG_DIR": "", "MEUP_URL": "", "MEUP_SPACE": "", "MEUP_TOKEN": "alice-token"} {
		t.Setenv(name, value)
	}
	t.Chdir(t.TempDir())
	if out, err := hooks(t, "", "install", "claude", "--project", "--yes", "--gateway", g.HTTP(), "--space", "lab"); err != nil {
		t.Fatal(err, out)
	}
	file := filepath.Join(".claude", "settings.json")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := hooks(t, "", "status", "claude", "--project", "--gateway", g.HTTP()); err != nil || !strings.Contains(out, "from alice in the space lab") {
		t.Errorf("%v %s", err, out)
	}
	if err := os.WriteFile(file, bytes.ReplaceAll(text, []byte(g.HTTP()), []byte(stranger.URL)), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := hooks(t, "", "status", "claude", "--project")
	if err == nil || !strings.Contains(err.Error(), "no gateway") {
		t.Errorf("%v %s", err, out)
	}
	config := filepath.Join(os.Getenv("XDG_CONFIG_HOME"), "meup", "config.yaml")
	if err := errors.Join(os.Mkdir(filepath.Dir(config), 0o700), os.WriteFile(config, []byte("profiles: {default: {gateway: \""+g.HTTP()+"\"}}"), 0o600)); err != nil {
		t.Fatal(err)
	}
	out, err = hooks(t, "", "status", "claude", "--project")
	if err == nil || !strings.Contains(err.Error(), "it has hooks of "+stranger.URL) {
		t.Errorf("%v %s", err, out)
	}
	if len(tokens) > 0 {
		t.Errorf("the stranger got %q", <-tokens)
	}
}

// The command that agents start for an event: its failures block a call, unless the settings
// have --fail-open, and let the agent go on after all other events.
func TestHooks_Send(t *testing.T) {
	g := meuptest.Start(t, meuptest.Config)
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("MEUP_TOKEN", "")
	t.Setenv("SPACE_TOKEN", "alice-token")
	at := g.HTTP() + "/api/spaces/lab/hooks/codex"
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/slow/") {
			_, _ = io.Copy(io.Discard, r.Body) // a server notices the end of the client after the body
			<-r.Context().Done()
		}
		if strings.Contains(r.URL.Path, "/moved/") {
			http.Redirect(w, r, at, http.StatusTemporaryRedirect)
			return
		}
		_, _ = w.Write([]byte("<html>"))
	}))
	defer other.Close()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("alice-token\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const prompt = `{"hook_event_name":"UserPromptSubmit","session_id":"s1","turn_id":"t1","prompt":"hello"}`
	for _, test := range []struct{ name, event, args, out, failure string }{
		{"an event", prompt, at + " --token-env SPACE_TOKEN", "{}\n", ""},
		{"with a file", prompt, at + " --token-file " + file, "{}\n", ""},
		{"of another agent", `{"hook_event_name":"beforeSubmitPrompt","conversation_id":"c1","prompt":"hello"}`, g.HTTP() + "/api/spaces/lab/hooks/cursor --token-env SPACE_TOKEN", "{\"continue\":true}\n", ""},
		{"no token", prompt, at, "", "no token"},
		{"an unset variable", prompt, at + " --token-env NONE_SUCH", "", "NONE_SUCH is not set"},
		{"a wrong token", prompt, at + " --token-env HOME", "", "does not know this token"},
		{"no gateway", prompt, "http://127.0.0.1:1/api/spaces/lab/hooks/codex --token-env SPACE_TOKEN", "", "refused"},
		{"no event", "", at + " --token-env SPACE_TOKEN --timeout 0s", "", "deadline"},
		{"too large", strings.Repeat(" ", 1<<20+1), at + " --token-env SPACE_TOKEN", "", "more than 1048576 bytes"},
		{"no gateway but another server", prompt, other.URL + "/api/spaces/lab/hooks/codex --token-env SPACE_TOKEN", "", "no JSON object"},
		{"a redirect", prompt, other.URL + "/moved/api/spaces/lab/hooks/codex --token-env SPACE_TOKEN", "", "HTTP status 307"},
		{"no answer", prompt, other.URL + "/slow/api/spaces/lab/hooks/codex --timeout 1ms --token-env SPACE_TOKEN", "", "deadline"},
		{"another address", prompt, g.HTTP() + "/api/spaces/lab/hooks/emacs --token-env SPACE_TOKEN", "", "one of claude, codex, cursor"},
		{"no address", prompt, "--token-env SPACE_TOKEN", "", "expected the URL"},
		{"an unknown flag", prompt, at + " --tomorrow", "", "unknown flag"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("HOME", "no-such-token")
			for _, open := range []bool{false, true} {
				args := []string{"send"}
				if open {
					args = append(args, "--fail-open")
				}
				want := 1
				if !open && (test.event == "" || strings.HasPrefix(test.event, " ")) { // it may be a call
					want = 2
				}
				args = append(args, strings.Fields(test.args)...)
				out, err := hooks(t, test.event, args...)
				for timeout := 4 * time.Millisecond; timeout < testkit.Patience && test.name == "no answer" && err != nil && strings.Contains(err.Error(), "read the event"); timeout *= 4 {
					out, err = hooks(t, test.event, append(args, "--timeout", timeout.String())...) // it expired before the event was read
				}
				if test.failure == "" {
					if err != nil || out != test.out {
						t.Errorf("%v %q", err, out)
					}
					continue
				}
				wantExit(t, err, want, test.failure)
				if strings.Contains(out, "{") {
					t.Errorf("an answer: %s", out)
				}
			}
			for _, gate := range []string{"PreToolUse", "PermissionRequest", "preToolUse", "beforeShellExecution", "beforeMCPExecution"} {
				if test.event != prompt || test.failure == "" {
					break
				}
				event := strings.Replace(prompt, "UserPromptSubmit", gate, 1)
				for _, args := range [][]string{{"send"}, {"send", "--fail-closed"}} {
					out, err := hooks(t, event, append(args, strings.Fields(test.args)...)...)
					if test.name != "a wrong token" {
						wantExit(t, err, 2, test.failure)
					} else if err != nil || !strings.Contains(out, `"deny"`) || !strings.Contains(out, test.failure) {
						t.Errorf("%v %s, want a denial of the gateway", err, out)
					}
				}
				_, err := hooks(t, event, append([]string{"send", "--fail-open"}, strings.Fields(test.args)...)...)
				wantExit(t, err, 1, test.failure)
			}
		})
	}
	for _, test := range []struct {
		name, event string
		want        int
	}{
		{"a large result", `{"tool_response":"` + strings.Repeat("x", 1<<20) + `","hook_event_name":"PostToolUse"}`, 1},
		{"a large call", `{"tool_input":{"hook_event_name":"Stop","command":"` + strings.Repeat("x", 1<<20) + `"},"hook_event_name":"PreToolUse"}`, 2},
		{"a call that is cut", `{"tool_input":{"hook_event_name":"Stop","command":"` + strings.Repeat("x", 1<<20), 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := hooks(t, test.event, "send", at, "--token-env", "SPACE_TOKEN")
			wantExit(t, err, test.want, "more than 1048576 bytes")
		})
	}
}

// The time of send includes that of its input, which an agent may leave open.
func TestHooks_SendOpenInput(t *testing.T) {
	for _, test := range []struct {
		args string
		want int
	}{{"", 2}, {" --fail-open", 1}} {
		in, w := io.Pipe()
		root := newRoot(program.Process())
		root.SetArgs(strings.Fields("hooks send http://127.0.0.1:1/api/spaces/lab/hooks/codex --timeout 1ms" + test.args))
		root.SetIn(in)
		root.SetOut(io.Discard)
		root.SetErr(io.Discard)
		wantExit(t, root.ExecuteContext(t.Context()), test.want, "read the event: context deadline exceeded")
		_ = w.Close() // ends the read
	}
}

// wantExit fails unless an error has an exit code and a text.
func wantExit(t *testing.T, err error, code int, text string) {
	t.Helper()
	var coded *program.ExitError
	if !errors.As(err, &coded) || coded.Code != code || !strings.Contains(err.Error(), text) {
		t.Errorf("%v, want the exit code %d and the text %q", err, code, text)
	}
}

func TestHooks_OtherAgents(t *testing.T) {
	g := meuptest.Start(t, meuptest.Config)
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	t.Setenv("CODEX_HOME", "")
	t.Setenv("XDG_CONFIG_HOME", dir)
	t.Setenv("MEUP_URL", g.HTTP())
	t.Setenv("MEUP_SPACE", "lab")
	t.Setenv("MEUP_TOKEN", "alice-token")
	for _, test := range []struct{ name, want, failure string }{
		{"status codex", "", "not installed in " + filepath.Join(dir, ".codex", "hooks.json")},
		{"install codex --yes --headless", "", "--headless is for claude"},
		{"install claude --yes --command meup", "", "--command is for Codex and Cursor"},
		{"install codex --yes --command meup --prompts", "\"command\": \"meup hooks send '" + g.HTTP() + "/api/spaces/lab/hooks/codex?prompts=chat'", ""},
		{"status codex", "accepts them from alice in the space lab", ""},
		{"install cursor --yes", "\"version\": 1", ""},
		{"status cursor", "installed in " + filepath.Join(dir, ".cursor", "hooks.json"), ""},
		{"uninstall codex --yes", "- ", ""},
		{"status codex", "", "not installed"},
		{"status cursor", "accepts them", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			out, err := hooks(t, "", strings.Fields(test.name)...)
			if !strings.Contains(out, test.want) || (err == nil) != (test.failure == "") || err != nil && !strings.Contains(err.Error(), test.failure) {
				t.Errorf("%v\n%s", err, out)
			}
			if strings.Contains(out, "alice-token") {
				t.Error("the output has the token")
			}
		})
	}
}
