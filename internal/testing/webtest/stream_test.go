package webtest

import (
	"testing"
)

// TestStream_OverHTTP shows the text of a stream in its block while it is written,
// by a participant without a connection, in a page that was opened after the
// stream.
func TestStream_OverHTTP(t *testing.T) {
	s := NewStageWith(t, []string{"planner"}, map[string][]string{"ada": {"*"}})
	s.Send("planner",
		Envelope{"id": "r", "kind": "reasoning.start", "payload": map[string]any{"message": "Look at the limits"}},
		Envelope{"kind": "stream.open", "context": "r", "payload": map[string]any{"stream_id": "s"}})
	tab := SharedBrowser(t).Private(t)
	s.Enter(tab, "ada")
	tab.Await(`document.querySelector("[data-context=r]")`)
	for _, text := range []string{"The limits are ", "per kind now. "} {
		s.Send("planner", Envelope{"kind": "stream.data", "context": "r", "payload": map[string]any{"stream_id": "s", "data": text}})
	}
	tab.Await(`document.querySelector("[data-context=r]").innerText.includes("The limits are per kind now.") && (` + title + `).startsWith("Reasoning · ")`)
	tab.Clean()
}

// streamed is a stream of planner, in a context or as an answer to a question.
type streamed struct {
	s      *Stage
	id     string
	of     string // "context" or "correlationId"
	parent string
}

func (x streamed) send(kind string, payload map[string]any) {
	x.s.t.Helper()
	payload["stream_id"] = x.id
	x.s.Send("planner", Envelope{"kind": kind, x.of: x.parent, "payload": payload})
}

func (x streamed) open(more ...string) streamed {
	x.s.t.Helper()
	payload := map[string]any{"content_type": "text/markdown"}
	for _, name := range more {
		payload[name] = true
	}
	x.send("stream.open", payload)
	return x
}

func (x streamed) grow(text string) {
	x.s.t.Helper()
	x.send("stream.data", map[string]any{"data": text})
}

func (x streamed) withdraw() {
	x.s.t.Helper()
	x.send("stream.close", map[string]any{"reason": "withdrawn"})
}

// saidNow is an expression: the texts of the messages of planner, each behind a sign if it
// grows, and the state of the reasoning.
const saidNow = `[...document.querySelectorAll("meup-message")].filter((x) => x.message.from === "planner")
	.map((x) => (x.message.growing ? "…" : "") + x.querySelector("meup-prose").innerText.trim())
	.concat(document.querySelector("[data-context=r]").dataset.open + " " + document.querySelector("[data-context=r]").innerText.trim().replace(/\s+/g, " ")).join(" | ")`

// awaitSaid waits until the texts of planner fit an expression.
func awaitSaid(tab *Tab, pattern string) {
	tab.Await(`((text) => /` + pattern + `/.test(text))(` + saidNow + `)`)
}

// TestStream_Answer shows an answer outside of its reasoning while it grows: the beginning
// of it, which seemed to be a thought, is taken from the block, which collapses. An answer
// that is none is taken back, and the reasoning goes on.
func TestStream_Answer(t *testing.T) {
	const begin, more, last = "The release can go out on Monday", ", because the migration is complete", " and the tests pass."
	thought := func(s *Stage, tab *Tab) {
		x := streamed{s, "t", "context", "r"}.open("provisional")
		x.grow(begin + " ") // the last word waits for what follows it
		awaitSaid(tab, `^true Reasoning · .*`+begin+`$`)
		x.withdraw()
		awaitSaid(tab, `^true Reasoning · (?!.*release)`)
	}
	answer := func(s *Stage, tab *Tab, id string) streamed {
		x := streamed{s, id, "correlationId", "q"}.open()
		x.grow(begin)
		awaitSaid(tab, `^…`+begin+` \| `)
		x.grow(more)
		awaitSaid(tab, `^…`+begin+more+` \| false Thought for \d+s( 1 call)?$`)
		tab.Await(`getComputedStyle(document.querySelector(".growing .prose p"), "::after").content !== "none"`) // the mark of growth is in the last line
		return x
	}
	finish := func(s *Stage, tab *Tab, x streamed) {
		x.grow(last)
		x.send("stream.close", map[string]any{})
		s.Send("planner",
			reasons("end", "conclusion", "r", map[string]any{"message": "It can go out."}),
			Envelope{"id": "a", "kind": "chat", "correlationId": "q", "payload": map[string]any{"message": begin + more + last, "format": "markdown", "stream_id": x.id}})
		awaitEnvelope(tab, "a")
		awaitSaid(tab, `^`+begin+more+last+` \| false Thought for \d+s( 1 call)?$`)
	}
	for name, play := range map[string]func(s *Stage, tab *Tab, picture func(string)){
		"that began as a thought": func(s *Stage, tab *Tab, picture func(string)) {
			thought(s, tab)
			x := answer(s, tab, "a")
			picture("grows")
			finish(s, tab, x)
			picture("complete")
		},
		"that is none": func(s *Stage, tab *Tab, picture func(string)) {
			thought(s, tab)
			answer(s, tab, "a").withdraw()
			awaitSaid(tab, `^true Reasoning · (?!.*release)`)
			s.Send("planner",
				reasons("why", "thought", "r", map[string]any{"message": begin + more + "."}),
				toolCall("call", "r", "why", "read_file", map[string]any{"path": "a"}))
			awaitSaid(tab, `^true Reasoning · .*`+begin+`.*read_file`)
			picture("taken-back")
			s.Send("files", toolResult("call", "r", "A"))
			finish(s, tab, answer(s, tab, "b"))
		},
		"with a request of its own": func(s *Stage, tab *Tab, picture func(string)) {
			finish(s, tab, answer(s, tab, "a"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			axe := needsAxe(t)
			for _, l := range some(looks[0], looks[3]) {
				t.Run(l.name, func(t *testing.T) {
					s := NewStageWith(t, []string{"planner", "files"}, map[string][]string{"ada": {"*", "observe"}})
					s.Join("planner", "files")
					tab := SharedBrowser(t).Private(t)
					l.with(tab, 1)
					s.Enter(tab, "ada")
					s.Send("ada", Envelope{"id": "q", "kind": "chat", "payload": map[string]any{"message": "Can the release go out?"}})
					s.Send("planner", Envelope{"id": "r", "kind": "reasoning.start", "correlationId": "q", "payload": map[string]any{"message": "Looking"}})
					tab.Await(`document.querySelector("[data-context=r]")`)
					play(s, tab, l.pictures(t, tab, axe, "answer-"))
					tab.Clean()
				})
			}
		})
	}
}
