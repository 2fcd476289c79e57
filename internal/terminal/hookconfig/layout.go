package hookconfig

import (
	"encoding/json"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/kit/program"
)

// layout describes the settings of an agent.
type layout struct {
	events []string // in the order of the settings
	// dir and file are the settings of a project, and with a home directory before
	// them those of the user; env names a variable that replaces home and dir.
	dir, file, env string
	// flat is set if an event has a list of handlers, not a list of groups of them.
	flat bool
	// version is set if the settings need a version.
	version bool
	// holds is set if no answer before a call makes the agent ask its user, so the
	// hook waits for the decision.
	holds bool
	// userWaits is set if the agent asks its user only after the hook has ended.
	userWaits bool
	// after is the next step of the user after the installation.
	after string
}

var layouts = map[string]*layout{
	"claude": {
		events: []string{
			"UserPromptSubmit", "MessageDisplay", "PreToolUse", "PermissionRequest", "PostToolUse", "PostToolUseFailure",
			"PermissionDenied", "SubagentStart", "SubagentStop", "Stop", "StopFailure", "SessionEnd",
		},
		dir: ".claude", file: "settings.json", env: "CLAUDE_CONFIG_DIR",
	},
	"codex": {
		events: []string{
			"UserPromptSubmit", "PreToolUse", "PermissionRequest", "PostToolUse", "SubagentStart", "SubagentStop", "Stop", "Interrupt", "SessionEnd",
		},
		dir: ".codex", file: "hooks.json", env: "CODEX_HOME",
		holds: true, userWaits: true,
		after: "open /hooks in Codex to review and trust the hooks; it runs no others",
	},
	"cursor": {
		events: []string{
			"beforeSubmitPrompt", "afterAgentThought", "afterAgentResponse", "preToolUse", "postToolUse", "postToolUseFailure",
			"subagentStart", "subagentStop", "stop", "sessionEnd",
		},
		dir: ".cursor", file: "hooks.json",
		flat: true, version: true, holds: true,
		after: "restart Cursor if it does not show the hooks in its settings",
	},
}

func (h *Hooks) handler(event string) any {
	switch h.Program {
	case "codex":
		return commandHook{Type: "command", Command: h.command(event), Timeout: h.seconds(event), Status: "Asking the space " + h.Space}
	case "cursor":
		out := cursorHook{Command: h.command(event), Timeout: h.seconds(event), FailClosed: h.blocks(event)}
		if h.Wait > 0 && event == "stop" {
			out.LoopLimit = json.RawMessage("null") // Cursor stops after 5 messages otherwise
		}
		return out
	}
	out := requestHook{
		Type: "http", URL: h.url().String(), Headers: map[string]string{"Authorization": "Bearer ${" + h.TokenEnv + "}"},
		Allowed: []string{h.TokenEnv}, Timeout: h.seconds(event),
	}
	if h.blocks(event) {
		out.Failure = "block"
	}
	return out
}

// blocks reports whether a call is blocked if the hook of an event fails.
func (h *Hooks) blocks(event string) bool {
	return !h.FailOpen && slices.Contains(api.HookGates, event)
}

// requestHook is a hook of Claude Code.
type requestHook struct {
	Type    string            `json:"type"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers"`
	Allowed []string          `json:"allowedEnvVars"`
	Timeout int               `json:"timeout"` // seconds
	Failure string            `json:"onFailure,omitempty"`
}

// commandHook is a hook of Codex.
type commandHook struct {
	Type    string `json:"type"`
	Command string `json:"command"`
	Timeout int    `json:"timeout"` // seconds
	Status  string `json:"statusMessage"`
}

// cursorHook is a hook of Cursor.
type cursorHook struct {
	Command    string          `json:"command"`
	Timeout    int             `json:"timeout"` // seconds
	FailClosed bool            `json:"failClosed,omitempty"`
	LoopLimit  json.RawMessage `json:"loop_limit,omitempty"`
}

func (h *Hooks) seconds(event string) int { return int(h.timeout(event) / time.Second) }

// timeout returns how long the agent lets a hook run.
func (h *Hooks) timeout(event string) time.Duration {
	layout, approval := layouts[h.Program], h.Approval
	if approval == 0 {
		approval = defaultApproval
	}
	switch event {
	case "PermissionRequest":
		if layout.userWaits && h.Approval == 0 {
			approval = userApproval
		}
		return approval + 10*time.Second
	case "PreToolUse", "preToolUse":
		if h.Headless || layout.holds {
			return approval + 10*time.Second
		}
		return 30 * time.Second
	case "Stop", "stop":
		return h.Wait + time.Minute
	case "Interrupt", "SessionEnd":
		if h.Program == "codex" {
			return 3 * time.Second // it allows no more
		}
	}
	return 10 * time.Second
}

// command returns the command of an event, which sends it to the gateway. It ends
// before the agent ends it, so that it can report a failure.
func (h *Hooks) command(event string) string {
	limit := h.timeout(event)
	limit -= min(5*time.Second, limit/3).Round(time.Second)
	parts := []string{quote(h.Command), "hooks", "send", quote(h.url().String()), "--timeout", limit.String()}
	if h.TokenFile != "" {
		parts = append(parts, "--token-file", quote(h.TokenFile))
	} else {
		parts = append(parts, "--token-env", h.TokenEnv)
	}
	if h.FailOpen {
		parts = append(parts, "--fail-open")
	}
	return strings.Join(parts, " ")
}

// quote quotes an argument for the shell with which agents start commands.
func quote(text string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-:"
	switch {
	case strings.Trim(text, plain) == "":
		return text
	case runtime.GOOS == "windows":
		return `"` + strings.ReplaceAll(text, `"`, "") + `"` // no file name has a quote
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// path returns the file of the settings.
func (l *layout) path(env *program.Environment, project bool) (string, error) {
	if project {
		return env.Path(filepath.Join(l.dir, l.file)), nil
	}
	if l.env != "" {
		if dir := env.Getenv(l.env); dir != "" {
			return filepath.Join(dir, l.file), nil
		}
	}
	home, err := env.Home()
	if err != nil {
		return "", err
	}
	return filepath.Join(home, l.dir, l.file), nil
}
