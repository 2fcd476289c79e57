package api

import (
	"context"
	"fmt"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

// Budgets are what the participants of a space may use today, and have used.
type Budgets struct {
	Day   string    `json:"day"`   // by UTC: 2026-11-30
	Until time.Time `json:"until"` // the end of the day
	// Budgets has that of the space first.
	Budgets []Budget `json:"budgets"`
	Loops   Loops    `json:"loops"`
}

// Budget is what a participant or a space may use in a day before its calls have to be
// proposed, and what it has used.
type Budget struct {
	// ID is the participant; "" for all participants of the space together.
	ID     protocol.ParticipantID `json:"participant_id,omitempty"`
	Tokens *Quantity              `json:"tokens,omitempty"` // nil: not limited
	Calls  *Quantity              `json:"calls,omitempty"`  // of tools that nobody was asked about
	Cost   *Quantity              `json:"cost,omitempty"`
	// Currency is that of Cost.
	Currency string `json:"currency,omitempty"`
	// Uncounted is the number of reports that could not be read or lack what is limited: with
	// any, what is used is a lower bound.
	Uncounted int64 `json:"uncounted,omitempty"`
	// Asks says why calls have to be proposed: "coder has used 5.00 of 5.00 USD today"; "":
	// they need not be.
	Asks string `json:"asks,omitempty"`
	// MayExtend means that the participant that reads it may extend the budget.
	MayExtend bool `json:"may_extend"`
}

// Quantity is what is limited of one thing.
type Quantity struct {
	Used     float64 `json:"used"`
	Limit    float64 `json:"limit"`              // with Extended
	Extended float64 `json:"extended,omitempty"` // by which the limit is larger today than it is configured
}

// Loops is from when on calls count as a loop; zeros: never.
type Loops struct {
	Identical int `json:"identical,omitempty"`
	Hops      int `json:"hops,omitempty"`
}

// Budgets returns the budgets of a space that the participant may see.
func (c *Client) Budgets(ctx context.Context, space string) (*Budgets, error) {
	var b Budgets
	if err := c.get(ctx, inSpace(space, "budgets"), nil, &b); err != nil {
		return nil, fmt.Errorf("list budgets of space %q: %w", space, err)
	}
	return &b, nil
}
