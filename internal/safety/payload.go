package safety

import (
	"bytes"
	"slices"
	"sync"

	"github.com/meup-protocol/meup/protocol"
)

// DefaultRationale is what a thought says about its tool when what it said has
// been taken out.
const DefaultRationale = "Tool selected to satisfy the current subtask."

// Verdict is what became of a payload. The names of rules are in the order in
// which they were found, each once.
type Verdict struct {
	Payload  []byte   // as it is to be kept; nil: as it came
	Extra    []byte   // the same of the fields beside it, without braces
	Redacted []string // rules that changed it; they stand in its field "redacted"
	Review   []string // rules that want it looked at, in its field "review"
	Blocked  []string // rules for which a text of reasoning was taken out
	Warned   []string // rules that are to be told about in a log
}

// Payload inspects a payload. Everything in which nothing was found keeps its
// bytes and its order.
//
// Error (a rule that blocks, in a kind that is not of reasoning):
// invalid_payload, naming the rule and the place, never the text.
func (p *Pipeline) Payload(kind protocol.Kind, payload protocol.Value) (Verdict, *protocol.Error) {
	return p.Envelope(kind, payload, protocol.Value{})
}

// Envelope inspects a payload, and with it the fields of the envelope that the
// protocol does not know, as an object; extra may be absent. What is done to
// these is told in the payload too.
//
// Error: as of [Pipeline.Payload].
func (p *Pipeline) Envelope(kind protocol.Kind, payload, extra protocol.Value) (Verdict, *protocol.Error) {
	if payload.Type() != protocol.TypeObject {
		return Verdict{}, nil
	}
	w := walks.Get().(*walk) //nolint:forcetypeassert // the pool holds nothing else
	defer w.release()
	w.p, w.root, w.reasoning = p, payload.Offset(), kind.IsReasoning()
	if tool := payload.Get("tool_name"); kind == protocol.KindReasoningThought && tool.Type() == protocol.TypeString && !tool.EqualText("") {
		w.rationale = DefaultRationale
	}
	w.value(payload, nil, open)
	if w.refused != "" {
		return Verdict{}, w.refusal("/payload", payload)
	}
	beside := w.beside(extra)
	if w.refused != "" {
		return Verdict{}, w.refusal("", extra)
	}
	w.note(payload, redactedField, w.redacted)
	w.note(payload, reviewField, w.review)
	v := Verdict{
		Extra:    beside,
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
	rationale string // what takes the place of the text of a thought
	blank     string // what takes the place of the text at hand
	fields    bool   // within the parameters of a tool

	redacted, review, blocked, warned []string

	edits     []edit // in order
	refused   string // the rule that blocks the payload
	refusedBy string // its stage
	at        int    // offset of the string where that is

	text  []byte // a decoded string
	found []Finding
	notes []note
}

// note is a finding that changes nothing.
type note struct {
	stage, rule string
	action      Action
}

// edit replaces a string of the parsed text, which the payload is a part of.
type edit struct {
	start, end int
	text       string // what the string says now
	json       []byte // what is written instead, if that is not just text
}

var walks = sync.Pool{New: func() any { return new(walk) }}

// release returns w to the pool without what it knows of the payload.
func (w *walk) release() {
	clear(w.edits)
	*w = walk{
		redacted: w.redacted[:0], review: w.review[:0], blocked: w.blocked[:0], warned: w.warned[:0],
		edits: w.edits[:0], text: w.text[:0], found: w.found[:0], notes: w.notes[:0],
	}
	walks.Put(w)
}

// value inspects v and all below it. Key is that of the nearest member that v
// belongs to.
func (w *walk) value(v protocol.Value, key []byte, s secrecy) {
	if w.refused != "" {
		return
	}
	switch v.Type() {
	case protocol.TypeString:
		if text, changed := w.string(v, key, s != open); changed {
			w.replace(v, text)
		}
	case protocol.TypeNumber:
		w.number(v, key, s)
	case protocol.TypeArray:
		w.array(v, key, s, false)
	case protocol.TypeObject:
		w.object(v, s)
	}
}

func (w *walk) object(v protocol.Value, s secrecy) {
	var names keyNames
	top, fields := v.Offset() == w.root, w.fields
	known := w.aboutOf(v, s)
	for k, x := range v.Members {
		name, plain := k.Plain()
		if !plain {
			name = []byte(k.Text())
		}
		if top && (string(name) == redactedField || string(name) == reviewField) {
			w.names(x, name)
			continue
		}
		if text, changed := w.string(k, nil, false); changed {
			w.replace(k, names.free(v, text))
		}
		if top && (string(name) == "message" || string(name) == "content") {
			w.blank = w.rationale
		}
		name = visible(name)
		w.value(x, name, w.secrecyOf(name, known))
		w.blank, w.fields = "", fields
	}
}

// names inspects what is said to be names of rules. Those that are stay, even
// if somebody has one of them for a password.
func (w *walk) names(v protocol.Value, key []byte) {
	if v.Type() != protocol.TypeArray {
		w.value(v, key, open)
		return
	}
	for x := range v.Elements {
		if x.Type() != protocol.TypeString || !w.p.rules[x.Text()] {
			w.value(x, key, open)
		}
	}
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
	return w.inspect(v, Text{Key: key, Body: body, Secret: secret})
}

func (w *walk) inspect(v protocol.Value, t Text) (text string, changed bool) {
	before := t.Body
	stage, rule := w.settle(&t)
	switch {
	case rule == "":
		if bytes.Equal(before, t.Body) {
			return "", false
		}
		return string(t.Body), true
	case !w.reasoning:
		w.refused, w.refusedBy, w.at = rule, stage, v.Offset()
		return "", false
	}
	w.redacted, w.blocked = with(w.redacted, rule), with(w.blocked, rule)
	if t.Key == nil { // a key
		return marker(rule), true
	}
	return w.blank, true
}

// Bounds of how often a text is inspected again after something in it was
// replaced: by one stage, and by all. Once is what it takes; more only if what
// was apart has come together. A text that does not come clean is masked as a
// whole.
const (
	maxPasses = 8
	maxRounds = 4
)

// settle runs the stages over a text until none of them changes it, or one
// blocks it, which it returns with the rule.
func (w *walk) settle(t *Text) (stage, rule string) {
	for round := range maxRounds {
		w.notes = w.notes[:0]
		again := false
		for _, stage := range w.p.stages {
			t.sight = sightOf(t)
			changed, blocked := w.stage(stage, t)
			if blocked != "" {
				return stage.Name(), blocked
			}
			again = again || changed
		}
		if !again {
			break
		}
		if round == maxRounds-1 {
			t.Body = []byte(marker(w.redacted[len(w.redacted)-1]))
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

// sightOf looks at a text unless somebody has.
func sightOf(t *Text) sight {
	if t.sight == 0 {
		return look(t.Body)
	}
	return t.sight
}

// stage runs one stage over a text until it changes nothing more, or blocks.
func (w *walk) stage(stage Stage, t *Text) (changed bool, blocked string) {
	for pass := 0; ; pass++ {
		w.found = stage.Inspect(w.found[:0], *t)
		if len(w.found) == 0 {
			return changed, ""
		}
		changes, blocked := w.judge(stage)
		if blocked != "" || !changes {
			return changed, blocked
		}
		changed = true
		if pass == maxPasses {
			t.Body, t.sight = []byte(marker(w.redacted[len(w.redacted)-1])), 0
			return changed, ""
		}
		t.Body, t.sight = mask(t.Body, w.found), 0
	}
}

// judge counts what a stage has found, and says what comes of it.
func (w *walk) judge(stage Stage) (changes bool, blocked string) {
	for i := range w.found {
		if f := &w.found[i]; f.Action == ActionBlock {
			w.p.found(stage.Name(), f.Rule)
			return false, f.Rule
		}
	}
	for i := range w.found {
		changes = changes || w.found[i].Action.changes()
	}
	for i := range w.found {
		switch f := &w.found[i]; {
		case f.Action.changes():
			w.p.found(stage.Name(), f.Rule)
			w.redacted = with(w.redacted, f.Rule)
		case !changes:
			w.notes = append(w.notes, note{stage.Name(), f.Rule, f.Action})
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
