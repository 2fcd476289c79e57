package config

import (
	"slices"
	"strings"

	"github.com/meup-protocol/meup/internal/textutil"

	"github.com/meup-protocol/meup/internal/redact"
	"github.com/meup-protocol/meup/internal/safety"
	"github.com/meup-protocol/meup/protocol"
)

// Safety configures the safety pipeline: the kinds it inspects, the rules and
// secrets it detects, and its actions.
type Safety struct {
	Kinds   []protocol.KindPattern
	Action  string             // on leaks: ActionMask or ActionBlock
	Actions map[string]string  // overrides Action for single rules, by name
	Policy  map[string]string  // by severity: block, sanitise, review, warn
	MaxText int                // bytes of a text
	Rules   []*redact.RuleFile // of the operator, in the order of the file
	Secrets []redact.Secret    // tokens of participants, and values of environment variables
}

// Actions of the safety pipeline on leaks.
const (
	ActionMask  = string(safety.ActionMask)
	ActionBlock = string(safety.ActionBlock)
)

// Pipeline returns the configuration of the safety pipeline.
func (s *Safety) Pipeline() safety.Config {
	c := safety.Config{
		Kinds: s.Kinds, Action: safety.Action(s.Action), MaxText: s.MaxText, Rules: s.Rules, Secrets: s.Secrets,
		Actions: make(map[string]safety.Action, len(s.Actions)), Policy: make(map[string]safety.Action, len(s.Policy)),
	}
	if c.Kinds == nil {
		c.Kinds = []protocol.KindPattern{} // no kinds; nil would select the defaults
	}
	for rule, action := range s.Actions {
		c.Actions[rule] = safety.Action(action)
	}
	for severity, action := range s.Policy {
		c.Policy[severity] = safety.Action(action)
	}
	return c
}

func defaultSafety() Safety {
	reasoning, err := protocol.ParseKindPattern("reasoning/*")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	s := Safety{
		Kinds: []protocol.KindPattern{reasoning}, Action: ActionMask, MaxText: safety.DefaultMaxText, Policy: map[string]string{},
	}
	for severity, action := range safety.DefaultPolicy() {
		s.Policy[severity] = string(action)
	}
	return s
}

func (r *resolver) safety(cfg *Config, f *safetyShape) {
	s := &cfg.Safety
	if f.Kinds.isSet() {
		s.Kinds = nil
	}
	for _, v := range f.Kinds.items {
		if p, ok := r.kindPattern(v); ok {
			s.Kinds = append(s.Kinds, p)
		}
	}
	leaks := []string{ActionMask, ActionBlock}
	r.choice(&s.Action, f.Action, leaks)
	r.policy(s, &f.Policy)
	if v := f.MaxText; v.isSet() {
		if v.value < safety.MinText || v.value > maxMaxText {
			r.errorf(v.place, "the bound of a text is from 4KiB to 64MiB; the default is 256KiB")
		}
		s.MaxText = int(v.value)
	}
	for _, v := range f.Rules.items {
		r.ruleFile(s, v)
	}
	r.ruleActions(s, f.Actions, leaks)
	for _, v := range f.SecretEnv.items {
		r.secretEnv(v)
	}
}

// maxMaxText exceeds the size of any message.
const maxMaxText = 64 << 20

// choice sets target to one of several words.
func (r *resolver) choice(target *string, v textValue, words []string) {
	switch {
	case v.value == "":
	case slices.Contains(words, v.value):
		*target = v.value
	default:
		r.errorf(v.place, "unknown action %q; %s", textutil.Shorten(v.value, 40), suggest(v.value, words))
	}
}

func (r *resolver) policy(s *Safety, f *policyShape) {
	words := []string{
		string(safety.ActionWarn), string(safety.ActionSanitize), string(safety.ActionReview), string(safety.ActionBlock),
	}
	for severity, v := range map[string]textValue{"low": f.Low, "medium": f.Medium, "high": f.High, "critical": f.Critical} {
		action := s.Policy[severity]
		r.choice(&action, v, words)
		s.Policy[severity] = action
	}
}

// ruleFile reads a file of the operator's rules. Its diagnostics have the file's
// name, and a line if known.
func (r *resolver) ruleFile(s *Safety, v textValue) {
	if !v.isSet() {
		return
	}
	path := r.path(v.value)
	text, err := r.readFile(path)
	if err != nil {
		r.errorf(v.place, "the file of rules cannot be read: %s", reason(err))
		r.unread = true
		return
	}
	r.others = append(r.others, path)
	file, faults := safety.ParseRules(string(text))
	for _, f := range faults {
		severity := Error
		if f.Warning {
			severity = Warning
		}
		r.diagnostics = append(r.diagnostics, Diagnostic{Source: path, Line: f.Line, Column: min(f.Line, 1), Severity: severity, Message: f.Message})
	}
	if file == nil {
		r.unread = true
		return
	}
	s.Rules = append(s.Rules, file)
}

func (r *resolver) ruleActions(s *Safety, f tableValue[textValue], words []string) {
	if len(f.entries) == 0 || r.unread {
		return // the rule may be in a file that could not be read
	}
	known, err := safety.RuleIDs(s.Rules)
	if err != nil {
		r.errorf(f.place, "%v", err)
		return
	}
	s.Actions = make(map[string]string, len(f.entries))
	for _, e := range f.entries {
		if !slices.Contains(known, e.name.value) {
			r.errorf(e.name.place, "no safety rule is called %q; %s", textutil.Shorten(e.name.value, 40), nearest(e.name.value, known))
			continue
		}
		action := s.Action
		r.choice(&action, e.value, words)
		s.Actions[e.name.value] = action
	}
}

// secretEnv adds the value of an environment variable to the secrets.
func (r *resolver) secretEnv(v textValue) {
	if !v.isSet() {
		return
	}
	if !isVariable(v.value) {
		r.errorf(v.place, "this is not the name of an environment variable")
		return
	}
	value, _ := r.env(v.value)
	switch value = strings.TrimSpace(value); {
	case value == "":
		r.warnf(v.place, "the environment variable %s is not set, so there is nothing of it to mask", v.value)
	case len(value) < redact.MinKnown:
		r.warnf(v.place, "the value of %s has fewer than %d characters and is not masked: it could be any word", v.value, redact.MinKnown)
	default:
		r.secrets = append(r.secrets, redact.NewSecret(value))
	}
}

// nearest returns a suggestion if one of the names is similar.
func nearest(word string, names []string) string {
	if s := suggest(word, names); strings.HasPrefix(s, "did") {
		return s
	}
	return "it is one of the gateway's own, or of a file in rules"
}
