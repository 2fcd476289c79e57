package pagetest

import (
	"slices"
	"strconv"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/meup-protocol/meup/internal/webtest"
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
func middle(tab *webtest.Tab, element string) (x, y float64) {
	at := webtest.Eval[[]float64](tab, `((r) => [r.left + r.width / 2, r.top + r.height / 2])(`+element+`.getBoundingClientRect())`)
	return at[0], at[1]
}

// point moves the pointer to the middle of an element.
func point(tab *webtest.Tab, element string) (x, y float64) {
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

func pressStage(t *testing.T) (*Stage, *webtest.Tab) {
	t.Helper()
	s := NewWith(t, []string{"files"}, map[string][]string{"ada": {"*", "observe"}, "planner": {"chat", "mcp.proposal", "mcp.withdraw"}})
	s.Join("files", "planner")
	tab := webtest.Shared(t).Private(t)
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
	tab.Await(inList("second") + `.shadowRoot.textContent.includes("Approved by ada")`)
	if got := s.made(); !slices.Equal(got, []string{"second"}) {
		t.Errorf("calls were made for %q, want second alone", got)
	}
	if !webtest.Eval[bool](tab, inList("first")+`.held && `+inList("second")+`.held`) {
		t.Error("the settled cards left their places below the pointer")
	}

	tab.Do(chromedp.MouseEvent(chromedp.MouseMoved, 5, 5))
	tab.Await(`!` + inList("first") + `.held && !` + inList("second") + `.held`)
	tab.Clean()
}

// TestPress_CardThatMoved checks that a press on a card that has just come below the
// pointer is refused with a sentence, and counts once the card rests.
func TestPress_CardThatMoved(t *testing.T) {
	s, tab := pressStage(t)
	s.two()
	openPanel(t, tab, "proposals")
	tab.Steady(approveIn(inList("first")))
	x, y := middle(tab, approveIn(inList("first")))
	s.Send("planner", withdrawal("first"))
	tab.Await(approveIn(inList("first")) + ` == null`)
	tab.Do(chromedp.MouseClickXY(x, y))
	tab.Await(inList("second") + `.shadowRoot.querySelector("[role=alert]")?.textContent.includes("has just appeared, moved or changed")`)
	if got := s.made(); len(got) > 0 {
		t.Errorf("calls were made for %q, want none", got)
	}

	// The button was pressed while the card moved, and is released when it rests.
	s.Send("planner", outside("third"), withdrawal("second"))
	tab.Do(chromedp.MouseEvent(chromedp.MouseMoved, 5, 5))
	tab.Await(approveIn(inList("third")) + ` && ` + approveIn(inList("second")) + ` == null && !` + inList("second") + `.held`)
	x, y = middle(tab, approveIn(inList("third")))
	tab.Do(chromedp.MouseEvent(chromedp.MouseMoved, x, y), chromedp.MouseEvent(chromedp.MousePressed, x, y, chromedp.ButtonLeft, chromedp.ClickCount(1)))
	tab.Steady(approveIn(inList("third")))
	tab.Do(chromedp.MouseEvent(chromedp.MouseReleased, x, y, chromedp.ButtonLeft, chromedp.ClickCount(1)))
	tab.Await(inList("third") + `.shadowRoot.querySelector("[role=alert]")?.textContent.includes("has just appeared, moved or changed")`)
	if got := s.made(); len(got) > 0 {
		t.Errorf("calls were made for %q, want none", got)
	}
	tab.Steady(approveIn(inList("third")))
	x, y = middle(tab, approveIn(inList("third"))) // the sentence is below the button
	tab.Do(chromedp.MouseClickXY(x, y))
	tab.Await(inList("third") + `.shadowRoot.textContent.includes("Approved by ada")`)
	if got := s.made(); !slices.Equal(got, []string{"third"}) {
		t.Errorf("calls were made for %q, want third", got)
	}
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
	tab.Await(inRows("first") + `?.held && ` + inRows("first") + `.shadowRoot.textContent.includes("Approved by ada")`)
	if got := s.made(); !slices.Equal(got, []string{"first"}) {
		t.Errorf("calls were made for %q, want first", got)
	}
	tab.Do(chromedp.MouseEvent(chromedp.MouseMoved, 5, 5))
	tab.Await(inRows("first") + ` === null`)
	tab.Await(`((box) => box.scrollHeight - box.scrollTop - box.clientHeight < 2)(document.querySelector(".talk"))`)
	tab.Clean()
}
