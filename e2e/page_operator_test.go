package e2e

import (
	"regexp"
	"strings"

	"github.com/meup-protocol/meup/protocol"
)

// nothingToWrite replaces the composer for a participant that may not write.
const nothingToWrite = "You can read this space, but not post in it."

// A participant that may only read gets no composer.
func pageObserver(s *pageStage) {
	alice := s.join("alice")
	alice.say("Look at this.")
	p := s.visit("watcher")
	p.sees(messageWith("Look at this."))
	p.until("it is said", "eyes.page().includes("+quote(nothingToWrite)+")")
	for _, not := range []spot{composer, at("button", "Send"), at("button", "Reply"), at("tab", "Operator")} {
		if p.has(not) {
			s.Errorf("there is %s", not)
		}
	}
	s.join("scout").reason(alice.say("Think."), "I do")
	p.sees(head(block("scout"), "Reasoning · "))
	p.misses(at("button", "Stop"))
	p.panel("Participants")
	p.sees(withText("listitem", like("watcher", "(you)", "May only read.")))
}

// An operator grants a right for a time and revokes it; the change is in force
// for the recipient immediately.
func pageGrants(s *pageStage) {
	p, watcher := s.visit("alice"), s.visit("watcher")
	panel := p.panel("Operator")
	p.unfold("Grant access")
	p.choose(at("combobox", "Participant"), "watcher")
	p.choose(at("combobox", "Access"), "Other")
	p.fill(at("textbox", "Kind, or capability as JSON"), `["chat", "capability.grant"]`)
	p.choose(at("combobox", "Duration"), "5 minutes")
	p.fill(at("textbox", "Reason (visible to everyone)"), "for the meeting")
	p.click(at("button", "Grant access").in(at("form", "*").in(panel)))
	p.sees(withText("listitem", like("watcher", "by you", "May send chat messages.", "for the meeting", "ends in ")).in(panel))
	watcher.sees(composer)
	watcher.post("I can speak.")
	p.sees(messageWith("I can speak."))

	// A grant that depends on another is listed below it, and ends with it.
	s.join("watcher").publish(protocol.KindCapabilityGrant, "", "", fields{"recipient": "slow", "capabilities": []string{"chat"}})
	below := withText("listitem", like("watcher", "slow by watcher")).in(panel)
	p.sees(below)
	p.click(at("button", "Revoke the grant to watcher"))
	p.sees(withText("group", like("1 grant that came from it may end with it.")))
	p.click(at("button", "Revoke").in(at("group", "Revoke")))
	watcher.until("nothing to write with", "eyes.page().includes("+quote(nothingToWrite)+")")
	p.misses(below)
	p.sees(withText("group", "2 grants no longer in force*").in(panel))

	if s.visit("rich").has(at("tab", "Operator")) {
		s.Error("who may give nothing has the operator's panel")
	}
}

// A right that one does not hold cannot be granted: the error is shown at the
// form.
func pageCannotGive(s *pageStage) {
	s.join("watcher")
	p := s.visit("lead")
	panel := p.panel("Operator")
	p.misses(at("button", "Invite a participant").in(panel))
	p.unfold("Grant access")
	p.click(at("button", "Grant access").in(at("form", "*").in(panel)))
	p.sees(withText("alert", "Choose a participant.").in(panel))
	p.choose(at("combobox", "Participant"), "watcher")
	p.choose(at("combobox", "Access"), "Call all tools")
	p.click(at("button", "Grant access").in(at("form", "*").in(panel)))
	p.sees(withText("alert", like("You cannot grant access that you do not have.")).in(panel))
	p.until("nothing came of it", `eyes.page().includes("No active grants.")`)
}

// An operator removes a participant, and invites another one, whose token
// works.
func pageKickAndInvite(s *pageStage) {
	p, watcher := s.visit("alice"), s.visit("watcher")
	panel := p.panel("Operator")
	p.unfold("Pause or remove")
	p.click(at("button", "Remove watcher").in(panel))
	p.fill(at("textbox", "Reason (visible to everyone)").in(withText("form", like("All connections of watcher are closed"))), "enough")
	watcher.Expect("WebSocket connection to")
	watcher.Expect("403")
	p.click(at("button", "Remove watcher").in(withText("form", like("All connections of watcher are closed"))))
	watcher.until("it is said", `eyes.page().includes("You were removed from this space.") && eyes.page().includes("Removed")`)
	p.sees(withText("note", like("alice removed “watcher”: enough")).in(room))

	p.unfold("Invite a participant")
	p.fill(at("textbox", "Name").in(panel), "newcomer")
	p.click(at("button", "Invite").in(panel))
	token := p.read(at("code", "*").in(at("group", "The invitation's token")))
	if !regexp.MustCompile(`^\S{16,}$`).MatchString(token) {
		s.Fatalf("the token is %q", token)
	}
	p.click(at("button", "Done"))
	p.until("it is forgotten", "!eyes.page().includes("+quote(token)+")")
	newcomer := s.newPage()
	newcomer.Open(s.address())
	newcomer.fill(at("textbox", "Token"), token)
	newcomer.click(at("button", "Sign in"))
	newcomer.live()
	newcomer.post("I am new here.")
	p.sees(withText("article", like("newcomer", "I am new here.")).in(room))
	for _, x := range []*webPage{p, newcomer} {
		if kept := x.kept(); strings.Contains(kept, token) {
			s.Errorf("the token is kept: %s", kept)
		}
	}
}
