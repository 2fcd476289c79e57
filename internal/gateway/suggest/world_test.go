package suggest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/capability"
	"github.com/meup-protocol/meup/internal/gateway/backtest"
	"github.com/meup-protocol/meup/internal/gateway/suggest"
	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/safety"
	"github.com/meup-protocol/meup/internal/space/authority"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

func TestMain(m *testing.M) { testkit.Main(m) }

var start = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)

// world is a log that a test writes, of a space with a configuration.
type world struct {
	private []byte // of proposals
	t       testing.TB
	log     *journal.Memory
	now     time.Time
	made    int
	last    protocol.Seq // state entry
	cfg     *authority.Config
}

// newWorld returns the space lab with participants and their capabilities.
func newWorld(t testing.TB, participants map[string][]string) *world {
	t.Helper()
	w := &world{t: t, log: journal.NewMemory(journal.MemoryOptions{}), now: start}
	w.log.Follow(func(string, []*journal.Entry) {}, nil)
	t.Cleanup(func() { _ = w.log.Close() })
	cfg := &authority.Config{Participants: map[protocol.ParticipantID]authority.ParticipantConfig{}}
	for id, list := range participants {
		p := authority.ParticipantConfig{}
		for _, text := range list {
			c, err := capability.ParseJSON([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			p.Capabilities = append(p.Capabilities, c)
		}
		cfg.Participants[protocol.ParticipantID(id)] = p
	}
	w.cfg = cfg.Shared()("lab")
	return w
}

// office has people, two agents that only propose, and a host of tools.
func office(t testing.TB) *world {
	return newWorld(t, map[string][]string{
		"alice": {`"*"`, `"observe"`}, "bob": {`"chat"`, `"decide"`},
		"coder": {`"chat"`, `"mcp.proposal"`, `"mcp.response"`, `"mcp.withdraw"`}, "twin": {`"mcp.proposal"`}, "files": {`"mcp.response"`},
	})
}

// add appends an entry a minute later, and returns its id.
func (w *world) add(e journal.Draft) protocol.ID {
	w.t.Helper()
	w.now = w.now.Add(time.Minute)
	w.made++
	if e.Envelope.ID == "" {
		e.Envelope.ID = protocol.ID(fmt.Sprint("e", w.made))
	}
	e.Envelope.TS = w.now
	e.State = e.Envelope.Kind.ChangesState()
	e.CheckedAtStateSeq = w.last
	for _, r := range w.log.Append(context.Background(), "lab", []journal.Draft{e}) {
		if r.Err != nil {
			w.t.Fatal(r.Err)
		}
		if e.State {
			w.last = r.Seq
		}
	}
	return e.Envelope.ID
}

// propose appends a proposal of a call.
func (w *world) propose(from, host, tool, arguments string) protocol.ID {
	return w.proposeMeta(from, host, tool, arguments, "")
}

func (w *world) proposeMeta(from, host, tool, arguments, meta string) protocol.ID {
	if meta != "" {
		meta = `,"_meta":` + meta
	}
	payload := fmt.Sprintf(`{"participant_id":%q,"method":"tools/call","params":{"name":"%s","arguments":%s%s}}`, host, tool, arguments, meta)
	return w.add(journal.Draft{Private: w.private, Envelope: protocol.Envelope{From: protocol.ParticipantID(from), Kind: protocol.KindMCPProposal, Payload: json.RawMessage(payload)}})
}

// approve appends the call that was proposed.
func (w *world) approve(by string, proposal protocol.ID, more string) protocol.ID {
	p, err := w.log.Lookup(context.Background(), "lab", proposal)
	if err != nil {
		w.t.Fatal(err)
	}
	call := p.Payload()
	params := call.Get("params")
	payload := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%s,"arguments":%s}%s}`, params.Get("name").Raw(), params.Get("arguments").Raw(), more)
	return w.add(journal.Draft{Settles: proposal, Envelope: protocol.Envelope{
		From: protocol.ParticipantID(by), Kind: protocol.KindMCPRequest, To: authority.HostOf(call), Correlation: protocol.CorrelateTo(proposal), Payload: json.RawMessage(payload),
	}})
}

// reject appends the rejection of a proposal.
func (w *world) reject(by string, proposal protocol.ID) {
	w.add(journal.Draft{Settles: proposal, Envelope: protocol.Envelope{
		From: protocol.ParticipantID(by), Kind: protocol.KindMCPReject, Correlation: protocol.CorrelateTo(proposal), Payload: json.RawMessage(`{"reason":"no"}`),
	}})
}

// approved appends proposals that alice approves, each n times.
func (w *world) approved(n int, from, host, tool string, arguments ...string) {
	for range n {
		for _, a := range arguments {
			w.approve("alice", w.propose(from, host, tool, a), "")
		}
	}
}

// rejected appends proposals that alice rejects, each n times.
func (w *world) rejected(n int, from, host, tool string, arguments ...string) {
	for range n {
		for _, a := range arguments {
			w.reject("alice", w.propose(from, host, tool, a))
		}
	}
}

// pipeline has the usual safety rules.
var pipeline = sync.OnceValues(func() (*safety.Pipeline, error) { return safety.New(safety.Config{}) })

func (w *world) options() suggest.Options {
	pipeline, err := pipeline()
	if err != nil {
		w.t.Fatal(err)
	}
	return suggest.Options{
		Log: w.log, Space: "lab", Now: w.now, Min: 3, Examples: 2,
		Policy: &backtest.Policy{
			Space: func(authority.Directory) *authority.Config { return w.cfg }, Safety: pipeline,
			Masks: func(protocol.Kind, string) bool { return false },
		},
	}
}

func (w *world) run(o suggest.Options) *api.Suggestions {
	w.t.Helper()
	report, err := suggest.Run(context.Background(), o)
	if err != nil {
		w.t.Fatal(err)
	}
	if report.LetThrough != 0 {
		w.t.Errorf("%d rejected calls are let through", report.LetThrough)
	}
	return report
}

// says lists what a report suggests, a line each.
func says(r *api.Suggestions) string {
	var out []string
	for _, s := range r.Suggestions {
		n := s.Approved
		if s.Does == suggest.Deny {
			n = s.Rejected
		}
		out = append(out, fmt.Sprintf("%s %s %d -%d: %s", s.Does, s.Participant, n, s.Fewer, s.Words))
	}
	for _, p := range r.People {
		out = append(out, fmt.Sprintf("people %s %d: %s: %s", p.Participant, p.Approved, p.Words, p.Why))
	}
	for _, u := range r.Unused {
		last := "never"
		if u.Last != nil {
			last = u.Last.Format(time.DateTime)
		}
		out = append(out, fmt.Sprintf("unused %s%s %s %s", u.Participant, u.Grant, u.Capabilities, last))
	}
	if r.UnusedUnknown != "" {
		out = append(out, "unknown: "+r.UnusedUnknown)
	}
	return strings.Join(out, "\n")
}
