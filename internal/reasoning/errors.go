package reasoning

import (
	"errors"
	"fmt"
)

// ErrTooLarge: what must not be cut does not fit into the budget.
var ErrTooLarge = errors.New("context too large")

// TooLargeError says how much too large. It wraps ErrTooLarge.
type TooLargeError struct {
	Tokens int // of the system prompt and the question
	Budget int // what they may have
}

// Error says both figures.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("context too large: the system prompt and the question have %d tokens, the budget is %d", e.Tokens, e.Budget)
}

// Unwrap is ErrTooLarge.
func (e *TooLargeError) Unwrap() error { return ErrTooLarge }
