package journal

import (
	"context"
	"fmt"
	"iter"
	"sort"

	"github.com/meup-protocol/meup/protocol"
)

// Range implements [journal.Journal]. It holds no lock while it yields.
func (j *Memory) Range(ctx context.Context, space string, q Query) iter.Seq2[*Entry, error] {
	return func(yield func(*Entry, error) bool) {
		for _, e := range j.selectEntries(space, q) {
			if err := ctx.Err(); err != nil {
				break
			}
			if !yield(e, nil) {
				return
			}
		}
		if err := ctx.Err(); err != nil {
			yield(nil, fmt.Errorf("read log of %s: %w", space, err))
		}
	}
}

func (j *Memory) selectEntries(space string, q Query) []*Entry {
	j.mu.RLock()
	defer j.mu.RUnlock()
	l := j.spaces[space]
	if l == nil {
		return nil
	}
	from, to := l.index(q.After+1), len(l.records)
	if q.Before != 0 {
		to = l.index(q.Before)
	}
	var found []*Entry
	for i := range max(to-from, 0) {
		at := from + i
		if q.Backwards {
			at = to - 1 - i
		}
		e := l.records[at].entry
		if q.StateOnly && !e.State || !e.Envelope.Context.Within(q.Context) {
			continue
		}
		found = append(found, e)
		if len(found) == q.Limit {
			break
		}
	}
	return found
}

// Base implements [journal.Journal]: indexes do not outlive this log, so none is needed.
func (j *Memory) Base(string) (Base, error) { return Base{}, nil }

// index returns the index of the first record with this Seq or a greater one.
func (l *log) index(seq protocol.Seq) int {
	return sort.Search(len(l.records), func(i int) bool { return l.records[i].entry.Envelope.Seq >= seq })
}
