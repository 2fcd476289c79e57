package textutil

import (
	"fmt"
	"strings"
)

// Suggest returns a clause with the most similar choice, or with all choices if
// none is similar.
func Suggest(word string, choices []string) string {
	if best := Closest(word, choices); best != "" {
		return fmt.Sprintf("did you mean %q?", best)
	}
	return "it is one of " + strings.Join(choices, ", ")
}

// Closest returns the choice that is most similar to a word, without regard to case, or of several
// one that begins with the word; "" if none is similar.
func Closest(word string, choices []string) string {
	best, distance := "", 1+max(1, len(word)/3)
	for _, c := range choices {
		d := editDistance(strings.ToLower(word), strings.ToLower(c))
		if d < distance || d == distance && best != "" && strings.HasPrefix(c, word) && !strings.HasPrefix(best, word) {
			best, distance = c, d
		}
	}
	return best
}

// editDistance counts the insertions, deletions, replacements and swaps of
// adjacent characters that turn one word into the other. Very long words get a
// large distance.
func editDistance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return max(len(a), len(b))
	}
	before, above, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range above {
		above[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(above[j]+1, row[j-1]+1, above[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, above, row = above, row, before
	}
	return above[len(b)]
}
