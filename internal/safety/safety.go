// Package safety inspects and masks the text of payloads before it is durable, once
// for all readers of the log (section 7 of the contract).
//
// [Pipeline.Payload] inspects every string of a payload, decoded and at any
// depth, keys included. The stages, in this order:
//
//   - length cuts texts that are too long;
//   - leaks masks secrets: [redacted:RULE];
//   - policy blocks, masks, marks for review or warns, by severity;
//   - sanitizer neutralizes text that poses as an instruction: [marked:RULE …].
//
// payload.redacted names the rules that changed the text, payload.review the rules
// that request a review. The rest keeps its bytes, and a second inspection does
// not change the payload.
//
// [Pipeline.StreamData] does the same for the chunks of a stream ([Stream]), which is delivered
// and never stored.
//
// Reasoning is never rejected: where a payload of another kind would be, the text
// of reasoning is removed and the envelope admitted.
package safety

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/meup-protocol/meup/internal/safety/redact"
	"github.com/meup-protocol/meup/protocol"
)

// Config configures a pipeline. The zero Config is a good one.
type Config struct {
	// Kinds selects the inspected kinds; nil selects reasoning/*.
	Kinds []protocol.KindPattern
	// Action is the action for leaks; "" is ActionMask.
	Action Action
	// Actions are ActionMask or ActionBlock for single rules, of any stage.
	Actions map[string]Action
	// Policy maps severities to actions; missing ones are as in DefaultPolicy.
	Policy map[string]Action
	// MaxText bounds a text, in bytes; 0: DefaultMaxText.
	MaxText int
	// Rules are the operator's own, the later ones going before the earlier.
	Rules []*redact.RuleFile
	// Secrets are values to be masked. Values shorter than redact.MinKnown are
	// ignored.
	Secrets []redact.Secret
	// Found is called with every finding, by the goroutine that calls Payload,
	// for a counter. It may be nil.
	Found func(stage, rule string)
}

// DefaultMaxText is the bound of a text where nothing is configured.
const DefaultMaxText = 256 << 10

// Pipeline inspects payloads. It may be used concurrently.
type Pipeline struct {
	kinds  []protocol.KindPattern
	found  func(stage, rule string)
	stages []stage
	rules  map[string]bool // by name
	shown  *Pipeline       // of leaks alone, which masks every finding
}

// New returns the pipeline that a configuration asks for. It is an error if an
// action, a severity or a rule is unknown.
func New(c Config) (*Pipeline, error) {
	book, err := newRuleBook(c.Rules)
	if err != nil {
		return nil, err
	}
	ids := book.ids()
	if err := c.check(ids); err != nil {
		return nil, err
	}
	if c.Kinds == nil {
		reasoning, err := protocol.ParseKindPattern("reasoning/*")
		if err != nil {
			return nil, err
		}
		c.Kinds = []protocol.KindPattern{reasoning}
	}
	if c.Found == nil {
		c.Found = func(string, string) {}
	}
	if c.MaxText == 0 {
		c.MaxText = DefaultMaxText
	}
	names := map[string]bool{ruleLength: true}
	for _, id := range ids {
		names[id] = true
	}
	detector := c.leaks(book, names, func(rule string) Action { return cmp.Or(c.Actions[rule], c.Action, ActionMask) })
	shown := detector
	blocks := c.Action == ActionBlock
	for _, a := range c.Actions {
		blocks = blocks || a == ActionBlock
	}
	if blocks {
		shown = c.leaks(book, names, func(string) Action { return ActionMask })
	}
	severities := DefaultPolicy()
	policyAction := func(r *redact.Rule) Action {
		return cmp.Or(c.Actions[r.ID], c.Policy[r.Severity], severities[r.Severity])
	}
	policy := newRuleStage(stagePolicy, book.policy, policyAction, redact.Options{Names: names, Plain: true})
	sanitizerAction := func(r *redact.Rule) Action { return c.Actions[r.ID] }
	return &Pipeline{
		kinds: c.Kinds, found: c.Found, rules: names,
		stages: []stage{
			lengthGuard{max(c.MaxText, MinText)},
			detector,
			&policy,
			&sanitizer{newRuleStage(stageSanitizer, book.sanitizer, sanitizerAction, redact.Options{Names: names, Plain: true, Marked: true}), c.Actions, book.off},
		},
		shown: &Pipeline{found: func(string, string) {}, stages: []stage{shown}},
	}, nil
}

// leaks returns the stage that finds secrets, with an action for each rule.
func (c *Config) leaks(book *ruleBook, names map[string]bool, action func(rule string) Action) *leaks {
	l := &leaks{field: action(ruleField)}
	if book.off[ruleField] {
		l.field = ""
	}
	l.ruleStage = newRuleStage(stageLeaks, book.leaks, func(r *redact.Rule) Action { return action(r.ID) }, redact.Options{Known: c.Secrets, Names: names})
	l.actions[redact.RuleKnown], l.limit = action(redact.RuleKnown), action(redact.RuleLimit)
	return l
}

// newRuleStage returns a stage of rules, stably sorted with the strictest first.
func newRuleStage(label string, rules []*redact.Rule, action func(*redact.Rule) Action, o redact.Options) ruleStage {
	s := ruleStage{label: label, unnamed: o.Plain, actions: make(map[string]Action, len(rules))}
	for _, r := range rules {
		s.actions[r.ID] = action(r)
	}
	sorted := slices.Clone(rules)
	slices.SortStableFunc(sorted, func(a, b *redact.Rule) int {
		return s.actions[a.ID].strictness() - s.actions[b.ID].strictness()
	})
	s.set = redact.NewSet(sorted, o)
	return s
}

// check checks the actions; ids are the rules that there are.
func (c *Config) check(ids []string) error {
	switch c.Action {
	case "", ActionMask, ActionBlock:
	default:
		return fmt.Errorf("unknown safety action %q; use %s or %s", c.Action, ActionMask, ActionBlock)
	}
	known := DefaultPolicy()
	for severity, action := range c.Policy {
		if known[severity] == "" {
			return fmt.Errorf("safety policy for %q: the severity must be low, medium, high or critical", severity)
		}
		switch action {
		case ActionBlock, ActionSanitize, ActionReview, ActionWarn:
		default:
			return fmt.Errorf("safety policy for %s: unknown action %q; use block, sanitise, review or warn", severity, action)
		}
	}
	for rule, action := range c.Actions {
		if !slices.Contains(ids, rule) {
			return fmt.Errorf("safety action for rule %q: there is no such rule", rule)
		}
		if action != ActionMask && action != ActionBlock {
			return fmt.Errorf("safety action for rule %s: unknown action %q; use %s or %s", rule, action, ActionMask, ActionBlock)
		}
	}
	return nil
}

// Applies reports whether payloads of this kind are to be inspected.
func (p *Pipeline) Applies(kind protocol.Kind) bool {
	for i := range p.kinds {
		if p.kinds[i].Match(kind) {
			return true
		}
	}
	return false
}

// Has reports whether the pipeline has a rule of this name.
func (p *Pipeline) Has(rule string) bool { return p.rules[rule] }

// Text returns a text as it may be shown: leaks are masked, regardless of the
// kinds that are inspected before the log.
func (p *Pipeline) Text(s string) string {
	return p.shown.stages[0].(*leaks).set.Mask(s) //nolint:forcetypeassert // build made it
}
