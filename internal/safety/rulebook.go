package safety

import (
	_ "embed"
	"fmt"
	"slices"
	"sync"

	"github.com/BurntSushi/toml"
)

var (
	//go:embed rules.toml
	leakRules string
	//go:embed policy.toml
	policyRules string
	//go:embed sanitiser.toml
	sanitiserRules string
)

// ruleBook holds the rules of all stages. What it is made of is shared and not
// changed; rules are copied before they are.
type ruleBook struct {
	leaks, policy, sanitiser []*rule
	off                      map[string]bool // rules that are no expressions and not to be
}

// special are the rules that are no expressions and may be switched off.
var special = []string{ruleField, ruleHidden, ruleBidi}

// builtIn returns the rules that the program comes with, compiled once.
var builtIn = sync.OnceValues(func() (*ruleBook, error) {
	b := &ruleBook{}
	for _, f := range []struct {
		text string
		into *[]*rule
	}{{leakRules, &b.leaks}, {policyRules, &b.policy}, {sanitiserRules, &b.sanitiser}} {
		rules, err := parseRules(f.text)
		if err != nil {
			return nil, err
		}
		*f.into = rules
	}
	return b, nil
})

// parseRules reads a file of our own.
func parseRules(text string) ([]*rule, error) {
	var file ruleEntries
	if _, err := toml.Decode(text, &file); err != nil {
		return nil, fmt.Errorf("read rules: %w", err)
	}
	general, err := compileAllowlists(withSingle(file.Allowlist, file.Allowlists))
	if err != nil {
		return nil, fmt.Errorf("read rules: %w", err)
	}
	rules := make([]*rule, 0, len(file.Rules))
	for i := range file.Rules {
		r, err := file.Rules[i].compile(general)
		if err != nil {
			return nil, fmt.Errorf("read rule %q: %w", file.Rules[i].ID, err)
		}
		rules = append(rules, r)
	}
	return rules, nil
}

// newRuleBook returns the built-in rules as the operator's files change them.
func newRuleBook(files []*RuleFile) (*ruleBook, error) {
	base, err := builtIn()
	if err != nil {
		return nil, err
	}
	b := &ruleBook{slices.Clone(base.leaks), slices.Clone(base.policy), slices.Clone(base.sanitiser), map[string]bool{}}
	for _, f := range files {
		b.apply(f)
	}
	return b, nil
}

// apply takes over a file: first what it takes away, then what it changes and
// adds. New rules go before the others, since they know more exactly what they
// are about.
func (b *ruleBook) apply(f *RuleFile) {
	for _, id := range f.disabled {
		b.remove(id)
		b.off[id] = slices.Contains(special, id)
	}
	for _, more := range f.more {
		for _, list := range b.lists() {
			if i := indexOfRule(*list, more.id); i >= 0 {
				(*list)[i] = (*list)[i].with(more)
			}
		}
	}
	fresh := map[*[]*rule][]*rule{}
	for _, r := range f.rules {
		list := &b.leaks
		if r.severity != "" {
			list = &b.policy
		}
		if i := indexOfRule(*list, r.id); i >= 0 {
			(*list)[i] = r
			continue
		}
		b.remove(r.id)
		fresh[list] = append(fresh[list], r)
	}
	for list, rules := range fresh {
		*list = append(rules, *list...)
	}
	b.allow(f.general)
}

// allow adds the allowlists of a file to all rules that they are for.
func (b *ruleBook) allow(general []allowlist) {
	for _, list := range [...][]*rule{b.leaks, b.policy} {
		for i, r := range list {
			var own []allowlist
			for _, a := range general {
				if a.targets == nil || slices.Contains(a.targets, r.id) {
					own = append(own, a)
				}
			}
			if own != nil {
				list[i] = r.with(&rule{allow: own})
			}
		}
	}
}

func (b *ruleBook) lists() [3]*[]*rule { return [...]*[]*rule{&b.leaks, &b.policy, &b.sanitiser} }

func (b *ruleBook) remove(id string) {
	for _, list := range b.lists() {
		*list = slices.DeleteFunc(*list, func(r *rule) bool { return r.id == id })
	}
}

func indexOfRule(list []*rule, id string) int {
	return slices.IndexFunc(list, func(r *rule) bool { return r.id == id })
}

// ids returns the names of all rules that can be given an action.
func (b *ruleBook) ids() []string {
	list := []string{ruleKnown}
	for _, id := range special {
		if !b.off[id] {
			list = append(list, id)
		}
	}
	for _, rules := range b.lists() {
		for _, r := range *rules {
			list = append(list, r.id)
		}
	}
	slices.Sort(list)
	return list
}

// RuleIDs returns the names of the rules that hold with these files, sorted.
func RuleIDs(files []*RuleFile) ([]string, error) {
	b, err := newRuleBook(files)
	if err != nil {
		return nil, err
	}
	return b.ids(), nil
}

// withActions returns copies of rules that know what is done about them.
func withActions(rules []*rule, action func(*rule) Action) []*rule {
	list := make([]*rule, len(rules))
	for i, r := range rules {
		c := *r
		c.action = action(r)
		list[i] = &c
	}
	return list
}
