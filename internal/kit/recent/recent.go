// Package recent has a map that forgets its oldest entries.
package recent

// Map is a map of two generations. When the younger one has max entries, it
// becomes the older one, which is dropped. So a Map keeps the max entries that were
// put last, and at most twice as many, without a list of pointers for the garbage
// collector to follow.
type Map[K comparable, V any] struct {
	max        int
	young, old map[K]V
}

// New returns an empty Map that keeps at least most entries.
func New[K comparable, V any](most int) *Map[K, V] {
	return &Map[K, V]{max: most, young: make(map[K]V)}
}

// Restore returns a Map with the generations of another one, which are not copied.
func Restore[K comparable, V any](most int, young, old map[K]V) *Map[K, V] {
	if young == nil {
		young = make(map[K]V)
	}
	return &Map[K, V]{max: most, young: young, old: old}
}

// Generations returns both generations, which must not be changed.
func (m *Map[K, V]) Generations() (young, old map[K]V) { return m.young, m.old }

// Get returns the value of a key, if it is kept.
func (m *Map[K, V]) Get(key K) (value V, ok bool) {
	value, ok = m.young[key]
	if !ok {
		value, ok = m.old[key]
	}
	return value, ok
}

// Put stores a value as the youngest entry.
func (m *Map[K, V]) Put(key K, value V) {
	if len(m.young) >= m.max {
		m.young, m.old = make(map[K]V), m.young
	}
	m.young[key] = value
}

// Len is the number of entries in memory. A key in both generations counts twice.
func (m *Map[K, V]) Len() int { return len(m.young) + len(m.old) }
