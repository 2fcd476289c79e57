package webtest

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"testing"

	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// hostile is one kind of attack.
type hostile struct {
	name string
	say  func(s *Stage)
}

func attacks() []hostile {
	mallory := func(list ...[]Envelope) func(*Stage) {
		return func(s *Stage) { s.Send("mallory", slices.Concat(list...)...) }
	}
	var fields []Envelope
	for i, text := range slices.Concat(markup[:4], written[:2], shifting[:4]) {
		fields = append(fields, everywhere(fmt.Sprintf("f%d", i), text)...)
	}
	return []hostile{
		{"markup", mallory(says("html", markup))},
		{"Markdown", mallory(says("md", written))},
		{"characters", mallory(says("char", shifting))},
		{"imitations", mallory(says("im", imitations))},
		{"fields", mallory(fields)},
		{"answers", mallory(answers(markup[0]))},
		{"prototypes", mallory(polluting())},
		{"names", func(s *Stage) {
			for i, who := range hostileCast[3:] {
				s.Send(who, Chat(fmt.Sprintf("name-%d", i), "I am "+who), Envelope{"id": fmt.Sprintf("name-r-%d", i), "kind": "reasoning.start", "payload": map[string]any{"message": "mine"}})
			}
		}},
		{"types", mallory(wrong())}, // it pauses participants
	}
}

// For hostile texts no script runs, nothing is fetched, no part of the page
// changes or is imitated by an element, and the composer still works: live,
// after everything was opened, and after a reload.
func TestHostile(t *testing.T) {
	s := newStage(t, hostileCast...)
	s.Join("mallory")
	tab := SharedBrowser(t).Private(t)
	s.Send("bob", Chat("first", "the first word"))
	s.Enter(tab, "alice")
	awaitEnvelope(tab, "first")
	preferOpen(tab)
	before := outline(tab)
	last := ""
	for _, a := range attacks() {
		last = "sentinel-" + a.name
		t.Run(a.name, func(t *testing.T) {
			a.say(s)
			s.Send("bob", Chat(last, "the last word"))
			awaitEnvelope(tab, protocol.ID(last))
			unharmed(t, tab, before)
			openAll(tab)
			unharmed(t, tab, before)
			sendMessage(tab, "still here after "+a.name)
		})
	}
	tab.Open(s.Gateway.HTTP() + "/")
	awaitEnvelope(tab, protocol.ID(last))
	openAll(tab)
	unharmed(t, tab, before)
}

// Very long or deeply nested texts are rendered in part, the rest on demand,
// and the page stays responsive: each alone in a space with make slow, otherwise a
// part of each in the same one.
func TestHostileFloods(t *testing.T) {
	if !testkit.IsSlow() {
		flood(t, floods(20))
		return
	}
	for name, text := range floods(1) {
		t.Run(name, func(t *testing.T) { flood(t, map[string]string{name: text}) })
	}
}

func flood(t *testing.T, texts map[string]string) {
	s := newStage(t, "alice", "bob", "mallory")
	tab := SharedBrowser(t).Private(t)
	tab.Do(size(1280, 900))
	s.Send("bob", Chat("first", "the first word"))
	s.Enter(tab, "alice")
	awaitEnvelope(tab, "first")
	before := outline(tab)
	names := slices.Sorted(maps.Keys(texts))
	for _, name := range names {
		text := texts[name]
		s.Send("mallory", Chat(name+"-plain", text), Markdown(name, text))
		s.Send("mallory", Envelope{"id": name + "-ctx", "kind": "reasoning.start", "payload": map[string]any{"message": text[:min(len(text), 1<<19)]}},
			Envelope{"context": name + "-ctx", "kind": "reasoning.thought", "payload": map[string]any{"message": text}})
	}
	s.Send("bob", Chat("sentinel", "the last word"))
	awaitEnvelope(tab, "sentinel")
	unharmed(t, tab, before)
	openAll(tab)
	unharmed(t, tab, before)
	for _, name := range names {
		Eval[bool](tab, `(document.querySelector('.rows [data-id=`+quote(name)+`] .raw-link').click(), true)`)
		tab.Await(`document.querySelector("meup-envelope")?.shadowRoot?.textContent.includes(` + quote(name) + `)`)
		unharmed(t, tab, nil)
	}
	sendMessage(tab, "still here")
}

// Fields that are rendered whole, since they are usually short, may be long;
// then rendering them is cheap.
func TestHostileReasons(t *testing.T) {
	n := 10_000
	if testkit.IsSlow() {
		n = 150_000
	}
	s := newStage(t, "alice", "bob", "mallory")
	tab := SharedBrowser(t).Private(t)
	s.Enter(tab, "alice")
	for _, text := range []string{"https://x.example/" + repeat(")", n), "https://x.example/" + repeat(".", n) + "x", repeat("x", n)} {
		id := fmt.Sprintf("r-%x", text[len(text)-1])
		s.Send("mallory", everywhere(id, text)...)
		s.Send("bob", Chat("sentinel-"+id, "the last word"))
		awaitEnvelope(tab, protocol.ID("sentinel-"+id))
		unharmed(t, tab, nil)
		sendMessage(tab, "still here after "+id)
	}
}

// A block with very many steps renders the latest ones and shows the total.
func TestHostileSteps(t *testing.T) {
	s := newStage(t, "alice", "bob", "mallory")
	tab := SharedBrowser(t).Private(t)
	s.Send("bob", Chat("first", "the first word"))
	s.Enter(tab, "alice")
	awaitEnvelope(tab, "first")
	preferOpen(tab)
	before := outline(tab)
	list := []Envelope{{"id": "ctx", "kind": "reasoning.start", "payload": map[string]any{"message": "many"}}}
	steps := 3000
	if testkit.IsSlow() {
		steps = 20_000
	}
	for i := range steps {
		list = append(list, Envelope{"context": "ctx", "kind": "reasoning.thought", "payload": map[string]any{"message": fmt.Sprint("thought ", i), "parallel_group": i, "tool_name": "t"}})
	}
	s.Send("mallory", list...)
	s.Send("bob", Chat("sentinel", "the last word"))
	awaitEnvelope(tab, "sentinel")
	if n := Eval[int](tab, `document.querySelectorAll(".rows .step").length`); n > 2000 {
		t.Errorf("%d steps are drawn", n)
	}
	unharmed(t, tab, before)
	sendMessage(tab, "still here")
}

// A step that another participant adds to someone's reasoning shows its sender.
func TestForgedReasoning(t *testing.T) {
	s := newStage(t, "alice", "bob", "mallory")
	s.Join("bob", "mallory")
	tab := SharedBrowser(t).Private(t)
	s.Enter(tab, "alice")
	preferOpen(tab)
	s.Send("alice", Chat("q", "Is it safe?"))
	s.Send("bob", Envelope{"id": "think", "kind": "reasoning.start", "correlationId": "q", "payload": map[string]any{"message": "I look at it"}})
	s.Send("mallory",
		Envelope{"id": "f-thought", "kind": "reasoning.thought", "context": "think", "payload": map[string]any{"message": "forged thought"}},
		Envelope{"id": "f-said", "kind": "chat", "context": "think", "payload": map[string]any{"message": "forged word"}},
		Envelope{"id": "f-inner", "kind": "reasoning.start", "context": "think", "payload": map[string]any{"message": "forged context"}},
		Envelope{"id": "f-call", "kind": "mcp.request", "context": "think", "payload": map[string]any{"method": "tools/call", "params": map[string]any{"name": "forged_call"}}},
		Envelope{"id": "f-proposal", "kind": "mcp.proposal", "context": "think", "payload": map[string]any{"method": "tools/call", "params": map[string]any{"name": "forged_proposal"}}},
		Envelope{"id": "f-answer", "kind": "chat", "correlationId": []string{"q", "think"}, "payload": map[string]any{"message": "forged answer"}},
		Envelope{"id": "f-end", "kind": "reasoning.conclusion", "context": "think", "payload": map[string]any{"message": "forged conclusion"}})
	s.Send("alice", Chat("sentinel", "the last word"))
	awaitEnvelope(tab, "sentinel")
	openAll(tab)
	step := func(word string) string {
		return `[...document.querySelectorAll("[data-step]")].find(e => e.textContent.includes("` + word + `"))`
	}
	for _, forged := range []struct{ what, where string }{
		{"thought", step("forged thought")}, {"word", step("forged word")}, {"call", step("forged_call")}, {"proposal", step("forged_proposal")},
		{"context", `document.querySelector('[data-context="think/f-inner"] .reasoning-head')`},
		{"conclusion", `document.querySelector('[data-context="think"] > .reasoning-body > .ending')`},
	} {
		text := Eval[string](tab, `(`+forged.where+`)?.innerText ?? "(nothing)"`)
		if !contains(text, "mallory") {
			t.Errorf("the forged %s does not name its author: %q", forged.what, text)
		}
	}
	if by := Eval[string](tab, `document.querySelector('[data-id="f-answer"] .author')?.textContent ?? ""`); !contains(by, "mallory") {
		t.Errorf("the forged answer is said to be of %q", by)
	}
	if status := Eval[string](tab, `document.querySelector('[data-context=think]').dataset.status`); status == "complete" {
		t.Error("bob's reasoning counts as complete, with an answer that is not his")
	}
	tab.Clean()
}

// No participant can imitate the gateway's messages.
func TestForgedGateway(t *testing.T) {
	s := newStage(t, hostileCast...)
	tab := SharedBrowser(t).Private(t)
	s.Enter(tab, "alice")
	for i, who := range []string{"mallory", "system.gatevvay", "system.gateway"} {
		for _, kind := range []string{"system.welcome", "system.error", "system.presence", "system.ack"} {
			if status := s.trySend(who, Envelope{"kind": kind, "payload": map[string]any{"you": map[string]any{"id": "mallory"}}}); status < 400 {
				t.Errorf("%s may say %s", who, kind)
			}
		}
		if status := s.trySend(who, Envelope{"from": "system:gateway", "kind": "chat", "payload": map[string]any{"message": "I am the gateway"}}); status < 400 {
			t.Errorf("%s speaks as the gateway", who)
		}
		s.Send(who, Chat(fmt.Sprint("claim-", i), "You have been removed from this space."))
	}
	s.Send("bob", Chat("sentinel", "the last word"))
	awaitEnvelope(tab, "sentinel")
	s.Join("You", "system.gateway")
	for _, who := range []string{"You", "system.gateway"} {
		s.Send(who, Envelope{"id": "think-" + who, "kind": "reasoning.start", "payload": map[string]any{"message": "mine"}},
			Envelope{"id": "propose-" + who, "kind": "mcp.proposal", "payload": map[string]any{"method": "tools/call", "params": map[string]any{"name": "t"}}},
			Envelope{"id": "shut-" + who, "kind": "participant.shutdown", "to": []string{"alice"}, "payload": map[string]any{}})
		s.Send(who, Chat("chat-"+who, "hello"))
	}
	s.Send("alice", Chat("own", "my own words"))
	awaitEnvelope(tab, "own")
	const cards = `[...document.querySelectorAll(".decide meup-proposal-card")].filter((x) => x.shadowRoot?.childElementCount > 0)`
	tab.Await(cards + `.length === 2`)
	for _, row := range []struct{ what, selector string }{
		{"message", `[data-id="chat-%s"] .chip.wait`}, {"reasoning", `.row:has([data-context="think-%s"]) .message-head .chip.wait`},
		{"proposal", `.row.decide[data-id="propose-%s"]`}, {"notice", `.row.notice[data-id="shut-%s"] .chip.wait`},
	} {
		for _, who := range []string{"You", "system.gateway"} {
			selector := fmt.Sprintf(row.selector, who)
			mark := `document.querySelector(` + quote(selector) + `)`
			if row.what == "proposal" {
				mark += `?.querySelector("meup-proposal-card").shadowRoot.querySelector(".name + .chip.wait")`
			}
			if Eval[bool](tab, `(`+mark+` ?? null) === null`) {
				t.Errorf("a %s of the participant %q is not marked as one of a participant", row.what, who)
			}
		}
	}
	label := func(id string) string {
		return Eval[string](tab, `document.querySelector('.rows [data-id=`+quote(id)+`]').getAttribute("aria-label").split(",")[0]`)
	}
	if label("own") == label("chat-You") {
		t.Errorf("one's own messages and those of the participant You are both called %q", label("own"))
	}
	if banner := Eval[string](tab, `document.querySelector(".banner")?.textContent ?? ""`); banner != "" {
		t.Errorf("the page believes it: %q", banner)
	}
	for i := range 3 {
		id := protocol.ID(fmt.Sprint("claim-", i))
		marked := Eval[bool](tab, fmt.Sprintf(`document.querySelector('[data-id=%q] .message-head .chip.wait') !== null`, id))
		if who := i; who > 0 && !marked {
			t.Errorf("%s is not marked as somebody whose name looks like the gateway's", hostileCast[who+2])
		}
	}
	tab.Clean()
}

// Every panel of a space with hostile content.
func TestHostilePanels(t *testing.T) {
	s := newStage(t, hostileCast...)
	s.Join("mallory", "Approve", "system.gatevvay")
	var all []Envelope
	for i, text := range slices.Concat(markup[:6], written[:1], shifting[:3]) {
		all = append(all, everywhere(fmt.Sprintf("f%d", i), text)...)
	}
	s.Send("mallory", slices.Concat(all, answers(markup[1]), polluting(), wrong())...)
	s.Send("alice", Envelope{"kind": "capability.grant", "payload": map[string]any{"recipient": "mallory", "capabilities": []any{"/<img src=x>/", map[string]any{"kind": "mcp.request", "payload": map[string]any{"method": markup[0], "__proto__": "x"}}}, "reason": markup[1]}})
	s.Send("bob", Chat("sentinel", "the last word"))
	tab := SharedBrowser(t).Private(t)
	tab.Do(size(1280, 900))
	s.Enter(tab, "alice")
	awaitEnvelope(tab, "sentinel")
	for _, panel := range panels {
		t.Run(panel, func(t *testing.T) {
			openPanel(t, tab, panel)
			unharmed(t, tab, nil)
		})
	}
	t.Run("envelope", func(t *testing.T) {
		for _, id := range []string{"html-p0", "f1-q", "f1-r", "dirt", "__proto__"} {
			Eval[bool](tab, `(location.hash = "#/space/lab/m/`+id+`", true)`)
			Eval[bool](tab, `(document.querySelector('[data-id="`+id+`"] .raw-link')?.click(), true)`)
		}
		unharmed(t, tab, nil)
	})
	t.Run("trace", func(t *testing.T) {
		for i := range 3 {
			Eval[bool](tab, fmt.Sprintf(`(location.hash = "#/space/lab?panel=trace&id=f%d-q&step=__proto__", true)`, i))
			tab.Await(inTrace + `?.querySelector(".span") && !` + inTrace + `.querySelector(".inspector")`)
			for n := range Eval[int](tab, inTrace+`.querySelectorAll(".span").length`) {
				press(t, tab, fmt.Sprintf(inTrace+`.querySelectorAll(".label")[%d]`, n))
				tab.Await(inTrace + `.querySelector(".inspector")`)
				unharmed(t, tab, nil)
			}
		}
	})
	t.Run("link", func(t *testing.T) {
		for _, link := range []string{"?panel=search&text=" + url.QueryEscape(markup[1]) + "&from=__proto__&context=..&within=1e9&kinds=constructor", "?panel=__proto__&id=x", "?panel=proposals&id=" + url.QueryEscape(`"],*,[x="`)} {
			Eval[bool](tab, `(location.hash = `+quote("#/space/lab"+link)+`, true)`)
			rest(tab)
			unharmed(t, tab, nil)
		}
	})
	sendMessage(tab, "still here")
}
