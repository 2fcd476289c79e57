package e2e

import (
	"fmt"
	"strings"

	"github.com/chromedp/chromedp/kb"

	"github.com/meup-protocol/meup/internal/testing/llmtest"
	"github.com/meup-protocol/meup/internal/testing/webtest"
	"github.com/meup-protocol/meup/protocol"
)

// blockAbout is the block in which a participant's reasoning contains words.
func blockAbout(who, words string) spot {
	b := block(who)
	b.text = like(words)
	return b
}

// The blocks of an agent that vanished and of a cancelled one end, and look the
// same after a reload.
func pageBlocksEnd(s *pageStage) {
	alice, scout := s.join("alice"), s.join("scout")
	lost := alice.say("Who answers this?")
	p := s.visit("alice")
	b := block("scout")
	gone := scout.reason(lost, "I look into it")
	p.runsFor(b, 2)
	scout.think(gone, "Nearly there.")
	p.sees(withText("listitem", "Nearly there.").in(b))
	if err := scout.Close(); err != nil {
		s.Error(err)
	}
	p.sees(head(b, "Stopped after "))
	p.until("no spinner", "!("+spinning(b)+")")
	title := p.read(head(b, "Stopped after "))

	guide := s.join("guide")
	other := block("guide")
	second := guide.reason(alice.say("And who answers that?"), "I begin")
	p.sees(head(other, "Reasoning · "))
	alice.publish(protocol.KindReasoningCancel, second, "", fields{"reason": "no need"})
	called := p.read(head(other, "Canceled after "))

	p.reload()
	p.sees(head(b, title))
	p.click(head(other, called))
	p.sees(withText("group", like("Canceled by alice: no need")).in(room))
	p.until("nothing that runs", `document.querySelector("[role=log] .spinner") === null`)
}

// An agent that returns continues its reasoning.
func pageComesBack(s *pageStage) {
	alice, scout := s.join("alice"), s.join("scout")
	p := s.visit("alice")
	b := block("scout")
	id := alice.say("Who comes back?")
	in := scout.reason(id, "I begin")
	p.sees(head(b, "Reasoning · "))
	if err := scout.Close(); err != nil {
		s.Error(err)
	}
	p.sees(head(b, "Stopped after "))
	scout = s.join("scout")
	scout.think(in, "Where was I?")
	p.sees(head(b, "Reasoning · "))
	p.until("a spinner", spinning(b))
	scout.conclude(in, "There.")
	scout.answer(id, "I was there.")
	p.sees(messageWith("I was there."))
	p.sees(head(b, "Thought for "))
}

// A person stops an agent from the page; the agent stops.
func pageStop(s *pageStage) {
	hang := make(chan struct{})
	_, flags := model(s.T, func(llmtest.Request) llmtest.Turn { return llmtest.Turn{Hang: hang} })
	s.Cleanup(func() { close(hang) })
	s.agent("guide", flags...)
	p := s.visit("alice")
	p.post("Think about it.")
	b := block("guide")
	p.click(at("button", "Stop").in(b))
	p.sees(head(b, "Canceled after "))
	p.sees(messageWith("*stopped*"))
	p.until("nothing that runs", `document.querySelector("[role=log] .spinner") === null`)
	p.misses(at("button", "Stop").in(b))
}

// The reasoning ends when the answer begins, not when it is complete.
func pageGrowingAnswer(s *pageStage) {
	alice, scout := s.join("alice"), s.join("scout")
	question := alice.say("What is it?")
	p := s.visit("alice")
	b := block("scout")
	in := scout.reason(question, "I look")
	scout.think(in, "It is something.")
	p.runsFor(b, 1)
	scout.publish(protocol.KindStreamOpen, "", question, fields{"stream_id": "s-1", "content_type": "text/markdown"})
	scout.publish(protocol.KindStreamData, "", "", fields{"stream_id": "s-1", "data": "It is "})
	p.sees(messageWith("It is"))
	p.is(head(b, "Thought for "), "aria-expanded", "false")
	title := p.read(head(b, "Thought for "))
	p.is(messageWith("It is"), "aria-busy", "true")
	scout.publish(protocol.KindStreamData, "", "", fields{"stream_id": "s-1", "data": "a **gateway**."})
	p.sees(messageWith("It is a gateway."))
	scout.publish(protocol.KindStreamClose, "", "", fields{"stream_id": "s-1"})
	scout.publish(protocol.KindChat, "", question, fields{"message": "It is a **gateway**.", "format": "markdown", "stream_id": "s-1"})
	scout.conclude(in, "A gateway.")
	p.is(messageWith("It is a gateway."), "aria-busy", "false")
	p.counts(1, messageWith("It is a gateway."))
	if again := p.read(head(b, "Thought for ")); again != title {
		s.Errorf("%q became %q", title, again)
	}
	p.reload()
	p.inOrder(messageWith("What is it?"), head(b, title), messageWith("It is a gateway."))
	p.counts(1, messageWith("It is a gateway."))
}

// A context that a participant has written into and that was never opened.
func pageIdleBlock(s *pageStage) {
	alice, scout := s.join("alice"), s.join("scout")
	p := s.visit("alice")
	alice.publish(protocol.KindChat, "plan-1", "", fields{"message": "Use this for the plan."})
	idle := at("group", "Reasoning of*").in(room)
	p.sees(idle)
	p.until("no seconds, no spinner", `!/Reasoning ·|Thought for/.test(eyes.text(`+idle.find()+`)) && !(`+spinning(idle)+`)`)
	p.reload()
	p.sees(idle)
	scout.think("plan-1", "I begin with it.")
	p.sees(head(block("scout"), "Reasoning · "))
	p.until("a spinner", spinning(block("scout")))
}

// Two agents reason in parallel, each below the question that it answers.
func pageTwoAgents(s *pageStage) {
	gates := map[string]chan struct{}{"guide": make(chan struct{}), "scout": make(chan struct{})}
	for who, gate := range gates {
		_, flags := model(s.T, func(r llmtest.Request) llmtest.Turn {
			question := "?"
			for _, word := range []string{"north", "south"} {
				if strings.Contains(r.LastUser(), word) {
					question = word
				}
			}
			return llmtest.Turn{Hang: gate, Text: who + " says " + question + " it is."}
		})
		s.agent(who, append(flags, "--answer", "mentioned")...)
	}
	p := s.visit("alice")
	p.post("@guide where is north?")
	p.post("@scout where is south?")
	north, south := messageWith("where is north?"), messageWith("where is south?")
	for _, who := range []string{"guide", "scout"} {
		p.sees(head(block(who), "Reasoning · "))
		p.until("a spinner", spinning(block(who)))
	}
	p.inOrder(north, block("guide"), south, block("scout"))
	close(gates["scout"])
	p.sees(messageWith("scout says south it is."))
	p.is(head(block("scout"), "Thought for "), "aria-expanded", "false")
	p.until("the other one still spins", spinning(block("guide")))
	close(gates["guide"])
	p.sees(messageWith("guide says north it is."))
	p.is(head(block("guide"), "Thought for "), "aria-expanded", "false")
	// A block is above its answer.
	p.inOrder(block("guide"), messageWith("guide says north it is."))
	p.inOrder(south, block("scout"), messageWith("scout says south it is."))
	p.sees(at("button", like("You", "where is north?")).in(messageWith("guide says north it is.")))
	before := p.read(room)
	p.reload()
	p.sees(messageWith("guide says north it is."))
	if after := p.read(room); after != before {
		s.Errorf("after a reload\n%s\nbefore\n%s", after, before)
	}
}

// A block that a person opened or closed stays so, regardless of automatic
// changes.
func pageToggles(s *pageStage) {
	alice, scout := s.join("alice"), s.join("scout")
	p := s.visit("alice")
	b := block("scout")
	work := func(question string) (protocol.ID, protocol.ContextPath) {
		id := alice.say(question)
		in := scout.reason(id, "Of "+question)
		for _, words := range []string{"First.", "Second.", "Third."} {
			scout.think(in, words+" "+question)
		}
		return id, in
	}

	id, in := work("Closed by hand?")
	p.sees(withText("listitem", "Third. Closed by hand?").in(b))
	p.until("only the last two", `!eyes.page().includes("First. Closed")`)
	p.click(head(b, "Reasoning · "))
	p.is(head(b, "Reasoning · "), "aria-expanded", "false")
	scout.think(in, "Fourth. Closed by hand?")
	p.runsFor(b, 2)
	p.is(head(b, "Reasoning · "), "aria-expanded", "false")
	scout.conclude(in, "Done.")
	scout.answer(id, "Answered: closed.")
	p.sees(messageWith("Answered: closed."))
	p.is(head(b, "Thought for "), "aria-expanded", "false")

	id, in = work("Opened by hand?")
	opened := blockAbout("scout", "Opened by hand?")
	p.click(at("button", "All 3 steps").in(opened))
	p.sees(withText("listitem", "First. Opened by hand?*").in(opened))
	scout.conclude(in, "Done.")
	scout.answer(id, "Answered: opened.")
	p.sees(messageWith("Answered: opened."))
	p.is(head(opened, "Thought for "), "aria-expanded", "true")

	id, in = work("Left alone?")
	p.sees(withText("listitem", "Third. Left alone?"))
	scout.conclude(in, "Done.")
	scout.answer(id, "Answered: alone.")
	p.until("it closes by itself", `!eyes.page().includes("Third. Left alone?")`)
	p.until("what was opened by hand is open after that, too", opened.find()+" !== null")

	p.reload()
	p.is(head(opened, "Thought for "), "aria-expanded", "true")
	p.sees(withText("listitem", "First. Opened by hand?*").in(opened))
	p.until("what was closed, or closed by itself, is closed", `eyes.count(`+head(b, "Thought for ").js()+`) >= 1 && !/First. (Closed|Left)/.test(eyes.page())`)
	p.click(head(opened, "Thought for "))
	p.until("closed by hand", `!eyes.page().includes("First. Opened by hand?")`)
	p.reload()
	p.counts(3, b)
	p.until("still closed", `!eyes.page().includes("First. Opened by hand?")`)
}

// A conversation that is scrolled to its end stays there, also when a block is
// opened or closed in it; one that is scrolled up does not move.
func pageFollows(s *pageStage) {
	alice, scout, bob := s.join("alice"), s.join("scout"), s.join("bob")
	p := s.visit("alice")
	id := alice.say("Which one?")
	in := scout.reason(id, "Looking")
	scout.think(in, "This one.")
	b := block("scout")
	p.click(head(b, "Reasoning · "))
	p.is(head(b, "Reasoning · "), "aria-expanded", "false")
	scout.answer(id, "That one.")
	p.sees(messageWith("That one."))
	p.misses(at("button", "* new")) // everything is visible
	for i := range 40 {
		bob.say(fmt.Sprintf("Number %d.", i))
	}
	last := messageWith("Number 39.")
	p.sees(last)
	p.until("the last is in view", inView(last))
	p.misses(at("button", "* new"))

	p.focus(room)
	first := messageWith("Which one?")
	p.home(first)
	p.until("the first is in view", inView(first))
	bob.say("One more.")
	p.sees(at("button", "1 new"))
	p.until("it has not moved", inView(first)+" && !"+inView(messageWith("One more.")))
	p.click(at("button", "1 new"))
	p.until("the last is in view", inView(messageWith("One more.")))
	p.misses(at("button", "* new"))
}

// home presses Home until the conversation rests where its first message is in view. The
// page does not notice a key press that begins to scroll while rows get their final size.
func (p *webPage) home(first spot) {
	p.t.Helper()
	for {
		p.keys(kb.Home)
		if webtest.Eval[bool](p.Tab, `(async () => {
			const talk = document.querySelector(".talk");
			for (let before = -1, still = 0; still < 5; before = talk.scrollTop) {
				await new Promise(requestAnimationFrame);
				still = talk.scrollTop === before ? still + 1 : 0;
			}
			return `+inView(first)+`;
		})()`) || p.s.ctx.Err() != nil {
			return
		}
	}
}

// The preference is stored, and applies to blocks that were not toggled by
// hand.
func pagePreference(s *pageStage) {
	alice, scout := s.join("alice"), s.join("scout")
	id := alice.say("A question?")
	in := scout.reason(id, "Some work")
	scout.think(in, "A step of it.")
	p := s.visit("alice")
	b := block("scout")
	step := withText("listitem", "A step of it.*").in(b)
	p.sees(step)
	p.prefer("Closed")
	p.misses(step)
	p.until("it still shows that it runs", spinning(b))
	p.reload()
	p.is(head(b, "Reasoning · "), "aria-expanded", "false")
	p.prefer("Open")
	p.sees(step)
	scout.conclude(in, "It is done.")
	scout.answer(id, "An answer.")
	p.sees(messageWith("An answer."))
	p.sees(head(b, "Thought for "))
	p.reload()
	p.sees(step)
	p.is(head(b, "Thought for "), "aria-expanded", "true")
	p.prefer("Automatic")
	p.misses(step)
	p.reload()
	p.is(head(b, "Thought for "), "aria-expanded", "false")
	p.click(at("button", "You are alice. Settings"))
	if !webtest.Eval[bool](p.Tab, at("radio", "Automatic*").find()+".checked") {
		s.Error("the preference is not marked")
	}
}

// prefer sets the preference for automatic folding of blocks.
func (p *webPage) prefer(what string) {
	p.t.Helper()
	p.click(at("button", "You are alice. Settings"))
	p.click(at("radio", what+"*"))
	p.keys("\x1b")
	p.misses(at("radio", what+"*"))
}
