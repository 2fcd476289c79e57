package safety

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
)

// ruleEntries are a file of rules as gitleaks writes it. A text has no path
// and no commit: what speaks of those never holds.
type ruleEntries struct {
	Title       string           `toml:"title"`
	Description string           `toml:"description"`
	MinVersion  string           `toml:"minVersion"`
	Extend      extendEntry      `toml:"extend"`
	Allowlist   *allowlistEntry  `toml:"allowlist"`
	Allowlists  []allowlistEntry `toml:"allowlists"`
	Rules       []ruleEntry      `toml:"rules"`
}

type extendEntry struct {
	Path          string   `toml:"path"`
	URL           string   `toml:"url"`
	UseDefault    bool     `toml:"useDefault"`
	DisabledRules []string `toml:"disabledRules"`
}

type ruleEntry struct {
	ID          string           `toml:"id"`
	Description string           `toml:"description"`
	Regex       string           `toml:"regex"`
	SecretGroup int              `toml:"secretGroup"`
	Entropy     float64          `toml:"entropy"`
	Keywords    []string         `toml:"keywords"`
	Allowlist   *allowlistEntry  `toml:"allowlist"`
	Allowlists  []allowlistEntry `toml:"allowlists"`

	// Not of a text: see ruleReader.rule.
	Path       string          `toml:"path"`
	Tags       []string        `toml:"tags"`
	SkipReport bool            `toml:"skipReport"`
	Required   []requiredEntry `toml:"required"`

	// Beyond the format: of the policy, and a check by its name.
	Severity string `toml:"severity"`
	Check    string `toml:"check"`
}

type requiredEntry struct {
	ID            string `toml:"id"`
	WithinLines   int    `toml:"withinLines"`
	WithinColumns int    `toml:"withinColumns"`
}

type allowlistEntry struct {
	Description string   `toml:"description"`
	Condition   string   `toml:"condition"`
	TargetRules []string `toml:"targetRules"`
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
	check    func([]byte) bool // nil: none
	begins   func([]byte, int) bool
	severity string // "": a leak
	action   Action

	re      *regexp.Regexp
	plan    plan
	planned bool
	// A rule whose matches begin with the keyword is tried there and nowhere
	// else. after is for a keyword with something before it: it takes that one
	// byte along, so that \b sees it.
	at, after         *regexp.Regexp
	headAt, headAfter *regexp.Regexp // nil without plan.head
	head              *regexp.Regexp // plan.head of a rule that is tried around its keyword
}

// allowlist says which findings of a rule are none after all.
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
	errRuleID   = fmt.Errorf("an id is made of a-z 0-9 and - and has at most %d characters", maxRuleID)
	errSeverity = fmt.Errorf("a severity is one of %s", strings.Join(severities, ", "))
	errCheck    = errors.New("a check is one of luhn, iban, pipe")
)

func (e *ruleEntry) compile(general []allowlist) (*rule, error) {
	switch {
	case !ruleID.MatchString(e.ID) || len(e.ID) > maxRuleID:
		return nil, errRuleID
	case e.Severity != "" && !slices.Contains(severities, e.Severity):
		return nil, errSeverity
	case e.Check != "" && checks[e.Check] == nil:
		return nil, errCheck
	}
	re, err := regexp.Compile(e.Regex)
	if err != nil {
		return nil, err
	}
	if e.SecretGroup < 0 || e.SecretGroup > re.NumSubexp() {
		return nil, fmt.Errorf("secretGroup %d: the regex has %d groups", e.SecretGroup, re.NumSubexp())
	}
	own, err := compileAllowlists(withSingle(e.Allowlist, e.Allowlists))
	if err != nil {
		return nil, err
	}
	r := &rule{
		id: e.ID, group: e.SecretGroup, entropy: e.Entropy, allow: slices.Concat(general, own),
		check: checks[e.Check], begins: begins[e.Check], severity: e.Severity, re: re,
	}
	for _, k := range e.Keywords {
		if k != "" {
			r.keywords = append(r.keywords, strings.ToLower(k))
		}
	}
	r.lay(e.Regex)
	return r, nil
}

// culprit returns the key of what compile has refused.
func (e *ruleEntry) culprit() string {
	_, noRegex := regexp.Compile(e.Regex)
	switch {
	case !ruleID.MatchString(e.ID) || len(e.ID) > maxRuleID:
		return "id"
	case e.Severity != "" && !slices.Contains(severities, e.Severity):
		return "severity"
	case e.Check != "" && checks[e.Check] == nil:
		return "check"
	case noRegex != nil:
		return "regex"
	case e.SecretGroup != 0:
		return "secretGroup"
	case e.Allowlist != nil:
		return "allowlist"
	}
	return "allowlists"
}

// lay plans the search for an expression.
func (r *rule) lay(expression string) {
	r.at, r.after, r.headAt, r.headAfter, r.head = nil, nil, nil, nil, nil
	r.plan, r.planned = planOf(expression, r.keywords)
	if r.planned && r.plan.lead == 0 {
		r.at, r.after = anchored(expression)
		if r.plan.head != "" {
			r.headAt, r.headAfter = anchored(r.plan.head)
		}
	} else if r.planned && r.plan.head != "" {
		r.head = regexp.MustCompile(r.plan.head)
	}
}

// with returns the rule as another entry of the same name adds to it.
func (r *rule) with(more *rule) *rule {
	c := *r
	c.allow = slices.Concat(r.allow, more.allow)
	if more.entropy > 0 {
		c.entropy = more.entropy
	}
	if more.severity != "" && r.severity != "" {
		c.severity = more.severity
	}
	if len(more.keywords) > 0 && len(r.keywords) > 0 {
		c.keywords = slices.Concat(r.keywords, more.keywords)
		c.lay(r.re.String())
	}
	return &c
}

// anchored returns an expression that matches from the beginning of a text, and
// one that matches from its second byte.
func anchored(expression string) (at, after *regexp.Regexp) {
	return regexp.MustCompile(`\A(?:` + expression + `)`), regexp.MustCompile(`\A(?s:.)(?:` + expression + `)`)
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
	return r.check == nil || r.check(secret)
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
