package pagetest

import (
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/webtest"
)

// TestSharedThought shows that calls with a common thought have it above them
// once, and that the tab of the open panel is visible on a narrow page.
func TestSharedThought(t *testing.T) {
	b := webtest.Start(t)
	s := NewWith(t, []string{"planner", "files"}, map[string][]string{"ada": {"*", "observe"}})
	s.Join("planner", "files")
	const in, why = "r-both", "Both files at once."
	s.Send("planner",
		Envelope{"id": in, "kind": "reasoning.start", "payload": map[string]any{"message": "Look at both"}},
		reasons("t-both", "thought", in, map[string]any{"message": why}),
		toolCall("b-1", in, "t-both", "read_file", map[string]any{"path": "a"}),
		toolCall("b-2", in, "t-both", "read_file", map[string]any{"path": "b"}))
	s.Send("files", toolResult("b-1", in, "A"), toolResult("b-2", in, "B"))
	s.Send("planner", reasons("b-end", "conclusion", in, map[string]any{"message": "They agree."}))

	tab := b.Private(t)
	look{"narrow", "light", 360, 740}.with(tab, 1)
	s.Enter(tab, "ada")
	openBlock(tab, in)
	block := webtest.Eval[string](tab, `document.querySelector("[data-context=`+in+`]").innerText`)
	if n := strings.Count(block, why); n != 1 {
		t.Errorf("the thought is there %d times:\n%s", n, block)
	}
	openPanel(t, tab, "operator")
	tab.Await(`(() => { const r = document.querySelector('.tab[aria-selected="true"]').getBoundingClientRect(); return r.left >= 0 && r.right <= innerWidth; })()`)
	tab.Clean()
}
