package backtest_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/gateway/backtest"
	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/safety"
	"github.com/meup-protocol/meup/internal/space/authority"
	"github.com/meup-protocol/meup/internal/space/ring"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

const (
	call  = `"method": "tools/call", "params": {"name": "%s", "arguments": {"path": "a.txt"}}`
	token = "ghp_" + "R7kQ2mXv9LpZt4WcYb8NhJd3FsGa6EuT1oVi"
)

// office is a space in which people, agents, a tool host and users of an issuer work.
func office() rules {
	return rules{
		"alice": {`"*"`},
		"bob":   {`"chat"`, `"decide"`, `"capability.*"`, `"mcp.request"`},
		"coder": {`"chat"`, `"reasoning/*"`, `"mcp.proposal"`, `"mcp.withdraw"`, `{"kind":"mcp.request","payload":{"params":{"name":"read_*"}},"to":"files"}`, `{"kind":"chat","context":"private","deny":true}`},
		"files": {`"mcp.response"`, `"participant.status"`},
		guests:  {`"chat"`, `"mcp.proposal"`},
	}
}

func request(id, to, tool string) string {
	return fmt.Sprintf(`{"id":%q,"kind":"mcp.request","to":[%q],"payload":{"jsonrpc":"2.0","id":1,`+call+`}}`, id, to, tool)
}

func propose(id, tool string) string {
	return fmt.Sprintf(`{"id":%q,"kind":"mcp.proposal","payload":{"participant_id":"files",`+call+`}}`, id, tool)
}

func approve(id, proposal, tool string) string {
	return fmt.Sprintf(`{"id":%q,"kind":"mcp.request","to":["files"],"correlationId":%q,"payload":{"jsonrpc":"2.0","id":1,`+call+`}}`, id, proposal, tool)
}

func reject(id, proposal string) string {
	return fmt.Sprintf(`{"id":%q,"kind":"mcp.reject","correlationId":%q,"payload":{"reason":"not on a Friday"}}`, id, proposal)
}

func grant(id, to, capabilities string) string {
	return fmt.Sprintf(`{"id":%q,"kind":"capability.grant","payload":{"recipient":%q,"capabilities":[%s]}}`, id, to, capabilities)
}

// work fills the log of an office with everything that changes rights.
func work(t testing.TB) *world {
	w := newWorld(t, office(), safety.Config{})
	w.must("alice", `{"kind":"chat","payload":{"text":"hello"}}`)
	w.must("coder", `{"kind":"chat","to":["alice"],"payload":{"text":"in private"}}`)
	w.mustNot("coder", request("w0", "files", "write_file"))
	w.must("coder", request("r1", "files", "read_file"))
	w.must("files", `{"kind":"mcp.response","to":["coder"],"correlationId":"r1","payload":{"jsonrpc":"2.0","id":1,"result":{}}}`)

	// Proposals: approved, rejected, withdrawn, expired, open.
	w.must("coder", propose("p1", "write_file"), propose("p2", "delete_file"), propose("p3", "write_file"), propose("p5", "write_file"))
	w.must("coder", `{"id":"p4","kind":"mcp.proposal","payload":{"participant_id":"files","expires_at":"2026-11-01T00:01:00Z",`+fmt.Sprintf(call, "write_file")+`}}`)
	w.must("alice", approve("a1", "p1", "write_file"))
	w.must("bob", reject("a2", "p2"))
	w.must("coder", `{"kind":"mcp.withdraw","correlationId":"p3","payload":{"reason":"no_longer_needed"}}`)
	w.now = w.now.Add(time.Minute)
	w.mustNot("alice", approve("a4", "p4", "write_file"))

	// Grants: used, expired, revoked, derived from one that ends.
	w.must("alice", grant("g1", "coder", `{"kind":"mcp.request","payload":{"params":{"name":"write_*"}},"to":"files"}`))
	w.must("coder", request("w1", "files", "write_file"), request("w2", "files", "write_dir"))
	w.must("alice", `{"id":"g2","kind":"capability.grant","payload":{"recipient":"files","capabilities":["chat"],"ttl_seconds":30}}`)
	w.must("files", `{"kind":"chat","payload":{"text":"for a while"}}`)
	w.now = w.now.Add(time.Minute)
	w.mustNot("files", `{"kind":"chat","payload":{"text":"too late"}}`)
	w.must("alice", `{"kind":"capability.revoke","payload":{"recipient":"coder","grant_id":"g1"}}`)
	w.mustNot("coder", request("w3", "files", "write_file"))
	w.must("bob", grant("g3", "files", `"chat"`))
	w.must("files", `{"kind":"chat","payload":{"text":"again"}}`)
	w.must("alice", `{"kind":"capability.revoke","payload":{"recipient":"bob","capabilities":["chat"]}}`)
	w.mustNot("files", `{"kind":"chat","payload":{"text":"not any more"}}`)
	w.mustNot("bob", `{"kind":"chat","payload":{"text":"me neither"}}`)

	// Guests and invited participants, kicked and readmitted.
	w.must("gina", `{"kind":"chat","payload":{"text":"a guest"}}`, propose("p6", "read_file"))
	w.must("bob", reject("a6", "p6"))
	w.must("coder", `{"kind":"chat","to":["gina"],"payload":{"text":"welcome"}}`)
	w.must("alice", `{"id":"i1","kind":"space.invite","payload":{"participant_id":"invited:ivan","initial_capabilities":["chat","mcp.proposal"]}}`)
	at := w.space.Head()
	w.must("alice", `{"id":"g4","kind":"capability.grant","payload":{"recipient":"invited:ivan","capabilities":["decide","mcp.reject"]}}`)
	ivan := ring.Viewer{ID: "invited:ivan", VisibleAfter: at}
	for _, f := range []string{`{"kind":"chat","payload":{"text":"hi"}}`, reject("a5", "p5")} {
		if err := w.sayAs(ivan, protocol.DialectMEUP01, f); err != nil {
			t.Fatal(err)
		}
	}
	w.must("alice", `{"kind":"space.kick","payload":{"participant_id":"gina"}}`)
	w.mustNot("gina", `{"kind":"chat","payload":{"text":"out"}}`)
	w.must("alice", `{"kind":"space.invite","payload":{"participant_id":"gina","initial_capabilities":[]}}`)
	w.must("gina", `{"kind":"chat","payload":{"text":"back"}}`)
	w.must("alice", `{"kind":"participant.pause","to":["coder"],"payload":{"reason":"wait"}}`)
	w.mustNot("coder", `{"kind":"chat","payload":{"text":"paused"}}`)
	w.must("alice", `{"kind":"participant.resume","to":["coder"],"payload":{}}`)

	// Reasoning, of which a secret is masked.
	w.must("coder", `{"id":"c1","kind":"reasoning.start","payload":{"message":"begin"}}`)
	w.must("coder", `{"kind":"reasoning.thought","context":"c1","payload":{"message":"the token is `+token+`"}}`)
	w.must("coder", `{"kind":"reasoning.conclusion","context":"c1","payload":{"message":"done"}}`)
	w.must("alice", `{"kind":"chat","payload":{"text":"the end"}}`)
	return w
}

func TestRun_SameConfiguration(t *testing.T) {
	w := work(t)
	same := office().policy(t, safety.Config{})
	w.same(backtest.Options{New: same})
	w.same(backtest.Options{New: same, Current: same})
	for before := range w.space.Head() + 1 {
		w.same(backtest.Options{New: same, Log: cut{w.log, before}})
		w.same(backtest.Options{New: same, After: before})
	}
	w.same(backtest.Options{New: same, Log: visible{w.log, ""}, Partial: true})
	if r := w.run(backtest.Options{New: same}); r.Envelopes < 38 || r.Unjudged != 0 || r.Summary != "This configuration would have decided all of them as now." {
		t.Errorf("%d envelopes, %d not judged: %s", r.Envelopes, r.Unjudged, r.Summary)
	}
}

// TestRun_Dialects checks the answer of a client of MEW, which needs no capability.
func TestRun_Dialects(t *testing.T) {
	w := newWorld(t, office(), safety.Config{})
	w.must("alice", request("r1", "coder", "read_file"))
	answer := `{"protocol":"mew/v0.4","id":"7","kind":"mcp/response","to":["alice"],"correlation_id":["r1"],"payload":{"jsonrpc":"2.0","id":1,"result":{}}}`
	if err := w.sayAs(ring.Viewer{ID: "coder"}, protocol.DialectMEW04, answer); err != nil {
		t.Fatal(err)
	}
	w.same(backtest.Options{New: office().policy(t, safety.Config{})})
}

// TestRun_Current checks that a change is compared with the configuration in force, and not
// blamed for what an earlier reload has changed.
func TestRun_Current(t *testing.T) {
	before, now := office(), office().but("coder", `"chat"`, `"mcp.proposal"`, `{"kind":"mcp.request","payload":{"params":{"name":"write_*"}}}`).but("bob")
	w := newWorld(t, before, safety.Config{})
	w.must("coder", request("r1", "files", "read_file"), propose("p1", "write_file"))
	w.must("bob", `{"kind":"chat","payload":{"text":"my last day"}}`)
	w.reload(now)
	w.must("coder", request("w1", "files", "write_file"), propose("p2", "write_file")) // it asks of its own accord

	old, inForce := before.policy(t, safety.Config{}), now.policy(t, safety.Config{})
	if r := w.run(backtest.Options{New: inForce}); r.Different != 3 || r.Baseline != backtest.BaselineRecord {
		t.Errorf("%d envelopes differ from the record: %v", r.Different, summary(r))
	}
	w.same(backtest.Options{New: inForce, Current: inForce})

	r := w.run(backtest.Options{New: now.but("coder", `"chat"`).policy(t, safety.Config{}), Current: inForce})
	want := []string{
		"refused 1 mcp.request of coder: no capability allows it",
		"refused 1 mcp.request of coder: no capability allows it",
		"refused 2 mcp.proposal of coder: no capability allows it",
	}
	if got := summary(r); !slices.Equal(got, want) || r.Baseline != backtest.BaselineCurrent {
		t.Errorf("got %q, want %q", got, want)
	}
	if r := w.run(backtest.Options{New: old, Current: inForce}); r.Different != 1 || r.Asked != 1 {
		t.Errorf("the earlier configuration: %v", summary(r))
	}
}

// TestRun_Since checks that the state before the first envelope counts.
func TestRun_Since(t *testing.T) {
	w := work(t)
	same := office().policy(t, safety.Config{})
	all := w.run(backtest.Options{New: same})
	for s := range int(all.To.Sub(all.From)/time.Second) + 2 {
		since := all.From.Add(time.Duration(s) * time.Second)
		w.same(backtest.Options{New: same, Since: since})
	}
	if r := w.run(backtest.Options{New: same, Since: all.To}); r.Envelopes != 1 {
		t.Errorf("%d envelopes since the last one", r.Envelopes)
	}
}

func TestRun_OtherRules(t *testing.T) {
	reads, writes := `{"kind":"mcp.request","payload":{"params":{"name":"read_*"}},"to":"files"}`, `{"kind":"mcp.request","payload":{"params":{"name":"write_*"}},"to":"files"}`
	coder := office()["coder"]
	for _, tt := range []struct {
		name  string
		rules rules
		want  []string
	}{
		{"a right of no use", office().but("files", `"mcp.response"`, `"participant.status"`, `"stream.open"`), nil},
		{"a call may only be proposed", office().but("coder", `"chat"`, `"reasoning/*"`, `"mcp.proposal"`, `"mcp.withdraw"`), []string{
			`asked 1 mcp.request of coder: "mcp.proposal"`,
		}},
		{"no calls and no proposals", office().but("coder", `"chat"`, `"reasoning/*"`), []string{
			"refused 1 mcp.request of coder: no capability allows it",
			"refused 1 mcp.withdraw of coder: no capability allows it",
			"refused 1 mcp.proposal of coder approved by [alice]: no capability allows it",
			"refused 2 mcp.proposal of coder rejected by [bob invited:ivan]: no capability allows it",
			"refused 2 mcp.proposal of coder: no capability allows it",
		}},
		{"writing without a question", office().but("coder", append(slices.Clone(coder), writes)...), []string{
			"allowed 1 mcp.proposal of coder rejected by [invited:ivan]: " + writes,
			"allowed 3 mcp.proposal of coder: " + writes,
		}},
		{"reading is denied", office().but("coder", append(slices.Clone(coder), `{"kind":"mcp.request","payload":{"params":{"name":"read_*"}},"deny":true}`)...), []string{
			`asked 1 mcp.request of coder: "mcp.proposal"`,
		}},
		{"deleting without a question", office().but("coder", append(slices.Clone(coder), `{"kind":"mcp.request","payload":{"params":{"name":"delete_*"}}}`)...), []string{
			`allowed 1 mcp.proposal of coder rejected by [bob]: {"kind":"mcp.request","payload":{"params":{"name":"delete_*"}}}`,
		}},
		{"guests may read", office().but(guests, `"chat"`, `"mcp.proposal"`, reads), []string{
			"allowed 1 mcp.proposal of gina rejected by [bob]: " + reads,
		}},
		{"no guests", office().but(guests), []string{
			"refused 2 chat of gina: it is no participant",
			"refused 1 mcp.proposal of gina rejected by [bob]: it is no participant",
		}},
		{"bob decides nothing", office().but("bob", `"chat"`, `"capability.*"`), []string{
			"refused 2 mcp.reject of bob: no capability allows it",
		}},
		{"bob rejects, but not deletions", office().but("bob", `"chat"`, `"capability.*"`, `"mcp.reject"`, `{"kind":"decide","payload":{"params":{"name":"read_*"}}}`), []string{
			"refused 1 mcp.reject of bob: no capability allows it to decide on the proposal",
		}},
		{"bob may not grant", office().but("bob", `"chat"`, `"decide"`, `"mcp.request"`), []string{
			"refused 1 capability.grant of bob: no capability allows it",
		}},
		{"bob has no chat to grant", office().but("bob", `"decide"`, `"capability.*"`, `"mcp.request"`), []string{
			"refused 1 capability.grant of bob: it may not give these capabilities, or this identity",
			"refused 1 chat of files: no capability allows it",
		}},
		{"files is gone", office().but("files"), []string{
			"refused 1 capability.grant of alice: there is no such participant",
			"refused 1 capability.grant of bob: there is no such participant",
			"refused 1 mcp.request of alice: there is no participant files",
			"refused 1 mcp.response of files: no capability allows it",
			"refused 3 mcp.request of coder: there is no participant files",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := work(t)
			got := summary(w.run(backtest.Options{New: tt.rules.policy(t, safety.Config{})}))
			slices.Sort(tt.want)
			if !slices.Equal(got, tt.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
			}
		})
	}
}

// What is refused is told apart by what people decided on it, and what they approved comes first.
func TestRun_RefusedProposals(t *testing.T) {
	w := work(t)
	r := w.run(backtest.Options{New: office().but("coder", `"chat"`, `"reasoning/*"`).policy(t, safety.Config{}), Examples: 3})
	const want = "This configuration would have refused 1 call that was approved, 2 calls that were rejected and 4 envelopes."
	if r.Summary != want || r.LetThrough != 0 || r.Refused != 7 {
		t.Errorf("%d refused, %d let through: %s", r.Refused, r.LetThrough, r.Summary)
	}
	if g := r.Groups[0]; len(g.ApprovedBy) != 1 || len(g.Examples) != 1 || g.Examples[0].Approved != "alice" {
		t.Errorf("first: %+v", g)
	}
}

// TestRun_Safety checks texts that other safety rules would mask, refuse or leave.
func TestRun_Safety(t *testing.T) {
	reasoning, chats := kinds(t, "reasoning/*"), kinds(t, "reasoning/*", "chat")
	w := newWorld(t, office(), safety.Config{Kinds: reasoning})
	w.must("alice", `{"id":"m1","kind":"chat","payload":{"text":"use `+token+`"}}`, `{"id":"m2","kind":"chat","payload":{"text":"use no token"}}`)
	w.must("alice", `{"id":"c1","kind":"reasoning.start","payload":{"message":"the token is `+token+`"}}`)
	w.must("alice", `{"id":"m3","kind":"chat","to":["coder"],"payload":{"text":"[redacted:mine]","redacted":["mine"]}}`)

	for _, tt := range []struct {
		name string
		new  safety.Config
		want []string
	}{
		{"the same", safety.Config{Kinds: reasoning}, nil},
		{"chats are masked", safety.Config{Kinds: chats}, []string{"masked 1 chat of alice: github-pat"}},
		{"chats are refused", safety.Config{Kinds: chats, Action: safety.ActionBlock}, []string{"refused 1 chat of alice: github-pata safety rule refuses the text"}},
		{"nothing is masked", safety.Config{Kinds: kinds(t)}, []string{"unmasked 1 reasoning.start of alice: github-patthe log does not have the text"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			now, then := office().policy(t, tt.new), office().policy(t, safety.Config{Kinds: reasoning})
			then.SafetyID, now.SafetyID = "then", tt.name
			if tt.want == nil {
				now.SafetyID = "then"
			}
			got := w.run(backtest.Options{New: now, Current: then})
			if !slices.Equal(summary(got), tt.want) {
				t.Errorf("got %q, want %q", summary(got), tt.want)
			}
			for _, g := range got.Groups {
				for _, x := range g.Examples {
					if strings.Contains(x.What, token) {
						t.Errorf("the secret is shown: %s", x.What)
					}
				}
			}
		})
	}
	w.same(backtest.Options{New: office().policy(t, safety.Config{Kinds: reasoning})})
}

func kinds(t *testing.T, names ...string) []protocol.KindPattern {
	t.Helper()
	list := []protocol.KindPattern{}
	for _, name := range names {
		k, err := protocol.ParseKindPattern(name)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, k)
	}
	return list
}

// TestRun_Masked checks that an envelope is not called refused for text that was masked: a
// gateway compares the capabilities with the text as it was sent.
func TestRun_Masked(t *testing.T) {
	secretive := office().but("coder", `{"kind":"reasoning.*","payload":{"message":"/ghp_/"}}`)
	w := newWorld(t, secretive, safety.Config{})
	w.must("coder", `{"id":"c1","kind":"reasoning.start","payload":{"message":"the token is `+token+`"}}`)
	if r := w.run(backtest.Options{New: secretive.policy(t, safety.Config{})}); r.Different != 0 || r.Unjudged != 1 {
		t.Errorf("%d different, %d not judged", r.Different, r.Unjudged)
	}
	if r := w.run(backtest.Options{New: secretive.but("coder", `"chat"`).policy(t, safety.Config{})}); r.Refused != 1 {
		t.Errorf("without the kind: %v", summary(r))
	}
}

// TestRun_Unseen checks what a participant that does not observe can tell.
func TestRun_Unseen(t *testing.T) {
	w := newWorld(t, office(), safety.Config{})
	w.must("alice", `{"kind":"chat","payload":{"text":"to all"}}`, `{"kind":"chat","to":["bob"],"payload":{"text":"to bob"}}`, `{"kind":"chat","payload":{"text":"to all"}}`)
	r := w.run(backtest.Options{New: office().policy(t, safety.Config{}), Log: visible{w.log, "coder"}, Partial: true})
	if r.Different != 0 || r.Envelopes != 2 || r.Unseen != 1 {
		t.Errorf("%d different of %d, %d not seen", r.Different, r.Envelopes, r.Unseen)
	}
}

// TestRun_Administration checks participants that the administrative space has added and
// removed, with the race between its log and the log of the space.
func TestRun_Administration(t *testing.T) {
	w := newWorld(t, office(), safety.Config{})
	added := office().but("dora", `"chat"`)
	admin := func(frames ...string) {
		for i, f := range frames {
			w.now = w.now.Add(time.Second)
			in, err := protocol.Decode([]byte(f), protocol.DialectMEUP01, protocol.DefaultContextDepth)
			if err != nil {
				t.Fatal(err)
			}
			e := in.Envelope
			e.ID, e.From, e.TS = protocol.ID(fmt.Sprint("admin-", w.now.Unix(), "-", i)), "root", w.now
			if err := w.log.Append(context.Background(), "ops", []journal.Draft{{Envelope: e, State: true, CheckedAtStateSeq: 1 << 40}})[0].Err; err != nil {
				t.Fatal(err)
			}
		}
	}
	hour := func() { w.now = w.now.Add(time.Hour) }
	admin(`{"kind":"admin.participant.put","payload":{"space":"lab","participant_id":"dora","capabilities":["chat"]}}`)
	w.reload(added)
	hour()
	w.must("dora", `{"kind":"chat","payload":{"text":"hello"}}`)
	hour()
	admin(`{"kind":"admin.participant.remove","payload":{"space":"lab","participant_id":"dora"}}`)
	w.must("dora", `{"kind":"chat","payload":{"text":"the change is not in effect yet"}}`)
	w.reload(office())

	without, with := office().but(guests).config(t), added.but(guests).config(t)
	p := office().policy(t, safety.Config{})
	p.Administration = "ops"
	p.Space = func(d authority.Directory) *authority.Config {
		if d.Space("lab").Participant("dora") == nil {
			return without
		}
		return with
	}
	w.same(backtest.Options{New: p})
	p.Administration = ""
	if r := w.run(backtest.Options{New: p}); r.Refused != 2 {
		t.Errorf("without the administrative space: %v", summary(r))
	}
}

// TestRun_Random checks logs of many random envelopes. Under the configuration that was in
// force at all times, nothing differs but proposals of calls that need none.
func TestRun_Random(t *testing.T) {
	rng := testkit.Rand(t)
	pick := func(list ...string) string { return list[rng.IntN(len(list))] }
	caps := []string{
		`"*"`, `"chat"`, `"decide"`, `"mcp.*"`, `"mcp.proposal"`, `"mcp.reject"`, `"capability.*"`, `"space.*"`, `"observe"`, `"reasoning/*"`,
		`{"kind":"mcp.request","payload":{"params":{"name":"read_*"}}}`, `{"kind":"mcp.request","to":"p2"}`, `{"kind":"chat","to":"p1"}`,
		`{"kind":"decide","payload":{"params":{"name":"!delete_*"}}}`, `{"kind":"mcp.request","payload":{"params":{"name":"delete_*"}},"deny":true}`,
	}
	people := []string{"p1", "p2", "p3", "p4", "g1", "invited:i1"}
	tools := []string{"read_file", "write_file", "delete_file"}
	for range 20 {
		r := rules{guests: {pick(caps...), pick(caps...)}}
		for _, id := range people[:4] {
			r[protocol.ParticipantID(id)] = []string{pick(caps...), pick(caps...), pick(caps...)}
		}
		w := newWorld(t, r, safety.Config{})
		var proposals, grants []string
		for n := range 400 {
			id, from, to, tool := fmt.Sprint("e", n), pick(people...), pick(people...), pick(tools...)
			var frame string
			switch rng.IntN(12) {
			case 0, 1:
				frame = fmt.Sprintf(`{"id":%q,"kind":"chat","payload":{"text":"x"}}`, id)
			case 2:
				frame = fmt.Sprintf(`{"id":%q,"kind":"chat","to":[%q],"payload":{"text":"x"}}`, id, to)
			case 3:
				frame = request(id, to, tool)
			case 4, 5:
				frame = strings.ReplaceAll(propose(id, tool), `"files"`, strconv.Quote(to))
				proposals = append(proposals, id)
			case 6:
				if len(proposals) > 0 {
					frame = strings.ReplaceAll(approve(id, pick(proposals...), tool), `"files"`, strconv.Quote(to))
				}
			case 7:
				if len(proposals) > 0 {
					frame = reject(id, pick(proposals...))
				}
			case 8:
				frame = grant(id, to, pick(caps...))
				grants = append(grants, id)
			case 9:
				frame = fmt.Sprintf(`{"id":%q,"kind":"space.invite","payload":{"participant_id":"invited:i1","initial_capabilities":[%s],"ttl_seconds":100}}`, id, pick(caps...))
			case 10:
				if len(grants) > 0 && rng.IntN(2) == 0 {
					frame = fmt.Sprintf(`{"id":%q,"kind":"capability.revoke","payload":{"recipient":%q,"grant_id":%q}}`, id, to, pick(grants...))
				} else {
					frame = fmt.Sprintf(`{"id":%q,"kind":"capability.revoke","payload":{"recipient":%q,"capabilities":[%s]}}`, id, to, pick(caps...))
				}
			case 11:
				if rng.IntN(4) == 0 {
					frame = fmt.Sprintf(`{"id":%q,"kind":"space.kick","payload":{"participant_id":%q}}`, id, to)
				}
			}
			if frame != "" {
				_ = w.say(protocol.ParticipantID(from), frame) // many are rejected
			}
		}
		if w.space.Head() < 20 {
			t.Logf("only %d entries", w.space.Head())
		}
		same := r.policy(t, safety.Config{})
		for _, before := range []protocol.Seq{0, w.space.Head() / 2} {
			report := w.run(backtest.Options{New: same, Log: cut{w.log, before}})
			for _, g := range report.Groups {
				if g.Kind != protocol.KindMCPProposal || g.Outcome != backtest.Allowed {
					t.Errorf("%+v of %d", g, report.Envelopes)
				}
			}
		}
		w.same(backtest.Options{New: same, Current: same})
	}
}

// TestRun_Replayed checks the verdicts of random configurations against spaces that have
// them, and to which the same envelopes are sent.
func TestRun_Replayed(t *testing.T) {
	rng := testkit.Rand(t)
	pick := func(list ...string) string { return list[rng.IntN(len(list))] }
	caps := []string{
		`"chat"`, `"decide"`, `"mcp.*"`, `"mcp.request"`, `"mcp.reject"`, `"observe"`, `"reasoning/*"`, `{"kind":"chat","to":["p1","p2"]}`,
		`{"kind":"mcp.request","payload":{"params":{"name":"read_*"}}}`, `{"kind":"mcp.request","to":"p2"}`, `{"kind":"chat","payload":{"text":"!b"}}`,
		`{"kind":"decide","payload":{"params":{"name":"!delete_*"}}}`, `{"kind":"mcp.request","payload":{"params":{"name":"delete_*"}},"deny":true}`,
	}
	people := []string{"p1", "p2", "p3", "p4"}
	tools := []string{"read_file", "write_file", "delete_file"}
	total, refused := 0, 0
	for range 30 {
		everything, other := rules{}, rules{}
		for _, id := range people {
			everything[protocol.ParticipantID(id)] = []string{`"*"`, `"observe"`}
			other[protocol.ParticipantID(id)] = []string{`"mcp.proposal"`, pick(caps...), pick(caps...), pick(caps...)}
		}
		w, replay := newWorld(t, everything, safety.Config{}), newWorld(t, other, safety.Config{})
		var proposals []string
		rejected := map[protocol.ID]bool{}
		for n := range 200 {
			id, from, to, tool := fmt.Sprint("e", n), pick(people...), pick(people...), pick(tools...)
			frame := fmt.Sprintf(`{"id":%q,"kind":"chat","payload":{"text":%q}}`, id, pick("a", "b"))
			switch kind := rng.IntN(6); {
			case kind == 0:
				frame = fmt.Sprintf(`{"id":%q,"kind":"chat","to":[%q],"payload":{"text":"a"}}`, id, to)
			case kind == 1:
				frame = request(id, to, tool)
			case kind == 2:
				frame = strings.ReplaceAll(propose(id, tool), `"files"`, strconv.Quote(to))
				proposals = append(proposals, id)
			case kind == 3 && len(proposals) > 0:
				frame = strings.ReplaceAll(approve(id, pick(proposals...), tool), `"files"`, strconv.Quote(to))
			case kind == 4 && len(proposals) > 0:
				frame = reject(id, pick(proposals...))
			}
			if w.say(protocol.ParticipantID(from), frame) != nil {
				continue
			}
			replay.now = w.now.Add(-time.Second)
			rejected[protocol.ID(id)] = replay.say(protocol.ParticipantID(from), frame) != nil
		}
		differs := map[protocol.ID]bool{}
		for _, g := range w.run(backtest.Options{New: other.policy(t, safety.Config{}), Examples: 1000}).Groups {
			for _, x := range g.Examples {
				differs[x.ID] = g.Outcome != backtest.Allowed
			}
		}
		for id, want := range rejected {
			total++
			if want {
				refused++
			}
			if differs[id] != want {
				e, err := w.log.Lookup(t.Context(), "lab", id)
				t.Errorf("%s %s by %s: replayed %v, backtest %v (%v) with %v", e.Envelope.Kind, e.Envelope.Payload, e.Envelope.From, want, differs[id], err, other)
			}
		}
	}
	if refused < 500 || total-refused < 500 {
		t.Errorf("%d envelopes were rejected and %d admitted", refused, total-refused)
	}
}
