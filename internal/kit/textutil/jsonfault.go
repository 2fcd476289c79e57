package textutil

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
)

// JSONFault returns the text of an error of decoding JSON, for the author of the JSON: of a
// value of a wrong type, the place, what was expected, and what is there, instead of the names of
// Go types.
func JSONFault(err error) string {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return err.Error()
	}
	text := "expected " + kindOf(wrong.Type) + ", not " + found(wrong.Value)
	if wrong.Field != "" {
		text = wrong.Field + ": " + text
	}
	return text
}

func kindOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "a boolean"
	case reflect.String:
		return "a string"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Float32, reflect.Float64:
		return "a number of at most 1.8e308"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "an integer of at most 64 bits, without a fraction or an exponent"
	}
	return "an object"
}

// found describes the value of an error: its type and perhaps the number, or, from the decoder of
// the MCP SDK, the quoted beginning of the rest of the text.
func found(value string) string {
	if number, ok := strings.CutPrefix(value, "number "); ok {
		return strings.TrimSuffix(number, " overflows")
	}
	kinds := map[byte]string{'{': "an object", 'o': "an object", '[': "an array", 'a': "an array", '"': "a string", '\\': "a string", 's': "a string", 't': "a boolean", 'f': "a boolean", 'b': "a boolean"}
	if kind := kinds[(strings.TrimPrefix(value, `"`) + " ")[0]]; kind != "" {
		return kind
	}
	return "a number"
}
