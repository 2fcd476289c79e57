package suggest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/meup-protocol/meup/internal/capability"
	"github.com/meup-protocol/meup/internal/gateway/backtest"
	"github.com/meup-protocol/meup/internal/gateway/suggest"
	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/space/authority"
	"github.com/meup-protocol/meup/protocol"
)

func command(text string) string { return `{"command":"` + text + `"}` }

// A suggestion has its decisions, and a patch with which nobody is asked any more.
func TestRun_Suggestion(t *testing.T) {
	w := office(t)
	w.approved(1, "coder", "files", "Bash", command("git diff a"), command("git diff b"))
	w.now = w.now.Add(24 * time.Hour)
	last := w.propose("coder", "files", "Bash", command("git diff c"))
	decision := w.approve("bob", last, "")
	no := w.propose("coder", "files", "Bash", command("git push"))
	w.reject("alice", no)
	r := w.run(w.options())
	if len(r.Suggestions) != 1 || r.Proposals != 4 || r.Approved != 3 || r.Rejected != 1 || r.Fewer != 3 {
		t.Fatalf("%+v", r)
	}
	s := r.Suggestions[0]
	if s.Days != 2 || !slices.Equal(s.By, []protocol.ParticipantID{"alice", "bob"}) || s.Fewer != 3 || s.ConfiguredIn != "lab" || s.Host != "files" || s.Tool != "Bash" {
		t.Errorf("%+v", s)
	}
	if x := s.For; len(x) != 2 || x[0].ID != last || x[0].Decision != decision || x[0].By != "bob" || x[0].What != `Bash {"command":"git diff c"}` || x[0].Outcome != "approved" {
		t.Errorf("%+v", x)
	}
	if x := s.Against; len(x) != 1 || x[0].ID != no || x[0].Reason != "no" || x[0].Outcome != "rejected" {
		t.Errorf("%+v", x)
	}
	var patch struct {
		Spaces map[string]struct {
			Participants map[string]struct{ Capabilities []any }
		}
	}
	if err := yaml.Unmarshal([]byte(s.Patch), &patch); err != nil {
		t.Fatalf("%v in\n%s", err, s.Patch)
	}
	text, err := json.Marshal(patch.Spaces["lab"].Participants["coder"].Capabilities)
	if err != nil {
		t.Fatal(err)
	}
	const want = `[{"kind":"mcp.request","payload":{"method":"tools/call","params":{"arguments":{"command":{"$shell":{"commands":["git diff **"]}}},"name":"Bash"}},"to":["files"]}]`
	if string(text) != want {
		t.Errorf("%s", text)
	}
	// With the patch, there is nothing more to suggest.
	id := s.ID
	p := w.cfg.Participants["coder"]
	c, err := capability.ParseJSON(s.Capabilities[0])
	if err != nil {
		t.Fatal(err)
	}
	p.Capabilities = append(slices.Clip(p.Capabilities), c)
	w.use("coder", p)
	if got := says(w.run(w.options())); got != "" {
		t.Errorf("with the patch: %s", got)
	}
	w.use("coder", authority.ParticipantConfig{Capabilities: p.Capabilities[:4]})
	if again := w.run(w.options()).Suggestions; len(again) != 1 || again[0].ID != id {
		t.Errorf("%+v", again)
	}
}

// use changes the configuration of a participant.
func (w *world) use(id protocol.ParticipantID, p authority.ParticipantConfig) {
	cfg := *w.cfg
	cfg.Participants = maps.Clone(cfg.Participants)
	cfg.Participants[id] = p
	w.cfg = cfg.Shared()("lab")
}

func TestRun_Approvers(t *testing.T) {
	w := office(t)
	for range 5 {
		w.approve("files", w.propose("coder", "files", "Bash", command("git diff a")), "")
	}
	w.approved(2, "coder", "files", "Bash", command("git diff a"))
	o := w.options()
	if got := says(w.run(o)); got != "allow coder 7 -7: Bash: `git diff a`" {
		t.Error(got)
	}
	o.Approvers = []protocol.ParticipantID{"alice"}
	if got := says(w.run(o)); got != "" {
		t.Error(got)
	}
	o.Min = 2
	if got := says(w.run(o)); got != "allow coder 2 -7: Bash: `git diff a`" {
		t.Error(got)
	}
}

// TestRun_Reviewers: what a reviewer approved is no approval of a person, unless it is asked for, and
// what a person called wrong is a rejection.
func TestRun_Reviewers(t *testing.T) {
	w := office(t)
	cfg := *w.cfg
	cfg.Deciders = authority.Deciders{Reviewers: []authority.Reviewer{{ID: "bob", Decides: true}}, People: []authority.Stage{{People: []string{"alice"}}}}
	w.cfg = cfg.Shared()("lab")
	var last protocol.ID
	for range 5 {
		last = w.approve("bob", w.propose("coder", "files", "Bash", command("git diff a")), "")
	}
	o := w.options()
	if got := says(w.run(o)); got != "" {
		t.Error(got)
	}
	o.Approvers = []protocol.ParticipantID{"bob"}
	if got := says(w.run(o)); got != "allow coder 5 -5: Bash: `git diff a`" {
		t.Error(got)
	}
	w.add(journal.Draft{Envelope: protocol.Envelope{From: "alice", Kind: protocol.KindReviewerDemote, Correlation: protocol.CorrelateTo(last), Payload: json.RawMessage(`{"participant_id":"bob"}`)}})
	if got := says(w.run(o)); got != `people coder 4: Bash {"command":"git diff a"}: a rule for it would also allow what alice rejected` {
		t.Error(got)
	}
}

// Decisions before the time do not count, in either direction.
func TestRun_Since(t *testing.T) {
	w := office(t)
	w.rejected(3, "coder", "files", "Bash", command("git diff a"))
	w.now = w.now.Add(time.Hour)
	o := w.options()
	o.Since = w.now
	last := w.propose("coder", "files", "lookup", `{}`)
	w.approved(3, "coder", "files", "Bash", command("git diff a"))
	if got := says(w.run(o)); got != "allow coder 3 -3: Bash: `git diff a`" {
		t.Error(got)
	}
	o.Since = time.Time{}
	e, err := w.log.Lookup(context.Background(), "lab", last)
	if err != nil {
		t.Fatal(err)
	}
	o.After = e.Envelope.Seq
	if got := says(w.run(o)); got != "allow coder 3 -3: Bash: `git diff a`" {
		t.Error(got)
	}
	o.After = 0
	open := w.propose("coder", "files", "Bash", command("git diff a"))
	w.now = w.now.Add(time.Hour)
	o.Since = w.now
	w.reject("alice", open) // the proposal is older
	w.approved(3, "coder", "files", "Bash", command("git diff a"))
	if got := says(w.run(o)); !strings.HasPrefix(got, "people coder 3: ") {
		t.Error(got)
	}
	o.Since = time.Time{}
	if got := says(w.run(o)); !strings.HasPrefix(got, "people coder 6: ") {
		t.Error(got)
	}
}

// A participant that the configuration does not have can be granted a rule. What is denied is denied
// to everybody, in the configuration of the space.
func TestRun_NotConfigured(t *testing.T) {
	w := office(t)
	guests := w.cfg.Participants["coder"]
	cfg := *w.cfg
	cfg.Participants = maps.Clone(cfg.Participants)
	delete(cfg.Participants, "coder")
	cfg.Guests = &guests
	w.cfg = cfg.Shared()("lab")
	w.approved(3, "coder", "files", "Bash", command("git diff a"))
	w.rejected(3, "coder", "files", "Bash", command("git push a"))
	r := w.run(w.options())
	if got := says(r); got != join("allow coder 3 -3: Bash: `git diff a`", "deny coder 3 -3: Bash: `git push` with any arguments") {
		t.Fatal(got)
	}
	if s := r.Suggestions[0]; s.ConfiguredIn != "" || s.Patch != "" || len(s.Capabilities) != 1 {
		t.Errorf("%+v", s)
	}
	if s := r.Suggestions[1]; s.ConfiguredIn != "lab" || s.Patch == "" {
		t.Errorf("%+v", s)
	}
}

// decide changes the deciders of the space.
func (w *world) decide(change func(*authority.Deciders)) {
	cfg := *w.cfg
	change(&cfg.Deciders)
	w.cfg = cfg.Shared()("lab")
}

func capable(t *testing.T, text string) *capability.Capability {
	t.Helper()
	c, err := capability.ParseJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A deny rule is one of the deciders, with the reason that people gave most often, and check has
// nothing against it.
func TestRun_Denial(t *testing.T) {
	w := office(t)
	for i, reason := range []string{"other", "not yet", "", "CI   pushes", "not yet", "", ""} {
		w.rejectFor("alice", w.propose("coder", "files", "Bash", command(fmt.Sprint("git push ", i))), reason)
	}
	w.rejectFor("bob", w.propose("coder", "files", "Bash", command("git push x")), "CI pushes")
	s := only(t, w.run(w.options()))
	const rule = `{"deny":true,"payload":{"method":"tools/call","params":{"arguments":{"command":{"$shell":{"commands":["git push **"]}}},"name":"Bash"}},"reason":"CI pushes","to":["files"]}`
	if string(s.Rule) != rule || s.ConfiguredIn != "lab" || s.Grant != nil || s.Rejected != 8 {
		t.Errorf("%+v, the rule %s", s, s.Rule)
	}
	var patch struct {
		Spaces map[string]struct {
			Proposals struct{ Deciders []struct{ Rules []any } }
		}
	}
	if err := yaml.Unmarshal([]byte(s.Patch), &patch); err != nil {
		t.Fatalf("%v in\n%s", err, s.Patch)
	}
	text, err := json.Marshal(patch.Spaces["lab"].Proposals.Deciders[0].Rules)
	if err != nil || string(text) != "["+rule+"]" {
		t.Errorf("%s %v", text, err)
	}
	c := capable(t, string(s.Capabilities[0]))
	for _, f := range capability.Lint("", []*capability.Capability{c}, nil) {
		if f.Index >= 0 {
			t.Error(f.Message)
		}
	}
	w.decide(func(d *authority.Deciders) { d.Rules = []authority.Rule{{Capability: c}} })
	if got := says(w.run(w.options())); got != "" {
		t.Errorf("with the rule: %s", got)
	}
}

// rejectFor appends the rejection of a proposal with a reason.
func (w *world) rejectFor(by string, proposal protocol.ID, reason string) {
	w.add(journal.Draft{Settles: proposal, Envelope: protocol.Envelope{
		From: protocol.ParticipantID(by), Kind: protocol.KindMCPReject, Correlation: protocol.CorrelateTo(proposal), Payload: json.RawMessage(fmt.Sprintf(`{"reason":%q}`, reason)),
	}})
}

// A secret in a reason is told to nobody.
func TestRun_DenialWithSecret(t *testing.T) {
	w := office(t)
	for range 3 {
		w.rejectFor("alice", w.propose("coder", "files", "drop", `{"table":"a"}`), "use ghp_"+"R7kQ2mXv9LpZt4WcYb8NhJd3FsGa6EuT1oVi")
	}
	if s := only(t, w.run(w.options())); !strings.Contains(string(s.Rule), `"reason":"use [redacted:github-pat]"`) {
		t.Errorf("%s", s.Rule)
	}
	for range 3 {
		w.reject("alice", w.propose("coder", "files", "send_key", `{"key":"ghp_`+"R7kQ2mXv9LpZt4WcYb8NhJd3FsGa6EuT1oVi"+`","to":"mallory"}`))
		w.approve("alice", w.propose("coder", "files", "send_key", `{"key":"public","to":"mallory"}`), "")
	}
	for _, s := range w.run(w.options()).Suggestions {
		if strings.Contains(string(s.Capabilities[0])+s.Patch+s.Words, "R7kQ2mXv") {
			t.Errorf("%+v", s)
		}
	}
}

// Who edits a call does not reject the tool.
func TestRun_NoDenialOfEdited(t *testing.T) {
	w := office(t)
	for _, text := range []string{"a", "b"} {
		w.approve("alice", w.propose("coder", "files", "note", `{"text":"`+text+`"}`), `,"edited":true`)
	}
	w.rejected(1, "coder", "files", "note", `{"text":"c"}`)
	if got := says(w.run(w.options())); got != "" {
		t.Errorf("got:\n%s", got)
	}
}

// What a rule could not change, since another one denies the call, is left to people and said.
func TestRun_DeniedByAnother(t *testing.T) {
	w := newWorld(t, map[string][]string{
		"alice": {`"*"`, `"observe"`}, "files": {`"mcp.response"`},
		"coder": {`"mcp.proposal"`, `{"kind":"mcp.request","payload":{"params":{"name":"Bash"}},"deny":true}`},
	})
	w.approved(3, "coder", "files", "Bash", command("git diff a"))
	const want = `people coder 3: Bash {"command":"git diff a"}: a rule for it would have asked nothing less, or changed other decisions too, by a backtest`
	if got := says(w.run(w.options())); got != want {
		t.Errorf("got:\n%s", got)
	}
}

// A coding agent is the host of its own tools: a denial of what it does there is for everybody's own
// calls, and one for what others do there is not.
func TestRun_DenialOfOwnCalls(t *testing.T) {
	w := office(t)
	for _, id := range []string{"coder", "twin"} {
		w.rejected(3, id, id, "Bash", command("npm publish"))
	}
	w.rejected(3, "coder", "files", "Fetch", `{"q":"a"}`)
	r := w.run(w.options())
	if got := says(r); got != "deny coder 6 -6: Bash: `npm publish` with any arguments\ndeny coder 3 -3: Fetch with {\"q\":\"a\"}" {
		t.Fatal(got)
	}
	own, other := r.Suggestions[0], r.Suggestions[1]
	if own.Host != "" || strings.Contains(string(own.Rule), `"to"`) || other.Host != "files" || !strings.Contains(string(other.Rule), `"to":["files"]`) {
		t.Errorf("%q %s, %q %s", own.Host, own.Rule, other.Host, other.Rule)
	}
	t.Run("another host is allowed it", func(t *testing.T) {
		w.approved(1, "twin", "files", "Bash", command("npm publish"))
		for _, s := range w.run(w.options()).Suggestions {
			if s.Tool == "Bash" && s.Host == "" {
				t.Errorf("%s", s.Rule)
			}
		}
	})
}

// The reason that a reviewer gave is not told as the reason of the space.
func TestRun_DenialOfReviewer(t *testing.T) {
	w := office(t)
	w.decide(func(d *authority.Deciders) {
		d.Reviewers, d.People = []authority.Reviewer{{ID: "bob", Decides: true}}, []authority.Stage{{People: []string{"alice"}}}
	})
	for range 3 {
		w.rejectFor("bob", w.propose("coder", "files", "drop", `{"table":"a"}`), "score 0.1")
	}
	w.rejectFor("alice", w.propose("coder", "files", "drop", `{"table":"a"}`), "tables stay")
	if s := only(t, w.run(w.options())); !strings.Contains(string(s.Rule), `"reason":"tables stay"`) || s.Rejected != 4 {
		t.Errorf("%+v, the rule %s", s, s.Rule)
	}
}

// What a rule of the deciders decides, and what only people may decide, is no ground for another
// rule.
func TestRun_Deciders(t *testing.T) {
	const diff, push = `"payload":{"params":{"name":"Bash","arguments":{"command":{"$shell":{"commands":["git diff a"]}}}}}`, `"payload":{"params":{"name":"Bash","arguments":{"command":{"$shell":{"commands":["git push a"]}}}}}`
	rules := func(list ...string) func(*testing.T, *authority.Deciders) {
		return func(t *testing.T, d *authority.Deciders) {
			t.Helper()
			for _, text := range list {
				d.Rules = append(d.Rules, authority.Rule{Capability: capable(t, text)})
			}
		}
	}
	human := func(text string) func(*testing.T, *authority.Deciders) {
		return func(t *testing.T, d *authority.Deciders) {
			t.Helper()
			d.HumanOnly = append(d.HumanOnly, capable(t, text))
		}
	}
	diffs := func(w *world) {
		w.approved(3, "coder", "files", "Bash", command("git diff a"))
		w.approved(1, "coder", "files", "Bash", command("git diff b"))
	}
	pushes := func(w *world) {
		w.rejected(3, "coder", "files", "Bash", command("git push a"))
		w.rejected(1, "coder", "files", "Bash", command("git push b"))
	}
	for _, c := range []struct {
		name     string
		deciders func(*testing.T, *authority.Deciders)
		work     func(w *world)
		want     string
	}{
		{"none", rules(), diffs, "allow coder 4 -4: Bash: `git diff` with any arguments"},
		{"a rule allows most of it", rules(`{"kind":"mcp.request",` + diff + `}`), diffs, ""},
		{"a rule denies most of it", rules(`{"kind":"mcp.request",` + push + `,"deny":true}`), pushes, ""},
		{"only people decide on most of it", human(`{"kind":"mcp.request",` + push + `}`), pushes, ""},
		{"only people decide", human(`{"kind":"mcp.request",` + diff + `}`), diffs, `people coder 3: Bash {"command":"git diff a"}: only people decide on it, by human_only`},
		{"only people decide on a tool", human(`{"kind":"mcp.request","payload":{"params":{"name":"lookup","arguments":{"q":"a"}}}}`), func(w *world) {
			w.approved(1, "coder", "files", "lookup", `{"q":"a"}`, `{"q":"b"}`, `{"q":"c"}`)
		}, ""},
		{"a rule that would be unclear", rules(`{"kind":"mcp.request","payload":{"params":{"name":"Bash","arguments":{"command":{"$shell":{"commands":["make **"]}}}}}}`), func(w *world) {
			w.rejected(3, "coder", "files", "Bash", command("git push a"))
			w.rejected(3, "coder", "files", "Fetch", `{"q":"a"}`)
			w.add(journal.Draft{Envelope: protocol.Envelope{
				From: "coder", To: []protocol.ParticipantID{"files"}, Kind: protocol.KindMCPRequest,
				Payload: json.RawMessage(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"Bash","arguments":{"command":"make test"}}}`),
			}})
		}, `deny coder 3 -3: Fetch with {"q":"a"}`},
		{"deciders would end that it rejects its own calls", rules(), func(w *world) {
			w.rejected(3, "coder", "files", "Fetch", `{"q":"a"}`)
			w.reject("alice", w.propose("alice", "files", "Fetch", `{"q":"b"}`))
		}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := office(t)
			w.decide(func(d *authority.Deciders) { c.deciders(t, d) })
			c.work(w)
			if got := says(w.run(w.options())); got != c.want {
				t.Errorf("got:\n%s", got)
			}
		})
	}
}

// What a budget or a loop asked is no question about the call: as the log says, or, of a part of a log, as
// the rights of the proposer do.
func TestRun_Budget(t *testing.T) {
	const decided, other = "allow coder 3 -3: Bash: `git diff` with any arguments", `people coder 3: Bash {"command":"git diff c"}: a rule for it would also allow what alice rejected`
	budget := func(cfg *authority.Config) {
		p := cfg.Participants["coder"]
		p.Budget = authority.Budget{Calls: 5}
		cfg.Participants["coder"] = p
	}
	for _, c := range []struct {
		name    string
		change  func(*authority.Config)
		asked   string // recorded with the proposals that are rejected
		partial bool
		want    string
	}{
		{"no budget", func(*authority.Config) {}, "", false, other},
		{"recorded", func(*authority.Config) {}, `{"reason":{"limit":"calls"}}`, false, decided},
		{"a budget that was not used up", budget, "", false, other},
		{"no budget, a part", func(*authority.Config) {}, "", true, other},
		{"of calls, a part", budget, "", true, decided},
		{"of calls, which a rule of the deciders allows, a part", func(cfg *authority.Config) {
			p := cfg.Participants["coder"]
			cfg.Deciders.Rules = []authority.Rule{{Capability: p.Capabilities[1]}}
			p.Capabilities, p.Budget = p.Capabilities[:1], authority.Budget{Calls: 5}
			cfg.Participants["coder"] = p
		}, "", true, decided},
		{"loops, a part", func(cfg *authority.Config) { cfg.Loops.Identical = 3 }, "", true, decided},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, map[string][]string{
				"alice": {`"*"`, `"observe"`}, "files": {`"mcp.response"`},
				"coder": {`"mcp.proposal"`, `{"kind":"mcp.request","to":"files","payload":{"params":{"name":"Bash","arguments":{"command":{"$shell":{"commands":["git diff x"]}}}}}}`},
			})
			c.change(w.cfg)
			w.cfg = w.cfg.Shared()("lab")
			w.approved(1, "coder", "files", "Bash", command("git diff a"), command("git diff b"), command("git diff c"))
			w.private = []byte(c.asked)
			w.rejected(3, "coder", "files", "Bash", command("git diff x"))
			o := w.options()
			o.Partial = c.partial
			if got := says(w.run(o)); got != c.want {
				t.Errorf("got:\n%s", got)
			}
		})
	}
}

// Only the suggestions that are asked for are returned, with what they do without the others.
func TestRun_Only(t *testing.T) {
	w := office(t)
	w.approved(3, "coder", "files", "Bash", command("git diff a"))
	w.approved(4, "twin", "files", "Bash", command("git log"))
	w.approved(3, "coder", "files", "Bash", command("rm x"))
	w.rejected(3, "coder", "files", "drop", `{"table":"a"}`)
	o := w.options()
	all := w.run(o)
	if len(all.Suggestions) != 3 || len(all.People) != 1 || all.Fewer != 10 {
		t.Fatal(says(all))
	}
	o.Only = []string{all.Suggestions[2].ID, all.Suggestions[0].ID, all.Suggestions[0].ID}
	o.UnusedSince = w.now.Add(time.Second)
	r := w.run(o)
	if got := says(r); got != join(strings.Split(says(all), "\n")[0], strings.Split(says(all), "\n")[2]) || r.Fewer != 7 {
		t.Errorf("%d times fewer:\n%s", r.Fewer, got)
	}
	o.Only = []string{all.Suggestions[0].ID, "1234", "5678"}
	_, err := suggest.Run(t.Context(), o)
	known := all.Suggestions[0].ID + ", " + all.Suggestions[1].ID + ", " + all.Suggestions[2].ID
	if err == nil || err.Error() != "there is no suggestion 1234, 5678; there are "+known {
		t.Errorf("%v, want %s", err, known)
	}
	o.Only, o.Min = []string{"1234"}, 100
	_, err = suggest.Run(t.Context(), o)
	if err == nil || err.Error() != "there is no suggestion 1234: nothing is suggested" {
		t.Error(err)
	}
}

func TestRun_NoSpace(t *testing.T) {
	w := office(t)
	o := w.options()
	o.Policy.Space = func(authority.Directory) *authority.Config { return nil }
	_, err := suggest.Run(context.Background(), o)
	if !errors.Is(err, backtest.ErrNoSpace) {
		t.Error(err)
	}
}

// shown is a log as the API of a gateway returns it.
type shown struct{ journal.Reader }

func (s shown) Range(ctx context.Context, space string, q journal.Query) iter.Seq2[*journal.Entry, error] {
	return func(yield func(*journal.Entry, error) bool) {
		for e, err := range s.Reader.Range(ctx, space, q) {
			if err == nil {
				e = &journal.Entry{Envelope: e.Envelope, State: e.State}
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

func TestRun_Partial(t *testing.T) {
	w := office(t)
	w.approved(1, "coder", "files", "Bash", command("git diff a"), command("git diff b"), command("git diff c"))
	w.rejected(3, "coder", "files", "Bash", command("git push"))
	want := says(w.run(w.options()))
	o := w.options()
	o.Log, o.Partial = shown{w.log}, true
	if got := says(w.run(o)); got != want || got == "" {
		t.Errorf("%s\nwant %s", got, want)
	}
}

func TestRun_Unused(t *testing.T) {
	participants := map[string][]string{
		"alice": {`"*"`, `"observe"`}, "bob": {`"chat"`, `"decide"`, `"reasoning/*"`},
		"coder": {`"chat"`, `"mcp.proposal"`, `{"kind":"mcp.request","to":"files"}`, `{"kind":"chat","deny":true,"context":"x"}`}, "files": {`"mcp.response"`},
	}
	chat := func(w *world, from protocol.ParticipantID) {
		w.add(journal.Draft{Envelope: protocol.Envelope{From: from, Kind: protocol.KindChat, Payload: json.RawMessage(`{"text":"x"}`)}})
	}
	grant := func(w *world, to, capabilities string, more string) protocol.ID {
		return w.add(journal.Draft{Envelope: protocol.Envelope{
			From: "alice", Kind: protocol.KindCapabilityGrant, Payload: json.RawMessage(`{"recipient":"` + to + `","capabilities":[` + capabilities + `]` + more + `}`),
		}})
	}
	for _, c := range []struct {
		name   string
		before func(w *world) // the 30 days
		work   func(w *world)
		want   string
	}{
		{"an empty log", func(*world) {}, func(*world) {}, "unknown: the log begins after 2026-11-01T00:00:00Z"},
		{"a short log", func(*world) {}, func(w *world) { chat(w, "coder") }, "unknown: the log begins after 2026-11-01T00:00:00Z"},
		{"what was used before", func(w *world) { chat(w, "coder"); chat(w, "alice"); chat(w, "bob") }, func(w *world) {
			w.reject("bob", w.propose("coder", "files", "delete", `{}`))
			w.approve("alice", w.propose("coder", "files", "show", `{}`), "")
		}, join(
			`unused bob ["chat"] 2026-11-01 00:03:00`, `unused bob ["reasoning/*"] never`,
			`unused coder ["chat"] 2026-11-01 00:01:00`, `unused files ["mcp.response"] never`,
		)},
		{"a grant", func(w *world) {
			chat(w, "alice")
			grant(w, "files", `"chat"`, "")
			grant(w, "files", `"participant.status"`, "")
			grant(w, "files", `"mcp.cancel"`, `,"ttl_seconds":60`)
		}, func(w *world) {
			chat(w, "files")
			grant(w, "files", `"mcp.withdraw"`, "")
		}, join(
			`unused bob ["chat"] never`, `unused bob ["decide"] never`, `unused bob ["reasoning/*"] never`, `unused coder ["chat"] never`,
			`unused coder ["mcp.proposal"] never`, `unused coder [{"kind":"mcp.request","to":"files"}] never`, `unused files ["mcp.response"] never`,
			`unused filese3 ["participant.status"] never`,
		)},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, participants)
			c.before(w)
			begin := w.now
			if w.made > 0 {
				begin = w.now.Add(time.Second)
				w.now = w.now.Add(24 * time.Hour)
			}
			c.work(w)
			o := w.options()
			o.UnusedSince, o.Now = begin, w.now
			var lines []string
			for line := range strings.Lines(says(w.run(o))) {
				if strings.HasPrefix(line, "un") {
					lines = append(lines, strings.TrimSpace(line))
				}
			}
			if got := strings.Join(lines, "\n"); got != c.want {
				t.Errorf("got:\n%s", got)
			}
		})
	}
}

func TestRun_UnusedUnknown(t *testing.T) {
	w := office(t)
	w.add(journal.Draft{Envelope: protocol.Envelope{From: "coder", Kind: protocol.KindChat, Payload: json.RawMessage(`{"text":"x"}`)}})
	o := w.options()
	o.UnusedSince = w.now.Add(time.Second)
	if got := says(w.run(o)); !strings.HasPrefix(got, "unused alice") {
		t.Errorf("got:\n%s", got)
	}
	t.Run("in several spaces", func(t *testing.T) {
		cfg := *w.cfg
		cfg.Pattern = "l*"
		several := o
		policy := *o.Policy
		policy.Space = func(authority.Directory) *authority.Config { return &cfg }
		several.Policy = &policy
		if got := says(w.run(several)); got != "unknown: the configuration is for all spaces l*, and the rights may be used in another one" {
			t.Errorf("got:\n%s", got)
		}
	})
	t.Run("not all is visible", func(t *testing.T) {
		w.add(journal.Draft{Hidden: true, Envelope: protocol.Envelope{From: "coder", Kind: protocol.KindChat, Payload: json.RawMessage(`{"text":"x"}`)}})
		w.add(journal.Draft{Envelope: protocol.Envelope{From: "coder", Kind: protocol.KindChat, Payload: json.RawMessage(`{"text":"x"}`)}})
		partial := o
		partial.Log, partial.Partial = shown{visible{w.log}}, true
		if got := says(w.run(partial)); got != "unknown: the token may not see all envelopes" {
			t.Errorf("got:\n%s", got)
		}
	})
}

// visible is a log without what only gateways read.
type visible struct{ journal.Reader }

func (v visible) Range(ctx context.Context, space string, q journal.Query) iter.Seq2[*journal.Entry, error] {
	return func(yield func(*journal.Entry, error) bool) {
		for e, err := range v.Reader.Range(ctx, space, q) {
			if err == nil && e.Hidden {
				continue
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// A participant that the administrative space has added has no lines in the configuration file.
func TestRun_Administration(t *testing.T) {
	w := office(t)
	coder := w.cfg.Participants["coder"]
	file := *w.cfg
	file.Participants = maps.Clone(file.Participants)
	delete(file.Participants, "coder")
	w.approved(3, "coder", "files", "Bash", command("git diff a"))
	o := w.options()
	o.Policy.Administration = "admin"
	o.Policy.Space = func(made authority.Directory) *authority.Config {
		cfg := file
		cfg.Participants = maps.Clone(file.Participants)
		if made.Space("lab") != nil {
			cfg.Participants["coder"] = coder
		}
		return cfg.Shared()("lab")
	}
	for _, text := range []string{
		`{"space":"lab","participant_id":"coder","capabilities":["mcp.proposal"]}`,
	} {
		for _, r := range w.log.Append(context.Background(), "admin", []journal.Draft{{State: true, Envelope: protocol.Envelope{
			ID: "x", From: "root", TS: start, Kind: protocol.KindAdminParticipantPut, Payload: json.RawMessage(text),
		}}}) {
			if r.Err != nil {
				t.Fatal(r.Err)
			}
		}
	}
	r := w.run(o)
	if got := says(r); got != "allow coder 3 -3: Bash: `git diff a`" || r.Suggestions[0].ConfiguredIn != "" {
		t.Errorf("got:\n%s", got)
	}
}

// Whatever was approved and rejected, nothing that was rejected is let through, and no rule that
// cannot be parsed is suggested.
func FuzzRun(f *testing.F) {
	f.Add("git diff a", "git diff b", "git push", "docs/a", "docs/b")
	f.Add("true", "rm x", "true", "/", "..")
	f.Add("ls | xargs rm", "echo '**'", "ls", "~/x", "https://example.com")
	f.Fuzz(func(t *testing.T, first, second, third, name, address string) {
		w := office(t)
		for _, tool := range []string{"Bash", "Write", "lookup"} {
			for i, text := range []string{first, second, third, name, address} {
				arguments, err := json.Marshal(map[string]string{map[string]string{"Bash": "command", "Write": "path", "lookup": "q"}[tool]: text})
				if err != nil {
					t.Skip()
				}
				if i%2 == 0 {
					w.approved(3, "coder", "files", tool, string(arguments))
				} else {
					w.rejected(3, "coder", "files", tool, string(arguments))
				}
			}
		}
		for _, s := range w.run(w.options()).Suggestions {
			for _, c := range s.Capabilities {
				if _, err := capability.ParseJSON(c); err != nil {
					t.Error(err)
				}
			}
			if s.Fewer == 0 || strings.ContainsAny(s.Words+s.Patch, "\x1b\x00") {
				t.Errorf("%+v", s)
			}
		}
	})
}
