package redact

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/testing/safetytest"
)

// examples are texts with findings of each rule, written as formats so that this
// file contains no secret: {class:n} is n random characters. The part to be masked
// is between « and »; without them it is the whole text.
var examples = safetytest.Examples()

func random(r *rand.Rand, class string, n int) string { return safetytest.Random(r, class, n) }

// write makes a text of a format.
func write(t testing.TB, r *rand.Rand, format string) string {
	t.Helper()
	return safetytest.Write(r, format)
}

// example writes a format and returns its text, and the text with the secret
// masked.
func example(t testing.TB, r *rand.Rand, rule, format string) (text, masked string) {
	t.Helper()
	written := write(t, r, format)
	before, rest, marked := strings.Cut(written, "«")
	if !marked {
		return written, Marker(rule)
	}
	secret, after, _ := strings.Cut(rest, "»")
	return before + secret + after, before + Marker(rule) + after
}
