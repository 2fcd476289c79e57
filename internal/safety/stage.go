package safety

import (
	"bytes"

	"github.com/meup-protocol/meup/internal/safety/redact"
)

// Action is the action for a text with findings.
type Action string

// The actions. The last two leave the text as it is.
const (
	ActionMask     Action = "mask"     // replace the findings; also the zero value
	ActionSanitize Action = "sanitise" // the same, as a policy calls it
	ActionBlock    Action = "block"    // refuse the payload, or take out a text of reasoning
	ActionReview   Action = "review"   // admit it, and mark the payload
	ActionWarn     Action = "warn"     // admit it, and log a warning
)

// changes reports whether a text does not stay as it is.
func (a Action) changes() bool { return a != ActionReview && a != ActionWarn }

// strictness orders actions: where findings overlap, the stricter one counts.
func (a Action) strictness() int {
	switch a {
	case ActionBlock:
		return 0
	case ActionReview:
		return 2
	case ActionWarn:
		return 3
	case ActionMask, ActionSanitize:
	}
	return 1
}

// finding is a part of a text that a stage objects to.
type finding struct {
	redact.Finding
	action Action
	put    string // takes its place; "": [redacted:RULE]
	stage  string // of a stream's finding
}

// input is the input of a stage: valid UTF-8, without escapes.
type input struct {
	// key names the nearest member of an object that the text is the value of,
	// since {"password":"x"} means as much as "password: x". It is nil for keys
	// themselves.
	key  []byte
	body []byte
	// secret: the text is a parameter of a tool whose name makes it a secret.
	secret bool
	budget *redact.Budget
}

// stage is one step of the pipeline. inspect appends its findings to dst, in order
// and without overlap; repeated replacement must end in a text without findings.
// It is safe for concurrent use.
type stage interface {
	name() string
	inspect(dst []finding, t input) []finding
}

// ruleStage is a stage that is a set of rules.
type ruleStage struct {
	label   string
	unnamed bool // the names of members do not matter
	set     *redact.Set
	actions map[string]Action
	limit   Action // for texts that take too much work
}

func (s *ruleStage) name() string { return s.label }

func (s *ruleStage) rules() *redact.Set { return s.set }

func (s *ruleStage) inspect(dst []finding, t input) []finding {
	if s.unnamed {
		t.key = nil
	}
	var buffer [8]redact.Finding
	for _, f := range s.set.Find(buffer[:0], t.key, t.body, t.budget) {
		action := s.actions[f.Rule]
		if f.Rule == redact.RuleLimit {
			action = s.limit
		}
		dst = append(dst, finding{Finding: f, action: action})
	}
	return dst
}

// DefaultPolicy returns the actions of severities without configuration.
func DefaultPolicy() map[string]Action {
	return map[string]Action{"low": ActionWarn, "medium": ActionSanitize, "high": ActionReview, "critical": ActionBlock}
}

// leaks is the stage that finds secrets: by their form (the built-in rules, and
// the operator's own), the values that the gateway knows, and parameters of
// tools by their names.
type leaks struct {
	ruleStage
	field Action // of ruleField; "": it is off
}

// ruleField is the rule of parameters whose names make them secrets.
const ruleField = "secret-field"

// Names of stages.
const (
	stageLeaks     = "leaks"
	stagePolicy    = "policy" // holds a text against rules with a severity
	stageSanitizer = "sanitiser"
)

func (l *leaks) inspect(dst []finding, t input) []finding {
	n := len(dst)
	dst = l.ruleStage.inspect(dst, t)
	if t.secret && len(dst) == n && l.field != "" && !placeholder.Match(bytes.TrimSpace(t.body)) {
		dst = append(dst, finding{Finding: redact.Finding{Rule: ruleField, End: len(t.body)}, action: l.field})
	}
	return dst
}

// replacement returns the text that replaces a finding.
func (f *finding) replacement() string {
	if f.put != "" {
		return f.put
	}
	return redact.Marker(f.Rule)
}

// mask replaces the findings that change the text.
func mask(text []byte, found []finding) []byte {
	out := make([]byte, 0, len(text)+32)
	last := 0
	for i := range found {
		if f := &found[i]; f.action.changes() {
			out = append(out, text[last:f.Start]...)
			out = append(out, f.replacement()...)
			last = f.End
		}
	}
	return append(out, text[last:]...)
}
