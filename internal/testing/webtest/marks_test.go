package webtest

import (
	"testing"
)

// TestMarks shows that reasoning in the text of a message is a collapsed block
// above it, and that markup in its steps is text.
func TestMarks(t *testing.T) {
	b := SharedBrowser(t)
	s := NewStageWith(t, []string{"bot"}, map[string][]string{"ada": {"*"}})
	s.Send("bot",
		Markdown("marked", `<!--REASONING_BLOCK:{"elapsed":12,"steps":["Searching <b>notes</b>","a --> b"]}-->`+"\n\nThere are **5** notes."),
		Chat("open", "<think>never ended"))

	tab := b.Private(t)
	s.Enter(tab, "ada")
	const message = `document.querySelector('#m-marked')`
	tab.Await(message + `?.querySelector(".reasoning-title")?.textContent.trim() === "Thought for 12s"`)
	tab.Await(message + `.querySelector(".bubble strong")?.textContent === "5" && !` + message + `.innerText.includes("REASONING_BLOCK")`)
	tab.Await(message + `.querySelector(".reasoning-body").hidden`)
	Eval[bool](tab, `(`+message+`.querySelector(".reasoning-toggle").click(), true)`)
	tab.Await(message + `.querySelector(".steps")?.innerText.includes("Searching <b>notes</b>") && ` + message + `.querySelector(".steps b") === null`)
	tab.Await(message + `.querySelectorAll(".steps > .step").length === 2`)
	tab.Await(`document.querySelector("#m-open").innerText.includes("<think>never ended")`)
	tab.Clean()
}
