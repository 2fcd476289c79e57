package capability

import (
	"strings"
	"testing"

	"github.com/meup-protocol/meup/protocol"
)

// must compiles a capability from JSON, or from a bare kind pattern.
func must(t testing.TB, text string) *Capability {
	t.Helper()
	if !strings.HasPrefix(text, "{") {
		text = quote(text)
	}
	c, err := ParseJSON([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return c
}

// Match is match with the steps of a decision on the request.
func (c *Capability) Match(r *Request) bool {
	w := newWork(r)
	return c.match(r, &w)
}

func all(t testing.TB, texts ...string) []*Capability {
	t.Helper()
	out := make([]*Capability, len(texts))
	for i, text := range texts {
		out[i] = must(t, text)
	}
	return out
}

func payload(t testing.TB, text string) protocol.Value {
	t.Helper()
	doc, err := protocol.ParseJSON([]byte(text), protocol.MaxDepth)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return doc.Root()
}

func TestKinds(t *testing.T) {
	for _, tt := range []struct {
		pattern string
		yes, no string
	}{
		{"chat", "chat", "chat.cancel mcp.request"},
		{"*", "chat mcp.request x.app.y", ""},
		{"mcp/request", "mcp.request", "mcp.response"},
		{"reasoning/*", "reasoning.start reasoning.thought reasoning.conclusion", "reasoning chat"},
		{"reasoning/start", "reasoning.start", "reasoning.thought"},
		{"reasoning/step", "reasoning.thought reasoning.question reasoning.anything", "reasoning.start reasoning.conclusion reasoning.cancel chat"},
		{"!reasoning/step", "reasoning.start chat", "reasoning.thought"},
		{"!mcp.*", "chat", "mcp.request"},
		{"/^mcp\\.re/", "mcp.request mcp.response", "mcp.proposal"},
		{"/^mcp\\/re/", "mcp.request", "mcp.proposal"},
	} {
		c := must(t, tt.pattern)
		for _, kind := range strings.Fields(tt.yes) {
			if !c.Match(&Request{Kind: protocol.Kind(kind)}) {
				t.Errorf("%s does not match %s", tt.pattern, kind)
			}
		}
		for _, kind := range strings.Fields(tt.no) {
			if c.Match(&Request{Kind: protocol.Kind(kind)}) {
				t.Errorf("%s matches %s", tt.pattern, kind)
			}
		}
	}
}

func TestPayload(t *testing.T) {
	const yes, no = true, false
	for _, tt := range []struct {
		pattern, value string
		allow, deny    bool
	}{
		// Texts.
		{`{"a":"x"}`, `{"a":"x"}`, yes, yes},
		{`{"a":"x"}`, `{"\u0061":"\u0078"}`, yes, yes},
		{`{"a":"\u0078"}`, `{"a":"x"}`, yes, yes},
		{`{"a":"x"}`, `{"a":"X"}`, no, no},
		{`{"a":"x"}`, `{}`, no, no},
		{`{"a":""}`, `{"a":""}`, yes, yes},
		{`{"a":""}`, `{"a":null}`, no, no},
		{`{"a":"5"}`, `{"a":5}`, no, no},
		{`{"a":"read_*"}`, `{"a":"read_file"}`, yes, yes},
		{`{"a":"read_*"}`, `{"a":"read_a/b"}`, no, no},
		{`{"a":"read_**"}`, `{"a":"read_a/b"}`, yes, yes},
		{`{"a":"/tmp/**"}`, `{"a":"/tmp/x/y"}`, yes, yes},
		{`{"a":"/tmp/**"}`, `{"a":"/tmpx"}`, no, no},
		{`{"a":"/^delete_/"}`, `{"a":"delete_file"}`, yes, yes},
		{`{"a":"/tmp/"}`, `{"a":"xtmpx"}`, yes, yes}, // a regexp
		{`{"a":"//"}`, `{"a":"//"}`, yes, yes},       // no regexp
		{`{"a":"*"}`, `{"a":null}`, yes, yes},
		{`{"a":"*"}`, `{"a":{}}`, no, no},
		{`{"a":"*"}`, `{}`, no, no},
		{`{"a":"**"}`, `{"a":{}}`, yes, yes},
		{`{"a":"**"}`, `{}`, no, no},
		// Negations.
		{`{"a":"!delete_*"}`, `{"a":"delete_file"}`, no, no},
		{`{"a":"!delete_*"}`, `{"a":"read_file"}`, yes, yes},
		{`{"a":"!delete_*"}`, `{}`, no, yes},
		{`{"a":"!delete_*"}`, `{"a":5}`, no, yes},
		{`{"a":"!delete_*"}`, `{"a":{"x":1}}`, no, yes},
		{`{"a":"!delete_*"}`, `{"a":["read","delete_x"]}`, no, yes},
		{`{"a":"!delete_*"}`, `{"a":["read","list"]}`, yes, yes},
		{`{"a":"!delete_*"}`, `{"a":[]}`, no, yes},
		{`{"a":"!/^delete/"}`, `{"a":"delete"}`, no, no},
		{`{"a":"!/^delete/"}`, `{"a":"read"}`, yes, yes},
		{`{"a":["!a","!b"]}`, `{"a":"a"}`, yes, yes},
		{`{"a":"!"}`, `{"a":"x"}`, yes, yes},
		{`{"a":"!"}`, `{"a":""}`, no, no},
		{`{"a":"!*"}`, `{"a":"x"}`, no, no},
		{`{"a":"!*"}`, `{"a":{}}`, no, yes},
		{`{"a":"!**"}`, `{"a":{}}`, no, no},
		{`{"a":"!**"}`, `{"a":[]}`, no, no},
		{`{"a":"!**"}`, `{}`, no, yes},
		{`{"a":{"b":"!x"}}`, `{}`, no, yes},
		{`{"a":{"b":"!x"}}`, `{"a":5}`, no, yes},
		{`{"a":{"b":"!x","c":"y"}}`, `{}`, no, no},
		{`{"path":"!/tmp/**","$.path":"**"}`, `{}`, no, no},
		{`{"path":"!/tmp/**","$.path":"**"}`, `{"path":"/etc"}`, yes, yes},
		// Numbers and words.
		{`{"a":1000000}`, `{"a":1e6}`, yes, yes},
		{`{"a":1e6}`, `{"a":1000000.000}`, yes, yes},
		{`{"a":1}`, `{"a":"1"}`, no, no},
		{`{"a":9007199254740993}`, `{"a":9007199254740992}`, no, no},
		{`{"a":1e999999999}`, `{"a":10e999999998}`, yes, yes},
		{`{"a":true}`, `{"a":true}`, yes, yes},
		{`{"a":true}`, `{"a":"true"}`, no, no},
		{`{"a":null}`, `{"a":null}`, yes, yes},
		{`{"a":null}`, `{}`, no, no},
		{`{"a":5}`, `{"a":[5]}`, no, yes},
		// Arrays.
		{`{"a":["x","y"]}`, `{"a":"y"}`, yes, yes},
		{`{"a":["x","y"]}`, `{"a":["x","y","x"]}`, yes, yes},
		{`{"a":["x","y"]}`, `{"a":["x","z"]}`, no, yes},
		{`{"a":["x","y"]}`, `{"a":[]}`, no, no},
		{`{"a":"x"}`, `{"a":["x","z"]}`, no, yes},
		{`{"a":"x"}`, `{"a":["x","x"]}`, yes, yes},
		{`{"a":"x"}`, `{"a":[]}`, no, no},
		{`{"a":"x"}`, `{"a":["x",["x"]]}`, no, yes},
		{`{"a":"/^x/"}`, `{"a":["x","z"]}`, no, yes},
		{`{"a":"x*"}`, `{"a":["xa","z"]}`, no, yes},
		{`{"a":"x*"}`, `{"a":["xa","xb"]}`, yes, yes},
		{`{"a":"x*"}`, `{"a":["xa",1]}`, no, yes},
		{`{"a":"*"}`, `{"a":["x",{}]}`, no, yes},
		{`{"a":"*"}`, `{"a":["x",1]}`, yes, yes},
		{`{"a":"*"}`, `{"a":[]}`, no, no},
		{`{"a":"x"}`, `{"a":[["x"]]}`, no, yes},
		{`{"a":["x",5,{"b":"c"}]}`, `{"a":[{"b":"c"},5.0]}`, yes, yes},
		// Objects and keys.
		{`{}`, `{}`, yes, yes},
		{`{"a":{}}`, `{"a":{"b":1}}`, yes, yes},
		{`{"a":{}}`, `{"a":[]}`, no, no},
		{`{"path":"/etc/**"}`, `{"PATH":"/etc/passwd"}`, no, yes},
		{`{"path":"/etc/**"}`, `{"path":"/tmp","Path":"/etc/passwd"}`, no, yes},
		{`{"key":"x"}`, `{"\u212aEY":"x"}`, no, yes}, // the Kelvin sign
		{`{"p*":"/etc/**"}`, `{"PATH":"/etc/passwd"}`, no, yes},
		{`{"x-*":"v"}`, `{"x-a/b":"v"}`, yes, yes},
		{`{"x-*":"v"}`, `{"y":"v"}`, no, no},
		{`{"*":"!x"}`, `{}`, no, no},
		{`{"**":"secret"}`, `{"a":[{"b":"secret"}]}`, yes, yes},
		{`{"**":"secret"}`, `{"a":["secret"]}`, yes, yes},
		{`{"**":"secret"}`, `{"a":["other"]}`, no, no},
		{`{"**":{"name":"x"}}`, `{"name":"x"}`, yes, yes},
		{`{"**":{"name":"x"}}`, `{"a":{"name":"x"}}`, yes, yes},
		{`{"**":{"name":"!x"}}`, `{"a":{"name":"x"}}`, no, no},
		{`{"**":{"name":"!x"}}`, `{"a":{"name":"y"}}`, yes, yes},
		// Paths.
		{`{"$.a.b":"x"}`, `{"a":{"b":"x"}}`, yes, yes},
		{`{"$.a.b":"!x"}`, `{}`, no, yes},
		{`{"$['a.b']":"x"}`, `{"a.b":"x"}`, yes, yes},
		{`{"$['it\\'s']":"x"}`, `{"it's":"x"}`, yes, yes},
		{`{"$[\"a\"]":"x"}`, `{"a":"x"}`, yes, yes},
		{`{"$.a[1]":"x"}`, `{"a":["y","x"]}`, yes, yes},
		{`{"$.a[2]":"x"}`, `{"a":["y","x"]}`, no, no},
		{`{"$.a[2]":"!x"}`, `{"a":["y","x"]}`, no, yes},
		{`{"$.a[*]":"x"}`, `{"a":["y","x"]}`, yes, yes},
		{`{"$.a[*]":"x"}`, `{"a":{"b":"x"}}`, yes, yes},
		{`{"$.a.*":"x"}`, `{"a":{"b":"x"}}`, yes, yes},
		{`{"$..name":"x"}`, `{"a":[{"name":"x"}]}`, yes, yes},
		{`{"$..name":"x"}`, `{"a":[{"NAME":"x"}]}`, no, yes},
		{`{"$..*":"x"}`, `{"a":[["x"]]}`, yes, yes},
		{`{"$..['a b']":"x"}`, `{"c":{"a b":"x"}}`, yes, yes},
		{`{"a":{"$.b":"x"}}`, `{"a":{"b":"x"}}`, yes, yes}, // $ is the object of the key
	} {
		v := payload(t, tt.value)
		for _, x := range []struct {
			suffix string
			want   bool
		}{{"}", tt.allow}, {`,"deny":true}`, tt.deny}} {
			c := must(t, `{"kind":"k","payload":`+tt.pattern+x.suffix)
			if got := c.Match(&Request{Kind: "k", Payload: v}); got != x.want {
				t.Errorf("%s on %s: %v, want %v", c, tt.value, got, x.want)
			}
			if reason := c.explain(&Request{Kind: "k", Payload: v}); strings.HasSuffix(reason, "s it") != x.want {
				t.Errorf("%s on %s: explained as %v", c, tt.value, reason)
			}
		}
	}
}

func TestPayloadAbsent(t *testing.T) {
	r := &Request{Kind: "chat"}
	if !must(t, `{"kind":"chat","payload":{}}`).Match(r) {
		t.Error("an absent payload is an empty object")
	}
	if must(t, `{"kind":"chat","payload":"*"}`).Match(r) {
		t.Error("an object is no scalar")
	}
}

func TestTo(t *testing.T) {
	for _, tt := range []struct {
		pattern, to string
		allow, deny bool
	}{
		{`"alice"`, "alice", true, true},
		{`"alice"`, "alice bob", true, true},
		{`"alice"`, "", false, false},
		{`"*"`, "", false, false},
		{`"*"`, "bob", true, true},
		{`"agent-*"`, "agent-7", true, true},
		{`"!alice"`, "bob", true, true},
		{`"!alice"`, "alice bob", false, true},
		{`"!alice"`, "alice", false, false},
		{`"!alice"`, "", false, true},
		{`["alice","bob"]`, "alice bob", true, true},
		{`["alice","bob"]`, "alice carol", false, true},
		{`["alice","bob"]`, "carol", false, false},
		{`["!alice","bob"]`, "", false, true},
		{`"/^a/"`, "bob alice", true, true},
	} {
		var to []protocol.ParticipantID
		for _, id := range strings.Fields(tt.to) {
			to = append(to, protocol.ParticipantID(id))
		}
		for suffix, want := range map[string]bool{"}": tt.allow, `,"deny":true}`: tt.deny} {
			c := must(t, `{"kind":"chat","to":`+tt.pattern+suffix)
			if got := c.Match(&Request{Kind: "chat", To: to}); got != want {
				t.Errorf("%s to %q: %v, want %v", c, tt.to, got, want)
			}
		}
	}
}

func TestContext(t *testing.T) {
	for _, tt := range []struct {
		pattern, context string
		allow, deny      bool
	}{
		{`"msg-3"`, "msg-3", true, true},
		{`"msg-3"`, "msg-3/sub/x", true, true},
		{`"msg-3"`, "msg-301", false, false},
		{`"msg-3"`, "", false, false},
		{`"msg-*"`, "msg-301/sub", true, true},
		{`"*/sub"`, "a/sub/b", true, true},
		{`"**/x"`, "a/b/x", true, true},
		{`"msg-1/**"`, "msg-1", false, false},
		{`""`, "", true, true},
		{`""`, "msg-1", false, false},
		{`"!"`, "msg-1", true, true},
		{`"!"`, "", false, false},
		{`"!secret"`, "secret/a", false, false},
		{`"!secret"`, "open", true, true},
		{`"!secret"`, "", false, true},
		{`["","msg-1"]`, "", true, true},
		{`["","msg-1"]`, "msg-1/a", true, true},
		{`"/^msg-\\d$/"`, "msg-1/a", true, true},
		{`"*"`, "", false, false},
	} {
		for suffix, want := range map[string]bool{"}": tt.allow, `,"deny":true}`: tt.deny} {
			c := must(t, `{"kind":"chat","context":`+tt.pattern+suffix)
			if got := c.Match(&Request{Kind: "chat", Context: protocol.ContextPath(tt.context)}); got != want {
				t.Errorf("%s in %q: %v, want %v", c, tt.context, got, want)
			}
		}
	}
}

// A long text must neither cost much nor slip past a regexp.
func TestRegexpOnLongText(t *testing.T) {
	const maxRegexpText = 64 << 10
	long := payload(t, `{"a":"`+strings.Repeat("x", maxRegexpText+1)+`"}`)
	escaped := payload(t, `{"a":"\u0078`+strings.Repeat("x", maxRegexpText)+`"}`)
	for _, p := range []string{"/^x/", "!/^x/", "/y/", "!/y/"} {
		allow := must(t, `{"kind":"k","payload":{"a":"`+p+`"}}`)
		deny := must(t, `{"kind":"k","payload":{"a":"`+p+`"},"deny":true}`)
		for _, v := range []protocol.Value{long, escaped} {
			r := &Request{Kind: "k", Payload: v}
			if allow.Match(r) || !deny.Match(r) {
				t.Errorf("%s on a long text: allow %v, deny %v", p, allow.Match(r), deny.Match(r))
			}
		}
	}
}

// Many patterns over a large payload are given up, to the safe side.
func TestWorkIsBounded(t *testing.T) {
	alternatives := strings.Repeat(`"y",`, 200) + `"z"`
	array := payload(t, `{"a":[`+strings.Repeat(`"z",`, 200_000)+`"x"]}`)
	object := payload(t, `{"b":1}`)
	for pattern, v := range map[string]protocol.Value{
		`{"a":[` + alternatives + `]}`:                              array,
		`{"$.a[*]":["no","` + strings.Repeat(`y","`, 200) + `no"]}`: array,
	} {
		r := &Request{Kind: "k", Payload: v}
		if must(t, `{"kind":"k","payload":`+pattern+`}`).Match(r) {
			t.Error("given up, and allowed")
		}
		if !must(t, `{"kind":"k","payload":`+pattern+`,"deny":true}`).Match(r) {
			t.Error("given up, and not denied")
		}
	}
	set := NewSet(all(t, `{"kind":"k","payload":{"a":[`+alternatives+`]},"deny":true}`, "k")...)
	if d := set.Decide(&Request{Kind: "k", Payload: array}); d.Allowed {
		t.Error("given up, and allowed by another capability")
	}
	if d := set.Decide(&Request{Kind: "k", Payload: object}); !d.Allowed {
		t.Error("a small payload is denied")
	}
}

// What was given up may match, and nobody has seen it.
func TestCapability_SeesNothingBehindTheBounds(t *testing.T) {
	for name, c := range map[string]struct{ pattern, value string }{
		"steps":              {`{"a":["no` + strings.Repeat(`y","`, 200) + `no"]}`, `{"a":[` + strings.Repeat(`"x",`, 100_000) + `"x"]}`},
		"a regexp on a text": {`{"a":"/drop/"}`, `{"a":"` + strings.Repeat("x", 64<<10+1) + `"}`},
	} {
		r := &Request{Kind: "k", Payload: payload(t, c.value)}
		rule := must(t, `{"kind":"k","payload":`+c.pattern+`,"deny":true}`)
		if !rule.Possible(r) || rule.Sees(r) {
			t.Errorf("%s: possible %t, seen %t", name, rule.Possible(r), rule.Sees(r))
		}
	}
}

// A deny rule sees what stands in a command, and not what may be hidden in it.
func TestCapability_Sees(t *testing.T) {
	rule, err := ParseJSON([]byte(`{"kind":"mcp.request","payload":{"params":{"arguments":{"command":{"$shell":{"commands":["rm"]}}}}},"deny":true}`))
	if err != nil {
		t.Fatal(err)
	}
	for arguments, want := range map[string][2]bool{ // denied, seen
		`{"command":"make; rm x"}`:   {true, true},
		`{"Command":"rm x"}`:         {true, true},
		`{"command":["ls","rm x"]}`:  {true, true},
		`{"command":["rm","x"]}`:     {true, true},
		`{"command":"make"}`:         {true, false},
		`{"command":["sh",7]}`:       {true, false},
		`{"command":{"run":"make"}}`: {true, false},
		`{"command":"ls"}`:           {false, false},
		`{}`:                         {false, false},
	} {
		doc, err := protocol.ParseJSON([]byte(`{"params":{"arguments":`+arguments+`}}`), protocol.MaxDepth)
		if err != nil {
			t.Fatal(err)
		}
		r := Request{Kind: protocol.KindMCPRequest, Payload: doc.Root()}
		if got := [2]bool{rule.Possible(&r), rule.Sees(&r)}; got != want {
			t.Errorf("%s: %v", arguments, got)
		}
	}
}
