package journal

import (
	"fmt"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

// log is the log of one space.
type log struct {
	records   []*record // by Seq, without dropped ones
	ids       map[protocol.ID]*record
	settled   map[protocol.ID]*record // by the proposal that the record settles
	last      protocol.Seq            // last assigned Seq
	lastState protocol.Seq
	dropped   protocol.Seq // newest Seq that retention dropped
	oldest    int          // index of the first record that can be dropped
}

type record struct {
	entry *Entry
	bytes int64
}

// append decides a draft and appends it if it is accepted.
func (l *log) append(d *Draft) Result {
	env := &d.Envelope
	if first := l.ids[env.ID]; first != nil {
		if first.entry.Envelope.From != env.From {
			return refused(env.ID, ErrDuplicateID)
		}
		return Result{Seq: first.entry.Envelope.Seq, Retry: true}
	}
	if d.CheckedAtStateSeq < l.lastState {
		return refused(env.ID, ErrStale)
	}
	if r := l.settled[d.Settles]; r != nil {
		return refused(env.ID, &SettledError{By: r.entry.Envelope.From, Seq: r.entry.Envelope.Seq})
	}
	l.last++
	r := newRecord(d, l.last)
	l.records = append(l.records, r)
	l.ids[env.ID] = r
	if d.Settles != "" {
		l.settled[d.Settles] = r
	}
	if d.State {
		l.lastState = l.last
	}
	return Result{Seq: l.last}
}

// newRecord encodes and decodes the draft: the log must not change when the
// caller reuses memory that the draft refers to.
func newRecord(d *Draft, seq protocol.Seq) *record {
	assigned := *d
	assigned.Envelope.Seq = seq
	data := AppendEntry(nil, &assigned)
	e, err := DecodeEntry(data)
	if err != nil {
		panic(fmt.Sprintf("memory: entry cannot be read back: %v", err)) // a bug in the codec
	}
	return &record{entry: e, bytes: int64(len(data))}
}

func refused(id protocol.ID, err error) Result {
	return Result{Err: fmt.Errorf("append envelope %s: %w", id, err)}
}

// first returns the oldest record that can be dropped, or nil.
func (l *log) first() *record {
	for l.oldest < len(l.records) && l.records[l.oldest].entry.State {
		l.oldest++
	}
	if l.oldest == len(l.records) {
		return nil
	}
	return l.records[l.oldest]
}

// dropFirst drops the record that first returned. It moves the state entries
// before it, so that later records keep their place.
func (l *log) dropFirst() {
	r := l.records[l.oldest]
	copy(l.records[1:], l.records[:l.oldest])
	l.records[0] = nil
	l.records = l.records[1:]
	delete(l.ids, r.entry.Envelope.ID)
	delete(l.settled, r.entry.Settles)
	l.dropped = r.entry.Envelope.Seq
}

// trim applies retention to all spaces.
func (j *Memory) trim() {
	now := j.clock.Now()
	j.mu.Lock()
	defer j.mu.Unlock()
	if l := j.spaces[GatewayLog]; l != nil {
		for r := l.first(); r != nil && r.entry.Envelope.TS.Before(now); r = l.first() {
			j.drop(l, r)
		}
	}
	if j.opt.Retention == (Retention{}) {
		return
	}
	for {
		l, r := j.oldestRecord()
		if r == nil || !j.outlived(r, now) {
			return
		}
		j.drop(l, r)
	}
}

// drop drops a record that first returned.
func (j *Memory) drop(l *log, r *record) {
	l.dropFirst()
	j.bytes -= r.bytes
}

func (j *Memory) outlived(r *record, now time.Time) bool {
	ret := j.opt.Retention
	if ret.Age > 0 && r.entry.Envelope.TS.Before(now.Add(-ret.Age)) {
		return true
	}
	return ret.Bytes > 0 && j.bytes > ret.Bytes
}

// oldestRecord returns the oldest record of all spaces that can be dropped.
func (j *Memory) oldestRecord() (*log, *record) {
	var oldest *log
	var found *record
	var ts time.Time
	for space, l := range j.spaces {
		if space == GatewayLog {
			continue
		}
		r := l.first()
		if r != nil && (found == nil || r.entry.Envelope.TS.Before(ts)) {
			oldest, found, ts = l, r, r.entry.Envelope.TS
		}
	}
	return oldest, found
}
