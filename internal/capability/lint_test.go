package capability

import (
	"strings"
	"testing"

	"github.com/meup-protocol/meup/protocol"
)

func TestLint(t *testing.T) {
	known := []protocol.ParticipantID{"alice", "agent-1"}
	for _, tt := range []struct {
		caps []string
		want []string // "index severity: part of the sentence"
	}{
		{[]string{"*"}, nil},
		{[]string{"chat", "reasoning/*", "x.app.*", "observe", "reasoning.plan"}, []string{"4 warning: \"reasoning/*\" allows all"}},
		{[]string{"!*", "chat"}, []string{"0 error: excludes every kind"}},
		{[]string{"/^(chat|mcp\\.re.*)$/"}, nil},
		{[]string{"/^x\\.a/", "x/foo", "*.app"}, nil},
		{[]string{"mcp.reqest", "chat"}, []string{"0 warning: no kind of the protocol"}},
		{[]string{"tool.*", "chat"}, []string{"0 warning: no kind of the protocol"}},
		{[]string{"system.welcome", "chat"}, []string{"0 warning: only the gateway"}},
		{[]string{`{"kind":"chat","to":"bob"}`}, []string{"0 warning: names no participant"}},
		{[]string{`{"kind":"chat","to":["agent-*"]}`}, nil},
		{[]string{`{"kind":"chat","to":"a b"}`, "chat"}, []string{"0 error: no to matches"}},
		{[]string{`{"kind":"chat","to":["!*"]}`, "chat"}, []string{"0 error: no to matches"}},
		{[]string{`{"kind":"chat","context":"a//b"}`, "chat"}, []string{"0 error: no context matches"}},
		{[]string{`{"kind":"chat","context":""}`, `{"kind":"chat","context":["msg-1"]}`}, nil},
		{[]string{`{"kind":"chat","payload":"x"}`, "chat"}, []string{"0 error: the payload is an object"}},
		{[]string{`{"kind":"chat","payload":["!x",5]}`, "chat"}, []string{"0 error: the payload is an object"}},
		{[]string{`{"kind":"mcp.request","payload":{"params":"x"}}`}, nil},
		{[]string{`{"kind":"mcp.request","payload":{"name":"x"}}`}, []string{"0 warning: inside params"}},
		{[]string{`{"kind":"observe","to":"alice"}`}, []string{"0 warning: right to read"}},
		{[]string{`{"kind":"x.y","payload":{"a":"/tmp/"}}`}, []string{`0 warning: a folder and what is in it is "/tmp/**"`}},
		{[]string{`{"kind":"x.y","payload":{"a":["!a","!b"]}}`}, []string{"0 warning: matches every text"}},
		{[]string{`{"kind":"x.y","payload":{"a":["!a*","!ab"]}}`}, nil},
		{[]string{"chat", "chat"}, []string{"1 warning: a duplicate of an earlier one"}},
		{[]string{"mcp.request", "mcp.*"}, []string{"0 warning: \"mcp.*\" allows all"}},
		{[]string{"mcp.*", "mcp/*"}, []string{"1 warning: \"mcp.*\" allows all"}},
		{[]string{"mcp.*", "chat", `{"kind":"mcp.*","deny":true}`}, []string{"0 warning: {\"kind\":\"mcp.*\",\"deny\":true} denies all"}},
		{[]string{"chat", `{"kind":"*","deny":true}`}, []string{"0 warning: {\"kind\":\"*\",\"deny\":true} denies all", "-1 warning: can do nothing"}},
		{nil, []string{"-1 warning: can do nothing"}},
		{[]string{`{"kind":"chat","payload":{"message":"!*"},"deny":true}`, "chat"}, nil},
		{[]string{`{"kind":"chat","payload":"!x","deny":true}`, "chat"}, nil},
	} {
		findings := Lint([]Holding{{Participant: "bob", Capabilities: all(t, tt.caps...)}}, known)
		ok := len(findings) == len(tt.want)
		for i := 0; ok && i < len(findings); i++ {
			f := findings[i]
			place, says, _ := strings.Cut(tt.want[i], ": ")
			ok = strings.Contains(f.Message, says) && f.Participant == "bob" && place == itoa(f.Index)+" "+f.Severity.String()
		}
		if !ok {
			t.Errorf("%q:\n%+v\nwant %q", tt.caps, findings, tt.want)
		}
	}
}

func itoa(i int) string {
	if i < 0 {
		return "-" + itoa(-i)
	}
	return string(rune('0' + i))
}

func TestLintUnknownSpace(t *testing.T) {
	caps := all(t, `{"kind":"chat","to":"bob"}`)
	if f := Lint([]Holding{{Participant: "a", Capabilities: caps}}, nil); len(f) != 0 {
		t.Errorf("participants that cannot be known: %+v", f)
	}
}
