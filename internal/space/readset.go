package space

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
)

// readSet is a set for many reads and few changes, such as the members of a space; its
// zero value is empty. A change takes constant time; the first reader after it makes the
// list that all readers share until the next change.
type readSet[T comparable] struct {
	mu    sync.Mutex // a leaf lock: nothing is called while it is held
	items map[T]struct{}
	list  atomic.Pointer[[]T]
}

// Add adds x.
func (s *readSet[T]) Add(x T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.items == nil {
		s.items = make(map[T]struct{})
	}
	s.items[x] = struct{}{}
	s.list.Store(nil)
}

// Remove removes x and reports whether x was in the set.
func (s *readSet[T]) Remove(x T) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, there := s.items[x]
	delete(s.items, x)
	s.list.Store(nil)
	return there
}

// All returns the elements, in no order. The list is shared: read-only.
func (s *readSet[T]) All() []T {
	if list := s.list.Load(); list != nil {
		return *list
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	list := slices.Collect(maps.Keys(s.items))
	s.list.Store(&list)
	return list
}
