package turns

import (
	"hash/maphash"

	"github.com/meup-protocol/meup/protocol"
)

// ref identifies a turn of a thread, or a job.
type ref struct {
	root protocol.Seq // of the first entry of the thread, or of the job
	turn int          // from 1; 0: a job
}

func (r ref) isJob() bool { return r.turn == 0 }

// refs maps recent names to references. It has two generations and drops the older
// one when the younger is full. Names are kept as hashes of 64 bits, since ids are
// chosen by their senders and may be long.
type refs struct {
	max        int
	seed       maphash.Seed
	young, old map[uint64]ref
}

func newRefs(most int) refs {
	return refs{max: most, seed: maphash.MakeSeed(), young: make(map[uint64]ref)}
}

func (t *refs) put(name string, r ref) {
	if len(t.young) >= t.max {
		t.young, t.old = make(map[uint64]ref), t.young
	}
	t.young[maphash.String(t.seed, name)] = r
}

func (t *refs) get(name string) (ref, bool) {
	h := maphash.String(t.seed, name)
	r, ok := t.young[h]
	if !ok {
		r, ok = t.old[h]
	}
	return r, ok
}
