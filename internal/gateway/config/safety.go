package config

import (
	"crypto/sha256"
	"slices"
	"strings"

	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/internal/safety"
	"github.com/meup-protocol/meup/internal/safety/redact"
	"github.com/meup-protocol/meup/protocol"
)

// Safety configures the safety pipeline: the kinds it inspects, the rules and
// secrets it detects, and its actions.
type Safety struct {
	Kinds   []protocol.KindPattern `yaml:"kinds"`
	Action  string                 `yaml:"action"` // on leaks: ActionMask or ActionBlock
	Actions map[string]string      // overrides Action for single rules, by name
	Policy  map[string]string      // by severity: block, sanitise, review, warn
	MaxText int64                  `yaml:"max_text"` // bytes of a text
	Rules   []*redact.RuleFile     // of the operator, in the order of the file
	Digests [][32]byte             `yaml:"-"` // SHA-256 of the files of Rules
	Secrets []redact.Secret        // tokens of participants, and values of environment variables
}

// Actions of the safety pipeline on leaks.
const (
	ActionMask  = string(safety.ActionMask)
	ActionBlock = string(safety.ActionBlock)
)

// Pipeline returns the configuration of the safety pipeline.
func (s *Safety) Pipeline() safety.Config {
	c := safety.Config{
		Kinds: s.Kinds, Action: safety.Action(s.Action), MaxText: int(s.MaxText), Rules: s.Rules, Secrets: s.Secrets,
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

// maxMaxText exceeds the size of any message.
const maxMaxText = 64 << 20

func (r *resolver) safety(n *node) {
	s := &r.cfg.Safety
	for _, m := range n.get("policy").entries() {
		if m.value.isSet() {
			s.Policy[m.key.text] = m.value.text
		}
	}
	if v := n.get("max_text"); v.isSet() && (s.MaxText < safety.MinText || s.MaxText > maxMaxText) {
		r.errorf(v, "the bound of a text is from 4KiB to 64MiB; the default is 256KiB")
	}
	complete := true
	for _, v := range n.get("rules").elements() {
		complete = r.ruleFile(s, v) && complete
	}
	if complete { // otherwise a rule may be in a file that could not be read
		r.ruleActions(s, n.get("actions"))
	}
	for _, v := range n.get("secret_env").elements() {
		value, _ := r.env(v.text)
		value = strings.TrimSpace(value)
		switch {
		case value == "":
			r.warnf(v, "the environment variable %s is not set, so no value is masked", v.text)
		case len(value) < redact.MinKnown:
			r.warnf(v, "the value of %s has fewer than %d characters and is not masked: it could be any word", v.text, redact.MinKnown)
		default:
			r.secrets = append(r.secrets, redact.NewSecret(value))
		}
	}
}

func (r *resolver) ruleActions(s *Safety, n *node) {
	if len(n.entries()) == 0 {
		return
	}
	known, err := safety.RuleIDs(s.Rules)
	if err != nil {
		r.errorf(n, "%v", err)
		return
	}
	s.Actions = make(map[string]string)
	for _, m := range n.members {
		switch {
		case !slices.Contains(known, m.key.text):
			hint := textutil.Suggest(m.key.text, known)
			if !strings.HasPrefix(hint, "did") { // no name is similar
				hint = "it is one of the gateway's own, or of a file in rules"
			}
			r.errorf(m.key, "no safety rule is called %q; %s", textutil.Shorten(m.key.text, 40), hint)
		case m.value.isSet():
			s.Actions[m.key.text] = m.value.text
		}
	}
}

// ruleFile reads a file of the operator's rules. Its diagnostics have the file's
// name, and a line if known.
func (r *resolver) ruleFile(s *Safety, v *node) bool {
	if r.alone {
		return false
	}
	path := r.path(v.text)
	text, err := r.readFile(path)
	if err != nil {
		r.errorf(v, "the file of rules cannot be read: %s", reason(err))
		return false
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
	if file != nil {
		s.Rules, s.Digests = append(s.Rules, file), append(s.Digests, sha256.Sum256(text))
	}
	return file != nil
}
