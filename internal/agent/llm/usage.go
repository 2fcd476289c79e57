package llm

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"slices"
	"sync"
)

// Usage counts tokens. Input includes tokens read from a cache, Output includes
// tokens of thinking.
type Usage struct {
	Input     int `json:"input_tokens"`
	Output    int `json:"output_tokens"`
	Cached    int `json:"cached_tokens,omitempty"`
	Reasoning int `json:"reasoning_tokens,omitempty"`
}

// Plus returns the sum of two usages.
func (u Usage) Plus(v Usage) Usage {
	return Usage{
		Input: u.Input + v.Input, Output: u.Output + v.Output,
		Cached: u.Cached + v.Cached, Reasoning: u.Reasoning + v.Reasoning,
	}
}

// Count is a number of tokens in a provider's answer. An invalid number is 0: it
// must not fail the answer.
type Count int

// UnmarshalJSON never fails.
func (c *Count) UnmarshalJSON(b []byte) error {
	*c = 0
	var f float64
	if json.Unmarshal(b, &f) == nil && f > 0 && f <= math.MaxInt32 {
		*c = Count(f)
	}
	return nil
}

// Spent is the usage of the answers of one model.
type Spent struct {
	Requested string // its name in the requests
	Model     string // its name in the answers; Requested if they have none
	Usage     Usage
}

// Meter counts the tokens of all answers that Ask returns with a context of
// WithMeter: of every request for a decision, and of summaries by another model.
// The zero Meter is ready to use. It is safe for concurrent use.
type Meter struct {
	mu    sync.Mutex
	spent []Spent
}

type meterKey struct{}

// WithMeter returns a context whose answers are counted by m alone, not by a
// meter of ctx.
func WithMeter(ctx context.Context, m *Meter) context.Context {
	return context.WithValue(ctx, meterKey{}, m)
}

// Spent returns what was counted, one entry for each model, in the order of their
// first answers. Answers without a count are not in it.
func (m *Meter) Spent() []Spent {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.spent)
}

func (m *Meter) add(requested string, r *Response) {
	if r.Usage == (Usage{}) {
		return
	}
	model := cmp.Or(r.Model, requested)
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.IndexFunc(m.spent, func(s Spent) bool { return s.Requested == requested && s.Model == model })
	if i < 0 {
		i = len(m.spent)
		m.spent = append(m.spent, Spent{Requested: requested, Model: model})
	}
	m.spent[i].Usage = m.spent[i].Usage.Plus(r.Usage)
}
