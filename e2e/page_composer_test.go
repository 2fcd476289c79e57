package e2e

import (
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/meup-protocol/meup/internal/testing/webtest"
)

// Enter sends, Shift-Enter begins a line, "@" completes names, and a draft
// survives a reload.
func pageComposer(s *pageStage) {
	s.join("guide")
	s.join("scout")
	p := s.visit("alice")
	p.sees(withText("button", "3 online"))
	p.focus(composer)
	p.keys("one line")
	p.enter(chromedp.KeyModifiers(chromedp.ModifierShift))
	p.keys("and another")
	p.value(composer, "one line\nand another")
	p.enter()
	p.value(composer, "")
	p.sees(messageWith("one line", "and another"))
	p.keys(" ")
	p.enter() // nothing is sent
	p.fill(composer, "")

	p.keys("hello @")
	p.sees(at("option", "*guide"))
	p.sees(at("option", "*scout"))
	p.keys("sc")
	p.counts(1, at("option", "*"))
	p.enter() // accepts the name, and does not send
	p.value(composer, "hello @scout ")
	p.keys("@")
	p.is(at("option", "*guide"), "aria-selected", "true")
	p.keys(kb.ArrowDown)
	p.is(at("option", "*scout"), "aria-selected", "true")
	p.keys(kb.Escape)
	p.misses(at("option", "*"))
	p.keys(kb.Backspace)
	p.keys("are you there?")

	p.reload()
	p.value(composer, "hello @scout are you there?")
	p.click(at("checkbox", "Only to scout"))
	p.click(at("button", "Send"))
	p.value(composer, "")
	p.sees(withText("article", like("to scout", "hello @scout are you there?")).in(room))
	p.reload()
	p.value(composer, "")
	p.counts(2, at("article", "You, *").in(room))
	s.visit("bob").until("it is not bob's business", `!eyes.page().includes("are you there?")`)
}

// A refusal is shown in words at the message that caused it, also after a
// reload, and its author can correct the message.
func pageRefused(s *pageStage) {
	p := s.visit("rich")
	p.fill(composer, "forbidden words")
	p.enter()
	refused := at("article", "Your message, rejected").in(room)
	p.sees(refused)
	p.sees(withText("alert", like("Not sent. You are not allowed to do this.")).in(refused))
	p.sees(withText("article", like("forbidden words")).in(room))
	p.post("allowed words") // later messages are not held up
	p.reload()
	p.sees(withText("alert", like("Not sent. You are not allowed to do this.")).in(refused))
	p.click(at("button", "Edit").in(refused))
	p.misses(refused)
	p.value(composer, "forbidden words")
	p.fill(composer, "permitted words")
	p.enter()
	p.sees(at("article", "You, *").in(room))
	p.counts(2, at("article", "You, *").in(room))
	p.fill(composer, "forbidden again")
	p.enter()
	p.click(at("button", "Discard").in(refused))
	p.misses(refused)
	p.reload()
	p.counts(2, at("article", "*").in(room))
}

// A message beyond the rate limit waits, shows that it does, and is sent once.
func pageTooFast(s *pageStage) {
	p := s.visit("slow")
	p.focus(composer)
	tooFast := withText("article", like("You are sending faster than your limit (*) allows.", "Sent again automatically")).in(room)
	told := p.Watch(tooFast.find() + " !== null") // the page shows the message for 5 seconds
	webtest.Eval[bool](p.Tab, `["the first", "the second"].every((text) => { // at once, also on a busy machine
		const field = eyes.active();
		field.value = text;
		field.dispatchEvent(new Event("input", { bubbles: true, composed: true }));
		field.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true, composed: true, cancelable: true }));
		return true;
	})`)
	waiting := at("article", "Your message, not sent yet").in(room)
	p.until("see that it waits", told)
	p.misses(waiting)
	for _, words := range []string{"the first", "the second"} {
		p.counts(1, messageWith(words))
	}
	p.inOrder(messageWith("the first"), messageWith("the second"))
	n := 0
	for _, l := range history(s.T, s.g.addr, "alice") {
		if l.From == "slow" {
			n++
		}
	}
	if n != 2 {
		s.Errorf("%d messages are in the log", n)
	}
}
