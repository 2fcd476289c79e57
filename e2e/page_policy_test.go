package e2e

import (
	"encoding/json"

	"github.com/meup-protocol/meup/internal/exchange"
	"github.com/meup-protocol/meup/protocol"
)

// unseenConfig has a reviewer that decides, and a person who does not observe the space.
const unseenConfig = `
limits: {rate: 1000000, burst: 1000000}
spaces:
  lab:
    proposals: {deciders: [{reviewer: rev, mode: decide}, {people: [alice]}]}
    participants:
      alice: {token: alice-token-for-tests, capabilities: ["*"]}
      coder: {token: coder-token-for-tests, capabilities: [chat, "reasoning/*", mcp.proposal]}
      rev: {token: rev-token-for-tests, capabilities: [mcp.opinion, decide]}
      shell: {token: shell-token-for-tests, capabilities: [mcp.response]}
`

// The approval of a reviewer is addressed to the host of the tool. A person who may not see it
// learns that the proposal is decided, while it is shown, after its reasoning has ended, and when the page is loaded.
func pageUnseenApproval(s *pageStage) {
	s.g = startGateway(s.T, unseenConfig)
	coder, rev := s.join("coder"), s.join("rev")
	propose := func(command string, in protocol.ContextPath) *protocol.Envelope {
		id := coder.publish(protocol.KindMCPProposal, in, "", fields{
			"method": "tools/call", "participant_id": "shell", "params": fields{"name": "Bash", "arguments": fields{"command": command}},
		})
		return rev.await("the proposal", func(env *protocol.Envelope) bool { return env.ID == id })
	}
	approve := func(e *protocol.Envelope, reason string) {
		rev.publish(protocol.KindMCPOpinion, e.Context, e.ID, fields{"verdict": "approve", "call": exchange.ReadCall(e.ParsePayload()).Digest(), "reason": reason})
		request, err := exchange.Approval(e, "run-"+e.ID, "shell")
		if err != nil {
			s.Fatal(err)
		}
		rev.send(request)
	}
	p := s.visit("alice")
	p.panel("Proposals")
	shown := propose("git diff", "")
	p.sees(withText("article", like("coder wants to call Bash", "git diff", "Approve")).in(room))
	approve(shown, "It only reads.")
	p.sees(withText("article", like("git diff", "Already decided by rev", "rev gave its grounds: It only reads.")).in(at("tabpanel", "Proposals")))
	p.sees(at("tab", "Proposals"))

	in := coder.reason(coder.say("What has changed?"), "Finding out")
	ended := propose("git log", in)
	rev.send(func() protocol.Envelope {
		request, err := exchange.Approval(ended, "run-"+ended.ID, "shell")
		if err != nil {
			s.Fatal(err)
		}
		return request
	}())
	coder.conclude(in, "Two files.")
	p.sees(withText("article", like("git log", "Already decided by rev")).in(at("tabpanel", "Proposals")))
	approve(propose("git show", ""), "It only reads, too.")
	p.sees(withText("article", like("git show", "Already decided by rev")).in(at("tabpanel", "Proposals")))
	p.reload()
	p.panel("Proposals")
	for _, command := range []string{"git diff", "git log", "git show"} {
		p.sees(withText("article", like(command, "Already decided by rev")).in(at("tabpanel", "Proposals")))
	}
}

const budgetsConfig = `
limits: {rate: 1000000, burst: 1000000}
spaces:
  lab:
    budget: {cost: 50, currency: USD, per: day}
    loops: {identical: 8}
    participants:
      alice: {token: alice-token-for-tests, capabilities: ["*"]}
      coder: {token: coder-token-for-tests, capabilities: [mcp.request, claim, release], budget: {calls: 1}}
      shell: {token: shell-token-for-tests, capabilities: [mcp.response]}
      watcher: {token: watcher-token-for-tests, capabilities: [chat]}
`

// A budget that is used up asks; a person sees it, and makes it larger.
func pageBudgets(s *pageStage) {
	s.g = startGateway(s.T, budgetsConfig)
	coder := s.join("coder")
	run := func() error {
		raw, err := json.Marshal(fields{"id": 1, "method": "tools/call", "params": fields{"name": "Bash"}})
		if err != nil {
			s.Fatal(err)
		}
		_, err = coder.Send(s.ctx, protocol.Envelope{Kind: protocol.KindMCPRequest, To: []protocol.ParticipantID{"shell"}, Payload: raw})
		return err
	}
	p, watcher := s.visit("alice"), s.visit("watcher")
	panel := p.panel("Policy")
	p.click(at("button", "Budgets").in(panel))
	budget := func(words ...string) spot { return withText("listitem", like(words...)).in(panel) }
	p.sees(budget("All participants together", "0.00 of 50.00 USD", "Extend…"))
	p.sees(budget("coder", "0 of 1 calls"))
	p.sees(withText("tabpanel", like("after the same call was made 8 times without progress.")))
	if err := run(); err != nil {
		s.Fatal(err)
	}
	if run() == nil {
		s.Fatal("a call beyond the budget was made")
	}
	coder.publish(protocol.KindMCPProposal, "", "", fields{"method": "tools/call", "participant_id": "shell", "params": fields{"name": "Bash"}})
	card := withText("article", like("coder wants to call Bash", "coder has made 1 of 1 calls today; continue?")).in(room)
	p.sees(card)
	p.misses(at("combobox", "Allow").in(room)) // it may make such calls already

	p.sees(budget("coder", "1 of 1 calls", "coder has made 1 of 1 calls today. Its calls have to be approved."))
	p.click(at("button", "Extend…").in(card))
	p.fill(at("input", "Amount").in(panel), "2")
	p.fill(at("textbox", "Reason (visible to everyone)").in(panel), "The tests have to run.")
	p.click(at("button", "Extend").in(panel))
	p.sees(withText("note", like("alice extended the budget of “coder” by 2 calls: The tests have to run.")).in(room))
	p.sees(budget("coder", "1 of 3 calls", "2 added today"))
	p.misses(card)
	p.sees(at("combobox", "Allow").in(room))
	if err := run(); err != nil {
		s.Errorf("after the extension: %v", err)
	}

	panel = watcher.panel("Policy")
	watcher.click(at("button", "Budgets").in(panel))
	watcher.sees(budget("All participants together", "0.00 of 50.00 USD"))
	watcher.misses(budget("coder"))
	watcher.misses(at("button", "Extend the budget: *").in(panel))
}

// Claims are listed while they last, and a person releases an own one.
func pageClaims(s *pageStage) {
	s.g = startGateway(s.T, budgetsConfig)
	coder, alice := s.join("coder"), s.join("alice")
	p := s.visit("alice")
	panel := p.panel("Policy")
	p.click(at("button", "Claims").in(panel))
	p.sees(withText("tabpanel", like("No claims")))
	claim := func(words ...string) spot { return withText("listitem", like(words...)).in(panel) }
	theirs := coder.publish(protocol.KindClaim, "", "", fields{"paths": []string{"/repo/a.go", "/repo/b.go"}, "ttl_seconds": 3600})
	alice.publish(protocol.KindClaim, "", "", fields{"paths": []string{"/repo/docs"}, "names": []string{"release"}, "reason": "I write the guide."})
	p.sees(claim("coder", "left", "/repo/a.go", "/repo/b.go"))
	p.sees(claim("You", "/repo/docs", "“release”", "I write the guide."))
	p.counts(1, at("button", "Release *").in(panel))
	p.click(at("button", "Release /repo/docs, release").in(panel))
	p.misses(claim("/repo/docs"))
	coder.publish(protocol.KindClaim, "", "", fields{"paths": []string{"/repo/docs/guide.md"}})
	p.sees(claim("coder", "/repo/docs/guide.md"))
	coder.publish(protocol.KindRelease, "", theirs, fields{})
	p.misses(claim("/repo/a.go"))
	coder.publish(protocol.KindRelease, "", "", fields{"paths": []string{"/repo"}})
	p.sees(withText("tabpanel", like("No claims")))
}
