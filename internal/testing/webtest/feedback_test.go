package webtest

import (
	"strings"
	"testing"
)

// TestFeedback rates an answer and a step, writes a note, and takes the rating of the answer
// back. The feedback of others is shown; who may not send any gets no buttons.
func TestFeedback(t *testing.T) {
	axe := needsAxe(t)
	b := SharedBrowser(t)
	for _, l := range some(looks[0], looks[3]) {
		t.Run(l.name, func(t *testing.T) {
			s := NewStageWith(t, []string{"ben", "planner"}, map[string][]string{"ada": {"chat", "feedback", "observe"}, "guest": {"chat"}})
			s.Join("planner", "ben")
			s.Send("ada", Envelope{"id": "q", "kind": "chat", "to": []string{"planner"}, "payload": map[string]any{"message": "Is it safe?"}})
			s.Send("planner",
				Envelope{"id": "c", "kind": "reasoning.start", "to": []string{"ada"}, "correlationId": "q", "payload": map[string]any{}},
				Envelope{"id": "t", "kind": "reasoning.thought", "to": []string{"ada"}, "context": "c", "payload": map[string]any{"message": "The tests say it."}},
				Envelope{"kind": "reasoning.conclusion", "to": []string{"ada"}, "context": "c"},
				Envelope{"id": "w", "kind": "chat", "to": []string{"ada"}, "correlationId": "q", "payload": map[string]any{"message": "It is safe."}})
			s.Send("ben", Chat("other", "Hello."), Envelope{"kind": "feedback", "correlationId": "other", "payload": map[string]any{"value": "down", "note": "off topic"}})

			tab := b.Private(t)
			l.with(tab, 1)
			s.Enter(tab, "ada")
			awaitEnvelope(tab, "other")
			preferOpen(tab)
			in := func(within, selector string) string {
				return `document.querySelector(` + quote(within+" "+selector) + `)`
			}
			answer, step := `.message[data-id="w"]`, `.step[data-type=thought]`
			tab.Await(in(`.message[data-id="other"]`, ".feedback li") + `?.innerText.replaceAll(/\s+/g, " ").trim() === "ben off topic"`)

			press(t, tab, in(answer, `.thumb[aria-label="Not good"]`))
			tab.Await(in(answer, ".feedback li") + `?.dataset.value === "down" && ` + in(answer, `.thumb[aria-label="Not good"]`) + `.ariaPressed === "true"`)
			press(t, tab, in(answer, ".feedback .words"))
			tab.Await(`document.activeElement === ` + in(answer, ".feedback textarea"))
			rest(tab)
			if over := Eval[float64](tab, in(answer, ".feedback form")+`.getBoundingClientRect().bottom - (document.querySelector(".space-talk").getBoundingClientRect().bottom - parseFloat(getComputedStyle(document.querySelector(".space-talk"), "::after").height))`); over > 1 {
				t.Errorf("%v pixels of the form are in the fade at the end of the conversation", over)
			}
			l.pictures(t, tab, axe, "feedback-")("note")
			typeText(tab, strings.Repeat("é", 2049))
			press(t, tab, in(answer, `.feedback [type=submit]`))
			field := in(answer, ".feedback textarea")
			if got := Eval[string](tab, field+`.value.length + ": " + `+field+`.validationMessage`); got != "2049: A note has at most 2048 characters; this one has 2049." {
				t.Errorf("the field of a note that is too long has %q", got)
			}
			Eval[bool](tab, `(`+field+`.select(), true)`)
			typeText(tab, "It was not.")
			pressKey(tab, "Enter", "\r", ctrl)
			tab.Await(in(answer, ".feedback-note") + `?.innerText === "It was not." && document.activeElement === ` + in(answer, ".feedback .words"))
			press(t, tab, `document.activeElement`)
			tab.Await(`document.activeElement === ` + field)
			pressKey(tab, "Escape", "", 0)
			tab.Await(`document.activeElement === ` + in(answer, ".feedback .words"))
			press(t, tab, in(step, `.thumb[aria-label="Good"]`))
			tab.Await(in(step, ".feedback li") + `?.dataset.value === "up"`)
			l.pictures(t, tab, axe, "feedback-")("given")
			press(t, tab, in(answer, `.thumb[aria-label="Not good"]`))
			tab.Await(in(answer, ".feedback") + ` === null`)
			tab.Clean()

			type feedback struct{ about, value, note any }
			var got []feedback
			for _, e := range s.history("feedback") {
				if e["from"] == "ada" {
					p, _ := e["payload"].(map[string]any)
					got = append(got, feedback{e["correlationId"], p["value"], p["note"]})
					if to, _ := e["to"].([]any); len(to) != 2 || to[0] != "planner" || to[1] != "ada" {
						t.Errorf("feedback to %v; what it is about was to ada, from planner", to)
					}
				}
			}
			want := []feedback{{"w", "down", nil}, {"w", "down", "It was not."}, {"t", "up", nil}, {"w", "none", nil}}
			if len(got) != len(want) {
				t.Fatalf("sent %v, want %v", got, want)
			}
			for i := range want {
				if got[i] != want[i] {
					t.Errorf("feedback %d: %v, want %v", i, got[i], want[i])
				}
			}

			guest := b.Private(t)
			l.with(guest, 1)
			s.Enter(guest, "guest")
			awaitEnvelope(guest, "other")
			if n := Eval[int](guest, `document.querySelectorAll(".thumb").length`); n != 0 {
				t.Errorf("%d buttons for a participant that may send no feedback", n)
			}
		})
	}
}
