package strictjson

import (
	"bytes"
	"strconv"
)

// Decimal is the value of a JSON number: 0.digits × 10^exp. It refers to the
// number's text and does not expand the exponent, so that 1e999999999 costs no
// more than 1.
type Decimal struct {
	negative bool
	digits   []byte // from the first to the last nonzero digit; may contain a point
	exp      int64
}

// Exponents saturate at hugeExponent; exponents up to maxExponent are exact.
const (
	maxExponent  = 1e12
	hugeExponent = 1e18
)

// ParseDecimal parses a valid JSON number. All zeros are equal.
func ParseDecimal(raw []byte) Decimal {
	var d Decimal
	if raw[0] == '-' {
		d.negative, raw = true, raw[1:]
	}
	mantissa := raw
	if i := bytes.IndexAny(raw, "eE"); i >= 0 {
		mantissa = raw[:i]
		d.exp, _ = strconv.ParseInt(string(raw[i+1:]), 10, 64) // the nearest one, if it is out of range
		d.exp = min(max(d.exp, -hugeExponent), hugeExponent)
	}
	point := bytes.IndexByte(mantissa, '.')
	if point < 0 {
		point = len(mantissa)
	}
	first := bytes.IndexAny(mantissa, "123456789")
	if first < 0 {
		return Decimal{}
	}
	last := bytes.LastIndexAny(mantissa, "123456789")
	d.digits = mantissa[first : last+1]
	d.exp += int64(point - first)
	if first > point {
		d.exp++ // the point is not a digit
	}
	return d
}

// Exact reports whether the exponent is small enough to be stored exactly.
// Equal is reliable only for exact values.
func (d Decimal) Exact() bool { return d.exp <= maxExponent && d.exp >= -maxExponent }

// Equal reports whether two numbers have the same value.
func (d Decimal) Equal(e Decimal) bool {
	if d.negative != e.negative || d.exp != e.exp {
		return false
	}
	a, b := d.digits, e.digits
	i, j := 0, 0
	for { // digit by digit, points left out
		if i < len(a) && a[i] == '.' {
			i++
		}
		if j < len(b) && b[j] == '.' {
			j++
		}
		if i == len(a) || j == len(b) {
			return i == len(a) && j == len(b)
		}
		if a[i] != b[j] {
			return false
		}
		i++
		j++
	}
}
