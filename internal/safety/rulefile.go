package safety

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// RuleFile is a file of an operator's own rules: more of them, others in the
// place of built-in ones, and names of built-in ones that are not to be.
type RuleFile struct {
	name     string
	rules    []*rule
	more     []*rule // add allowlists and keywords to the built-in rule of their name
	general  []allowlist
	disabled []string
}

// RuleFault is something that is wrong in a file of rules.
type RuleFault struct {
	Line    int // 1 is the first
	Warning bool
	Message string // lower case, no full stop
}

// Bounds of a file of rules.
const (
	maxRuleFile = 1 << 20
	maxRules    = 1000
)

// ParseRules reads a file of rules in the format of gitleaks, version 8. What
// that format has for files and commits never holds, since a text has none;
// the rules that this concerns are named in warnings. A rule with a severity
// (low, medium, high, critical) is one of the policy. The file is nil if a
// fault is more than a warning.
func ParseRules(name, text string) (*RuleFile, []RuleFault) {
	if len(text) > maxRuleFile {
		return nil, []RuleFault{{Line: 1, Message: fmt.Sprintf("the file has more than %d bytes", maxRuleFile)}}
	}
	var entries ruleEntries
	meta, err := toml.Decode(text, &entries)
	if err != nil {
		return nil, []RuleFault{tomlFault(err)}
	}
	ids, err := RuleIDs(nil)
	if err != nil {
		return nil, []RuleFault{{Line: 1, Message: err.Error()}}
	}
	r := ruleReader{file: &RuleFile{name: name}, lines: linesOf(text), builtIn: map[string]bool{}}
	for _, id := range ids {
		r.builtIn[id] = true
	}
	for _, key := range meta.Undecoded() {
		r.warn(r.lines.of(key[len(key)-1]), "unknown key %q", key.String())
	}
	r.read(&entries)
	slices.SortStableFunc(r.faults, func(a, b RuleFault) int { return a.Line - b.Line })
	if slices.ContainsFunc(r.faults, func(f RuleFault) bool { return !f.Warning }) {
		return nil, r.faults
	}
	return r.file, r.faults
}

func tomlFault(err error) RuleFault {
	var syntax toml.ParseError
	if errors.As(err, &syntax) {
		return RuleFault{Line: max(syntax.Position.Line, 1), Message: "not TOML: " + syntax.Message}
	}
	f := RuleFault{Line: 1}
	f.Message = strings.TrimPrefix(err.Error(), "toml: ")
	if _, scanErr := fmt.Sscanf(f.Message, "line %d", &f.Line); scanErr == nil {
		_, f.Message, _ = strings.Cut(f.Message, " (last key ")
	}
	f.Message = "not a file of rules: " + strings.ReplaceAll(f.Message, "):", ":")
	return f
}

// ruleReader turns entries into rules and collects what is wrong with them.
type ruleReader struct {
	file    *RuleFile
	builtIn map[string]bool
	lines   lines
	faults  []RuleFault
}

func (r *ruleReader) fault(line int, format string, args ...any) {
	r.faults = append(r.faults, RuleFault{Line: line, Message: fmt.Sprintf(format, args...)})
}

func (r *ruleReader) warn(line int, format string, args ...any) {
	r.faults = append(r.faults, RuleFault{Line: line, Warning: true, Message: fmt.Sprintf(format, args...)})
}

func (r *ruleReader) read(f *ruleEntries) {
	if f.Extend.Path != "" || f.Extend.URL != "" {
		r.warn(r.lines.of("extend"), "extend knows disabledRules here, and no other files; list them in safety.rules")
	}
	for _, id := range f.Extend.DisabledRules {
		if !r.builtIn[id] || id == ruleKnown {
			r.warn(r.lines.of("disabledRules"), "disabledRules: no built-in rule is called %q", id)
		}
	}
	r.file.disabled = f.Extend.DisabledRules
	var err error
	if r.file.general, err = compileAllowlists(withSingle(f.Allowlist, f.Allowlists)); err != nil {
		r.fault(r.lines.of("allowlist"), "%v", err)
	}
	if len(f.Rules) > maxRules {
		r.fault(1, "more than %d rules", maxRules)
		return
	}
	seen := map[string]bool{}
	for i := range f.Rules {
		e := &f.Rules[i]
		at := r.lines.rule(i)
		if seen[e.ID] {
			r.fault(at.of("id"), "rule %q stands in the file already", e.ID)
			continue
		}
		seen[e.ID] = true
		r.rule(e, at)
	}
}

// rule reads one rule.
func (r *ruleReader) rule(e *ruleEntry, at ruleLines) {
	switch {
	case e.Path != "":
		r.warn(at.of("path"), "rule %q looks at paths, and a text has none: it finds nothing", e.ID)
		return
	case e.SkipReport:
		r.warn(at.of("skipReport"), "rule %q reports nothing by itself, and is left out", e.ID)
		return
	case len(e.Required) > 0:
		r.warn(at.of("required"), "rule %q is not held against those that it requires", e.ID)
	}
	compiled, err := e.compile(nil)
	if err != nil {
		r.fault(at.of(e.culprit()), "rule %q: %v", e.ID, err)
		return
	}
	if e.Regex == "" {
		if !r.builtIn[e.ID] {
			r.fault(at.begin, "rule %q has no regex, and no built-in rule is called so", e.ID)
			return
		}
		r.file.more = append(r.file.more, compiled)
		return
	}
	r.file.rules = append(r.file.rules, compiled)
}

// Severities, from the least.
var severities = []string{"low", "medium", "high", "critical"}

// lines knows where in a file of rules its parts begin.
type lines struct {
	text  []string
	rules []ruleLines
}

// ruleLines are the lines of one rule.
type ruleLines struct {
	begin int
	keys  map[string]int
}

// of returns the line of a key of the rule, or of the rule.
func (l ruleLines) of(key string) int {
	if n := l.keys[key]; n > 0 {
		return n
	}
	return max(l.begin, 1)
}

// rule returns the lines of a rule.
func (l lines) rule(i int) ruleLines {
	if i < len(l.rules) {
		return l.rules[i]
	}
	return ruleLines{begin: l.of("rules")} // written in one line
}

// of returns the first line that begins with a key or its table.
func (l lines) of(key string) int {
	for i, line := range l.text {
		if strings.HasPrefix(strings.TrimLeft(line, " \t[\""), key) {
			return i + 1
		}
	}
	return 1
}

// linesOf finds the rules in a text. The reader of TOML tells the line of a
// fault in the syntax, and not that of a value.
func linesOf(text string) lines {
	l := lines{text: strings.Split(text, "\n")}
	quote := "" // of the text that goes over several lines
	for i, line := range l.text {
		begins := quote == ""
		quote = quoteBehind(quote, line)
		name := strings.TrimSpace(line)
		switch {
		case !begins || name == "" || name[0] == '#':
		case strings.HasPrefix(name, "[[rules]]"):
			l.rules = append(l.rules, ruleLines{begin: i + 1, keys: map[string]int{}})
		case len(l.rules) > 0:
			key, _, _ := strings.Cut(strings.Trim(name, "[]"), "=")
			key = strings.Trim(strings.TrimPrefix(strings.TrimSpace(key), "rules."), `"' `)
			if keys := l.rules[len(l.rules)-1].keys; keys[key] == 0 {
				keys[key] = i + 1
			}
		}
	}
	return l
}

// quoteBehind returns the quote of a text that goes on behind a line.
func quoteBehind(quote, line string) string {
	for line != "" {
		if quote != "" {
			_, rest, found := strings.Cut(line, quote)
			if !found {
				return quote
			}
			quote, line = "", rest
			continue
		}
		single, double := strings.Index(line, "'''"), strings.Index(line, `"""`)
		switch {
		case single < 0 && double < 0:
			return ""
		case double < 0 || single >= 0 && single < double:
			quote, line = "'''", line[single+3:]
		default:
			quote, line = `"""`, line[double+3:]
		}
	}
	return quote
}
