package safety

import (
	"slices"
	"strconv"

	"github.com/meup-protocol/meup/protocol"
)

// Fields of a payload that record its changes.
const (
	redactedField = "redacted"
	reviewField   = "review"
)

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

// note adds the names of rules to a field of the payload. The sender's value is
// kept if it is a list of strings and dropped otherwise, since receivers rely on
// the type.
func (w *walk) note(payload protocol.Value, field string, rules []string) {
	if len(rules) == 0 {
		return
	}
	var last, sent protocol.Value
	for k, v := range payload.Members {
		last = v
		if k.EqualText(field) {
			sent = v
		}
	}
	if !sent.Exists() {
		end := last.Offset() + len(last.Raw())
		comma := ","
		if !last.Exists() { // what was found is beside the payload
			end = payload.Offset() + 1
			comma = comma[:min(len(w.edits), 1)]
		}
		text := append([]byte(comma+`"`+field+`":`), list(rules)...)
		w.edits = append(w.edits, edit{start: end, end: end, json: text})
		return
	}
	start, end := sent.Offset(), sent.Offset()+len(sent.Raw())
	names, same := w.sentNames(sent)
	count := len(names)
	for _, r := range rules {
		names = with(names, r)
	}
	if same && len(names) == count {
		return
	}
	w.edits = slices.DeleteFunc(w.edits, func(e edit) bool { return e.start >= start && e.start < end })
	w.edits = append(w.edits, edit{start: start, end: end, json: list(names)})
	slices.SortStableFunc(w.edits, func(a, b edit) int { return a.start - b.start })
}

// sentNames returns the strings that the sender wrote as names of rules, as
// they were masked, and whether these are the list as it was sent.
func (w *walk) sentNames(sent protocol.Value) (names []string, same bool) {
	same = true
	for x := range sent.Elements {
		if x.Type() != protocol.TypeString {
			same = false
			continue
		}
		name := x.Text()
		i, masked := slices.BinarySearchFunc(w.edits, x.Offset(), func(e edit, start int) int { return e.start - start })
		if masked {
			name, same = w.edits[i].text, false
		}
		names = append(names, name)
	}
	return names, same
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
