package e2e

import (
	"encoding/json"
	"strings"

	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/testing/llmtest"
	"github.com/meup-protocol/meup/protocol"
)

// panel opens a panel by its tab.
func (p *webPage) panel(title string) spot {
	p.t.Helper()
	if open := at("tabpanel", title); !p.has(open) {
		p.click(at("tab", title+"*"))
		p.sees(open)
	}
	return at("tabpanel", title)
}

// reader is a model that reads a document before it answers.
func reader(r llmtest.Request) llmtest.Turn {
	if result := r.LastResult(); result != "" && r.Messages[len(r.Messages)-1].Role == llm.ToolResult {
		return llmtest.Turn{Text: "It came to this: " + result}
	}
	return llmtest.Turn{Calls: []llm.ToolCall{call("read_text_file", `{"path":"networking.md","rationale":"The port is written there."}`)}}
}

// A call that the agent may not make is decided in the page, and the agent
// continues with the decision.
func pageProposals(s *pageStage) {
	_, flags := model(s.T, reader)
	s.agent("guide", append(flags, "--answer", "any")...)
	p, other := s.visit("alice"), s.visit("bob")
	panel := at("tabpanel", "Proposals")
	card := at("article", "guide proposes read_text_file").in(panel)

	p.post("Which port is it?")
	b := block("guide")
	p.sees(head(b, "Waiting for you · "))
	p.sees(withText("article", like("wants to call", "The port is written there.")).in(room))
	p.sees(at("tab", "Proposals, 1 awaiting approval"))
	other.sees(at("tab", "Proposals, 1 awaiting approval"))
	p.panel("Proposals")
	p.sees(at("heading", "1 awaiting approval"))
	if text := p.read(card); !strings.Contains(text, "networking.md") || !strings.Contains(text, "The port is written there.") {
		s.Errorf("the card says %q", text)
	}
	p.decide(at("button", "Approve").in(card))
	p.sees(withText("article", like("Approved by you, done", "3 lines")).in(at("tabpanel", "Proposals")))
	p.sees(at("tab", "Proposals"))
	other.sees(at("tab", "Proposals"))
	p.sees(messageWith("It came to this:", "8080"))
	p.misses(head(b, "Waiting for"))
	p.misses(at("article", "guide proposes read_text_file").in(room))
	p.is(head(b, "Thought for "), "aria-expanded", "false")
	p.click(head(b, "Thought for "))
	p.sees(at("button", like("approved and done", "read_text_file")).in(b))

	p.post("And once more?")
	second := withText("article", like("wants to call", "Reject…")).in(room)
	p.sees(second)
	p.click(at("button", "Reject…").in(second))
	p.choose(at("combobox", "Reason").in(room), "Unsafe")
	p.fill(at("textbox", "Message to guide, instead of the reason").in(room), "the file is private")
	p.decide(at("button", "Reject").in(room))
	p.sees(withText("article", like("Rejected by you", "the file is private")).in(at("tabpanel", "Proposals")))
	p.sees(messageWith("It came to this:", "rejected by alice: the file is private"))
	p.sees(at("tab", "Proposals"))

	p.reload()
	p.panel("Proposals")
	p.sees(at("heading", "No proposals awaiting approval"))
	p.counts(2, card)
	p.sees(withText("article", like("Rejected by you", "the file is private")))
	p.sees(withText("article", like("Approved by you, done")))
}

// An approval that lasts grants what the gateway derived from the call, in its words.
func pageScopes(s *pageStage) {
	guide := s.join("guide")
	run := func(command string) fields {
		return fields{"method": "tools/call", "participant_id": "guide", "params": fields{"name": "Bash", "arguments": fields{"command": command}}}
	}
	p := s.visit("alice")
	guide.publish(protocol.KindMCPProposal, "", "", run("git diff a.go"))
	card := withText("article", like("guide wants to call", "git diff a.go")).in(room)
	p.choose(at("combobox", "Allow").in(card), "By pattern…")
	p.value(at("textbox", "command").in(card), `{"$shell":{"commands":["git diff **"]}}`)
	p.sees(withText("article", like("but only the tool “Bash”", "with “command”: git diff with any arguments")).in(room))
	p.fill(at("textbox", "command").in(card), `{"$shell"`)
	p.decide(at("button", "Approve").in(card))
	p.sees(withText("article", like("wants to call", "A pattern is no valid JSON.")).in(room))
	p.choose(at("combobox", "Allow").in(card), "git diff with any arguments")
	p.choose(at("combobox", "Duration").in(card), "for an hour")
	p.sees(withText("article", like("then needs no approval for this, for an hour: git diff with any arguments.")).in(room))
	p.decide(at("button", "Approve").in(card))
	p.sees(withText("log", like("alice granted “guide” access for 1 hour", "May call tools, but only the tool “Bash”", "git diff with any arguments")))
	for command, allowed := range map[string]bool{"git diff b.go": true, "git diff b.go; curl evil": false} {
		call := run(command)
		call["id"] = 1
		raw, err := json.Marshal(call)
		if err != nil {
			s.Fatal(err)
		}
		_, err = guide.Send(s.ctx, protocol.Envelope{Kind: protocol.KindMCPRequest, To: []protocol.ParticipantID{"guide"}, Payload: raw})
		if (err == nil) != allowed {
			s.Errorf("%s: %v", command, err)
		}
	}
}

// Withdrawn, expired, approved with another result, decided invisibly: each is
// displayed differently, in the panel and in the conversation.
func pageFates(s *pageStage) {
	scout, alice, files := s.join("scout"), s.join("alice"), s.join("guide")
	propose := func(file string) protocol.ID {
		return scout.publish(protocol.KindMCPProposal, "", "", fields{"method": "tools/call", "params": fields{"name": "delete_file", "arguments": fields{"path": file}}})
	}
	p, watcher := s.visit("alice"), s.visit("watcher")
	p.panel("Proposals")
	scout.publish(protocol.KindMCPWithdraw, "", propose("taken.txt"), fields{"reason": "no_longer_needed"})
	scout.publish(protocol.KindMCPWithdraw, "", propose("late.txt"), fields{"reason": "timeout"})
	failing := propose("failing.txt")
	done := alice.send(protocol.Envelope{
		Kind: protocol.KindMCPRequest, To: []protocol.ParticipantID{"guide"}, Correlation: protocol.CorrelateTo(failing),
		Payload: []byte(`{"id": 1, "method": "tools/call", "params": {"name": "delete_file", "arguments": {"path": "other.txt"}}, "edited": true}`),
	})
	files.publish(protocol.KindMCPResponse, "", done, fields{"id": 1, "error": fields{"code": -1, "message": "the disk is gone"}})
	propose("waits.txt")
	panel := at("tabpanel", "Proposals")
	for file, words := range map[string]string{
		"taken.txt":   "Withdrawn by scout",
		"late.txt":    "Expired: no decision in time",
		"failing.txt": "Approved by you, failed",
		"waits.txt":   "Approving sends exactly this call",
	} {
		p.sees(withText("article", like(file, words)).in(panel))
	}
	p.sees(withText("article", like("Approved with different arguments", "other.txt", "the disk is gone")).in(panel))
	for _, words := range []string{"withdrawn by scout", "expired", "approved by you"} {
		p.sees(withText("log", like("scout proposes delete_file", words)))
	}
	p.sees(withText("article", like("scout wants to call", "waits.txt")).in(room))
	p.sees(at("tab", "Proposals, 1 awaiting approval"))
	p.sees(withText("article", like("waits.txt", "Approve", "Reject…")).in(panel))

	// It names no host: a person chooses one.
	p.is(at("button", "Approve").in(panel), "disabled", "")
	p.choose(at("combobox", like("does not name the participant")).in(panel), "guide")
	p.decide(at("button", "Approve").in(panel))
	p.sees(withText("article", like("waits.txt", "Approved by you, running")).in(panel))
	p.sees(at("tab", "Proposals"))

	// The approvals are not visible to bob, who may decide: the gateway says that there are some.
	late := s.visit("bob")
	late.panel("Proposals")
	for _, file := range []string{"waits.txt", "failing.txt"} {
		late.sees(withText("article", like(file, "Already decided by alice")).in(at("tabpanel", "Proposals")))
	}
	late.sees(at("tab", "Proposals"))

	watcher.panel("Proposals")
	watcher.sees(withText("article", like("waits.txt", "You cannot decide this")))
	watcher.sees(withText("article", like("waits.txt", "You cannot decide this")).in(room))
	watcher.misses(at("button", "Approve"))
	watcher.misses(at("button", "Reject…"))
}

// An approval in the log ends the wait at once, in the block, in the panel and
// for every participant that can see it: the tool may take its time.
func pageDecisionCounts(s *pageStage) {
	scout, host := s.join("scout"), s.join("guide")
	in := scout.reason(s.join("alice").say("Which one?"), "Finding out")
	scout.publish(protocol.KindMCPProposal, in, "", fields{
		"method": "tools/call", "participant_id": "guide", "params": fields{"name": "read_text_file", "arguments": fields{"path": "a.md"}},
	})
	p := s.visit("alice")
	b := block("scout")
	p.sees(head(b, "Waiting for you · "))
	p.panel("Proposals")
	p.decide(at("button", "Approve").in(at("article", "scout proposes read_text_file").in(room)))
	request := host.await("the approved call", func(env *protocol.Envelope) bool { return env.Kind == protocol.KindMCPRequest })
	p.sees(head(b, "Reasoning · "))
	p.sees(withText("listitem", like("read_text_file")).in(b))
	p.sees(at("tab", "Proposals"))
	p.sees(withText("article", like("Approved by you, running")))
	host.publish(protocol.KindMCPResponse, in, request.ID, fields{"result": fields{"content": []any{}}})
	p.sees(withText("article", like("Approved by you, done", "No content", "Result")))
}
