package safety

import (
	"strings"
	"testing"
)

// TestBelowSecretFields: what belongs to a field whose name says so is masked
// at any depth; what describes it is not.
func TestBelowSecretFields(t *testing.T) {
	const mark = `"[redacted:secret-field]"`
	p := pipeline(t, Config{})
	for in, want := range map[string]string{
		`{"dbPassword":{"value":"p8"}}`:                             `{"dbPassword":{"value":M}}`,
		`{"password":["q1",{"deep":"y","n":[{"k":"z"}]}]}`:          `{"password":[M,{"deep":M,"n":[{"k":M}]}]}`,
		`{"token":{"raw":"q","set":true,"none":null}}`:              `{"token":{"raw":M,"set":true,"none":null}}`,
		`{"Authorization":{"scheme":"Bearer","v":"q1"}}`:            `{"Authorization":{"scheme":"Bearer","v":M}}`,
		`{"password":{"digits":123456,"length":12345}}`:             `{"password":{"digits":M,"length":12345}}`,
		`{"password":{"type":"string","default":"q1","title":"T"}}`: `{"password":{"type":"string","default":M,"title":"T"}}`,
		`{"auth":{"username":"bob","type":"basic"},"pass":3}`:       `{"auth":{"username":M,"type":"basic"},"pass":3}`,
		`{"pass":"q1","sig":"y","auth":"Basic","userpass":"z"}`:     `{"pass":M,"sig":M,"auth":"Basic","userpass":M}`,
		`{"pass\u200bword":"q1","to\u001b[1mken":"y"}`:              `{"pass\u200bword":M,"to\u001b[1mken":M}`,
		`[["Authorization","Bearer p23"],["token","q1"],["a","b"]]`: `[["Authorization",M],["token",M],["a","b"]]`,
		`{"headers":["Accept","*/*","Cookie","q1","Host","h"]}`:     `{"headers":["Accept","*/*","Cookie",M,"Host","h"]}`,
		`{"argv":["login","--password","x7","--user","bob"]}`:       `{"argv":["login","--password",M,"--user","bob"]}`,
		`{"argv":["--pin",1234,5678]}`:                              `{"argv":["--pin",M,5678]}`,
	} {
		got := string(p.Parameters(parse(t, in)))
		if want := strings.ReplaceAll(want, "M", mark); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", in, got, want)
		}
		if got != "" && p.Parameters(parse(t, got)) != nil {
			t.Errorf("%s is masked again", got)
		}
	}
	for _, in := range []string{
		`{"password_policy":{"min_length":12,"kind":"strict"},"password_rules":["long"],"secret_config":{"ttl":"1h"}}`,
		`{"tokens":{"used":12,"model":"m"},"token_count":12,"max_tokens":{"n":"7"}}`,
		`{"properties":{"password":{"type":"string","description":"of the user","minLength":8}},"required":["password","user"]}`,
		`{"allow":["Authorization","Content-Type","Cookie"],"fields":["token","user"],"names":[["password","token"]]}`,
		`{"argv":["--password","--user"],"signature":"func(a int)","pass":2}`,
	} {
		if got := p.Parameters(parse(t, in)); got != nil {
			t.Errorf("%s\nbecame %s", in, got)
		}
	}
}
