package e2e

import (
	"fmt"

	"github.com/chromedp/chromedp/kb"

	"github.com/meup-protocol/meup/internal/testing/webtest"
)

// The timeline shows the space as it was at any moment, and plays it.
func pageTimeline(s *pageStage) {
	alice, scout := s.join("alice"), s.join("scout")
	id := alice.say("What was it like?")
	in := scout.reason(id, "Remembering")
	scout.think(in, "It was early.")
	scout.think(in, "It was cold.")
	scout.conclude(in, "Cold.")
	scout.answer(id, "It was cold.")
	p := s.visit("alice")
	p.sees(messageWith("It was cold."))
	now := p.read(room)
	panel := p.panel("Timeline")
	slider := at("slider", "Position").in(panel)
	p.sees(withText("status", "Live").in(panel))

	p.focus(slider)
	p.keys(kb.Home)
	p.sees(withText("status", like("Viewing the past")).in(panel))
	p.misses(composer)
	p.until("nothing was said yet", `!eyes.text(`+room.find()+`).includes("What was it like?")`)
	on := at("button", "Next envelope").in(panel)
	p.click(on)
	p.sees(messageWith("What was it like?"))
	p.misses(block("scout"))
	p.click(on)
	p.click(on)
	p.sees(head(block("scout"), "Reasoning"))
	p.until("as far as it was", `eyes.page().includes("It was early.") && !eyes.text(`+room.find()+`).includes("It was cold.")`)
	p.misses(at("button", "Stop")) // agents cannot be stopped in the past

	alice.say("This is new.")
	p.until("what is new is not of then", `!eyes.text(`+room.find()+`).includes("This is new.")`)
	p.choose(at("combobox", "Speed").in(panel), "100×")
	p.click(at("button", "Play").in(panel))
	p.sees(messageWith("It was cold."))
	p.sees(head(block("scout"), "Thought for "))
	p.click(at("button", "Return to live").in(panel))
	p.sees(messageWith("This is new."))
	p.sees(withText("status", "Live").in(panel))
	p.until("now is as it was", fmt.Sprintf("eyes.text(%s).startsWith(%s)", room.find(), quote(now)))
	p.post("And this, too.")

	// A moment by the slider, and back by the line above the conversation.
	webtest.Eval[bool](p.Tab, `(() => { const e = `+slider.find()+`; e.value = "1"; e.dispatchEvent(new Event("input", { bubbles: true, composed: true })); return true; })()`)
	p.misses(messageWith("It was cold."))
	p.click(at("button", "Return to live")) // the first of two
	p.sees(messageWith("And this, too."))
}
