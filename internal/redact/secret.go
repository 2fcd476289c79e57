package redact

import (
	"fmt"
	"log/slog"
)

// Secret is a text that is to be found and never to be told: whatever prints
// one (fmt with any verb, slog, JSON, a struct that holds it) prints no part
// of it. The zero Secret is empty.
type Secret struct {
	// Behind a pointer: fmt follows none inside of a struct, not even where it
	// may not call Format.
	value *string
}

// NewSecret returns a secret of a text.
func NewSecret(text string) Secret { return Secret{&text} }

// reveal returns the text.
func (s Secret) reveal() string {
	if s.value == nil {
		return ""
	}
	return *s.value
}

// Len returns the length of the text in bytes.
func (s Secret) Len() int { return len(s.reveal()) }

const hidden = "[secret]"

// Format writes [secret], whatever is asked for.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(hidden)) }

// String returns [secret].
func (s Secret) String() string { return hidden }

// GoString returns [secret].
func (s Secret) GoString() string { return hidden }

// LogValue returns [secret].
func (s Secret) LogValue() slog.Value { return slog.StringValue(hidden) }

// MarshalText returns [secret]; JSON and YAML ask for it too.
func (s Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }
