package e2e

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/exchange"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

var chaosProposals = flag.Int("proposals", 0, "how many proposals TestChaos_Deciders makes; 0: 1,000")

// laterStage is from when on bob may decide on a proposal.
const laterStage = 2 * time.Second

// chaosDeciderConfig: people alone decide on tickets that end with 7, the reviewer on all
// others.
var chaosDeciderConfig = strings.Replace(chaosAgentConfig, "    visibility: everyone\n", `    visibility: everyone
    proposals:
      human_only:
        - {payload: {params: {arguments: {ticket: "/7$/"}}}}
      deciders:
        - {reviewer: rev, mode: decide, promote: {decisions: 3, without_miss: 3}}
        - {people: [alice]}
        - {people: [bob], after: 2s}
`, 1) + `
      bob: {token: bob-token-for-chaos, capabilities: ["*"]}
      coder: {token: coder-token-for-chaos, capabilities: [mcp.proposal, mcp.withdraw]}
      rev: {token: rev-token-for-chaos, capabilities: [mcp.opinion, decide, participant.status]}
`

// reviewRules approve some tickets, those among them on which the reviewer may not decide,
// and reject others.
const reviewRules = `
- reject: {payload: {params: {arguments: {ticket: "/5$/"}}}}
  reason: It ends with 5.
- approve: {payload: {params: {arguments: {ticket: "/[0-47]$/"}}}}
`

// desk is a run in which a program proposes calls, and a reviewer and people decide on them.
type desk struct {
	t     *testing.T
	calls string // the file of the executed calls

	proposed atomic.Int64

	mu      sync.Mutex
	log     []protocol.Envelope           // that the watcher received
	settled map[protocol.ID]chan struct{} // of proposals in work
	open    map[protocol.ID]time.Time     // proposals that nothing has settled, with their end
	made    map[protocol.ID]protocol.ID   // requests without a response
	latest  protocol.ID                   // the newest decision of the reviewer
}

// watch receives everything until ctx ends.
func (d *desk) watch(ctx context.Context, addr string, w *world) {
	c, err := client.Dial(ctx, client.Options{URL: "ws://" + addr + "/ws", Space: "lab", Token: chaosToken("watcher"), Since: client.After(0), RetryDial: true})
	if err != nil {
		w.violation("the watcher: %v", err)
		return
	}
	defer func() { _ = c.Close() }()
	for env, err := range c.All(ctx) {
		if err != nil {
			if ctx.Err() == nil {
				w.violation("the watcher: %v", err)
			}
			return
		}
		d.note(&env)
	}
}

func (d *desk) note(env *protocol.Envelope) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.log = append(d.log, *env)
	about := env.Correlation.First()
	switch env.Kind {
	case protocol.KindMCPProposal:
		d.open[env.ID] = exchange.CallOf(env).ExpiresAt
		return
	case protocol.KindMCPResponse:
		delete(d.made, about)
		return
	case protocol.KindMCPRequest:
		if _, ok := d.open[about]; ok {
			d.made[env.ID] = about
		}
	case protocol.KindMCPReject, protocol.KindMCPWithdraw:
	default:
		return
	}
	if env.From == "rev" {
		d.latest = env.ID
	}
	delete(d.open, about)
	if done := d.settled[about]; done != nil {
		close(done)
		delete(d.settled, about)
	}
}

// propose makes one proposal after another until ctx ends or there are enough of them, and
// waits for the end of each.
func (d *desk) propose(ctx context.Context, w *world) {
	s := w.sender("coder")
	defer s.close()
	for ctx.Err() == nil {
		n := d.proposed.Add(1)
		if n > int64(proposals()) {
			return
		}
		id := protocol.ID(fmt.Sprintf("proposal-%d", n))
		done := make(chan struct{})
		d.mu.Lock()
		d.settled[id] = done
		d.mu.Unlock()
		end := time.Now().Add(10 * time.Second)
		out, last, text := w.deliver(ctx, s, true, false, string(id), fmt.Sprintf(
			`{"id":%q,"kind":"mcp.proposal","payload":{"method":"tools/call","params":{"name":"transfer","arguments":{"ticket":"ticket-%d"}},"participant_id":"tools","expires_at":%q}}`,
			id, n, end.UTC().Format(time.RFC3339Nano)))
		w.add(out)
		if last == denied {
			w.violation("a proposal was denied: %s", text)
		}
		expired, cancel := context.WithDeadline(ctx, end)
		select {
		case <-done:
		case <-expired.Done():
		}
		cancel()
	}
}

func proposals() int {
	if *chaosProposals > 0 {
		return *chaosProposals
	}
	return 1000
}

// decide decides on the proposals that a person may decide on until ctx ends. It rejects
// tickets that end with 9.
func (d *desk) decide(ctx context.Context, w *world, who string) {
	c, err := api.New(api.Options{URL: "http://" + w.addrs[0], Token: chaosToken(who)})
	if err != nil {
		w.violation("%s: %v", who, err)
		return
	}
	tries := 0
	for wait(ctx, 200*time.Millisecond) {
		page, err := c.Proposals(ctx, "lab", "pending", 100, 0)
		if err != nil {
			continue // the gateway is away
		}
		var all sync.WaitGroup
		for i := range page.Proposals {
			p := &page.Proposals[i]
			if !p.MayDecide || rand.IntN(3) == 0 { // later
				continue
			}
			tries++
			all.Go(func() {
				d.settle(ctx, w, who, fmt.Sprintf("%s-%s-%d", who, p.Envelope.ID, tries), &p.Envelope.Envelope)
			})
		}
		all.Wait()
	}
}

func (d *desk) settle(ctx context.Context, w *world, who, id string, p *protocol.Envelope) {
	e := exchange.Rejection(p, "disagree")
	if !strings.HasSuffix(ticketPattern.FindString(string(p.Payload)), "9") {
		var err error
		e, err = exchange.Approval(p, protocol.ID(id), "")
		if err != nil {
			w.violation("approve %s: %v", p.ID, err)
			return
		}
	}
	e.ID, e.From = protocol.ID(id), protocol.ParticipantID(who)
	s := w.sender(who)
	defer s.close()
	out, last, text := w.deliver(ctx, s, true, false, id, string(protocol.AppendEnvelope(nil, protocol.DialectMEUP01, &e)))
	w.add(out)
	if last == denied && !strings.HasPrefix(text, "proposal_settled") && !strings.HasPrefix(text, "proposal_mismatch: The proposal has expired") {
		w.violation("a decision of %s was denied: %s", who, text)
	}
}

// demote says that the newest decision of the reviewer was wrong, and promotes the reviewer
// again when it has proved itself, as long as there are proposals.
func (d *desk) demote(ctx context.Context, w *world, n int) {
	d.mu.Lock()
	latest := d.latest
	d.mu.Unlock()
	if latest == "" {
		return
	}
	s := w.sender("alice")
	defer s.close()
	id := fmt.Sprintf("demote-%d", n)
	out, last, text := w.deliver(ctx, s, true, false, id, fmt.Sprintf(`{"id":%q,"kind":"reviewer.demote","correlationId":%q,"payload":{"participant_id":"rev","reason":"a try"}}`, id, latest))
	w.add(out)
	if last == denied {
		w.violation("a demotion was denied: %s", text)
	}
	for i := 0; d.proposed.Load() <= int64(proposals()) && wait(ctx, 300*time.Millisecond); i++ {
		id := fmt.Sprintf("promote-%d-%d", n, i)
		out, last, text := w.deliver(ctx, s, true, false, id, fmt.Sprintf(`{"id":%q,"kind":"reviewer.promote","payload":{"participant_id":"rev"}}`, id))
		w.add(out)
		switch {
		case last == admitted:
			return
		case last == denied && !strings.HasPrefix(text, "capability_violation"):
			w.violation("a promotion was denied: %s", text)
		}
	}
}

// await waits until every proposal has ended and every call that was approved has a response.
func (d *desk) await() {
	ctx := testkit.Deadline(d.t)
	for {
		d.mu.Lock()
		pending := maps.Clone(d.made)
		for id, end := range d.open {
			if time.Now().Before(end.Add(time.Second)) {
				pending[id] = id
			}
		}
		d.mu.Unlock()
		if len(pending) == 0 {
			return
		}
		if !wait(ctx, time.Second) {
			d.t.Fatalf("%d proposals and calls have not ended: %v", len(pending), pending)
		}
	}
}

// verify reads the log of the watcher in order, and compares it with the calls that were
// executed.
func (d *desk) verify(w *world) {
	d.mu.Lock()
	defer d.mu.Unlock()
	executed := map[string]int{}
	raw, err := os.ReadFile(d.calls)
	if err != nil {
		w.violation("no call was executed: %v", err)
	}
	for _, ticket := range strings.Fields(string(raw)) {
		executed[ticket]++
	}
	type proposal struct {
		*protocol.Envelope
		ticket         string
		fulfilled, end protocol.ID
	}
	made := map[protocol.ID]*proposal{}
	responses := map[protocol.ID]int{}
	decides, by, modes := true, map[string]int{}, 0
	for i := range d.log {
		env := &d.log[i]
		switch env.Kind {
		case protocol.KindMCPProposal:
			made[env.ID] = &proposal{Envelope: env, ticket: ticketPattern.FindString(string(env.Payload))}
			continue
		case protocol.KindReviewerPromote, protocol.KindReviewerDemote:
			decides = env.Kind == protocol.KindReviewerPromote
			modes++
			continue
		case protocol.KindMCPResponse:
			responses[env.Correlation.First()]++
			continue
		case protocol.KindMCPRequest, protocol.KindMCPReject:
		default:
			continue
		}
		p := made[env.Correlation.First()]
		if p == nil {
			continue // of a connection: tools/list
		}
		by[string(env.From)+" "+string(env.Kind)]++
		human := strings.HasSuffix(p.ticket, "7")
		switch {
		case p.end != "":
			w.violation("%s was settled by %s and by %s", p.ID, p.end, env.ID)
		case env.From == "rev" && (!decides || human):
			w.violation("the reviewer decided on %s (%s), in the mode decide: %v", p.ID, p.ticket, decides)
		case env.From == "bob" && env.TS.Before(p.TS.Add(laterStage)):
			w.violation("bob decided on %s after %v", p.ID, env.TS.Sub(p.TS))
		case env.From != "rev" && env.From != "bob" && env.From != "alice":
			w.violation("%s decided on %s", env.From, p.ID)
		}
		p.end = env.ID
		if env.Kind == protocol.KindMCPRequest {
			p.fulfilled = env.ID
		}
	}
	ended := 0
	for id, p := range made {
		switch n := executed[p.ticket]; {
		case n > 1:
			w.violation("%s was executed %d times", p.ticket, n)
		case n == 1 && p.fulfilled == "":
			w.violation("%s was executed without an approval", p.ticket)
		}
		if p.fulfilled != "" && responses[p.fulfilled] != 1 {
			w.violation("the approval %s of %s has %d responses", p.fulfilled, id, responses[p.fulfilled])
		}
		if p.end != "" {
			ended++
		}
	}
	d.t.Logf("%d proposals, %d settled, the others expired; %d calls executed; %d promotions and demotions; decisions %v", len(made), ended, len(executed), modes, by)
}

// TestChaos_Deciders proposes calls on which a reviewer and people decide, while a gateway, the
// bridge that executes the calls, the reviewer and people are killed, and the reviewer is
// demoted and promoted.
func TestChaos_Deciders(t *testing.T) {
	t.Parallel()
	onlyLong(t)
	g := startGateway(t, chaosDeciderConfig)
	rules := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(rules, []byte(reviewRules), 0o600); err != nil {
		t.Fatal(err)
	}
	d := &desk{t: t, calls: filepath.Join(t.TempDir(), "calls"), settled: map[protocol.ID]chan struct{}{}, open: map[protocol.ID]time.Time{}, made: map[protocol.ID]protocol.ID{}}
	program := func(token string, args ...string) *process {
		return start(t, []string{"MEUP_TOKEN=" + chaosToken(token)}, filepath.Join(bin, "meup-agent"), append(args, "--gateway", "ws://"+g.addr+"/ws", "--space", "lab")...)
	}
	reviewer := func() *process { return program("rev", "review", "--rules", rules) }
	bridge := func() *process { return program("tools", "bridge", "--mcp", os.Args[0]+" "+transferServer+" "+d.calls) }
	rev, tools := reviewer(), bridge()
	eventually(t, "the reviewer is ready", func() bool { return strings.Contains(rev.log.String(), "ready") })

	c := newChaos(t, []string{g.addr}, "lab")
	c.writers, c.d = 0, 20*time.Minute
	c.enough = func() bool { return d.proposed.Load() > int64(proposals()) }
	w := c.worlds[0]
	watching, stop := context.WithCancel(t.Context())
	var watcher, people sync.WaitGroup
	watcher.Go(func() { d.watch(watching, g.addr, w) })
	send := func(who string) (kill context.CancelFunc) {
		ctx, kill := context.WithCancel(watching)
		people.Go(func() { d.decide(ctx, w, who) })
		return kill
	}
	killAlice, killBob := send("alice"), send("bob")
	t.Cleanup(func() { stop(); watcher.Wait(); people.Wait() })
	for range 32 {
		c.clients = append(c.clients, d.propose)
	}
	c.recovered = func() {
		d.await()
		stop()
		watcher.Wait()
		people.Wait()
		d.verify(w)
	}
	demotions := 0
	c.run([]fault{
		{"kill the gateway", func(ctx context.Context) { c.kill(ctx, g) }},
		{"kill the reviewer", func(ctx context.Context) {
			rev.kill()
			c.pause(ctx, 2*time.Second)
			rev = reviewer()
		}},
		{"terminate the reviewer", func(context.Context) {
			rev.signal(syscallTerm)
			rev.wait()
			rev = reviewer()
		}},
		{"kill the bridge", func(ctx context.Context) {
			tools.kill()
			c.pause(ctx, 2*time.Second)
			tools = bridge()
		}},
		{"alice goes", func(ctx context.Context) {
			killAlice()
			c.pause(ctx, 4*time.Second)
			killAlice = send("alice")
		}},
		{"bob goes", func(ctx context.Context) {
			killBob()
			c.pause(ctx, 4*time.Second)
			killBob = send("bob")
		}},
		{"demote the reviewer", func(ctx context.Context) {
			demotions++
			d.demote(ctx, w, demotions)
		}},
	})
}
