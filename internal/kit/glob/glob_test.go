package glob

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var someStars, twoStars = regexp.MustCompile(`\\\*`), regexp.MustCompile(`(\\\*){2,}`)

// asRegexp returns a regexp that matches the same texts as a glob.
func asRegexp(glob string) *regexp.Regexp {
	s := twoStars.ReplaceAllLiteralString(regexp.QuoteMeta(glob), "(?s:.)#")
	s = someStars.ReplaceAllLiteralString(s, "[^/]#")
	return regexp.MustCompile(`\A` + strings.ReplaceAll(s, "#", "*") + `\z`)
}

func TestMatch_EqualsRegexp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringOfN(rapid.RuneFrom([]rune("ab/**")), 0, 10, -1).Draw(t, "pattern")
		text := rapid.StringOfN(rapid.RuneFrom([]rune("ab/")), 0, 14, -1).Draw(t, "text")
		want := asRegexp(pattern).MatchString(text)
		if got := Match(Compile(pattern), text); got != want {
			t.Fatalf("glob %q on %q: %v, want %v", pattern, text, got, want)
		}
	})
}

// Every short glob against every short text.
func TestMatch_Exhaustive(t *testing.T) {
	patterns, texts := words("ab/*", 5), words("ab/", 6)
	if testing.Short() {
		patterns, texts = words("ab/*", 4), words("ab/", 5)
	}
	for _, p := range patterns {
		g, re := Compile(p), asRegexp(p)
		for _, s := range texts {
			if Match(g, s) != re.MatchString(s) {
				t.Fatalf("glob %q on %q: %v", p, s, Match(g, s))
			}
		}
	}
}

// words lists all texts of at most n letters.
func words(letters string, n int) []string {
	out, last := []string{""}, []string{""}
	for range n {
		var next []string
		for _, w := range last {
			for _, c := range letters {
				next = append(next, w+string(c))
			}
		}
		out, last = append(out, next...), next
	}
	return out
}

// The square of this length would take minutes.
func TestMatch_LongText(t *testing.T) {
	text := strings.Repeat("a", 1<<20)
	for _, p := range []string{"**a*b", "**a*b**", "**a*/c*d**", "*a*a*a*b", "**/a*b/c*d"} {
		for _, s := range []string{text, text + "/c" + text, strings.Repeat("a/c", 1<<18)} {
			if Match(Compile(p), s) {
				t.Errorf("%s matches", p)
			}
		}
	}
}

func TestCovers(t *testing.T) {
	texts := words("ab/", 5)
	matched := make(map[string][]bool)
	globs := words("a/*", 4)
	for _, p := range globs {
		row := make([]bool, len(texts))
		for i, s := range texts {
			row[i] = Match(Compile(p), s)
		}
		matched[p] = row
	}
	covered := 0
	for _, p := range globs {
		for _, q := range globs {
			includes := true
			for i := range texts {
				includes = includes && (matched[p][i] || !matched[q][i])
			}
			if Compile(p).Covers(Compile(q)) {
				covered++
				if !includes {
					t.Fatalf("%q covers %q, but does not include it", p, q)
				}
			}
		}
	}
	if covered < len(globs) {
		t.Errorf("only %d cover", covered)
	}
	for _, tt := range [][2]string{{"read_*", "read_a*"}, {"**", "a/*"}, {"a/**", "a/*/b"}, {"*a*", "*ba"}, {"a**", "a/**"}} {
		if !Compile(tt[0]).Covers(Compile(tt[1])) {
			t.Errorf("%q does not cover %q", tt[0], tt[1])
		}
	}
	for _, tt := range [][2]string{{"*", "**"}, {"a/*", "a/**"}, {"*a", "*"}, {"*/*", "**"}} {
		if Compile(tt[0]).Covers(Compile(tt[1])) {
			t.Errorf("%q covers %q", tt[0], tt[1])
		}
	}
}
