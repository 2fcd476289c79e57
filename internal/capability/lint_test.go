package capability

import (
	"strconv"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/protocol"
)

func TestLint(t *testing.T) {
	known := []protocol.ParticipantID{"alice", "agent-1"}
	for _, tt := range []struct {
		caps []string
		want []string // "index: part of the sentence"
	}{
		{[]string{"*"}, nil},
		{[]string{"chat", "reasoning/*", "x.app.*", "observe", "reasoning.plan"}, []string{"4: \"reasoning/*\" allows all"}},
		{[]string{`{"kind":"mcp.proposal","payload":{"participant_id":"files","expires_at":"**"}}`}, nil},
		{[]string{`{"kind":"mcp.request","payload":{"participant_id":"files"}}`}, []string{"0: no field participant_id"}},
		{[]string{"!*", "chat"}, []string{"0: excludes every kind"}},
		{[]string{"/^(chat|mcp\\.re.*)$/"}, nil},
		{[]string{"/^x\\.a/", "x/foo", "*.app"}, nil},
		{[]string{"mcp.reqest", "chat"}, []string{"0: no kind of the protocol"}},
		{[]string{"tool.*", "chat"}, []string{"0: no kind of the protocol"}},
		{[]string{"system.welcome", "chat"}, []string{"0: only the gateway"}},
		{[]string{`{"kind":"chat","to":"bob"}`}, []string{"0: names no participant"}},
		{[]string{`{"kind":"chat","to":["agent-*"]}`}, nil},
		{[]string{`{"kind":"chat","to":"a b"}`, "chat"}, []string{"0: no to matches"}},
		{[]string{`{"kind":"chat","to":["!*"]}`, "chat"}, []string{"0: no to matches"}},
		{[]string{`{"kind":"chat","context":"a//b"}`, "chat"}, []string{"0: no context matches"}},
		{[]string{`{"kind":"chat","context":""}`, `{"kind":"chat","context":["msg-1"]}`}, nil},
		{[]string{`{"kind":"chat","payload":"x"}`, "chat"}, []string{"0: the payload is an object"}},
		{[]string{`{"kind":"chat","payload":["!x",5]}`, "chat"}, []string{"0: the payload is an object"}},
		{[]string{`{"kind":"mcp.request","payload":{"params":"x"}}`}, nil},
		{[]string{`{"kind":"mcp.request","payload":{"name":"x"}}`}, []string{"0: inside params"}},
		{[]string{`{"kind":"mcp.request","payload":{"params":{"names":"x"}}}`}, []string{`0: no field names; did you mean "name"?`}},
		{[]string{`{"kind":"mcp.proposal","payload":{"method":"tools/call","params":{"name":"x","args":{"y":1}}}}`}, []string{`0: no field args; it is one of name, arguments, `}},
		{[]string{`{"kind":"mcp.request","payload":{"params":{"Name":"x"}},"deny":true}`, "chat"}, []string{`0: no field Name; did you mean "name"?`}},
		{[]string{`{"kind":"mcp.request","payload":{"params":{"argument":"x","uri":"y","n*":"z"}}}`, `{"kind":"mcp.request","payload":{"method":"x/y","params":{"names":"x"}}}`, withArguments(`{"names":"x"}`)}, nil},
		{[]string{`{"kind":"observe","to":"alice"}`}, []string{"0: right to read"}},
		{[]string{`{"kind":"x.y","payload":{"a":"/tmp/"}}`}, []string{`0: a folder and what is in it is "/tmp/**"`}},
		{[]string{`{"kind":"x.y","payload":{"a":["!a","!b"]}}`}, []string{"0: matches every text"}},
		{[]string{`{"kind":"x.y","payload":{"a":["!a*","!ab"]}}`}, nil},
		{[]string{"chat", "chat"}, []string{"1: a duplicate of an earlier one"}},
		{[]string{"mcp.request", "mcp.*"}, []string{"0: \"mcp.*\" allows all"}},
		{[]string{"mcp.*", "mcp/*"}, []string{"1: \"mcp.*\" allows all"}},
		{[]string{"mcp.*", "chat", `{"kind":"mcp.*","deny":true}`}, []string{"0: {\"kind\":\"mcp.*\",\"deny\":true} denies all"}},
		{[]string{"chat", `{"kind":"*","deny":true}`}, []string{"0: {\"kind\":\"*\",\"deny\":true} denies all", "-1: bob can do nothing"}},
		{nil, []string{"-1: bob can do nothing"}},
		{[]string{`{"kind":"chat","payload":{"message":"!*"},"deny":true}`, "chat"}, nil},
		{[]string{`{"kind":"chat","payload":"!x","deny":true}`, "chat"}, nil},
		{[]string{withArguments(`{"command":"git *"}`)}, []string{`0: "git *" is compared as text, which may mean something else to the tool; write command: {$shell: {commands: ["git **"]}}, or {$text: …} if text is meant`}},
		{[]string{withArguments(`{"file_path":"/repo/docs/**"}`)}, []string{`0: write file_path: {$path: {below: "/repo/docs"}}, or`}},
		{[]string{withArguments(`{"path":["**/x","exact"]}`)}, []string{`0: write path: {$path: {below: "."}}, or`}},
		{[]string{withArguments(`{"url":"https://*.example.com/**"}`)}, []string{`0: write url: {$url: {host: […]}}, or`}},
		{[]string{withArguments(`{"cmd":"/^git /"}`)}, []string{`0: write cmd: {$shell: …}, or`}},
		{[]string{withArguments(`{"command":{"$text":"git *"},"x":"git *","cmd":"git log","path":"*"}`)}, nil},
		{[]string{withArguments(`{"command":{"$shell":{"commands":["sudo **","git log"]}}}`)}, []string{"0: `sudo` with any arguments runs commands"}},
		{[]string{withArguments(`{"command":{"$shell":{"commands":["python3 -**","python3 -m pytest **"]}}}`)}, []string{"0: `python3` with any arguments and options runs commands"}},
		{[]string{"chat", strings.Replace(withArguments(`{"command":"git *"}`), `{"kind"`, `{"deny":true,"kind"`, 1)}, nil},
	} {
		findings := Lint("bob", all(t, tt.caps...), known)
		ok := len(findings) == len(tt.want)
		for i := 0; ok && i < len(findings); i++ {
			f := findings[i]
			place, says, _ := strings.Cut(tt.want[i], ": ")
			ok = strings.Contains(f.Message, says) && place == strconv.Itoa(f.Index)
		}
		if !ok {
			t.Errorf("%q:\n%+v\nwant %q", tt.caps, findings, tt.want)
		}
	}
}

// TestLint_Mistakes checks which findings are about capabilities that nothing can match.
func TestLint_Mistakes(t *testing.T) {
	for text, want := range map[string]bool{
		"reasonning/*": true, "system.welcome": true, `{"kind":"mcp.request","payload":{"methd":"tools/call"}}`: true, `{"kind":"chat","payload":"x"}`: true,
		`{"kind":"mcp.request","payload":{"params":{"name":"Bash","arguments":{"command":"git *"}}}}`: true, withArguments(`{"command":"git *"}`): false,
		`{"kind":"mcp.request","payload":{"params":{"names":"Bash"}}}`: true, `{"kind":"chat","to":"bob"}`: false, `{"kind":"observe","to":"alice"}`: false, `{"kind":"x.y","payload":{"a":"/tmp/"}}`: false,
	} {
		findings := Lint("alice", all(t, text, "x.other"), []protocol.ParticipantID{"alice"})
		if len(findings) != 1 || findings[0].Mistake != want {
			t.Errorf("%s: %+v, want one finding that is a mistake: %t", text, findings, want)
		}
	}
}

func TestLintUnknownSpace(t *testing.T) {
	caps := all(t, `{"kind":"chat","to":"bob"}`)
	if f := Lint("a", caps, nil); len(f) != 0 {
		t.Errorf("participants that cannot be known: %+v", f)
	}
}
