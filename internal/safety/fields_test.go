package safety

import (
	"strings"
	"testing"

	"github.com/meup-protocol/meup/protocol"
)

func TestNamesThatSayTheyAreSecret(t *testing.T) {
	yes := strings.Fields(`password Password PASSWORD db_password dbPassword db-password userPassword password2 newPassword new_password
		password_confirmation passwd pwd passphrase DB_PASS smtpPass api_key apiKey API_KEY APIKey ApiKey apikey x-api-key X-API-Key
		OPENAI_API_KEY openaiApiKey access_key secretAccessKey aws_secret_access_key private_key privateKeyPem signing-key authorization Authorization
		Proxy-Authorization token access_token accessToken refreshToken github_token GITHUB_TOKEN oauth2_token authToken id_token secret clientSecret
		client_secret webhook_secret secrets credentials credential cookie Set-Cookie bearer otp pin cvv seed_phrase recoveryPhrase
		connectionString mnemonic bearer_token dbpassword accesstoken authorization_header my.password pass auth basic_auth userpass sig x-amz-signature service_account_key`)
	no := strings.Fields(`token_count tokenCount max_tokens maxTokens tokens prompt_tokens password_policy passwordPolicy password_length min_password
		key keys name author authority authorize authorized primary_key public_key partition_key sort_key cache_key foreign_key keyboard monkey
		next_page_token nextPageToken pageToken continuation_token eos_token pad_token stop_token tokenizer token_type secret_name secretArn secret_id
		has_password needs_token show_password forgot_password passed password_field password_rules token_sha256 oauth author signature function_signature signal compass bypass spin opinion phrase string connection cookie_policy
		credential_type description message path url x`)
	for _, n := range append(yes, "db password", "API key") {
		if !secretName([]byte(n)) {
			t.Errorf("%s is taken for harmless", n)
		}
	}
	for _, n := range append(no, "", strings.Repeat("a_", 60)+"password") {
		if secretName([]byte(n)) {
			t.Errorf("%s is taken for a secret", n)
		}
	}
}

func TestParameters(t *testing.T) {
	p := knowing(t, value)
	for in, want := range map[string]string{
		`{"path":"report.md","limit":10}`:            ``,
		`{"password":"ab"}`:                          `{"password":"[redacted:secret-field]"}`,
		`{"a":[{"b":{"dbPassword":"ab"}}]}`:          `{"a":[{"b":{"dbPassword":"[redacted:secret-field]"}}]}`,
		`{ "pin" : 1234 , "n":1.0 }`:                 `{ "pin" : "[redacted:secret-field]" , "n":1.0 }`,
		`{"password":true,"token":null,"secret":""}`: ``,
		`{"password":"${DB_PASSWORD}","api_key":"<your api key>","token":"{{ .Token }}","secret":"****","pwd":"$PWD"}`: ``,
		`{"pass":3,"auth":{"user":"bob"},"argv":["--password","x"]}`:                                                   ``,
		`{"pass\u200bword":"q1","to\u001b[1mken":"y"}`:                                                                 `{"pass\u200bword":"[redacted:secret-field]","to\u001b[1mken":"[redacted:secret-field]"}`,
		`{"api_key":["one","two"]}`:                                                                                    `{"api_key":["[redacted:secret-field]","[redacted:secret-field]"]}`,
		`{"password":{"type":"string","minLength":8}}`:                                                                 ``,
		`{"headers":{"Authorization":"Basic Ym9i","Accept":"*/*"}}`:                                                    `{"headers":{"Authorization":"[redacted:secret-field]","Accept":"*/*"}}`,
		`{"token":"` + ghp + `"}`:                                                                                      `{"token":"[redacted:github-pat]"}`,
		`{"token":"my ` + ghp + `"}`:                                                                                   `{"token":"[redacted:secret-field]"}`,
		`{"text":"it is ` + value + `"}`:                                                                               `{"text":"it is [redacted:known-secret]"}`,
		`{"` + ghp + `":1}`:                                                                                            `{"[redacted:github-pat]":1}`,
		`{"token":"[redacted:secret-field]"}`:                                                                          ``,
		`{"max_tokens":4096,"token_count":"12","password_policy":"long"}`:                                              ``,
		`["` + ghp + `"]`:                                                                                              `["[redacted:github-pat]"]`,
		`"` + ghp + `"`:                                                                                                `"[redacted:github-pat]"`,
		`7`:                                                                                                            ``,
	} {
		got := p.Parameters(parse(t, in))
		if string(got) != want {
			t.Errorf("%s\ngot  %s\nwant %s", in, got, want)
		}
		if got != nil && p.Parameters(parse(t, string(got))) != nil {
			t.Errorf("%s is masked again", got)
		}
	}
	if p.Parameters(protocol.Value{}) != nil {
		t.Error("an absent value has parameters")
	}
	inside := parse(t, `{"x":"`+ghp+`","arguments":{"password":"a","`+ghp+`":2}}`)
	if got := string(p.Parameters(inside.Get("arguments"))); got != `{"password":"[redacted:secret-field]","[redacted:github-pat]":2}` {
		t.Errorf("inside a text: got %s", got)
	}
}

// TestWhatIsShownDependsOnNoKind: a pipeline without kinds still knows secrets.
func TestWhatIsShownDependsOnNoKind(t *testing.T) {
	p := pipeline(t, Config{Kinds: []protocol.KindPattern{}})
	if p.Applies(protocol.KindReasoningThought) || p.Text("x "+ghp) != "x [redacted:github-pat]" ||
		string(p.Parameters(parse(t, `{"pwd":"a"}`))) != `{"pwd":"[redacted:secret-field]"}` {
		t.Error("it does not")
	}
}

// TestParametersInPayloads: names count within the parameters of a tool, and
// nowhere else.
func TestParametersInPayloads(t *testing.T) {
	p := pipeline(t, Config{})
	for in, want := range map[string]string{
		`{"method":"tools/call","params":{"name":"login","arguments":{"password":"ab"}}}`: `{"method":"tools/call","params":{"name":"login","arguments":{"password":"[redacted:secret-field]"}},"redacted":["secret-field"]}`,
		`{"password":"ab"}`:                             ``,
		`{"metadata":{"token":"end"},"token":"q"}`:      ``,
		`{"tool":{"input":{"token":"q"}},"token":"q"}`:  `{"tool":{"input":{"token":"[redacted:secret-field]"}},"token":"q","redacted":["secret-field"]}`,
		`{"arguments":{"a":{"pin":12345}},"pin":12345}`: `{"arguments":{"a":{"pin":"[redacted:secret-field]"}},"pin":12345,"redacted":["secret-field"]}`,
	} {
		v, err := request(p, parse(t, in))
		if err != nil || string(v.Payload) != want {
			t.Errorf("%s\ngot  %s, %v\nwant %s", in, v.Payload, err, want)
		}
	}
	p = pipeline(t, Config{Actions: map[string]Action{ruleField: ActionBlock}})
	if _, err := request(p, parse(t, `{"params":{"arguments":{"password":"ab"}}}`)); err == nil || err.Path != "/payload/params/arguments/password" {
		t.Errorf("got %v", err)
	}
}
