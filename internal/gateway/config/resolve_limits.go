package config

import "github.com/meup-protocol/meup/internal/limit"

// defaultLimits returns what holds of limits that the file does not name. The
// figures for traffic belong together: who names a rate has thought about
// traffic, and would be surprised by a limit on bytes or on reasoning that the
// file does not mention.
func defaultLimits(f *limitsShape) limit.Limits {
	l := limit.Defaults()
	if f.Rate.isSet() {
		l.Burst, l.BytesPerSecond, l.Kinds = 0, 0, nil
	}
	return l
}

// limits returns the limits that a file sets over those that hold otherwise,
// field by field. The list of kinds is one field: who names kinds names all.
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

// deepest is as many segments as fit into the longest path.
const deepest = 128

func (r *resolver) contextDepth(target *int, v wholeValue) {
	if v.isSet() && (v.value < 1 || v.value > deepest) {
		r.errorf(v.place, "a context path has 1 to %d segments", deepest)
		return
	}
	set(target, v.place, v.value)
}

func (r *resolver) kindLimit(f kindLimitShape) (limit.KindLimit, bool) {
	if r.broken[f.place] {
		return limit.KindLimit{}, false
	}
	if !f.Kind.isSet() || !f.Rate.isSet() {
		r.errorf(f.place, "a limit of kinds needs kind and rate, such as {kind: \"reasoning/*\", rate: 20, burst: 40}")
		return limit.KindLimit{}, false
	}
	pattern, ok := r.kindPattern(f.Kind)
	return limit.KindLimit{Pattern: pattern, Rate: f.Rate.value, Burst: f.Burst.value}, ok
}
