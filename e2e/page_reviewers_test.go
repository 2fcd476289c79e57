package e2e

import (
	"github.com/meup-protocol/meup/internal/exchange"
	"github.com/meup-protocol/meup/protocol"
)

// reviewersConfig has a reviewer that is promoted after two decisions of alice on its opinions.
const reviewersConfig = `
limits: {rate: 1000000, burst: 1000000}
spaces:
  lab:
    proposals:
      human_only: [{payload: {params: {name: deploy}}}]
      deciders:
        - {reviewer: rev, for: [{payload: {params: {name: Bash}}}], promote: {decisions: 2, without_miss: 2}}
        - {people: [alice]}
        - {people: [carol], after: 1h}
    participants:
      alice: {token: alice-token-for-tests, capabilities: ["*", observe]} # sees approvals, which are addressed to the host
      carol: {token: carol-token-for-tests, capabilities: ["*"]}
      coder: {token: coder-token-for-tests, capabilities: [chat, mcp.proposal, mcp.withdraw]}
      rev: {token: rev-token-for-tests, capabilities: [mcp.opinion, decide]}
      shell: {token: shell-token-for-tests, capabilities: [mcp.response]}
`

// A reviewer gives opinions, which nobody sees before the decision, is promoted, decides, and is
// put back into shadow by the word that a decision of it was wrong.
func pageReviewers(s *pageStage) {
	s.g = startGateway(s.T, reviewersConfig)
	coder, rev := s.join("coder"), s.join("rev")
	p, later := s.visit("alice"), s.visit("carol")
	propose := func(command string) *protocol.Envelope {
		id := coder.publish(protocol.KindMCPProposal, "", "", fields{
			"method": "tools/call", "participant_id": "shell", "params": fields{"name": "Bash", "arguments": fields{"command": command}},
		})
		return rev.await("the proposal", func(env *protocol.Envelope) bool { return env.ID == id })
	}
	judge := func(e *protocol.Envelope, verdict, reason string) {
		rev.publish(protocol.KindMCPOpinion, "", e.ID, fields{"verdict": verdict, "call": exchange.ReadCall(e.ParsePayload()).Digest(), "reason": reason})
	}
	approve := func(e *protocol.Envelope) error {
		request, err := exchange.Approval(e, "run-"+e.ID, "shell")
		if err != nil {
			s.Fatal(err)
		}
		_, err = rev.Send(s.ctx, request)
		return err
	}
	card := func(command string) spot {
		return withText("article", like("coder wants to call Bash", command, "Approve")).in(room)
	}

	reads := propose("git diff a.go")
	judge(reads, "approve", "It only reads.")
	if approve(reads) == nil {
		s.Fatal("a reviewer in shadow has decided")
	}
	p.sees(card("git diff a.go"))
	later.sees(withText("article", like("git diff a.go", "You can decide this from", "Until then alice can.")).in(room))
	if p.has(withText("log", like("It only reads."))) {
		s.Error("the opinion is shown before the decision")
	}
	p.decide(at("button", "Approve").in(card("git diff a.go")))
	p.sees(withText("log", like("Approved by you, running", "rev would have approved this: It only reads.")))
	deletes := propose("rm -rf build")
	judge(deletes, "reject", "It deletes a folder.")
	p.click(at("button", "Reject…").in(card("rm -rf build")))
	p.decide(at("button", "Reject").in(room))
	p.sees(withText("log", like("Rejected by you", "rev would have rejected this: It deletes a folder.")))

	panel := p.panel("Policy")
	p.sees(withText("listitem", like("coder Bash", "Rejected by you")).in(panel))
	p.click(at("button", "Reviewers").in(panel))
	score := func(words ...string) spot {
		return withText("listitem", like(append([]string{"rev"}, words...)...)).in(panel)
	}
	p.sees(score("reviewer, in shadow", "Coverage 2 of 2 (100%)", "Misses 0", "Agreement on rejections 1 of 1 (100%)", "It can be promoted."))
	p.click(at("button", "Promote… rev").in(panel))
	p.fill(at("textbox", "Reason (visible to everyone)").in(panel), "It judges as I do.")
	p.click(at("button", "Promote").in(panel))
	p.sees(withText("note", like("alice let “rev” decide on proposals: It judges as I do.")).in(room))
	p.sees(score("reviewer, decides", "Promoted by you"))

	wrong := propose("git push --force")
	judge(wrong, "approve", "It is asked for.")
	if err := approve(wrong); err != nil {
		s.Fatal(err)
	}
	p.sees(withText("log", like("approved by rev", "rev gave its grounds: It is asked for.", "That was wrong…")))
	p.click(at("button", "That was wrong…").in(room))
	p.fill(at("textbox", "Reason (visible to everyone)").in(room), "Nobody asked for a force push.")
	p.click(at("button", "Back to shadow").in(room))
	p.sees(withText("note", like("alice put “rev” back into shadow: Nobody asked for a force push.")).in(room))
	p.sees(withText("log", like("You said that this approval was wrong: Nobody asked for a force push.")))
	p.sees(score("reviewer, in shadow", "Misses 1", "Put into shadow by you", "Nobody asked for a force push.", "The wrong decision"))
	if approve(propose("git push")) == nil {
		s.Error("the reviewer has decided after its demotion")
	}
	p.sees(card("git push"))
}
