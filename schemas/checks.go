package schemas

import (
	"slices"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

// The checks of the fields. Each accepts a subset of the values that the schema
// accepts: unusual spellings (a number as 1e0, an id with escapes) are left to
// the schema.

// typed accepts the values of some types.
func typed(types ...protocol.Type) func(protocol.Value) bool {
	return func(v protocol.Value) bool { return slices.Contains(types, v.Type()) }
}

var (
	text     = typed(protocol.TypeString)
	boolean  = typed(protocol.TypeBool)
	array    = typed(protocol.TypeArray)
	params   = typed(protocol.TypeObject, protocol.TypeArray)
	idNumber = typed(protocol.TypeString, protocol.TypeNumber)
	idOrNull = typed(protocol.TypeString, protocol.TypeNumber, protocol.TypeNull)
)

func anything(protocol.Value) bool { return true }

func participantID(v protocol.Value) bool { return protocol.ValidParticipantID(v.Text()) }

// timestamp accepts a time in the form of [time.RFC3339Nano].
func timestamp(v protocol.Value) bool {
	s, plain := v.Plain()
	if !plain {
		return false
	}
	t, err := time.Parse(time.RFC3339Nano, string(s))
	return err == nil && t.Format(time.RFC3339Nano) == string(s)
}

// filled accepts a non-empty string.
func filled(v protocol.Value) bool {
	s, plain := v.Plain()
	return plain && len(s) > 0
}

func format(v protocol.Value) bool { return v.EqualText("plain") || v.EqualText("markdown") }

// count accepts a non-negative integer.
func count(v protocol.Value) bool {
	n, ok := integer(v)
	return ok && n >= 0
}

// integer parses a number of up to nine digits without point and exponent.
func integer(v protocol.Value) (int, bool) {
	raw := v.Raw()
	if v.Type() != protocol.TypeNumber || len(raw) > 10 {
		return 0, false
	}
	negative := raw[0] == '-'
	if negative {
		raw = raw[1:]
	}
	n := 0
	for _, c := range raw {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	if negative {
		n = -n
	}
	return n, len(raw) < 10
}

// fraction accepts 0, 1, and "0." followed by digits.
func fraction(v protocol.Value) bool {
	raw := v.Raw()
	if v.Type() != protocol.TypeNumber || len(raw) > 20 {
		return false
	}
	if len(raw) == 1 {
		return raw[0] == '0' || raw[0] == '1'
	}
	if raw[0] != '0' || raw[1] != '.' {
		return false
	}
	for _, c := range raw[2:] {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// rpcError accepts a JSON-RPC error.
func rpcError(v protocol.Value) bool {
	if v.Type() != protocol.TypeObject {
		return false
	}
	var code, message bool
	for k, x := range v.Members {
		switch name, plain := k.Plain(); {
		case !plain:
			return false
		case string(name) == "code":
			_, code = integer(x)
			if !code {
				return false
			}
		case string(name) == "message":
			message = text(x)
			if !message {
				return false
			}
		}
	}
	return code && message
}

// ids accepts an array of ids.
func ids(v protocol.Value) bool {
	if v.Type() != protocol.TypeArray {
		return false
	}
	for x := range v.Elements {
		s, plain := x.Plain()
		// The compiler keeps a conversion that does not outlive the call on the
		// stack only up to 32 bytes; longer ids are left to the schema.
		if !plain || len(s) > 32 || !protocol.ValidID(string(s)) {
			return false
		}
	}
	return true
}

// metadata accepts the metadata of reasoning.start.
func metadata(v protocol.Value) bool {
	if v.Type() != protocol.TypeObject {
		return false
	}
	for k, x := range v.Members {
		name, plain := k.Plain()
		switch {
		case !plain,
			string(name) == "approach" && !text(x),
			string(name) == "estimated_duration" && !idNumber(x),
			string(name) == "confidence" && !fraction(x):
			return false
		}
	}
	return true
}

// questions accepts a non-empty list of strings.
func questions(v protocol.Value) bool {
	n := 0
	for x := range v.Elements {
		if !text(x) {
			return false
		}
		n++
	}
	return n > 0
}
