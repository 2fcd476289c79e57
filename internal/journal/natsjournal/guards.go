package natsjournal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"

	"github.com/meup-protocol/meup/internal/journal/entrydb"
	"github.com/meup-protocol/meup/internal/kit/natsconn"
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
	guardEntry guardKind = "guard/entry/"
	guardState guardKind = "guard/state/"
)

type guardKind string

func (k guardKind) key(space string, to uint64) string {
	return fmt.Sprintf("%s%s/%016x", k, natsconn.EncodeToken(space), to)
}

// scan calls f with the space's guards whose to is at least from, until f
// returns false.
func (k guardKind) scan(db *entrydb.DB, space string, from uint64, backwards bool, f func(guard) bool) error {
	var bad error
	end := string(k) + natsconn.EncodeToken(space) + "0" // greater than all keys of the space
	err := db.ScanMeta(k.key(space, from), end, backwards, func(key string, value []byte) bool {
		var g guard
		var n int
		g.from, n = binary.Uvarint(value)
		g.to, bad = strconv.ParseUint(key[max(0, len(key)-16):], 16, 64)
		if n <= 0 && bad == nil {
			bad = errors.New("guard cannot be read")
		}
		return bad == nil && f(g)
	})
	return errors.Join(err, bad)
}

// guards holds the guards that a pass adds, in the order of their rejected
// drafts.
type guards map[guardedSpace][]guard

type guardedSpace struct {
	kind  guardKind
	space string
}

// record records that message to has a draft which was rejected because of an
// entry in message from.
func (r guards) record(space string, from, to uint64, state bool) {
	if from >= to {
		return // one message is removed as a whole or not at all
	}
	if state {
		of := guardedSpace{guardState, space}
		r[of] = append(r[of], guard{from, to})
		return
	}
	of := guardedSpace{guardEntry, space}
	list := r[of]
	for len(list) > 0 && list[len(list)-1].to >= from {
		from = min(from, list[len(list)-1].from)
		list = list[:len(list)-1]
	}
	r[of] = append(list, guard{from, to})
}

// write puts the guards into the batch.
func (r guards) write(db *entrydb.DB, b *entrydb.Batch) error {
	for of, list := range r {
		if of.kind == guardEntry {
			// Existing rows end before every new guard but the first begins.
			g := &list[0]
			err := guardEntry.scan(db, of.space, 0, true, func(old guard) bool {
				if old.to < g.from {
					return false
				}
				g.from, g.to = min(g.from, old.from), max(g.to, old.to)
				b.DeleteMeta(guardEntry.key(of.space, old.to))
				return true
			})
			if err != nil {
				return fmt.Errorf("read guards of %s: %w", of.space, err)
			}
		}
		for _, g := range list {
			b.SetMeta(of.kind.key(of.space, g.to), binary.AppendUvarint(nil, g.from))
		}
	}
	return nil
}

// PurgeBound returns the message up to which (exclusive) the space can be
// purged if upTo is requested, and the messages that have to be deleted first.
func (r *replica) PurgeBound(space string, upTo uint64) (safe uint64, remove []uint64, err error) {
	db, err := r.use()
	if err != nil {
		return 0, nil, err
	}
	defer r.readers.Done()
	safe = upTo
	err = guardEntry.scan(db, space, upTo, false, func(g guard) bool {
		safe = min(safe, g.from)
		return false
	})
	if err == nil {
		err = guardState.scan(db, space, 0, false, func(g guard) bool {
			if g.from < safe {
				remove = append(remove, g.to)
			}
			return true
		})
	}
	return safe, remove, err
}

// Purged removes the guards that a purge has made obsolete. A guard that is
// written concurrently concerns later messages.
func (r *replica) Purged(space string, safe uint64, removed []uint64) error {
	db, err := r.use()
	if err != nil {
		return err
	}
	defer r.readers.Done()
	b := db.NewBatch()
	for _, to := range removed {
		b.DeleteMeta(guardState.key(space, to))
	}
	err = guardEntry.scan(db, space, 0, false, func(g guard) bool {
		if g.to < safe {
			b.DeleteMeta(guardEntry.key(space, g.to))
		}
		return g.to < safe
	})
	if err != nil || b.Empty() {
		return err
	}
	return b.Commit(false)
}
