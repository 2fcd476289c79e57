package webtest

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/protocol"
)

// sentStage is a space with more messages than the window shows. The first of them is
// "before-0".
func sentStage(t *testing.T) *Stage {
	t.Helper()
	s := NewStageWith(t, []string{"files"}, map[string][]string{"ada": {"*", "observe"}})
	s.Join("files")
	for i := range 30 {
		s.Send("files", Chat("before-"+strconv.Itoa(i), "A message, so that the conversation is higher than the window.\n\nWith another line."))
	}
	return s
}

// lines is a text of n lines.
func lines(n int) string {
	return strings.TrimSuffix(strings.Repeat("A line of the text.\n", n), "\n")
}

// ownMessage is an expression: the last of the user's messages that the log has.
const ownMessage = `[...document.querySelectorAll(".rows .message[data-own=true]")].at(-1)`

// belowTop is an expression: how far an element is below the top of the conversation.
func belowTop(element string) string {
	return `((x) => x.getBoundingClientRect().top - document.querySelector(".talk").getBoundingClientRect().top)(` + element + `)`
}

// TestSent_Pinned checks that a sent message stays at the top while its answer grows, also
// if the answer is longer than the window, and that the user's own message is not new.
func TestSent_Pinned(t *testing.T) {
	s := sentStage(t)
	for _, l := range some(looks[0], looks[2], looks[4]) {
		t.Run(l.name, func(t *testing.T) {
			tab := SharedBrowser(t).Private(t)
			l.with(tab, 1)
			s.Enter(tab, "ada")
			awaitEnvelope(tab, "before-29")
			send := func(text string) string {
				sendMessage(tab, text)
				return tab.Await(`(() => { const x = ` + ownMessage + `; return x?.textContent.includes(` + quote(strings.SplitN(text, "\n", 2)[0]) + `) && x.dataset.id; })()`)
			}
			pinned := func(when string) {
				t.Helper()
				rest(tab)
				if top := Eval[float64](tab, belowTop(ownMessage)); top < 0 || top > 24 {
					t.Errorf("%s: the sent message is %v pixels below the top, want 16", when, top)
				}
			}
			answer := func(id, to, text string) {
				s.Send("files", Envelope{"id": id + l.name, "kind": "chat", "correlationId": to, "payload": map[string]any{"message": text}})
				awaitEnvelope(tab, protocol.ID(id+l.name))
			}
			sent := send("First " + l.name + "\n" + lines(6))
			pinned("after it was sent")
			if Eval[bool](tab, `document.querySelector(".to-end") !== null`) {
				t.Error("the end is not shown after a message was sent")
			}
			answer("short-", sent, lines(3))
			pinned("with a short answer")
			if Eval[bool](tab, `document.querySelector(".to-end") !== null`) {
				t.Error("the end is not shown with a short answer")
			}
			sent = send("Second " + l.name)
			pinned("after another one was sent")
			answer("long-", sent, lines(70))
			pinned("with a long answer")
			tab.Await(`document.querySelector(".to-end")`)
			if *everyLook {
				shoot(t, tab, filepath.Join(screenshotDir, l.name+"-sent-long.png"))
			}
			press(t, tab, `document.querySelector(".to-end")`)
			tab.Await(`((x) => x.scrollHeight - x.scrollTop - x.clientHeight < 2)(document.querySelector(".talk"))`)
			if room := Eval[float64](tab, `document.querySelector(".talk").lastElementChild.getBoundingClientRect().height`); room != 0 {
				t.Errorf("the room below the end is %v pixels, want none", room)
			}

			Eval[bool](tab, `(location.hash = "#/space/lab/t/+", true)`)
			tab.Await(`document.querySelector(".thread-head h2")?.textContent === "New conversation"`)
			sent = send("Third " + l.name)
			tab.Await(`location.hash.endsWith("/t/" + ` + quote(sent) + `)`)
			answer("third-", sent, lines(70))
			pinned("in a new conversation")
			tab.Clean()
		})
	}
}

// alt is the modifier of the Alt key.
const alt = 1

// TestSent_Destination checks that the composer names where a message goes, and that
// Alt+↑ changes between a new conversation and a reply to the last message of another.
func TestSent_Destination(t *testing.T) {
	axe := needsAxe(t)
	for _, l := range some(looks[2], looks[1], looks[5]) {
		t.Run(l.name, func(t *testing.T) {
			s := sentStage(t)
			tab := SharedBrowser(t).Private(t)
			l.with(tab, 1)
			s.Enter(tab, "ada")
			awaitEnvelope(tab, "before-29")
			goes := func(to string) {
				t.Helper()
				tab.Await(`document.querySelector(".destination")?.textContent === ` + quote(to))
			}
			answers := func(text string) any {
				t.Helper()
				sendMessage(tab, text)
				for _, e := range s.history("chat") {
					if p, ok := e["payload"].(map[string]any); ok && p["message"] == text {
						return e["correlationId"]
					}
				}
				t.Fatalf("the log lacks the message %q", text)
				return nil
			}
			picture := l.pictures(t, tab, axe, "sent-")
			goes("New conversation")
			picture("new")
			if got := answers("A question"); got != nil {
				t.Errorf("a new conversation answers %v, want no message", got)
			}
			goes("New conversation")
			pressKey(tab, "ArrowUp", "", alt)
			goes("Reply to files")
			picture("reply")
			if got := answers("A reply"); got != "before-29" {
				t.Errorf("the reply answers %v, want before-29", got)
			}
			press(t, tab, `document.querySelector("button.destination")`)
			goes("Reply to files")
			pressKey(tab, "ArrowUp", "", alt)
			goes("New conversation")
			tab.Clean()
		})
	}
}

// TestSent_Markdown checks that a message with code is rendered as Markdown with its line
// breaks, before and after it is in the log, and that a long one is folded.
func TestSent_Markdown(t *testing.T) {
	axe := needsAxe(t)
	s := sentStage(t)
	for _, l := range some(looks[0], looks[3], looks[4]) {
		t.Run(l.name, func(t *testing.T) {
			tab := SharedBrowser(t).Private(t)
			l.with(tab, 1)
			s.Enter(tab, "ada")
			awaitEnvelope(tab, "before-29")
			picture := l.pictures(t, tab, axe, "sent-")
			write := func(text string) {
				tab.Await(`(() => { const f = document.querySelector("meup-composer textarea"); if (!f || f.disabled) return false; f.focus(); return document.activeElement === f; })()`)
				typeText(tab, text)
				enter(tab)
			}
			write("Run **this** now,\nplease, " + l.name + ":\n\n```sh\nmake demo\n```")
			tab.Await(`((x) => x?.querySelector("strong")?.textContent === "this" && x.querySelector("p br") && x.querySelector("meup-code pre"))(` + ownMessage + `)`)
			picture("markdown")
			if l.width >= 1200 {
				tab.Await(`((x) => x?.textContent === "Run this now," && x.childElementCount === 0)(document.querySelector(".thread-list .thread:not(.everything) .thread-title"))`)
			}
			press(t, tab, ownMessage+`.querySelector("[aria-label=Reply]")`)
			tab.Await(`document.querySelector(".reply-chip span")?.innerText.endsWith(` + quote("Run this now, please, "+l.name+": make demo") + `)`)
			press(t, tab, `document.querySelector(".reply-chip button")`)
			write("Long " + l.name + "\n" + lines(40))
			folded := `((x) => x?.textContent.includes(` + quote("Long "+l.name) + `) && x.querySelector(".bubble[data-folded=true]")?.clientHeight < 300)(` + ownMessage + `)`
			tab.Await(folded)
			picture("folded")
			press(t, tab, ownMessage+`.querySelector("[aria-expanded=false]")`)
			tab.Await(`((x) => x.querySelector(".bubble").clientHeight > 600 && x.querySelector("[aria-expanded=true]")?.textContent === "Show less")(` + ownMessage + `)`)
			press(t, tab, ownMessage+`.querySelector("[aria-expanded=true]")`)
			tab.Await(folded)
			tab.Clean()
		})
	}
}

// TestSent_Unanswered checks that the sender of a message that begins with a mention of a
// participant that is not connected is told that nobody was asked, until the next message.
func TestSent_Unanswered(t *testing.T) {
	axe := needsAxe(t)
	s := NewStageWith(t, []string{"files"}, map[string][]string{"ada": {"*", "observe"}})
	s.Join("files")
	for _, l := range some(looks[2], looks[1], looks[4]) {
		t.Run(l.name, func(t *testing.T) {
			tab := SharedBrowser(t).Private(t)
			l.with(tab, 1)
			s.Enter(tab, "ada")
			told := func(want string) {
				t.Helper()
				tab.Await(`(document.querySelector("meup-composer [role=status]")?.textContent.trim() ?? null) === ` + quote(want))
			}
			told("")
			sendMessage(tab, "@flies of "+l.name+", what is here?")
			told("No participant @flies is connected, and nobody was asked. Did you mean @files?")
			l.pictures(t, tab, axe, "sent-")("unanswered")
			typeText(tab, "x")
			told("")
			sendMessage(tab, " @flies of "+l.name+", what is there?") // after the x: no mention at its beginning
			told("")
			sendMessage(tab, "@jürgen of "+l.name+", hello")
			told("No participant @jürgen is connected, and nobody was asked.")
			sendMessage(tab, "@files of "+l.name+", what is here?")
			told("")
			tab.Clean()
		})
	}
}
