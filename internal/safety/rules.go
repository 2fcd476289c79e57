package safety

import (
	_ "embed"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

//go:embed rules.toml
var builtInRules string

// ruleFile is a file of rules as gitleaks writes it. A text has no path and no
// commit: what speaks of those never holds.
type ruleFile struct {
	Allowlists []allowlistEntry `toml:"allowlists"`
	Rules      []ruleEntry      `toml:"rules"`
}

type ruleEntry struct {
	ID          string           `toml:"id"`
	Description string           `toml:"description"`
	Regex       string           `toml:"regex"`
	SecretGroup int              `toml:"secretGroup"`
	Entropy     float64          `toml:"entropy"`
	Keywords    []string         `toml:"keywords"`
	Allowlists  []allowlistEntry `toml:"allowlists"`
}

type allowlistEntry struct {
	Description string   `toml:"description"`
	Condition   string   `toml:"condition"`
	RegexTarget string   `toml:"regexTarget"`
	Regexes     []string `toml:"regexes"`
	StopWords   []string `toml:"stopwords"`
	Paths       []string `toml:"paths"`
	Commits     []string `toml:"commits"`
}

// rule is one compiled rule.
type rule struct {
	id       string
	keywords []string
	group    int
	entropy  float64
	allow    []allowlist

	re      *regexp.Regexp
	plan    plan
	planned bool
	// A rule whose matches begin with the keyword is tried there and nowhere
	// else. after is for a keyword with something before it: it takes that one
	// byte along, so that \b sees it.
	at, after         *regexp.Regexp
	headAt, headAfter *regexp.Regexp // nil without plan.head
}

// allowlist says which findings of a rule are none after all.
type allowlist struct {
	all       bool // of the regexes and the stopwords; otherwise any will do
	match     bool // look at the whole match instead of the secret
	regexes   []*regexp.Regexp
	stopWords []string // in lower case
}

// parseRules reads a file of rules.
func parseRules(text string) ([]*rule, error) {
	var file ruleFile
	if _, err := toml.Decode(text, &file); err != nil {
		return nil, fmt.Errorf("read leak rules: %w", err)
	}
	general, err := compileAllowlists(file.Allowlists)
	if err != nil {
		return nil, fmt.Errorf("read leak rules: %w", err)
	}
	rules := make([]*rule, 0, len(file.Rules))
	for _, entry := range file.Rules {
		r, err := entry.compile(general)
		if err != nil {
			return nil, fmt.Errorf("read leak rule %q: %w", entry.ID, err)
		}
		rules = append(rules, r)
	}
	return rules, nil
}

var ruleID = regexp.MustCompile(`^[a-z0-9]+(?:-[a-z0-9]+)*$`)

func (e *ruleEntry) compile(general []allowlist) (*rule, error) {
	if !ruleID.MatchString(e.ID) {
		return nil, fmt.Errorf("an id is made of a-z 0-9 and -")
	}
	re, err := regexp.Compile(e.Regex)
	if err != nil {
		return nil, err
	}
	if e.SecretGroup > re.NumSubexp() {
		return nil, fmt.Errorf("secretGroup %d: the regex has %d groups", e.SecretGroup, re.NumSubexp())
	}
	own, err := compileAllowlists(e.Allowlists)
	if err != nil {
		return nil, err
	}
	r := &rule{id: e.ID, group: e.SecretGroup, entropy: e.Entropy, allow: slices.Concat(general, own), re: re}
	for _, k := range e.Keywords {
		r.keywords = append(r.keywords, strings.ToLower(k))
	}
	r.plan, r.planned = planOf(e.Regex, r.keywords)
	if r.planned && r.plan.lead == 0 {
		r.at, r.after = anchored(e.Regex)
		if r.plan.head != "" {
			r.headAt, r.headAfter = anchored(r.plan.head)
		}
	}
	return r, nil
}

// anchored returns an expression that matches from the beginning of a text, and
// one that matches from its second byte.
func anchored(expression string) (at, after *regexp.Regexp) {
	return regexp.MustCompile(`\A(?:` + expression + `)`), regexp.MustCompile(`\A(?s:.)(?:` + expression + `)`)
}

func compileAllowlists(entries []allowlistEntry) ([]allowlist, error) {
	var lists []allowlist
	for _, e := range entries {
		and := strings.EqualFold(e.Condition, "AND")
		if and && len(e.Paths)+len(e.Commits) > 0 {
			continue
		}
		l := allowlist{all: and, match: e.RegexTarget == "match" || e.RegexTarget == "line"}
		for _, s := range e.Regexes {
			re, err := regexp.Compile(s)
			if err != nil {
				return nil, fmt.Errorf("allowlist: %w", err)
			}
			l.regexes = append(l.regexes, re)
		}
		for _, w := range e.StopWords {
			l.stopWords = append(l.stopWords, strings.ToLower(w))
		}
		lists = append(lists, l)
	}
	return lists, nil
}

// secret returns the part of a match that is the secret: loc is what
// FindSubmatchIndex returned.
func (r *rule) secret(loc []int) (start, end int) {
	if r.group > 0 {
		return loc[2*r.group], loc[2*r.group+1]
	}
	for g := 2; g < len(loc); g += 2 {
		if loc[g] >= 0 && loc[g] < loc[g+1] {
			return loc[g], loc[g+1]
		}
	}
	return loc[0], loc[1]
}

// convinced reports whether a match is to be taken for a leak.
func (r *rule) convinced(match, secret []byte) bool {
	if len(secret) == 0 || r.entropy > 0 && entropy(secret) <= r.entropy {
		return false
	}
	for i := range r.allow {
		if r.allow[i].covers(match, secret) {
			return false
		}
	}
	return true
}

func (l *allowlist) covers(match, secret []byte) bool {
	target := secret
	if l.match {
		target = match
	}
	byRegex := slices.ContainsFunc(l.regexes, func(re *regexp.Regexp) bool { return re.Match(target) })
	byWord := false
	if len(l.stopWords) > 0 {
		lower := strings.ToLower(string(secret))
		byWord = slices.ContainsFunc(l.stopWords, func(w string) bool { return strings.Contains(lower, w) })
	}
	if l.all {
		return (byRegex || l.regexes == nil) && (byWord || l.stopWords == nil) && (byRegex || byWord)
	}
	return byRegex || byWord
}

// entropy returns the Shannon entropy in bits per byte.
func entropy(s []byte) float64 {
	var counts [256]int
	for _, c := range s {
		counts[c]++
	}
	sum := 0.0
	for _, n := range &counts {
		if n > 0 {
			p := float64(n) / float64(len(s))
			sum -= p * math.Log2(p)
		}
	}
	return sum
}
