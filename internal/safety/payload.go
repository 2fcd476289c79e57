package safety

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"sync"

	"github.com/meup-protocol/meup/internal/safety/redact"
	"github.com/meup-protocol/meup/protocol"
)

// DefaultRationale replaces the text of a thought about a tool when that text
// has been taken out.
const DefaultRationale = "Tool selected to satisfy the current subtask."

// Verdict is the result of an inspection. The names of rules are in the order in
// which they were found, each once.
type Verdict struct {
	Payload  []byte   // as it is to be kept; nil: as it came
	Extra    []byte   // the same of the fields beside it, without braces
	Redacted []string // rules that changed the payload; also in its field "redacted"
	Review   []string // rules that want it looked at, in its field "review"
	Blocked  []string // rules for which a text of reasoning was taken out
	Warned   []string // rules that a log is to name
	Refused  string   // with an error: the rule that blocks the envelope
	Work     int      // bytes that were read for it, by all rules together
}

// Payload inspects a payload. Everything in which nothing was found keeps its
// bytes and its order.
//
// Error (a rule that blocks, in a kind that is not of reasoning):
// invalid_payload, naming the rule and the place, never the text.
func (p *Pipeline) Payload(kind protocol.Kind, payload protocol.Value) (Verdict, error) {
	return p.Envelope(kind, payload, protocol.Value{})
}

// Envelope inspects a payload and the unknown fields of the envelope, as the object
// extra, which may be absent. Changes of both are recorded in the payload.
//
// Error: as of [Pipeline.Payload].
func (p *Pipeline) Envelope(kind protocol.Kind, payload, extra protocol.Value) (Verdict, error) {
	if payload.Type() != protocol.TypeObject {
		return Verdict{}, nil
	}
	w := walks.Get().(*walk) //nolint:forcetypeassert // the pool holds nothing else
	defer w.release()
	w.p, w.root, w.reasoning = p, payload.Offset(), kind.IsReasoning()
	if tool := payload.Get("tool_name"); kind == protocol.KindReasoningThought && tool.Type() == protocol.TypeString && !tool.EqualText("") {
		w.rationale = DefaultRationale
	}
	return w.envelope(payload, extra)
}

// Parameters returns the arguments of a tool call for display: with leaks masked, and
// fields whose name implies a secret, at all depths. It is nil if nothing changes.
func (p *Pipeline) Parameters(args protocol.Value) json.RawMessage {
	w := walks.Get().(*walk) //nolint:forcetypeassert // the pool holds nothing else
	defer w.release()
	w.p, w.root, w.fields = p.shown, -1, true
	w.value(args, nil, false)
	if len(w.edits) == 0 {
		return nil
	}
	return w.splice(args)
}

// envelope inspects a payload, and the fields beside it.
func (w *walk) envelope(payload, extra protocol.Value) (Verdict, error) {
	w.value(payload, nil, false)
	if w.refused != "" {
		return Verdict{Work: w.work, Refused: w.refused}, w.refusal("/payload")
	}
	var outside []byte
	if extra.Type() == protocol.TypeObject { // with edits of its own
		edits, root := w.edits, w.root
		w.edits, w.root = nil, -1
		w.value(extra, nil, false)
		if len(w.edits) > 0 {
			outside = w.splice(extra)
			outside = outside[1 : len(outside)-1]
		}
		w.edits, w.root = edits, root
	}
	if w.refused != "" {
		return Verdict{Work: w.work, Refused: w.refused}, w.refusal("")
	}
	w.note(payload, redactedField, w.redacted)
	w.note(payload, reviewField, w.review)
	v := Verdict{
		Extra: outside, Work: w.work,
		Redacted: copied(w.redacted), Review: copied(w.review), Blocked: copied(w.blocked), Warned: copied(w.warned),
	}
	if len(w.edits) > 0 {
		v.Payload = w.splice(payload)
	}
	return v, nil
}

// walk goes through one payload.
type walk struct {
	p         *Pipeline
	root      int    // offset of the payload
	reasoning bool   // a text that is blocked is taken out
	rationale string // replacement for the text of a thought
	blank     string // replacement for the current text
	fields    bool   // within the parameters of a tool
	stream    *Stream

	redacted, review, blocked, warned []string

	edits     []edit // in order
	refused   string // the rule that blocks the payload
	refusedBy string // its stage
	place     string // where it blocks it

	text  []byte // a decoded string
	out   []byte // of a stream
	found []finding
	notes []note

	budget redact.Budget // of the text at hand
	work   int
}

// note is a finding that changes nothing.
type note struct {
	stage, rule string
	action      Action
}

// edit replaces a string of the parsed text, which the payload is a part of.
type edit struct {
	start, end int
	text       string // the new string
	json       []byte // the replacement, if it is not just text
}

var walks = sync.Pool{New: func() any { return new(walk) }}

// release clears w and returns it to the pool.
func (w *walk) release() {
	clear(w.edits)
	*w = walk{
		redacted: w.redacted[:0], review: w.review[:0], blocked: w.blocked[:0], warned: w.warned[:0],
		edits: w.edits[:0], text: w.text[:0], out: w.out[:0], found: w.found[:0], notes: w.notes[:0],
	}
	walks.Put(w)
}

// value inspects v and all below it. key is the name of the nearest enclosing
// member, secret whether this name makes v a secret.
func (w *walk) value(v protocol.Value, key []byte, secret bool) {
	switch v.Type() {
	case protocol.TypeString:
		if text, changed := w.string(v, key, secret); changed {
			w.replace(v, text)
		}
	case protocol.TypeNumber:
		// A number becomes a string with a mark, blocked or not: an empty one
		// would be taken for a value.
		if !secret {
			return
		}
		if text, changed := w.inspect(input{key: key, body: v.Raw(), secret: true}); changed {
			w.replace(v, cmp.Or(text, redact.Marker(ruleField)))
		}
	case protocol.TypeArray:
		w.elements(v, key, secret, nil)
	case protocol.TypeObject:
		w.object(v)
	}
}

// elements inspects the elements of an array, except names.
func (w *walk) elements(v protocol.Value, key []byte, secret bool, names map[string]bool) {
	i := 0
	for x := range v.Elements {
		if names == nil || x.Type() != protocol.TypeString || !names[x.Text()] {
			w.value(x, key, secret)
		}
		if w.refused != "" {
			w.within(strconv.Itoa(i))
			return
		}
		i++
	}
}

func (w *walk) object(v protocol.Value) {
	var names keyNames
	top, fields := v.Offset() == w.root, w.fields
	for k, x := range v.Members {
		name, plain := k.Plain()
		if !plain {
			name = []byte(k.Text())
		}
		known := false // the key is one of the protocol's
		if top {
			known = w.field(x, name)
		}
		if !known {
			if text, changed := w.string(k, nil, false); changed {
				w.replace(k, names.free(v, text))
			}
			if w.refused != "" {
				return
			}
			if top && (string(name) == "message" || string(name) == "content") {
				w.blank = w.rationale
			}
			name = redact.Visible(name)
			w.fields = fields || parameters[string(name)]
			secret := fields && secretName(name) && (x.Type() != protocol.TypeNumber || !doubtful[string(bytes.ToLower(name))])
			w.value(x, name, secret)
			w.blank, w.fields = "", fields
		}
		if w.refused != "" {
			w.within(w.cleanKey(k))
			return
		}
	}
}

// field inspects a field of a payload that is not like others, and reports whether
// it is one: a list of rules, or of a stream.
func (w *walk) field(x protocol.Value, name []byte) bool {
	switch string(name) {
	case redactedField, reviewField:
		if x.Type() == protocol.TypeArray {
			w.elements(x, name, false, w.p.rules) // names of rules stay, even if one is a known value
		} else {
			w.value(x, name, false)
		}
		return true
	case "stream_id":
		return w.stream != nil && x.Type() == protocol.TypeString
	case "data":
		if w.stream == nil || x.Type() != protocol.TypeString {
			return false
		}
		w.chunk(x)
		return true
	}
	return false
}

func (w *walk) replace(v protocol.Value, text string) {
	start := v.Offset()
	w.edits = append(w.edits, edit{start: start, end: start + len(v.Raw()), text: text})
}

// string inspects a string. When something was found, it returns the text that
// takes its place.
func (w *walk) string(v protocol.Value, key []byte, secret bool) (text string, changed bool) {
	body, plain := v.Plain()
	if !plain {
		w.text = v.AppendText(w.text[:0])
		body = w.text
	}
	return w.inspect(input{key: key, body: body, secret: secret})
}

func (w *walk) inspect(t input) (replacement string, changed bool) {
	before := t.body
	w.budget = redact.NewBudget(len(before))
	t.budget = &w.budget
	stage, rule := w.settle(&t)
	w.work += len(before) + w.budget.Spent()
	switch {
	case rule == "":
		if bytes.Equal(before, t.body) {
			return "", false
		}
		return string(t.body), true
	case !w.reasoning:
		w.refused, w.refusedBy = rule, stage
		return "", false
	}
	w.redacted, w.blocked = with(w.redacted, rule), with(w.blocked, rule)
	if t.key == nil { // a key
		return redact.Marker(rule), true
	}
	return w.blank, true
}

// Bounds of repeated inspections of a text after replacements: by one stage, and by
// all. One is enough unless a replacement joins parts of a secret. A text that
// still has findings is masked as a whole.
const (
	maxPasses = 8
	maxRounds = 4
)

// settle runs the stages over a text until none of them changes it, or one
// blocks it, which it returns with the rule.
func (w *walk) settle(t *input) (stage, rule string) {
	for round := range maxRounds {
		w.notes = w.notes[:0]
		again := false
		for _, stage := range w.p.stages {
			changed, blocked := w.stage(stage, t)
			if blocked != "" {
				return stage.name(), blocked
			}
			again = again || changed
		}
		if !again {
			break
		}
		if round == maxRounds-1 {
			t.body = []byte(redact.Marker(w.redacted[len(w.redacted)-1]))
		}
	}
	for _, n := range w.notes {
		w.p.found(n.stage, n.rule)
		if n.action == ActionReview {
			w.review = with(w.review, n.rule)
		} else {
			w.warned = with(w.warned, n.rule)
		}
	}
	return "", ""
}

// stage runs one stage over a text until it changes nothing more, or blocks.
func (w *walk) stage(s stage, t *input) (changed bool, blocked string) {
	for pass := 0; ; pass++ {
		w.found = s.inspect(w.found[:0], *t)
		if len(w.found) == 0 {
			return changed, ""
		}
		changes, blocked := w.judge(s)
		if blocked != "" || !changes {
			return changed, blocked
		}
		changed = true
		if pass == maxPasses {
			t.body = []byte(redact.Marker(w.redacted[len(w.redacted)-1]))
			return changed, ""
		}
		t.body = mask(t.body, w.found)
		if w.found[0].Rule == redact.RuleLimit { // its mark is all that is left
			w.work += w.budget.Spent()
			w.budget = redact.NewBudget(len(t.body))
		}
	}
}

// judge counts the findings of a stage, and returns whether they change the text and
// the rule that blocks it.
func (w *walk) judge(s stage) (changes bool, blocked string) {
	for i := range w.found {
		if f := &w.found[i]; f.action == ActionBlock {
			w.p.found(s.name(), f.Rule)
			return false, f.Rule
		}
	}
	for i := range w.found {
		changes = changes || w.found[i].action.changes()
	}
	for i := range w.found {
		switch f := &w.found[i]; {
		case f.action.changes():
			w.p.found(s.name(), f.Rule)
			w.redacted = with(w.redacted, f.Rule)
		case !changes:
			w.notes = append(w.notes, note{s.name(), f.Rule, f.action})
		}
	}
	return changes, ""
}

// copied returns a copy that outlives the walk.
func copied(list []string) []string { return append([]string(nil), list...) }

// with adds a name to a list that has each once.
func with(list []string, name string) []string {
	if slices.Contains(list, name) {
		return list
	}
	return append(list, name)
}

// refusal returns the error for an envelope that is blocked by a value in root.
func (w *walk) refusal(root string) *protocol.Error {
	const leak = "The payload seems to contain a secret (%s). Remove it and send the envelope again."
	const other = "The gateway's policy rejects the payload (%s). Change it and send the envelope again."
	sentence := other
	if w.refusedBy == stageLeaks {
		sentence = leak
	}
	e := protocol.Errorf(protocol.CodeInvalidPayload, sentence, w.refused)
	e.Path = root + w.place
	e.Detail = "found by the rule " + w.refused
	return e
}

// within adds a step to the place of a value that blocks the payload, which is its
// JSON pointer; of the object, if it is a key.
func (w *walk) within(step string) { w.place = "/" + protocol.EscapePointer(step) + w.place }

// cleanKey returns a key without findings, which an error must not contain.
func (w *walk) cleanKey(k protocol.Value) string {
	body := []byte(k.Text())
	budget := redact.NewBudget(len(body))
	for _, stage := range w.p.stages {
		if found := stage.inspect(nil, input{body: body, budget: &budget}); len(found) > 0 {
			return redact.Marker(found[0].Rule)
		}
	}
	return string(body)
}
