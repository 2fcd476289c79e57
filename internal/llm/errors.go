package llm

import (
	"errors"
	"fmt"
	"time"
)

// ErrCut: an answer broke off before its end.
var ErrCut = errors.New("answer cut off")

// Error is a provider's refusal. Its text never has a key in it.
type Error struct {
	Provider   string
	Status     int    // of HTTP; 0 for one that came within a stream
	Code       string // the provider's word, such as rate_limit_exceeded
	Message    string
	RetryAfter time.Duration // as the provider asks; 0 if it does not
}

// Error names the provider, the status and what it said.
func (e *Error) Error() string {
	s := e.Provider + " refused"
	if e.Status != 0 {
		s += fmt.Sprintf(" with status %d", e.Status)
	}
	if e.Code != "" {
		s += " (" + e.Code + ")"
	}
	if e.Message != "" {
		s += ": " + e.Message
	}
	return s
}

// Temporary reports whether the same request may succeed later.
func (e *Error) Temporary() bool { return e.Status == 429 || e.Status >= 500 }
