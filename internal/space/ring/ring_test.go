package ring

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/meup-protocol/meup/protocol"
)

// ringModel is a naive ring: every entry that was ever put, and the first one
// that is still in the ring.
type ringModel struct {
	maxEntries, maxBytes int
	made                 int // entries, put in or not

	all    []*Entry
	after  []protocol.Seq // the head after each entry
	first  int
	head   protocol.Seq
	floor  protocol.Seq
	oldest time.Time // entries are a second apart
}

func (m *ringModel) bytes() int {
	n := 0
	for _, e := range m.all[m.first:] {
		n += e.Size()
	}
	return n
}

func (m *ringModel) evict() {
	if seq := m.all[m.first].Envelope.Seq; seq > 0 {
		m.floor = seq
	}
	m.first++
}

func (m *ringModel) put(e *Entry) {
	if seq := e.Envelope.Seq; seq > 0 {
		if seq <= m.head {
			return
		}
		m.head = seq
	}
	for len(m.all) > m.first && (len(m.all)-m.first >= m.maxEntries || m.bytes()+e.Size() > m.maxBytes) {
		m.evict()
	}
	m.all, m.after = append(m.all, e), append(m.after, m.head)
}

// seek returns the position from which to read on after everything up to seq and
// every live entry before live.
func (m *ringModel) seek(seq protocol.Seq, live int) (int, bool) {
	at := m.first
	for at < len(m.all) && m.after[at] <= seq {
		at++
	}
	return min(at, max(live, m.first)), seq >= m.floor
}

func (m *ringModel) lives(before int) uint64 {
	n := uint64(0)
	for _, e := range m.all[:before] {
		if e.Envelope.Seq == 0 {
			n++
		}
	}
	return n
}

func TestRing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		start := protocol.Seq(rapid.Uint64Range(0, 5).Draw(t, "head"))
		model := &ringModel{
			maxEntries: rapid.IntRange(1, 40).Draw(t, "entries"), maxBytes: rapid.IntRange(600, 20_000).Draw(t, "bytes"),
			head: start, floor: start, oldest: time.Unix(1000, 0),
		}
		r := New(model.maxEntries, model.maxBytes, start, nil)
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				var batch []*Entry
				for range rapid.IntRange(1, 20).Draw(t, "batch") {
					batch = append(batch, drawEntry(t, model))
				}
				for _, e := range batch {
					model.put(e)
				}
				r.Put(batch)
			},
			"expire": func(t *rapid.T) {
				cutoff := model.oldest.Add(time.Duration(rapid.IntRange(0, len(model.all)).Draw(t, "age")) * time.Second)
				for model.first < len(model.all) && model.all[model.first].Envelope.TS.Before(cutoff) {
					model.evict()
				}
				r.Expire(cutoff)
			},
			"": func(t *rapid.T) { compareRing(t, r, model) },
		})
	})
}

// drawEntry returns an entry after the head, one that the ring already had, or
// one without a Seq.
func drawEntry(t *rapid.T, m *ringModel) *Entry {
	n := m.made
	m.made++
	e := &protocol.Envelope{ID: protocol.ID(fmt.Sprint("e", n)), TS: m.oldest.Add(time.Duration(n) * time.Second)}
	e.Payload = make([]byte, rapid.IntRange(0, 400).Draw(t, "size"))
	switch rapid.IntRange(0, 5).Draw(t, "what") {
	case 0:
	case 1:
		e.Seq = max(1, m.head)
	default:
		e.Seq = m.head + protocol.Seq(n%20*3) + 1 // gaps are normal
	}
	return &Entry{Envelope: e}
}

func compareRing(t *rapid.T, r *Ring, m *ringModel) {
	head, next, lives := r.Position()
	if head != m.head || next != uint64(len(m.all)) || lives != m.lives(len(m.all)) || r.Bottom() != m.floor {
		t.Fatalf("ring is at %d (%d, %d lives) above %d, want %d (%d, %d) above %d",
			head, next, lives, r.Bottom(), m.head, len(m.all), m.lives(len(m.all)), m.floor)
	}
	for i, e := range m.all {
		found := r.Lookup(e.Envelope.ID)
		if want := i >= m.first && e.Envelope.Seq > 0; want != (found == e) {
			t.Fatalf("look up %s: %v, first is %d", e.Envelope.ID, found, m.first)
		}
	}
	live := rapid.IntRange(0, len(m.all)).Draw(t, "live")
	seq := protocol.Seq(rapid.Uint64Range(0, uint64(m.head)+1).Draw(t, "seq"))
	pos, gone, ok := r.Seek(seq, uint64(live))
	want, wantOK := m.seek(seq, live)
	if ok != wantOK || ok && (pos != uint64(want) || gone != m.lives(m.first)) {
		t.Fatalf("seek %d, live from %d: %d, %d gone, %v; want %d, %d, %v", seq, live, pos, gone, ok, want, m.lives(m.first), wantOK)
	}
	from := rapid.IntRange(0, len(m.all)).Draw(t, "from")
	room := rapid.IntRange(1, 30).Draw(t, "room")
	got, behind, _, ok := r.Read(make([]*Entry, 0, room), uint64(from))
	if ok != (from >= m.first) {
		t.Fatalf("read from %d: %v, first is %d", from, ok, m.first)
	}
	if ok && !slices.Equal(got, m.all[from:min(len(m.all), from+room)]) || ok && int(behind) != from+len(got) {
		t.Fatalf("read %d from %d: %d entries, then at %d", room, from, len(got), behind)
	}
}

func TestLevelFor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOf(rapid.IntRange(0, 1000)).Draw(t, "sizes")
		total := rapid.IntRange(0, 5000).Draw(t, "total")
		level, sum, all := levelFor(sizes, total), 0, 0
		for _, n := range sizes {
			sum += min(n, level)
			all += n
		}
		if sum > total {
			t.Errorf("level %d leaves %d of %d", level, sum, total)
		}
		if all > total && sum < total-len(sizes) {
			t.Errorf("level %d leaves %d of %d: too little", level, sum, total)
		}
	})
}
