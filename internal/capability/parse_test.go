package capability

import (
	"errors"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/protocol"
)

func TestParseFaults(t *testing.T) {
	nested := func(n int) string {
		return `{"kind":"k","payload":` + strings.Repeat(`{"a":`, n) + `1` + strings.Repeat("}", n) + `}`
	}
	for _, tt := range []struct{ text, pointer, says string }{
		{`5`, "", "string or an object, not number"},
		{`null`, "", "not null"},
		{`{}`, "", "a kind is missing"},
		{`""`, "", "a kind is 1 to"},
		{`{"kind":5}`, "/kind", "string, not number"},
		{`{"kind":"a b"}`, "/kind", "A-Z"},
		{`{"kind":"!!chat"}`, "/kind", "kind"},
		{`{"kind":"/(/"}`, "/kind", "missing closing"},
		{`{"kind":"k","from":"x"}`, "/from", "unknown key"},
		{`{"kind":"k","a/b":"x"}`, "/a~1b", "unknown key"},
		{`{"kind":"k","deny":"yes"}`, "/deny", "true or false"},
		{`{"kind":"k","to":5}`, "/to", "string or an array"},
		{`{"kind":"k","to":{}}`, "/to", "string or an array"},
		{`{"kind":"k","to":[]}`, "/to", "empty"},
		{`{"kind":"k","to":["a",["b"]]}`, "/to/1", "string or an array"},
		{`{"kind":"k","context":"/(/"}`, "/context", "missing closing"},
		{`{"kind":"k","payload":{"a":[]}}`, "/payload/a", "empty"},
		{`{"kind":"k","payload":{"a":[{"b":"!!x"}]}}`, "/payload/a/0/b", "negated"},
		{`{"kind":"k","payload":{"a":"/[/"}}`, "/payload/a", "missing closing"},
		{`{"kind":"k","payload":{"a":"/(a{1000}){2}/"}}`, "/payload/a", "repeat"},
		{`{"kind":"k","payload":{"a":"/a{1000}b{1000}/"}}`, "/payload/a", "too large"},
		{`{"kind":"k","payload":{"a":"/` + strings.Repeat("a", 300) + `/"}}`, "/payload/a", "at most 256 bytes"},
		{`{"kind":"k","payload":{"a":"` + strings.Repeat("a", 300) + `*"}}`, "/payload/a", "at most 256 bytes"},
		{`{"kind":"k","payload":{"` + strings.Repeat("a", 300) + `*":1}}`, "/payload/" + strings.Repeat("a", 300) + "*", "at most 256 bytes"},
		{`{"kind":"k","payload":{"a":["/1/","/2/","/3/","/4/","/5/","/6/","/7/","/8/","/9/"]}}`, "/payload/a/8", "at most 8 regexps"},
		{`{"kind":"k","payload":{"a":1e9999999999999}}`, "/payload/a", "exponent"},
		{nested(20), "/payload" + strings.Repeat("/a", 16), "nested deeper than 16"},
		{`{"kind":"k","payload":{"**":{"**":1}}}`, "/payload/**/**", "none below another"},
		{`{"kind":"k","payload":{"$..a..b":1}}`, "/payload/$..a..b", "none below another"},
		{`{"kind":"k","payload":{"$":1}}`, "/payload/$", "character 2"},
		{`{"kind":"k","payload":{"$ref":1}}`, "/payload/$ref", "unknown matcher $ref"},
		{`{"kind":"k","payload":{"$.":1}}`, "/payload/$.", "character 2 begins none"},
		{`{"kind":"k","payload":{"$.a[-1]":1}}`, "/payload/$.a[-1]", "character 4 begins none"},
		{`{"kind":"k","payload":{"$.a[01]":1}}`, "/payload/$.a[01]", "character 4"},
		{`{"kind":"k","payload":{"$.a[0:2]":1}}`, "/payload/$.a[0:2]", "character 4"},
		{`{"kind":"k","payload":{"$.a[?(@.b)]":1}}`, "/payload/$.a[?(@.b)]", "character 4"},
		{`{"kind":"k","payload":{"$.a['b":1}}`, "/payload/$.a['b", "character 4 begins none"},
		{`{"kind":"k","payload":{"$.a['b'":1}}`, "/payload/$.a['b'", "character 4"},
		{`{"kind":"k","payload":{"$['\\n']":1}}`, `/payload/$['\n']`, "character 2"},
		{`{"kind":"k","payload":{"$[":1}}`, "/payload/$[", "character 2"},
		{`{"kind":"k","payload":{"$[*":1}}`, "/payload/$[*", "character 2"},
		{`{"kind":"k","payload":{"$` + strings.Repeat(".a", 17) + `":1}}`, "/payload/$" + strings.Repeat(".a", 17), "more than 16 steps"},
		{`{"kind":"k","payload":{"a":[` + strings.Repeat("1,", 300) + `1]}}`, "/payload/a/254", "at most 256 field patterns"},
		{`"` + strings.Repeat("a", 5000) + `"`, "", "more than 4096 bytes"},
	} {
		_, err := ParseJSON([]byte(tt.text))
		var fault *PatternError
		if !errors.As(err, &fault) {
			t.Errorf("%s: error %v, want a pattern.Error", tt.text, err)
			continue
		}
		if fault.Pointer != tt.pointer || !strings.Contains(fault.Error(), tt.says) {
			t.Errorf("%s:\n%v\nwant %q at %q", tt.text, fault, tt.says, tt.pointer)
		}
		if fault.Unwrap() == nil {
			t.Errorf("%s: nothing is wrapped", tt.text)
		}
	}
	var syntax *protocol.SyntaxError
	for _, text := range []string{``, `{`, `{"kind":"a","kind":"b"}`, "\"\xff\""} {
		if _, err := ParseJSON([]byte(text)); !errors.As(err, &syntax) {
			t.Errorf("%q: error %v, want a SyntaxError", text, err)
		}
	}
	if _, err := Parse(protocol.Value{}); err == nil {
		t.Error("an absent value is no capability")
	}
}

func TestShown(t *testing.T) {
	for _, tt := range []struct{ text, slash, deny string }{
		{`"chat"`, `"chat"`, `{"kind":"chat","deny":true}`},
		{`"mcp.request"`, `"mcp/request"`, `{"kind":"mcp.request","deny":true}`},
		{`"!reasoning.*"`, `"!reasoning/*"`, `{"kind":"!reasoning.*","deny":true}`},
		{`"mcp/x.y"`, `"mcp/x.y"`, `{"kind":"mcp/x.y","deny":true}`},
		{`"/^x\\./"`, `"/^x\\./"`, `{"kind":"/^x\\./","deny":true}`},
		{`{ "payload":{"a":"<b>"}, "kind" : "mcp\u002erequest" }`, `{ "payload":{"a":"<b>"}, "kind" : "mcp/request" }`,
			`{"payload":{"a":"<b>"},"kind":"mcp\u002erequest","deny":true}`},
		{`{"kind":"a.b","deny":false}`, `{"kind":"a/b","deny":false}`, `{"kind":"a.b","deny":true}`},
	} {
		c, err := ParseJSON([]byte(tt.text))
		if err != nil {
			t.Fatal(err)
		}
		if string(c.source) != tt.text || string(c.slash) != tt.slash {
			t.Errorf("%s is shown as %s and %s", tt.text, c.source, c.slash)
		}
		if got := string(c.asDeny().source); got != tt.deny {
			t.Errorf("%s as a deny rule is %s", tt.text, got)
		}
	}
}

func TestParseCopies(t *testing.T) {
	text := []byte(`{"kind":"k","payload":{"a":12.5,"b":true,"c":"x*"}}`)
	c, err := ParseJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	for i := range text {
		text[i] = '#'
	}
	if !c.Match(&Request{Kind: "k", Payload: payload(t, `{"a":12.50,"b":true,"c":"xy"}`)}) {
		t.Error("the capability depends on the text it was parsed from")
	}
}
