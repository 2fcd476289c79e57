package webtest

import (
	"testing"
	"time"
)

// inTrace is an expression: the root of the trace panel.
const inTrace = `document.querySelector("meup-trace")?.shadowRoot`

// TestTrace shows the waterfall of a turn and compares it with another one.
func TestTrace(t *testing.T) {
	axe := needsAxe(t)
	b := SharedBrowser(t)
	s := performDemo(t, pace(300*time.Millisecond))
	s.Send("planner",
		Envelope{"id": "r-usage", "kind": "reasoning.start", "payload": map[string]any{"message": "Sum up the day", "metadata": map[string]any{"model": "small-1"}}},
		reasons("u-1", "thought", "r-usage", map[string]any{"message": "Five messages.", "metadata": map[string]any{
			"usage": map[string]any{"input_tokens": 1200, "output_tokens": 80}, "cost": 0.0042, "uncounted": 1}}),
		reasons("u-end", "conclusion", "r-usage", map[string]any{"message": "Done."}))
	for _, l := range some(looks[3], looks[0]) {
		t.Run(l.name, func(t *testing.T) {
			tab := b.Private(t)
			l.with(tab, 1)
			s.Enter(tab, "ada")
			awaitEnvelope(tab, "q-rollout")
			picture := l.pictures(t, tab, axe, "trace-")
			openBlock(tab, openProposal)
			press(t, tab, `document.querySelector('[data-context=`+quote(openProposal)+`] .reasoning-trace')`)
			tab.Await(inTrace + `?.querySelectorAll(".span").length > 5`)
			tab.Await(inTrace + `.querySelector(".totals").textContent.includes("Duration")`)
			tab.Await(`(() => {
				const axis = ` + inTrace + `.querySelector(".ticks"), labels = [...axis.querySelectorAll("text")];
				return labels.length > 1 && labels[0].textContent === "0" && labels.every((x) => /^(0|\d+(\.5)? (ms|s)|0\.\d+ s|\d+m( \d+s)?)$/.test(x.textContent) &&
					x.getBoundingClientRect().right <= axis.getBoundingClientRect().right);
			})()`)
			picture("turn")
			choose(t, tab, inTrace+`.querySelectorAll("select")[1]`, "r-usage")
			tab.Await(inTrace + `.querySelector("table")?.textContent.includes("≥ 1,200 in, 80 out")`)
			tab.Await(inTrace + `.querySelectorAll("section").length === 2`)
			picture("comparison")
			tab.Clean()
		})
	}
}

// step is an expression: a step of the trace by its text.
func step(text string) string {
	return `[...(` + inTrace + `?.querySelectorAll(".span") ?? [])].find((x) => x.querySelector(".label").textContent.includes(` + quote(text) + `))`
}

// longTurn sends a turn with equal calls, reported usage, and a proposal that waits.
func (s *Stage) longTurn(pace time.Duration) {
	const in = "r-limits"
	metadata := map[string]any{"model": "small-1", "usage": map[string]any{"input_tokens": 1200, "output_tokens": 80}, "cost": 0.0042}
	s.Send("ada", Chat("q-limits", "Which files name the limits of a space, and do they agree with one another?"))
	s.Send("planner",
		Envelope{"id": in, "kind": "reasoning.start", "correlationId": "q-limits", "payload": map[string]any{"message": "Compare what the documentation says about the limits with the defaults in the program"}},
		reasons("l-1", "thought", in, map[string]any{"message": "Both pages\nname limits.", "metadata": metadata}),
		toolCall("l-c1", in, "l-1", "read_file", map[string]any{"encoding": "utf-8", "path": "docs/protocol/9-limits.md"}),
		toolCall("l-c2", in, "l-1", "read_file", map[string]any{"encoding": "utf-8", "path": "docs/operate.md"}))
	pause(pace)
	s.Send("files",
		toolResult("l-c1", in, "A space has 64 connections.\nA participant sends 20 messages a second."),
		Envelope{"id": "l-c2-done", "kind": "mcp.response", "context": in, "correlationId": "l-c2", "payload": map[string]any{"id": "l-c2", "error": map[string]any{"code": -32000, "message": "no such file"}}})
	s.Send("planner", reasons("l-p", "thought", in, map[string]any{"message": "The page lacks the burst."}),
		propose("p-limits", in, "write_file", map[string]any{"path": "docs/operate.md", "text": "burst: 40"}))
}

// TestTrace_Inspector opens steps of a trace: their arguments, results, reasons, usage,
// times and envelopes. Equal calls are told apart, and waiting is folded.
func TestTrace_Inspector(t *testing.T) {
	axe := needsAxe(t)
	b := SharedBrowser(t)
	s := performDemo(t, time.Millisecond)
	s.longTurn(pace(800 * time.Millisecond))
	const inspector = inTrace + `.querySelector(".inspector")`
	const beside = inspector + `?.parentElement.matches(".both")`
	shows := func(tab *Tab, texts ...string) {
		t.Helper()
		for _, want := range texts {
			tab.Await(inspector + `?.innerText.replace(/\s+/g, " ").includes(` + quote(want) + `)`)
		}
	}
	for _, l := range some(looks[0], looks[3], looks[4]) {
		t.Run(l.name, func(t *testing.T) {
			tab := b.Private(t)
			l.with(tab, 1)
			s.Enter(tab, "ada")
			awaitEnvelope(tab, "q-limits")
			picture := l.pictures(t, tab, axe, "trace-")
			openBlock(tab, "r-limits")
			press(t, tab, `document.querySelector('[data-context="r-limits"] .reasoning-all')`)
			press(t, tab, `document.querySelector('[data-context="r-limits"] .reasoning-trace')`)
			tab.Await(inTrace + `?.querySelector(".fold") !== null && ` + inTrace + `?.textContent.includes("of waiting is folded")`)
			picture("folded")
			press(t, tab, `[...`+inTrace+`.querySelectorAll("button")].find((x) => x.textContent === "Show to scale")`)
			tab.Await(inTrace + `.querySelector(".fold") === null && ` + inTrace + `.textContent.includes("Waiting is to scale")`)

			press(t, tab, step("9-limits.md")+`?.querySelector(".label")`)
			shows(tab, "read_file", "By planner", "To files", "Outcome done", "Model small-1", "Tokens 1,200 in, 80 out", "Cost 0.0042 USD",
				"Both pages name limits.", `"encoding": "utf-8"`, "A space has 64 connections. A participant sends")
			press(t, tab, `[...`+inspector+`.querySelectorAll("button")].find((x) => x.textContent.includes("Response"))`)
			tab.Await(inspector + `.querySelector("meup-envelope")?.shadowRoot?.querySelector("pre")?.textContent.includes('"id": "l-c1-done"')`)
			if n := Eval[int](tab, `[`+inspector+`, `+inspector+`.querySelector("meup-envelope").shadowRoot].flatMap((x) => [...x.querySelectorAll("button")]).filter((x) => x.textContent.includes("Show in conversation")).length`); n != 1 {
				t.Errorf("%d buttons show the step in the conversation, want 1", n)
			}
			picture("call")
			press(t, tab, step("docs/operate.md")+`?.querySelector(".label")`)
			shows(tab, "Outcome failed", "no such file")
			if Eval[bool](tab, inspector+`.querySelector("meup-envelope") !== null`) {
				t.Error("the inspector shows an envelope of another step")
			}
			press(t, tab, step("write_file")+`?.querySelector(".label")`)
			shows(tab, "Outcome awaiting approval", "Waiting", "The page lacks the burst.", `"text": "burst: 40"`)
			press(t, tab, step("Compare what")+`?.querySelector(".label")`)
			shows(tab, "Compare what the documentation says about the limits with the defaults in the program", "Started")
			if n := Eval[int](tab, `(`+inspector+`.innerText.match(/Compare what/g) ?? []).length`); n != 1 {
				t.Errorf("the inspector of a context has its text %d times, want 1", n)
			}
			picture("context")
			if got, want := Eval[bool](tab, beside), l.width > 2000; got != want {
				t.Errorf("the inspector is beside the waterfall: %v, want %v", got, want)
			}
			if l.width > 2000 {
				tab.Await(`((list, x) => x.top <= list.top + 1 && x.left >= list.right)(` + inTrace + `.querySelector(".both > .stack").getBoundingClientRect(), ` + inspector + `.getBoundingClientRect())`)
			}
			Eval[bool](tab, `(`+inspector+`.querySelector("button").focus(), true)`)
			pressKey(tab, "Escape", "", 0)
			tab.Await(inspector + ` === null && ` + inTrace + `.activeElement?.matches(".label")`)
			if cut := Eval[int](tab, `[...`+inTrace+`.querySelectorAll(".what")].filter((x) => x.scrollWidth > x.clientWidth || x.scrollHeight > x.clientHeight + 1).length`); cut > 0 && l.width > 2000 {
				t.Errorf("%d labels are cut, though there is room", cut)
			}
			pressKey(tab, "Escape", "", 0)
			tab.Await(`document.querySelector("meup-trace") === null`)
			tab.Clean()
		})
	}
}
