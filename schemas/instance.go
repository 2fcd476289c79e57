package schemas

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/meup-protocol/meup/protocol"
)

// instance returns v as the schema library wants it.
//
// The library turns numbers into fractions of arbitrary precision: 1e999999
// costs it megabytes, and beyond that it panics. Numbers of that kind are
// replaced by tame ones that no schema here can tell apart from them.
func instance(v protocol.Value) any {
	switch v.Type() {
	case protocol.TypeObject:
		m := make(map[string]any)
		for k, x := range v.Members {
			m[k.Text()] = instance(x)
		}
		return m
	case protocol.TypeArray:
		a := []any{}
		for x := range v.Elements {
			a = append(a, instance(x))
		}
		return a
	case protocol.TypeNumber:
		return tame(string(v.Raw()))
	}
	return v.Any()
}

// Numbers up to so many bytes, with exponents of up to two digits, are cheap.
const (
	tameBytes    = 40
	tameExponent = 99
)

// tame returns a number of the same sign, the same integrality, and on the
// same side of every number between 1e-99 and 1e99 with up to tameBytes
// digits.
func tame(s string) json.Number {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(s), "e")
	e, err := strconv.Atoi(strings.TrimPrefix(exponent, "+"))
	if exponent == "" {
		e, err = 0, nil
	}
	if err == nil && len(s) <= tameBytes && -tameExponent <= e && e <= tameExponent {
		return json.Number(s)
	}
	mantissa, negative := strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	if err != nil { // an exponent that no int holds
		e = 1 << 40
		if strings.HasPrefix(exponent, "-") {
			e = -e
		}
	}
	n := decimal(whole+fraction, e-len(fraction))
	if negative {
		n = "-" + n
	}
	return json.Number(n)
}

// decimal returns a tame stand-in for digits × 10^e.
func decimal(digits string, e int) string {
	digits = strings.TrimLeft(digits, "0")
	trimmed := strings.TrimRight(digits, "0")
	e += len(digits) - len(trimmed)
	magnitude := len(trimmed) + e // the number is 0.trimmed × 10^magnitude
	switch {
	case trimmed == "":
		return "0"
	case magnitude > tameExponent && e >= 0:
		return "1e100"
	case magnitude > tameExponent:
		return "1" + strings.Repeat("0", tameExponent) + ".5"
	case magnitude < -tameExponent:
		return "1e-100"
	case len(trimmed) > 2*tameExponent:
		// So many digits reach below the point: what is cut off is not zero.
		trimmed = trimmed[:2*tameExponent] + "1"
	}
	return "0." + trimmed + "e" + strconv.Itoa(magnitude)
}
