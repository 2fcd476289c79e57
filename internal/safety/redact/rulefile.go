package redact

import (
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/BurntSushi/toml"
)

// RuleFile is a file of an operator's own rules: more of them, others in the
// place of built-in ones, and names of built-in ones that are not to be.
type RuleFile struct {
	Rules    []*Rule
	Disabled []string // names of built-in rules

	more    []*Rule // add to the built-in rule of their name
	general []allowlist
}

// RuleFault is something that is wrong in a file of rules.
type RuleFault struct {
	Line    int // 1 is the first; 0: unknown
	Warning bool
	Message string // lower case, no full stop
}

// Bounds of a file of rules.
const (
	maxRuleFile = 1 << 20
	maxRules    = 1000
)

// ParseRules parses a rules file in the format of gitleaks, version 8. Conditions on
// files and commits are never true, since a text has none; warnings name the
// affected rules. A rule with a severity (low, medium, high, critical) belongs to
// a policy. builtIn are the names of rules that the file can change or disable.
// The file is nil if there is an error that is not a warning.
func ParseRules(text string, builtIn []string) (*RuleFile, []RuleFault) {
	if len(text) > maxRuleFile {
		return nil, []RuleFault{{Message: fmt.Sprintf("the file has more than %d bytes", maxRuleFile)}}
	}
	var entries ruleEntries
	meta, err := toml.Decode(text, &entries)
	var syntax toml.ParseError
	switch {
	case errors.As(err, &syntax):
		return nil, []RuleFault{{Line: syntax.Position.Line, Message: "not TOML: " + syntax.Message}}
	case err != nil:
		return nil, []RuleFault{{Message: "not a rules file: " + strings.TrimPrefix(err.Error(), "toml: ")}}
	}
	r := ruleReader{file: &RuleFile{}, builtIn: builtIn}
	for _, key := range meta.Undecoded() {
		r.warn("unknown key %q", key.String())
	}
	r.read(&entries)
	if slices.ContainsFunc(r.faults, func(f RuleFault) bool { return !f.Warning }) {
		return nil, r.faults
	}
	return r.file, r.faults
}

// ruleReader converts entries to rules and collects errors.
type ruleReader struct {
	file    *RuleFile
	builtIn []string
	faults  []RuleFault
}

func (r *ruleReader) fault(format string, args ...any) {
	r.faults = append(r.faults, RuleFault{Message: fmt.Sprintf(format, args...)})
}

func (r *ruleReader) warn(format string, args ...any) {
	r.faults = append(r.faults, RuleFault{Warning: true, Message: fmt.Sprintf(format, args...)})
}

func (r *ruleReader) read(f *ruleEntries) {
	if f.Extend.Path != "" || f.Extend.URL != "" {
		r.warn("extend: path and url are not followed; list files in safety.rules")
	}
	for _, id := range f.Extend.DisabledRules {
		if !slices.Contains(r.builtIn, id) || id == RuleKnown || id == RuleLimit {
			r.warn("disabledRules: there is no built-in rule %q", id)
		}
	}
	r.file.Disabled = f.Extend.DisabledRules
	var err error
	r.file.general, err = compileAllowlists(withSingle(f.Allowlist, f.Allowlists))
	if err != nil {
		r.fault("%v", err)
	}
	if len(f.Rules) > maxRules {
		r.fault("more than %d rules", maxRules)
		return
	}
	seen := map[string]bool{}
	for i := range f.Rules {
		e := &f.Rules[i]
		if seen[e.ID] {
			r.fault("rule %q is in the file twice", e.ID)
			continue
		}
		seen[e.ID] = true
		e.Regex, err = f.expand(e.Regex)
		if err != nil {
			r.fault("rule %q: %v", e.ID, err)
			continue
		}
		r.rule(e)
	}
}

// rule reads one rule.
func (r *ruleReader) rule(e *ruleEntry) {
	switch {
	case e.Path != "":
		r.warn("rule %q matches paths only, which texts do not have: it is ignored", e.ID)
		return
	case e.SkipReport:
		r.warn("rule %q only supports other rules: it is ignored", e.ID)
		return
	case len(e.Required) > 0:
		r.warn("the required rules of rule %q are not checked", e.ID)
	}
	compiled, err := e.compile()
	if err != nil {
		r.fault("rule %q: %v", e.ID, err)
		return
	}
	if e.Regex != "" {
		r.file.Rules = append(r.file.Rules, compiled)
		return
	}
	if !slices.Contains(r.builtIn, e.ID) {
		r.fault("rule %q has no regex, and there is no built-in rule with this id", e.ID)
		return
	}
	r.file.more = append(r.file.more, compiled)
}

// Change returns a rule with the keywords, the entropy and the allowlists that
// the file adds to it.
func (f *RuleFile) Change(r *Rule) *Rule {
	for _, more := range f.more {
		if more.ID == r.ID {
			r = r.with(more)
		}
	}
	for _, a := range f.general {
		if a.targets == nil || slices.Contains(a.targets, r.ID) {
			r = r.with(&Rule{allow: []allowlist{a}})
		}
	}
	return r
}

// CompileRules reads a file of the program's own, in the same format.
func CompileRules(text string) ([]*Rule, error) {
	f, faults := ParseRules(text, nil)
	if len(faults) > 0 {
		return nil, fmt.Errorf("read rules: %s", faults[0].Message)
	}
	for i, r := range f.Rules {
		f.Rules[i] = f.Change(r)
	}
	return f.Rules, nil
}

//go:embed rules.toml
var leakRules string

// BuiltIn returns the rules that the program comes with, compiled once. The
// list is not to be changed.
var BuiltIn = sync.OnceValues(func() ([]*Rule, error) { return CompileRules(leakRules) })

// Default returns the set of the built-in rules.
func Default() (*Set, error) {
	rules, err := BuiltIn()
	if err != nil {
		return nil, err
	}
	return NewSet(rules, Options{}), nil
}

// Severities, from the least.
var severities = []string{"low", "medium", "high", "critical"}
