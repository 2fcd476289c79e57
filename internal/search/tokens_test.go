package search

import (
	"strings"
	"testing"
)

// TestTokens_Fold: case, width and diacritics do not matter.
func TestTokens_Fold(t *testing.T) {
	for text, want := range map[string]string{
		"Straße ÉCOLE naïve":     "strasse ecole naive",
		"e\u0301cole":            "ecole",
		"ＡＢＣ１２":                  "abc12",
		"read_file.go:42":        "read file go 42",
		"don't":                  "don t",
		"日本語です":                  "日本 本語 語で です す",
		"ﾃｽﾄ":                    "テス スト ト",
		"İstanbul ΣΊΣΥΦΟΣ":       "istanbul σισυφοσ",
		strings.Repeat("x", 100): strings.Repeat("x", 64),
		strings.Repeat("é", 100): strings.Repeat("e", 64),
		"हिन्दी":                 "हिन्दी",
		"abc日本def":               "abc 日本 本 def",
		"\u0301":                 "",
	} {
		t.Run(text, func(t *testing.T) {
			var got []string
			for _, tok := range list(text, true) {
				got = append(got, tok.text)
			}
			if s := strings.Join(got, " "); s != want {
				t.Errorf("%q, want %q", s, want)
			}
		})
	}
}
