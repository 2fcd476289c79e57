package safetytest

import (
	"iter"
	"slices"
	"strings"
)

// Secret is a format of secrets, and the rule that is to find them.
type Secret struct {
	Rule string
	// Format is what Write takes. The secret stands between « and »; without
	// them it is all of the text.
	Format string
	// Name is set when only the name of the place tells a secret: "heroku api
	// key". Format is the secret alone then.
	Name string
}

// Secrets yields every format, those of a rule one behind the other.
func Secrets() iter.Seq[Secret] {
	return func(yield func(Secret) bool) {
		for _, table := range []string{clouds, code, models, talk, money, work, general} {
			for line := range strings.Lines(table) {
				rule, formats, ok := strings.Cut(strings.TrimSpace(line), " ")
				if !ok {
					continue
				}
				for _, format := range strings.Fields(formats) {
					if !yield(Secret{Rule: rule, Format: spaced(format)}) {
						return
					}
				}
			}
		}
		for _, s := range slices.Concat(texts, named()) {
			if !yield(s) {
				return
			}
		}
	}
}

// spaced undoes what keeps a format in one field of a table.
func spaced(format string) string {
	return strings.NewReplacer("␣", " ", "␤", "\n").Replace(format)
}

// Examples returns formats by rule. A secret that needs a name has two of them:
// as a variable and in a sentence.
func Examples() map[string][]string {
	byRule := map[string][]string{}
	for s := range Secrets() {
		list := []string{s.Format}
		if s.Name != "" {
			list = []string{spell(s, "variable"), spell(s, "sentence")}
		}
		byRule[s.Rule] = append(byRule[s.Rule], list...)
	}
	return byRule
}
