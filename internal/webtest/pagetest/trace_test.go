package pagetest

import (
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/webtest"
)

// inTrace is an expression: the root of the trace panel.
const inTrace = `document.querySelector("meup-trace")?.shadowRoot`

// TestTrace shows the waterfall of a turn and compares it with another one.
func TestTrace(t *testing.T) {
	axe := needsAxe(t)
	b := webtest.Shared(t)
	s := Perform(t, pace(300*time.Millisecond))
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
			AwaitEnvelope(tab, "q-rollout")
			picture := l.pictures(t, tab, axe, "trace-")
			openBlock(tab, Open)
			press(t, tab, `document.querySelector('[data-context=`+quote(Open)+`] .reasoning-trace')`)
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
