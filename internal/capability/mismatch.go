package capability

import "github.com/meup-protocol/meup/protocol"

// Mismatch is a part of a capability that does not match: its place in the
// capability and the envelope ("/payload/params/name"), the pattern there, and
// the value, both as JSON. An absent value is "".
type Mismatch struct{ Pointer, Pattern, Value string }

// Mismatch finds the part of p that did not match v.
func (p *Pattern) Mismatch(pointer string, v protocol.Value, m Mode, w *Work) Mismatch {
	if p.class == classObject && v.Type() == protocol.TypeObject {
		for i := range p.fields {
			f := &p.fields[i]
			if f.match(v, m, w) {
				continue
			}
			pointer += "/" + protocol.EscapePointer(f.key.source)
			if x := f.single(v, m); x.Exists() {
				return f.value.Mismatch(pointer, x, m, w)
			}
			return Mismatch{pointer, f.value.Source, ""}
		}
	}
	return Mismatch{pointer, p.Source, string(v.Raw())}
}

// single returns the value that a named key selects, the first one in a deny
// rule.
func (f *field) single(v protocol.Value, m Mode) protocol.Value {
	if f.key.class == keyName {
		for k, x := range v.Members {
			if f.key.selects(k, m) {
				return x
			}
		}
	}
	return protocol.Value{}
}
