package redact

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// ruleEntries is a rules file in the format of gitleaks, whose keys match the fields
// in any case. A text has no path and no commit, so conditions on them are never
// true.
type ruleEntries struct {
	Title, Description, MinVersion string
	Extend                         struct {
		Path, URL     string
		UseDefault    bool
		DisabledRules []string
	}
	Fragments  map[string]string // parts of a regex of a rule; not of gitleaks
	Allowlist  *allowlistEntry
	Allowlists []allowlistEntry
	Rules      []ruleEntry
}

// maxRegex bounds a regex with its fragments, in bytes.
const maxRegex = 32 << 10

// fragmentCall matches the place of a fragment. RE2 has no such syntax.
var fragmentCall = regexp.MustCompile(`\(\?&([a-z]+)\)`)

// expand returns the regex with the fragments in their places, each as a group that
// is not captured. Fragments may contain fragments, but not themselves.
func (f *ruleEntries) expand(regex string) (string, error) {
	for range 1 + len(f.Fragments) {
		if f.Fragments == nil || !strings.Contains(regex, "(?&") {
			return regex, nil
		}
		var unknown string
		regex = fragmentCall.ReplaceAllStringFunc(regex, func(call string) string {
			name := call[len("(?&") : len(call)-1]
			part, ok := f.Fragments[name]
			if !ok {
				unknown = name
			}
			return "(?:" + part + ")"
		})
		switch {
		case unknown != "":
			return "", fmt.Errorf("there is no fragment %q", unknown)
		case len(regex) > maxRegex:
			return "", fmt.Errorf("the regex with its fragments has more than %d bytes", maxRegex)
		}
	}
	return "", errors.New("a fragment contains itself, or its name is not of a-z")
}

type ruleEntry struct {
	ID, Description, Regex string
	SecretGroup            int
	Entropy                float64
	Keywords               []string
	Allowlist              *allowlistEntry
	Allowlists             []allowlistEntry

	// Not of a text: see ruleReader.rule.
	Path       string
	Tags       []string
	SkipReport bool
	Required   []map[string]any

	Severity string // beyond the format: of the policy
}

type allowlistEntry struct {
	Description, Condition, RegexTarget             string
	TargetRules, Regexes, StopWords, Paths, Commits []string
}

// Rule is one compiled rule. It does not change once it is in a [Set].
type Rule struct {
	// ID is the name in marks, of a-z 0-9 and -.
	ID string
	// Severity is low, medium, high or critical in a rule of a policy.
	Severity string

	keywords []string
	group    int
	entropy  float64
	allow    []allowlist

	re      *regexp.Regexp
	plan    plan
	planned bool
	matcher func() *matcher // of a planned rule, compiled once
}

// matcher is the part of a rule that is needed after one of its keywords was
// found; most rules never need it.
type matcher struct {
	dfa *dfa
	// at matches from the beginning of a text; after takes one byte along that
	// is before the match, so that \b sees it.
	at, after *regexp.Regexp
}

// allowlist has conditions under which a finding is ignored.
type allowlist struct {
	all       bool     // of the regexes and the stopwords; otherwise any will do
	match     bool     // look at the whole match instead of the secret
	targets   []string // the rules that a general one is for; nil: all
	regexes   []*regexp.Regexp
	stopWords []string // in lower case
}

var ruleID = regexp.MustCompile(`^[a-z0-9]+(?:-[a-z0-9]+)*$`)

const maxRuleID = 64

// The faults of a rule that are not of its expression.
var (
	errRuleID   = fmt.Errorf("an id consists of a-z, 0-9 and -, and has at most %d characters", maxRuleID)
	errSeverity = fmt.Errorf("the severity must be one of %s", strings.Join(severities, ", "))
)

func (e *ruleEntry) compile() (*Rule, error) {
	switch {
	case !ruleID.MatchString(e.ID) || len(e.ID) > maxRuleID:
		return nil, errRuleID
	case e.Severity != "" && !slices.Contains(severities, e.Severity):
		return nil, errSeverity
	}
	re, err := regexp.Compile(e.Regex)
	if err != nil {
		return nil, err
	}
	if e.SecretGroup < 0 || e.SecretGroup > re.NumSubexp() {
		return nil, fmt.Errorf("secretGroup %d: the regex has %d groups", e.SecretGroup, re.NumSubexp())
	}
	allow, err := compileAllowlists(withSingle(e.Allowlist, e.Allowlists))
	if err != nil {
		return nil, err
	}
	r := &Rule{ID: e.ID, Severity: e.Severity, group: e.SecretGroup, entropy: e.Entropy, allow: allow, re: re}
	for _, k := range e.Keywords {
		if k != "" {
			r.keywords = append(r.keywords, strings.ToLower(k))
		}
	}
	r.makePlan()
	return r, nil
}

func (r *Rule) makePlan() {
	expression := r.re.String()
	r.plan, r.planned = planOf(expression, r.keywords)
	r.matcher = sync.OnceValue(func() *matcher {
		d, err := newDFA(expression)
		if err != nil {
			panic(err) // regexp has compiled it
		}
		return &matcher{dfa: d, at: regexp.MustCompile(`\A(?:` + expression + `)`), after: regexp.MustCompile(`\A(?s:.)(?:` + expression + `)`)}
	})
}

// with returns the rule as another entry of the same name adds to it.
func (r *Rule) with(more *Rule) *Rule {
	c := *r
	c.allow = slices.Concat(r.allow, more.allow)
	if more.entropy > 0 {
		c.entropy = more.entropy
	}
	if more.Severity != "" && r.Severity != "" {
		c.Severity = more.Severity
	}
	if len(more.keywords) > 0 && len(r.keywords) > 0 {
		c.keywords = slices.Concat(r.keywords, more.keywords)
		c.makePlan()
	}
	return &c
}

// withSingle adds the one allowlist of the format's older form.
func withSingle(single *allowlistEntry, list []allowlistEntry) []allowlistEntry {
	if single == nil {
		return list
	}
	return append(slices.Clip(list), *single)
}

func compileAllowlists(entries []allowlistEntry) ([]allowlist, error) {
	var lists []allowlist
	for _, e := range entries {
		and := strings.EqualFold(e.Condition, "AND")
		if and && len(e.Paths)+len(e.Commits) > 0 {
			continue
		}
		l := allowlist{all: and, match: e.RegexTarget == "match" || e.RegexTarget == "line", targets: e.TargetRules}
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

// secret returns the range of the secret in a match; loc is a result of
// FindSubmatchIndex.
func (r *Rule) secret(loc []int) (start, end int) {
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

// covers reports whether a finding is ignored.
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
