package config

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/meup-protocol/meup/internal/textutil"
)

// The values below have a place, which is set if the file has a valid value. An
// invalid value has been reported and counts as not set, so that each error is
// reported once.

type textValue struct {
	place
	value string
}

func (v *textValue) decode(r *report, n *node) {
	if n.kind != text {
		r.wrongKind(n, text.String())
		return
	}
	v.place, v.value = n.place, n.text
}

// wholeValue is a non-negative integer.
type wholeValue struct {
	place
	value int
}

func (v *wholeValue) decode(r *report, n *node) {
	if n.kind != integer {
		r.wrongKind(n, integer.String())
		return
	}
	if n.whole < 0 {
		r.invalidValue(n.place, "%d is negative", n.whole)
		return
	}
	if n.whole > math.MaxInt32 {
		r.invalidValue(n.place, "%d is more than %d", n.whole, math.MaxInt32)
		return
	}
	v.place, v.value = n.place, int(n.whole)
}

// numberValue is a non-negative number, with or without a fraction.
type numberValue struct {
	place
	value float64
}

func (v *numberValue) decode(r *report, n *node) {
	if n.kind != integer && n.kind != float {
		r.wrongKind(n, float.String())
		return
	}
	if n.number < 0 {
		r.invalidValue(n.place, "%s is negative", n.text)
		return
	}
	if math.IsNaN(n.number) || n.number > math.MaxInt32 {
		r.invalidValue(n.place, "%s is not a number up to %d", n.text, math.MaxInt32)
		return
	}
	v.place, v.value = n.place, n.number
}

// durationValue is a non-negative duration: "720h", "1h30m", "30d".
type durationValue struct {
	place
	value time.Duration
}

func (v *durationValue) decode(r *report, n *node) {
	if n.kind == integer && n.whole == 0 {
		v.place = n.place
		return
	}
	if n.kind == integer || n.kind == float {
		r.invalidValue(n.place, "a duration needs a unit, such as 90s, 15m, 720h or 30d")
		return
	}
	if n.kind != text {
		r.wrongKind(n, "a duration such as 90s, 15m, 720h or 30d")
		return
	}
	d, ok := parseDuration(n.text)
	if !ok {
		r.invalidValue(n.place, "%q is not a duration such as 90s, 15m, 720h or 30d", textutil.Shorten(n.text, 40))
		return
	}
	if d < 0 {
		r.invalidValue(n.place, "%s is negative", n.text)
		return
	}
	v.place, v.value = n.place, d
}

// parseDuration parses a duration as time.ParseDuration does, optionally
// preceded by days of 24 hours.
func parseDuration(s string) (time.Duration, bool) {
	days, rest, found := strings.Cut(s, "d")
	if !found {
		d, err := time.ParseDuration(s)
		return d, err == nil
	}
	n, err := strconv.ParseUint(days, 10, 16)
	if err != nil {
		return 0, false
	}
	var d time.Duration
	if rest != "" {
		if d, err = time.ParseDuration(rest); err != nil || d < 0 {
			return 0, false
		}
	}
	// 65,535 days and the longest duration do not fit together.
	sum := time.Duration(n)*24*time.Hour + d
	return sum, sum >= d
}

// sizeValue is a non-negative number of bytes: 65536, "1MiB", "10GiB".
type sizeValue struct {
	place
	value int64
}

func (v *sizeValue) decode(r *report, n *node) {
	if n.kind != integer && n.kind != text {
		r.wrongKind(n, "a size such as 65536, 1MiB or 10GiB")
		return
	}
	size, ok := n.whole, true
	if n.kind == text {
		size, ok = parseSize(n.text)
	}
	if !ok {
		r.invalidValue(n.place, "%q is not a size such as 65536, 1MiB or 10GiB", textutil.Shorten(n.text, 40))
		return
	}
	if size < 0 {
		r.invalidValue(n.place, "%s is negative", n.text)
		return
	}
	v.place, v.value = n.place, size
}

var sizeUnits = map[string]int64{
	"": 1, "B": 1,
	"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
	"kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
}

// parseSize parses an integer and a unit. The bool is false for other input and
// on overflow.
func parseSize(s string) (int64, bool) {
	digits := strings.TrimRight(s, "BKMGTik ")
	unit, ok := sizeUnits[strings.TrimLeft(s[len(digits):], " ")]
	n, err := strconv.ParseInt(digits, 10, 64)
	if !ok || err != nil || n > math.MaxInt64/unit || n < math.MinInt64/unit {
		return 0, false
	}
	return n * unit, true
}

// listValue is a list; empty items are reported.
type listValue[T any] struct {
	place
	items []T
}

func (v *listValue[T]) decode(r *report, n *node) {
	if n.kind != list {
		r.wrongKind(n, "a list")
		return
	}
	v.place = n.place
	for _, item := range n.items {
		if item.kind == null && !item.invalid {
			r.invalidValue(item.place, "an empty item; remove it")
			continue
		}
		var t T
		decodeInto(r, item, &t)
		v.items = append(v.items, t)
	}
}

// tableValue is a mapping whose keys are names, in the order of the file.
type tableValue[T any] struct {
	place
	entries []entry[T]
}

type entry[T any] struct {
	name  textValue
	value T
}

func (v *tableValue[T]) decode(r *report, n *node) {
	if n.kind != mapping {
		r.wrongKind(n, mapping.String())
		return
	}
	v.place = n.place
	for _, m := range n.members {
		e := entry[T]{name: textValue{m.key.place, m.key.text}}
		decodeInto(r, m.value, &e.value)
		v.entries = append(v.entries, e)
	}
}

// rawValue is a value that another package interprets.
type rawValue struct {
	place
	node *node
}

func (v *rawValue) decode(_ *report, n *node) { v.place, v.node = n.place, n }
