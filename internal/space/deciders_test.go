package space_test

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meup-protocol/meup/internal/capability"
	"github.com/meup-protocol/meup/internal/exchange"
	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/internal/space/admission"
	"github.com/meup-protocol/meup/internal/space/authority"
	"github.com/meup-protocol/meup/internal/space/ring"
	"github.com/meup-protocol/meup/protocol"
)

func tool(t testing.TB, name string) *capability.Capability {
	t.Helper()
	return pattern(t, `{"kind":"mcp.request","payload":{"params":{"name":"`+name+`"}}}`)
}

// judged is a space in which the agent may only propose, rev reviews, alice decides at once and
// carol later, and everybody else may do anything without being one of the deciders.
func judged(t testing.TB, change func(*authority.Deciders)) *authority.Config {
	t.Helper()
	cfg := rights{"agent": {"mcp.proposal", "mcp.withdraw", "mcp.reject"}, "rev": {"*"}, "alice": {"*"}, "carol": {"*"}, "bob": {"*"}, "files": {"mcp.response"}}.config(t)
	cfg.Deciders = authority.Deciders{
		HumanOnly: []*capability.Capability{tool(t, "delete_*"), pattern(t, `{"kind":"mcp.request","to":"vault"}`)},
		Rules: []authority.Rule{
			{Capability: pattern(t, `{"kind":"mcp.request","payload":{"params":{"name":"Bash","arguments":{"command":{"$shell":{"read":"preset"}}}}}}`)},
			{Capability: tool(t, "delete_*")},
			{Capability: pattern(t, `{"kind":"mcp.request","payload":{"params":{"name":"drop_table"}},"deny":true}`), Reason: "Tables are dropped by migrations."},
			{Capability: pattern(t, `{"kind":"mcp.request","payload":{"params":{"name":"delete_all"}},"deny":true}`)},
			{Capability: pattern(t, `{"kind":"mcp.request","payload":{"params":{"arguments":{"command":{"$shell":{"commands":["rm **"]}}}}},"deny":true}`)},
		},
		Reviewers: []authority.Reviewer{{ID: "rev", Decisions: 3, WithoutMiss: 2, For: []*capability.Capability{tool(t, "write_*")}}},
		People:    []authority.Stage{{People: []string{"al*"}}, {People: []string{"carol"}, After: 10 * time.Minute}},
	}
	if change != nil {
		change(&cfg.Deciders)
	}
	return cfg
}

func decides(d *authority.Deciders) { d.Reviewers[0].Decides = true }

const callOf = `"method":"tools/call","params":{"name":%q,"arguments":{"command":%q}}`

func proposal(id, tool string) string { return proposalOf(id, tool, "x") }

func proposalOf(id, tool, command string) string {
	return fmt.Sprintf(`{"id":%q,"kind":"mcp.proposal","payload":{"participant_id":"files",`+callOf+`}}`, id, tool, command)
}

func direct(id, tool, command string) string {
	return fmt.Sprintf(`{"id":%q,"kind":"mcp.request","to":["files"],"payload":{"jsonrpc":"2.0","id":1,`+callOf+`}}`, id, tool, command)
}

// named returns an id that is unique if none is given.
func named(id string) string { return cmp.Or(id, fmt.Sprint("n", made.Add(1))) }

func approval(id, proposal, tool string) string {
	return fmt.Sprintf(`{"id":%q,"kind":"mcp.request","to":["files"],"correlationId":%q,"payload":{"jsonrpc":"2.0","id":1,`+callOf+`}}`, named(id), proposal, tool, "x")
}

func rejection(id, proposal string) string {
	return fmt.Sprintf(`{"id":%q,"kind":"mcp.reject","correlationId":%q,"payload":{"reason":"unsafe"}}`, named(id), proposal)
}

func digest(t testing.TB, tool string) string {
	t.Helper()
	e := protocol.Envelope{Payload: fmt.Appendf(nil, `{`+callOf+`}`, tool, "x")}
	return exchange.CallOf(&e).Digest()
}

func opinion(correlation, digest string) string {
	return fmt.Sprintf(`{"kind":"mcp.opinion","correlationId":%s,"payload":{"verdict":"approve","call":%q}}`, correlation, digest)
}

func changeMode(kind, id string, more string) string {
	return fmt.Sprintf(`{"kind":"reviewer.%s","payload":{"participant_id":%q,"reason":"so"}%s}`, kind, id, more)
}

// reasonFor returns what the log has about an admission.
func (r *room) reasonFor(id protocol.ID) ring.Reason {
	r.t.Helper()
	e, err := r.log.Lookup(context.Background(), "lab", id)
	if err != nil {
		r.t.Fatal(err)
	}
	why := ring.ReadReason(e.Private)
	if why == nil {
		r.t.Fatalf("%s has no reason", id)
	}
	return *why
}

// refuses publishes a frame that must be rejected with a code and a text in the message.
func (r *room) refuses(who protocol.ParticipantID, f string, want protocol.Code, text string) {
	r.t.Helper()
	o := r.say(who, f)[0]
	if code(o.Err) != want || !strings.Contains(o.Err.Message, text) {
		r.t.Errorf("%s: %s: %v, want %s with %q", who, f, o.Err, want, text)
	}
	if want == protocol.CodeCapabilityViolation && o.Err != nil && o.Err.AttemptedKind == "" {
		r.t.Errorf("%s: the error does not name the kind", f)
	}
}

const violation = protocol.CodeCapabilityViolation

func TestDeciders_Rules(t *testing.T) {
	r := openWith(t, judged(t, nil), nil)
	r.must("agent", direct("r1", "Bash", "git status"))
	why := r.reasonFor("r1")
	if why.Decider != ring.DeciderRule || why.Rule != r.Deciders().Rules[0].Capability.String() || why.Policy != r.Policy() {
		t.Errorf("%+v", why)
	}
	for name, f := range map[string]string{
		"an uncertain command":           direct("r2", "Bash", "git status; $x"),
		"what only people decide on":     direct("r3", "delete_one", "x"),
		"to one that is human_only":      strings.ReplaceAll(direct("r3", "Bash", "git status"), `"files"`, `"vault"`),
		"what a rule rejects":            direct("r4", "drop_table", "x"),
		"what no rule is about":          direct("r5", "write_file", "x"),
		"with a reference to a proposal": strings.ReplaceAll(direct("r6", "Bash", "git status"), `"to"`, `"correlationId":"p0","to"`),
	} {
		t.Run(name, func(t *testing.T) {
			if name == "with a reference to a proposal" {
				r.must("bob", proposalOf("p0", "Bash", "git status"))
			}
			if o := r.say("agent", f)[0]; o.Err == nil {
				t.Error("it was admitted")
			}
		})
	}
	r.refuses("files", direct("r7", "Bash", "git status"), violation, "Your capabilities do not allow") // it may not propose it

	r.refuses("agent", proposal("p1", "drop_table"), violation, "A rule of this space rejects the call: Tables are dropped by migrations.")
	r.must("agent", proposal("p2", "delete_all")) // only people decide, so no rule does
	r.must("agent", proposalOf("p3", "Bash", "git status"))

	r.must("agent", proposalOf("p4", "Bash", "make")) // what make runs may be rejected: no rule decides
	for call, want := range map[[2]string][2]bool{    // whether it may be made, and proposed
		{"Bash", "git status"}: {true, true}, {"drop_table", "x"}: {false, false}, {"delete_all", "x"}: {false, true}, {"Bash", "make"}: {false, true}, {"Bash", "rm a"}: {false, false},
	} {
		e := protocol.Envelope{From: "agent", Kind: protocol.KindMCPRequest, To: []protocol.ParticipantID{"files"}, Payload: fmt.Appendf(nil, `{`+callOf+`}`, call[0], call[1])}
		made, _ := r.Rights("agent", &e)
		e.Kind, e.To = protocol.KindMCPProposal, nil
		e.Payload = fmt.Appendf(nil, `{"participant_id":"files",`+callOf+`}`, call[0], call[1])
		proposed, _ := r.Rights("agent", &e)
		if got := [2]bool{made, proposed}; got != want {
			t.Errorf("%v: %v, want %v", call, got, want)
		}
	}

	for call, want := range map[[2]string]authority.Verdict{
		{"Bash", "make"}:       authority.Asked,
		{"Bash", "git status"}: authority.Allowed, {"Bash", "git status; $x"}: authority.Asked, {"drop_table", "x"}: authority.Refused,
		{"delete_all", "x"}: authority.Asked, {"delete_one", "x"}: authority.Asked, {"write_file", "x"}: authority.Asked,
	} {
		e := protocol.Envelope{Payload: fmt.Appendf(nil, `{`+callOf+`}`, call[0], call[1])}
		if got, _ := r.Judge("agent", []protocol.ParticipantID{"files"}, "", e.ParsePayload()); got != want {
			t.Errorf("%v is %s, want %s", call, got, want)
		}
	}
}

// A deny rule of the sender is not overridden by a rule of the deciders, and without rules nobody
// is asked otherwise than by the right to decide.
func TestDeciders_RulesGiveNoRight(t *testing.T) {
	cfg := judged(t, func(d *authority.Deciders) { d.People, d.Reviewers = nil, nil })
	agent := cfg.Participants["agent"]
	agent.Capabilities = append(agent.Capabilities, pattern(t, `{"kind":"mcp.request","payload":{"params":{"arguments":{"command":"git status"}}},"deny":true}`))
	cfg.Participants["agent"] = agent
	r := openWith(t, cfg, nil)
	r.refuses("agent", direct("r1", "Bash", "git status"), violation, "Your capabilities")
	e := protocol.Envelope{Payload: fmt.Appendf(nil, `{`+callOf+`}`, "Bash", "git status")}
	if got, _ := r.Judge("agent", []protocol.ParticipantID{"files"}, "", e.ParsePayload()); got != authority.Asked {
		t.Errorf("judged as %s", got)
	}
	r.must("agent", direct("r2", "Bash", "git log -3"))
	r.must("agent", proposal("p1", "write_file"))
	r.must("bob", approval("a1", "p1", "write_file")) // no people are named
	if why := r.reasonFor("a1"); why.Decider != ring.DeciderPerson {
		t.Errorf("%+v", why)
	}
}

func TestDeciders_WhoMayDecide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := openWith(t, judged(t, decides), nil)
		for i, name := range []string{"write_file", "write_two", "delete_one", "read_file", "write_own"} {
			r.must("agent", proposal(fmt.Sprint("p", i), name))
		}
		may := func(who protocol.ParticipantID, proposal protocol.ID) bool {
			e, err := r.log.Lookup(t.Context(), "lab", proposal)
			if err != nil {
				t.Fatal(err)
			}
			return r.MayDecide(who, &e.Envelope)
		}
		mays := func(want string) {
			t.Helper()
			got := ""
			for _, who := range []protocol.ParticipantID{"agent", "rev", "alice", "carol", "bob"} {
				for _, id := range []protocol.ID{"p1", "p2", "p3"} {
					if may(who, id) {
						got += fmt.Sprint(who, " ", id, ";")
					}
				}
			}
			if got != want {
				t.Errorf("these may decide: %s, want %s", got, want)
			}
		}
		mays("rev p1;alice p1;alice p2;alice p3;")
		from := func(who protocol.ParticipantID) time.Duration {
			e, err := r.log.Lookup(t.Context(), "lab", "p1")
			if err != nil {
				t.Fatal(err)
			}
			if at := r.DecidesFrom(who, &e.Envelope); !at.IsZero() {
				return at.Sub(e.Envelope.TS)
			}
			return 0
		}
		if got := fmt.Sprint(from("rev"), from("alice"), from("carol"), from("bob"), from("agent")); got != "0s 0s 10m0s 0s 0s" {
			t.Errorf("they may decide from %s on", got)
		}
		later := time.Now().Add(10 * time.Minute).UTC().Format(time.RFC3339)
		for _, f := range []func(id string) string{func(id string) string { return approval("", id, "write_file") }, func(id string) string { return rejection("", id) }} {
			r.refuses("bob", f("p0"), violation, "You are none of those who decide on proposals here; these people do: al*; carol from "+later+" on.")
			r.refuses("carol", f("p0"), violation, "You may not decide on this proposal yet; these people do: al*; carol from "+later+" on.")
		}

		r.must("rev", approval("a0", "p0", "write_file"))
		if why := r.reasonFor("a0"); why.Decider != ring.DeciderReviewer {
			t.Errorf("%+v", why)
		}
		r.must("rev", rejection("a1", "p1"))
		if why := r.reasonFor("a1"); why.Decider != ring.DeciderReviewer {
			t.Errorf("%+v", why)
		}
		r.refuses("rev", approval("", "p2", "delete_one"), violation, "Only people decide on this call: al*")
		r.refuses("rev", rejection("", "p2"), violation, "Only people decide on this call")
		r.refuses("rev", approval("", "p3", "read_file"), violation, "This is none of the calls that you may decide on")
		edited := strings.ReplaceAll(approval("", "p4", "write_less"), `"jsonrpc"`, `"edited":true,"jsonrpc"`)
		r.refuses("rev", edited, violation, "cannot edit it")
		r.must("alice", edited)

		time.Sleep(10*time.Minute - time.Second) // fake time
		r.refuses("carol", rejection("", "p2"), violation, "yet")
		time.Sleep(time.Second)
		mays("rev p1;alice p1;alice p2;alice p3;carol p1;carol p2;carol p3;")
		if got := from("carol"); got != 0 {
			t.Errorf("carol may decide from %s on", got)
		}
		r.must("carol", approval("a2", "p2", "delete_one"))
		if why := r.reasonFor("a2"); why.Decider != ring.DeciderPerson {
			t.Errorf("%+v", why)
		}
		// The right to decide stays necessary.
		r.must("bob", `{"kind":"capability.revoke","payload":{"recipient":"alice","capabilities":["*"]}}`)
		r.refuses("alice", rejection("", "p3"), violation, "Your capabilities")
	})
}

// What only may match is enough for human_only, and not for what a reviewer may decide on.
// What is hidden from all people, no reviewer decides.
func TestDeciders_HiddenProposal(t *testing.T) {
	cfg := judged(t, decides)
	for _, id := range []protocol.ParticipantID{"alice", "carol"} {
		p := cfg.Participants[id]
		p.Capabilities = []*capability.Capability{pattern(t, `{"kind":"decide"}`)}
		cfg.Participants[id] = p
	}
	r := openWith(t, cfg, nil)
	hidden := strings.Replace(proposal("p1", "write_file"), `"payload"`, `"to":["rev"],"payload"`, 1)
	r.must("agent", hidden)
	r.refuses("rev", approval("", "p1", "write_file"), violation, "None of the people who decide here can see this proposal")
	r.must("agent", strings.NewReplacer(`"p1"`, `"p2"`, `["rev"]`, `["rev","alice"]`).Replace(hidden))
	r.must("rev", approval("", "p2", "write_file"))

	cfg = judged(t, decides)
	p := cfg.Participants["carol"]
	p.Capabilities = append(p.Capabilities, pattern(t, `{"kind":"observe"}`))
	cfg.Participants["carol"] = p
	r = openWith(t, cfg, nil)
	r.must("agent", hidden)
	r.must("rev", approval("", "p1", "write_file"))
}

func TestDeciders_PossibleMatch(t *testing.T) {
	r := openWith(t, judged(t, func(d *authority.Deciders) {
		d.Reviewers[0].Decides, d.Reviewers[0].For = true, nil
		d.HumanOnly = append(d.HumanOnly, pattern(t, `{"kind":"mcp.request","payload":{"params":{"arguments":{"command":{"$shell":{"commands":["rm **"]}}}}}}`))
	}), nil)
	for i, command := range []string{"$x", "ls", "sudo rm a"} {
		id := fmt.Sprint("p", i)
		r.must("agent", proposalOf(id, "Bash", command))
		if o := r.say("rev", rejection("", id))[0]; (o.Err == nil) != (command == "ls") {
			t.Errorf("%s: %v", command, o.Err)
		}
	}
	r = openWith(t, judged(t, func(d *authority.Deciders) {
		d.Reviewers[0].Decides, d.Reviewers[0].For = true, []*capability.Capability{d.Rules[0].Capability}
	}), nil)
	for i, command := range []string{"ls $x", "ls"} {
		id := fmt.Sprint("p", i)
		r.must("agent", proposalOf(id, "Bash", command))
		if o := r.say("rev", rejection("", id))[0]; (o.Err == nil) != (command == "ls") {
			t.Errorf("%s: %v", command, o.Err)
		}
	}
}

// A call without a host may go to any, so also to one for which only people decide.
func TestDeciders_UnknownHost(t *testing.T) {
	r := openWith(t, judged(t, decides), nil)
	r.must("agent", `{"id":"p1","kind":"mcp.proposal","payload":{`+fmt.Sprintf(callOf, "write_file", "x")+`}}`)
	r.refuses("rev", rejection("", "p1"), violation, "Only people decide on this call")
	r.must("rev", approval("a1", "p1", "write_file")) // now it is known
}

func TestDeciders_NobodyOnItsOwnCall(t *testing.T) {
	r := openWith(t, judged(t, decides), nil)
	r.must("rev", proposal("p1", "write_file"))
	r.must("alice", proposal("p2", "write_file"))
	r.refuses("rev", rejection("", "p1"), violation, "your own call")
	r.refuses("alice", rejection("", "p2"), violation, "your own call")
	r.refuses("alice", approval("", "p2", "write_file"), protocol.CodeProposalMismatch, "another participant")
	r.must("alice", `{"kind":"mcp.withdraw","correlationId":"p2","payload":{"reason":"other"}}`)
}

func TestDeciders_Opinions(t *testing.T) {
	cfg := judged(t, nil)
	cfg.Participants["dora"] = authority.ParticipantConfig{Capabilities: []*capability.Capability{pattern(t, `"mcp.opinion"`)}}
	r := openWith(t, cfg, nil)
	r.must("agent", proposal("p1", "write_file"))
	r.must("agent", proposal("p2", "write_file"))
	r.must("agent", strings.ReplaceAll(proposal("p3", "write_file"), `"kind"`, `"to":["files"],"kind"`))
	r.must("dora", `{"kind":"mcp.opinion","correlationId":"p1","payload":{"verdict":"approve","call":"`+digest(t, "write_file")+`","reason":"fine"}}`)
	r.must("rev", opinion(`"p1"`, digest(t, "write_file")))
	r.must("rev", opinion(`"p1"`, digest(t, "write_file"))) // the first one counts
	if got := r.must("alice", approval("a1", "p1", "write_file")); got == 0 {
		t.Error("an opinion has settled the proposal")
	}
	r.must("rev", opinion(`"p1"`, digest(t, "write_file")))

	mismatch := protocol.CodeProposalMismatch
	r.refuses("rev", opinion(`"p2"`, digest(t, "write_else")), mismatch, "digest")
	r.refuses("rev", opinion(`["p1","p2"]`, digest(t, "write_file")), mismatch, "one proposal")
	r.refuses("rev", opinion(`"nothing"`, digest(t, "write_file")), mismatch, "one proposal")
	r.refuses("rev", opinion(`"a1"`, digest(t, "write_file")), mismatch, "one proposal")
	r.refuses("dora", opinion(`"p3"`, digest(t, "write_file")), mismatch, "that you can see")
	r.must("files", `{"kind":"mcp.response","correlationId":"a1","payload":{"jsonrpc":"2.0","id":1,"result":{}}}`)
	r.must("bob", proposal("p4", "write_file"))
	r.refuses("bob", opinion(`"p4"`, digest(t, "write_file")), mismatch, "your own proposal")
	r.refuses("agent", opinion(`"p4"`, digest(t, "write_file")), violation, "Your capabilities")
}

// The acknowledgment of an opinion says whether its sender may decide as it says.
func TestDeciders_OpinionDecides(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &gated{Memory: journal.NewMemory(journal.MemoryOptions{})}
		r := openWith(t, judged(t, decides), func(s *space.Services) { s.Journal = log })
		for i, name := range []string{"write_file", "delete_one", "read_file"} {
			r.must("agent", proposal(fmt.Sprint("p", i), name))
		}
		r.must("agent", strings.ReplaceAll(proposal("p3", "write_file"), `"kind"`, `"to":["rev"],"kind"`))
		says := func(who protocol.ParticipantID, id, proposal, tool, verdict string) bool {
			t.Helper()
			f := strings.Replace(opinion(`"`+proposal+`"`, digest(t, tool)), `"approve"`, `"`+verdict+`"`, 1)
			o := r.say(who, strings.Replace(f, `{`, `{"id":"`+named(id)+`",`, 1))[0]
			if o.Err != nil {
				t.Errorf("%s on %s: %v", who, proposal, o.Err)
			}
			return o.Decides
		}
		for name, test := range map[string]struct {
			who                     protocol.ParticipantID
			proposal, tool, verdict string
			want                    bool
		}{
			"approves":            {"rev", "p0", "write_file", "approve", true},
			"rejects":             {"rev", "p0", "write_file", "reject", true},
			"abstains":            {"rev", "p0", "write_file", "abstain", false},
			"human_only":          {"rev", "p1", "delete_one", "approve", false},
			"another's call":      {"rev", "p2", "read_file", "approve", false},
			"hidden from people":  {"rev", "p3", "write_file", "approve", false},
			"a person's opinion":  {"alice", "p0", "write_file", "approve", false},
			"one without decider": {"bob", "p0", "write_file", "approve", false},
		} {
			if got := says(test.who, "", test.proposal, test.tool, test.verdict); got != test.want {
				t.Errorf("%s: decides %t", name, got)
			}
		}
		if !says("rev", "o1", "p0", "write_file", "approve") || says("rev", "o1", "p0", "write_file", "reject") {
			t.Error("the retry of an opinion decides, or the first one does not")
		}

		gate := make(chan struct{})
		log.set(gate, false)
		late := make(chan bool, 1)
		go func() { late <- says("rev", "", "p0", "write_file", "approve") }()
		synctest.Wait() // it is checked and waits for the append
		log.set(nil, false)
		r.must("alice", changeMode("demote", "rev", ""))
		close(gate)
		if <-late {
			t.Error("an opinion that follows the demotion decides")
		}
	})
}

// Without the right to decide, the opinion of a reviewer in the mode decide is an opinion alone.
func TestDeciders_OpinionGivesNoRight(t *testing.T) {
	cfg := judged(t, decides)
	cfg.Participants["rev"] = authority.ParticipantConfig{Capabilities: []*capability.Capability{pattern(t, `"mcp.opinion"`)}}
	r := openWith(t, cfg, nil)
	r.must("agent", proposal("p1", "write_file"))
	if o := r.say("rev", opinion(`"p1"`, digest(t, "write_file")))[0]; o.Err != nil || o.Decides {
		t.Errorf("%+v", o)
	}
}

func TestDeciders_ReviewersChangeNoRights(t *testing.T) {
	r := openWith(t, judged(t, nil), nil)
	for _, f := range []string{
		`{"kind":"capability.grant","payload":{"recipient":"agent","capabilities":["chat"]}}`,
		`{"kind":"capability.revoke","payload":{"recipient":"agent","capabilities":["chat"]}}`,
		`{"kind":"space.invite","payload":{"participant_id":"dora","initial_capabilities":["chat"]}}`,
		`{"kind":"space.kick","payload":{"participant_id":"bob"}}`,
		`{"kind":"participant.pause","to":["bob"],"payload":{}}`,
		`{"kind":"participant.resume","to":["bob"],"payload":{}}`,
		changeMode("promote", "rev", ""), changeMode("demote", "rev", ""),
	} {
		r.refuses("rev", f, violation, "You are a reviewer")
	}
	r.must("rev", chat("c1"))
}

// proves lets people decide on opinions of the reviewer, which approves; of those that are
// missed, people reject the call.
func (r *room) proves(missed ...bool) {
	r.t.Helper()
	for _, miss := range missed {
		id := named("")
		r.must("agent", proposal(id, "write_file"))
		r.must("rev", opinion(strconv.Quote(id), digest(r.t, "write_file")))
		if miss {
			r.must("alice", rejection("", id))
		} else {
			r.must("alice", approval("", id, "write_file"))
		}
	}
}

func TestDeciders_PromotionNeedsProof(t *testing.T) {
	log := &unreadable{Journal: journal.NewMemory(journal.MemoryOptions{})}
	r := openWith(t, judged(t, nil), func(s *space.Services) { s.Journal = log; s.RingEntries = 4 })
	r.must("agent", proposal("p1", "write_file"))
	r.refuses("rev", approval("", "p1", "write_file"), violation, "You are a reviewer in shadow")
	promote := changeMode("promote", "rev", "")
	r.proves(false, false)
	r.refuses("alice", promote, violation, "rev cannot be promoted yet: people have decided on 2 of its opinions, and 3 are needed.")
	r.proves(true, false)
	r.refuses("alice", promote, violation, "1 of its opinions since its last miss, and 2 are needed")
	r.proves(false)
	r.refuses("bob", promote, violation, "Only people who decide here promote and demote reviewers: al*; carol")
	r.refuses("bob", changeMode("demote", "rev", ""), violation, "Only people")
	r.refuses("alice", changeMode("promote", "bob", ""), protocol.CodeInvalidPayload, "bob is no reviewer")
	seq := r.must("carol", `{"id":"up","kind":"reviewer.promote","payload":{"participant_id":"rev","reason":"`+strings.Repeat("so ", 200)+`"}}`) // of a later stage
	on, last := r.Mode("rev")
	if !on || last == nil || !last.Decides || last.By != "carol" || last.ID != "up" || last.Seq != seq || last.At.IsZero() || len(last.Reason) > 300 || !strings.HasPrefix(last.Reason, "so so") {
		t.Errorf("%t %+v", on, last)
	}
	r.must("alice", promote) // it decides already
	r.must("rev", approval("a1", "p1", "write_file"))

	// A demotion that names a decision.
	r.must("agent", proposal("p2", "write_file"))
	r.must("alice", approval("a2", "p2", "write_file"))
	r.must("rev", proposal("p3", "write_file"))
	r.must("rev", `{"id":"a3","kind":"mcp.withdraw","correlationId":"p3","payload":{"reason":"other"}}`)
	for name, of := range map[string]string{"of another": `"a2"`, "no decision": `"p1"`, "a withdrawal": `"a3"`, "unknown": `"a9"`, "two": `["a1","a2"]`} {
		t.Run(name, func(t *testing.T) {
			r.refuses("alice", changeMode("demote", "rev", `,"correlationId":`+of), protocol.CodeProposalMismatch, "decision")
		})
	}
	for _, of := range []string{`"a1"`, `"a2"`, `"a9"`} { // who may not demote does not learn whose decision it is
		r.refuses("agent", changeMode("demote", "rev", `,"correlationId":`+of), violation, "Your capabilities do not allow")
		r.refuses("bob", changeMode("demote", "rev", `,"correlationId":`+of), violation, "Only people")
	}
	down := r.must("alice", changeMode("demote", "rev", `,"correlationId":"a1"`))
	on, last = r.Mode("rev")
	if on || last.Decides || last.Undone != "a1" || last.Seq != down {
		t.Errorf("%t %+v", on, last)
	}
	if got := r.scorecard(time.Time{}).Reviewer("rev"); got.Misses != 2 || got.Decided != 1 { // the undone decision is a miss
		t.Errorf("%+v", got.Tally)
	}
	r.must("agent", proposal("p4", "write_file"))
	r.refuses("rev", rejection("", "p4"), violation, "shadow")
	r.must("alice", changeMode("demote", "rev", "")) // no error
	_, last = r.Mode("rev")
	r.refuses("alice", promote, violation, "people have decided on 0 of its opinions since its last demotion ("+last.At.UTC().Format(time.RFC3339)+"), and 3 are needed.")
	r.proves(false, false, false)
	log.broken.Store(true)
	r.refuses("alice", promote, protocol.CodeUnavailable, "")
	log.broken.Store(false)
	r.must("alice", promote)
}

// A demotion takes effect before the next decision, also before one that was checked already.
func TestDeciders_DemotedBeforeAppend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &gated{Memory: journal.NewMemory(journal.MemoryOptions{})}
		r := openWith(t, judged(t, decides), func(s *space.Services) { s.Journal = log })
		r.must("agent", proposal("p1", "write_file"))
		gate := make(chan struct{})
		log.set(gate, false)
		late := make(chan []admission.Result, 1)
		go func() { late <- r.say("rev", approval("a1", "p1", "write_file")) }()
		synctest.Wait() // it is checked and waits for the append
		log.set(nil, false)
		r.must("alice", changeMode("demote", "rev", ""))
		close(gate)
		if o := (<-late)[0]; code(o.Err) != violation {
			t.Errorf("a decision of a reviewer that was demoted: %+v", o)
		}
		r.must("alice", approval("a2", "p1", "write_file"))
	})
}

// Two gateways on one log: a demotion at one holds at the other.
func TestDeciders_TwoGateways(t *testing.T) {
	log := &gateways{Journal: journal.NewMemory(journal.MemoryOptions{})}
	on := func(s *space.Services) { s.Journal = log }
	a, b := openWith(t, judged(t, nil), on), openWith(t, judged(t, nil), on)
	a.must("agent", proposal("p1", "write_file"))
	b.refuses("rev", approval("", "p1", "write_file"), violation, "shadow")
	a.proves(false, false, false)
	b.must("alice", changeMode("promote", "rev", ""))
	a.must("rev", approval("a1", "p1", "write_file"))
	a.must("agent", proposal("p2", "write_file"))
	b.must("alice", changeMode("demote", "rev", `,"correlationId":"a1"`))
	a.refuses("rev", rejection("", "p2"), violation, "shadow")
}

// A promotion is of the reviewer as the configuration has it. Another entry, or none, ends it
// for good.
func TestDeciders_Reloaded(t *testing.T) {
	other := func(d *authority.Deciders) { d.Reviewers[0].For = append(d.Reviewers[0].For, d.Rules[0].Capability) }
	none := func(d *authority.Deciders) { d.Reviewers = nil }
	for name, c := range map[string]struct {
		change  func(*authority.Deciders)
		records bool // the gateway notices
		ends    bool
	}{
		"another entry":            {other, true, true},
		"removed":                  {none, true, true},
		"something else":           {func(d *authority.Deciders) { d.People[0].People = []string{"alice"} }, true, false},
		"another entry, not noted": {other, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := openWith(t, judged(t, nil), nil)
			r.proves(false, false, false)
			r.must("alice", changeMode("promote", "rev", ""))
			r.must("agent", proposal("p1", "write_file"))
			reload := func(change func(*authority.Deciders)) {
				cfg := judged(t, change)
				r.hub.Reload(func(name string) (*authority.Config, bool) { return cfg, name == "lab" })
				if c.records {
					r.hub.EndPromotions(t.Context())
				}
			}
			reload(c.change)
			if on, _ := r.Mode("rev"); on != (name == "something else") {
				t.Errorf("it decides: %t", on)
			}
			if name != "something else" {
				r.refuses("rev", rejection("", "p1"), violation, "")
			}
			reload(nil)
			on, last := r.Mode("rev")
			if on == c.ends {
				t.Errorf("with its entry again, it decides: %t", on)
			}
			if by := last.By == protocol.GatewayID; by != c.ends {
				t.Errorf("%+v", last)
			}
			r.hub.EndPromotions(t.Context())
			if _, again := r.Mode("rev"); again.Seq != last.Seq {
				t.Error("it was ended twice")
			}
		})
	}
}

// An opinion names its proposal and nothing else: the scorecard counts no other one.
func TestDeciders_OpinionsNameOneThing(t *testing.T) {
	r := openWith(t, judged(t, nil), nil)
	r.must("agent", proposal("p1", "write_file"))
	for _, list := range []string{`["p1","p1"]`, `["p1","unknown"]`} {
		r.refuses("rev", opinion(list, digest(t, "write_file")), protocol.CodeProposalMismatch, "one proposal")
	}
}

// An invited participant has the id that its inviter chose, so it is no reviewer either.
func TestDeciders_InvitedReviewer(t *testing.T) {
	cfg := judged(t, decides)
	delete(cfg.Participants, "rev") // as one that an issuer may name
	r := openWith(t, cfg, nil)
	r.must("agent", proposal("p1", "write_file"))
	r.must("bob", `{"kind":"space.invite","payload":{"participant_id":"rev","initial_capabilities":["mcp.request","mcp.reject","decide"]}}`)
	r.must("bob", `{"kind":"space.invite","payload":{"participant_id":"alina","initial_capabilities":["chat"]}}`)
	for id, want := range map[protocol.ParticipantID]bool{"rev": false, "alina": false, "alice": true, "bob": false} { // who sees the scorecard
		if r.IsDecider(id) != want {
			t.Errorf("%s is a decider: %v", id, !want)
		}
	}
	r.refuses("rev", approval("", "p1", "write_file"), violation, "You were invited")
	r.refuses("rev", rejection("", "p1"), violation, "You were invited")
	if decides, _ := r.Mode("rev"); decides {
		t.Error("it decides")
	}
	r.refuses("alice", changeMode("promote", "rev", ""), protocol.CodeInvalidPayload, "no reviewer")
}

// A promotion is checked after what its sender has sent before it, also in one burst.
func TestDeciders_RejectedAndPromoted(t *testing.T) {
	r := openWith(t, judged(t, nil), nil)
	r.proves(false, false, false)
	r.must("agent", proposal("p1", "write_file"))
	r.must("rev", opinion(`"p1"`, digest(t, "write_file")))
	o := r.say("alice", rejection("", "p1"), changeMode("promote", "rev", ""))
	if o[0].Err != nil || code(o[1].Err) != violation {
		t.Errorf("%v, %v", o[0].Err, o[1].Err)
	}
}

// From expires_at on, a call is not made. A rejection still counts, and the log has that it was late.
func TestDecision_AfterExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := open(t, rights{"agent": {"mcp.proposal"}, "alice": {"*"}, "files": {"mcp.response"}}, nil)
		expires := time.Now().Add(time.Minute).UTC().Format(time.RFC3339)
		for _, id := range []string{"p0", "p1"} {
			r.must("agent", strings.Replace(proposal(id, "write_file"), `"payload":{`, `"payload":{"expires_at":"`+expires+`",`, 1))
		}
		time.Sleep(time.Minute - time.Second) // fake time
		r.must("alice", approval("a0", "p0", "write_file"))
		if r.reasonFor("a0").Late {
			t.Error("an approval before expires_at is late")
		}
		for range 2 { // at expires_at, and one second later
			time.Sleep(time.Second)
			r.refuses("alice", approval("", "p1", "write_file"), protocol.CodeProposalMismatch, "The proposal has expired; its call can no longer be made.")
		}
		r.must("alice", rejection("r1", "p1"))
		if !r.reasonFor("r1").Late {
			t.Error("a rejection after expires_at is not late")
		}
	})
}

// Who may decide needs no capability for the decision, unless the decision has "edited".
func TestDecision_ByRightToDecide(t *testing.T) {
	edited := func(text string) string { return strings.Replace(text, `"payload":{`, `"payload":{"edited":true,`, 1) }
	for name, c := range map[string]struct {
		decision string
		refused  bool
	}{
		"approval":         {approval("", "p1", "write_file"), false},
		"rejection":        {rejection("", "p1"), false},
		"another call":     {edited(approval("", "p1", "write_less")), true},
		"edited approval":  {edited(approval("", "p1", "write_file")), true},
		"edited rejection": {edited(rejection("", "p1")), true},
	} {
		t.Run(name, func(t *testing.T) {
			r := open(t, rights{"agent": {"mcp.proposal"}, "bob": {"decide"}, "files": {"mcp.response"}}, nil)
			r.must("agent", proposal("p1", "write_file"))
			if c.refused {
				r.refuses("bob", c.decision, violation, "Your capabilities do not allow")
			} else {
				r.must("bob", c.decision)
			}
		})
	}
}
