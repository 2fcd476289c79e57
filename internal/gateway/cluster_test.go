package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/exchange"
	"github.com/meup-protocol/meup/internal/kit/natsembed"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/protocol"
)

const pairConfig = `
limits: {rate: 100000, burst: 100000}
spaces:
  claims:
    participants:
      alice: {token: alice-token, capabilities: ["*"]}
      ann: &writer {token: ann-token, capabilities: [claim, release, {kind: mcp.request, payload: {params: {name: Write}}, claims: require}]}
      bob: {<<: *writer, token: bob-token}
      files: {token: files-token, capabilities: ["mcp.*"]}
  budget:
    participants:
      alice: {token: alice-token, capabilities: ["*"]}
      coder: {token: coder-token, capabilities: [chat, "reasoning/*", mcp.request], budget: {cost: 5, currency: USD, calls: 20}}
      files: {token: files-token, capabilities: ["mcp.*"]}
  tools:
    participants:
      alice: {token: alice-token, capabilities: ["*"]}
      coder: {token: coder-token, capabilities: [chat, mcp.request, mcp.proposal]}
      files: {token: files-token, capabilities: ["mcp.*"]}
  deciders:
    participants:
      alice: {token: alice-token, capabilities: ["*"]}
      coder: {token: coder-token, capabilities: [mcp.proposal]}
      rev: {token: rev-token, capabilities: [mcp.opinion, mcp.request, mcp.reject, decide]}
      files: {token: files-token, capabilities: ["mcp.*"]}
    proposals:
      deciders:
        - {reviewer: rev, mode: shadow, promote: {decisions: 1, without_miss: 1}}
        - {people: [alice]}
`

// startNATS starts a NATS server until the test ends, and returns its URL.
func startNATS(t *testing.T) string {
	t.Helper()
	server, err := natsembed.Start(context.Background(), natsembed.Options{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	return server.URL()
}

// onNATS returns a configuration with its log on a NATS server of its own.
func onNATS(t *testing.T, yaml string) string {
	t.Helper()
	return yaml + "nats: " + startNATS(t) + "\nreplicas: 1\n"
}

// pair is a space at two gateways on one NATS server.
type pair struct {
	t     *testing.T
	space string
	a, b  *meuptest.Gateway
}

func (p *pair) send(at *meuptest.Gateway, who, frame string) *protocol.Error {
	in, err := protocol.Decode([]byte(frame), protocol.DialectMEUP01, protocol.DefaultContextDepth)
	if err != nil {
		p.t.Errorf("%s: %v", frame, err)
		return nil
	}
	_, err = send(p.t, at.API(p.t, who), p.space, in.Envelope)
	return protocol.AsError(err)
}

func (p *pair) must(at *meuptest.Gateway, who, frame string) {
	p.t.Helper()
	if err := p.send(at, who, frame); err != nil {
		p.t.Fatalf("%s: %v", frame, err)
	}
}

func (p *pair) refuses(at *meuptest.Gateway, who, frame string, code protocol.Code) *protocol.Error {
	p.t.Helper()
	err := p.send(at, who, frame)
	if err == nil || err.Code != code {
		p.t.Fatalf("%s: %v, want %s", frame, err, code)
	}
	return err
}

// catchUp returns when a gateway knows what was acknowledged at the other one.
func (p *pair) catchUp(at *meuptest.Gateway) {
	p.t.Helper()
	p.must(at, "alice", `{"kind":"chat","payload":{"message":"here"}}`)
}

// calls returns a call of a tool of files.
func calls(tool, arguments string) string {
	return fmt.Sprintf(`{"kind":"mcp.request","to":["files"],"payload":{"id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}}`, tool, arguments)
}

// TestCluster_Policy: two gateways decide as one about claims, budgets, arguments and deciders.
func TestCluster_Policy(t *testing.T) {
	t.Parallel()
	yaml := onNATS(t, pairConfig)
	a, b := meuptest.Start(t, yaml), meuptest.Start(t, yaml)
	for name, test := range map[string]func(*pair){
		"claims": testClaimsOfPair, "budget": testBudgetOfPair, "tools": testToolsOfPair, "deciders": testDecidersOfPair,
	} {
		t.Run(name, func(t *testing.T) {
			p := &pair{t, name, a, b}
			p.catchUp(a) // opens the space
			p.catchUp(b)
			test(p)
		})
	}
	t.Run("claims of a gateway that was killed", func(t *testing.T) {
		p := &pair{t, "claims", a, b}
		ann, err := client.Dial(t.Context(), client.Options{URL: a.HTTP(), Space: "claims", Token: "ann-token", Discard: true})
		if err != nil {
			t.Fatal(err)
		}
		defer ann.Close()
		p.must(a, "ann", `{"kind":"claim","payload":{"paths":["/killed"]}}`)
		if err := a.Gateway().Close(); err != nil {
			t.Fatal(err)
		}
		_ = p.refuses(b, "bob", `{"kind":"claim","payload":{"paths":["/killed"]}}`, protocol.CodeClaimed) // its holder may be back soon
		p.must(b, "alice", `{"kind":"space.kick","payload":{"participant_id":"ann"}}`)
		p.must(b, "bob", `{"kind":"claim","payload":{"paths":["/killed"]}}`)
	})
}

func testClaimsOfPair(p *pair) {
	write := calls("Write", `{"file_path":"/r/a"}`)
	const claim = `{"kind":"claim","payload":{"paths":["/r/a"]}}`
	p.must(p.a, "ann", claim)
	if err := p.refuses(p.b, "bob", claim, protocol.CodeClaimed); err.By != "ann" {
		p.t.Errorf("%+v", err)
	}
	_ = p.refuses(p.b, "bob", write, protocol.CodeCapabilityViolation)
	p.must(p.b, "ann", write) // the same participant at the other gateway
	p.must(p.b, "ann", `{"kind":"release","payload":{"paths":["/r/a"]}}`)
	_ = p.refuses(p.a, "ann", write, protocol.CodeCapabilityViolation)
	p.must(p.a, "bob", claim)
	p.must(p.b, "bob", write)
	p.must(p.a, "bob", `{"kind":"release","payload":{"paths":["/r/a"]}}`)

	// At the same moment, one of them wins, and writes.
	for range 20 {
		begin := make(chan struct{})
		var errs [2]*protocol.Error
		var both sync.WaitGroup
		who := [2]string{"ann", "bob"}
		for i, at := range []*meuptest.Gateway{p.a, p.b} {
			both.Go(func() {
				<-begin
				errs[i] = p.send(at, who[i], claim)
			})
		}
		close(begin)
		both.Wait()
		won := 0
		if errs[0] != nil {
			won = 1
		}
		lost := errs[1-won]
		if errs[won] != nil || lost == nil || lost.Code != protocol.CodeClaimed || string(lost.By) != who[won] {
			p.t.Fatalf("both claim a file: %v and %v", errs[0], errs[1])
		}
		for _, at := range []*meuptest.Gateway{p.a, p.b} {
			p.must(at, who[won], write)
			_ = p.refuses(at, who[1-won], write, protocol.CodeCapabilityViolation)
		}
		p.must(p.a, who[won], `{"kind":"release","payload":{"paths":["/r"]}}`)
	}
}

func testBudgetOfPair(p *pair) {
	read := calls("read", `{}`)
	p.must(p.a, "coder", `{"kind":"reasoning.cancel","context":"c","payload":{"metadata":{"cost":5,"currency":"USD"}}}`)
	p.catchUp(p.b)
	if err := p.refuses(p.b, "coder", read, protocol.CodeCapabilityViolation); err.Limit != "budget.cost" {
		p.t.Errorf("%+v", err)
	}
	const extend = `{"kind":"budget.extend","payload":{"participant_id":"coder","cost":1,"currency":"USD"}}`
	p.must(p.b, "alice", extend)
	p.must(p.a, "coder", read)
	p.must(p.a, "coder", `{"kind":"reasoning.cancel","context":"c","payload":{"metadata":{"cost":1,"currency":"USD"}}}`)
	_ = p.refuses(p.a, "coder", read, protocol.CodeCapabilityViolation)
	p.must(p.b, "alice", extend)

	// Each sender may make one call more than the budget has, since it waits for the result of
	// each; one of them reaches the budget.
	const senders, limit = 4, 20
	var made [senders]int
	var all sync.WaitGroup
	for i := range senders {
		all.Go(func() {
			at := []*meuptest.Gateway{p.a, p.b}[i%2]
			for {
				err := p.send(at, "coder", read)
				if err != nil {
					if err.Limit != "budget.calls" {
						p.t.Errorf("%+v", err)
					}
					return
				}
				made[i]++
			}
		})
	}
	all.Wait()
	total := 1 // before
	for _, n := range made {
		total += n
	}
	if total < limit || total > limit+senders-1 {
		p.t.Errorf("%d calls of %d are made by %d senders: %v", total, limit, senders, made)
	}
	for _, at := range []*meuptest.Gateway{p.a, p.b} {
		p.catchUp(at)
		got, err := at.API(p.t, "alice").Budgets(p.t.Context(), p.space)
		if err != nil {
			p.t.Fatal(err)
		}
		x := got.Budgets[0]
		if x.ID != "coder" || x.Calls.Used != float64(total) || x.Cost.Used != 6 || x.Cost.Limit != 7 || x.Asks == "" {
			p.t.Errorf("%+v, %+v, %+v, want %d calls", x, x.Calls, x.Cost, total)
		}
		_ = p.refuses(at, "coder", read, protocol.CodeCapabilityViolation)
	}
}

func testToolsOfPair(p *pair) {
	proposal := `{"kind":"mcp.proposal","payload":{"participant_id":"files","method":"tools/call","params":{"name":"read","arguments":{"path":7}}}}`
	p.must(p.b, "coder", proposal) // the tool is not known yet
	p.must(p.a, "alice", `{"id":"list","kind":"mcp.request","to":["files"],"payload":{"id":1,"method":"tools/list"}}`)
	p.must(p.a, "files", `{"kind":"mcp.response","to":["alice"],"correlationId":"list","payload":{"id":1,"result":{"tools":[`+
		`{"name":"read","inputSchema":{"type":"object","properties":{"path":{"type":"string"}}}}]}}}`)
	p.catchUp(p.b)
	for _, at := range []*meuptest.Gateway{p.a, p.b} {
		err := p.refuses(at, "coder", proposal, protocol.CodeInvalidPayload)
		if err.Path != "/payload/params/arguments/path" {
			p.t.Errorf("%+v", err)
		}
		_ = p.refuses(at, "coder", calls("read", `{"path":7}`), protocol.CodeInvalidPayload)
		p.must(at, "coder", calls("read", `{"path":"a"}`))
	}
}

func testDecidersOfPair(p *pair) {
	rev, err := client.Dial(p.t.Context(), client.Options{URL: p.a.HTTP(), Space: p.space, Token: "rev-token", Discard: true})
	if err != nil {
		p.t.Fatal(err)
	}
	defer rev.Close()
	propose := func(at *meuptest.Gateway, id string) *protocol.Envelope {
		p.t.Helper()
		frame := fmt.Sprintf(`{"id":%q,"kind":"mcp.proposal","payload":{"participant_id":"files","method":"tools/call","params":{"name":"move"}}}`, id)
		p.must(at, "coder", frame)
		in, err := protocol.Decode([]byte(frame), protocol.DialectMEUP01, protocol.DefaultContextDepth)
		if err != nil {
			p.t.Fatal(err)
		}
		in.Envelope.From = "coder"
		return &in.Envelope
	}
	decides := func(x *protocol.Envelope) error {
		p.t.Helper()
		e, err := exchange.Approval(x, "d-"+x.ID, "")
		if err != nil {
			p.t.Fatal(err)
		}
		_, err = rev.Send(p.t.Context(), e)
		return err
	}
	notDecider := &protocol.Error{Code: protocol.CodeCapabilityViolation}

	x := propose(p.b, "seen")
	p.must(p.a, "rev", fmt.Sprintf(`{"kind":"mcp.opinion","correlationId":"seen","payload":{"verdict":"approve","call":%q}}`, exchange.CallOf(x).Digest()))
	if err := decides(x); !errors.Is(err, notDecider) {
		p.t.Fatalf("in shadow, it decides: %v", err)
	}
	p.must(p.b, "alice", `{"kind":"mcp.request","to":["files"],"correlationId":"seen","payload":{"id":1,"method":"tools/call","params":{"name":"move"}}}`)
	for i := range 5 {
		x := propose(p.b, fmt.Sprint("shadow-", i))
		p.must(p.a, "alice", `{"kind":"reviewer.promote","payload":{"participant_id":"rev"}}`)
		if err := decides(x); err != nil {
			p.t.Fatalf("promoted, it may not decide: %v", err)
		}
		x = propose(p.a, fmt.Sprint("demoted-", i))
		p.must(p.b, "alice", `{"kind":"reviewer.demote","payload":{"participant_id":"rev"}}`)
		if err := decides(x); !errors.Is(err, notDecider) {
			p.t.Fatalf("demoted at the other gateway, it decides: %v", err)
		}
		// People agree with it again.
		x = propose(p.a, fmt.Sprint("again-", i))
		p.must(p.a, "rev", fmt.Sprintf(`{"kind":"mcp.opinion","correlationId":%q,"payload":{"verdict":"approve","call":%q}}`, x.ID, exchange.CallOf(x).Digest()))
		p.must(p.a, "alice", fmt.Sprintf(`{"kind":"mcp.request","to":["files"],"correlationId":%q,"payload":{"id":1,"method":"tools/call","params":{"name":"move"}}}`, x.ID))
	}
}
