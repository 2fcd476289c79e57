package reasoner

import (
	"cmp"
	"maps"
	"slices"

	"github.com/meup-protocol/meup/client/reasoner/wire"
)

// maxNames bounds the names in each map of totals, because callers choose some
// of them. The counts of the rest are added up under otherName.
const (
	maxNames  = 32
	otherName = "_OTHER"
)

// Totals summarizes the matching records. It ignores Limit and Before.
func (s *DecisionLog) Totals(q DecisionQuery) wire.DecisionTotals {
	t := wire.DecisionTotals{
		ByType: map[string]int{}, ByOutcome: map[string]int{}, BySource: map[string]int{}, ByModel: map[string]int{}, ByError: map[string]int{},
		DurationMS: map[string]int64{},
	}
	sessions := map[string]bool{}
	var took []int64
	q.Before = 0
	s.each(q, func(r *wire.LogRecord) bool {
		t.Count++
		sessions[r.SessionID] = true
		oldest := r.Time
		t.Oldest = &oldest
		count(t.ByType, r.Type)
		count(t.ByOutcome, r.Outcome)
		count(t.BySource, r.Source)
		if r.Model != "" {
			count(t.ByModel, r.Provider+":"+r.Model)
		}
		count(t.ByError, r.Error)
		t.InputTokens += int64(r.InputTokens)
		t.OutputTokens += int64(r.OutputTokens)
		took = append(took, r.DurationMS)
		return true
	})
	t.Sessions = len(sessions)
	for _, m := range []*map[string]int{&t.ByType, &t.ByOutcome, &t.BySource, &t.ByModel, &t.ByError} {
		*m = s.top(*m)
	}
	if slices.Sort(took); len(took) > 0 {
		t.DurationMS["p50"], t.DurationMS["p95"] = took[len(took)/2], took[len(took)*95/100]
		t.DurationMS["max"] = took[len(took)-1]
	}
	return t
}

func count(m map[string]int, name string) {
	if name != "" {
		m[name]++
	}
}

// top returns the most frequent names, masked.
func (s *DecisionLog) top(m map[string]int) map[string]int {
	names := slices.SortedFunc(maps.Keys(m), func(a, b string) int {
		return cmp.Or(cmp.Compare(m[b], m[a]), cmp.Compare(a, b))
	})
	out := make(map[string]int, min(len(m), maxNames+1))
	for i, name := range names {
		if i >= maxNames {
			out[otherName] += m[name]
			continue
		}
		out[s.o.Mask(name)] += m[name]
	}
	return out
}
