package strictjson

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
)

// AppendCanonical appends the value in a form that is equal for equal JSON
// values and different for all others: members sorted by key, strings without
// optional escapes, numbers by value. The form is for comparing and hashing; it
// is not JSON. An absent value appends nothing.
func (v Value) AppendCanonical(dst []byte) []byte {
	switch v.Type() {
	case TypeObject:
		type member struct {
			key   string
			value Value
		}
		members := make([]member, 0, v.Len())
		for key, value := range v.Members {
			members = append(members, member{key.Text(), value})
		}
		slices.SortFunc(members, func(a, b member) int { return strings.Compare(a.key, b.key) })
		dst = append(dst, '{')
		for _, m := range members {
			dst = append(AppendString(dst, m.key), ':')
			dst = append(m.value.AppendCanonical(dst), ',')
		}
		return append(dst, '}')
	case TypeArray:
		dst = append(dst, '[')
		for x := range v.Elements {
			dst = append(x.AppendCanonical(dst), ',')
		}
		return append(dst, ']')
	case TypeString:
		return AppendString(dst, v.Text())
	case TypeNumber: // digits and exponent
		d := ParseDecimal(v.Raw())
		if !d.Exact() { // it equals only a number with the same spelling
			return append(append(dst, '!'), v.Raw()...)
		}
		if d.negative {
			dst = append(dst, '-')
		}
		before, after, _ := bytes.Cut(d.digits, []byte{'.'})
		dst = append(append(dst, before...), after...)
		return strconv.AppendInt(append(dst, 'e'), d.exp, 10)
	}
	return append(dst, v.Raw()...)
}
