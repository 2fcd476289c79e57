package textutil_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/meup-protocol/meup/internal/kit/textutil"
)

func TestJSONFault(t *testing.T) {
	type inner struct {
		B bool           `json:"b"`
		L []string       `json:"l"`
		M map[string]int `json:"m"`
	}
	var v struct {
		Name  string  `json:"name"`
		N     int     `json:"n"`
		F     float64 `json:"f"`
		Inner inner   `json:"inner"`
	}
	for in, want := range map[string]string{
		`5`:                       "expected an object, not a number",
		`"x"`:                     "expected an object, not a string",
		`{"name":5}`:              "name: expected a string, not a number",
		`{"name":{}}`:             "name: expected a string, not an object",
		`{"n":"5"}`:               "n: expected an integer of at most 64 bits, without a fraction or an exponent, not a string",
		`{"n":5.0}`:               "n: expected an integer of at most 64 bits, without a fraction or an exponent, not 5.0",
		`{"f":1e400}`:             "f: expected a number of at most 1.8e308, not 1e400",
		`{"inner":[]}`:            "inner: expected an object, not an array",
		`{"inner":{"b":"x"}}`:     "inner.b: expected a boolean, not a string",
		`{"inner":{"l":true}}`:    "inner.l: expected an array, not a boolean",
		`{"inner":{"l":["x",5]}}`: "inner.l: expected a string, not a number",
		`{`:                       "unexpected end of JSON input",
	} {
		if got := textutil.JSONFault(fmt.Errorf("wrapped: %w", json.Unmarshal([]byte(in), &v))); got != want && got != "wrapped: "+want {
			t.Errorf("%s: got %q, want %q", in, got, want)
		}
	}
	// The decoder of the MCP SDK describes the value by the text from it on.
	for value, want := range map[string]string{
		`"5}"`: "a number", `"\"x\"}"`: "a string", `"{}"`: "an object", `"[]"`: "an array", `"true}"`: "a boolean", `"-1"`: "a number", "number 1e+30 overflows": "1e+30",
	} {
		err := &json.UnmarshalTypeError{Value: value, Type: reflect.TypeFor[string](), Struct: "mcp.Params", Field: "name"}
		if got, want := textutil.JSONFault(err), "name: expected a string, not "+want; got != want {
			t.Errorf("%s: got %q, want %q", value, got, want)
		}
	}
	if got := textutil.JSONFault(errors.New("x")); got != "x" {
		t.Errorf("another error: %q, want x", got)
	}
}
