package turns

import (
	"bytes"
	"compress/flate"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"

	"github.com/meup-protocol/meup/internal/kit/recent"
	"github.com/meup-protocol/meup/protocol"
)

// A base has the rows of a Tracker without turns, so that later entries get the same
// threads and numbers as with the entries that the log drops. It is bounded: it has the
// contexts and ids that were used last, with their threads. It is a byte for the version
// and the compressed rows, each as the lengths and the bytes of key and value; the ones
// that name a thread are left out, since they follow from it.

// baseVersion changes when a base, or a row in it, is encoded in another way.
const baseVersion = 1

// Bounds of a base.
const (
	// baseIDs is how many ids are kept at least, and half of how many at most; of
	// contexts and agents fewer are kept.
	baseIDs = 2048
	// baseStep is how many entries are folded before the rows are reduced to a base.
	baseStep = 8192
	// maxBaseBytes bounds the size of a base when it is decoded.
	maxBaseBytes = 16 << 20
)

// errBase: a base was written by another version, or is damaged.
var errBase = fmt.Errorf("the base of turns: %w", ErrDamaged)

// errNewerBase: a base was written by a newer version, which has to fold it.
var errNewerBase = errors.New("the base of turns is of a newer version of the gateway")

// Fold returns the base of a space after further entries of its log, hidden ones left out.
// A damaged base counts as none. Err: errNewerBase, the log's.
func Fold(ctx context.Context, space string, base []byte, entries iter.Seq2[Entry, error]) ([]byte, error) {
	if len(base) > 0 && base[0] > baseVersion {
		return nil, fmt.Errorf("%w: %d, not %d", errNewerBase, base[0], baseVersion)
	}
	t := openBase(space, base)
	n := 0
	for e, err := range entries {
		if err != nil {
			return nil, err
		}
		t.Apply(ctx, e)
		n++
		if n%baseStep == 0 {
			t = openBase(space, t.base())
		}
	}
	return t.base(), nil
}

// openBase returns a Tracker in memory that goes on after a base, without turns.
func openBase(space string, base []byte) *Tracker {
	rows := newMemoryRows()
	_ = LoadBase(rows, base)
	t, _, err := Open(Options{Space: space, Rows: rows, CacheBytes: -1, IDs: baseIDs})
	if err != nil { // its state cannot be read
		rows = newMemoryRows()
		t, _, _ = Open(Options{Space: space, Rows: rows, CacheBytes: -1, IDs: baseIDs})
	}
	for _, names := range t.names() {
		known := make(map[uint64]place)
		for key, row := range rows.Rows {
			if d := (&decoder{rest: row}); key[0] == names.class {
				at, chat := d.ref()
				known[binary.BigEndian.Uint64([]byte(key[1:]))] = place{at, chat}
			}
		}
		names.Map = recent.Restore(names.most, nil, known)
	}
	return t
}

func (t *Tracker) names() []*names { return []*names{&t.envelopes, &t.contexts, &t.agents} }

// base returns the base of a Tracker that openBase has returned; nil: nothing was applied,
// or a row of its own base cannot be read.
func (t *Tracker) base() []byte {
	if err := t.Save(nil); err != nil || t.last.Seq == 0 {
		return nil
	}
	rows := newMemoryRows()
	_ = rows.Set([]byte{keyState}, t.index.get([]byte{keyState})) // memory only, like the others
	threads := make(map[protocol.Seq]bool)
	for _, names := range t.names() {
		young, old := names.Generations()
		for _, generation := range []map[uint64]place{old, young} {
			for hash, p := range generation {
				if p.root == 0 || t.baseThread(rows, threads, p.root) {
					_ = rows.Set(names.key(hash), encodeRef(p.ref, p.chat))
				}
			}
		}
	}
	return encodeBase(rows)
}

// baseThread adds a thread to a base. It reports false if there is none.
func (t *Tracker) baseThread(rows *MemoryRows, threads map[protocol.Seq]bool, seq protocol.Seq) bool {
	if threads[seq] {
		return true
	}
	th := t.index.thread(seq)
	if th == nil {
		return false
	}
	threads[seq] = true
	rest := *th
	rest.title, rest.first = title{}, rest.end
	_ = rows.Set(threadKey(seq), rest.append(nil))
	if !th.job { // answers to the first chat continue the thread, too
		_ = rows.Set(t.envelopes.key(t.index.hash(string(th.id))), encodeRef(ref{seq, 1}, true))
	}
	return true
}

func encodeBase(rows *MemoryRows) []byte {
	var b bytes.Buffer
	b.WriteByte(baseVersion)
	w, _ := flate.NewWriter(&b, flate.BestSpeed) // a valid level
	var row []byte
	for _, key := range slices.Sorted(maps.Keys(rows.Rows)) {
		row = appendName(appendName(row[:0], key), string(rows.Rows[key]))
		_, _ = w.Write(row) // to memory
	}
	_ = w.Close()
	return b.Bytes()
}

// baseKeys are the lengths of the keys of a base, by their first byte.
var baseKeys = map[byte]int{keyState: 1, keyThread: 9, keyEnvelope: 9, keyContext: 9, keyAgent: 9}

// LoadBase sets the rows of a base, in which there are no turns yet. An empty base has
// no rows. Err: errBase; then no row is set.
func LoadBase(rows Rows, base []byte) error {
	if len(base) == 0 {
		return nil
	}
	if base[0] != baseVersion {
		return fmt.Errorf("%w: it has version %d", errBase, base[0])
	}
	all, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(base[1:])), maxBaseBytes+1))
	if err != nil || len(all) > maxBaseBytes {
		return errors.Join(errBase, err)
	}
	var list [][2]string
	for d := (&decoder{rest: all}); len(d.rest) > 0; {
		key, value := d.text(), d.text()
		if d.rest == nil || key == "" || len(key) != baseKeys[key[0]] {
			return errBase
		}
		list = append(list, [2]string{key, value})
		if key[0] != keyThread {
			continue
		}
		seq := protocol.Seq(binary.BigEndian.Uint64([]byte(key[1:])))
		th, err := readThread([]byte(value), seq)
		if err != nil {
			return errors.Join(errBase, err)
		}
		list = append(list, [2]string{string(nameKey(th.job, th.id)), key[1:]})
	}
	for _, row := range list {
		if err := rows.Set([]byte(row[0]), []byte(row[1])); err != nil {
			return err
		}
	}
	return nil
}
