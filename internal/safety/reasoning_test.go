package safety

import (
	"slices"
	"testing"

	"github.com/meup-protocol/meup/protocol"
)

// TestReasoningIsNotStopped checks that a rule which rejects other payloads removes
// the text of reasoning.
func TestReasoningIsNotStopped(t *testing.T) {
	p := pipeline(t, Config{Action: ActionBlock})
	cases := []struct {
		kind    protocol.Kind
		in, out string
	}{
		{protocol.KindReasoningThought, `{"message":"the key is ` + ghp + `"}`, `{"message":"","redacted":["github-pat"]}`},
		{protocol.KindReasoningThought, `{"content":"` + ghp + `","confidence":0.50}`, `{"content":"","confidence":0.50,"redacted":["github-pat"]}`},
		{protocol.KindReasoningThought, `{"message":"use ` + ghp + `","tool_name":"search","parallel_group":1}`,
			`{"message":"` + DefaultRationale + `","tool_name":"search","parallel_group":1,"redacted":["github-pat"]}`},
		{protocol.KindReasoningThought, `{"tool_name":"search","content":"use ` + ghp + `"}`,
			`{"tool_name":"search","content":"` + DefaultRationale + `","redacted":["github-pat"]}`},
		{protocol.KindReasoningThought, `{"message":"` + ghp + `","tool_name":""}`, `{"message":"","tool_name":"","redacted":["github-pat"]}`},
		{protocol.KindReasoningThought, `{"message":"fine","tool_name":"search","evidence":["ok","` + ghp + `"],"x":{"message":"` + npm + `"}}`,
			`{"message":"fine","tool_name":"search","evidence":["ok",""],"x":{"message":""},"redacted":["github-pat","npm-access-token"]}`},
		{protocol.KindReasoningThought, `{"message":"m","tool_name":"` + ghp + `"}`, `{"message":"m","tool_name":"","redacted":["github-pat"]}`},
		{protocol.KindReasoningThought, `{"message":"m","` + ghp + `":"v"}`, `{"message":"m","[redacted:github-pat]":"v","redacted":["github-pat"]}`},
		{protocol.KindReasoningStart, `{"message":"` + ghp + `","tool_name":"t"}`, `{"message":"","tool_name":"t","redacted":["github-pat"]}`},
		{protocol.KindReasoningConclusion, `{"decision":"` + ghp + `","message":"ok"}`, `{"decision":"","message":"ok","redacted":["github-pat"]}`},
		{"reasoning.own", `{"message":"` + ghp + `"}`, `{"message":"","redacted":["github-pat"]}`},
	}
	for _, c := range cases {
		v, err := p.Payload(c.kind, parse(t, c.in))
		if err != nil || string(v.Payload) != c.out || len(v.Blocked) == 0 || !slices.Contains(v.Redacted, v.Blocked[0]) {
			t.Errorf("%s %s\ngot  %s, %+v, %v\nwant %s", c.kind, c.in, v.Payload, v.Blocked, err, c.out)
		}
		if again, err := p.Payload(c.kind, parse(t, string(v.Payload))); err != nil || again.Payload != nil || again.Blocked != nil {
			t.Errorf("%s is blocked again", v.Payload)
		}
	}
	for _, kind := range []protocol.Kind{protocol.KindChat, protocol.KindMCPRequest, "x.reasoning", "reasoningx"} {
		if _, err := p.Payload(kind, parse(t, `{"message":"`+ghp+`"}`)); err == nil || protocol.AsError(err).Code != protocol.CodeInvalidPayload {
			t.Errorf("%s: got %v", kind, err)
		}
	}
}

// TestBlockByRule: one rule blocks and the others mask, in one text too.
func TestBlockByRule(t *testing.T) {
	p := pipeline(t, Config{Actions: map[string]Action{"npm-access-token": ActionBlock}})
	v, err := thought(p, parse(t, `{"a":"`+ghp+`","message":"`+ghp+` and `+npm+`","b":"`+npm+`"}`))
	if err != nil || string(v.Payload) != `{"a":"[redacted:github-pat]","message":"","b":"","redacted":["github-pat","npm-access-token"]}` ||
		!slices.Equal(v.Blocked, []string{"npm-access-token"}) {
		t.Errorf("got %s, %v, %v", v.Payload, v.Blocked, err)
	}
	if _, err := request(p, parse(t, `{"a":"`+ghp+`","b":[{"c":"`+npm+`"}]}`)); err == nil || err.Path != "/payload/b/0/c" {
		t.Errorf("got %v", err)
	}
	if v, err := request(p, parse(t, `{"a":"`+ghp+`"}`)); err != nil || string(v.Payload) != `{"a":"[redacted:github-pat]","redacted":["github-pat"]}` {
		t.Errorf("got %s, %v", v.Payload, err)
	}
	// The rule that masks comes first in the file; the one that blocks counts.
	p = pipeline(t, Config{Actions: map[string]Action{"generic-api-key": ActionBlock}})
	if _, err := request(p, parse(t, `{"m":"api_key = `+ghp+`"}`)); err == nil {
		t.Error("a stricter rule is hidden by one that is not")
	}
	p = pipeline(t, Config{Action: ActionBlock, Actions: map[string]Action{"github-pat": ActionMask}})
	if v, err := request(p, parse(t, `{"m":"`+ghp+`"}`)); err != nil || v.Payload == nil {
		t.Errorf("got %v", err)
	}
}
