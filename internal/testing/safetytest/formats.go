package safetytest

import (
	"iter"
	"strings"
)

// Secret is a format of secrets, and the rule that is to find them.
type Secret struct {
	Rule string
	// Format is an argument of Write. The secret is between « and »; without them
	// it is the whole text.
	Format string
	// Name is set when only the name of the field identifies a secret: "heroku api
	// key". Format is then the secret alone.
	Name string
}

// Secrets yields all formats, grouped by rule.
func Secrets() iter.Seq[Secret] {
	return func(yield func(Secret) bool) {
		spaces := strings.NewReplacer("␣", " ", "␤", "\n") // of a format in a table
		for _, table := range []string{clouds, code, models, talk, money, work, general} {
			for line := range strings.Lines(table) {
				rule, formats, ok := strings.Cut(strings.TrimSpace(line), " ")
				if !ok {
					continue
				}
				for _, format := range strings.Fields(formats) {
					if !yield(Secret{Rule: rule, Format: spaces.Replace(format)}) {
						return
					}
				}
			}
		}
		for _, s := range texts {
			if !yield(s) {
				return
			}
		}
		for line := range strings.Lines(names) {
			f := strings.Split(strings.TrimSpace(line), "|")
			if len(f) == 3 && !yield(Secret{Rule: f[0], Name: f[1], Format: f[2]}) {
				return
			}
		}
	}
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
