package limit

import "time"

// Violations counts the refusals of one connection in a sliding window. It
// belongs to the connection's reader. The zero value never asks for an end.
type Violations struct {
	window time.Duration
	at     []time.Time // a ring of the last refusals
	next   int
	limit  int
}

// NewViolations returns a count that asks for the connection to be closed at
// refusal number limit within window. A limit or window of zero: never.
func NewViolations(limit int, window time.Duration) Violations {
	if limit <= 0 || window <= 0 {
		return Violations{}
	}
	return Violations{window: window, limit: limit}
}

// Add counts a refusal. It reports whether the connection has had so many that
// it should be closed with 1008.
func (v *Violations) Add(now time.Time) bool {
	if v.limit == 0 {
		return false
	}
	if len(v.at) < v.limit {
		// Most connections never see a refusal: the ring grows as needed.
		v.at = append(v.at, now)
		return len(v.at) == v.limit && now.Sub(v.at[0]) < v.window
	}
	v.at[v.next] = now
	v.next = (v.next + 1) % v.limit
	return now.Sub(v.at[v.next]) < v.window
}
