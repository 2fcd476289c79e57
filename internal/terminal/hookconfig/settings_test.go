package hookconfig

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/meup-protocol/meup/client/api"
)

func hooksOf(t testing.TB) *Hooks {
	t.Helper()
	u, err := url.Parse("http://127.0.0.1:8080")
	if err != nil {
		t.Fatal(err)
	}
	return &Hooks{Program: "claude", Gateway: u, Space: "lab", TokenEnv: "MEUP_TOKEN"}
}

const own = `{
  "model": "opus",
  "number": 1.0,
  "hooks": {
    "Stop": [
      {
        "hooks": [
          {
            "type": "command",
            "command": "say done"
          }
        ]
      }
    ]
  },
  "last": "<b>"
}
`

// Removing the hooks restores the settings byte for byte.
func TestHooks_AddRemove(t *testing.T) {
	for program, events := range map[string]int{"claude": 12, "codex": 9, "cursor": 10} {
		h := hooksOf(t)
		h.Program, h.Command = program, "/opt/my tools/meup"
		for name, before := range map[string]string{
			"other settings": own, "tabs": strings.ReplaceAll(own, "  ", "\t"), "none": "{}\n", "only a key": "{\n  \"hooks\": {\n    \"Custom\": []\n  }\n}\n",
			"flat": "{\n  \"version\": 1,\n  \"hooks\": {\n    \"stop\": [\n      {\n        \"command\": \"./say done\"\n      }\n    ]\n  }\n}\n",
		} {
			t.Run(program+", "+name, func(t *testing.T) {
				if program == "cursor" && name != "flat" {
					before = strings.Replace(before, "{", "{\n  \"version\": 1,", 1)
					before = strings.Replace(before, ",}", "\n}", 1)
					if name == "tabs" {
						before = strings.ReplaceAll(before, "  ", "\t")
					}
				}
				with, err := h.Add([]byte(before))
				if err != nil {
					t.Fatal(err)
				}
				if found, all, err := installed(with, program, h.Gateway, "lab"); found != events || !all || err != nil {
					t.Error(found, all, err)
				}
				again, err := h.Add(with)
				if err != nil || string(again) != string(with) {
					t.Errorf("added twice: %v\n%s", err, Diff(string(with), string(again)))
				}
				for _, other := range layoutNames {
					if other == program {
						continue
					}
					if same, err := remove(with, other, h.Gateway, "lab"); err != nil || string(same) != string(with) {
						t.Errorf("removed another program: %v\n%s", err, Diff(string(with), string(same)))
					}
				}
				other, err := remove(with, program, h.Gateway, "attic")
				if err != nil || string(other) != string(with) {
					t.Errorf("removed another space: %v\n%s", err, Diff(string(with), string(other)))
				}
				after, err := remove(with, program, h.Gateway, "lab")
				if err != nil || string(after) != before {
					t.Errorf("%v\n%s", err, Diff(before, string(after)))
				}
			})
		}
	}
}

var layoutNames = []string{"claude", "codex", "cursor"}

// The commands of agents that send no requests themselves.
func TestHooks_Commands(t *testing.T) {
	for _, test := range []struct {
		name, program, event, want string
		change                     func(*Hooks)
	}{
		{"Codex", "codex", "PermissionRequest", `{"type":"command","command":"/usr/bin/meup hooks send http://127.0.0.1:8080/api/spaces/lab/hooks/codex --timeout 1m5s --token-env MEUP_TOKEN","timeout":70,"statusMessage":"Asking the space lab"}`, func(*Hooks) {}},
		{"a call of Codex", "codex", "PreToolUse", `{"type":"command","command":"/usr/bin/meup hooks send http://127.0.0.1:8080/api/spaces/lab/hooks/codex --timeout 9m55s --token-env MEUP_TOKEN","timeout":600,"statusMessage":"Asking the space lab"}`, func(*Hooks) {}},
		{"the end of Codex", "codex", "SessionEnd", `{"type":"command","command":"/usr/bin/meup hooks send http://127.0.0.1:8080/api/spaces/lab/hooks/codex --timeout 2s --token-env MEUP_TOKEN","timeout":3,"statusMessage":"Asking the space lab"}`, func(*Hooks) {}},
		{"quoted, with a file", "codex", "PreToolUse", `{"type":"command","command":"'/my '\\''tools/meup' hooks send 'http://127.0.0.1:8080/api/spaces/lab/hooks/codex?approval=60&fail=open&prompts=chat' --timeout 1m5s --token-file '/my token' --fail-open","timeout":70,"statusMessage":"Asking the space lab"}`, func(h *Hooks) {
			h.Command, h.TokenFile, h.Approval, h.Prompts, h.FailOpen = "/my 'tools/meup", "/my token", time.Minute, true, true
		}},
		{"Cursor", "cursor", "postToolUse", `{"command":"/usr/bin/meup hooks send http://127.0.0.1:8080/api/spaces/lab/hooks/cursor --timeout 7s --token-env MEUP_TOKEN","timeout":10}`, func(*Hooks) {}},
		{"a call of Cursor", "cursor", "preToolUse", `{"command":"/usr/bin/meup hooks send http://127.0.0.1:8080/api/spaces/lab/hooks/cursor --timeout 9m55s --token-env MEUP_TOKEN","timeout":600,"failClosed":true}`, func(*Hooks) {}},
		{"a call of Cursor that may fail", "cursor", "preToolUse", `{"command":"/usr/bin/meup hooks send 'http://127.0.0.1:8080/api/spaces/lab/hooks/cursor?fail=open' --timeout 9m55s --token-env MEUP_TOKEN --fail-open","timeout":600}`, func(h *Hooks) { h.FailOpen = true }},
		{"a waiting Cursor", "cursor", "stop", `{"command":"/usr/bin/meup hooks send 'http://127.0.0.1:8080/api/spaces/lab/hooks/cursor?wait=60' --timeout 1m55s --token-env MEUP_TOKEN","timeout":120,"loop_limit":null}`, func(h *Hooks) { h.Wait = time.Minute }},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := hooksOf(t)
			h.Program, h.Command = test.program, "/usr/bin/meup"
			test.change(h)
			var got strings.Builder
			e := json.NewEncoder(&got)
			e.SetEscapeHTML(false)
			if err := e.Encode(h.handler(test.event)); err != nil || strings.TrimSpace(got.String()) != test.want {
				t.Errorf("%v %s", err, got.String())
			}
			if u := addressOf(json.RawMessage(got.String())); u == nil || u.Path != "/api/spaces/lab/hooks/"+test.program {
				t.Errorf("its address is %v", u)
			}
		})
	}
}

func TestHooks_AddChanged(t *testing.T) {
	h := hooksOf(t)
	first, err := h.Add([]byte(own))
	if err != nil {
		t.Fatal(err)
	}
	h.Prompts, h.Headless, h.FailOpen, h.Wait, h.Approval = true, true, true, 5*time.Minute, time.Hour
	second, err := h.Add(first)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Hooks map[string][]struct{ Hooks []requestHook }
	}
	if err := json.Unmarshal(second, &got); err != nil {
		t.Fatal(err)
	}
	const query = "?approval=3600&fail=open&headless=true&prompts=chat&wait=300"
	for event, timeout := range map[string]int{"PreToolUse": 3610, "PermissionRequest": 3610, "Stop": 360, "SessionEnd": 10} {
		groups := got.Hooks[event]
		last := groups[len(groups)-1].Hooks[0]
		if last.URL != "http://127.0.0.1:8080/api/spaces/lab/hooks/claude"+query || last.Timeout != timeout || last.Headers["Authorization"] != "Bearer ${MEUP_TOKEN}" || last.Allowed[0] != "MEUP_TOKEN" {
			t.Errorf("%s: %+v", event, last)
		}
		if last.Failure != "" {
			t.Errorf("%s: onFailure is %q of hooks that may fail", event, last.Failure)
		}
	}
	if n := len(got.Hooks["Stop"]); n != 2 {
		t.Errorf("%d hooks of Stop", n)
	}
}

// A hook that gates a call blocks it if the hook fails, unless the user chose otherwise.
func TestHooks_Failure(t *testing.T) {
	for _, open := range []bool{false, true} {
		h := hooksOf(t)
		h.FailOpen = open
		for _, event := range layouts["claude"].events {
			want := ""
			if !open && (event == "PreToolUse" || event == "PermissionRequest") {
				want = "block"
			}
			if got := h.handler(event).(requestHook).Failure; got != want {
				t.Errorf("%s, fail open %t: onFailure is %q, want %q", event, open, got, want)
			}
		}
	}
}

// Hooks of a space in a group with others are removed alone.
func TestRemove_FromGroup(t *testing.T) {
	h := hooksOf(t)
	const settings = `{"hooks":{"Stop":[{"matcher":"","hooks":[{"type":"command","command":"a"},{"type":"http","url":"http://127.0.0.1:8080/api/spaces/lab/hooks/claude?wait=5"}]},{"hooks":7},8]}}`
	got, err := remove([]byte(settings), "claude", h.Gateway, "lab")
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, line := range lines(string(got)) {
		text.WriteString(strings.TrimSpace(line))
	}
	if want := `{"hooks": {"Stop": [{"matcher": "","hooks": [{"type": "command","command": "a"}]},{"hooks": 7},8]}}`; text.String() != want {
		t.Errorf("%s", text.String())
	}
}

func TestHooks_Refusals(t *testing.T) {
	for _, settings := range []string{"[]", "{", `{"a":1,"a":2}`, `{"hooks":[]}`, `{"hooks":{"Stop":{}}}`, "{} // comment"} {
		t.Run(settings, func(t *testing.T) {
			if got, err := hooksOf(t).Add([]byte(settings)); err == nil {
				t.Errorf("%s", got)
			}
		})
	}
}

func TestDiff(t *testing.T) {
	for _, test := range []struct{ name, before, after, want string }{
		{"equal", "a\n", "a\n", ""},
		{"added", "a\nb\nc\nd\n", "a\nb\nx\nc\nd\n", "  a\n  b\n+ x\n  c\n  d\n"},
		{"removed", "a\nx\nb\n", "a\nb\n", "  a\n- x\n  b\n"},
		{"changed twice", "a\n1\nb\n2\nc\n", "a\n3\nb\n4\nc\n", "  a\n- 1\n+ 3\n  b\n- 2\n+ 4\n  c\n"},
		{"new", "", "a\n", "+ a\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := Diff(test.before, test.after); got != test.want {
				t.Errorf("%q", got)
			}
		})
	}
}

func FuzzAddRemove(f *testing.F) {
	for _, seed := range []string{
		own, "{}", `{"hooks":{"Stop":[{"hooks":[{"type":"http","url":"http://127.0.0.1:8080/api/spaces/lab/hooks/claude"}]}]}}`, `{"hooks":{"PreToolUse":[]}}`,
		`{"version":1,"hooks":{"stop":[{"command":"meup hooks send http://127.0.0.1:8080/api/spaces/lab/hooks/cursor"}]}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, settings []byte) {
		for _, program := range layoutNames {
			h := hooksOf(t)
			h.Program, h.Command = program, "meup"
			with, err := h.Add(settings)
			if err != nil {
				return
			}
			if _, all, err := installed(with, program, h.Gateway, h.Space); !all || err != nil {
				t.Fatalf("%v %v\n%s", all, err, with)
			}
			after, err := remove(with, program, h.Gateway, h.Space)
			if err != nil {
				t.Fatalf("%v\n%s", err, with)
			}
			if found, _, err := installed(after, program, h.Gateway, h.Space); found != 0 || err != nil {
				t.Fatalf("%d %v\n%s", found, err, after)
			}
		}
	})
}

// TestTarget_CheckOlder: a gateway that does not know the question of status accepts the token.
func TestTarget_CheckOlder(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/session" {
			_, _ = w.Write([]byte(`{"participant":"claude","spaces":[{"name":"lab","participant":"claude"}],"globs":[]}`))
			return
		}
		_, _ = w.Write([]byte("{}"))
	}))
	defer server.Close()
	gateway, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	c, err := api.New(api.Options{URL: server.URL, Token: "t"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	target := Target{Gateway: gateway, Space: "lab", Token: "t", API: c}
	who, s, err := target.check(t.Context(), address("claude", gateway, "lab"))
	if err != nil || who != "claude" || s != nil {
		t.Errorf("%s %+v %v", who, s, err)
	}
}
