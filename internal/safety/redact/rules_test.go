package redact

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/testing/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func detector(t testing.TB) *Set {
	t.Helper()
	d, err := Default()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func masked(d *Set, text string) string {
	out, last := "", 0
	for _, f := range d.Find(nil, nil, []byte(text), nil) {
		out += text[last:f.Start] + Marker(f.Rule)
		last = f.End
	}
	return out + text[last:]
}

// TestEveryRuleFindsItsFormat: alone and inside of a sentence, and exactly.
func TestEveryRuleFindsItsFormat(t *testing.T) {
	d := detector(t)
	r := rand.New(rand.NewPCG(1, 2))
	for _, rule := range d.rules {
		if len(examples[rule.ID]) == 0 {
			t.Errorf("%s: no example", rule.ID)
		}
		for _, format := range examples[rule.ID] {
			for range 5 {
				text, want := example(t, r, rule.ID, format)
				for _, frame := range [][2]string{{"", ""}, {"Größe: ", "\n"}, {"see (", ") and go on"}, {"x=\"", "\""}} {
					if strings.HasSuffix(text, ".") && frame[1] != "" || strings.HasPrefix(frame[0], "x=") && strings.Contains(text, `"`) {
						continue
					}
					if got := masked(d, frame[0]+text+frame[1]); got != frame[0]+want+frame[1] {
						t.Fatalf("%s: %q\nis masked as %q", rule.ID, frame[0]+text+frame[1], got)
					}
				}
			}
		}
	}
	if len(d.rules) < 40 {
		t.Errorf("only %d rules", len(d.rules))
	}
}

// TestRulesAreFast: the rules of speed that rules.toml speaks of.
func TestRulesAreFast(t *testing.T) {
	// Rules with a keyword somewhere in the text.
	var unplanned []string
	seen := map[string]bool{}
	for _, r := range detector(t).rules {
		if seen[r.ID] {
			t.Errorf("%s: twice", r.ID)
		}
		seen[r.ID] = true
		if len(r.keywords) == 0 {
			t.Errorf("%s: has no keywords", r.ID)
		}
		for _, k := range r.keywords {
			if k != strings.ToLower(k) || len(k) < 2 {
				t.Errorf("%s: keyword %q", r.ID, k)
			}
		}
		if r.planned == slices.Contains(unplanned, r.ID) {
			t.Errorf("%s: a match is near a keyword: %v", r.ID, r.planned)
		}
	}
}

// TestRulesOfStagesAreFast: no rule of the policy or the sanitizer runs over a
// text as a whole.
func TestRulesOfStagesAreFast(t *testing.T) {
	for _, name := range []string{"policy.toml", "sanitizer.toml"} {
		text, err := os.ReadFile(filepath.Join("..", name))
		if err != nil {
			t.Fatal(err)
		}
		rules, err := CompileRules(string(text))
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rules {
			if !r.planned {
				t.Errorf("%s: a match of %s is not near a keyword", name, r.ID)
			}
		}
	}
}

// TestPlannedSearchFindsWhatAFullSearchFinds compares the search around
// keywords with the plain meaning of a rule, on texts that are full of both.
func TestPlannedSearchFindsWhatAFullSearchFinds(t *testing.T) {
	d := detector(t)
	r := rand.New(rand.NewPCG(3, 4))
	var formats []string
	for _, list := range examples {
		formats = append(formats, list...)
	}
	slices.Sort(formats)
	for range 1000 {
		var b strings.Builder
		for range 1 + r.IntN(6) {
			text, _ := example(t, r, "x", formats[r.IntN(len(formats))])
			switch r.IntN(3) {
			case 0:
				text = text[r.IntN(len(text)):]
			case 1:
				text = text[:r.IntN(len(text))]
			}
			b.WriteString(text)
			b.WriteString([]string{"", " ", "\n", "ä", "token ", "=", `"`}[r.IntN(7)])
		}
		text := []byte(b.String())
		got := findings(d, text, false)
		if want := findings(d, text, true); !slices.Equal(got, want) {
			t.Fatalf("%q\ngot  %v\nwant %v", text, got, want)
		}
	}
}

// findings searches near keywords, or with every rule of which a keyword is
// there over the whole text.
func findings(d *Set, text []byte, full bool) []Finding {
	b := NewBudget(1 << 20)
	c := &scratch{rules: make([]progress, len(d.rules)), budget: &b}
	if !full {
		d.search(c, nil, text)
		return d.resolve(nil, c.found, 0, len(text))
	}
	for i, r := range d.rules {
		if slices.ContainsFunc(r.keywords, func(k string) bool { return bytes.Contains(bytes.ToLower(text), []byte(k)) }) {
			d.searchAll(c, nil, i, text)
		}
	}
	return d.resolve(nil, c.found, 0, len(text))
}

func TestAllowlists(t *testing.T) {
	file := `
[[allowlists]]
stopwords = ["everywhere"]
[[rules]]
id = "a"
regex = 'key-(\w+)'
keywords = ["KEY-"]
[[rules.allowlists]]
regexes = ['^no']
[[rules.allowlists]]
condition = "AND"
regexes = ['x$']
stopwords = ["Sample"]
[[rules.allowlists]]
regexTarget = "match"
regexes = ['^key-m']
[[rules.allowlists]]
condition = "AND"
regexes = ['.']
paths = ['test']
[[rules]]
id = "b"
regex = '(id)=(\w+)'
secretGroup = 2
entropy = 2.0
`
	rules, err := CompileRules(file)
	if err != nil {
		t.Fatal(err)
	}
	d := NewSet(rules, Options{})
	cases := map[string]string{
		"key-yes":         "key-[redacted:a]",
		"KEY-yes":         "KEY-yes", // the keyword is there, the expression is exact
		"key-nope":        "key-nope",
		"key-samplex":     "key-samplex",
		"key-sampley":     "key-[redacted:a]",
		"key-otherx":      "key-[redacted:a]",
		"key-mine":        "key-mine",
		"key-Everywhere1": "key-Everywhere1",
		"id=abcdefgh":     "id=[redacted:b]", // no keywords: always tried
		"id=aaaabbbb":     "id=aaaabbbb",     // too regular
	}
	for text, want := range cases {
		if got := masked(d, text); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

func TestFaultyRulesAreRefused(t *testing.T) {
	for name, file := range map[string]string{
		"toml":      `[[rules]`,
		"id":        "[[rules]]\nid = \"A b\"\nregex = 'x'",
		"regex":     "[[rules]]\nid = \"a\"\nregex = '('",
		"group":     "[[rules]]\nid = \"a\"\nregex = 'x'\nsecretGroup = 1",
		"allowlist": "[[rules]]\nid = \"a\"\nregex = 'x'\n[[rules.allowlists]]\nregexes = ['(']",
		"general":   "[[allowlists]]\nregexes = ['(']",
	} {
		if _, err := CompileRules(file); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestPlans(t *testing.T) {
	cases := []struct {
		expression string
		keywords   []string
		lead, tail int
		ok         bool
	}{
		{`\bghp_[a-z]{4}`, []string{"ghp_"}, 0, 8, true},
		{`(?i)\b(?:api[_-]?key|token)=(\w{2,5})`, []string{"api_key", "api-key", "apikey", "token"}, 0, 44, true},
		{`\d{2}:AA(\w)`, []string{":aa"}, 2, 4, true},
		{`sk-\w+`, []string{"sk-"}, 0, unbounded, true},
		{`[^a]{2}x`, []string{"x"}, 8, 1, true},
		{`\w+@key`, []string{"@key"}, 0, 0, false},
		{`[a-z]{3}`, []string{"key"}, 0, 0, false},
		{`key|lock`, []string{"key"}, 0, 0, false},
	}
	for _, c := range cases {
		got, ok := planOf(c.expression, c.keywords)
		if ok != c.ok || got.lead != c.lead || got.tail != c.tail {
			t.Errorf("%s: got %+v, %v", c.expression, got, ok)
		}
	}
}

// TestManyKeywords checks that a text of many keywords is searched in one pass, and
// that its secret is found.
func TestManyKeywords(t *testing.T) {
	d := detector(t)
	for _, keyword := range []string{"curl ", "token=", "password: ", ":aa"} {
		text := strings.Repeat(keyword, 5000) + "\ncurl -u bob:aB3dE6gH9jK2 https://example.org " + ghp + " " + strings.Repeat(keyword, 5000)
		if got := masked(d, text); strings.Contains(got, "aB3dE6gH9jK2") || strings.Contains(got, ghp) {
			t.Errorf("%q hides a secret", keyword)
		}
	}
}

// A placeholder in a header of cookies exempts itself alone.
func TestCookies(t *testing.T) {
	const session = "session=k3J9xQ2mT7vB4nL8"
	d := detector(t)
	for text, want := range map[string]string{
		"Cookie: " + session:                                   "Cookie: [redacted:cookie-header]",
		"Cookie: theme={theme}; " + session:                    "Cookie: theme={theme}; [redacted:cookie-header]",
		"Cookie: a=<a>; b=$B; " + session + "; c=1; d=$D; e=2": "Cookie: a=<a>; b=$B; [redacted:cookie-header]",
		"Cookie: " + session + "; csrf_token=$CSRF; sid=<sid>": "Cookie: [redacted:cookie-header]; csrf_token=$CSRF; sid=<sid>",
		"Cookie: auth_token=[redacted:jwt]; lang=de":           "Cookie: auth_token=[redacted:jwt]; lang=de",
		"Cookie: auth_token=[redacted:jwt]; " + session:        "Cookie: auth_token=[redacted:jwt]; [redacted:cookie-header]",
		"Cookie: session=$SESSION; sid={sid}; theme=dark":      "Cookie: session=$SESSION; sid={sid}; theme=dark",
	} {
		if got := masked(d, text); got != want {
			t.Errorf("%s\nis masked as %s\nwant           %s", text, got, want)
		}
	}
}
