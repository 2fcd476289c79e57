package safety

import (
	_ "embed"
	"slices"
	"sync"

	"github.com/meup-protocol/meup/internal/safety/redact"
)

var (
	//go:embed policy.toml
	policyRules string
	//go:embed sanitizer.toml
	sanitizerRules string
)

// ruleBook has the rules of all stages. Its parts are shared and immutable.
type ruleBook struct {
	leaks, policy, sanitizer []*redact.Rule
	off                      map[string]bool // rules that are no expressions and disabled
}

// special are the rules that are no expressions and may be disabled.
var special = []string{ruleField, ruleHidden, ruleBidi}

// builtIn returns the rules that the program comes with, compiled once.
var builtIn = sync.OnceValues(func() (*ruleBook, error) {
	leaks, err := redact.BuiltIn()
	if err != nil {
		return nil, err
	}
	policy, err := redact.CompileRules(policyRules)
	if err != nil {
		return nil, err
	}
	sanitizer, err := redact.CompileRules(sanitizerRules)
	return &ruleBook{leaks: leaks, policy: policy, sanitizer: sanitizer}, err
})

// newRuleBook returns the built-in rules as the operator's files change them.
func newRuleBook(files []*redact.RuleFile) (*ruleBook, error) {
	base, err := builtIn()
	if err != nil {
		return nil, err
	}
	b := &ruleBook{slices.Clone(base.leaks), slices.Clone(base.policy), slices.Clone(base.sanitizer), map[string]bool{}}
	for _, f := range files {
		b.apply(f)
	}
	return b, nil
}

// apply applies a rules file: first disabled rules, then new and changed ones. New
// rules precede the others, since they are more specific.
func (b *ruleBook) apply(f *redact.RuleFile) {
	for _, id := range f.Disabled {
		b.remove(id)
		b.off[id] = slices.Contains(special, id)
	}
	fresh := map[*[]*redact.Rule][]*redact.Rule{}
	for _, r := range f.Rules {
		list := &b.leaks
		if r.Severity != "" {
			list = &b.policy
		}
		if i := slices.IndexFunc(*list, func(old *redact.Rule) bool { return old.ID == r.ID }); i >= 0 {
			(*list)[i] = r
			continue
		}
		b.remove(r.ID)
		fresh[list] = append(fresh[list], r)
	}
	for list, rules := range fresh {
		*list = append(rules, *list...)
	}
	for _, list := range b.lists() {
		for i, r := range *list {
			(*list)[i] = f.Change(r)
		}
	}
}

func (b *ruleBook) lists() [3]*[]*redact.Rule {
	return [...]*[]*redact.Rule{&b.leaks, &b.policy, &b.sanitizer}
}

func (b *ruleBook) remove(id string) {
	for _, list := range b.lists() {
		*list = slices.DeleteFunc(*list, func(r *redact.Rule) bool { return r.ID == id })
	}
}

// ids returns the names of all rules that can be given an action, sorted.
func (b *ruleBook) ids() []string {
	list := []string{redact.RuleKnown, redact.RuleLimit}
	for _, id := range special {
		if !b.off[id] {
			list = append(list, id)
		}
	}
	for _, rules := range b.lists() {
		for _, r := range *rules {
			list = append(list, r.ID)
		}
	}
	slices.Sort(list)
	return list
}

// RuleIDs returns the names of the rules that hold with these files, sorted.
func RuleIDs(files []*redact.RuleFile) ([]string, error) {
	b, err := newRuleBook(files)
	if err != nil {
		return nil, err
	}
	return b.ids(), nil
}

// ParseRules reads a file of an operator's rules, see [redact.ParseRules].
func ParseRules(text string) (*redact.RuleFile, []redact.RuleFault) {
	ids, err := RuleIDs(nil)
	if err != nil {
		return nil, []redact.RuleFault{{Message: err.Error()}}
	}
	return redact.ParseRules(text, ids)
}
