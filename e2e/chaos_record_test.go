package e2e

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// entry is an envelope as a reader receives it.
type entry struct {
	ID      string    `json:"id"`
	Seq     uint64    `json:"seq"`
	TS      time.Time `json:"ts"`
	From    string    `json:"from"`
	Kind    string    `json:"kind"`
	Payload struct {
		GrantID   string    `json:"grant_id"`
		Recipient string    `json:"recipient"`
		TTL       float64   `json:"ttl_seconds"`
		Expires   time.Time `json:"expires_at"`
		Message   length    `json:"message"`
	} `json:"payload"`
}

// length is the size of a JSON value, which is not kept.
type length int

func (l *length) UnmarshalJSON(value []byte) error {
	*l = length(len(value))
	return nil
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

	// retention: the log drops old entries, except the ones that are never dropped.
	retention bool
	// replaceable: the log may be replaced by another one, with another id.
	replaceable bool

	settled uint64 // how far the log is verified; 0: all of it

	mu      sync.Mutex
	sent    []sent
	readers map[string][]entry
	gaps    map[string][]span // by reader: entries that it could not read anymore
	faults  []string          // violations that were detected immediately
	replacements
}

// span is the seqs between two others, both exclusive.
type span struct{ after, before uint64 }

func newRecord() *record {
	return &record{start: time.Now(), readers: map[string][]entry{}, gaps: map[string][]span{}}
}

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

// trimmed records that retention dropped the next entries of a reader before seq.
func (r *record) trimmed(reader string, seq uint64) {
	after := r.readUpTo(reader)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gaps[reader] = append(r.gaps[reader], span{after, seq})
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
	r.gaps = r.withBeginnings(histories)
	log := v.merge(histories, r.readers)
	sent := v.replaced(log, &r.replacements, r.sent)
	for g, h := range histories {
		v.same("the log", r.kept(log, h), g, h)
	}
	v.log(log)
	for reader, list := range r.readers {
		v.same("the log", outside(log, r.gaps[reader]), "reader "+reader, outside(list, r.gaps[reader]))
	}
	v.acknowledged(log, sent, r.lost)
	v.realTime(sent)
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

// merge returns all entries that a gateway or a reader has, by seq.
func (v *verification) merge(histories, readers map[string][]entry) []entry {
	ids := map[uint64]string{}
	var log []entry
	for _, views := range []map[string][]entry{histories, readers} {
		for name, list := range views {
			for _, e := range list {
				id, found := ids[e.Seq]
				if !found {
					ids[e.Seq] = e.ID
					log = append(log, e)
				} else if id != e.ID {
					v.fault("%d: %s has %s, another view has %s", e.Seq, name, e.ID, id)
				}
			}
		}
	}
	slices.SortFunc(log, func(a, b entry) int { return cmp.Compare(a.Seq, b.Seq) })
	return log
}

// trimmable reports whether retention may drop an entry.
func trimmable(e entry) bool { return !strings.HasPrefix(e.Kind, "capability.") }

// firstTrimmable returns the seq of the oldest entry that retention may drop.
func firstTrimmable(log []entry) uint64 {
	if i := slices.IndexFunc(log, trimmable); i >= 0 {
		return log[i].Seq
	}
	return math.MaxUint64
}

// kept returns the entries that a gateway must have whose history is h: with
// retention, older ones than its oldest may be missing.
func (r *record) kept(log, h []entry) []entry {
	if !r.retention {
		return log
	}
	oldest := firstTrimmable(h)
	return slices.DeleteFunc(slices.Clone(log), func(e entry) bool { return trimmable(e) && e.Seq < oldest })
}

// withBeginnings returns the gaps of the readers with what retention dropped before they could
// connect: they had no position then, so nothing announced it. No gateway has all of it now.
func (r *record) withBeginnings(histories map[string][]entry) map[string][]span {
	if !r.retention {
		return r.gaps
	}
	oldest := uint64(0) // at the gateway that has dropped most
	for _, h := range histories {
		oldest = max(oldest, firstTrimmable(h))
	}
	gaps := make(map[string][]span)
	maps.Copy(gaps, r.gaps)
	for reader, list := range r.readers {
		if len(list) > 0 {
			gaps[reader] = append(slices.Clone(gaps[reader]), span{0, min(list[0].Seq, oldest)})
		}
	}
	return gaps
}

// outside returns the entries that are in no gap.
func outside(log []entry, gaps []span) []entry {
	if len(gaps) == 0 {
		return log
	}
	return slices.DeleteFunc(slices.Clone(log), func(e entry) bool { return inGap(gaps, e.Seq) })
}

func inGap(gaps []span, seq uint64) bool {
	return slices.ContainsFunc(gaps, func(g span) bool { return g.after < seq && seq < g.before })
}

// lost reports whether an entry may be unknown: no reader could read it before
// retention dropped it.
func (r *record) lost(seq uint64) bool {
	for reader := range r.readers {
		if !inGap(r.gaps[reader], seq) {
			return false
		}
	}
	return r.retention
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
func (v *verification) acknowledged(log []entry, all []sent, lost func(seq uint64) bool) {
	seqs := make(map[string]uint64, len(log))
	for _, e := range log {
		seqs[e.ID] = e.Seq
	}
	for _, s := range all {
		seq, found := seqs[s.id]
		switch {
		case s.ackedAt > 0 && !found && lost(s.seq):
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
		violated  bool
	}{
		{"all is well", record{
			sent:    []sent{{id: "a", sentAt: 1, ackedAt: 2, seq: 1}, {id: "b", sentAt: 3, ackedAt: 4, seq: 2}, {id: "c", rejected: true}},
			readers: map[string][]entry{"r": log("a", "b")},
		}, map[string][]entry{"1": log("a", "b"), "2": log("a", "b")}, false},
		{"gateways differ", record{}, map[string][]entry{"1": log("a", "b"), "2": log("b", "a")}, true},
		{"a gateway lacks one", record{}, map[string][]entry{"1": log("a", "b"), "2": log("a")}, true},
		{"twice", record{}, map[string][]entry{"1": log("a", "a")}, true},
		{"out of order", record{}, map[string][]entry{"1": {{ID: "a", Seq: 2}, {ID: "b", Seq: 1}}}, true},
		{"lost", record{sent: []sent{{id: "b", ackedAt: 1, seq: 2}}}, map[string][]entry{"1": log("a")}, true},
		{"elsewhere", record{sent: []sent{{id: "a", ackedAt: 1, seq: 2}}}, map[string][]entry{"1": log("a")}, true},
		{"refused and there", record{sent: []sent{{id: "a", rejected: true}}}, map[string][]entry{"1": log("a")}, true},
		{"reader with a gap", record{readers: map[string][]entry{"r": {{ID: "b", Seq: 2}}}}, map[string][]entry{"1": log("a", "b")}, true},
		{"reader with a duplicate", record{readers: map[string][]entry{"r": append(log("a"), log("a")...)}}, map[string][]entry{"1": log("a")}, true},
		{"real time", record{sent: []sent{{id: "b", sentAt: 1, ackedAt: 2, seq: 2}, {id: "a", sentAt: 3, ackedAt: 4, seq: 1}}}, map[string][]entry{"1": log("a", "b")}, true},
		{"concurrent", record{sent: []sent{{id: "b", sentAt: 1, ackedAt: 4, seq: 2}, {id: "a", sentAt: 3, ackedAt: 5, seq: 1}}}, map[string][]entry{"1": log("a", "b")}, false},
		{"granted", record{}, map[string][]entry{"1": {grant, {ID: "p", Seq: 2, Kind: "x.priv"}}}, false},
		{"after the revocation", record{}, map[string][]entry{"1": {grant, revoke, priv}}, true},
		{"trimmed", record{retention: true, sent: []sent{{id: "a", ackedAt: 1, seq: 1}}, readers: map[string][]entry{"r": log("a", "b")}}, map[string][]entry{"1": log("a", "b")[1:]}, false},
		{"trimmed at one gateway", record{retention: true, readers: map[string][]entry{"r": log("a", "b")}}, map[string][]entry{"1": log("a", "b")[1:], "2": log("a", "b")}, false},
		{"trimmed without retention", record{readers: map[string][]entry{"r": log("a", "b")}}, map[string][]entry{"1": log("a", "b")[1:]}, true},
		{"a hole in a trimmed log", record{retention: true, readers: map[string][]entry{"r": log("a", "b", "c")}}, map[string][]entry{"1": {{ID: "a", Seq: 1}, {ID: "c", Seq: 3}}}, true},
		{"a grant was trimmed", record{retention: true, readers: map[string][]entry{"r": {grant, {ID: "b", Seq: 2}}}}, map[string][]entry{"1": log("a", "b")[1:]}, true},
		{"a reader missed what was trimmed", record{retention: true, readers: map[string][]entry{"r": log("a", "b", "c")[2:]}, gaps: map[string][]span{"r": {{0, 3}}}}, map[string][]entry{"1": log("a", "b", "c")}, false},
		{"a reader missed more than was trimmed", record{retention: true, readers: map[string][]entry{"r": log("a", "b", "c")[2:]}, gaps: map[string][]span{"r": {{0, 2}}}}, map[string][]entry{"1": log("a", "b", "c")}, true},
		{"lost, and nothing was trimmed", record{retention: true, sent: []sent{{id: "b", ackedAt: 1, seq: 2}}, readers: map[string][]entry{"r": log("a")}}, map[string][]entry{"1": log("a")}, true},
		{"acknowledged, trimmed before it was read", record{retention: true, sent: []sent{{id: "b", ackedAt: 1, seq: 2}}, readers: map[string][]entry{"r": {{ID: "c", Seq: 3}}}, gaps: map[string][]span{"r": {{0, 3}}}}, map[string][]entry{"1": {{ID: "c", Seq: 3}}}, false},
		{"a reader began when more was trimmed", record{retention: true, readers: map[string][]entry{"r": log("a", "b", "c")[2:], "s": log("a", "b", "c")}}, map[string][]entry{"1": log("a", "b", "c")[2:], "2": log("a", "b", "c")[1:]}, false},
		{"a reader began after what all gateways have", record{retention: true, readers: map[string][]entry{"r": log("a", "b", "c")[2:]}}, map[string][]entry{"1": log("a", "b", "c")[1:]}, true},
		{"seen at once", record{faults: []string{"something"}}, map[string][]entry{"1": nil}, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := test.record.verify(test.histories); (len(got) > 0) != test.violated {
				t.Errorf("violated: want %v, got %q", test.violated, got)
			}
		})
	}
}
