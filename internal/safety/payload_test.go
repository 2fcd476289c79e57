package safety

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/meup-protocol/meup/internal/safety/redact"
	"github.com/meup-protocol/meup/protocol"
)

func parse(t testing.TB, text string) protocol.Value {
	t.Helper()
	doc, err := protocol.ParseJSON([]byte(text), protocol.MaxDepth)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return doc.Root()
}

func pipeline(t testing.TB, c Config) *Pipeline {
	t.Helper()
	p, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// thought and request pass a payload through a pipeline as kinds that are
// treated differently when a rule blocks.
func thought(p *Pipeline, v protocol.Value) (Verdict, *protocol.Error) {
	verdict, err := p.Payload(protocol.KindReasoningThought, v)
	return verdict, protocol.AsError(err)
}

func request(p *Pipeline, v protocol.Value) (Verdict, *protocol.Error) {
	verdict, err := p.Payload(protocol.KindMCPRequest, v)
	return verdict, protocol.AsError(err)
}

// Secrets that the tests write with; random, and the same in every run.
var (
	source = rand.New(rand.NewPCG(7, 8))
	ghp    = "ghp_" + random(source, "alnum", 36)
	ghp2   = "ghp_" + random(source, "alnum", 36)
	npm    = "npm_" + random(source, "alnum", 36)
)

func TestPayload(t *testing.T) {
	cases := []struct {
		name, in, out string // no out: stays as it is
		rules         string
	}{
		{"clean", `{ "message" : "nothing here",  "n": 1.50e3 }`, ``, ``},
		{"empty", `{}`, ``, ``},
		{"one", `{"message":"use ` + ghp + `."}`, `{"message":"use [redacted:github-pat].","redacted":["github-pat"]}`, `github-pat`},
		{"the rest byte for byte", "{ \"a\\u0041\" : 1.50E+3 ,\n\"message\":\"" + ghp + "\" , \"b\":[ \"\\/é\\n\" ] \t}",
			"{ \"a\\u0041\" : 1.50E+3 ,\n\"message\":\"[redacted:github-pat]\" , \"b\":[ \"\\/é\\n\" ],\"redacted\":[\"github-pat\"] \t}", `github-pat`},
		{"several in one string", `{"m":"` + ghp + ` and ` + npm + `, ` + ghp2 + `"}`,
			`{"m":"[redacted:github-pat] and [redacted:npm-access-token], [redacted:github-pat]","redacted":["github-pat","npm-access-token"]}`, `github-pat npm-access-token`},
		{"overlapping", `{"m":"api_key=` + ghp + ` x"}`, `{"m":"api_key=[redacted:github-pat] x","redacted":["github-pat"]}`, `github-pat`},
		{"multi-byte text", `{"m":"Schlüssel 🔑` + ghp + `🔑 für"}`, `{"m":"Schlüssel 🔑[redacted:github-pat]🔑 für","redacted":["github-pat"]}`, `github-pat`},
		{"escapes hide nothing", `{"m":"\u0067hp\u005f` + ghp[4:] + `\n\"x\""}`, `{"m":"[redacted:github-pat]\u000a\"x\"","redacted":["github-pat"]}`, `github-pat`},
		{"surrogates", `{"m":"\ud83d\ude00 gh\u0070_` + ghp[4:] + `"}`, `{"m":"😀 [redacted:github-pat]","redacted":["github-pat"]}`, `github-pat`},
		{"any depth", `{"a":[{"b":[["` + ghp + `"]]}]}`, `{"a":[{"b":[["[redacted:github-pat]"]]}],"redacted":["github-pat"]}`, `github-pat`},
		{"in a key", `{"` + ghp + `":1}`, `{"[redacted:github-pat]":1,"redacted":["github-pat"]}`, `github-pat`},
		{"keys stay apart", `{"a":{"` + ghp + `":1,"` + ghp2 + `":2,"[redacted:github-pat]":3}}`,
			`{"a":{"[redacted:github-pat]-2":1,"[redacted:github-pat]-3":2,"[redacted:github-pat]":3},"redacted":["github-pat"]}`, `github-pat`},
		{"the key tells", `{"config":{"db_password":"tr0ub4dor&3","passwords":["x9-y8-z7!"]}}`,
			`{"config":{"db_password":"[redacted:generic-password]","passwords":["x9-y8-z7!"]},"redacted":["generic-password"]}`, `generic-password`},
		{"list below a key that tells", `{"client_secret":["Zk3vQ81mRt5xWb70aYcd"]}`,
			`{"client_secret":["[redacted:generic-api-key]"],"redacted":["generic-api-key"]}`, `generic-api-key`},
		{"merged", `{"redacted":["jwt","github-pat"],"m":"` + ghp + npm[:0] + ` ` + npm + `"}`,
			`{"redacted":["jwt","github-pat","npm-access-token"],"m":"[redacted:github-pat] [redacted:npm-access-token]"}`, `github-pat npm-access-token`},
		{"redacted of another type", `{"m":"` + ghp + `","redacted":"no"}`, `{"m":"[redacted:github-pat]","redacted":["github-pat"]}`, `github-pat`},
		{"redacted with other elements", `{"r\u0065dacted":[1,{"x":"` + npm + `"},"mine"],"m":"` + ghp + `"}`,
			`{"r\u0065dacted":["mine","npm-access-token","github-pat"],"m":"[redacted:github-pat]"}`, `npm-access-token github-pat`},
		{"a secret in redacted", `{"redacted":["` + ghp + `"]}`, `{"redacted":["[redacted:github-pat]","github-pat"]}`, `github-pat`},
		{"redacted alone", `{"redacted":5}`, ``, ``},
		{"redacted deeper down", `{"x":{"redacted":1},"m":"` + ghp + `"}`, `{"x":{"redacted":1},"m":"[redacted:github-pat]","redacted":["github-pat"]}`, `github-pat`},
	}
	p := pipeline(t, Config{})
	for _, c := range cases {
		v, err := thought(p, parse(t, c.in))
		if err != nil || string(v.Payload) != c.out || strings.Join(v.Redacted, " ") != c.rules {
			t.Errorf("%s: %s\ngot  %s %v %v\nwant %s %s", c.name, c.in, v.Payload, v.Redacted, err, c.out, c.rules)
		}
		if v.Payload == nil {
			continue
		}
		if again, _ := thought(p, parse(t, string(v.Payload))); again.Payload != nil {
			t.Errorf("%s: masked again as %s", c.name, again.Payload)
		}
	}
}

// TestPayloadInsideAnEnvelope: offsets count from the payload, not the frame.
func TestPayloadInsideAnEnvelope(t *testing.T) {
	doc := parse(t, `{"kind":"reasoning.thought", "payload":{"message":"`+ghp+`"},"x":"`+ghp+`"}`)
	v, _ := thought(pipeline(t, Config{}), doc.Get("payload"))
	if want := `{"message":"[redacted:github-pat]","redacted":["github-pat"]}`; string(v.Payload) != want {
		t.Fatalf("got %s, want %s", v.Payload, want)
	}
}

func TestAbsentPayload(t *testing.T) {
	if v, err := thought(pipeline(t, Config{}), protocol.Value{}); v.Payload != nil || v.Redacted != nil || err != nil {
		t.Fatal(v, err)
	}
}

func TestBlock(t *testing.T) {
	p := pipeline(t, Config{Action: ActionBlock})
	cases := map[string]string{
		`{"a~/b":[1,{"m":"x ` + ghp + `"}]}`: "/payload/a~0~1b/1/m",
		`{"a":{"` + ghp + `":1}}`:            "/payload/a",
		`{"` + npm + `":"` + ghp + `"}`:      "/payload",
		`{"a":"","b":["` + ghp + `"]}`:       "/payload/b/0",
	}
	for in, path := range cases {
		v, err := request(p, parse(t, in))
		if v.Payload != nil || v.Redacted != nil || err == nil {
			t.Fatalf("%s: got %s, %v, %v", in, v.Payload, v.Redacted, err)
		}
		if err.Code != protocol.CodeInvalidPayload || err.Path != path || !strings.Contains(err.Message, "(github-pat)") && !strings.Contains(err.Message, "(npm-access-token)") {
			t.Errorf("%s: got %+v", in, err)
		}
		if said, _ := json.Marshal(err); strings.Contains(string(said), ghp[4:]) || strings.Contains(string(said), npm[4:]) {
			t.Errorf("the error repeats the secret: %s", said)
		}
	}
	if _, err := request(p, parse(t, `{"message":"clean"}`)); err != nil {
		t.Fatal(err)
	}
	// The path of a finding leads past a key that is a secret of its own.
	w := walk{p: p}
	for k := range parse(t, `{"`+ghp+`":"y"}`).Members {
		if got := w.cleanKey(k); got != "[redacted:github-pat]" {
			t.Errorf("got %s", got)
		}
	}
}

func TestApplies(t *testing.T) {
	chat, err := protocol.ParseKindPattern("chat")
	if err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		kinds []protocol.KindPattern
		kind  protocol.Kind
		want  bool
	}{
		{nil, protocol.KindReasoningThought, true},
		{nil, protocol.KindChat, false},
		{[]protocol.KindPattern{chat}, protocol.KindChat, true},
		{[]protocol.KindPattern{chat}, protocol.KindReasoningThought, false},
		{[]protocol.KindPattern{}, protocol.KindReasoningThought, false},
	}
	for _, c := range cases {
		if got := pipeline(t, Config{Kinds: c.kinds}).Applies(c.kind); got != c.want {
			t.Errorf("%v, %s: got %v", c.kinds, c.kind, got)
		}
	}
}

func TestUnknownActionIsRefused(t *testing.T) {
	if _, err := New(Config{Action: "shred"}); err == nil {
		t.Fatal("no error")
	}
}

func TestFindingsAreCountedByRule(t *testing.T) {
	counts := map[string]int{}
	p := pipeline(t, Config{Found: func(stage, rule string) { counts[stage+" "+rule]++ }})
	if _, err := thought(p, parse(t, `{"a":"`+ghp+` `+ghp2+`","redacted":["`+npm+`"]}`)); err != nil {
		t.Fatal(err)
	}
	if counts["leaks github-pat"] != 2 || counts["leaks npm-access-token"] != 1 || len(counts) != 2 {
		t.Fatalf("got %v", counts)
	}
}

// upper is a stage that objects to a word, and so shows the order of stages.
type wordStage struct{ word, rule string }

func (s wordStage) name() string { return "word" }

func (s wordStage) inspect(dst []finding, t input) []finding {
	if i := strings.Index(string(t.body), s.word); i >= 0 {
		dst = append(dst, finding{Finding: redact.Finding{Rule: s.rule, Start: i, End: i + len(s.word)}})
	}
	return dst
}

func TestStagesSeeWhatEarlierOnesLeft(t *testing.T) {
	p := pipeline(t, Config{})
	p.stages = append(p.stages, wordStage{"redacted:github-pat", "second"}, wordStage{"second", "never-clean"})
	v, _ := thought(p, parse(t, `{"m":"a `+ghp+`"}`))
	if want := []string{"github-pat", "second", "never-clean"}; !slices.Equal(v.Redacted, want) {
		t.Fatalf("got %v, want %v", v.Redacted, want)
	}
	if want := `{"m":"a [[redacted:[redacted:never-clean]]]","redacted":["github-pat","second","never-clean"]}`; string(v.Payload) != want {
		t.Fatalf("got %s", v.Payload)
	}
}

// TestTextThatDoesNotComeCleanIsMaskedWhole: a stage that objects to its own
// mark must not run for ever, nor let the text through.
func TestTextThatDoesNotComeCleanIsMaskedWhole(t *testing.T) {
	p := pipeline(t, Config{})
	p.stages = []stage{wordStage{"mark", "mark"}}
	v, _ := thought(p, parse(t, `{"m":"this mark stays"}`))
	if want := `{"m":"[redacted:mark]","redacted":["mark"]}`; string(v.Payload) != want {
		t.Fatalf("got %s", v.Payload)
	}
}

func TestPipelineIsSharedSafely(t *testing.T) {
	p := pipeline(t, Config{})
	want := `{"m":"x [redacted:github-pat]","redacted":["github-pat"]}`
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				clean, _ := thought(p, parse(t, `{"m":"clean \n token"}`))
				v, _ := thought(p, parse(t, `{"m":"x `+ghp+`"}`))
				if clean.Payload != nil || string(v.Payload) != want {
					t.Errorf("got %s and %s", clean.Payload, v.Payload)
				}
			}
		})
	}
	wg.Wait()
}

// TestManySecretsInKeys: the time it takes grows with the payload and not with
// its square.
func TestManySecretsInKeys(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"x":1`)
	for range 5000 {
		b.WriteString(`,"ghp_` + random(source, "alnum", 36) + `":"` + ghp + `"`)
	}
	b.WriteByte('}')
	v, err := thought(pipeline(t, Config{}), parse(t, b.String()))
	if err != nil {
		t.Fatal(err)
	}
	if n := parse(t, string(v.Payload)).Len(); n != 5002 { // and its keys are still distinct
		t.Fatalf("%d members, want 5002", n)
	}
}
