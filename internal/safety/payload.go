package safety

import (
	"slices"
	"strconv"
	"sync"

	"github.com/meup-protocol/meup/protocol"
)

// redactedField is where a payload says what was masked in it.
const redactedField = "redacted"

// Payload inspects a payload. Out is nil when it may stay as it is; otherwise
// it is the payload with what was found masked and the names of the rules,
// which are also returned, added to its field "redacted". Everything else
// keeps its bytes and its order.
//
// Error (ActionBlock only): invalid_payload, naming the rule and the place,
// never the text.
func (p *Pipeline) Payload(payload protocol.Value) (out []byte, rules []string, err *protocol.Error) {
	if payload.Type() != protocol.TypeObject {
		return nil, nil, nil
	}
	w := walks.Get().(*walk) //nolint:forcetypeassert // the pool holds nothing else
	defer w.release()
	w.p = p
	w.value(payload, nil)
	switch {
	case len(w.rules) == 0:
		return nil, nil, nil
	case p.block:
		return nil, nil, w.refusal(payload)
	}
	w.note(payload)
	return w.splice(payload), slices.Clone(w.rules), nil
}

// walk goes through one payload.
type walk struct {
	p     *Pipeline
	rules []string // found so far, each once
	edits []edit   // in order
	at    int      // offset of the first finding's string

	text  []byte // a decoded string
	found []Finding
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
	*w = walk{rules: w.rules[:0], edits: w.edits[:0], text: w.text[:0], found: w.found[:0]}
	walks.Put(w)
}

// value inspects v and all below it. Key is that of the nearest member that v
// belongs to.
func (w *walk) value(v protocol.Value, key []byte) {
	switch v.Type() {
	case protocol.TypeString:
		if masked, changed := w.string(v, key); changed {
			w.replace(v, masked)
		}
	case protocol.TypeArray:
		for x := range v.Elements {
			w.value(x, key)
		}
	case protocol.TypeObject:
		w.object(v)
	}
}

func (w *walk) object(v protocol.Value) {
	var names keyNames
	for k, x := range v.Members {
		if masked, changed := w.string(k, nil); changed {
			w.replace(k, names.free(v, masked))
		}
		name, plain := k.Plain()
		if !plain {
			name = []byte(k.Text())
		}
		w.value(x, name)
	}
}

func (w *walk) replace(v protocol.Value, text string) {
	start := v.Offset()
	w.edits = append(w.edits, edit{start: start, end: start + len(v.Raw()), text: text})
}

// string runs the stages over a string. When something was found, it returns
// the text that takes its place.
func (w *walk) string(v protocol.Value, key []byte) (masked string, changed bool) {
	body, plain := v.Plain()
	if !plain {
		w.text = v.AppendText(w.text[:0])
		body = w.text
	}
	for _, stage := range w.p.stages {
		for pass := 0; ; pass++ {
			w.found = stage.Inspect(w.found[:0], Text{Key: key, Body: body})
			if len(w.found) == 0 {
				break
			}
			w.report(v)
			if w.p.block {
				return "", false
			}
			changed = true
			if pass == maxPasses {
				body = []byte(marker(w.found[0].Rule))
				break
			}
			body = mask(body, w.found)
		}
	}
	if !changed {
		return "", false
	}
	return string(body), true
}

// report notes the rules of what was found.
func (w *walk) report(v protocol.Value) {
	if len(w.rules) == 0 {
		w.at = v.Offset()
	}
	for _, f := range w.found {
		w.p.found(f.Rule)
		if !slices.Contains(w.rules, f.Rule) {
			w.rules = append(w.rules, f.Rule)
		}
	}
}

// maxPasses bounds how often a text is inspected again after masking. Once is
// what it takes; more only if masking brings together what was apart. A text
// that does not come clean is masked as a whole.
const maxPasses = 4

// mask replaces findings in text.
func mask(text []byte, found []Finding) []byte {
	out := make([]byte, 0, len(text)+32)
	last := 0
	for _, f := range found {
		out = append(out, text[last:f.Start]...)
		out = append(out, marker(f.Rule)...)
		last = f.End
	}
	return append(out, text[last:]...)
}

// marker is what stands for a secret.
func marker(rule string) string { return "[redacted:" + rule + "]" }

// keyNames keeps the keys of one object apart: two secrets in keys must not
// become one key.
type keyNames struct {
	taken map[string]bool
	next  map[string]int // the number to try next, by masked key
}

// free returns key, numbered if the object has one like it already.
func (n *keyNames) free(object protocol.Value, key string) string {
	if n.taken == nil {
		n.taken, n.next = make(map[string]bool), make(map[string]int)
		for k := range object.Members {
			n.taken[k.Text()] = true
		}
	}
	candidate := key
	for n.taken[candidate] {
		n.next[key]++
		candidate = key + "-" + strconv.Itoa(n.next[key]+1)
	}
	n.taken[candidate] = true
	return candidate
}

// note adds the names of the rules to the payload's field "redacted". What the
// sender wrote there is kept if it is a list of strings, and dropped otherwise:
// receivers may rely on the type.
func (w *walk) note(payload protocol.Value) {
	var last, sent protocol.Value
	for k, v := range payload.Members {
		last = v
		if k.EqualText(redactedField) {
			sent = v
		}
	}
	if !sent.Exists() {
		end := last.Offset() + len(last.Raw())
		text := append([]byte(`,"`+redactedField+`":`), list(w.rules)...)
		w.edits = append(w.edits, edit{start: end, end: end, json: text})
		return
	}
	start, end := sent.Offset(), sent.Offset()+len(sent.Raw())
	names := w.sentNames(sent)
	for _, r := range w.rules {
		if !slices.Contains(names, r) {
			names = append(names, r)
		}
	}
	w.edits = slices.DeleteFunc(w.edits, func(e edit) bool { return e.start >= start && e.end <= end })
	w.edits = append(w.edits, edit{start: start, end: end, json: list(names)})
	slices.SortStableFunc(w.edits, func(a, b edit) int { return a.start - b.start })
}

// sentNames returns the strings that the sender wrote as names of rules, as
// they were masked.
func (w *walk) sentNames(sent protocol.Value) []string {
	var names []string
	for x := range sent.Elements {
		if x.Type() != protocol.TypeString {
			continue
		}
		name := x.Text()
		i, masked := slices.BinarySearchFunc(w.edits, x.Offset(), func(e edit, start int) int { return e.start - start })
		if masked {
			name = w.edits[i].text
		}
		names = append(names, name)
	}
	return names
}

func list(names []string) []byte {
	out := []byte{'['}
	for i, n := range names {
		if i > 0 {
			out = append(out, ',')
		}
		out = protocol.AppendString(out, n)
	}
	return append(out, ']')
}

// splice carries out the edits.
func (w *walk) splice(payload protocol.Value) []byte {
	raw, base := payload.Raw(), payload.Offset()
	out := make([]byte, 0, len(raw)+64)
	last := 0
	for _, e := range w.edits {
		out = append(out, raw[last:e.start-base]...)
		if e.json == nil {
			out = protocol.AppendString(out, e.text)
		}
		out = append(out, e.json...)
		last = e.end - base
	}
	return append(out, raw[last:]...)
}
