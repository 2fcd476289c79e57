package config

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/protocol"
)

// node is one value of the file, with aliases followed and merges applied. A
// value with aliases is one node with several parents.
type node struct {
	place
	path    string // of the key, such as limits.rate; with aliases, of the first one
	value   any    // nil, bool, int64, float64, string, []any or map[string]any
	text    string // a scalar as written in the file, without quotes
	members []member
	index   map[string]int // of a mapping: into members
	size    int            // of the value with aliases expanded; bounds the time of a walk
	invalid bool           // the value was reported and counts as absent
	faulty  bool           // the value, or one below, was reported
}

// member is an element of a list, or an entry of a mapping. The key of an
// element is its index.
type member struct{ key, value *node }

// get returns the value at a path of keys, or nil.
func (n *node) get(keys ...string) *node {
	for _, key := range keys {
		n = n.member(key).value
	}
	return n
}

// member returns the entry of a mapping or the element of a list; zero if there
// is none.
func (n *node) member(key string) member {
	if n == nil {
		return member{}
	}
	i, ok := n.index[key]
	if list, isList := n.value.([]any); isList {
		var err error
		i, err = strconv.Atoi(key)
		ok = err == nil && i >= 0 && i < len(list)
	}
	if !ok {
		return member{}
	}
	return n.members[i]
}

// isSet reports whether the file has a valid value that is not empty.
func (n *node) isSet() bool { return n != nil && !n.invalid && n.value != nil && n.value != "" }

// is reports whether the file has this text.
func (n *node) is(text string) bool { return n.isSet() && n.text == text }

// entries returns the entries of a mapping.
func (n *node) entries() []member {
	if n == nil || n.index == nil {
		return nil
	}
	return n.members
}

// elements returns the valid elements of a list.
func (n *node) elements() []*node {
	if !n.isSet() {
		return nil
	}
	var list []*node
	for _, m := range n.members {
		if m.value.isSet() {
			list = append(list, m.value)
		}
	}
	return list
}

// appendJSON writes a value as JSON, with its keys in the order of the file. A
// number keeps its digits if they are valid JSON.
func (n *node) appendJSON(to []byte) []byte {
	switch v := n.value.(type) {
	case []any:
		to = append(to, '[')
		for i, m := range n.members {
			if i > 0 {
				to = append(to, ',')
			}
			to = m.value.appendJSON(to)
		}
		return append(to, ']')
	case map[string]any:
		to = append(to, '{')
		for i, m := range n.members {
			if i > 0 {
				to = append(to, ',')
			}
			to = append(protocol.AppendString(to, m.key.text), ':')
			to = m.value.appendJSON(to)
		}
		return append(to, '}')
	case string:
		return protocol.AppendString(to, v)
	case float64:
		if !json.Valid([]byte(n.text)) {
			return strconv.AppendFloat(to, v, 'g', -1, 64)
		}
		return append(to, n.text...)
	case int64:
		return strconv.AppendInt(to, v, 10)
	case bool:
		return strconv.AppendBool(to, v)
	}
	return append(to, "null"...)
}

// builder converts the parser's tree to nodes.
type builder struct {
	*report
	anchors    map[string]*node // nil value: the anchor is being read
	overweight bool
}

// build returns the node of a value. An invalid value is reported, so that the
// rest of the file is still checked.
func (b *builder) build(from ast.Node, path string, depth int) *node {
	n := at(start(from))
	n.path, n.size = path, 1
	if depth > maxDepth {
		return b.invalid(n, "nested deeper than %d levels", maxDepth)
	}
	if b.overweight {
		return n
	}
	switch from := from.(type) {
	case *ast.MappingNode:
		return b.mapping(n, from.Values, depth)
	case *ast.MappingValueNode:
		return b.mapping(n, []*ast.MappingValueNode{from}, depth)
	case *ast.SequenceNode:
		list := make([]any, 0, len(from.Values))
		for i, v := range from.Values {
			item := b.build(v, path+"["+strconv.Itoa(i)+"]", depth+1)
			n.members = append(n.members, member{value: item})
			list = append(list, item.value)
			b.grow(n, item)
		}
		n.value = list
	case *ast.AnchorNode:
		if from.Value == nil {
			return n
		}
		name := from.Name.String()
		b.anchors[name] = nil
		v := b.build(from.Value, path, depth)
		b.anchors[name] = v
		return v
	case *ast.AliasNode:
		v, known := b.anchors[from.Value.String()]
		switch {
		case v != nil:
			return v
		case known:
			return b.invalid(n, "the alias is inside the value that it names")
		}
		return b.invalid(n, "there is no anchor for this alias before it; quote a text that begins with a star")
	case *ast.TagNode:
		// Names after ! * & are never quoted in a message: an unquoted token
		// may start with one of these characters.
		return b.invalid(n, "tags are not supported; quote a text that begins with an exclamation mark")
	default:
		b.scalar(n, from)
	}
	return n
}

func (b *builder) invalid(n *node, format string, args ...any) *node {
	b.errorf(n, format, args...)
	n.invalid, n.faulty = true, true
	return n
}

func (b *builder) scalar(n *node, from ast.Node) {
	if t := from.GetToken(); t != nil {
		n.text = t.Value
	}
	switch from := from.(type) {
	case *ast.NullNode:
	case *ast.BoolNode:
		n.value = from.Value
	case *ast.IntegerNode:
		switch v := from.Value.(type) {
		case int64:
			n.value = v
		case uint64:
			n.value = float64(v)
			if v <= math.MaxInt64 {
				n.value = int64(v)
			}
		}
	case *ast.FloatNode:
		n.value = from.Value
	case *ast.InfinityNode, *ast.NanNode:
		b.invalid(n, "%s is not a number that can be used here", n.text)
	case *ast.StringNode:
		n.value, n.text = from.Value, from.Value
	case *ast.LiteralNode:
		n.value, n.text = from.Value.Value, from.Value.Value
	default:
		b.invalid(n, "a %s is not supported here", from.Type())
	}
	n.size += len(n.text) / 64
}

// grow adds the size of a part of n. Nested aliases, such as ten aliases of ten
// aliases, expand exponentially. Therefore the size of a walk is checked before
// the walk starts.
func (b *builder) grow(n, part *node) {
	n.faulty = n.faulty || part.faulty
	n.size = min(n.size+part.size, maxExpandedSize+1)
	if n.size > maxExpandedSize && !b.overweight {
		b.overweight = true
		b.errorf(n, "with its aliases written out the file has more than %d values", maxExpandedSize)
	}
}

func (b *builder) mapping(n *node, values []*ast.MappingValueNode, depth int) *node {
	n.value, n.index = make(map[string]any, len(values)), make(map[string]int, len(values))
	var merges []*node
	for _, v := range values {
		if b.overweight {
			return n
		}
		if v.Key.IsMergeKey() {
			merges = append(merges, b.build(v.Value, n.path, depth+1))
			continue
		}
		key := b.key(v.Key, n)
		value := b.build(v.Value, key.path, depth+1)
		if key.invalid {
			continue
		}
		if first, dup := n.index[key.text]; dup {
			b.errorf(key, "key %q is already in line %d", key.text, n.members[first].key.line)
			continue
		}
		b.add(n, member{key, value})
	}
	for _, from := range merges {
		b.merge(n, from, true)
	}
	return n
}

func (b *builder) add(n *node, m member) {
	n.index[m.key.text] = len(n.members)
	n.members = append(n.members, m)
	n.value.(map[string]any)[m.key.text] = m.value.value //nolint:forcetypeassert // n is a mapping
	b.grow(n, m.key)
	b.grow(n, m.value)
}

// key reads the key of an entry of n. Every scalar is read as text, as written
// in the file, since a participant may have the name 007.
func (b *builder) key(from ast.Node, n *node) *node {
	if explicit, ok := from.(*ast.MappingKeyNode); ok {
		from = explicit.Value
	}
	key := b.build(from, "", maxDepth)
	if !key.invalid && (key.members != nil || key.value == nil && key.text == "") {
		b.invalid(key, "a key must be text")
	}
	key.path = strings.TrimPrefix(n.path+"."+textutil.Shorten(key.text, 40), ".")
	return key
}

// merge adds the entries of from that n does not have itself. If several
// sources have a key, the first one wins.
func (b *builder) merge(n, from *node, lists bool) {
	_, isList := from.value.([]any)
	switch {
	case from.index != nil:
		for _, m := range from.members {
			if _, has := n.index[m.key.text]; !has && !b.overweight {
				b.add(n, m)
			}
		}
	case isList && lists:
		for _, m := range from.members {
			b.merge(n, m.value, false)
		}
	case from.value != nil:
		b.invalid(from, "<< takes a mapping or a list of mappings")
	}
}
