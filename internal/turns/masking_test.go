package turns

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// counter is a masker that counts the bytes it is given. For a text with holdMark
// it sends to entered and waits until hold is closed.
type counter struct {
	mu            sync.Mutex
	bytes         int
	entered, hold chan struct{}
}

const holdMark = "HOLD"

func (c *counter) Text(text string) string {
	c.mu.Lock()
	c.bytes += len(text)
	c.mu.Unlock()
	if strings.Contains(text, holdMark) && c.hold != nil {
		c.entered <- struct{}{}
		<-c.hold
	}
	return text
}

func (c *counter) Parameters(v protocol.Value) json.RawMessage {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bytes += len(v.Raw())
	return nil
}

// spent returns the bytes masked since the last call.
func (c *counter) spent() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.bytes
	c.bytes = 0
	return n
}

// longChats adds threads of one chat of 250 kB each.
func longChats(log *memoryLog, n int) {
	payload, _ := json.Marshal(map[string]string{"message": "long story. " + strings.Repeat("word ", 50_000) + holdMark})
	for i := range n {
		log.add(protocol.Envelope{ID: protocol.ID(fmt.Sprint("long", i)), From: "mallory", Kind: protocol.KindChat, Payload: payload})
	}
}

// TestMaskedBytes_PerRequest bounds the bytes that each step masks: a log with
// long chats costs nothing to apply, and a request pays for its own thread alone.
func TestMaskedBytes_PerRequest(t *testing.T) {
	log := new(memoryLog)
	longChats(log, 8)
	workday(log, "a", 2, 1)
	mask := new(counter)
	p := NewTracker(Options{Space: "lab", Reader: log, Mask: mask})
	history := func(id protocol.ID) {
		if _, err := p.History(t.Context(), id, 0, 0, as("bob")); err != nil {
			t.Fatal(err)
		}
	}
	const chat = 80 << 10 // the most that is kept of a chat, and masked
	var events []Event
	for _, step := range []struct {
		name string
		do   func()
		most int
	}{
		{"apply", func() { events = apply(p, log.entries) }, 0},
		{"page of threads", func() { p.Threads(0, 0, as("bob")) }, 9 * (maxTitle + 2<<10)},
		{"page of threads again", func() { p.Threads(0, 0, as("bob")) }, 0},
		{"event of another thread", func() { told(t, p, events[:1], as("bob")) }, 1000},
		{"another thread", func() { history("a-q0") }, 4000},
		{"another thread again", func() { history("a-q0") }, 0},
		{"long chat", func() { history("long0") }, chat},
		{"long chat again", func() { history("long0") }, 0},
		{"new rules", p.Remask, 0},
		{"long chat under new rules", func() { history("long0") }, chat},
	} {
		mask.spent()
		step.do()
		if n := mask.spent(); n > step.most {
			t.Errorf("%s: %d bytes were masked, at most %d may be", step.name, n, step.most)
		}
	}
	if log.reads != 0 {
		t.Errorf("the log was read %d times", log.reads)
	}
}

// TestMaskedBytes_PerPage bounds the bytes that one page masks, however long the
// texts of its thread are.
func TestMaskedBytes_PerPage(t *testing.T) {
	testkit.OneGoroutine(t)
	log := new(memoryLog)
	longChats(log, 200)
	for i, e := range log.entries[1:] {
		e.Envelope.Correlation = protocol.CorrelateTo(log.entries[i].Envelope.ID)
	}
	mask := new(counter)
	p := NewTracker(Options{Space: "lab", Reader: log, Mask: mask, CacheBytes: 1})
	apply(p, log.entries)
	pages, before := 0, 0
	for more := true; more; pages++ {
		h, err := p.History(t.Context(), "long0", MaxPage, before, as("bob"))
		if err != nil {
			t.Fatal(err)
		}
		if n := mask.spent(); n > maxPageBytes {
			t.Errorf("page %d: %d bytes were masked, at most %d may be", pages, n, maxPageBytes)
		}
		more, before = h.HasMore, h.Turns[0].TurnNumber
	}
	if before != 1 || pages < 2 {
		t.Errorf("%d pages down to turn %d", pages, before)
	}
}

// TestMasking_DelaysNoOtherThread: while a request masks the texts of one thread,
// others are answered, and the log is applied.
func TestMasking_DelaysNoOtherThread(t *testing.T) {
	log := new(memoryLog)
	longChats(log, 1)
	payload, _ := json.Marshal(map[string]string{"message": strings.Repeat("word ", 1000) + holdMark})
	log.entries[0].Envelope.Payload = payload
	workday(log, "a", 2, 1)
	mask := &counter{entered: make(chan struct{}, 3), hold: make(chan struct{})}
	p := NewTracker(Options{Space: "lab", Reader: log, Mask: mask})
	last := len(log.entries) - 1
	apply(p, log.entries[:last])

	var blocked sync.WaitGroup
	for range 3 {
		blocked.Go(func() {
			if _, err := p.History(t.Context(), "long0", 0, 0, as("bob")); err != nil {
				t.Error(err)
			}
		})
	}
	<-mask.entered
	list, _ := p.Threads(0, 0, as("bob"))
	apply(p, log.entries[last:])
	h, err := p.History(t.Context(), "a-q0", 0, 0, as("bob"))
	if err != nil || len(h.Turns) != 2 || len(list) != 2 {
		t.Errorf("%d threads, %+v, %v", len(list), h, err)
	}
	mask.spent()
	close(mask.hold)
	blocked.Wait()
	if n := mask.spent(); n != 0 {
		t.Errorf("concurrent requests masked %d bytes again", n)
	}
}

// TestEvents_OfEvictedTurns: a flood of chats pushes a turn out of the cache, and
// the steps of its agent are noticed all the same.
func TestEvents_OfEvictedTurns(t *testing.T) {
	log := new(memoryLog)
	workday(log, "a", 1, 3)
	want := 3
	flooded := new(memoryLog)
	for i, e := range log.entries {
		env := *e.Envelope
		env.Seq = 0
		flooded.add(env)
		for n := range 40 {
			flooded.add(protocol.Envelope{
				ID: protocol.ID(fmt.Sprintf("m%d-%d", i, n)), From: "mallory", Kind: protocol.KindChat,
				Payload: []byte(`{"message":"` + strings.Repeat("x", 1000) + `"}`),
			})
		}
	}
	p := NewTracker(Options{Space: "lab", Reader: flooded, CacheBytes: 64 << 10})
	events := apply(p, flooded.entries)
	if len(events) != want {
		t.Errorf("%d events, want %d", len(events), want)
	}
	if got := strings.Count(told(t, p, events, as("bob")), "\n"); got != want {
		t.Errorf("%d events can be read, want %d", got, want)
	}
	if perEntry := flooded.reads / len(log.entries); perEntry > 1+want {
		t.Errorf("the log was read %d times for an entry", perEntry)
	}
}

// TestEvents_HoldNoContents: the cost of an event does not depend on its turn,
// and its data is the same after the contents were dropped and the rules changed.
func TestEvents_HoldNoContents(t *testing.T) {
	log := new(memoryLog)
	workday(log, "a", 2, 4)
	log.add(protocol.Envelope{ID: "j", From: "sweeper", Kind: protocol.KindReasoningStart})
	log.add(protocol.Envelope{ID: "jr", From: "sweeper", Kind: protocol.KindMCPRequest, Context: "j", Payload: []byte(`{"method":"tools/call","params":{"name":"sweep"}}`)})
	log.add(protocol.Envelope{From: "sweeper", Kind: protocol.KindMCPResponse, Context: "j", Correlation: protocol.CorrelateTo("jr")})
	p := NewTracker(Options{Space: "lab", Reader: log})
	events := apply(p, log.entries)
	before := told(t, p, events, as("bob"))
	if names := slices.Collect(func(yield func(string) bool) {
		for _, e := range events {
			if !yield(e.Name()) {
				return
			}
		}
	}); len(names) != 9 || names[8] != JobReasoning {
		t.Fatalf("events %v", names)
	}
	p.Remask()
	p.forget()
	if after := told(t, p, events, as("bob")); after != before {
		t.Errorf("got\n%s\nwant\n%s", after, before)
	}
}

// TestKeptEvents_Bounded: the cost of a resumed stream is bounded, and events
// that a newer one includes are dropped first.
func TestKeptEvents_Bounded(t *testing.T) {
	k := new(Events)
	quiet := Event{Seq: 1, at: ref{root: 1, turn: 1}, agent: "planner", bytes: 1000}
	k.Add(quiet)
	for seq := protocol.Seq(2); seq < 5000; seq++ {
		k.Add(Event{Seq: seq, at: ref{root: 2 + seq%3, turn: 1}, agent: "mallory", bytes: 4 << 20})
		if len(k.list) > maxEvents || k.bytes > maxEventBytes {
			t.Fatalf("%d events of %d bytes", len(k.list), k.bytes)
		}
	}
	if k.list[0] != quiet || k.list[len(k.list)-1].Seq != 4999 {
		t.Errorf("kept %v … %v", k.list[0], k.list[len(k.list)-1])
	}
	for root := protocol.Seq(5000); root < 7000; root++ {
		k.Add(Event{Seq: root, at: ref{root: root, turn: 1}, agent: "planner", bytes: 1000})
	}
	if n := len(k.list); n != maxEvents || k.list[0].Seq < 5000 {
		t.Errorf("%d events from %d", n, k.list[0].Seq)
	}
}

// TestTracker_LimitCache: a lower limit of the cache holds at once.
func TestTracker_LimitCache(t *testing.T) {
	log := new(memoryLog)
	longChats(log, 60)
	p := NewTracker(Options{Space: "lab", Reader: log})
	apply(p, log.entries)
	if p.cache.bytes < DefaultCacheBytes/2 {
		t.Fatalf("%d bytes are cached", p.cache.bytes)
	}
	p.LimitCache(1 << 20)
	checkBounds(t, p)
	if p.cache.max != 1<<20 {
		t.Errorf("the limit is %d", p.cache.max)
	}
}
