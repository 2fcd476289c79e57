package webtest

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// inList is an expression: the card of a proposal in the panel.
func inList(id string) string {
	return `document.querySelector("meup-proposals")?.shadowRoot?.querySelector("[data-id=` + id + `]")`
}

// approveIn is an expression: the button of a card that approves.
func approveIn(card string) string {
	return card + `?.shadowRoot?.querySelector("meup-approve-form")?.shadowRoot?.querySelector("button[type=submit]")`
}

// inRows is an expression: the card of a proposal in the conversation.
func inRows(id string) string {
	return `document.querySelector(".rows .decide[data-id=` + id + `] meup-proposal-card")`
}

// middle returns the middle of an element.
func middle(tab *Tab, element string) (x, y float64) {
	at := Eval[[]float64](tab, `((r) => [r.left + r.width / 2, r.top + r.height / 2])(`+element+`.getBoundingClientRect())`)
	return at[0], at[1]
}

// point moves the pointer to the middle of an element.
func point(tab *Tab, element string) (x, y float64) {
	x, y = middle(tab, element)
	tab.Do(chromedp.MouseEvent(chromedp.MouseMoved, x, y))
	return x, y
}

// made returns the ids of the proposals whose calls were made.
func (s *Stage) made() []string {
	var list []string
	for _, e := range s.history("mcp.request") {
		if id, ok := e["correlationId"].(string); ok {
			list = append(list, id)
		}
	}
	return list
}

// two proposes two calls of the same shape, outside of reasoning.
func (s *Stage) two() {
	s.Send("planner", outside("first"), outside("second"))
}

func outside(id string) Envelope {
	return Envelope{"id": id, "kind": "mcp.proposal", "payload": map[string]any{
		"method": "tools/call", "participant_id": "files", "params": map[string]any{"name": "delete_file", "arguments": map[string]any{"path": id}}}}
}

func withdrawal(id string) Envelope {
	return Envelope{"kind": "mcp.withdraw", "correlationId": id, "payload": map[string]any{"reason": "no_longer_needed"}}
}

func pressStage(t *testing.T) (*Stage, *Tab) {
	t.Helper()
	s := NewStageWith(t, []string{"files"}, map[string][]string{"ada": {"*", "observe"}, "planner": {"chat", "mcp.proposal", "mcp.withdraw"}})
	s.Join("files", "planner")
	tab := SharedBrowser(t).Private(t)
	looks[4].with(tab, 1) // two cards have room below one another
	s.Enter(tab, "ada")
	return s, tab
}

// TestPress_PanelKeepsPlaces checks that a click on a card that was withdrawn under the
// pointer, and a double click, decide no other proposal: settled cards keep their places
// while the pointer is near.
func TestPress_PanelKeepsPlaces(t *testing.T) {
	s, tab := pressStage(t)
	s.two()
	openPanel(t, tab, "proposals")
	tab.Steady(approveIn(inList("first")))
	x, y := point(tab, approveIn(inList("first")))
	s.Send("planner", withdrawal("first"))
	tab.Await(inList("first") + `?.held && ` + inList("first") + `.shadowRoot.textContent.includes("Withdrawn by planner")`)
	tab.Do(chromedp.MouseClickXY(x, y))

	x, y = point(tab, approveIn(inList("second")))
	s.Send("planner", outside("third"))
	tab.Await(approveIn(inList("third")))
	tab.Steady(approveIn(inList("second")))
	tab.Do(chromedp.MouseClickXY(x, y), chromedp.MouseClickXY(x, y, chromedp.ClickCount(2)))
	tab.Await(inList("second") + `.shadowRoot.textContent.includes("Approved by you")`)
	if got := s.made(); !slices.Equal(got, []string{"second"}) {
		t.Errorf("calls were made for %q, want second alone", got)
	}
	if !Eval[bool](tab, inList("first")+`.held && `+inList("second")+`.held`) {
		t.Error("the settled cards left their places below the pointer")
	}

	tab.Do(chromedp.MouseEvent(chromedp.MouseMoved, 5, 5))
	tab.Await(`!` + inList("first") + `.held && !` + inList("second") + `.held`)
	tab.Clean()
}

// moved is an expression that moves the panel and does something with a button at once.
func moved(button, then string) string {
	return `((x) => { const m = document.querySelector("meup-proposals"); m.style.paddingTop = (parseInt(m.style.paddingTop || "0") + 20) + "px"; ` + then + `; return true; })(` + button + `)`
}

// TestPress_CardThatMoved checks that a press on a card that has just moved is refused
// with a sentence, also if it is released later, and counts once the card rests.
func TestPress_CardThatMoved(t *testing.T) {
	s, tab := pressStage(t)
	s.two()
	openPanel(t, tab, "proposals")
	button := approveIn(inList("first"))
	refused := func(which string) {
		t.Helper()
		tab.Await(inList("first") + `.shadowRoot.querySelector("[role=alert]")?.textContent.includes("has just appeared, moved or changed")`)
		if got := s.made(); len(got) > 0 {
			t.Errorf("%s: calls were made for %q, want none", which, got)
		}
	}
	tab.Steady(button)
	Eval[bool](tab, moved(button, `x.click()`))
	refused("a press on a card that has just moved")

	tab.Steady(button)
	Eval[bool](tab, moved(button, `x.dispatchEvent(new PointerEvent("pointerdown", { bubbles: true, composed: true }))`))
	tab.Steady(button)
	Eval[bool](tab, `((card, x) => { card.error = ""; x.click(); return true; })(`+inList("first")+`, `+button+`)`)
	refused("a press that was released later")

	tab.Steady(button)
	x, y := middle(tab, button)
	tab.Do(chromedp.MouseClickXY(x, y))
	tab.Await(inList("first") + `.shadowRoot.textContent.includes("Approved by you")`)
	if got := s.made(); !slices.Equal(got, []string{"first"}) {
		t.Errorf("calls were made for %q, want first", got)
	}
	tab.Clean()
}

// TestPress_MeasuredAfterMoves checks that a card at rest is not measured, and that a move
// is noticed when it happens: a press after the card has come back is refused, and one on a
// card that rests in its new place counts at once.
func TestPress_MeasuredAfterMoves(t *testing.T) {
	s, tab := pressStage(t)
	s.two()
	openPanel(t, tab, "proposals")
	button := approveIn(inList("first"))
	tab.Steady(button)
	Eval[bool](tab, `((card) => { window.measured = 0; card.getBoundingClientRect = function () { window.measured++; return Element.prototype.getBoundingClientRect.call(this); }; return true; })(`+inList("first")+`)`)
	tab.Steady(button)
	if n := Eval[int](tab, `window.measured`); n != 0 {
		t.Errorf("a card at rest was measured %d times, want none", n)
	}
	const frames = `await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));`
	Eval[bool](tab, `(async () => {
		const body = document.querySelector(".panel-body");
		document.querySelector("meup-proposals").style.paddingBottom = "200vh";
		`+frames+`
		body.scrollTop += 40;
		`+frames+`
		body.scrollTop -= 40;
		`+button+`.click();
		return true;
	})()`)
	tab.Await(inList("first") + `.shadowRoot.querySelector("[role=alert]")?.textContent.includes("has just appeared, moved or changed")`)
	if got := s.made(); len(got) > 0 {
		t.Errorf("a press on a card that has come back: calls were made for %q, want none", got)
	}
	tab.Steady(button)
	Eval[bool](tab, `(document.querySelector("meup-proposals").style.paddingTop = "30px", true)`)
	tab.Steady(button)
	press(t, tab, button)
	tab.Await(inList("first") + `.shadowRoot.textContent.includes("Approved by you")`)
	tab.Clean()
}

// TestPress_Keys decides proposals with keys alone: n and p move between them, a, e and r
// press the buttons of the one with the focus, and Ctrl+Enter sends a rejection. A key on a
// card that has just moved is refused.
func TestPress_Keys(t *testing.T) {
	s, tab := pressStage(t)
	s.two()
	tab.Await(approveIn(inRows("second")))
	focus := func(id string) {
		t.Helper()
		tab.Await(`document.activeElement?.matches(".row.decide[data-id=` + id + `]")`)
	}
	key := func(name string) { pressKey(tab, name, name, 0) }
	Eval[bool](tab, `(document.querySelector(".talk").focus(), true)`)
	key("n")
	focus("first")
	key("n")
	focus("second")
	key("p")
	focus("first")
	Eval[bool](tab, `(() => { // at once: the card counts as moved for less than a second
		document.querySelector(".rows").style.paddingTop = "40px";
		document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key: "a", bubbles: true, composed: true, cancelable: true }));
		return true;
	})()`)
	refused := func(which string) {
		t.Helper()
		tab.Await(inRows("first") + `.shadowRoot.querySelector("[role=alert]")?.textContent.includes("has just appeared, moved or changed")`)
		if got := s.made(); len(got) > 0 {
			t.Errorf("a key on %s: calls were made for %q, want none", which, got)
		}
		Eval[bool](tab, `(`+inRows("first")+`.error = "", true)`)
	}
	refused("a card that has just moved")
	Eval[bool](tab, `(document.querySelector(".rows").style.paddingBottom = "200vh", document.querySelector(".talk").scrollTop = 1e6, true)`)
	tab.Await(approveIn(inRows("first")) + `.getBoundingClientRect().bottom < 0`)
	tab.Steady(approveIn(inRows("first")))
	key("a")
	refused("a card that is not visible")
	tab.Steady(approveIn(inRows("first")))
	key("a")
	tab.Await(inRows("first") + ` === null`)
	if got := s.made(); !slices.Equal(got, []string{"first"}) {
		t.Errorf("calls were made for %q, want first", got)
	}

	key("n")
	focus("second")
	key("e")
	tab.Await(inForm("second", "textarea"))
	pressKey(tab, "Escape", "", 0)
	tab.Await(inForm("second", "textarea") + ` === null`)
	key("r")
	const reason = `?.querySelector("meup-reject-form")?.shadowRoot`
	tab.Await(card("second") + reason + `?.activeElement?.matches("textarea")`)
	typeText(tab, "Not this one, a reason")
	tab.Steady(card("second") + reason + `?.querySelector("textarea")`)
	pressKey(tab, "Enter", "", ctrl)
	tab.Await(inRows("second") + ` === null`)
	if got := s.history("mcp.reject"); len(got) != 1 || got[0]["correlationId"] != "second" {
		t.Errorf("the rejections are %v, want one of second", got)
	}
	told := tab.Watch(`document.querySelector(".toast")?.textContent === "No proposals awaiting approval"`)
	key("n")
	tab.Await(told)
	key("?")
	tab.Await(`document.querySelector(".palette-keys")?.textContent.includes("Approve, reject or edit")`)
	tab.Clean()
}

// TestPress_ConversationRests checks that the conversation does not follow its end while
// the pointer is on a card, and follows it again afterwards.
func TestPress_ConversationRests(t *testing.T) {
	s, tab := pressStage(t)
	for i := range 30 {
		s.Send("files", Chat("before-"+strconv.Itoa(i), "A message, so that the conversation is higher than the window.\n\nWith another line."))
	}
	s.Send("planner", outside("first"))
	tab.Steady(approveIn(inRows("first")))
	x, y := point(tab, approveIn(inRows("first")))
	s.Send("planner", outside("second"))
	tab.Await(approveIn(inRows("second")))
	for i := range 8 {
		s.Send("files", Chat("meanwhile-"+strconv.Itoa(i), "Meanwhile."))
	}
	tab.Await(`document.querySelectorAll(".rows .row").length > 39`)
	if x2, y2 := middle(tab, approveIn(inRows("first"))); x2 != x || y2 != y {
		t.Errorf("the card moved below the pointer, from %v %v to %v %v", x, y, x2, y2)
	}
	tab.Do(chromedp.MouseClickXY(x, y), chromedp.MouseClickXY(x, y, chromedp.ClickCount(2)))
	tab.Await(inRows("first") + `?.held && ` + inRows("first") + `.shadowRoot.textContent.includes("Approved by you")`)
	if got := s.made(); !slices.Equal(got, []string{"first"}) {
		t.Errorf("calls were made for %q, want first", got)
	}
	tab.Do(chromedp.MouseEvent(chromedp.MouseMoved, 5, 5))
	tab.Await(inRows("first") + ` === null`)
	tab.Await(`((box) => box.scrollHeight - box.scrollTop - box.clientHeight < 2)(document.querySelector(".talk"))`)
	tab.Clean()
}

// TestPress_CardShowsAllParameters checks that a card shows all that an approval sends, also
// deep inside, and that the metadata of the proposer is not sent.
func TestPress_CardShowsAllParameters(t *testing.T) {
	s, tab := pressStage(t)
	var deep any = "hidden\u202e"
	for range 40 {
		deep = []any{deep}
	}
	s.Send("planner", Envelope{"id": "whole", "kind": "mcp.proposal", "payload": map[string]any{
		"method": "tools/call", "participant_id": "files", "params": map[string]any{
			"name": "copy", "arguments": map[string]any{"to": deep}, "task": map[string]any{"ttl": 9}, "_meta": map[string]any{"secret": 1}}}})
	tab.Await(approveIn(inRows("whole")))
	if got := Eval[string](tab, inRows("whole")+`.shadowRoot.querySelector(".fields").textContent`); !strings.Contains(got, "task.ttl") || !strings.Contains(got, "arguments.to") || !strings.Contains(got, "hidden⟨U+202E⟩") {
		t.Errorf("the fields lack parameters: %s", got)
	}
	press(t, tab, inRows("whole")+`.shadowRoot.querySelector(".under [name=raw]")`)
	tab.Await(inRows("whole") + `.shadowRoot.querySelector(".args > div > pre")`)
	text := Eval[string](tab, inRows("whole")+`.shadowRoot.textContent`)
	for _, want := range []string{"Parameters of tools/call", `"task"`, `"ttl": 9`, "hidden⟨U+202E⟩", "This call contains invisible characters."} {
		if !strings.Contains(text, want) {
			t.Errorf("the card lacks %q: %s", want, text)
		}
	}
	if strings.Contains(text, "secret") {
		t.Errorf("the card shows the metadata of the proposer: %s", text)
	}
	decide(t, tab, approveIn(inRows("whole")))
	tab.Await(inRows("whole") + ` === null`)
	sent, err := json.Marshal(s.history("mcp.request")[0]["payload"])
	if err != nil || strings.Contains(string(sent), "_meta") || !strings.Contains(string(sent), `"task":{"ttl":9}`) {
		t.Errorf("the call: %s (%v), want the task and no metadata", sent, err)
	}
	tab.Clean()
}

// TestPress_Looks takes pictures of a card that was decided under the pointer and of a
// refused press, and runs axe-core on them.
func TestPress_Looks(t *testing.T) {
	axe := needsAxe(t)
	s := NewStageWith(t, []string{"files"}, map[string][]string{"ada": {"*", "observe"}, "planner": {"chat", "mcp.proposal", "mcp.withdraw"}})
	s.Join("files", "planner")
	for _, l := range some(looks[0], looks[3]) {
		t.Run(l.name, func(t *testing.T) {
			first, second := "first-"+l.name, "second-"+l.name
			s.Send("planner", outside(first), outside(second))
			tab := SharedBrowser(t).Private(t)
			l.with(tab, 1)
			s.Enter(tab, "ada")
			openPanel(t, tab, "proposals")
			picture := l.pictures(t, tab, axe, "press-")
			tab.Await(approveIn(inList(first)))
			Eval[bool](tab, moved(approveIn(inList(first)), `x.click()`))
			tab.Await(inList(first) + `.shadowRoot.querySelector("[role=alert]")`)
			picture("refused")
			Eval[bool](tab, `(document.querySelector("meup-proposals").dispatchEvent(new PointerEvent("pointerenter")), true)`)
			s.Send("planner", withdrawal(first))
			tab.Await(inList(first) + `.held`)
			picture("held")
			s.Send("planner", withdrawal(second))
			tab.Clean()
		})
	}
}
