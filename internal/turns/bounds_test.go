package turns

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/protocol"
)

// workday is a thread of turns, each with so many tools, one after the other.
func workday(log *memoryLog, thread string, turns, tools int) {
	say := func(from protocol.ParticipantID, kind protocol.Kind, id, answers, path, payload string) {
		env := protocol.Envelope{ID: protocol.ID(id), From: from, Kind: kind, Context: protocol.ContextPath(path), Payload: []byte(payload)}
		if answers != "" {
			env.Correlation = protocol.CorrelateTo(protocol.ID(answers))
		}
		log.add(env)
	}
	last := ""
	for n := range turns {
		q, c, w := fmt.Sprintf("%s-q%d", thread, n), fmt.Sprintf("%s-c%d", thread, n), fmt.Sprintf("%s-w%d", thread, n)
		say("alice", protocol.KindChat, q, last, "", `{"message":"a question about something or other, as long as they are"}`)
		say("planner", protocol.KindReasoningStart, c, q, "", `{"message":"Looking into it"}`)
		for i := range tools {
			id := fmt.Sprintf("%s-%d-%d", thread, n, i)
			say("planner", protocol.KindReasoningThought, id+"n", "", c, `{"message":"I know a little more now, and go on to the next thing that is to be found out."}`)
			say("planner", protocol.KindReasoningThought, id+"t", "", c, `{"message":"searched memory for what was said about it before","tool_name":"memory_search"}`)
			say("planner", protocol.KindMCPRequest, id+"r", id+"t", c, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"memory_search","arguments":{"query":"what was said","limit":5}}}`)
			say("planner", protocol.KindMCPResponse, id+"a", id+"r", c, `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"three documents, of which the first one says a good deal about the matter"}]}}`)
		}
		say("planner", protocol.KindReasoningConclusion, c+"z", "", c, `{"message":"It is known.","confidence":0.9}`)
		say("planner", protocol.KindChat, w, q, "", `{"message":"The answer, in a sentence or two, as answers are."}`)
		last = w
	}
}

func TestPages(t *testing.T) {
	log := new(memoryLog)
	workday(log, "a", 12, 1)
	p := NewTracker(Options{Space: "lab", Reader: log})
	apply(p, log.entries)
	for _, test := range []struct {
		limit, before, first, n int
		more                    bool
	}{
		{5, 0, 8, 5, true}, {5, 8, 3, 5, true}, {5, 3, 1, 2, false}, {5, 1, 0, 0, false}, {0, 0, 1, 12, false},
		{12, 0, 1, 12, false}, {11, 0, 2, 11, true}, {5, 99, 8, 5, true}, {5, -1, 0, 0, false},
	} {
		t.Run(fmt.Sprintf("%d before %d", test.limit, test.before), func(t *testing.T) {
			h, err := p.History(t.Context(), "a-q0", test.limit, test.before, as("bob"))
			if err != nil {
				t.Fatal(err)
			}
			first := 0
			if len(h.Turns) > 0 {
				first = h.Turns[0].TurnNumber
			}
			if len(h.Turns) != test.n || first != test.first || h.HasMore != test.more {
				t.Errorf("%d turns from %d, more: %t", len(h.Turns), first, h.HasMore)
			}
		})
	}
}

func TestPagesOfThreads(t *testing.T) {
	log := new(memoryLog)
	for i := range 7 {
		workday(log, fmt.Sprintf("t%d", i), 1, 0)
	}
	p := NewTracker(Options{Space: "lab", Reader: log})
	apply(p, log.entries)
	var got []protocol.ID
	pages := 0
	for next := protocol.Seq(0); ; pages++ {
		list, n := p.Threads(3, next, as("bob"))
		for _, th := range list {
			got = append(got, th.ThreadID)
		}
		next = n
		if next == 0 {
			break
		}
	}
	if fmt.Sprint(got) != "[t6-q0 t5-q0 t4-q0 t3-q0 t2-q0 t1-q0 t0-q0]" || pages != 2 {
		t.Errorf("%v, %d pages", got, pages+1)
	}
}

// TestTracker_QuietThreads: a thread that has left the memory is continued by an answer
// to one of its envelopes.
func TestTracker_QuietThreads(t *testing.T) {
	log := new(memoryLog)
	p := NewTracker(Options{Space: "lab", Reader: log, IndexBytes: 4 * (threadCost + turnCost), CacheBytes: 4 * contentsCost, IDs: 8})
	for i := range 20 {
		workday(log, fmt.Sprintf("t%d", i), 1, 1)
	}
	applySaved(t, p, log.entries, 5)
	checkBounds(t, p)
	if n := len(p.index.threads) + len(p.index.turns); n > 8 {
		t.Errorf("%d rows are in memory", n)
	}
	late := log.add(protocol.Envelope{ID: "late", From: "alice", Kind: protocol.KindChat, Correlation: protocol.CorrelateTo("t1-w0")})
	p.Apply(t.Context(), late)
	if h, err := p.History(t.Context(), "t1-q0", 0, 0, Viewer{}); err != nil || len(h.Turns) != 2 || h.Turns[1].MessageID != "late" {
		t.Errorf("%v, %v", h, err)
	}
	if list, _ := p.Threads(0, 0, Viewer{}); len(list) != 20 || list[19].ThreadID != "t0-q0" {
		t.Errorf("%d threads", len(list))
	}
	checkBounds(t, p)
}

// applySaved applies entries, and saves after every few.
func applySaved(t testing.TB, p *Tracker, entries []Entry, every int) {
	t.Helper()
	for i, e := range entries {
		p.Apply(t.Context(), e)
		if i%every == 0 || i == len(entries)-1 {
			if err := p.Save(nil); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestTracker_EndlessThread: of a long thread a few turns are in memory.
func TestTracker_EndlessThread(t *testing.T) {
	log := new(memoryLog)
	workday(log, "a", 300, 1)
	p := NewTracker(Options{Space: "lab", Reader: log, IndexBytes: 20_000, CacheBytes: 10_000})
	applySaved(t, p, log.entries, 50)
	checkBounds(t, p)
	h, err := p.History(t.Context(), "a-q0", 200, 0, as("bob"))
	if err != nil || len(h.Turns) != 200 || h.Turns[0].TurnNumber != 101 || !h.HasMore {
		t.Fatalf("%d turns, %v", len(h.Turns), err)
	}
	if n := len(p.index.turns); n > 80 {
		t.Errorf("%d turns are in memory", n)
	}
	checkBounds(t, p)
}

// TestEndlessTurn is truncated, marked as such, and still has its end.
func TestEndlessTurn(t *testing.T) {
	log := new(memoryLog)
	workday(log, "a", 1, 1000)
	p := NewTracker(Options{Space: "lab", Reader: log})
	events := apply(p, log.entries)
	info, err := p.Turn(t.Context(), "a-q0", 1, Viewer{})
	if err != nil {
		t.Fatal(err)
	}
	var told struct {
		Tools     []json.RawMessage `json:"tool_decisions"`
		Narrative string            `json:"narrative"`
		Truncated bool              `json:"truncated"`
	}
	data, failed := p.Data(t.Context(), events[len(events)-1], Viewer{})
	if err := json.Unmarshal(data, &told); failed != nil || err != nil || len(told.Tools) != maxEventDecisions || !told.Truncated || len(told.Narrative) > 64<<10+4 {
		t.Errorf("%d decisions are told, %d bytes, truncated: %t, %v", len(told.Tools), len(told.Narrative), told.Truncated, err)
	}
	if !info.Truncated || info.State != api.TurnCompleted || info.Response == nil {
		t.Errorf("truncated %t, %s, %v", info.Truncated, info.State, info.Response)
	}
	if n := len(info.Reasoning.ToolDecisions); n < 500 || n > 1000 {
		t.Errorf("%d decisions", n)
	}
}

func TestLongParametersAreLeftOut(t *testing.T) {
	log := new(memoryLog)
	workday(log, "a", 1, 0)
	long := make([]byte, 70_000)
	for i := range long {
		long[i] = 'x'
	}
	log.entries = log.entries[:2]
	log.add(protocol.Envelope{From: "planner", Kind: protocol.KindMCPRequest, Context: "a-c0",
		Payload: []byte(`{"method":"tools/call","params":{"name":"write","arguments":{"text":"` + string(long) + `"}}}`)})
	p := NewTracker(Options{Space: "lab", Reader: log})
	apply(p, log.entries)
	info, err := p.Turn(t.Context(), "a-q0", 1, Viewer{})
	if err != nil {
		t.Fatal(err)
	}
	if d := info.Reasoning.ToolDecisions[0]; d.Parameters != nil || d.ParameterBytes != 70_011 {
		t.Errorf("%d bytes of parameters, %d were sent", len(d.Parameters), d.ParameterBytes)
	}
}

// loud is a masker that leaves nothing as it was.
type loud struct{}

func (loud) Text(text string) string { return "MASKED " + strings.ToUpper(text) }

func (loud) Parameters(v protocol.Value) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"masked":%d}`, v.Len()))
}

// No shown text is unmasked, whether it comes from memory or from the log.
func TestMasked(t *testing.T) {
	log := new(memoryLog)
	workday(log, "a", 1, 1)
	p := NewTracker(Options{Space: "lab", Reader: log, Mask: loud{}})
	apply(p, log.entries)
	list, _ := p.Threads(0, 0, Viewer{})
	if len(list) != 1 || !strings.HasPrefix(list[0].Title, "MASKED ") {
		t.Errorf("threads %+v", list)
	}
	for range 2 {
		info, err := p.Turn(t.Context(), "a-q0", 1, Viewer{})
		if err != nil {
			t.Fatal(err)
		}
		d := info.Reasoning.ToolDecisions[0]
		if got := string(d.Parameters); got != `{"masked":2}` {
			t.Errorf("parameters %s", got)
		}
		for name, text := range map[string]string{
			"tool": d.ToolName, "rationale": d.Rationale, "input": info.UserInput, "response": *info.Response,
			"narrative": info.Reasoning.Narrative,
		} {
			if text != "" && !strings.HasPrefix(text, "MASKED ") {
				t.Errorf("%s %q", name, text)
			}
		}
		p.forget()
	}
}

// broken is a log that fails, and one of which retention has dropped the half.
type broken struct {
	*memoryLog
	err  error
	from protocol.Seq
}

func (b broken) Range(ctx context.Context, first, last protocol.Seq) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for e, err := range b.memoryLog.Range(ctx, max(first, b.from), last) {
			if !yield(e, err) {
				return
			}
		}
		if b.err != nil {
			yield(Entry{}, b.err)
		}
	}
}

func TestLogThatFails(t *testing.T) {
	log := new(memoryLog)
	workday(log, "a", 2, 1)
	gone := errors.New("gone fishing")
	p := NewTracker(Options{Space: "lab", Reader: broken{log, gone, 0}, CacheBytes: 1})
	apply(p, log.entries)
	if _, err := p.History(t.Context(), "a-q0", 0, 0, Viewer{}); !errors.Is(err, gone) {
		t.Error(err)
	}
	if _, err := p.Turn(t.Context(), "a-q0", 1, Viewer{}); !errors.Is(err, gone) {
		t.Error(err)
	}
	p = NewTracker(Options{Space: "lab", CacheBytes: 1})
	apply(p, log.entries)
	if _, err := p.Turn(t.Context(), "a-q0", 1, Viewer{}); !errors.Is(err, errNoReader) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p = NewTracker(Options{Space: "lab", Reader: log, CacheBytes: 1})
	apply(p, log.entries)
	if _, err := p.Turn(ctx, "a-q0", 1, Viewer{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestRetention: turns that the log has dropped are not there, and the others
// keep their numbers.
func TestRetention(t *testing.T) {
	log := new(memoryLog)
	workday(log, "a", 4, 1)
	second := log.entries[log.byID["a-q2"]].Envelope.Seq
	p := NewTracker(Options{Space: "lab", Reader: broken{log, nil, second}, CacheBytes: 1})
	apply(p, log.entries)
	h, err := p.History(t.Context(), "a-q0", 0, 0, Viewer{})
	if err != nil {
		t.Fatal(err)
	}
	if len(h.Turns) != 2 || h.Turns[0].TurnNumber != 3 {
		t.Errorf("%d turns", len(h.Turns))
	}
	if _, err := p.Turn(t.Context(), "a-q0", 1, Viewer{}); !errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
}

// TestReadersBesideApply is for the race detector; each reader sees one
// consistent state.
func TestReadersBesideApply(t *testing.T) {
	log := new(memoryLog)
	workday(log, "a", 60, 3)
	whole := &memoryLog{entries: log.entries, byID: log.byID}
	p := NewTracker(Options{Space: "lab", Reader: sealed{whole}, CacheBytes: 60_000, IndexBytes: 40_000})
	var under sync.WaitGroup
	done := make(chan struct{})
	for i := range 3 {
		v := []Viewer{{}, as("alice"), as("bob")}[i]
		under.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				h, err := p.History(t.Context(), "a-q0", 30, 0, v)
				if err != nil && !errors.Is(err, ErrUnknown) {
					t.Error(err)
					return
				}
				if err == nil {
					marshal(t, h)
				}
				p.Threads(5, 0, v)
			}
		})
	}
	for _, ev := range apply(p, log.entries) {
		under.Go(func() {
			if _, err := p.Data(t.Context(), ev, as("bob")); err != nil {
				t.Error(err)
			}
		})
	}
	close(done)
	under.Wait()
	checkBounds(t, p)
}

// sealed reads a log that does not change, without counting.
type sealed struct{ *memoryLog }

func (s sealed) Range(ctx context.Context, first, last protocol.Seq) iter.Seq2[Entry, error] {
	copied := memoryLog{entries: s.entries}
	return copied.Range(ctx, first, last)
}

// TestEntriesTwice: entries that were applied before, or have no Seq, change
// nothing.
func TestEntriesTwice(t *testing.T) {
	log := new(memoryLog)
	workday(log, "a", 2, 2)
	p := NewTracker(Options{Space: "lab", Reader: log})
	if n := len(apply(p, log.entries)); n != 4 {
		t.Fatalf("%d events", n)
	}
	want := everything(t, p, Viewer{})
	live := protocol.Envelope{ID: "live", From: "alice", Kind: protocol.KindChat}
	if events := apply(p, append([]Entry{{Envelope: &live}, {}}, log.entries...)); len(events) != 0 {
		t.Errorf("%d events", len(events))
	}
	if got := everything(t, p, Viewer{}); got != want || p.Head() != protocol.Seq(len(log.entries)) {
		t.Errorf("head %d, got\n%s\nwant\n%s", p.Head(), got, want)
	}
}

// The cache saves reading the log, and the log supplies everything that is not
// cached.
func TestWhatIsNotHeldIsRead(t *testing.T) {
	log := new(memoryLog)
	workday(log, "a", 5, 2)
	p := NewTracker(Options{Space: "lab", Reader: log})
	apply(p, log.entries)
	for i, want := range []int{0, 1, 1} {
		everything(t, p, as("bob"))
		if log.reads != want {
			t.Errorf("%d reads, want %d", log.reads, want)
		}
		if i == 0 {
			p.forget()
		}
	}
}

// TestChatOfATurnIsGone: retention may drop the chat of a turn and keep the
// rest of it. Without its chat there is no turn.
func TestChatOfATurnIsGone(t *testing.T) {
	log := new(memoryLog)
	workday(log, "a", 1, 1)
	p := NewTracker(Options{Space: "lab", Reader: broken{log, nil, 2}, CacheBytes: 1})
	apply(p, log.entries)
	if _, err := p.Turn(t.Context(), "a-q0", 1, Viewer{}); !errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
}

// TestJob_EntriesGone: of a job, retention may drop the oldest entries; without any,
// there is no job, and its session has nothing.
func TestJob_EntriesGone(t *testing.T) {
	log := new(memoryLog)
	log.add(protocol.Envelope{ID: "j", From: "bob", Kind: protocol.KindReasoningStart, Payload: []byte(`{"message":"x","session_id":"s"}`)})
	log.add(protocol.Envelope{ID: "r", From: "bob", Kind: protocol.KindMCPRequest, Context: "j", Payload: []byte(`{"method":"tools/call","params":{"name":"look"}}`)})
	for kept, want := range map[protocol.Seq]string{1: "j", 2: "r", 3: ""} {
		t.Run(fmt.Sprintf("from %d", kept), func(t *testing.T) {
			p := NewTracker(Options{Space: "lab", Reader: broken{log, nil, kept}})
			apply(p, log.entries)
			p.forget()
			session, err := p.Session(t.Context(), "s", 0, 0, Viewer{})
			if err != nil || len(session.Turns) != min(len(want), 1) {
				t.Fatalf("%+v, %v", session, err)
			}
			h, err := p.Job(t.Context(), "j", Viewer{})
			if want == "" {
				if !errors.Is(err, ErrUnknown) {
					t.Error(err)
				}
				return
			}
			if err != nil || string(h.Turns[0].MessageID) != want || len(h.Turns[0].ToolCalls) != 1 {
				t.Errorf("%+v, %v", h, err)
			}
		})
	}
}

// TestJobs_NotInMemory: jobs that have left the memory are listed, alone and in their
// session.
func TestJobs_NotInMemory(t *testing.T) {
	log := new(memoryLog)
	for n := range 100 {
		log.add(protocol.Envelope{ID: protocol.ID(fmt.Sprint("j", n)), From: "bob", Kind: protocol.KindReasoningStart,
			Payload: []byte(`{"session_id":"s"}`)})
	}
	p := NewTracker(Options{Space: "lab", Reader: log, IndexBytes: 20_000})
	applySaved(t, p, log.entries, 10)
	if list, _ := p.Jobs(MaxPage, 0, Viewer{}); len(list) != 100 || list[0].JobID != "j99" || list[99].JobID != "j0" {
		t.Fatalf("%d jobs", len(list))
	}
	if h, err := p.Session(t.Context(), "s", MaxPage, 0, Viewer{}); err != nil || len(h.Turns) != 100 {
		t.Errorf("%d turns of the session, %v", len(h.Turns), err)
	}
	checkBounds(t, p)
}

// TestSessionID: clients may work it out themselves.
func TestSessionID(t *testing.T) {
	if got := SessionID("lab", "7c9e6679"); got != SessionID("lab", "7c9e6679") || got[14] != '5' {
		t.Error(got)
	}
	if SessionID("lab", "q") == SessionID("lab2", "q") || SessionID("lab", "q") == SessionID("lab", "q2") {
		t.Error("two threads have one session")
	}
}
