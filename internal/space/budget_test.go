package space

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/journal/memory"
	"github.com/meup-protocol/meup/protocol"
)

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

// Many busy spaces together stay within the budget, and a quiet one keeps its
// entries.
func TestRings_TotalIsBounded(t *testing.T) {
	const total = 4 << 20
	log := memory.New(memory.Options{})
	n := 0
	h := NewHub(Services{Journal: log, RingTotal: total, NewID: func() protocol.ID { n++; return protocol.ID(fmt.Sprint("made-", n)) }},
		func(name string) (*Config, bool) { return &Config{Name: name}, true })
	put := func(name string, bytes int) *Space {
		s, err := h.Space(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		e := protocol.Envelope{ID: h.newID(), Kind: "x.y", TS: s.now(), Payload: fmt.Appendf(nil, `{"x":%q}`, make([]byte, bytes/4))}
		if r := log.Append(t.Context(), name, []journal.Draft{{Envelope: e}})[0]; r.Err != nil {
			t.Fatal(r.Err)
		}
		return s
	}
	quiet := put("quiet", 100)
	held := quiet.ring.size()
	var last *Space
	for round := range 10 {
		for i := range 50 {
			last = put(fmt.Sprint("s", i), 100<<10)
			if used := h.rings.used.Load(); used > total {
				t.Fatalf("round %d: rings hold %d bytes", round, used)
			}
		}
	}
	if quiet.ring.size() != held {
		t.Errorf("the quiet space holds %d bytes, and held %d", quiet.ring.size(), held)
	}
	sum := 0
	for _, s := range h.openSpaces() {
		sum += s.ring.size()
	}
	if int64(sum) != h.rings.used.Load() {
		t.Errorf("rings hold %d bytes, and %d are counted", sum, h.rings.used.Load())
	}
	size := last.ring.size()
	before := h.rings.used.Load()
	last.release()
	if used := h.rings.used.Load(); used != before-int64(size) {
		t.Errorf("%d bytes are counted after a space with %d of %d was closed", used, size, before)
	}
}
