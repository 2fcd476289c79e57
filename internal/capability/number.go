package capability

import "bytes"

// decimal is a JSON number taken apart: 0.digits × 10^exp. It points into the
// number's text and never expands the exponent, so that 1e999999999 costs no
// more than 1.
type decimal struct {
	negative bool
	digits   []byte // from the first to the last digit but 0; may hold a point
	exp      int64
}

// Bounds of exponents: a pattern's lies within maxExponent, a value's
// saturates at hugeExponent, far beyond what a pattern can reach.
const (
	maxExponent  = 1e12
	hugeExponent = 1e18
)

// parseDecimal reads a valid JSON number. All zeros are the same.
func parseDecimal(raw []byte) decimal {
	var d decimal
	if raw[0] == '-' {
		d.negative, raw = true, raw[1:]
	}
	mantissa := raw
	if i := bytes.IndexAny(raw, "eE"); i >= 0 {
		mantissa, d.exp = raw[:i], parseExponent(raw[i+1:])
	}
	point := bytes.IndexByte(mantissa, '.')
	if point < 0 {
		point = len(mantissa)
	}
	first := bytes.IndexAny(mantissa, "123456789")
	if first < 0 {
		return decimal{}
	}
	last := bytes.LastIndexAny(mantissa, "123456789")
	d.digits = mantissa[first : last+1]
	d.exp += int64(point - first)
	if first > point {
		d.exp++ // the point itself is no digit
	}
	return d
}

func parseExponent(raw []byte) int64 {
	negative := raw[0] == '-'
	if raw[0] == '-' || raw[0] == '+' {
		raw = raw[1:]
	}
	var n int64
	for _, c := range raw {
		if n = n*10 + int64(c-'0'); n >= hugeExponent {
			n = hugeExponent
			break
		}
	}
	if negative {
		return -n
	}
	return n
}

func (d *decimal) comparable() bool { return d.exp <= maxExponent && d.exp >= -maxExponent }

func (d *decimal) equal(e *decimal) bool {
	return d.negative == e.negative && d.exp == e.exp && sameDigits(d.digits, e.digits)
}

// sameDigits compares two digit strings, not minding a point in either.
func sameDigits(a, b []byte) bool {
	i, j := 0, 0
	for {
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
