package planner

import (
	"context"
	"fmt"
)

// WithFallback asks the first, and the second where the first fails: a model,
// and the rules where it does not decide. The second's decision has Fallback
// for its Source and the first's error for its Fault; what the first had spent
// is in its Usage. When ctx has ended nobody else is asked.
func WithFallback(first, second Decider) Decider {
	return &fallback{first: first, second: second}
}

type fallback struct{ first, second Decider }

// Next decides the next step.
func (f *fallback) Next(ctx context.Context, s State) (Decision, error) {
	d, fault := f.first.Next(ctx, s)
	if fault == nil || ctx.Err() != nil {
		return d, fault
	}
	spent, by, provider := d.Usage, d.Model, d.Provider
	d, err := f.second.Next(ctx, s)
	d.Usage = plus(d.Usage, spent)
	if d.Model == "" {
		d.Model, d.Provider = by, provider // who was paid for nothing
	}
	if err != nil {
		return d, fmt.Errorf("%w; and then: %w", fault, err)
	}
	d.Source, d.Fault = Fallback, fault
	return d, nil
}
