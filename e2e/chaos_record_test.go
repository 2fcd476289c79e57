package e2e

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"
)

// entry is an envelope as a reader receives it.
type entry struct {
	ID      string `json:"id"`
	Seq     uint64 `json:"seq"`
	From    string `json:"from"`
	Kind    string `json:"kind"`
	Payload struct {
		GrantID   string `json:"grant_id"`
		Recipient string `json:"recipient"`
	} `json:"payload"`
}

// sent is the outcome of one envelope from its writer's point of view.
type sent struct {
	id       string
	sentAt   time.Duration // of the first attempt
	ackedAt  time.Duration // when it was acknowledged; 0: never
	seq      uint64        // in the acknowledgment
	rejected bool          // every attempt was answered by a code that means "not admitted"
}

// record collects the observations of clients, for verify.
type record struct {
	start time.Time

	mu      sync.Mutex
	sent    []sent
	readers map[string][]entry
	faults  []string // violations that were detected immediately
}

func newRecord() *record { return &record{start: time.Now(), readers: map[string][]entry{}} }

func (r *record) now() time.Duration { return time.Since(r.start) }

func (r *record) add(s sent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent = append(r.sent, s)
}

func (r *record) read(reader string, e entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.readers[reader] = append(r.readers[reader], e)
}

func (r *record) violation(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults = append(r.faults, fmt.Sprintf(format, args...))
}

func (r *record) acked() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, s := range r.sent {
		if s.ackedAt > 0 {
			n++
		}
	}
	return n
}

func (r *record) readUpTo(reader string) uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if list := r.readers[reader]; len(list) > 0 {
		return list[len(list)-1].Seq
	}
	return 0
}

// verify compares the observations of writers and readers with the histories of
// all gateways, and returns every violation of the guarantees.
func (r *record) verify(histories map[string][]entry) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	v := &verification{faults: slices.Clone(r.faults)}
	var name string
	var log []entry
	for g, h := range histories {
		if log == nil {
			name, log = g, h
		}
		v.same(name, log, g, h)
	}
	v.log(log)
	for reader, list := range r.readers {
		v.same("the log", log, "reader "+reader, list)
	}
	v.acknowledged(log, r.sent)
	v.realTime(r.sent)
	v.revocations(log)
	return v.faults
}

type verification struct{ faults []string }

func (v *verification) fault(format string, args ...any) {
	v.faults = append(v.faults, fmt.Sprintf(format, args...))
}

// same: two views of the log have the same entries in the same order.
func (v *verification) same(nameA string, a []entry, nameB string, b []entry) {
	for i := range min(len(a), len(b)) {
		if a[i].ID != b[i].ID || a[i].Seq != b[i].Seq {
			v.fault("entry %d: %s has %s at %d, %s has %s at %d", i, nameA, a[i].ID, a[i].Seq, nameB, b[i].ID, b[i].Seq)
			return
		}
	}
	if len(a) != len(b) {
		v.fault("%s has %d entries, %s has %d", nameA, len(a), nameB, len(b))
	}
}

// log: seqs increase, and every id occurs once.
func (v *verification) log(log []entry) {
	ids := make(map[string]bool, len(log))
	for i, e := range log {
		if i > 0 && e.Seq <= log[i-1].Seq {
			v.fault("seq %d after %d", e.Seq, log[i-1].Seq)
		}
		if ids[e.ID] {
			v.fault("%s is in the log twice", e.ID)
		}
		ids[e.ID] = true
	}
}

// acknowledged: an acknowledged envelope is in the log at the acknowledged seq,
// and a permanently refused one is not in the log.
func (v *verification) acknowledged(log []entry, all []sent) {
	seqs := make(map[string]uint64, len(log))
	for _, e := range log {
		seqs[e.ID] = e.Seq
	}
	for _, s := range all {
		seq, found := seqs[s.id]
		switch {
		case s.ackedAt > 0 && !found:
			v.fault("%s was acknowledged at %d and is not in the log", s.id, s.seq)
		case s.ackedAt > 0 && seq != s.seq:
			v.fault("%s was acknowledged at %d and is in the log at %d", s.id, s.seq, seq)
		case s.rejected && found:
			v.fault("%s was refused as not admitted and is in the log at %d", s.id, seq)
		}
	}
}

// realTime: an envelope that was sent after another one was acknowledged
// follows it in the log.
func (v *verification) realTime(all []sent) {
	var acked []sent
	for _, s := range all {
		if s.ackedAt > 0 {
			acked = append(acked, s)
		}
	}
	bySent := slices.Clone(acked)
	slices.SortFunc(bySent, func(a, b sent) int { return cmp.Compare(a.sentAt, b.sentAt) })
	slices.SortFunc(acked, func(a, b sent) int { return cmp.Compare(a.ackedAt, b.ackedAt) })
	var newest sent // of the envelopes acknowledged before
	next := 0
	for _, s := range bySent {
		for ; next < len(acked) && acked[next].ackedAt < s.sentAt; next++ {
			if acked[next].seq > newest.seq {
				newest = acked[next]
			}
		}
		if s.seq < newest.seq {
			v.fault("%s was sent after %s was acknowledged at %d, and is before it at %d", s.id, newest.id, newest.seq, s.seq)
		}
	}
}

// revocations: x.priv is in the log only while a grant of it was in force.
func (v *verification) revocations(log []entry) {
	inForce := map[string]bool{}
	for _, e := range log {
		switch e.Kind {
		case "capability.grant":
			inForce[e.ID] = true
		case "capability.revoke":
			delete(inForce, e.Payload.GrantID)
		case "x.priv":
			if len(inForce) == 0 {
				v.fault("%s at %d was admitted without a grant in force", e.ID, e.Seq)
			}
		}
	}
}

// TestVerify checks that verify detects each kind of violation.
func TestVerify(t *testing.T) {
	log := func(ids ...string) []entry {
		var list []entry
		for i, id := range ids {
			list = append(list, entry{ID: id, Seq: uint64(i + 1), Kind: "chat"})
		}
		return list
	}
	grant, revoke, priv := entry{ID: "g", Seq: 1, Kind: "capability.grant"}, entry{ID: "r", Seq: 2, Kind: "capability.revoke"}, entry{ID: "p", Seq: 3, Kind: "x.priv"}
	revoke.Payload.GrantID = "g"
	tests := []*struct {
		name      string
		record    record
		histories map[string][]entry
		faults    int
	}{
		{"all is well", record{
			sent:    []sent{{id: "a", sentAt: 1, ackedAt: 2, seq: 1}, {id: "b", sentAt: 3, ackedAt: 4, seq: 2}, {id: "c", rejected: true}},
			readers: map[string][]entry{"r": log("a", "b")},
		}, map[string][]entry{"1": log("a", "b"), "2": log("a", "b")}, 0},
		{"gateways differ", record{}, map[string][]entry{"1": log("a", "b"), "2": log("b", "a")}, 1},
		{"a gateway lacks one", record{}, map[string][]entry{"1": log("a", "b"), "2": log("a")}, 1},
		{"twice", record{}, map[string][]entry{"1": log("a", "a")}, 1},
		{"out of order", record{}, map[string][]entry{"1": {{ID: "a", Seq: 2}, {ID: "b", Seq: 1}}}, 1},
		{"lost", record{sent: []sent{{id: "b", ackedAt: 1, seq: 2}}}, map[string][]entry{"1": log("a")}, 1},
		{"elsewhere", record{sent: []sent{{id: "a", ackedAt: 1, seq: 2}}}, map[string][]entry{"1": log("a")}, 1},
		{"refused and there", record{sent: []sent{{id: "a", rejected: true}}}, map[string][]entry{"1": log("a")}, 1},
		{"reader with a gap", record{readers: map[string][]entry{"r": {{ID: "b", Seq: 2}}}}, map[string][]entry{"1": log("a", "b")}, 1},
		{"reader with a duplicate", record{readers: map[string][]entry{"r": append(log("a"), log("a")...)}}, map[string][]entry{"1": log("a")}, 1},
		{"real time", record{sent: []sent{{id: "b", sentAt: 1, ackedAt: 2, seq: 2}, {id: "a", sentAt: 3, ackedAt: 4, seq: 1}}}, map[string][]entry{"1": log("a", "b")}, 1},
		{"concurrent", record{sent: []sent{{id: "b", sentAt: 1, ackedAt: 4, seq: 2}, {id: "a", sentAt: 3, ackedAt: 5, seq: 1}}}, map[string][]entry{"1": log("a", "b")}, 0},
		{"granted", record{}, map[string][]entry{"1": {grant, {ID: "p", Seq: 2, Kind: "x.priv"}}}, 0},
		{"after the revocation", record{}, map[string][]entry{"1": {grant, revoke, priv}}, 1},
		{"seen at once", record{faults: []string{"something"}}, map[string][]entry{"1": nil}, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := test.record.verify(test.histories); len(got) != test.faults {
				t.Errorf("%d violations, want %d: %q", len(got), test.faults, got)
			}
		})
	}
}
