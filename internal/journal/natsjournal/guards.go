package natsjournal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/meup-protocol/meup/internal/journal/entrydb"
	"github.com/meup-protocol/meup/internal/natsconn"
)

// guard keeps a purge from cutting between two messages of a space.
//
// Suppose envelope x is in message 10, and again in message 50, where it is
// rejected as a retry. If the stream were purged up to 20, a gateway that
// rebuilds its replica would find x only in 50 and accept it as an entry that
// no other gateway has. The same applies to two decisions on one proposal. The
// two messages are seconds apart: a gateway publishes nothing that its replica
// rejects.
//
// Guards are rows of the replica, written in the batch that rejects the draft.
// A row exists only for a rejected draft, and no row is read to apply anything
// else, so the cost does not depend on the number of spaces or guards.
type guard struct {
	from uint64 // the message that has the entry
	to   uint64 // the message that has the rejected draft
}

// Rows of guards. The key has the kind, the space and the message of the
// rejected draft; the value is the message of the entry. Guards of one space do
// not overlap: overlapping ones are merged, since no purge can cut between
// them.
//
// State drafts have a subject of their own that is never purged. A rejected one
// is deleted by itself before its entry is purged, so its guard (guardState) is
// a message to delete and is not merged.
const (
	guardEntry = "guard/entry/"
	guardState = "guard/state/"
)

func guardKey(kind, space string, to uint64) string {
	return fmt.Sprintf("%s%s/%016x", kind, natsconn.EncodeToken(space), to)
}

// guardEnd is greater than every key of the space's guards.
func guardEnd(kind, space string) string { return kind + natsconn.EncodeToken(space) + "0" }

func readGuard(key string, value []byte) (guard, error) {
	var g guard
	from, n := binary.Uvarint(value)
	if n <= 0 || len(key) < 16 {
		return g, errors.New("guard cannot be read")
	}
	g.from = from
	_, err := fmt.Sscanf(key[len(key)-16:], "%016x", &g.to)
	return g, err
}

func (g guard) value() []byte { return binary.AppendUvarint(nil, g.from) }

// guardRows holds the guards that a pass adds, by space, in the order of their
// rejected drafts.
type guardRows struct {
	entries, states map[string][]guard
}

// record records that message to has a draft which was rejected because of an
// entry in message from.
func (r *guardRows) record(space string, from, to uint64, state bool) {
	if from >= to {
		return // one message is removed as a whole or not at all
	}
	if state {
		if r.states == nil {
			r.states = make(map[string][]guard)
		}
		r.states[space] = append(r.states[space], guard{from, to})
		return
	}
	if r.entries == nil {
		r.entries = make(map[string][]guard)
	}
	r.entries[space] = merge(r.entries[space], guard{from, to})
}

// merge adds a guard to a list that is sorted by to and has no overlaps. The
// new guard has the highest to.
func merge(list []guard, g guard) []guard {
	for len(list) > 0 && list[len(list)-1].to >= g.from {
		g.from = min(g.from, list[len(list)-1].from)
		list = list[:len(list)-1]
	}
	return append(list, g)
}

// write puts the guards into the batch.
func (r *guardRows) write(db *entrydb.DB, b *entrydb.Batch) error {
	for space, list := range r.states {
		for _, g := range list {
			b.SetMeta(guardKey(guardState, space, g.to), g.value())
		}
	}
	for space, list := range r.entries {
		// Existing rows end before every new guard but the first begins.
		g := &list[0]
		err := scanGuards(db, guardKey(guardEntry, space, 0), guardEnd(guardEntry, space), true, func(old guard) bool {
			if old.to < g.from {
				return false
			}
			g.from = min(g.from, old.from)
			g.to = max(g.to, old.to)
			b.DeleteMeta(guardKey(guardEntry, space, old.to))
			return true
		})
		if err != nil {
			return fmt.Errorf("read guards of %s: %w", space, err)
		}
		for _, g := range list {
			b.SetMeta(guardKey(guardEntry, space, g.to), g.value())
		}
	}
	return nil
}

func scanGuards(db *entrydb.DB, lower, upper string, backwards bool, f func(guard) bool) error {
	var bad error
	err := db.ScanMeta(lower, upper, backwards, func(key string, value []byte) bool {
		g, err := readGuard(key, value)
		if err != nil {
			bad = err
			return false
		}
		return f(g)
	})
	return errors.Join(err, bad)
}

// purgeBound returns the message up to which (exclusive) the space can be
// purged if upTo is requested, and the messages that have to be deleted first.
func purgeBound(db *entrydb.DB, space string, upTo uint64) (safe uint64, remove []uint64, err error) {
	safe = upTo
	err = scanGuards(db, guardKey(guardEntry, space, upTo), guardEnd(guardEntry, space), false, func(g guard) bool {
		safe = min(safe, g.from)
		return false
	})
	if err != nil {
		return 0, nil, err
	}
	err = scanGuards(db, guardKey(guardState, space, 0), guardEnd(guardState, space), false, func(g guard) bool {
		if g.from < safe {
			remove = append(remove, g.to)
		}
		return true
	})
	slices.Sort(remove)
	return safe, remove, err
}

// dropGuards removes the guards that a purge has made obsolete. A guard that is
// written concurrently concerns later messages.
func dropGuards(db *entrydb.DB, space string, safe uint64, removed []uint64) error {
	b := db.NewBatch()
	for _, to := range removed {
		b.DeleteMeta(guardKey(guardState, space, to))
	}
	err := scanGuards(db, guardKey(guardEntry, space, 0), guardKey(guardEntry, space, safe), false, func(g guard) bool {
		b.DeleteMeta(guardKey(guardEntry, space, g.to))
		return true
	})
	if err != nil || b.Empty() {
		return err
	}
	return b.Commit(false)
}
