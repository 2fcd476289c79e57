package capability

import (
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"
)

func TestFold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringN(0, 6, -1).Draw(t, "s")
		flipped := strings.Map(func(r rune) rune { return unicode.SimpleFold(r) }, s)
		if fold(s) != fold(flipped) || !strings.EqualFold(s, flipped) {
			t.Fatalf("%q and %q are not the same", s, flipped)
		}
	})
}
