package capability

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/protocol"
)

var fuzzCapabilities = []string{
	`"*"`, `"reasoning/step"`, `"!mcp.*"`, `"/^x\\./"`, `5`, `{}`, `{"kind":5}`,
	`{"kind":"k","payload":{"a":"!x*","$..b[0]['c']":[1e6,null,{"**":"**"}]},"to":["!a","/b/"],"context":"","deny":true}`,
	`{"kind":"k","payload":{"$.a.b":"!*","**":"/a{2}/"}}`,
	`{"kind":"k","payload":{"$[":1}}`, `{"kind":"k","payload":1e99999999999999999999}`,
	`{"kind":"k","payload":{"PATH":["!a","!b"],"x*":"**a*b/c"}}`,
}

var fuzzPayloads = []string{
	`{}`, `{"a":"x","b":[{"c":1000000}]}`, `{"path":["a","b"],"xy":"za1b/c"}`, `{"a":{"b":{}}}`, `{"a":[[]]}`, `{"A":null,"a":1E+6}`,
}

// FuzzParse checks that invalid input is rejected, and that a parsed capability
// can be used, printed and parsed again.
func FuzzParse(f *testing.F) {
	for _, s := range fuzzCapabilities {
		f.Add([]byte(s))
	}
	r := &Request{Kind: "k", Payload: payload(f, fuzzPayloads[1]), To: []protocol.ParticipantID{"a"}, Context: "a/b"}
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := ParseJSON(text)
		if err != nil {
			if len(err.Error()) > 3*maxBytes {
				t.Fatalf("an error of %d bytes", len(err.Error()))
			}
			return
		}
		c.Match(r)
		deny := c.asDeny()
		for _, shown := range []json.RawMessage{c.source, c.slash, deny.source, deny.slash} {
			if len(shown) > maxBytes {
				continue
			}
			again, err := ParseJSON(shown)
			if err != nil {
				t.Fatalf("%s is shown as %s: %v", text, shown, err)
			}
			if again.Deny() == c.Deny() && again.Match(r) != c.Match(r) {
				t.Fatalf("%s and %s match differently", text, shown)
			}
		}
		if !c.Deny() && c.Match(r) && !deny.Match(r) {
			t.Fatalf("%s allows what it would not deny", text)
		}
		Lint("a", []*Capability{c, deny}, []protocol.ParticipantID{"a"})
		c.explain(r)
		if !c.Deny() && !c.clearlyCovers(c) {
			t.Fatalf("%s does not cover itself", text)
		}
	})
}

// FuzzMatch compares with the oracle.
func FuzzMatch(f *testing.F) {
	for i, s := range fuzzCapabilities {
		f.Add([]byte(s), []byte(fuzzPayloads[i%len(fuzzPayloads)]), "k", "a", "a/b")
	}
	f.Fuzz(func(t *testing.T, text, value []byte, kind, to, context string) {
		c, err := ParseJSON(text)
		if err != nil {
			return
		}
		k, ok := protocol.ParseKind(kind)
		doc, err := protocol.ParseJSON(value, protocol.MaxDepth)
		if !ok || err != nil || doc.Root().Type() != protocol.TypeObject || !oracleCan(text, value) {
			return
		}
		r := oracleRequest{kind: string(k), payload: decode(t, value)}
		if path, ok := protocol.ParseContextPath(context, protocol.DefaultContextDepth); ok {
			r.context = string(path)
		}
		if protocol.ValidParticipantID(to) {
			r.to = []string{to, "b"}
		}
		request, err := r.compile(value)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := c.Match(request), oracleMatch(decode(t, text), r); got != want {
			t.Fatalf("%s on %s %s to %q in %q: %v, want %v", text, k, value, r.to, r.context, got, want)
		}
	})
}

// oracleCan reports whether the oracle supports the texts: it expands exponents,
// folds ASCII only and supports no backslash in a path.
func oracleCan(texts ...[]byte) bool {
	for _, text := range texts {
		if len(text) > 2000 || strings.Contains(string(text), `\`) {
			return false
		}
		for i, c := range text {
			if c >= 0x80 || (c == 'e' || c == 'E') && i+3 < len(text) && strings.Trim(string(text[i+1:i+4]), "0123456789+-") == "" {
				return false
			}
		}
	}
	return true
}

func decode(t *testing.T, text []byte) any {
	var v any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}
