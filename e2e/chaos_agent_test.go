package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/testing/llmtest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// transferServer makes this test binary an MCP server with a tool that changes
// something. The second argument is the file of its calls.
const transferServer = "mcp-server-transfer"

// runTransferServer serves the tool transfer. It writes each ticket to a file, and
// answers a moment later.
func runTransferServer(file string) {
	s := mcp.NewServer(&mcp.Implementation{Name: "transfer", Version: "1"}, nil)
	type input struct {
		Ticket string `json:"ticket"`
	}
	mcp.AddTool(s, &mcp.Tool{Name: "transfer", Description: "Transfers the amount of a ticket."},
		func(ctx context.Context, _ *mcp.CallToolRequest, in input) (*mcp.CallToolResult, any, error) {
			f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
			if err != nil {
				return nil, nil, err
			}
			defer f.Close()
			if _, err := f.WriteString(in.Ticket + "\n"); err != nil {
				return nil, nil, err
			}
			wait(ctx, time.Duration(rand.IntN(400))*time.Millisecond)
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "transferred " + in.Ticket}}}, nil, nil
		})
	_ = s.Run(context.Background(), &mcp.StdioTransport{})
}

const chaosAgentConfig = `
limits: {rate: 1000000, burst: 1000000, bytes_per_second: 1GiB}
spaces:
  lab:
    visibility: everyone
    participants:
      admin: {token: admin-token-for-chaos, capabilities: ["*"]}
      reader: {token: reader-token-for-chaos, capabilities: ["*"]}
      victim: {token: victim-token-for-chaos, capabilities: ["chat"]}
      alice: {token: alice-token-for-chaos, capabilities: ["*"]}
      watcher: {token: watcher-token-for-chaos, capabilities: ["*"]}
      tools: {token: tools-token-for-chaos, capabilities: ["mcp/*", "participant/status"]}
      guide:
        token: guide-token-for-chaos
        capabilities:
          - chat
          - reasoning/*
          - {kind: mcp.request, payload: {method: tools/list}}
          - {kind: mcp.request, payload: {method: initialize}}
          - mcp.response
          - mcp.proposal
          - mcp.withdraw
          - stream/*
          - participant.status
`

var ticketPattern = regexp.MustCompile(`ticket-\d+`)

// transferOnce is a model that calls transfer with the ticket of the question, and
// answers when it has any result.
func transferOnce(r llmtest.Request) llmtest.Turn {
	if result := r.LastResult(); result != "" {
		return llmtest.Turn{Text: "The tool: " + result}
	}
	tickets := ticketPattern.FindAllString(r.LastUser(), -1)
	for _, tool := range r.Tools {
		if strings.Contains(tool.Name, "transfer") && len(tickets) > 0 {
			args := fmt.Sprintf(`{"ticket":%q,"rationale":"It is asked for."}`, tickets[len(tickets)-1])
			return llmtest.Turn{Text: "I transfer.", Calls: []llm.ToolCall{call(tool.Name, args)}}
		}
	}

	return llmtest.Turn{Text: "There is no tool."}
}

// office is the part of a run in which agents work: alice asks for transfers, the
// agent guide proposes them, and alice approves each proposal.
type office struct {
	t     *testing.T
	calls string // the file of the executed calls

	mu   sync.Mutex
	log  []protocol.Envelope // envelopes that the watcher received
	asks map[string]bool     // questions that are answered or not
}

// watch receives everything until ctx ends, and approves proposals.
func (o *office) watch(ctx context.Context, addr string, w *world) {
	c, err := client.Dial(ctx, client.Options{URL: "ws://" + addr + "/ws", Space: "lab", Token: chaosToken("watcher"), Since: client.After(0), RetryDial: true})
	if err != nil {
		w.violation("the watcher: %v", err)
		return
	}
	defer func() { _ = c.Close() }()
	var approvals sync.WaitGroup
	defer approvals.Wait()
	for env, err := range c.All(ctx) {
		if err != nil {
			if ctx.Err() == nil {
				w.violation("the watcher: %v", err)
			}
			return
		}
		o.mu.Lock()
		o.log = append(o.log, env)
		if env.Kind == protocol.KindChat && env.From == "guide" {
			o.asks[string(env.Correlation.First())] = true
		}
		o.mu.Unlock()
		if env.Kind == protocol.KindMCPProposal {
			approvals.Go(func() { o.approve(ctx, w, &env) })
		}
	}
}

// approve sends the proposed call to its host some time later.
func (o *office) approve(ctx context.Context, w *world, proposal *protocol.Envelope) {
	if !wait(ctx, time.Duration(rand.IntN(3000))*time.Millisecond) {
		return
	}
	var p struct {
		Params json.RawMessage `json:"params"`
	}
	if err := json.Unmarshal(proposal.Payload, &p); err != nil {
		w.violation("proposal %s: %v", proposal.ID, err)
		return
	}
	s := w.sender("alice")
	defer s.close()
	id := "approve-" + string(proposal.ID)
	body := fmt.Sprintf(`{"id":%q,"kind":"mcp.request","to":["tools"],"correlationId":%q,"payload":{"jsonrpc":"2.0","id":%q,"method":"tools/call","params":%s}}`,
		id, proposal.ID, id, p.Params)
	out, last, text := w.deliver(ctx, s, rand.IntN(2) == 0, false, id, body)
	w.add(out)
	if last == denied && !strings.HasPrefix(text, "proposal_settled") {
		w.violation("an approval was denied: %s", text)
	}
}

// ask asks for one transfer after another until ctx ends.
func (o *office) ask(ctx context.Context, w *world) {
	s := w.sender("alice")
	defer s.close()
	for n := 0; wait(ctx, time.Duration(rand.IntN(2000))*time.Millisecond); n++ {
		id := fmt.Sprintf("question-%d", n)
		o.mu.Lock()
		o.asks[id] = false
		o.mu.Unlock()
		out, last, text := w.deliver(context.WithoutCancel(ctx), s, false, false, id,
			fmt.Sprintf(`{"id":%q,"kind":"chat","payload":{"message":"@guide please transfer ticket-%d."}}`, id, n))
		w.add(out)
		if last == denied {
			w.violation("a question was denied: %s", text)
		}
	}
}

// unanswered returns the questions without an answer, and the approvals without a
// response.
func (o *office) unanswered() (ids []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for id, answered := range o.asks {
		if !answered {
			ids = append(ids, id)
		}
	}
	open := map[protocol.ID]bool{}
	for i := range o.log {
		switch env := &o.log[i]; {
		case env.Kind == protocol.KindMCPRequest && env.From == "alice":
			open[env.ID] = true
		case env.Kind == protocol.KindMCPResponse && env.From == "tools":
			delete(open, env.Correlation.First())
		}
	}
	for id := range open {
		ids = append(ids, string(id))
	}
	return ids
}

// await waits until each question is answered and each approval has a response.
func (o *office) await(w *world) {
	ctx := testkit.Deadline(o.t)
	for len(o.unanswered()) > 0 {
		if !wait(ctx, time.Second) {
			o.t.Fatalf("not answered: %v\n%v\n%s", o.unanswered(), w.faults, o.script(o.unanswered()...))
		}
	}
}

// script lists the envelopes about some questions.
func (o *office) script(ids ...string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var b strings.Builder
	for _, id := range ids {
		ticket := strings.Replace(id, "question", "ticket", 1)
		for i := range o.log {
			env := &o.log[i]
			if env.Correlation.Names(protocol.ID(id)) || ticketPattern.FindString(string(env.Payload)) == ticket {
				fmt.Fprintf(&b, "%d %s %s %s %s in %q: %.200s\n", env.Seq, env.TS.Format("15:04:05.000"), env.From, env.Kind, env.Correlation.First(), env.Context, env.Payload)
			}
		}
	}
	return b.String()
}

// ticketOf is the history of one ticket.
type ticketOf struct {
	start, approved protocol.Seq // the newest reasoning.start, the first approval
	proposals       int
	approvals       []protocol.ID
}

// verify compares the log of the watcher with the calls that were executed.
func (o *office) verify(w *world) {
	var again []string // questions with a proposal after the approval of an earlier one
	defer func() { o.t.Logf("%d proposals after an approval\n%s", len(again), o.script(again...)) }()
	o.mu.Lock()
	defer o.mu.Unlock()
	executed := map[string]int{}
	raw, err := os.ReadFile(o.calls)
	if err != nil {
		w.violation("no call was executed: %v", err)
	}
	for _, ticket := range strings.Fields(string(raw)) {
		executed[ticket]++
	}
	tickets := map[string]*ticketOf{}
	answers, responses, fulfilled := map[protocol.ID]int{}, map[protocol.ID]int{}, map[protocol.ID]int{}
	for i := range o.log {
		env := &o.log[i]
		ticket := ticketPattern.FindString(string(env.Payload))
		if question, ok := strings.CutPrefix(string(env.Correlation.First()), "question-"); ok && env.Kind == protocol.KindReasoningStart {
			ticket = "ticket-" + question
		}
		t := tickets[ticket]
		if t == nil {
			t = &ticketOf{}
			tickets[ticket] = t
		}
		switch {
		case env.Kind == protocol.KindReasoningStart && env.From == "guide":
			t.start = env.Seq
		case env.Kind == protocol.KindMCPProposal:
			if t.approved > 0 && t.approved < t.start {
				again = append(again, strings.Replace(ticket, "ticket", "question", 1))
			}
			t.proposals++
		case env.Kind == protocol.KindMCPRequest && env.From == "alice":
			if t.approved == 0 {
				t.approved = env.Seq
			}
			t.approvals = append(t.approvals, env.ID)
			fulfilled[env.Correlation.First()]++
		case env.Kind == protocol.KindMCPResponse && env.From == "tools":
			responses[env.Correlation.First()]++
		case env.Kind == protocol.KindChat && env.From == "guide":
			answers[env.Correlation.First()]++
		}
	}
	for id := range o.asks {
		if n := answers[protocol.ID(id)]; n != 1 {
			w.violation("%s has %d answers", id, n)
		}
	}
	for id, n := range fulfilled {
		if n > 1 {
			w.violation("proposal %s was fulfilled %d times", id, n)
		}
	}
	proposals, repeated := 0, 0
	for ticket, t := range tickets {
		proposals += t.proposals
		repeated += max(0, t.proposals-1)
		if executed[ticket] > len(t.approvals) {
			w.violation("%s was executed %d times, and approved %d times", ticket, executed[ticket], len(t.approvals))
		}
		for _, id := range t.approvals {
			if responses[id] != 1 {
				w.violation("approval %s of %s has %d responses", id, ticket, responses[id])
			}
		}
	}
	o.t.Logf("%d questions, %d proposals, %d of them for a ticket that has another one, %d approvals, %d calls", len(o.asks), proposals, repeated, len(fulfilled), len(strings.Fields(string(raw))))
}

// TestChaos_Agents runs two processes of one agent that proposes calls, a bridge
// that executes them, and a gateway. All are killed and stopped.
func TestChaos_Agents(t *testing.T) {
	t.Parallel()
	onlyLong(t)
	g := startGateway(t, chaosAgentConfig)
	runOffice(t, []string{g.addr}, func(c *chaos) []fault {
		return []fault{{"kill the gateway", func(ctx context.Context) { c.kill(ctx, g) }}}
	})
}

// TestChaos_ClusterAgents is the same with three gateways on three NATS servers:
// the processes of the agent, the bridge and the clients are at different
// gateways.
func TestChaos_ClusterAgents(t *testing.T) {
	t.Parallel()
	onlyLong(t)
	d := startGateways(t, chaosAgentConfig)
	runOffice(t, d.addrs(), func(c *chaos) []fault { return append(c.processFaults(d), c.networkFaults(d)...) })
}

// runOffice runs the office with faults of its own processes and further ones.
func runOffice(t *testing.T, addrs []string, further func(*chaos) []fault) {
	_, flags := model(t, transferOnce)
	o := &office{t: t, calls: filepath.Join(t.TempDir(), "calls"), asks: map[string]bool{}}
	program := func(i int, token string, args ...string) *process {
		return start(t, []string{"MEUP_TOKEN=" + chaosToken(token)}, filepath.Join(bin, "meup-agent"), append(args, "--gateway", "ws://"+addrs[i%len(addrs)]+"/ws", "--space", "lab")...)
	}
	agent := func(i int) *process { return program(i, "guide", append([]string{"run"}, flags...)...) }
	bridge := func() *process {
		return program(2, "tools", "bridge", "--mcp", os.Args[0]+" "+transferServer+" "+o.calls)
	}
	agents, tools := []*process{agent(0), agent(1)}, bridge()
	for _, p := range agents {
		eventually(t, "the agent is ready", func() bool { return strings.Contains(p.log.String(), "agent ready") })
	}
	c := newChaos(t, addrs, "lab")
	c.writers = 0
	watching, stop := context.WithCancel(t.Context())
	var watcher sync.WaitGroup
	watcher.Go(func() { o.watch(watching, addrs[0], c.worlds[0]) })
	t.Cleanup(func() { stop(); watcher.Wait() })
	c.clients = []func(context.Context, *world){o.ask}
	c.recovered = func() {
		o.await(c.worlds[0])
		stop()
		watcher.Wait()
		o.verify(c.worlds[0])
	}
	c.run(append(further(c),
		fault{"kill an agent", func(ctx context.Context) {
			i := c.random.IntN(2)
			agents[i].kill()
			c.pause(ctx, 2*time.Second)
			agents[i] = agent(i)
		}},
		fault{"kill both agents", func(ctx context.Context) {
			agents[0].kill()
			agents[1].kill()
			c.pause(ctx, 2*time.Second)
			agents[0], agents[1] = agent(0), agent(1)
		}},
		fault{"terminate an agent", func(context.Context) {
			i := c.random.IntN(2)
			agents[i].signal(syscallTerm)
			agents[i].wait()
			agents[i] = agent(i)
		}},
		fault{"kill the bridge", func(ctx context.Context) {
			tools.kill()
			c.pause(ctx, 2*time.Second)
			tools = bridge()
		}},
		fault{"kill the bridge's server", func(context.Context) { killChild(t, tools.cmd.Process.Pid, transferServer) }},
		fault{"nothing", func(ctx context.Context) { c.pause(ctx, 5*time.Second) }},
	))
}
