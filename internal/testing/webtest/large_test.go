package webtest

import (
	"testing"
)

// In an empty space, the message field is in the middle of a large screen, below the greeting, and
// at the bottom of a small one.
func TestLarge_EmptySpace(t *testing.T) {
	b := SharedBrowser(t)
	s := newStage(t, "ada", "ben")
	for _, c := range []struct {
		look   look
		middle bool
	}{{looks[4], true}, {looks[2], false}} {
		t.Run(c.look.name, func(t *testing.T) {
			tab := b.Private(t)
			c.look.with(tab, 1)
			s.Enter(tab, "ada")
			tab.Text(".nothing-yet")
			const field = `document.querySelector(".composer-box").getBoundingClientRect()`
			if c.middle {
				tab.Await(field + `.bottom < innerHeight * 0.6 && ` + field + `.top - document.querySelector(".nothing-yet").getBoundingClientRect().bottom < 100`)
			} else {
				tab.Await(field + `.bottom > innerHeight * 0.85`)
			}
			tab.Clean()
		})
	}
}

// Controls that belong together are in one line where there is room.
func TestLarge_Panels(t *testing.T) {
	b := SharedBrowser(t)
	s := everydayStage(t)
	tab := b.Private(t)
	looks[4].with(tab, 1)
	s.Enter(tab, "ada")
	awaitEnvelope(tab, "three")
	openPanel(t, tab, "search")
	tab.Await(inLine(`[...` + inPanel("search", ".choices") + `?.querySelectorAll("select") ?? [1]]`))
	closePanel(tab)
	Eval[bool](tab, `(document.querySelector('[data-id="three"] .raw-link').click(), true)`)
	tab.Await(inLine(`[...document.querySelector("meup-envelope")?.shadowRoot?.querySelectorAll(".row .row button") ?? [1]]`))
	tab.Clean()
}

// inLine is an expression: there are several of these elements, and they are in one line.
func inLine(list string) string {
	return `(() => { const all = ` + list + `; return all.length > 1 && new Set(all.map((x) => x.getBoundingClientRect().top)).size === 1; })()`
}
