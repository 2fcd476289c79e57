package entrydb

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/protocol"
)

// Batch collects entries and meta values that become durable together or not at
// all. It is not safe for concurrent use. After a commit the batch is empty and
// can be used again.
type Batch struct {
	db    *DB
	pb    *pebble.Batch // not bound to a store, since Reopen may replace it before the commit
	store *store        // acquired during a commit

	pending  pending
	bytes    int64 // growth in size of the rows of all entries
	key, val []byte
	ref      []byte // value of the rows that refer to the entry in val
}

var errNoSeq = errors.New("the entry has no seq")

// NewBatch returns an empty batch.
func (d *DB) NewBatch() *Batch {
	return &Batch{db: d, pb: new(pebble.Batch)}
}

// Put adds an entry and its index rows. The space must not have its Seq or its
// id yet.
func (b *Batch) Put(space string, e *journal.Entry) error {
	env := &e.Envelope
	if env.Seq == 0 {
		return fmt.Errorf("put entry %s: %w", env.ID, errNoSeq)
	}
	b.key = entryKey(b.key[:0], space, env.Seq)
	b.val = journal.AppendEntry(b.val[:0], e)
	b.set(b.key, b.val)

	b.key = idKey(b.key[:0], space, env.ID)
	b.ref = binary.AppendUvarint(b.ref[:0], uint64(env.Seq))
	b.set(b.key, b.ref)
	if e.Settles != "" {
		b.key = settledKey(b.key[:0], space, e.Settles)
		b.set(b.key, b.ref)
	}

	b.markers(space, e, func(key []byte) { b.set(key, nil) })
	b.pending.add(space, e)
	return nil
}

// Settle changes an entry of the database, which has no such reference: it settles a
// proposal.
func (b *Batch) Settle(space string, e *journal.Entry, proposal protocol.ID) {
	b.bytes -= b.rowBytes(space, e, len(journal.AppendEntry(nil, e)))
	e.Settles = proposal
	_ = b.Put(space, e) // it has a Seq
}

// Encoded returns the encoding of the entry that Put added last. It is valid
// until the next Put.
func (b *Batch) Encoded() []byte { return b.val }

// markers calls f with the keys of the rows of e that have no value.
func (b *Batch) markers(space string, e *journal.Entry, f func(key []byte)) {
	seq := e.Envelope.Seq
	ancestors(e.Envelope.Context, func(c protocol.ContextPath) {
		b.key = appendSeq(contextPrefix(b.key[:0], space, c), seq)
		f(b.key)
	})
	if e.State {
		b.key = appendSeq(spacePrefix(b.key[:0], tableState, space), seq)
		f(b.key)
	}
}

// rowBytes returns the size in bytes of the rows of an entry whose encoding has
// the given size. Put adds it to the size.
func (b *Batch) rowBytes(space string, e *journal.Entry, encoded int) int64 {
	seq := e.Envelope.Seq
	b.key = entryKey(b.key[:0], space, seq)
	n := len(b.key) + encoded
	b.key = idKey(b.key[:0], space, e.Envelope.ID)
	n += len(binary.AppendUvarint(b.key, uint64(seq))) // the id's key and value
	if e.Settles != "" {
		b.key = settledKey(b.key[:0], space, e.Settles)
		n += len(binary.AppendUvarint(b.key, uint64(seq)))
	}
	b.markers(space, e, func(key []byte) { n += len(key) })
	return int64(n)
}

// SetMeta adds a value that a journal stores next to its entries.
func (b *Batch) SetMeta(key string, value []byte) {
	_ = b.pb.Set(metaKey(key), value, nil) // memory only
}

// DeleteMeta removes a value that SetMeta added.
func (b *Batch) DeleteMeta(key string) { b.drop(metaKey(key)) }

// set adds a row that counts as an entry's.
func (b *Batch) set(key, value []byte) {
	_ = b.pb.Set(key, value, nil) // memory only
	b.bytes += int64(len(key) + len(value))
}

func (b *Batch) drop(key []byte) {
	_ = b.pb.Delete(key, nil) // memory only
}

// Empty reports whether the batch is empty.
func (b *Batch) Empty() bool { return b.pb.Empty() }

// Bytes returns the memory used by the content.
func (b *Batch) Bytes() int { return b.pb.Len() }

// Commit writes the batch. With sync it returns when the batch is durable;
// without, a crash may lose the batch and all later ones. Err: ErrUnavailable;
// whether the database has the batch is then known only after Reopen.
func (b *Batch) Commit(sync bool) error {
	if err := b.begin(); err != nil {
		return err
	}
	defer b.end()
	return b.guard(func() error {
		if b.Empty() {
			return nil
		}
		return b.store.pdb.Apply(b.pb, &pebble.WriteOptions{Sync: sync})
	})
}

// begin acquires the store and completes the batch.
func (b *Batch) begin() error {
	s, err := b.db.acquire()
	if err != nil {
		b.reset()
		return err
	}
	b.store = s
	if b.bytes != 0 {
		_ = b.pb.Merge(sizeKey, binary.AppendVarint(nil, b.bytes), nil) // memory only
	}
	return nil
}

// end releases the store and empties the batch.
func (b *Batch) end() {
	failed := b.store.fs.failure() != nil
	b.db.release(b.store)
	b.store = nil
	if failed {
		b.pb = new(pebble.Batch) // Pebble may still use the previous one
	}
	b.reset()
}

func (b *Batch) reset() {
	b.pb.Reset()
	b.bytes = 0
	clear(b.pending.ids)
	clear(b.pending.settled)
}

// guard runs the commit. Success reported by Pebble means nothing if the file
// system has failed. A panic of Pebble makes the file system fail.
func (b *Batch) guard(write func() error) (err error) {
	if err := b.failure(); err != nil {
		return err
	}
	defer func() {
		if r := recover(); r != nil {
			b.store.fs.fail(fmt.Errorf("commit: %v", r))
		}
		if failure := b.failure(); failure != nil {
			err = failure
		}
	}()
	if err := write(); err != nil {
		b.store.fs.fail(err)
	}
	return nil
}

// failure returns the reason why the store accepts no writes, or nil.
func (b *Batch) failure() error {
	if reason := b.store.fs.failure(); reason != nil {
		return journal.Unavailable(reason)
	}
	return nil
}
