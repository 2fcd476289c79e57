// Package safety keeps what should not be there out of the log: text passes an
// ordered pipeline of stages before it is durable (section 7 of the contract).
//
// What is durable is copied, backed up and replayed for years, so it is put
// right once, at the door, and everything behind it may trust the text.
// [Pipeline.Payload] inspects every string of a payload, decoded and at any
// depth, keys included. The stages, in this order:
//
//   - [LengthGuard] cuts texts that are too long;
//   - [LeakDetector] masks secrets: [redacted:RULE];
//   - [Policy] blocks, masks, marks for review or warns, by severity;
//   - [Sanitiser] neutralises what poses as an instruction: [marked:RULE …].
//
// payload.redacted names the rules that have changed the text, payload.review
// those that want somebody to look. All else stays byte for byte as it came,
// and a payload that was put right is left alone when it comes again.
//
// Reasoning is never stopped: where a payload of another kind would be
// refused, a text of reasoning is taken out, and the envelope goes on.
package safety

import (
	"fmt"

	"github.com/meup-protocol/meup/protocol"
)

// Config says what is inspected and what is done about findings. The zero
// Config is a good one.
type Config struct {
	// Kinds select what is inspected; nil selects reasoning/*.
	Kinds []protocol.KindPattern
	// Action is what is done about leaks: ActionMask unless it says otherwise.
	Action Action
	// Actions are ActionMask or ActionBlock for single rules, of any stage.
	Actions map[string]Action
	// Policy is what is done about a severity; what is missing is as in
	// DefaultPolicy.
	Policy map[string]Action
	// MaxText bounds a text, in bytes; 0: DefaultMaxText.
	MaxText int
	// Rules are the operator's own, the later ones going before the earlier.
	Rules []*RuleFile
	// Secrets are values that must not be said. Those that are shorter than
	// MinKnown are not searched for.
	Secrets []Secret
	// Found is told every finding, for a counter. It may be nil, and is called
	// by whoever calls Payload.
	Found func(stage, rule string)
}

// DefaultMaxText is the bound of a text where nothing is configured.
const DefaultMaxText = 256 << 10

// Pipeline inspects payloads. It may be used concurrently.
type Pipeline struct {
	kinds  []protocol.KindPattern
	found  func(stage, rule string)
	stages []Stage
	rules  map[string]bool // by name

	leaks *LeakDetector
	shown *Pipeline // of leaks alone, which masks whatever it finds
}

// New returns the pipeline that a configuration asks for. It is an error if an
// action, a severity or a rule is unknown.
func New(c Config) (*Pipeline, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	book, err := newRuleBook(c.Rules)
	if err != nil {
		return nil, err
	}
	if err := checkActions(c.Actions, book.ids()); err != nil {
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
	return build(&c, book), nil
}

func build(c *Config, book *ruleBook) *Pipeline {
	names := map[string]bool{ruleLength: true}
	for _, id := range book.ids() {
		names[id] = true
	}
	marks := marks{rules: names}
	leaks := c.detector(book, marks, c.leakAction)
	shown := leaks
	if c.blocksLeaks() {
		shown = c.detector(book, marks, func(string) Action { return ActionMask })
	}
	policy := withActions(book.policy, c.policyAction)
	sanitiser := withActions(book.sanitiser, func(r *rule) Action { return c.Actions[r.id] })
	quoted := marks
	quoted.marked = true
	return &Pipeline{
		kinds: c.Kinds, found: c.Found, rules: names,
		stages: []Stage{
			NewLengthGuard(c.MaxText), leaks, Policy{newMatcher(policy, nil, marks)},
			&Sanitiser{newMatcher(sanitiser, nil, quoted), c.Actions, book.off},
		},
		leaks: shown,
		shown: &Pipeline{found: func(string, string) {}, stages: []Stage{shown}},
	}
}

// detector makes a leak detector with an action for each rule.
func (c *Config) detector(book *ruleBook, marks marks, action func(rule string) Action) *LeakDetector {
	var known []literal
	seen := map[string]bool{}
	for _, s := range c.Secrets {
		if text := s.reveal(); len(text) >= MinKnown && !seen[text] {
			seen[text] = true
			known = append(known, literal{s, action(ruleKnown)})
		}
	}
	field := action(ruleField)
	if book.off[ruleField] {
		field = ""
	}
	return leakDetector(withActions(book.leaks, func(r *rule) Action { return action(r.id) }), known, marks, field)
}

func (c *Config) leakAction(rule string) Action {
	if a := c.Actions[rule]; a != "" {
		return a
	}
	if c.Action != "" {
		return c.Action
	}
	return ActionMask
}

func (c *Config) blocksLeaks() bool {
	for _, a := range c.Actions {
		if a == ActionBlock {
			return true
		}
	}
	return c.Action == ActionBlock
}

func (c *Config) policyAction(r *rule) Action {
	if a := c.Actions[r.id]; a != "" {
		return a
	}
	if a := c.Policy[r.severity]; a != "" {
		return a
	}
	return DefaultPolicy()[r.severity]
}

func (c *Config) check() error {
	switch c.Action {
	case "", ActionMask, ActionBlock:
	default:
		return fmt.Errorf("safety action %q: want %s or %s", c.Action, ActionMask, ActionBlock)
	}
	known := DefaultPolicy()
	for severity, action := range c.Policy {
		if known[severity] == "" {
			return fmt.Errorf("safety policy of %q: a severity is one of low, medium, high, critical", severity)
		}
		switch action {
		case ActionBlock, ActionSanitise, ActionReview, ActionWarn:
		default:
			return fmt.Errorf("safety policy of %s: %q is none of block, sanitise, review, warn", severity, action)
		}
	}
	return nil
}

func checkActions(actions map[string]Action, ids []string) error {
	known := map[string]bool{}
	for _, id := range ids {
		known[id] = true
	}
	for rule, action := range actions {
		if !known[rule] {
			return fmt.Errorf("safety action of the rule %q: no rule has this name", rule)
		}
		if action != ActionMask && action != ActionBlock {
			return fmt.Errorf("safety action of the rule %s: %q is neither %s nor %s", rule, action, ActionMask, ActionBlock)
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
