package space

import (
	"fmt"
	"testing"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/space/authority"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// Many busy spaces together stay within the budget, and a quiet one keeps its
// entries.
func TestRings_TotalIsBounded(t *testing.T) {
	testkit.OneGoroutine(t)
	const total = 4 << 20
	log := journal.NewMemory(journal.MemoryOptions{})
	n := 0
	h := NewHub(Services{Journal: log, RingTotal: total, NewID: func() protocol.ID { n++; return protocol.ID(fmt.Sprint("made-", n)) }},
		func(name string) (*authority.Config, bool) { return &authority.Config{Name: name}, true })
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
	held := quiet.ring.Size()
	var last *Space
	for round := range 10 {
		for i := range 50 {
			last = put(fmt.Sprint("s", i), 100<<10)
			if used := h.rings.Used(); used > total {
				t.Fatalf("round %d: rings hold %d bytes", round, used)
			}
		}
	}
	if quiet.ring.Size() != held {
		t.Errorf("the quiet space holds %d bytes, and held %d", quiet.ring.Size(), held)
	}
	sum := 0
	for _, s := range h.openSpaces() {
		sum += s.ring.Size()
	}
	if int64(sum) != h.rings.Used() {
		t.Errorf("rings hold %d bytes, and %d are counted", sum, h.rings.Used())
	}
	size := last.ring.Size()
	before := h.rings.Used()
	last.release()
	if used := h.rings.Used(); used != before-int64(size) {
		t.Errorf("%d bytes are counted after a space with %d of %d was closed", used, size, before)
	}
}
