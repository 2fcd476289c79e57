package schemas

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/meup-protocol/meup/protocol"
)

// instance converts v for the schema library.
//
// The library converts numbers to fractions of arbitrary precision: 1e999999
// costs it megabytes, and larger exponents make it panic. Such numbers are
// replaced by small ones that are equivalent for all schemas of this package.
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
		return boundNumber(string(v.Raw()))
	}
	return v.Any()
}

// Numbers of at most maxNumberBytes bytes and two exponent digits are cheap.
const (
	maxNumberBytes    = 40
	maxNumberExponent = 99
)

// boundNumber returns a number with the same sign and integrality, on the same
// side of every number between 1e-99 and 1e99 with up to maxNumberBytes digits.
func boundNumber(s string) json.Number {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(s), "e")
	e, err := strconv.Atoi(strings.TrimPrefix(exponent, "+"))
	if exponent == "" {
		e, err = 0, nil
	}
	if err == nil && len(s) <= maxNumberBytes && -maxNumberExponent <= e && e <= maxNumberExponent {
		return json.Number(s)
	}
	mantissa, negative := strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	if err != nil { // the exponent overflows int
		e = 1 << 40
		if strings.HasPrefix(exponent, "-") {
			e = -e
		}
	}
	digits := strings.TrimLeft(whole+fraction, "0")
	trimmed := strings.TrimRight(digits, "0")
	e += len(digits) - len(trimmed) - len(fraction) // the number is trimmed × 10^e,
	magnitude := len(trimmed) + e                   // or 0.trimmed × 10^magnitude
	var n string
	switch {
	case trimmed == "":
		n = "0"
	case magnitude > maxNumberExponent && e >= 0:
		n = "1e100"
	case magnitude > maxNumberExponent:
		n = "1" + strings.Repeat("0", maxNumberExponent) + ".5"
	case magnitude < -maxNumberExponent:
		n = "1e-100"
	default:
		if len(trimmed) > 2*maxNumberExponent { // some are after the point: the removed part is not zero
			trimmed = trimmed[:2*maxNumberExponent] + "1"
		}
		n = "0." + trimmed + "e" + strconv.Itoa(magnitude)
	}
	if negative {
		n = "-" + n
	}
	return json.Number(n)
}
