// Package safety keeps secrets out of the log: text passes an ordered pipeline
// of stages before it is durable (section 7 of the contract).
//
// What is durable is copied, backed up and replayed for years, so a secret is
// masked once, at the door, and everything behind it may trust the text.
// [Pipeline.Payload] inspects every string of a payload, decoded and at any
// depth, keys included. What a stage finds is replaced by [redacted:RULE], and
// payload.redacted names the rules. All else stays byte for byte as it came.
//
// There is one stage so far, the [LeakDetector], whose rules are in rules.toml.
package safety

import (
	"fmt"

	"github.com/meup-protocol/meup/protocol"
)

// Action is what happens to a payload in which something was found.
type Action string

// The actions.
const (
	ActionMask  Action = "mask"  // replace what was found; also the zero value
	ActionBlock Action = "block" // refuse the payload
)

// Config says what is inspected and what is done about findings.
type Config struct {
	// Kinds select what is inspected; nil selects reasoning/*.
	Kinds []protocol.KindPattern
	// Action is ActionMask unless it says otherwise.
	Action Action
	// Found is told the rule of every finding, for a counter. It may be nil,
	// and is called by whoever calls Payload.
	Found func(rule string)
}

// Finding is a part of a text that a stage objects to.
type Finding struct {
	Rule       string // its name, made of a-z 0-9 and -
	Start, End int    // bytes of Text.Body, Start < End
}

// Text is what a stage inspects: valid UTF-8, without escapes.
type Text struct {
	// Key names the nearest member of an object that the text is the value
	// of, since {"password":"x"} says as much as "password: x". Empty for keys
	// themselves.
	Key []byte
	// Body is the text. Read-only, and gone when Inspect returns.
	Body []byte
}

// Stage is one step of the pipeline. Inspect appends what it finds to dst, in
// order and without overlap; a text in which everything found was masked must
// come out clean in the end. It may be called concurrently.
type Stage interface {
	Name() string
	Inspect(dst []Finding, t Text) []Finding
}

// Pipeline inspects payloads. It may be used concurrently.
type Pipeline struct {
	kinds  []protocol.KindPattern
	block  bool
	found  func(rule string)
	stages []Stage
}

// New returns the pipeline that a configuration asks for. It is an error if
// the action is unknown.
func New(c Config) (*Pipeline, error) {
	switch c.Action {
	case "", ActionMask, ActionBlock:
	default:
		return nil, fmt.Errorf("safety action %q: want %s or %s", c.Action, ActionMask, ActionBlock)
	}
	leaks, err := NewLeakDetector()
	if err != nil {
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
		c.Found = func(string) {}
	}
	return &Pipeline{kinds: c.Kinds, block: c.Action == ActionBlock, found: c.Found, stages: []Stage{leaks}}, nil
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
