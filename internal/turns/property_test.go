package turns

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/protocol"
)

var (
	people = []protocol.ParticipantID{"alice", "bob", "planner", "critic", "files"}
	kinds  = []protocol.Kind{
		protocol.KindChat, protocol.KindChat, protocol.KindReasoningStart, protocol.KindReasoningStart,
		protocol.KindReasoningThought, protocol.KindReasoningThought, protocol.KindReasoningConclusion, protocol.KindReasoningCancel,
		protocol.KindMCPRequest, protocol.KindMCPRequest, protocol.KindMCPRequest, protocol.KindMCPResponse, protocol.KindMCPResponse,
		protocol.KindMCPResponse, protocol.KindMCPProposal, protocol.KindMCPReject, protocol.KindMCPWithdraw,
		protocol.KindChatCancel, protocol.KindReasoningObservation, "stream.open", "x.other", protocol.KindChatAcknowledge,
	}
)

// drawLog makes a log of arbitrary envelopes, sensible or not. Every payload
// contains its own name, secret-ID.
func drawLog(t *rapid.T) *memoryLog {
	log := new(memoryLog)
	seq := protocol.Seq(0)
	for range rapid.IntRange(1, 120).Draw(t, "entries") {
		seq += protocol.Seq(rapid.SampledFrom([]int{1, 1, 1, 2, 300}).Draw(t, "gap"))
		env := protocol.Envelope{
			ID: protocol.ID("id" + seq.String() + "."), Seq: seq, From: rapid.SampledFrom(people).Draw(t, "from"), Kind: rapid.SampledFrom(kinds).Draw(t, "kind"),
		}
		if rapid.IntRange(0, 5).Draw(t, "private") == 0 {
			env.To = []protocol.ParticipantID{rapid.SampledFrom(people).Draw(t, "to")}
		}
		for range rapid.SampledFrom([]int{0, 1, 1, 1, 2}).Draw(t, "answers") {
			if n := len(log.entries); n > 0 {
				back := rapid.SampledFrom([]int{1, 1, 2, 3, 5, 30, 1000}).Draw(t, "back")
				id := rapid.SampledFrom([]protocol.ID{"unknown", "implicit", "deep"}).Draw(t, "name")
				if back <= n {
					id = log.entries[n-back].Envelope.ID
				}
				env.Correlation.IDs = append(env.Correlation.IDs, id)
			}
		}
		env.Context = drawContext(t, log)
		env.Payload = drawPayload(t, env.Kind, env.ID)
		log.add(env)
	}
	return log
}

func drawContext(t *rapid.T, log *memoryLog) protocol.ContextPath {
	switch rapid.IntRange(0, 3).Draw(t, "where") {
	case 0:
		return ""
	case 1:
		return rapid.SampledFrom([]protocol.ContextPath{"", "implicit", "implicit/deep"}).Draw(t, "implicit")
	}
	for i := len(log.entries) - 1; i >= 0; i-- {
		env := log.entries[i].Envelope
		if path, ok := env.Opens(); ok && path.Depth() <= 3 {
			return path
		}
		if env.Context != "" {
			return env.Context
		}
	}
	return ""
}

func drawPayload(t *rapid.T, k protocol.Kind, id protocol.ID) json.RawMessage {
	secret := "secret-" + string(id)
	tool := rapid.SampledFrom([]string{"read", "write"}).Draw(t, "tool")
	switch k {
	case protocol.KindReasoningThought:
		return json.RawMessage(rapid.SampledFrom([]string{
			fmt.Sprintf(`{"message":%q}`, secret),
			fmt.Sprintf(`{"content":%q,"tool_name":%q}`, secret, tool),
			fmt.Sprintf(`{"message":%q,"tool_name":%q,"parallel_group":%d}`, secret, tool, rapid.IntRange(0, 2).Draw(t, "group")),
		}).Draw(t, "thought"))
	case protocol.KindMCPRequest, protocol.KindMCPProposal:
		method := rapid.SampledFrom([]string{"tools/call", "tools/call", "tools/call", "notifications/cancelled", "tools/list"}).Draw(t, "method")
		return json.RawMessage(fmt.Sprintf(`{"method":%q,"params":{"name":%q,"arguments":{"x":%q}}}`, method, tool, secret))
	case protocol.KindMCPResponse:
		return json.RawMessage(rapid.SampledFrom([]string{`{"result":{}}`, `{"error":{"code":1,"message":"no"}}`}).Draw(t, "answer"))
	case protocol.KindMCPReject, protocol.KindMCPWithdraw:
		return json.RawMessage(rapid.SampledFrom([]string{`{"reason":"timeout"}`, `{"reason":"unsafe"}`}).Draw(t, "reason"))
	}
	session := rapid.SampledFrom([]string{"", `,"session_id":"s1"`, `,"session_id":"s2"`, `,"session_id":5`}).Draw(t, "session")
	return json.RawMessage(fmt.Sprintf(`{"message":%q%s}`, secret, session))
}

// everything is all that a viewer may know of a projection.
func everything(t testing.TB, p *Tracker, v Viewer) string {
	var b strings.Builder
	sessions := make(map[string]bool)
	threads, _ := p.Threads(MaxPage, 0, v)
	for _, th := range threads {
		sessions[th.SessionID] = true
		h, err := p.History(t.Context(), th.ThreadID, MaxPage, 0, v)
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString(marshal(t, th))
		b.WriteString(marshal(t, h))
	}
	jobs, _ := p.Jobs(MaxPage, 0, v)
	for _, j := range jobs {
		h, err := p.Job(t.Context(), j.JobID, v)
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString(marshal(t, j))
		b.WriteString(marshal(t, h))
		sessions[j.SessionID] = true
	}
	for _, id := range slices.Sorted(maps.Keys(sessions)) {
		for before, more := protocol.Seq(0), true; more; {
			h, err := p.Session(t.Context(), id, 3, before, v)
			if err != nil {
				t.Fatal(err)
			}
			b.WriteString(marshal(t, h))
			before, more = h.Next, h.HasMore
		}
	}
	return b.String()
}

func apply(p *Tracker, entries []Entry) []Event {
	var events []Event
	for _, e := range entries {
		if event, ok := p.Apply(context.Background(), e); ok {
			events = append(events, event)
		}
	}
	return events
}

// told returns all event data for a viewer, a line each.
func told(t testing.TB, p *Tracker, events []Event, v Viewer) string {
	var b strings.Builder
	for _, e := range events {
		data, err := p.Data(t.Context(), e, v)
		if err != nil {
			t.Fatal(err)
		}
		if data != nil {
			fmt.Fprintf(&b, "%d %s %s\n", e.Seq, e.Name(), data)
		}
	}
	return b.String()
}

// TestSameHoweverItWasRead: it makes no difference whether a projection was
// asked on the way, has forgotten everything at some point, has next to no
// cache, got entries twice, or was made anew.
func TestSameHoweverItWasRead(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		log := drawLog(rt)
		viewers := []Viewer{{}, as("alice"), as("files")}
		once := NewTracker(Options{Space: "lab", Reader: log})
		events := apply(once, log.entries)

		point := rapid.IntRange(0, len(log.entries)).Draw(rt, "point")
		late := NewTracker(Options{Space: "lab", Reader: log})
		lateEvents := apply(late, log.entries[:point])
		late.forget()
		for _, v := range viewers {
			everything(t, late, v) // as it was then, back into memory
		}
		lateEvents = append(lateEvents, apply(late, log.entries[max(0, point-3):])...)

		tiny := NewTracker(Options{Space: "lab", Reader: log, CacheBytes: 1})
		apply(tiny, log.entries)

		for i, v := range viewers {
			want := everything(t, once, v)
			for name, p := range map[string]*Tracker{"rebuilt": late, "without a cache": tiny, "again": once} {
				if got := everything(t, p, v); got != want {
					rt.Fatalf("viewer %d, %s:\n%s\nwant\n%s", i, name, got, want)
				}
			}
			if got, want := told(t, late, lateEvents, v), told(t, once, events, v); got != want {
				rt.Fatalf("viewer %d is told\n%s\nwant\n%s", i, got, want)
			}
			checkBounds(rt, once)
			checkBounds(rt, tiny)
		}
	})
}

// TestNothingOfOthers: no answer contains anything that its viewer may not see.
func TestNothingOfOthers(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		log := drawLog(rt)
		p := NewTracker(Options{Space: "lab", Reader: log})
		events := apply(p, log.entries)
		for _, who := range people {
			v := as(who)
			got := everything(t, p, v) + told(t, p, events, v)
			for _, e := range log.entries {
				if secret := "secret-" + string(e.Envelope.ID); !v.Allows(&e) && strings.Contains(got, secret) {
					rt.Fatalf("%s reads %s in\n%s", who, secret, got)
				}
			}
		}
	})
}

// TestEveryDecisionIsACall: a decision is a tools/call of its agent in a
// context, each one once, with an explanation.
func TestEveryDecisionIsACall(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		log := drawLog(rt)
		p := NewTracker(Options{Space: "lab", Reader: log})
		apply(p, log.entries)
		seen := make(map[protocol.ID]bool)
		threads, _ := p.Threads(MaxPage, 0, Viewer{})
		for _, th := range threads {
			h, err := p.History(t.Context(), th.ThreadID, MaxPage, 0, Viewer{})
			if err != nil {
				rt.Fatal(err)
			}
			for i, turn := range h.Turns {
				if turn.TurnNumber != i+1 {
					rt.Fatalf("turn %d stands in place %d", turn.TurnNumber, i)
				}
				all := turn.Reasonings
				if len(all) == 0 && turn.Reasoning != nil {
					all = []api.Reasoning{*turn.Reasoning}
				}
				n := 0
				for _, r := range all {
					for _, d := range r.ToolDecisions {
						n++
						env := log.entries[log.byID[d.CallID]].Envelope
						if seen[d.CallID] || env.From != r.Agent || env.Kind != protocol.KindMCPRequest && env.Kind != protocol.KindMCPProposal {
							rt.Fatalf("decision %+v", d)
						}
						seen[d.CallID] = true
						if d.Rationale == "" || d.ToolName == "" || d.Outcome == "" {
							rt.Fatalf("decision %+v", d)
						}
					}
				}
				if n != len(turn.ToolCalls) || (turn.Reasoning == nil) != (n == 0) {
					rt.Fatalf("%d decisions, %d calls", n, len(turn.ToolCalls))
				}
			}
		}
	})
}

// checkBounds checks the sizes that the projection records.
func checkBounds(t rapid.TB, p *Tracker) {
	t.Helper()
	x := p.index
	cost, bytes, saved := 0, 0, 0
	for _, th := range x.threads {
		if th.element != nil {
			saved, cost = saved+1, cost+th.memory()
		}
		if (th.element == nil) != (x.unsavedThreads[th.seq] == th) {
			t.Fatalf("thread %d is neither saved nor changed, or both", th.seq)
		}
	}
	for at, tu := range x.turns {
		if tu.element != nil {
			saved, cost = saved+1, cost+tu.memory()
		}
		if (tu.element == nil) != (x.unsavedTurns[at] == tu) {
			t.Fatalf("turn %v is neither saved nor changed, or both", at)
		}
		if tu.items > maxAllItems {
			t.Fatalf("a turn of %d items", tu.items)
		}
	}
	for at := p.cache.used.Front(); at != nil; at = at.Next() {
		held := at.Value.(*contents)
		bytes += held.bytes
		if x.turns[held.turn.at] != held.turn || held.turn.contents != held {
			t.Fatalf("contents of turn %v are cached, and the turn is not in memory", held.turn.at)
		}
	}
	if saved != x.lru.Len() || cost != x.cost || cost > x.max || bytes != p.cache.bytes || bytes > p.cache.max {
		t.Fatalf("index %d rows of %d (says %d of %d, may %d), cache %d (says %d, may %d)", saved, cost, x.lru.Len(), x.cost, x.max, bytes, p.cache.bytes, p.cache.max)
	}
	for _, n := range []names{p.envelopes, p.contexts, p.agents} {
		if n.Len() > 2*(p.opts.IDs+1) {
			t.Fatalf("%d names, %d may be there", n.Len(), 2*(p.opts.IDs+1))
		}
	}
	if x.err != nil {
		t.Fatal(x.err)
	}
}
