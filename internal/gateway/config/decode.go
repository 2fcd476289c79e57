package config

import (
	"reflect"

	"github.com/meup-protocol/meup/internal/textutil"
)

// decoder is a value of the file that decodes itself from a non-empty node.
type decoder interface {
	decode(r *report, n *node)
}

// decodeInto decodes n into target, a pointer to a struct of shape.go or a
// decoder. An empty value (also ~ or null) counts as absent, except that a
// mapping keeps its place: "alice:" names a participant.
func decodeInto(r *report, n *node, target any) {
	before := r.invalidValues
	if n.invalid {
		r.invalidValues++
	}
	if d, ok := target.(decoder); ok {
		if n.kind != null {
			d.decode(r, n)
		}
		return
	}
	target.(interface{ setPlace(place) }).setPlace(n.place) //nolint:forcetypeassert // every shape embeds a place
	if n.kind != null {
		decodeMapping(r, n, target)
	}
	if r.invalidValues > before {
		r.invalidAt[n.place] = true
	}
}

func decodeMapping(r *report, n *node, target any) {
	if n.kind != mapping {
		r.wrongKind(n, mapping.String())
		return
	}
	shape := reflect.ValueOf(target).Elem()
	keys := keysOf(shape.Type())
	for _, m := range n.members {
		i := indexOf(keys, m.key.text)
		if i < 0 {
			r.invalidValue(m.key.place, "unknown key %q; %s", textutil.Shorten(m.key.text, 40), suggest(m.key.text, names(keys)))
			continue
		}
		decodeInto(r, m.value, shape.Field(keys[i].field).Addr().Interface())
	}
}

// invalidValue reports a value that could not be decoded.
func (r *report) invalidValue(at place, format string, args ...any) {
	r.invalidValues++
	r.errorf(at, format, args...)
}

// wrongKind reports a value of the wrong type. It does not quote the value,
// which may be a misplaced token.
func (r *report) wrongKind(n *node, want string) {
	hint := ""
	if want == text.String() && n.kind < text {
		hint = "; put it in quotes"
	}
	r.invalidValue(n.place, "this is %s where %s is wanted%s", n.kind, want, hint)
}

// shapeKey is a valid key of a mapping, and its field's index.
type shapeKey struct {
	name  string
	field int
}

func keysOf(t reflect.Type) []shapeKey {
	var keys []shapeKey
	for i := range t.NumField() {
		if name := t.Field(i).Tag.Get("yaml"); name != "" {
			keys = append(keys, shapeKey{name, i})
		}
	}
	return keys
}

func indexOf(keys []shapeKey, name string) int {
	for i, k := range keys {
		if k.name == name {
			return i
		}
	}
	return -1
}

func names(keys []shapeKey) []string {
	all := make([]string, len(keys))
	for i, k := range keys {
		all[i] = k.name
	}
	return all
}
