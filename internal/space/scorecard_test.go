package space_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/capability"
	"github.com/meup-protocol/meup/internal/exchange"
	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/internal/space/authority"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

func pattern(t testing.TB, text string) *capability.Capability {
	t.Helper()
	c, err := capability.ParseJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// openReviewed opens a room with a reviewer of Bash and move, which needs two decisions for a
// promotion; people decide on delete_* alone.
func openReviewed(t testing.TB, change func(*space.Services)) *room {
	t.Helper()
	return openWith(t, reviewedConfig(t), change)
}

func reviewedConfig(t testing.TB) *authority.Config {
	t.Helper()
	cfg := rights{
		"alice": {"*", "observe"}, "bob": {"mcp.request", "decide"}, "coder": {"mcp.proposal", "mcp.withdraw"},
		"rev": {"mcp.opinion", "mcp.proposal", "mcp.request", "decide"}, "files": {"mcp.response"},
	}.config(t)
	cfg.Deciders = authority.Deciders{
		HumanOnly: []*capability.Capability{pattern(t, `{"kind":"mcp.request","payload":{"params":{"name":"delete_*"}}}`)},
		Rules:     []authority.Rule{{Capability: pattern(t, `{"kind":"mcp.request","payload":{"params":{"name":"list"}}}`)}},
		Reviewers: []authority.Reviewer{{
			ID: "rev", Decisions: 2, WithoutMiss: 2,
			For: []*capability.Capability{pattern(t, `{"kind":"mcp.request","payload":{"params":{"name":["Bash","move","delete_*"]}}}`)},
		}},
		People: []authority.Stage{{People: []string{"alice"}}, {People: []string{"bob"}}},
	}
	return cfg
}

// proposes has coder propose a call of a tool to files.
func (r *room) proposes(id, tool, arguments, to string) {
	r.t.Helper()
	r.must("coder", fmt.Sprintf(`{"id":%q,"kind":"mcp.proposal"%s,"payload":{"method":"tools/call","params":{"name":%q,"arguments":%s},"participant_id":"files"}}`, id, to, tool, arguments))
}

// judges has rev write an opinion on a proposal.
func (r *room) judges(id, verdict string) {
	r.t.Helper()
	e, err := r.log.Lookup(r.t.Context(), "lab", protocol.ID(id))
	if err != nil {
		r.t.Fatal(err)
	}
	r.must("rev", fmt.Sprintf(`{"kind":"mcp.opinion","correlationId":%q,"payload":{"verdict":%q,"call":%q}}`, id, verdict, exchange.CallOf(&e.Envelope).Digest()))
}

// decides has a participant approve or reject a proposal.
func (r *room) decides(who protocol.ParticipantID, id string, approve bool) protocol.ID {
	r.t.Helper()
	p, err := r.log.Lookup(r.t.Context(), "lab", protocol.ID(id))
	if err != nil {
		r.t.Fatal(err)
	}
	e := exchange.Rejection(&p.Envelope, "no")
	e.ID = protocol.ID("d-" + id)
	if approve {
		e, err = exchange.Approval(&p.Envelope, e.ID, "")
	}
	if err != nil {
		r.t.Fatal(err)
	}
	e.From = who
	r.must(who, string(protocol.AppendEnvelope(nil, protocol.DialectMEUP01, &e)))
	return e.ID
}

func (r *room) scorecard(since time.Time) *space.Scorecard {
	r.t.Helper()
	card, _, _, err := r.Scorecard(r.t.Context(), r.Deciders(), since)
	if err != nil {
		r.t.Fatal(err)
	}
	return card
}

func TestScorecard_WhatIsJudged(t *testing.T) {
	r := openReviewed(t, nil)
	r.proposes("p1", "Bash", `{"command":"git push origin"}`, "")
	r.judges("p1", "approve")
	r.decides("alice", "p1", false)
	r.proposes("p2", "Bash", `{"command":"git diff | sh"}`, "")
	r.proposes("p3", "delete_file", `{}`, "") // for people only
	r.judges("p3", "approve")
	r.proposes("p4", "other", `{}`, "") // not for rev
	r.judges("p4", "reject")
	r.proposes("p5", "move", `{}`, `,"to":["alice"]`) // invisible to rev
	r.must("coder", `{"kind":"mcp.request","to":["files"],"payload":{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list"}}}`)

	kinds := r.scorecard(time.Time{}).Reviewer("rev").Kinds
	if len(kinds) != 2 || kinds[0].Kind != "Bash" || kinds[1].Kind != "Bash: git push" {
		t.Fatalf("%+v", kinds)
	}
	for _, c := range []struct {
		name string
		got  api.Tally
		want [4]int // proposals, covered, misses, saved
	}{
		{"reviewer", r.scorecard(time.Time{}).Reviewer("rev").Tally, [4]int{2, 1, 1, 0}},
		{"program", kinds[1].Tally, [4]int{1, 1, 1, 0}},
		{"several programs", kinds[0].Tally, [4]int{1, 0, 0, 0}},
		{"rules", r.scorecard(time.Time{}).Rules().Tally, [4]int{5, 1, 0, 1}},
		{"person", r.scorecard(time.Time{}).People()["alice"].Tally, [4]int{5, 1, 0, 0}},
		{"later", r.scorecard(time.Now().Add(time.Hour)).Reviewer("rev").Tally, [4]int{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := [4]int{c.got.Proposals, c.got.Covered, c.got.Misses, c.got.Saved}
			if got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

// TestScorecard_BudgetsAndLoops: what a budget or a loop asks is for people alone, and so counts for
// neither reviewers nor rules.
func TestScorecard_BudgetsAndLoops(t *testing.T) {
	const move = `{"method":"tools/call","params":{"name":"move","arguments":{}},"participant_id":"files"}`
	for name, c := range map[string]struct {
		set     func(*authority.Config)
		counted int
	}{
		"no limits":                {func(*authority.Config) {}, 2},
		"the budget of a space":    {func(cfg *authority.Config) { cfg.Budget = authority.Budget{Calls: 1} }, 1},
		"loops":                    {func(cfg *authority.Config) { cfg.Loops = authority.Loops{Identical: 1} }, 1},
		"the budget of the caller": {func(cfg *authority.Config) { setBudget(cfg, "coder", authority.Budget{Calls: 1}) }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := reviewedConfig(t)
			coder := cfg.Participants["coder"]
			coder.Capabilities = append(coder.Capabilities, pattern(t, `{"kind":"mcp.request","payload":{"params":{"name":"move"}}}`))
			cfg.Participants["coder"] = coder
			c.set(cfg)
			r := openWith(t, cfg, nil)
			r.must("coder", `{"kind":"mcp.request","to":["files"],"payload":`+move+`}`)
			r.proposes("asked", "move", `{}`, "")
			r.judges("asked", "approve")
			r.decides("alice", "asked", false)
			r.proposes("not-allowed", "Bash", `{"command":"ls"}`, "")
			r.judges("not-allowed", "approve")
			r.decides("alice", "not-allowed", true)
			// What the proposer may do by now changes nothing about what was asked.
			r.must("alice", `{"kind":"capability.grant","payload":{"recipient":"coder","capabilities":[{"kind":"mcp.request","payload":{"params":{"name":"Bash"}}}]}}`)
			r.must("alice", `{"kind":"capability.revoke","payload":{"recipient":"coder","capabilities":[{"kind":"mcp.request","payload":{"params":{"name":"move"}}}]}}`)
			card := r.scorecard(time.Time{})
			rev, rules := card.Reviewer("rev").Tally, card.Rules().Tally
			if rev.Proposals != c.counted || rev.Compared != c.counted || rev.Misses != c.counted-1 || rules.Proposals != c.counted {
				t.Errorf("reviewer %+v, rules %+v; want %d proposals of each", rev, rules, c.counted)
			}
			if compared, sinceMiss := card.Proof("rev"); compared != c.counted || sinceMiss != 1 {
				t.Errorf("the proof is %d, %d since the last miss", compared, sinceMiss)
			}
			if got := card.People()["alice"].Tally; got.Covered != 2 {
				t.Errorf("alice has decided on %d, want 2", got.Covered)
			}
		})
	}
}

func setBudget(cfg *authority.Config, id protocol.ParticipantID, b authority.Budget) {
	p := cfg.Participants[id]
	p.Budget = b
	cfg.Participants[id] = p
}

// TestScorecard_WhoIsAPerson: a decision of which the log does not say who decided is that of a
// person if the deciders name its sender, and it was not invited under a name that they use.
func TestScorecard_WhoIsAPerson(t *testing.T) {
	for _, c := range []struct {
		who    protocol.ParticipantID
		people []string // of the deciders
		want   int
	}{
		{"opsann", []string{"ops*"}, 1},
		{"opseve", []string{"ops*"}, 0}, // invited
		{"bob", []string{"ops*"}, 0},
		{"opseve", nil, 1}, // the deciders name nobody
	} {
		t.Run(fmt.Sprintf("%s of %s", c.who, c.people), func(t *testing.T) {
			cfg := reviewedConfig(t)
			cfg.Participants["opsann"] = cfg.Participants["bob"]
			cfg.Deciders.People = nil
			if c.people != nil {
				cfg.Deciders.People = []authority.Stage{{People: c.people}}
			}
			r := openWith(t, cfg, nil)
			r.must("alice", `{"kind":"space.invite","payload":{"participant_id":"opseve","initial_capabilities":["decide","mcp.reject"]}}`)
			r.proposes("p", "move", `{}`, "")
			r.judges("p", "approve")
			reject := journal.Draft{Settles: "p", Envelope: protocol.Envelope{
				ID: "d", Kind: protocol.KindMCPReject, From: c.who, TS: time.Now(), Correlation: protocol.CorrelateTo("p"), Payload: []byte(`{"reason":"unsafe"}`),
			}}
			reject.CheckedAtStateSeq = r.Head()
			if x := r.log.Append(t.Context(), "lab", []journal.Draft{reject})[0]; x.Err != nil {
				t.Fatal(x.Err)
			}
			if got := r.scorecard(time.Time{}).Reviewer("rev").Misses; got != c.want {
				t.Errorf("%d misses, want %d", got, c.want)
			}
		})
	}
}

// TestScorecard_Bounds: what is before the newest entries is not read.
func TestScorecard_Bounds(t *testing.T) {
	testkit.OneGoroutine(t)
	r := openReviewed(t, nil)
	r.proposes("p1", "move", `{}`, "")
	r.judges("p1", "approve")
	drafts := make([]journal.Draft, 1000)
	for i := 0; i < space.MaxScoredEntries; i += len(drafts) {
		for k := range drafts {
			drafts[k] = journal.Draft{Envelope: protocol.Envelope{ID: protocol.ID(fmt.Sprint("n", i+k)), Kind: "x.note", From: "alice", TS: time.Now(), Payload: []byte(`{}`)}}
		}
		for _, result := range r.log.Append(context.Background(), "lab", drafts) {
			if result.Err != nil {
				t.Fatal(result.Err)
			}
		}
	}
	for _, c := range []struct {
		since   time.Time
		partial bool
	}{{time.Time{}, true}, {time.Now().Add(24 * time.Hour), false}} {
		card, scanned, partial, err := r.Scorecard(t.Context(), r.Deciders(), c.since)
		if err != nil || scanned != space.MaxScoredEntries || partial != c.partial || card.Reviewer("rev").Proposals != 0 {
			t.Errorf("since %s: %d entries, partial %v, %d proposals, %v", c.since, scanned, partial, card.Reviewer("rev").Proposals, err)
		}
	}
}

// TestScorecard_Memory: opinions on proposals that the log no longer has are held in memory, up to a
// bound.
func TestScorecard_Memory(t *testing.T) {
	r := openReviewed(t, nil)
	const n = 20_000
	drafts := make([]journal.Draft, n)
	for i := range drafts {
		drafts[i] = journal.Draft{Envelope: protocol.Envelope{
			ID: protocol.ID(fmt.Sprint("o", i)), Kind: protocol.KindMCPOpinion, From: "rev", TS: time.Now(),
			Correlation: protocol.CorrelateTo(protocol.ID(fmt.Sprint("gone", i))), Payload: []byte(`{"verdict":"approve"}`),
		}}
	}
	r.log.Append(t.Context(), "lab", drafts)
	card, scanned, partial, err := r.Scorecard(t.Context(), r.Deciders(), time.Time{})
	if err != nil || !partial || scanned == n || card.Size() < space.MaxScorecardBytes || card.Size() > space.MaxScorecardBytes+1000 {
		t.Errorf("%d entries, partial %v, %d bytes, %v", scanned, partial, card.Size(), err)
	}
}

// TestPromotion_IsWork: what a promotion has read is charged to its sender.
func TestPromotion_IsWork(t *testing.T) {
	spent := &ledger{}
	cfg := reviewedConfig(t)
	alice := cfg.Participants["alice"]
	alice.NewLimiter = func(authority.Limiter) authority.Limiter { return spent }
	cfg.Participants["alice"] = alice
	r := openWith(t, cfg, nil)
	r.proposes("p1", "move", `{}`, "")
	for _, code := range []protocol.Code{protocol.CodeCapabilityViolation, protocol.CodeRateLimited} {
		r.refuses("alice", changeMode("promote", "rev", ""), code, "")
	}
	if spent.worked == 0 {
		t.Error("nothing is charged")
	}
}

func BenchmarkSpace_Scorecard(b *testing.B) {
	r := openReviewed(b, nil)
	drafts := make([]journal.Draft, 0, space.MaxScoredEntries)
	for i := range space.MaxScoredEntries / 5 {
		id := func(what string) protocol.ID { return protocol.ID(fmt.Sprint(what, i)) }
		add := func(e protocol.Envelope, settles protocol.ID, private string) {
			drafts = append(drafts, journal.Draft{Envelope: e, Settles: settles, Private: []byte(private)})
		}
		call := fmt.Appendf(nil, `{"method":"tools/call","params":{"name":"Bash","arguments":{"command":"git push origin v%d"}},"participant_id":"files"}`, i)
		add(protocol.Envelope{ID: id("c"), Kind: protocol.KindChat, From: "coder", Payload: []byte(`{"text":"working"}`)}, "", "")
		add(protocol.Envelope{ID: id("p"), Kind: protocol.KindMCPProposal, From: "coder", Payload: call}, "", "")
		add(protocol.Envelope{ID: id("o"), Kind: protocol.KindMCPOpinion, From: "rev", Correlation: protocol.CorrelateTo(id("p")), Payload: []byte(`{"verdict":"approve"}`)}, "", "")
		add(protocol.Envelope{ID: id("d"), Kind: protocol.KindMCPRequest, From: "alice", To: []protocol.ParticipantID{"files"}, Correlation: protocol.CorrelateTo(id("p")), Payload: call}, id("p"), `{"reason":{"policy":"x","rule":"*","decider":"person"}}`)
		add(protocol.Envelope{ID: id("r"), Kind: protocol.KindMCPResponse, From: "files", Correlation: protocol.CorrelateTo(id("d")), Payload: []byte(`{"result":{}}`)}, "", "")
	}
	for len(drafts) > 0 {
		r.log.Append(context.Background(), "lab", drafts[:1000])
		drafts = drafts[1000:]
	}
	b.ReportAllocs()
	for b.Loop() {
		card, scanned, _, err := r.Scorecard(context.Background(), r.Deciders(), time.Time{})
		if err != nil || scanned != space.MaxScoredEntries {
			b.Fatal(scanned, err)
		}
		if compared, _ := card.Proof("rev"); compared != scanned/5 {
			b.Fatal(compared)
		}
	}
	b.ReportMetric(float64(space.MaxScoredEntries)*float64(b.N)/b.Elapsed().Seconds(), "envelopes/s")
}
