package mcptools

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestRepaired(t *testing.T) {
	nested := func(n int) string { return strings.Repeat(`{"a":[`, n/2) + strings.Repeat("]}", n/2) }
	const invalid = `{"jsonrpc":"2.0","id":ID,"error":{"code":-32603,"message":"the tool server's response is invalid: WHY"}}`
	for _, test := range []struct{ name, message, id, why string }{
		{"a result", `{"jsonrpc":"2.0","id":1,"result":{}}`, "", ""},
		{"an error", `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no"}}`, "", ""},
		{"null", `{"jsonrpc":"2.0","id":1,"result":null}`, "", ""},
		{"a request", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, "", ""},
		{"a deep request", `{"jsonrpc":"2.0","id":1,"method":"x","params":` + nested(2000) + `}`, "", ""},
		{"a deep result", `{"jsonrpc":"2.0","id":1,"result":` + nested(998) + `}`, "", ""},
		{"a line of a log", `{"id":1,"msg":"hello"}`, "", ""},
		{"no object", `[1]`, "", ""},
		{"an id that is none", `{"jsonrpc":"2.0","id":null}`, "", ""},
		{"nothing", `{"jsonrpc":"2.0","id":1}`, "1", "it has neither result nor error"},
		{"nothing else", `{"x":{"method":"y"},"jsonrpc":"2.0","id":"a\"{b"}`, `"a\"{b"`, "it has neither result nor error"},
		{"a result that is nested too deeply", `{"jsonrpc":"2.0","result":` + nested(200_000) + `,"id":1}`, "1", "it is nested deeper than 1000 levels"},
		{"a result that is no JSON", `{"jsonrpc":"2.0","id":1,"result":{"a":x}}`, "1", "it is not JSON"},
		{"a result with text behind it", `{"jsonrpc":"2.0","id":1,"result":{}} }{"a":1}`, "1", "it is not JSON"},
		{"a notification with text behind it", `{"jsonrpc":"2.0","method":"x"} }{"a":1}`, "", ""},
		{"an error that is none", `{"jsonrpc":"2.0","id":1,"error":"no"}`, "1", "error: expected an object, not a string"},
		{"a code that is none", `{"jsonrpc":"2.0","id":1,"error":{"code":"E1","message":"no"}}`, "1", "error.code: expected an integer of at most 64 bits, without a fraction or an exponent, not a string"},
	} {
		t.Run(test.name, func(t *testing.T) {
			want := test.message
			if test.why != "" {
				want = strings.NewReplacer("ID", test.id, "WHY", test.why).Replace(invalid)
			}
			text, _ := repaired([]byte(test.message))
			got := string(text)
			if got != want {
				t.Errorf("got %.200s, want %.200s", got, want)
			}
			if test.why != "" && !json.Valid([]byte(got)) {
				t.Errorf("%s is not JSON", got)
			}
		})
	}
}
