// Package pmap implements a persistent ordered map: an immutable value of
// which Set and Delete return a changed copy in O(log n), sharing the rest.
//
// It is a treap, a search tree that is balanced by random priorities. The
// priority of a key is a hash of it under a seed of the process, so no one
// outside can choose keys that unbalance the tree.
package pmap

import (
	"cmp"
	"encoding/binary"
	"hash/maphash"
	"iter"
	"slices"
	"time"
)

// Map is a persistent map. The zero Map is empty. A Map is safe for concurrent
// use, since nothing changes it.
type Map[K cmp.Ordered, V any] struct {
	root *node[K, V]
	size int
}

type node[K cmp.Ordered, V any] struct {
	key         K
	value       V
	priority    uint64 // at least the priorities of the children
	left, right *node[K, V]
}

var seed = maphash.MakeSeed()

// Len returns the number of keys.
func (m Map[K, V]) Len() int { return m.size }

// Get returns the value of k and whether there is one.
func (m Map[K, V]) Get(k K) (V, bool) {
	for n := m.root; n != nil; {
		switch c := cmp.Compare(k, n.key); {
		case c == 0:
			return n.value, true
		case c < 0:
			n = n.left
		default:
			n = n.right
		}
	}
	var zero V
	return zero, false
}

// Has reports whether k has a value.
func (m Map[K, V]) Has(k K) bool {
	_, ok := m.Get(k)
	return ok
}

// After returns the least key above k and its value; ok is false if there is
// none.
func (m Map[K, V]) After(k K) (key K, v V, ok bool) {
	for n := m.root; n != nil; {
		if cmp.Less(k, n.key) {
			key, v, ok = n.key, n.value, true
			n = n.left
		} else {
			n = n.right
		}
	}
	return key, v, ok
}

// All iterates over the map in the order of the keys.
func (m Map[K, V]) All() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) { m.root.all(yield) }
}

// From iterates over the keys from k on, in their order.
func (m Map[K, V]) From(k K) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) { m.root.from(k, yield) }
}

func (n *node[K, V]) from(k K, yield func(K, V) bool) bool {
	switch {
	case n == nil:
		return true
	case cmp.Less(n.key, k):
		return n.right.from(k, yield)
	}
	return n.left.from(k, yield) && yield(n.key, n.value) && n.right.all(yield)
}

func (n *node[K, V]) all(yield func(K, V) bool) bool {
	return n == nil || n.left.all(yield) && yield(n.key, n.value) && n.right.all(yield)
}

// Set returns the map with v as the value of k.
func (m Map[K, V]) Set(k K, v V) Map[K, V] {
	root, added := m.root.set(k, v)
	if added {
		m.size++
	}
	m.root = root
	return m
}

// set returns a copy of the tree with k, which shares the nodes that are not
// on the path to k.
func (n *node[K, V]) set(k K, v V) (root *node[K, V], added bool) {
	if n == nil {
		return &node[K, V]{key: k, value: v, priority: maphash.Comparable(seed, k)}, true
	}
	copied := *n
	switch c := cmp.Compare(k, n.key); {
	case c == 0:
		copied.value = v
	case c < 0:
		copied.left, added = n.left.set(k, v)
		if copied.left.priority > n.priority {
			up := copied.left // a copy too: rotate in place
			copied.left, up.right = up.right, &copied
			return up, added
		}
	default:
		copied.right, added = n.right.set(k, v)
		if copied.right.priority > n.priority {
			up := copied.right
			copied.right, up.left = up.left, &copied
			return up, added
		}
	}
	return &copied, added
}

// Pair is a key with its value.
type Pair[K cmp.Ordered, V any] struct {
	Key   K
	Value V
}

// Of returns the map of these pairs, which it sorts. It takes O(n) if they are sorted.
// Of several pairs with one key, one is in the map.
func Of[K cmp.Ordered, V any](pairs []Pair[K, V]) Map[K, V] {
	byKey := func(a, b Pair[K, V]) int { return cmp.Compare(a.Key, b.Key) }
	if !slices.IsSortedFunc(pairs, byKey) {
		slices.SortFunc(pairs, byKey)
	}
	pairs = slices.CompactFunc(pairs, func(a, b Pair[K, V]) bool { return a.Key == b.Key })
	var spine []*node[K, V] // from the root to the right, with falling priorities
	for _, p := range pairs {
		n := &node[K, V]{key: p.Key, value: p.Value, priority: maphash.Comparable(seed, p.Key)}
		for len(spine) > 0 && spine[len(spine)-1].priority < n.priority {
			n.left = spine[len(spine)-1]
			spine = spine[:len(spine)-1]
		}
		if len(spine) > 0 {
			spine[len(spine)-1].right = n
		}
		spine = append(spine, n)
	}
	if len(spine) == 0 {
		return Map[K, V]{}
	}
	return Map[K, V]{root: spine[0], size: len(pairs)}
}

// Delete returns the map without k.
func (m Map[K, V]) Delete(k K) Map[K, V] {
	if !m.Has(k) {
		return m
	}
	m.root = m.root.without(k)
	m.size--
	return m
}

// without returns a copy of the tree without k, which is in it.
func (n *node[K, V]) without(k K) *node[K, V] {
	c := cmp.Compare(k, n.key)
	if c == 0 {
		return join(n.left, n.right)
	}
	copied := *n
	if c < 0 {
		copied.left = n.left.without(k)
	} else {
		copied.right = n.right.without(k)
	}
	return &copied
}

// join returns a tree of a and b; all keys of a are below all keys of b.
func join[K cmp.Ordered, V any](a, b *node[K, V]) *node[K, V] {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	case a.priority > b.priority:
		copied := *a
		copied.right = join(a.right, b)
		return &copied
	}
	copied := *b
	copied.left = join(a, b.left)
	return &copied
}

// TimeKey returns a key that orders by a time and then by a name. A key
// without a name is the least of its time.
func TimeKey(t time.Time, name string) string {
	key := binary.BigEndian.AppendUint64(make([]byte, 0, 8+len(name)), uint64(t.UnixNano())^1<<63)
	return string(append(key, name...))
}
