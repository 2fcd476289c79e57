package config

import "github.com/meup-protocol/meup/internal/limit"

// defaultLimits returns the defaults for limits that the file does not set. The
// traffic limits belong together: if the file sets a rate, limits on bytes or
// reasoning that it does not mention would be a surprise.
func defaultLimits(f *limitsShape) limit.Limits {
	l := limit.Defaults()
	if f.Rate.isSet() {
		l.Burst, l.BytesPerSecond, l.Kinds = 0, 0, nil
	}
	return l
}

// limits returns the limits that a file sets, with over as the defaults, field
// by field. The list of kinds is one field: setting it replaces the whole list.
func (r *resolver) limits(over limit.Limits, f *limitsShape) limit.Limits {
	set(&over.Rate, f.Rate.place, f.Rate.value)
	set(&over.Burst, f.Burst.place, f.Burst.value)
	set(&over.BytesPerSecond, f.BytesPerSecond.place, f.BytesPerSecond.value)
	set(&over.MessageBytes, f.MessageBytes.place, f.MessageBytes.value)
	set(&over.Connections, f.Connections.place, f.Connections.value)
	set(&over.OpenContexts, f.OpenContexts.place, f.OpenContexts.value)
	r.contextDepth(&over.ContextDepth, f.ContextDepth)
	if !f.Kinds.isSet() {
		return over
	}
	over.Kinds = nil
	for _, k := range f.Kinds.items {
		if l, ok := r.kindLimit(k); ok {
			over.Kinds = append(over.Kinds, l)
		}
	}
	return over
}

// deepest is the number of segments in the longest path.
const deepest = 128

func (r *resolver) contextDepth(target *int, v wholeValue) {
	if v.isSet() && (v.value < 1 || v.value > deepest) {
		r.errorf(v.place, "a context path has 1 to %d segments", deepest)
		return
	}
	set(target, v.place, v.value)
}

func (r *resolver) kindLimit(f kindLimitShape) (limit.KindLimit, bool) {
	if r.invalidAt[f.place] {
		return limit.KindLimit{}, false
	}
	if !f.Kind.isSet() || !f.Rate.isSet() {
		r.errorf(f.place, "a limit of kinds needs kind and rate, such as {kind: \"reasoning/*\", rate: 20, burst: 40}")
		return limit.KindLimit{}, false
	}
	pattern, ok := r.kindPattern(f.Kind)
	return limit.KindLimit{Pattern: pattern, Rate: f.Rate.value, Burst: f.Burst.value}, ok
}
