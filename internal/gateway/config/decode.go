package config

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/meup-protocol/meup/internal/capability"
	"github.com/meup-protocol/meup/protocol"
)

// decode sets the fields of a struct that have a yaml tag. A value that is
// absent, empty or invalid leaves the default; a list replaces it as a whole.
// An int64 is a number of bytes. The schema has checked the types.
func (r *report) decode(n *node, target any) { r.decodeValue(n, reflect.ValueOf(target).Elem()) }

func (r *report) decodeValue(n *node, to reflect.Value) {
	item, isCapability := to.Addr().Interface().(**capability.Capability)
	if isCapability && !n.invalid {
		*item = r.capability(n) // an empty one is an error
	}
	if isCapability || !n.isSet() {
		return
	}
	var err error
	switch target := to.Addr().Interface().(type) {
	case *time.Duration:
		*target, err = parseDuration(n)
	case *int64:
		*target, err = parseSize(n)
	case *protocol.KindPattern:
		*target, err = protocol.ParseKindPattern(n.text)
	default:
		r.decodeKind(n, to)
	}
	if err != nil {
		n.invalid, n.faulty = true, true
		r.errorf(n, "%v", err)
	}
}

func (r *report) decodeKind(n *node, to reflect.Value) {
	switch to.Kind() {
	case reflect.String:
		to.SetString(n.text)
	case reflect.Int:
		to.SetInt(int64(n.number()))
	case reflect.Float64:
		to.SetFloat(n.number())
	case reflect.Slice:
		list := reflect.Zero(to.Type())
		for _, m := range n.members {
			item := reflect.New(to.Type().Elem()).Elem()
			r.decodeValue(m.value, item)
			n.faulty = n.faulty || m.value.faulty
			list = reflect.Append(list, item)
		}
		to.Set(list)
	case reflect.Struct:
		for i := range to.NumField() {
			key, tagged := to.Type().Field(i).Tag.Lookup("yaml")
			if value := n.member(key).value; tagged && value != nil {
				r.decodeValue(value, to.Field(i))
				n.faulty = n.faulty || value.faulty
			}
		}
	}
}

// number returns a number that the file has with or without a fraction.
func (n *node) number() float64 {
	if whole, ok := n.value.(int64); ok {
		return float64(whole)
	}
	f, _ := n.value.(float64)
	return f
}

// parseDuration parses a duration as time.ParseDuration does, optionally
// preceded by days of 24 hours.
func parseDuration(n *node) (time.Duration, error) {
	days, rest, found := strings.Cut(n.text, "d")
	if !found {
		days, rest = "0", n.text
	}
	count, err := strconv.ParseUint(days, 10, 16)
	var d time.Duration
	if rest != "" && err == nil {
		d, err = time.ParseDuration(rest)
	}
	sum := time.Duration(count)*24*time.Hour + d
	if err != nil || sum < d { // 65,535 days and the longest duration do not fit together
		return 0, fmt.Errorf("%s must be a duration such as 90s, 15m, 720h or 30d, and shorter than 292 years", n.path)
	}
	return sum, nil
}

var sizeUnits = map[string]int64{
	"": 1, "B": 1,
	"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
	"kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
}

// parseSize parses a number of bytes, or an integer and a unit.
func parseSize(n *node) (int64, error) {
	if whole, ok := n.value.(int64); ok {
		return whole, nil
	}
	if f, ok := n.value.(float64); ok && f < math.MaxInt64 {
		return int64(f), nil
	}
	digits := strings.TrimRight(n.text, "BKMGTik ")
	count, err := strconv.ParseInt(digits, 10, 64)
	unit := sizeUnits[strings.TrimLeft(n.text[len(digits):], " ")]
	if err != nil || unit == 0 || count > math.MaxInt64/unit {
		return 0, fmt.Errorf("%s must be a size such as 65536, 1MiB or 10GiB, and less than 8EiB", n.path)
	}
	return count * unit, nil
}

// capability compiles an item of a list of capabilities; nil if it is invalid.
func (r *report) capability(n *node) *capability.Capability {
	return r.compile(n, n.appendJSON(nil), capability.ParseJSON)
}

// compile compiles the capability that a value stands for; nil if it is invalid.
func (r *report) compile(n *node, text []byte, parse func([]byte) (*capability.Capability, error)) *capability.Capability {
	c, err := parse(text)
	if err == nil {
		return c
	}
	at := n
	if where := (*capability.PatternError)(nil); errors.As(err, &where) {
		for key := range strings.SplitSeq(strings.TrimPrefix(where.Pointer, "/"), "/") {
			at = cmp.Or(at.member(protocol.UnescapePointer(key)).value, at)
		}
	}
	n.faulty = true
	r.errorf(at, "%v", err)
	return nil
}
