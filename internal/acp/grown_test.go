package acp

import (
	"strings"
	"testing"
)

// A text that grows costs the same for each addition, however long it is.
func TestGrown(t *testing.T) {
	g := newGrown()
	text := strings.Repeat("a word ", 10_000)
	if n := testing.AllocsPerRun(100, func() { g.add(text) }); n > 0 {
		t.Errorf("%v allocations for an addition", n)
	}
	all := strings.Repeat(text, 101) // AllocsPerRun runs once more
	for _, test := range []struct {
		name, text, rest string
		same             bool
	}{
		{"complete", all, "", true}, {"more", all + "and more", "and more", true}, {"shorter", all[:len(all)-1], "", false}, {"another", "A" + all[1:], "", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if rest, same := g.rest(test.text); rest != test.rest || same != test.same {
				t.Errorf("%q, %v", rest, same)
			}
		})
	}
}
