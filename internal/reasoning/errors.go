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
	// More: they have more tokens than that, and were not counted to the end; or
	// a run of more than 256 KiB that no space nor anything else divides.
	More bool
}

// Error says both figures.
func (e *TooLargeError) Error() string {
	more := ""
	if e.More {
		more = "more than "
	}
	return fmt.Sprintf("context too large: the system prompt and the question have %s%d tokens, the budget is %d", more, e.Tokens, e.Budget)
}

// Unwrap is ErrTooLarge.
func (e *TooLargeError) Unwrap() error { return ErrTooLarge }
