package textutil

import "strings"

// endings are those of English words, the longer before the shorter.
var endings = []string{
	"ations", "ation", "ments", "ment", "ings", "ing", "ions", "ion", "ies", "ers", "als", "er", "ed", "es", "al", "s",
}

// Stem removes common English endings of a lower-case word, so that its forms compare equal:
// "approve", "approved" and "approval". At least four bytes remain, or three before the "s" of a
// plural.
func Stem(word string) string {
	for _, ending := range endings {
		if cut, ok := strings.CutSuffix(word, ending); ok && len(cut) >= 4 {
			word = cut
			break
		}
	}
	if cut, ok := strings.CutSuffix(word, "s"); ok && len(cut) == 3 && !strings.ContainsAny(cut[2:], "su") {
		return cut
	}
	if cut := strings.TrimRight(word, "ey"); len(cut) >= 4 {
		return cut
	}
	return word
}
