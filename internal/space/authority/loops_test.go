package authority

import (
	"fmt"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/protocol"
)

// loopLog follows a story, one step after the other.
type loopLog struct {
	st *State
	u  *Usage
	at time.Time
	n  int
}

func newLoopLog(l Loops) *loopLog {
	cfg := budgeted()
	cfg.Budget, cfg.Loops = Budget{}, l
	for _, id := range []protocol.ParticipantID{"a", "b", "c", "files"} {
		cfg.Participants[id] = ParticipantConfig{}
	}
	u := NewUsage()
	u.SetRead()
	return &loopLog{st: NewState(cfg), u: u, at: noon}
}

func (l *loopLog) add(from protocol.ParticipantID, kind protocol.Kind, id, of, context, payload string) *journal.Entry {
	l.n++
	if id == "" {
		id = fmt.Sprint("e", l.n)
	}
	e := &journal.Entry{Envelope: protocol.Envelope{ID: protocol.ID(id), From: from, Kind: kind, TS: l.at, Context: protocol.ContextPath(context), Payload: []byte(payload)}}
	if of != "" {
		e.Envelope.Correlation = protocol.CorrelateTo(protocol.ID(of))
	}
	if kind == protocol.KindMCPRequest {
		e.Envelope.To = []protocol.ParticipantID{"files"}
	}
	l.u.Follow(e, l.st, l.at)
	return e
}

func callOf(name string) string {
	return fmt.Sprintf(`{"id":1,"method":"tools/call","params":{"name":%q}}`, name)
}

// make makes a call with a result, a second later.
func (l *loopLog) make(name, context, result string) {
	l.at = l.at.Add(time.Second)
	e := l.add("a", protocol.KindMCPRequest, "", "", context, callOf(name))
	if result != "" {
		l.add("files", protocol.KindMCPResponse, "", string(e.Envelope.ID), context, fmt.Sprintf(`{"id":%d,"result":{"text":%q}}`, l.n, result))
	}
}

// ask returns which limit asks for a call; "": none.
func (l *loopLog) ask(name, of, context string) string {
	e := protocol.Envelope{From: "a", Kind: protocol.KindMCPRequest, To: []protocol.ParticipantID{"files"}, Context: protocol.ContextPath(context), Payload: []byte(callOf(name))}
	if of != "" {
		e.Correlation = protocol.CorrelateTo(protocol.ID(of))
	}
	ask := l.st.Ask(l.u, &e, e.ParsePayload(), 0, l.at)
	if ask == nil {
		return ""
	}
	return ask.Limit + ": " + ask.Text
}

// Of identical calls without progress, the fourth is asked for.
func TestLoops_Identical(t *testing.T) {
	const found = "loops.identical: a has made this call 3 times, with the same result"
	for name, c := range map[string]struct {
		story func(l *loopLog)
		want  string
	}{
		"the same": {func(l *loopLog) {
			for range 3 {
				l.make("read", "c", "same")
			}
		}, found},
		"too few": {func(l *loopLog) {
			for range 2 {
				l.make("read", "c", "same")
			}
		}, ""},
		"without a result": {func(l *loopLog) {
			for range 3 {
				l.make("read", "c", "")
			}
		}, found},
		"two in turn": {func(l *loopLog) {
			for range 3 {
				l.make("list", "c", "x")
				l.make("read", "c", "same")
			}
		}, found},
		"a new call between": {func(l *loopLog) {
			for i := range 10 {
				l.make(fmt.Sprint("edit", i), "c", "done")
				l.make("read", "c", "same")
			}
		}, ""},
		"another result": {func(l *loopLog) {
			for i := range 10 {
				l.make("read", "c", fmt.Sprint(i, " % done"))
			}
		}, ""},
		"beside a status that changes": {func(l *loopLog) {
			for i := range 10 {
				l.make("read", "c", "same")
				l.make("status", "c", fmt.Sprint(i))
			}
		}, ""},
		"at intervals": {func(l *loopLog) {
			for range 10 {
				l.make("read", "c", "same")
				l.at = l.at.Add(time.Minute)
			}
		}, ""},
		"in other contexts": {func(l *loopLog) {
			for i := range 10 {
				l.make("read", fmt.Sprint("c", i), "same")
			}
		}, ""},
		"result of another participant": {func(l *loopLog) {
			for i := range 3 {
				l.make("read", "c", "")
				l.add("b", protocol.KindMCPResponse, "", fmt.Sprint("e", l.n), "c", fmt.Sprintf(`{"result":%d}`, i))
			}
		}, found},
		"approved": {func(l *loopLog) {
			for range 3 {
				l.make("read", "c", "same")
			}
			e := called("alice", l.at, "p-1")
			e.Envelope.Context, e.Audience = "c", []protocol.ParticipantID{"a"}
			l.u.Follow(e, l.st, l.at)
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLoopLog(Loops{Identical: 3})
			c.story(l)
			if got := l.ask("read", "", "c"); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
			if got := l.ask("never made", "", "c"); got != "" {
				t.Errorf("another call: %q", got)
			}
		})
	}
}

// Work that has passed on more than three times is asked for.
func TestLoops_Hops(t *testing.T) {
	const start, chat = protocol.KindReasoningStart, protocol.KindChat
	found := func(n int) string {
		return fmt.Sprintf("loops.hops: the work was passed on %d times without a person", n)
	}
	for name, c := range map[string]struct {
		story       func(l *loopLog)
		of, context string
		want        string
	}{
		"a conversation of agents": {func(l *loopLog) {
			l.add("alice", chat, "q", "", "", `{}`)
			for i, from := range []protocol.ParticipantID{"b", "c", "b", "c"} {
				l.add(from, chat, fmt.Sprint("q", i), []string{"q", "q0", "q1", "q2"}[i], "", `{}`)
			}
		}, "q3", "", found(5)},
		"with a person": {func(l *loopLog) {
			l.add("b", chat, "q", "", "", `{}`)
			for i, from := range []protocol.ParticipantID{"c", "b", "c", "alice", "c"} {
				l.add(from, chat, fmt.Sprint("q", i), []string{"q", "q0", "q1", "q2", "q3"}[i], "", `{}`)
			}
		}, "q4", "", ""},
		"by contexts": {func(l *loopLog) {
			l.add("b", start, "c1", "", "", `{}`)
			l.add("c", start, "c2", "", "c1", `{}`)
			l.add("b", start, "c3", "", "c1/c2", `{}`)
			l.add("a", start, "c4", "", "c1/c2/c3", `{}`)
			l.add("b", start, "c5", "", "c1/c2/c3/c4", `{}`)
		}, "", "c1/c2/c3/c4/c5", found(5)},
		"own steps": {func(l *loopLog) {
			l.add("alice", chat, "q", "", "", `{}`)
			l.add("a", start, "c1", "q", "", `{}`)
			before := "c1"
			for i := range 20 {
				id := fmt.Sprint("t", i)
				l.add("a", protocol.KindReasoningThought, id, before, "c1", `{}`)
				before = id
			}
		}, "t19", "c1", ""},
		"unknown": {func(*loopLog) {}, "q", "c1", ""},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLoopLog(Loops{Hops: 3})
			c.story(l)
			if got := l.ask("read", c.of, c.context); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestLoops_Bounds(t *testing.T) {
	l := newLoopLog(Loops{Identical: 3, Hops: 3})
	for i := range maxTrails + 100 {
		l.make("read", fmt.Sprint("c", i), "")
	}
	for i := range maxPassed + 100 {
		l.make(fmt.Sprint("n", i), "c", "")
	}
	tr := l.u.trail
	if len(tr.calls) != maxTrails || len(tr.order) != maxTrails || len(tr.hops) != maxPassed || len(tr.passes) != maxPassed ||
		len(tr.calls[callsKey{"a", "c"}].list) != maxRepeats || len(tr.asked) > maxTrails+maxRepeats {
		t.Errorf("%d and %d trails, %d and %d passed, %d asked", len(tr.calls), len(tr.order), len(tr.hops), len(tr.passes), len(tr.asked))
	}
}
