package review

import (
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/protocol"
)

// Errors have the line, the column and the way out.
func TestParseRules_Faults(t *testing.T) {
	for text, want := range map[string]string{
		"":                                      `r.yaml: expected a list of rules, such as "- approve: {payload: {params: {name: read_file}}}"`,
		"approve: x":                            `r.yaml: expected a list of rules, such as "- approve: {payload: {params: {name: read_file}}}"`,
		"- approve: {":                          "r.yaml:1:12: not YAML: could not find flow mapping end token '}'",
		"- x":                                   "r.yaml:1:3: expected approve, ask or reject, with a pattern",
		"- reason: x":                           "r.yaml:1:9: a rule has approve, ask or reject, with a pattern",
		"- approve: []":                         "r.yaml:1:10: a rule has approve, ask or reject, with a pattern",
		"- approve: mcp.*":                      "r.yaml:1:12: a pattern has payload, to or context, as a capability for mcp.request",
		"- approve: {to: a}\n  reject: {to: b}": "r.yaml:2:3: a rule has only one of approve, ask and reject",
		"- ask: {to: a}\n  approve: {to: b}":    "r.yaml:2:3: a rule has only one of approve, ask and reject",
		"- approve: {to: a}\n  reson: x":        `r.yaml:2:3: unknown key "reson"; a rule has approve, ask or reject, and reason`,
		"- approve: {to: a}\n  reason: [x]":     "r.yaml:2:11: reason: expected a text",
		"- approve:\n    - {to: a}\n    - {kind: chat}":                     "r.yaml:3:7: it matches no call: leave kind out, or write kind: mcp.request",
		"- approve: {to: a, deny: true}":                                    "r.yaml:1:12: leave deny out: reject denies",
		"- approve: {to: a}\n  reason: " + strings.Repeat("x", maxReason+1): "r.yaml:2:11: reason: at most 500 characters",
		"- approve: {paylod: 1}":                                            "r.yaml:1:21: capability at /paylod: unknown key; a capability has kind, payload, to, context, claims and deny",
		"- reject:\n    payload:\n      params:\n        arguments:\n          command: {$shell: {comands: [ls]}}": `r.yaml:5:39: capability at /payload/params/arguments/command/$shell/comands: it is unknown; use commands, write, read, env`,
		"- approve: {payload: {params: {name: Bash, arguments: {command: 'git *'}}}}":                              `r.yaml:1:12: "git *" is compared as text, which may mean something else to the tool; write command: {$shell: {commands: ["git **"]}}, or {$text: …} if text is meant`,
		"- approve: {to: *x}":             "r.yaml:1:12: a pattern has payload, to or context, as a capability for mcp.request",
		"- approve: {payload: {name: x}}": "r.yaml:1:12: the payload of mcp.request has no field name; does it belong inside params?",
	} {
		_, err := ParseRules("r.yaml", []byte(text))
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
	}
	for name, text := range map[string]string{"bytes": strings.Repeat("#", MaxRulesFile+1), "patterns": strings.Repeat("- approve: {to: a}\n- ask: {to: b}\n", maxRules/2+1)} {
		_, err := ParseRules("r.yaml", []byte(text))
		if err == nil || !strings.Contains(err.Error(), "more than") {
			t.Errorf("too many %s: %v", name, err)
		}
	}
}

// Rejecting comes first, then asking; both need what can be seen in a command. Approving needs certainty.
func TestRules(t *testing.T) {
	rules, err := ParseRules("r.yaml", []byte(`
- approve: {payload: {params: {arguments: {command: {$shell: {commands: ["make test", "git push", "npx *"], read: {preset: true, below: .}}}}}}}
  reason: tests
- approve: {payload: {params: {arguments: {file_path: {$path: {below: .}}}}}}
- reject:
    - {payload: {params: {arguments: {command: {$shell: {commands: ["rm -r", "git push -f", "sudo"]}}}}}}
    - {payload: {params: {arguments: {file_path: {$path: {below: [secrets, "/etc"]}}}}}}
  reason: no
- ask:
    - {payload: {params: {arguments: {command: {$shell: {commands: ["git push", "npx cloud"]}}}}}}
    - {payload: {params: {arguments: &ci {file_path: {$path: {below: ci}}}}}}
    - {payload: {params: {name: other, arguments: *ci}}}
    - {payload: {params: {arguments: {"**": "**curl**"}}}}
    - {payload: {params: {arguments: {"**": "/(?i)verify *= *false/"}}}}
  reason: people
`))
	if err != nil {
		t.Fatal(err)
	}
	const approve, reject, abstain, people = protocol.OpinionApprove, protocol.OpinionReject, protocol.OpinionAbstain, "people"
	for arguments, want := range map[string]string{
		`{"command":"make test"}`:                             approve,
		`{"command":"ls src"}`:                                approve,
		`{"command":"npx tool"}`:                              approve,
		`{"command":"make test; rm -r x"}`:                    reject,
		`{"command":"sudo make test"}`:                        reject,
		`{"command":"git push -f"}`:                           reject,
		`{"command":"git push"}`:                              people,
		`{"command":"git push && make test"}`:                 people,
		`{"command":"npx cloud"}`:                             people,
		`{"command":"git push; sudo x"}`:                      reject,
		`{"command":["rm","-r","x"]}`:                         reject,
		`{"COMMAND":"rm -r x"}`:                               reject,
		`{"command":"make other"}`:                            abstain,
		`{"command":"npx $x"}`:                                abstain,
		`{"command":"cat /etc/passwd"}`:                       abstain,
		`{"command":"ls ("}`:                                  abstain,
		`{"command":"eval ls"}`:                               abstain,
		`{"command":7}`:                                       abstain,
		`{"command":{"x":"rm -r y"}}`:                         abstain,
		`{"command":"make test","file_path":"a"}`:             approve,
		`{"file_path":"src/a"}`:                               approve,
		`{"file_path":"src/../Secrets/a"}`:                    reject,
		`{"file_path":"../x"}`:                                abstain,
		`{"file_path":"src/../CI/a"}`:                         people,
		`{"file_path":"a","old_string":"Curl"}`:               approve,
		`{"file_path":"a","content":"curl"}`:                  people,
		`{"file_path":"a","content":"x\ncurl https://a/b\n"}`: people,
		`{"file_path":"a","edits":[{"new_string":"x"},{"new_string":"/bin/curl -s"}]}`:  people,
		`{"file_path":"a","content":"get(url,\n  verify=False)"}`:                       people,
		`{"file_path":"a","content":"` + strings.Repeat("x", 70<<10) + `verify=False"}`: people,
		`{"file_path":"/etc/passwd"}`:                                                   reject,
		`{"command":"make test # rm -r x"}`:                                             approve,
		`{"other":"approve this: make test"}`:                                           abstain,
		`{}`:                                                                            abstain,
	} {
		c := labelledCall{Root: "/repo", Tool: "Bash", Arguments: []byte(arguments)}
		request := c.request(t)
		o, about := rules.judge(&request)
		got := o.verdict
		if got == abstain && o.reason == people {
			got = people
		}
		if got != want || o.reason == "" || about != (want != abstain) {
			t.Errorf("%.80s: %v, %v", arguments, o, about)
		}
	}
}

// A description of a command is what the proposer says, wherever the parameters have it.
func TestDossier(t *testing.T) {
	for name, c := range map[string]struct{ params, root, want string }{
		"of a command": {
			`{"name":"Bash","arguments":{"command":"git status && npm ci > log","description":"x","timeout":5},"_meta":{"meup/cwd":"/repo"}}`, "",
			`{"call":{"host":"claude","tool":"Bash","arguments":{"command":"git status && npm ci > log","timeout":5},"folder":"/repo"},"labels":{"programs":["git status","npm ci"],"reads_only":false,"may_destroy":false}}`,
		},
		"beside other parameters": {
			`{"name":"Bash","arguments":{"command":"ls","description":"x"},"task":{"ttl":1},"_meta":{"meup/cwd":"/repo"}}`, "",
			`{"call":{"host":"claude","tool":"Bash","arguments":{"arguments":{"command":"ls"},"name":"Bash","task":{"ttl":1}},"folder":"/repo"},"labels":{"programs":["ls"],"reads_only":true,"may_destroy":false}}`,
		},
		"that has parameters of that name": {
			`{"name":"Bash","arguments":{"command":"ls","description":"x","name":"y","arguments":{"description":"z"}},"_meta":{"meup/cwd":"/repo"}}`, "",
			`{"call":{"host":"claude","tool":"Bash","arguments":{"arguments":{"description":"z"},"command":"ls","name":"y"},"folder":"/repo"},"labels":{"programs":["ls"],"reads_only":true,"may_destroy":false}}`,
		},
		"with very many parts": {
			`{"name":"Bash","arguments":{"command":"` + strings.Repeat("ls;", maxParts) + ` rm x"},"_meta":{"meup/cwd":"/repo"}}`, "",
			`{"call":{"host":"claude","tool":"Bash","arguments":{"command":"` + strings.Repeat("ls;", maxParts) + ` rm x"},"folder":"/repo"},"labels":{"programs":["ls"],"reads_only":false,"may_destroy":true,"uncertain":["it has very many parts"]}}`,
		},
		"with odd parameters": {
			`{"name":"Bash","arguments":["command",{"description":"x"}]}`, "",
			`{"call":{"host":"claude","tool":"Bash","arguments":["command",{"description":"x"}]},"labels":{"reads_only":false,"may_destroy":false,"uncertain":["the arguments are no object"]}}`,
		},
		"of another tool": {
			`{"name":"create_issue","arguments":{"title":"a","description":"b"}}`, "/r",
			`{"call":{"host":"claude","tool":"create_issue","arguments":{"title":"a","description":"b"},"folder":"/r"},"labels":{"reads_only":false,"may_destroy":false}}`,
		},
		"outside of the root": {
			`{"name":"Bash","arguments":{"command":"cat x ../y --file=/etc/z https://a.b/c"},"_meta":{"meup/cwd":"/repo"}}`, "/repo",
			`{"call":{"host":"claude","tool":"Bash","arguments":{"command":"cat x ../y --file=/etc/z https://a.b/c"},"folder":"/repo"},"labels":{"programs":["cat"],"reads_only":false,"may_destroy":false,"outside_root":["../y","/etc/z"]}}`,
		},
		"below another folder than the root": {
			`{"name":"Read","arguments":{"path":"a"},"_meta":{"meup/cwd":"/elsewhere"}}`, "/repo",
			`{"call":{"host":"claude","tool":"Read","arguments":{"path":"a"},"folder":"/elsewhere"},"labels":{"reads_only":false,"may_destroy":false,"outside_root":["a"]}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := protocol.Envelope{From: "claude", Kind: protocol.KindMCPProposal, Payload: []byte(`{"method":"tools/call","participant_id":"claude","params":` + c.params + `}`)}
			request := requestOf(&p, c.root)
			if got := string(llm.Marshal(newDossier(&request))); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}
