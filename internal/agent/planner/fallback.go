package planner

import (
	"context"
	"fmt"
)

// WithFallback returns a decider that uses the first, and the second if the
// first fails: for example a model, and the rules if it does not decide. The second's
// decision has Fallback as its Source and the first's error as its Fault; its
// Usage includes the usage of the first. If ctx has ended, the second is not
// used.
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
		d.Model, d.Provider = by, provider // the failed request still has a cost
	}
	if err != nil {
		return d, fmt.Errorf("%w; and then: %w", fault, err)
	}
	d.Source, d.Fault = Fallback, fault
	return d, nil
}
