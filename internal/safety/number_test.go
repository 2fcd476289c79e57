package safety

import (
	"slices"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/protocol"
)

// TestNumbers: a number that is a known value or one of the policy's becomes a
// string with a mark, wherever it stands; all others stay numbers.
func TestNumbers(t *testing.T) {
	p := pipeline(t, Config{Secrets: []Secret{NewSecret("9081726354"), NewSecret("12345678.25")}})
	cases := map[string]string{
		`{"n":9081726354}`:               `{"n":"[redacted:known-secret]"}`,
		`{"a":[1,{"b":[9081726354]}]}`:   `{"a":[1,{"b":["[redacted:known-secret]"]}]}`,
		`{"n":-9081726354}`:              `{"n":"-[redacted:known-secret]"}`,
		`{"n":12345678.25}`:              `{"n":"[redacted:known-secret]"}`,
		`{"card":4111111111111111}`:      `{"card":"[redacted:payment-card]"}`,
		`{"arguments":{"pin":1234}}`:     `{"arguments":{"pin":"[redacted:secret-field]"}}`,
		`{"arguments":{"n":9081726354}}`: `{"arguments":{"n":"[redacted:known-secret]"}}`,
	}
	for in, want := range cases {
		v, err := thought(p, parse(t, in))
		if err != nil || !strings.HasPrefix(string(v.Payload), strings.TrimSuffix(want, "}")) || len(v.Redacted) != 1 {
			t.Errorf("%s: got %s, %v", in, v.Payload, err)
			continue
		}
		if again, err := thought(p, parse(t, string(v.Payload))); err != nil || again.Payload != nil {
			t.Errorf("%s: changed again to %s, %v", v.Payload, again.Payload, err)
		}
	}
	for _, in := range []string{
		`{"n":1732200000000,"token":1732200000123,"api_key":17322000001234567,"secret":98765432}`,
		`{"n":[0.4111111111111111,4111,1e300,4.111111111111111e15,-0.0,12345678]}`, `{"n":4111111111111112}`,
		`{"arguments":{"max_tokens":100000000,"since":1732200000000}}`,
	} {
		if v, err := thought(p, parse(t, in)); err != nil || v.Payload != nil {
			t.Errorf("%s: got %s, %v", in, v.Payload, err)
		}
	}
	if shown := p.Parameters(parse(t, `{"n":9081726354,"m":1732200000000}`)); string(shown) != `{"n":"[redacted:known-secret]","m":1732200000000}` {
		t.Errorf("shown as %s", shown)
	}
}

// TestBlockedNumbers: in reasoning they become a mark and not an empty text,
// other payloads are refused.
func TestBlockedNumbers(t *testing.T) {
	p := pipeline(t, Config{Action: ActionBlock, Secrets: []Secret{NewSecret("9081726354")}, Actions: map[string]Action{"payment-card": ActionBlock}})
	for in, want := range map[string]string{
		`{"n":9081726354}`:                               `{"n":"[redacted:known-secret]","redacted":["known-secret"]}`,
		`{"n":4111111111111111}`:                         `{"n":"[redacted:payment-card]","redacted":["payment-card"]}`,
		`{"arguments":{"password":12}}`:                  `{"arguments":{"password":"[redacted:secret-field]"},"redacted":["secret-field"]}`,
		`{"tool_name":"x","message":9081726354,"a":"b"}`: `{"tool_name":"x","message":"[redacted:known-secret]","a":"b","redacted":["known-secret"]}`,
	} {
		v, err := thought(p, parse(t, in))
		if err != nil || string(v.Payload) != want || len(v.Blocked) != 1 {
			t.Errorf("%s: got %s, %v", in, v.Payload, err)
		}
		if _, err := request(p, parse(t, in)); err == nil || err.Code != protocol.CodeInvalidPayload || strings.Contains(err.Message+err.Detail, "908172") {
			t.Errorf("%s: not refused as it should be: %v", in, err)
		}
	}
}

// TestFieldsBesidesThePayload: they are inspected like the payload, which names
// the rules.
func TestFieldsBesidesThePayload(t *testing.T) {
	p := pipeline(t, Config{})
	cases := []struct{ payload, extra, newPayload, newExtra, rules string }{
		{`{}`, `{"x":1}`, ``, ``, ``},
		{`{}`, `{"x":"` + ghp + `"}`, `{"redacted":["github-pat"]}`, `"x":"[redacted:github-pat]"`, `github-pat`},
		{`{ }`, `{"x":"` + ghp + `","y":"rm -rf /"}`, `{"redacted":["github-pat"],"review":["destructive-shell"] }`,
			`"x":"[redacted:github-pat]","y":"rm -rf /"`, `github-pat`},
		{`{}`, `{"y":"rm -rf /"}`, `{"review":["destructive-shell"]}`, ``, ``},
		{`{"m":"` + npm + `"}`, `{"x" : [{"` + ghp + `": 1.0}]}`, `{"m":"[redacted:npm-access-token]","redacted":["npm-access-token","github-pat"]}`,
			`"x" : [{"[redacted:github-pat]": 1.0}]`, `npm-access-token github-pat`},
		{`{"m":"a"}`, `{"redacted":["` + ghp + `"],"b":2}`, `{"m":"a","redacted":["github-pat"]}`, `"redacted":["[redacted:github-pat]"],"b":2`, `github-pat`},
		{`{"m":"a"}`, `{"` + ghp + `":1,"` + ghp2 + `":2}`, `{"m":"a","redacted":["github-pat"]}`,
			`"[redacted:github-pat]":1,"[redacted:github-pat]-2":2`, `github-pat`},
		{`{"m":"` + npm + `"}`, `{"x":1}`, `{"m":"[redacted:npm-access-token]","redacted":["npm-access-token"]}`, ``, `npm-access-token`},
	}
	for _, c := range cases {
		v, err := p.Envelope(protocol.KindReasoningThought, parse(t, c.payload), parse(t, c.extra))
		if err != nil || string(v.Payload) != c.newPayload || string(v.Extra) != c.newExtra || strings.Join(v.Redacted, " ") != c.rules {
			t.Errorf("%s beside %s\ngot  %s beside %s, %v, %v", c.extra, c.payload, v.Payload, v.Extra, v.Redacted, err)
		}
	}
	blocking := pipeline(t, Config{Action: ActionBlock})
	_, err := blocking.Envelope(protocol.KindMCPRequest, parse(t, `{"m":"a"}`), parse(t, `{"x":["`+ghp+`"]}`))
	if err == nil || err.Path != "/x/0" || strings.Contains(err.Message+err.Detail, ghp[4:]) {
		t.Errorf("blocked: got %+v", err)
	}
	v, err := blocking.Envelope(protocol.KindReasoningThought, parse(t, `{"m":"a"}`), parse(t, `{"x":["`+ghp+`"]}`))
	if err != nil || string(v.Extra) != `"x":[""]` || string(v.Payload) != `{"m":"a","redacted":["github-pat"]}` || !slices.Equal(v.Blocked, []string{"github-pat"}) {
		t.Errorf("blocked in reasoning: got %s beside %s, %v", v.Payload, v.Extra, err)
	}
}
