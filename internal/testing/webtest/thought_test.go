package webtest

import (
	"strings"
	"testing"
)

// TestSharedThought shows that calls with a common thought have it above them
// once, and that the tab of the open panel is visible on a narrow page.
func TestSharedThought(t *testing.T) {
	b := SharedBrowser(t)
	s := NewStageWith(t, []string{"planner", "files"}, map[string][]string{"ada": {"*", "observe"}})
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
	block := Eval[string](tab, `document.querySelector("[data-context=`+in+`]").innerText`)
	if n := strings.Count(block, why); n != 1 {
		t.Errorf("the thought is there %d times:\n%s", n, block)
	}
	openPanel(t, tab, "operator")
	tab.Await(`(() => { const r = document.querySelector('.tab[aria-selected="true"]').getBoundingClientRect(); return r.left >= 0 && r.right <= innerWidth; })()`)
	tab.Clean()
}

// TestReferences shows that references open the envelope that they name, and
// that the metadata of a start are visible, the estimate beside the duration.
func TestReferences(t *testing.T) {
	b := SharedBrowser(t)
	s := NewStageWith(t, []string{"planner"}, map[string][]string{"ada": {"*"}})
	const in = "r-refs"
	s.Send("ada", Envelope{"id": "q-refs", "kind": "chat", "payload": map[string]any{"message": "Is it safe?"}})
	s.Send("planner",
		Envelope{"id": in, "kind": "reasoning.start", "correlationId": "q-refs", "payload": map[string]any{
			"message": "Looking", "references": []string{"q-refs"},
			"metadata": map[string]any{"approach": "security-first", "estimated_duration": "30s", "confidence": 0.7}}},
		reasons("h-refs", "hypothesis", in, map[string]any{"hypothesis": "It is.", "evidence_against": []string{"no canary"}, "references": []string{in}}),
		reasons("e-refs", "conclusion", in, map[string]any{"message": "Safe.", "key_factors": []string{"tests"}, "references": []string{"h-refs"}}))

	tab := b.Private(t)
	s.Enter(tab, "ada")
	openBlock(tab, in)
	block := Eval[string](tab, `document.querySelector("[data-context=`+in+`]").innerText`)
	for _, want := range []string{"security-first", "estimated 30s, took 1s", "70% sure", "ada: Is it safe?", "Against", "no canary", "h-refs"} {
		if !strings.Contains(block, want) {
			t.Errorf("the block has no %q:\n%s", want, block)
		}
	}
	Eval[bool](tab, `(document.querySelector('.reference[aria-label="Show envelope h-refs"]').click(), true)`)
	tab.Await(`document.querySelector("meup-envelope")?.shadowRoot?.textContent.includes("It is.")`)
	tab.Clean()
}
