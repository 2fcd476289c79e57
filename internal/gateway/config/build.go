package config

import (
	"fmt"
	"math"
	"slices"

	"github.com/goccy/go-yaml/ast"
)

// builder converts the parser's tree to nodes.
type builder struct {
	*report
	anchors    map[string]*node // nil value: the anchor is being read
	overweight bool
}

// build returns the node of a value. An invalid value is reported and treated
// as empty, so that the rest of the file is still checked.
func (b *builder) build(n ast.Node, depth int) *node {
	at := placeOf(n)
	if depth > maxDepth {
		return b.invalid(at, fmt.Sprintf("nested deeper than %d levels", maxDepth))
	}
	switch n := n.(type) {
	case *ast.MappingNode:
		return b.mapping(at, n.Values, depth)
	case *ast.MappingValueNode:
		return b.mapping(at, []*ast.MappingValueNode{n}, depth)
	case *ast.SequenceNode:
		return b.sequence(at, n, depth)
	case *ast.AnchorNode:
		return b.anchor(n, depth)
	case *ast.AliasNode:
		return b.alias(at, n)
	case *ast.TagNode:
		// Names after ! * & are never quoted in a message: an unquoted token
		// may start with one of these characters.
		return b.invalid(at, "a tag has no meaning here; quote a text that begins with an exclamation mark")
	}
	return b.scalar(at, n)
}

// invalid reports an invalid value, and returns a node in its place.
func (b *builder) invalid(at place, message string) *node {
	b.errorf(at, "%s", message)
	return &node{place: at, expandedSize: 1, invalid: true}
}

func (b *builder) scalar(at place, n ast.Node) *node {
	s := &node{place: at, expandedSize: 1}
	if t := n.GetToken(); t != nil {
		s.text = t.Value
	}
	switch n := n.(type) {
	case *ast.NullNode:
	case *ast.BoolNode:
		s.kind, s.truth = boolean, n.Value
	case *ast.IntegerNode:
		b.integer(s, n)
	case *ast.FloatNode:
		s.kind, s.number = float, n.Value
	case *ast.InfinityNode:
		s.kind, s.number = float, n.Value
	case *ast.NanNode:
		s.kind, s.number = float, math.NaN()
	case *ast.StringNode:
		s.kind, s.text = text, n.Value
	case *ast.LiteralNode:
		s.kind, s.text = text, n.Value.Value
	default:
		return b.invalid(at, fmt.Sprintf("a %s cannot stand here", n.Type()))
	}
	return s
}

func (b *builder) integer(s *node, n *ast.IntegerNode) {
	s.kind = integer
	switch v := n.Value.(type) {
	case int64:
		s.whole = v
	case uint64:
		if v > math.MaxInt64 {
			s.kind, s.number = float, float64(v)
			return
		}
		s.whole = int64(v)
	}
	s.number = float64(s.whole)
}

func (b *builder) sequence(at place, n *ast.SequenceNode, depth int) *node {
	s := &node{place: at, kind: list, expandedSize: 1}
	for _, v := range n.Values {
		item := b.build(v, depth+1)
		s.items = append(s.items, item)
		b.addExpandedSize(s, item)
	}
	return s
}

// addExpandedSize adds the expanded size of below to n. Nested aliases, such as ten
// aliases of ten aliases, expand exponentially. Therefore the size of the walk
// is checked before the walk starts.
func (b *builder) addExpandedSize(n, below *node) {
	n.expandedSize = min(n.expandedSize+below.expandedSize, maxExpandedSize+1)
	if n.expandedSize > maxExpandedSize && !b.overweight {
		b.overweight = true
		b.errorf(n.place, "with its aliases written out the file has more than %d values", maxExpandedSize)
	}
}

func (b *builder) anchor(n *ast.AnchorNode, depth int) *node {
	name := n.Name.String()
	if n.Value == nil {
		return &node{place: placeOf(n), expandedSize: 1}
	}
	b.anchors[name] = nil
	v := b.build(n.Value, depth)
	b.anchors[name] = v
	return v
}

func (b *builder) alias(at place, n *ast.AliasNode) *node {
	name := n.Value.String()
	v, known := b.anchors[name]
	switch {
	case v != nil:
		return v
	case known:
		return b.invalid(at, "the alias stands inside the value that it names")
	}
	return b.invalid(at, "no anchor for this alias stands before it; quote a text that begins with a star")
}

func (b *builder) mapping(at place, values []*ast.MappingValueNode, depth int) *node {
	m := &node{place: at, kind: mapping, expandedSize: 1}
	seen := make(map[string]place, len(values))
	var merges []*node
	for _, v := range values {
		value := b.build(v.Value, depth+1)
		if v.Key.IsMergeKey() {
			merges = append(merges, value)
			continue
		}
		key := b.key(v.Key)
		if key == nil {
			continue
		}
		if first, dup := seen[key.text]; dup {
			b.errorf(key.place, "key %q stands in line %d already", key.text, first.line)
			continue
		}
		seen[key.text] = key.place
		b.addMember(m, member{key, value})
	}
	for _, from := range merges {
		b.merge(m, seen, from)
	}
	return m
}

func (b *builder) addMember(m *node, e member) {
	m.members = append(m.members, e)
	m.expandedSize++
	b.addExpandedSize(m, e.value)
}

// key reads the key of an entry. Every scalar is read as text, as written in
// the file, since a participant may have the name 007.
func (b *builder) key(k ast.MapKeyNode) *node {
	var n ast.Node = k
	if explicit, ok := n.(*ast.MappingKeyNode); ok {
		n = explicit.Value
	}
	key := b.build(n, maxDepth)
	if key.kind == list || key.kind == mapping || key.kind == null && key.text == "" {
		b.errorf(key.place, "a key must be text")
		return nil
	}
	return key
}

// merge adds the entries of from that m does not have itself. If several
// sources have a key, the first one wins.
func (b *builder) merge(m *node, seen map[string]place, from *node) {
	switch from.kind {
	case mapping:
		for _, e := range from.members {
			if _, has := seen[e.key.text]; !has {
				seen[e.key.text] = e.key.place
				b.addMember(m, e)
			}
		}
	case list:
		if slices.ContainsFunc(from.items, func(i *node) bool { return i.kind == list }) {
			b.errorf(from.place, "<< takes a mapping or a list of mappings")
			return
		}
		for _, item := range from.items {
			b.merge(m, seen, item)
		}
	case null:
	default:
		b.errorf(from.place, "<< takes a mapping or a list of mappings")
	}
}
