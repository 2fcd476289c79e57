package planner_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/agent/planner"
)

func TestValidate(t *testing.T) {
	const schema = `{"type":"object","properties":{"path":{"type":"string"},"head":{"type":"integer"}},"required":["path"],"additionalProperties":false}`
	for _, test := range []struct{ schema, args, want string }{
		{schema, `{"path":"a","head":3}`, ""},
		{schema, `{"path":"a","head":90071992547409930001}`, ""},
		{schema, `{"path":1}`, "/path"},
		{schema, `{}`, "path"},
		{schema, `{"path":"a","x":1}`, "x"},
		{schema, `[]`, "expected an object"},
		{schema, `{"path":"a","path":"b"}`, "duplicate"},
		{schema, `{"path":`, "arguments"},
		{schema, strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 100), "deep"},
		{schema, `{"path":"a","head":1e9999999}`, "exponent"},
		{schema, `{"path":"a","head":-1E+999999999999999999999}`, "exponent"},
		{schema, `{"path":"a","head":1e-9999999}`, "exponent"},
		{schema, `{"path":"a","head":` + strings.Repeat("9", 100_000) + `}`, "longer"},
		{schema, `{"path":"a","head":` + strings.Repeat("9", 1000) + `}`, ""},
		{schema, `{"path":"a","head":1.5e+300}`, ""},
		{`{"items":{}}`, `{"a":[{"b":1e9999999}]}`, "exponent"},
		{`{"properties":{"a":{"maximum":1e9999999}}}`, `{"a":1}`, "input schema"},
		{`{"properties":{"a":{"const":1e9999999}}}`, `{"a":1}`, "input schema"},
		{``, `{"anything":1}`, ""},
		{``, `{"anything":1e9999999}`, ""},
		{`null`, `{}`, ""},
		{`{"$ref":"file:///etc/passwd"}`, `{}`, "not followed"},
		{`{"$ref":"http://127.0.0.1:1/x"}`, `{}`, "not followed"},
		{`{"type":"nonsense"}`, `{}`, "input schema"},
		{`{`, `{}`, "input schema"},
	} {
		err := planner.Validate(json.RawMessage(test.schema), json.RawMessage(test.args))
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%.60s against %.60s: %v, want %q", test.args, test.schema, err, test.want)
		}
	}
}

// FuzzValidate checks that Validate does not panic: a tool's owner is
// untrusted.
func FuzzValidate(f *testing.F) {
	f.Add(`{"type":"object"}`, `{"a":1}`)
	f.Add(`{"$ref":"#"}`, `{}`)
	f.Add(`{"properties":{"a":{"type":"number"}}}`, `{"a":1e9999999}`)
	f.Add(`{"properties":{"a":{"multipleOf":1e-399}}}`, `{"a":1e399}`)
	f.Add(`{"properties":{"a":{"$ref":"#"}}}`, `{"a":{"a":{}}}`)
	f.Fuzz(func(_ *testing.T, schema, args string) {
		_ = planner.Validate(json.RawMessage(schema), json.RawMessage(args))
	})
}
