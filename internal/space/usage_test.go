package space_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/internal/space/authority"
	"github.com/meup-protocol/meup/protocol"
)

// budgetRoom is a room in which coder may use 5 USD a day, with a clock.
type budgetRoom struct {
	*room
	now atomic.Pointer[time.Time]
	n   int
}

func openBudget(t *testing.T, log journal.Journal, cfg *authority.Config) *budgetRoom {
	t.Helper()
	b := &budgetRoom{}
	noon := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	b.now.Store(&noon)
	b.room = openWith(t, cfg, func(s *space.Services) {
		s.Clock = func() time.Time { return *b.now.Load() }
		if log != nil {
			s.Journal = log
		}
	})
	return b
}

func budgetConfig(t *testing.T, b authority.Budget) *authority.Config {
	t.Helper()
	cfg := rights{"alice": {"*"}, "coder": {"mcp.request", "reasoning/*", "chat"}, "peer": {"decide", "mcp.request"}, "files": {"mcp.response"}}.config(t)
	setBudget(cfg, "coder", b)
	return cfg
}

var fiveDollars = authority.Budget{Cost: authority.MoneyOf(5), Currency: "USD"}

// call makes a call as coder.
func (b *budgetRoom) call() *protocol.Error {
	b.n++
	return b.say("coder", fmt.Sprintf(`{"kind":"mcp.request","to":["files"],"payload":{"id":1,"method":"tools/call","params":{"name":"read","arguments":{"n":%d}}}}`, b.n))[0].Err
}

func (b *budgetRoom) spend(cost float64) {
	b.must("coder", fmt.Sprintf(`{"kind":"reasoning.cancel","context":"c","payload":{"metadata":{"cost":%v,"currency":"USD"}}}`, cost))
}

func (b *budgetRoom) wantAsked(limit, text string) {
	b.t.Helper()
	err := b.call()
	if err == nil || err.Code != protocol.CodeCapabilityViolation || err.Limit != limit || !strings.Contains(err.Message, text) {
		b.t.Errorf("the call: %+v; want it to be proposed by %s: %q", err, limit, text)
	}
}

func (b *budgetRoom) wantAllowed() {
	b.t.Helper()
	if err := b.call(); err != nil {
		b.t.Errorf("the call is refused: %v", err)
	}
}

// TestBudget_Asks: a call beyond the budget is proposed, approved once, or made directly after
// the budget was extended.
func TestBudget_Asks(t *testing.T) {
	b := openBudget(t, nil, budgetConfig(t, fiveDollars))
	b.wantAllowed()
	b.spend(4.5)
	b.wantAllowed()
	b.spend(0.5)
	b.wantAsked("budget.cost", "coder has used 5.00 of 5.00 USD today")
	if o := b.say("coder", `{"kind":"mcp.request","to":["files"],"payload":{"id":1,"method":"tools/list"}}`)[0]; o.Err != nil {
		t.Errorf("what is no call of a tool is refused: %v", o.Err)
	}

	// It may propose the call, without a capability for proposals, and no other one.
	b.must("coder", `{"id":"p-1","kind":"mcp.proposal","payload":{"participant_id":"files","method":"tools/call","params":{"name":"read"}}}`)
	if o := b.say("files", `{"id":"p-2","kind":"mcp.proposal","payload":{"participant_id":"files","method":"tools/call","params":{"name":"read"}}}`)[0]; o.Err == nil {
		t.Error("a participant without a budget proposes")
	}
	e, err := b.log.Lookup(t.Context(), "lab", "p-1")
	if err != nil {
		t.Fatal(err)
	}
	if got := b.AskedBecause(&e.Envelope); got != "coder has used 5.00 of 5.00 USD today" {
		t.Errorf("the proposal is asked because %q", got)
	}
	approval := `{"kind":"mcp.request","to":["files"],"correlationId":"p-1","payload":{"id":1,"method":"tools/call","params":{"name":"read"}}}`
	b.refuses("peer", approval, protocol.CodeCapabilityViolation, "Only people decide on this call, because coder has used 5.00 of 5.00 USD today")
	b.refuses("peer", `{"kind":"mcp.reject","correlationId":"p-1","payload":{"reason":"other"}}`, protocol.CodeCapabilityViolation, "Only people decide")
	if b.MayDecide("peer", &e.Envelope) || !b.MayDecide("alice", &e.Envelope) {
		t.Error("another agent may decide on what a budget asks, or a person may not")
	}
	b.must("alice", `{"kind":"mcp.request","to":["files"],"correlationId":"p-1","payload":{"id":1,"method":"tools/call","params":{"name":"read"}}}`)
	b.wantAsked("budget.cost", "coder has used")

	for _, self := range []string{`{"participant_id":"coder","cost":1,"currency":"USD"}`, `{"cost":1,"currency":"USD"}`} {
		if o := b.say("coder", `{"kind":"budget.extend","payload":`+self+`}`)[0]; o.Err == nil || o.Err.Code != protocol.CodeCapabilityViolation {
			t.Errorf("%s: %v", self, o.Err)
		}
	}
	b.must("alice", `{"kind":"budget.extend","payload":{"participant_id":"coder","cost":1,"currency":"USD","reason":"go on"}}`)
	b.wantAllowed()
	if got := b.AskedBecause(&e.Envelope); got != "" {
		t.Errorf("the proposal is asked because %q", got)
	}
	b.spend(1.25)
	b.wantAsked("budget.cost", "coder has used 6.25 of 6.00 USD today")

	tomorrow := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	b.now.Store(&tomorrow)
	b.wantAllowed()
}

// TestBudget_RuleOfTheDeciders: a call that a rule of the deciders allows is asked by the budget too, so
// that no reviewer passes it on.
func TestBudget_RuleOfTheDeciders(t *testing.T) {
	cfg := judged(t, decides)
	cfg.Deciders.Rules = append(cfg.Deciders.Rules, authority.Rule{Capability: tool(t, "write_file")})
	agent := cfg.Participants["agent"]
	agent.Capabilities = append(agent.Capabilities, pattern(t, `"reasoning/*"`))
	cfg.Participants["agent"] = agent
	setBudget(cfg, "agent", fiveDollars)
	cfg.Participants["rev"] = rights{"rev": {"mcp.opinion", "decide", "mcp.request"}}.config(t).Participants["rev"]
	b := openBudget(t, nil, cfg)
	b.must("agent", direct("r1", "write_file", "x"))
	b.must("agent", `{"kind":"reasoning.cancel","context":"c","payload":{"metadata":{"cost":5,"currency":"USD"}}}`)
	b.refuses("agent", direct("r2", "write_file", "x"), violation, "agent has used 5.00 of 5.00 USD today")
	b.must("agent", proposal("p1", "write_file"))
	if o := b.say("rev", opinion(`"p1"`, digest(t, "write_file")))[0]; o.Err != nil || o.Decides {
		t.Errorf("an opinion: %+v", o)
	}
	b.refuses("rev", approval("", "p1", "write_file"), violation, "Only people decide on this call, because agent has used 5.00 of 5.00 USD today")
	b.must("alice", approval("", "p1", "write_file"))
}

// TestBudget_OnlyProposes: a participant that may make no calls itself is held up by its budget, since no
// reviewer decides for it. Others with the right to decide do, since it has asked them in any case.
func TestBudget_OnlyProposes(t *testing.T) {
	cfg := judged(t, decides)
	agent := cfg.Participants["agent"]
	agent.Capabilities = append(agent.Capabilities, pattern(t, `"reasoning/*"`))
	cfg.Participants["agent"] = agent
	setBudget(cfg, "agent", fiveDollars)
	cfg.Participants["rev"] = rights{"rev": {"mcp.opinion", "decide", "mcp.request"}}.config(t).Participants["rev"]
	b := openBudget(t, nil, cfg)
	b.must("agent", proposal("p1", "write_file"))
	if o := b.say("rev", opinion(`"p1"`, digest(t, "write_file")))[0]; o.Err != nil || !o.Decides {
		t.Errorf("an opinion within the budget: %+v", o)
	}
	b.must("rev", approval("", "p1", "write_file"))
	b.must("agent", `{"kind":"reasoning.cancel","context":"c","payload":{"metadata":{"cost":5,"currency":"USD"}}}`)
	b.must("agent", proposal("p2", "write_file"))
	if o := b.say("rev", opinion(`"p2"`, digest(t, "write_file")))[0]; o.Err != nil || o.Decides {
		t.Errorf("an opinion: %+v", o)
	}
	b.refuses("rev", rejection("", "p2"), violation, "Only people decide on this call, because agent has used 5.00 of 5.00 USD today")
	b.must("alice", approval("", "p2", "write_file"))
}

// TestBudget_OfTheDecider: who may make no calls without a question makes none by approvals either,
// of proposals of a participant that could not make them.
func TestBudget_OfTheDecider(t *testing.T) {
	for name, set := range map[string]func(*authority.Config){
		"its own":      func(cfg *authority.Config) { setBudget(cfg, "coder", fiveDollars) },
		"of the space": func(cfg *authority.Config) { cfg.Budget = fiveDollars },
	} {
		t.Run(name, func(t *testing.T) {
			cfg := budgetConfig(t, authority.Budget{})
			cfg.Participants["pal"] = rights{"pal": {"mcp.proposal"}}.config(t).Participants["pal"]
			set(cfg)
			b := openBudget(t, nil, cfg)
			approves := func(who protocol.ParticipantID, id string) *protocol.Error {
				b.must("pal", fmt.Sprintf(`{"id":%q,"kind":"mcp.proposal","payload":{"participant_id":"files","method":"tools/call","params":{"name":"read"}}}`, id))
				return b.say(who, fmt.Sprintf(`{"kind":"mcp.request","to":["files"],"correlationId":%q,"payload":{"id":1,"method":"tools/call","params":{"name":"read"}}}`, id))[0].Err
			}
			if err := approves("coder", "p-1"); err != nil {
				t.Fatal(err)
			}
			b.spend(5)
			err := approves("coder", "p-2")
			if code(err) != violation || !strings.Contains(err.Message, "Only people decide on this call, because ") || !strings.Contains(err.Message, " has used 5.00 of 5.00 USD today") {
				t.Errorf("%+v", err)
			}
			if err := approves("alice", "p-3"); err != nil {
				t.Errorf("a person: %v", err)
			}
			b.must("pal", `{"id":"p-4","kind":"mcp.proposal","payload":{"participant_id":"files","method":"resources/list"}}`)
			b.refuses("coder", `{"kind":"mcp.request","to":["files"],"correlationId":"p-4","payload":{"id":1,"method":"tools/call","params":{"name":"read"},"edited":true}}`, violation, "Only people decide")
			b.must("coder", `{"kind":"mcp.request","to":["files"],"correlationId":"p-4","payload":{"id":1,"method":"resources/list"}}`)
		})
	}
}

// TestBudget_Hostile: nobody gets more of its own budget, and nobody uses up that of another one.
func TestBudget_Hostile(t *testing.T) {
	const used = `coder {"kind":"reasoning.cancel","context":"c","payload":{"metadata":{"cost":5,"currency":"USD"}}}`
	for name, c := range map[string]struct {
		frames []string // "WHO FRAME" or "WHO FRAME → CODE"
		used   string   // of 5 USD by coder; "": less
	}{
		"a negative cost": {[]string{used, `coder {"kind":"participant.status","payload":{"metadata":{"cost":-5,"currency":"USD"}}}`,
			`coder {"kind":"reasoning.cancel","context":"c","payload":{"metadata":{"cost":-5,"currency":"USD"}}}`}, "5.00 of 5.00"},
		"no number": {[]string{used, `coder {"kind":"reasoning.cancel","context":"c","payload":{"metadata":{"cost":"NaN","currency":"USD"}}}`,
			`coder {"kind":"reasoning.cancel","context":"c","payload":{"metadata":{"cost":1e999,"currency":"USD"}}}`}, "5.00 of 5.00"},
		"a report for another one": {[]string{`peer {"kind":"participant.status","payload":{"participant_id":"coder","from":"coder","metadata":{"cost":9,"currency":"USD"}}}`,
			`peer {"from":"coder","kind":"participant.status","payload":{"metadata":{"cost":9,"currency":"USD"}}} → identity_mismatch`,
			`coder {"id":"s","kind":"reasoning.start","payload":{"message":"x"}}`, `peer {"kind":"reasoning.conclusion","context":"s","payload":{"message":"x","metadata":{"cost":9,"currency":"USD"}}}`}, ""},
		"an id again": {[]string{`coder {"id":"r","kind":"reasoning.cancel","context":"c","payload":{"metadata":{"cost":4,"currency":"USD"}}}`,
			`coder {"id":"r","kind":"reasoning.cancel","context":"c","payload":{"metadata":{"cost":4,"currency":"USD"}}}`}, ""},
		"an extension again": {[]string{used, used, `alice {"id":"e","kind":"budget.extend","payload":{"participant_id":"coder","cost":3,"currency":"USD"}}`,
			`alice {"id":"e","kind":"budget.extend","payload":{"participant_id":"coder","cost":3,"currency":"USD"}}`}, "10.00 of 8.00"},
		"its own extension": {[]string{used, `boss {"kind":"budget.extend","payload":{"participant_id":"boss","calls":1}} → capability_violation`,
			`coder {"from":"alice","kind":"budget.extend","payload":{"participant_id":"coder","cost":1,"currency":"USD"}} → identity_mismatch`,
			`coder {"kind":"budget.extend","payload":{"participant_id":"coder","cost":1,"currency":"USD"}} → capability_violation`}, "5.00 of 5.00"},
		"an extension that is none": {[]string{used, `alice {"kind":"budget.extend","payload":{"participant_id":"coder","cost":-1,"currency":"USD"}} → invalid_payload`,
			`alice {"kind":"budget.extend","payload":{"participant_id":"coder","cost":1,"currency":"EUR"}} → invalid_payload`,
			`alice {"kind":"budget.extend","payload":{"participant_id":"coder","cost":1e300,"currency":"USD"}} → invalid_payload`,
			`alice {"kind":"budget.extend","payload":{"participant_id":"coder","calls":-1}} → invalid_payload`,
			`alice {"kind":"budget.extend","payload":{"participant_id":"coder","calls":1}} → invalid_payload`,
			`alice {"kind":"budget.extend","payload":{"participant_id":"nobody","cost":1,"currency":"USD"}} → unknown_participant`,
			`alice {"kind":"budget.extend","payload":{"participant_id":"","cost":1,"currency":"USD"}} → invalid_payload`,
			`alice {"kind":"budget.extend","payload":{"participant_id":7,"cost":1,"currency":"USD"}} → invalid_payload`,
			`alice {"kind":"budget.extend","payload":{"cost":1,"currency":"USD"}} → invalid_payload`}, "5.00 of 5.00"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := budgetConfig(t, fiveDollars)
			boss := rights{"boss": {"budget.extend"}}.config(t).Participants["boss"]
			boss.Budget = authority.Budget{Calls: 1}
			peer := cfg.Participants["peer"]
			peer.Capabilities = append(peer.Capabilities, pattern(t, `"participant.status"`), pattern(t, `"reasoning/*"`))
			coder := cfg.Participants["coder"]
			coder.Capabilities = append(coder.Capabilities, pattern(t, `"participant.status"`))
			cfg.Participants["boss"], cfg.Participants["peer"], cfg.Participants["coder"] = boss, peer, coder
			b := openBudget(t, nil, cfg)
			b.replay(c.frames...)
			if c.used == "" {
				b.wantAllowed()
				return
			}
			b.wantAsked("budget.cost", "coder has used "+c.used+" USD today")
		})
	}
}

// Calls of one frame batch count before they are in the log.
func TestBudget_CallsOfABurst(t *testing.T) {
	b := openBudget(t, nil, budgetConfig(t, authority.Budget{Calls: 3}))
	frames := make([]string, 10)
	for i := range frames {
		frames[i] = fmt.Sprintf(`{"kind":"mcp.request","to":["files"],"payload":{"id":%d,"method":"tools/call","params":{"name":"read"}}}`, i)
	}
	admitted := 0
	for _, o := range b.say("coder", frames...) {
		if o.Err == nil {
			admitted++
		}
	}
	if admitted != 3 {
		t.Errorf("%d calls are admitted, want 3", admitted)
	}
	b.wantAsked("budget.calls", "coder has made 3 of 3 calls today")
}

// TestBudget_Restart: what was used today is read from the log when the space is opened, also
// behind entries whose time is of another day.
func TestBudget_Restart(t *testing.T) {
	log := journal.NewMemory(journal.MemoryOptions{})
	b := openBudget(t, log, budgetConfig(t, fiveDollars))
	noon := *b.now.Load()
	b.spend(6)
	b.must("alice", `{"kind":"budget.extend","payload":{"participant_id":"coder","cost":1,"currency":"USD"}}`)
	for _, days := range []int{-3, 2} { // the clock was set
		wrong := noon.AddDate(0, 0, days)
		b.now.Store(&wrong)
		b.spend(100)
		b.must("coder", `{"kind":"chat","payload":{"message":"a"}}`)
	}
	b.now.Store(&noon)
	b.wantAsked("budget.cost", "coder has used 6.00 of 6.00 USD today")
	again := openBudget(t, &reopened{Journal: log}, budgetConfig(t, fiveDollars))
	again.wantAsked("budget.cost", "coder has used 6.00 of 6.00 USD today")
}

// reopened is a log that another hub has followed.
type reopened struct {
	journal.Journal
	fails atomic.Bool
}

func (*reopened) Follow(journal.Sink, journal.Replaced) {}

func (l *reopened) Range(ctx context.Context, name string, q journal.Query) iter.Seq2[*journal.Entry, error] {
	if l.fails.Load() {
		return func(yield func(*journal.Entry, error) bool) { yield(nil, journal.ErrUnavailable) }
	}
	return l.Journal.Range(ctx, name, q)
}

// TestBudget_Reload: a budget that a reload adds counts what was used before it.
func TestBudget_Reload(t *testing.T) {
	none := authority.Budget{}
	b := openBudget(t, nil, budgetConfig(t, none))
	b.spend(6)
	b.wantAllowed()
	set := func(cfg *authority.Config) {
		b.hub.Reload(func(name string) (*authority.Config, bool) { return cfg, name == cfg.Name })
	}
	set(budgetConfig(t, fiveDollars))
	b.wantAsked("budget.cost", "coder has used 6.00 of 5.00 USD today")
	set(budgetConfig(t, none))
	b.wantAllowed()
}

// TestBudget_Unreadable: if the log cannot be read, calls are proposed until it can be.
func TestBudget_Unreadable(t *testing.T) {
	log := &reopened{Journal: journal.NewMemory(journal.MemoryOptions{})}
	b := openBudget(t, log, budgetConfig(t, authority.Budget{}))
	set := func(cfg *authority.Config) {
		b.hub.Reload(func(name string) (*authority.Config, bool) { return cfg, name == cfg.Name })
	}
	log.fails.Store(true)
	set(budgetConfig(t, fiveDollars))
	b.wantAsked("budget", "what coder has used today cannot be read")
	log.fails.Store(false)
	set(budgetConfig(t, fiveDollars))
	b.wantAllowed()
}

// TestLoops_Asks: a loop is proposed, also after the space was opened again; an approval lets
// it go on.
func TestLoops_Asks(t *testing.T) {
	log := journal.NewMemory(journal.MemoryOptions{})
	cfg := func() *authority.Config {
		c := budgetConfig(t, authority.Budget{})
		c.Loops = authority.Loops{Identical: 3, Hops: 4}
		return c
	}
	const same = `{"method":"tools/call","params":{"name":"read"}}`
	call := func(b *budgetRoom) *protocol.Error {
		return b.say("coder", `{"kind":"mcp.request","to":["files"],"payload":`+same+`}`)[0].Err
	}
	b := openBudget(t, log, cfg())
	for range 3 {
		if err := call(b); err != nil {
			t.Fatal(err)
		}
	}
	again := openBudget(t, &reopened{Journal: log}, cfg())
	for _, r := range []*budgetRoom{again, b} {
		if err := call(r); err == nil || err.Limit != "loops.identical" || err.Code != protocol.CodeCapabilityViolation {
			t.Errorf("%+v", err)
		}
	}
	b.must("coder", `{"id":"p-1","kind":"mcp.proposal","payload":{"participant_id":"files",`+same[1:]+`}`)
	e, err := b.log.Lookup(t.Context(), "lab", "p-1")
	if err != nil {
		t.Fatal(err)
	}
	if got := b.AskedBecause(&e.Envelope); got != "coder has made this call 3 times, with the same result" {
		t.Errorf("asked because %q", got)
	}
	b.must("alice", `{"kind":"mcp.request","to":["files"],"correlationId":"p-1","payload":`+same+`}`)
	if err := call(b); err != nil {
		t.Errorf("after an approval: %v", err)
	}
	for range 10 { // a person is not asked
		b.must("alice", `{"kind":"mcp.request","to":["files"],"payload":`+same+`}`)
	}
}
