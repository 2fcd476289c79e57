package e2e

import (
	"math"
	"slices"
	"testing"
	"time"
)

// replacements are the events by which a log became another one.
type replacements struct {
	losses []loss
	others []otherLog
	former []formerView
	views  map[string]string // by reader: the id of the log that it reads
	// shared is the seq up to which the log with an id is the beginning of the
	// current one.
	shared map[string]uint64
}

// loss is an accepted loss: the log goes on with another id after its entry head.
type loss struct {
	at    time.Duration // when no gateway served the log
	head  uint64        // the newest entry that was left
	count int           // entries that the gateway reported as lost; -1: it cannot know
}

// otherLog is a period in which another log was served.
type otherLog struct {
	id          string
	from, until time.Duration // when no gateway served any log
	log         []entry       // at the end
}

// formerView is what a reader received of a log before it was replaced.
type formerView struct {
	reader, log string
	list        []entry
}

// readAgain begins a reader's view of the log anew.
func (r *record) readAgain(reader, former string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.former = append(r.former, formerView{reader, former, r.readers[reader]})
	delete(r.readers, reader)
}

// viewing records that a reader reads the log with an id now.
func (r *record) viewing(reader, log string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.views == nil {
		r.views = map[string]string{}
	}
	r.views[reader] = log
}

// reads reports whether a reader reads the log with this id.
func (r *record) reads(log, reader string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.views[reader] == log
}

// served records that another log was served.
func (r *record) served(o otherLog) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.others {
		if r.others[i].id == o.id {
			r.others[i].log = o.log // it has more now
		}
	}
	r.others = append(r.others, o)
}

// cutBack records that the log was cut back, or may have been, and has this id now.
func (r *record) cutBack(id string, l loss) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.losses = append(r.losses, l)
	if r.shared == nil {
		r.shared = map[string]uint64{}
	}
	for former, head := range r.shared {
		r.shared[former] = min(head, l.head)
	}
	if _, found := r.shared[id]; !found {
		r.shared[id] = math.MaxUint64
	}
}

// replaced verifies the views of former logs. It returns the envelopes that the
// log must have, or must not have.
func (v *verification) replaced(log []entry, r *replacements, all []sent) []sent {
	for _, f := range r.former {
		name := "reader " + f.reader + " of " + f.log
		if i := slices.IndexFunc(r.others, func(o otherLog) bool { return o.id == f.log }); i >= 0 {
			v.beginning("the other log", r.others[i].log, name, f.list, math.MaxUint64)
			continue
		}
		head, found := r.shared[f.log]
		if !found {
			v.fault("%s: there was no such log", name)
		}
		v.beginning("the log", log, name, f.list, head)
	}
	return slices.DeleteFunc(slices.Clone(all), func(s sent) bool { return v.isLost(r, s) })
}

// isLost reports whether an acknowledged envelope was lost, and counts it.
func (v *verification) isLost(r *replacements, s sent) bool {
	if s.ackedAt == 0 {
		return false
	}
	for _, o := range r.others {
		if s.ackedAt <= o.from || s.ackedAt > o.until {
			continue
		}
		if s.sentAt > o.from && !slices.ContainsFunc(o.log, func(e entry) bool { return e.ID == s.id && e.Seq == s.seq }) {
			v.fault("%s was acknowledged at %d and is not in the other log", s.id, s.seq)
		}
		return true
	}
	for i, l := range r.losses {
		if s.ackedAt > l.at || s.seq <= l.head {
			continue
		}
		if l.count == 0 {
			v.fault("%s was acknowledged at %d; it was lost at %v, and the gateway reported no loss", s.id, s.seq, l.at)
		}
		r.losses[i].count--
		return true
	}
	return false
}

// beginning: a view is the beginning of a log, up to head.
func (v *verification) beginning(nameA string, log []entry, nameB string, view []entry, head uint64) {
	if head == 0 {
		return
	}
	log, view = upTo(log, head), upTo(view, head)
	v.same(nameA, log[:min(len(log), len(view))], nameB, view)
}

// TestVerify_Replaced checks that verify detects violations of logs that were
// replaced.
func TestVerify_Replaced(t *testing.T) {
	log := func(ids ...string) []entry {
		var list []entry
		for i, id := range ids {
			list = append(list, entry{ID: id, Seq: uint64(i + 1), Kind: "chat"})
		}
		return list
	}
	acked := []sent{{id: "a", ackedAt: 1, seq: 1}, {id: "b", ackedAt: 2, seq: 2}, {id: "c", ackedAt: 6, seq: 2}}
	tests := []struct {
		name     string
		r        replacements
		violated bool
	}{
		{"nothing was lost", replacements{}, true},
		{"lost and reported", replacements{losses: []loss{{5, 1, 1}}}, false},
		{"lost and unknown", replacements{losses: []loss{{5, 1, -1}}}, false},
		{"lost and not reported", replacements{losses: []loss{{5, 1, 0}}}, true},
		{"more was lost", replacements{losses: []loss{{5, 0, 1}}}, true},
		{"lost later", replacements{losses: []loss{{7, 1, 1}}}, true},
		{"in another log", replacements{others: []otherLog{{"o", 1, 5, log("x", "b")}}}, false},
		{"not in the other log", replacements{others: []otherLog{{"o", 1, 5, log("x")}}}, true},
		{"a view of the former log", replacements{losses: []loss{{5, 1, 1}}, shared: map[string]uint64{"f": 1}, former: []formerView{{"r", "f", log("a", "b")}}}, false},
		{"a view of something else", replacements{losses: []loss{{5, 1, 1}}, shared: map[string]uint64{"f": 1}, former: []formerView{{"r", "f", log("x", "b")}}}, true},
		{"a view that has more of the log", replacements{losses: []loss{{5, 1, 1}}, shared: map[string]uint64{"f": 2}, former: []formerView{{"r", "f", log("a", "b")}}}, true},
		{"a view of an unknown log", replacements{losses: []loss{{5, 1, 1}}, former: []formerView{{"r", "f", log("a")}}}, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := record{replaceable: true, replacements: test.r, sent: acked}
			for i := range r.sent {
				r.sent[i].sentAt = r.sent[i].ackedAt
			}
			if got := r.verify(map[string][]entry{"1": log("a", "c")}); (len(got) > 0) != test.violated {
				t.Errorf("violated: want %v, got %q", test.violated, got)
			}
		})
	}
}
