package redact

import "fmt"

// Secret is a text that must not be printed: fmt with any verb, slog, JSON, and
// printing a struct that contains it, print no part of it. The zero Secret is
// empty.
type Secret struct {
	// A pointer, since fmt does not follow pointers inside of a struct, even where
	// it cannot call Format.
	value *string
}

// NewSecret returns a secret of a text.
func NewSecret(text string) Secret { return Secret{&text} }

func (s Secret) reveal() string {
	if s.value == nil {
		return ""
	}
	return *s.value
}

// Len returns the length of the text in bytes.
func (s Secret) Len() int { return len(s.reveal()) }

const hidden = "[secret]"

// Format writes [secret] for all verbs.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(hidden)) }

// String returns [secret].
func (s Secret) String() string { return hidden }

// MarshalText returns [secret]; JSON, YAML and slog ask for it.
func (s Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }
