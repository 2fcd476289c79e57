package e2e

import (
	"fmt"
	"strings"

	"github.com/chromedp/chromedp"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/testing/webtest"
	"github.com/meup-protocol/meup/protocol"
)

// history creates a question, two contexts with one nested context, and
// answers.
func (s *pageStage) history() (ids map[string]protocol.ID) {
	s.Helper()
	alice, scout, guide := s.join("alice"), s.join("scout"), s.join("guide")
	ids = map[string]protocol.ID{"question": alice.say("Where are the keys?")}
	in := scout.reason(ids["question"], "Looking for the keys")
	ids["context"] = protocol.ID(in)
	ids["thought"] = scout.think(in, "They may be in the drawer.")
	inner := in.Child(scout.publish(protocol.KindReasoningStart, in, "", fields{"message": "Opening the drawer"}))
	ids["inner"] = scout.think(inner, "It is full of pencils.")
	scout.conclude(inner, "No keys in there.")
	scout.conclude(in, "Not in the drawer.")
	ids["answer"] = scout.answer(ids["question"], "They are not in the drawer.")
	other := guide.reason(ids["question"], "Asking the neighbours")
	guide.think(other, "Somebody has seen them.")
	guide.conclude(other, "Under the mat.")
	guide.answer(ids["question"], "They are under the mat.")
	ids["thanks"] = alice.answer(ids["answer"], "Thank you both.")
	return ids
}

// The tree of contexts filters the conversation; nothing is lost by it.
func pageFilters(s *pageStage) {
	s.history()
	p := s.visit("alice")
	p.sees(messageWith("Thank you both."))
	p.sees(block("guide"))
	everything := p.read(room)
	p.panel("Contexts")
	p.sees(at("heading", "* contexts"))
	p.click(at("checkbox", "Main conversation only"))
	p.misses(block("scout"))
	p.misses(block("guide"))
	p.sees(messageWith("They are under the mat."))
	p.sees(withText("log", like("Some messages are hidden.")))
	p.click(at("checkbox", "Main conversation only"))
	p.sees(block("scout"))

	p.click(at("button", "Only this").in(at("group", "Asking the neighbours")))
	p.misses(block("scout"))
	p.misses(messageWith("Thank you both."))
	p.sees(block("guide"))
	p.is(at("button", "Only this").in(at("group", "Asking the neighbours")), "aria-pressed", "true")
	p.click(at("button", "Show all").in(room))
	p.sees(block("scout"))
	p.is(at("button", "Only this").in(at("group", "Asking the neighbours")), "aria-pressed", "false")

	p.click(at("button", "Hide").in(at("group", "Looking for the keys")))
	p.misses(block("scout"))
	p.sees(block("guide"))
	p.click(at("button", "Show all").in(room))
	p.until("everything is as it was", "eyes.text("+room.find()+") === "+quote(everything))

	p.click(at("checkbox", "Starts and conclusions only"))
	p.sees(messageWith("Thank you both."))
	p.click(head(block("guide"), "Thought for "))
	p.sees(withText("group", like("Under the mat.")).in(room))
	p.until("the steps are left out", `!eyes.text(`+room.find()+`).includes("Somebody has seen them.")`)
	p.click(at("button", "Show all").in(room))
	p.sees(withText("listitem", "Somebody has seen them.*").in(room))

	p.panel("Participants")
	p.click(at("button", "Filter messages of guide"))
	p.misses(block("scout"))
	p.misses(messageWith("Thank you both."))
	p.sees(messageWith("They are under the mat."))
	p.click(at("button", "Filter messages of guide"))
	p.sees(messageWith("Thank you both."))
}

// Search finds messages and thoughts, and opens their positions.
func pageSearch(s *pageStage) {
	s.history()
	p := s.visit("alice")
	p.keys("k", chromedp.KeyModifiers(chromedp.ModifierCtrl))
	command := at("combobox", "Command")
	p.until("the palette has the keyboard", command.find()+" === eyes.active()")
	p.keys("pencils")
	p.sees(at("option", like("Search messages for “pencils”")))
	p.enter()
	panel := at("tabpanel", "Search")
	p.sees(panel)
	words := at("searchbox", "Search for")
	p.sees(withText("status", "1 result").in(panel))
	p.click(at("button", like("scout", "It is full of pencils.")).in(panel))
	p.sees(withText("listitem", "It is full of pencils.*").in(room))
	p.until("it is in view", inView(withText("listitem", "It is full of pencils.*").in(room)))
	p.fill(words, "keys")
	p.sees(withText("status", "* results").in(panel))
	p.click(at("button", "Messages").in(panel))
	p.sees(withText("status", "1 result").in(panel))
	p.sees(at("button", like("You", "Where are the keys?")).in(panel))
	p.fill(words, "unicorns")
	p.sees(withText("status", "No results for “unicorns”").in(panel))
}

// inView is an expression: whether a spot is visible without scrolling.
func inView(of spot) string {
	return "(() => { const b = " + of.find() + "?.getBoundingClientRect(); return b !== undefined && b.bottom > 0 && b.top < innerHeight; })()"
}

// Every envelope can be viewed as it was sent.
func pageRaw(s *pageStage) {
	ids := s.history()
	p := s.visit("alice")
	thanks := messageWith("Thank you both.")
	p.focus(at("link", "*").in(thanks)) // the actions of a message appear
	p.click(at("button", "Show envelope").in(thanks))
	panel := at("tabpanel", "Envelope")
	p.sees(withText("tabpanel", like("As stored by the gateway.")))
	text := p.read(at("code", "The envelope as JSON").in(panel))
	for _, want := range []string{`"id": "` + string(ids["thanks"]) + `"`, `"from": "alice"`, `"protocol": "meup/v0.1"`, `"correlationId": "` + string(ids["answer"]) + `"`, `"message": "Thank you both."`} {
		if !strings.Contains(text, want) {
			s.Errorf("%s is missing in %s", want, text)
		}
	}
	p.click(at("button", string(ids["answer"])).in(panel))
	p.sees(withText("code", like("They are not in the drawer.")).in(panel))
	p.click(at("button", "Back").in(panel))
	p.sees(withText("code", like("Thank you both.")).in(panel))
	p.click(at("button", "Close panel").in(at("complementary", "Panels")))
	p.misses(panel)

	p.click(head(block("scout"), "Thought for "))
	p.click(at("button", "Show envelope").in(withText("listitem", "They may be in the drawer.*").in(room)))
	p.sees(withText("code", like(string(ids["thought"]), "reasoning.thought")))
}

// A link to a message, a thought or a context opens its position, regardless of
// its age.
func pageLinks(s *pageStage) {
	ids := s.history()
	bob := s.join("bob")
	for i := range 1500 {
		if _, err := bob.SendAsync(s.ctx, client.Chat(fmt.Sprintf("Talk about the weather, %d.", i))); err != nil {
			s.Fatal(err)
		}
	}
	bob.say("That was the weather.")
	p := s.visit("alice")
	p.sees(messageWith("That was the weather."))
	if p.has(messageWith("Where are the keys?")) {
		s.Fatal("the question is loaded already: this shows nothing")
	}
	p.follow("m/" + string(ids["answer"]))
	p.until("it is in view", inView(messageWith("They are not in the drawer.")))
	p.follow("m/" + string(ids["inner"]))
	thought := withText("listitem", "It is full of pencils.*").in(room)
	p.until("it is in view", inView(thought))
	p.reload() // the address is kept, and opens the position again
	p.until("it is in view", inView(thought))
	p.follow("c/" + string(ids["context"]))
	p.until("it is in view", inView(block("scout")))
	told := p.Watch(withText("status", "Not found in this space").find() + " !== null")
	p.follow("m/nobody-has-said-that")
	p.until("see that it was not found", told)
	if at := webtest.Eval[string](p.Tab, "location.hash"); at != "#/space/lab/m/nobody-has-said-that" {
		s.Errorf("the address is %s", at)
	}
}

// follow opens a link within the space.
func (p *webPage) follow(place string) {
	p.t.Helper()
	p.address("#/space/lab/" + place)
}

// address changes the part of the page's address that names the space and the
// position in it.
func (p *webPage) address(hash string) {
	p.t.Helper()
	webtest.Eval[bool](p.Tab, fmt.Sprintf("(location.hash = %q, true)", hash))
}
