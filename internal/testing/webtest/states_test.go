package webtest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/testing/meuptest"
)

// rich is a message with everything that is wide or long.
var rich = "## What changed\n\nThe limits are **per kind** now, see `docs/protocol.md`. Three things to do:\n\n" +
	"- [x] announce them\n- [ ] update the dashboards\n- [ ] tell the people who run `ap-south`\n\n" +
	"```go\n" + strings.Repeat("// Admit reports whether a participant may send an envelope of this kind now, and how long it has to wait otherwise, in milliseconds.\n"+
	"func (l *Limiter) Admit(kind string, bytes int) (wait time.Duration, err error) {\n\treturn l.buckets[kind].take(1, bytes)\n}\n\n", 6) + "```\n\n" +
	"| region | requests per second | errors | p50 | p99 | owner | since |\n|---|--:|--:|--:|--:|---|---|\n" +
	"| eu-north | 12,400 | 0.01 % | 12 ms | 80 ms | platform-team-north | 2026-11-02 |\n| ap-south | 8,100 | 0.02 % | 52 ms | 210 ms | platform-team-south | 2026-11-09 |\n\n" +
	"> It is slower, but not worse.\n\nhttps://dashboards.example.org/d/4f2a9c0e1b/latency-by-region?from=2026-11-20T00:00:00Z&to=2026-11-27T00:00:00Z&var-region=ap-south"

// TestStates_Conversation takes pictures of the states of the conversation, the
// composer, the list of conversations and the menu.
func TestStates_Conversation(t *testing.T) {
	axe := needsAxe(t)
	b := SharedBrowser(t)
	for _, l := range some(looks[0], looks[3]) {
		t.Run(l.name, func(t *testing.T) {
			s := performDemo(t, time.Millisecond)
			s.Send("scout", Envelope{"id": "rich", "kind": "chat", "correlationId": "q-rollout", "payload": map[string]any{"message": rich, "format": "markdown"}})
			tab := b.Private(t)
			l.with(tab, 1)
			s.Enter(tab, "ada")
			awaitEnvelope(tab, "rich")
			picture := l.pictures(t, tab, axe, "state-")
			do := func(script string) { Eval[bool](tab, `(`+script+`, true)`) }

			do(`document.querySelector('[data-id="rich"]').scrollIntoView()`)
			tab.Await(`document.querySelector('[data-id="rich"] meup-code pre')`)
			picture("long")
			do(`document.querySelector(".talk").scrollTop -= 2000`)
			s.Send("ben", Chat("news-1", "The dashboards are updated."), Chat("news-2", "All of them."))
			tab.Await(`document.querySelector(".to-end")?.textContent.includes("2 new")`)
			picture("new-below")
			press(t, tab, `document.querySelector(".to-end")`)
			awaitEnvelope(tab, "news-2")

			do(`document.querySelector(".menu > summary").click()`)
			picture("menu")
			do(`document.querySelector(".menu > summary").click()`)

			do(`document.querySelector("meup-composer textarea").focus()`)
			typeText(tab, "@")
			tab.Await(`document.querySelector(".mentions")`)
			picture("mentions")
			typeText(tab, "planner and @scout, please look at this once more before we go on with the other regions")
			tab.Await(`document.querySelector(".only-to")`)
			press(t, tab, `document.querySelector('[data-id="news-1"] [aria-label="Reply"]')`)
			tab.Await(`document.querySelector(".reply-chip")`)
			picture("reply")
			press(t, tab, `document.querySelector(".reply-chip button")`)

			list := func() {
				if l.width < 1200 {
					press(t, tab, `document.querySelector(".head-list")`)
				}
				tab.Await(`document.querySelector(".threads")`)
			}
			list()
			press(t, tab, inThread("q-release"))
			tab.Await(`document.querySelector(".thread-head")`)
			s.Send("ben", Envelope{"id": "late", "kind": "chat", "correlationId": "q-rollout", "payload": map[string]any{"message": "I would begin in the north."}})
			list()
			tab.Await(inThread("q-rollout") + `.querySelector(".thread-count")`)
			picture("unread")
			tab.Await(`(() => { const x = document.querySelector(".threads-find input"); x.value = "unicorns"; x.dispatchEvent(new Event("input")); return true; })()`)
			tab.Await(`document.querySelector(".thread-list").textContent.includes("No conversation")`)
			picture("no-thread")
			press(t, tab, `document.querySelector(".threads-head a")`)
			tab.Await(`document.querySelector(".thread-head h2")?.textContent === "New conversation"`)
			picture("new-thread")
			do(`location.hash = "#/space/lab/t/q-release"`)
			press(t, tab, `document.querySelector(".thread-head .icon-button")`)
			tab.Await(`document.querySelector(".thread-head input")`)
			picture("rename")
			do(`location.hash = "#/space/lab"`)

			do(`document.querySelector("meup-space-page").shell.setView({ contexts: [""], exclude: [], from: ["ben"], conclusionsOnly: true })`)
			tab.Await(`document.querySelector(".page-line .words")`)
			do(`document.querySelector(".talk").scrollTop = 0`)
			picture("filtered")
			told := tab.Watch(`document.querySelector(".toast")?.textContent.startsWith("Not found")`)
			do(`location.hash = "#/space/lab/m/nowhere"`)
			tab.Await(told)
			picture("not-found")
			pressKey(tab, "k", "", ctrl)
			tab.Await(`document.activeElement?.matches(".palette-input")`)
			picture("palette")
			typeText(tab, "unicorns")
			tab.Await(`document.querySelectorAll(".palette-list li").length === 1`)
			picture("palette-none")
			tab.Clean()
		})
	}
}

// inPanel is an expression: a selector in the open panel.
func inPanel(panel, selector string) string {
	return `document.querySelector("meup-` + panel + `")?.shadowRoot?.querySelector(` + quote(selector) + `)`
}

// TestStates_Panels takes pictures of the states of the panels that need an
// action.
func TestStates_Panels(t *testing.T) {
	axe := needsAxe(t)
	b := SharedBrowser(t)
	for _, l := range some(looks[3], looks[0]) {
		t.Run(l.name, func(t *testing.T) {
			s := performDemo(t, time.Millisecond)
			s.Send("ada", Envelope{"kind": "capability.grant", "payload": map[string]any{"recipient": "planner", "capabilities": []any{"x.deploy"}, "ttl_seconds": 3600, "reason": "for the rollout"}})
			empty := newStage(t, "ada", "ben")
			nobody := b.Private(t)
			l.with(nobody, 1)
			empty.Enter(nobody, "ada")
			for _, id := range slices.Concat(panels, []string{"trace"}) {
				Eval[bool](nobody, `(document.querySelector("meup-space-page").shell.open(`+quote(id)+`), true)`)
				nobody.Await(inPanel(id, "*"))
				l.pictures(t, nobody, axe, "empty-")(id)
			}
			nobody.Clean()

			tab := b.Private(t)
			l.with(tab, 1)
			s.Enter(tab, "ada")
			awaitEnvelope(tab, "q-rollout")
			picture := l.pictures(t, tab, axe, "state-")
			open := func(id, params string) {
				Eval[bool](tab, `(document.querySelector("meup-space-page").shell.open(`+quote(id)+`, `+params+`), true)`)
				tab.Await(inPanel(id, "*"))
			}
			open("participants", `{ id: "planner" }`)
			picture("participant")
			open("tools", `{ id: "files" }`)
			picture("tools")
			open("proposals", `{ id: "`+decided+`" }`)
			picture("decided")
			press(t, tab, `document.querySelector("meup-proposals")?.shadowRoot.querySelector("[data-id=`+waiting+`]")?.shadowRoot?.querySelector("meup-approve-form")?.shadowRoot?.querySelector(".button.bad")`)
			reject := `document.querySelector("meup-proposals").shadowRoot.querySelector("[data-id=` + waiting + `]").shadowRoot.querySelector("meup-reject-form")?.shadowRoot?`
			tab.Await(reject + `.querySelector("select")`)
			choose(t, tab, reject+`.querySelector("select")`, "other")
			press(t, tab, reject+`.querySelector(".button.bad")`)
			tab.Await(reject + `.querySelector(".refused")`)
			picture("reject")
			open("timeline", `{}`)
			press(t, tab, inPanel("timeline", `[aria-label="Previous envelope"]`))
			tab.Await(`document.querySelector(".banner.past")`)
			picture("past")
			Eval[bool](tab, `(document.querySelector(".banner.past .words").click(), true)`)

			open("operator", `{}`)
			tab.Await(`document.querySelector("meup-operator").shadowRoot.querySelector("meup-moderation")?.shadowRoot?.querySelector(".button.bad")`)
			Eval[bool](tab, `(document.querySelector("meup-operator").shadowRoot.querySelectorAll("details").forEach((x) => (x.open = true)), true)`)
			press(t, tab, `document.querySelector("meup-operator").shadowRoot.querySelector("meup-grants").shadowRoot.querySelector(".button.bad")`)
			press(t, tab, `document.querySelector("meup-operator").shadowRoot.querySelector("meup-moderation").shadowRoot.querySelector(".button.bad")`)
			tab.Await(`document.querySelector("meup-operator").shadowRoot.querySelector("meup-moderation").shadowRoot.querySelector(".confirm")`)
			picture("operator")
			Eval[bool](tab, `(document.querySelector(".panel-body").scrollTop = 1e6, true)`)
			picture("operator-end")
			tab.Clean()
		})
	}
}

// TestStates_Trouble takes pictures of the page while something is wrong.
func TestStates_Trouble(t *testing.T) {
	axe := needsAxe(t)
	b := SharedBrowser(t)
	for _, l := range some(looks[0], looks[3]) {
		t.Run(l.name, func(t *testing.T) {
			s := performDemo(t, time.Millisecond)
			open := func(g *meuptest.Gateway) (*Tab, func(string)) {
				tab := b.Private(t)
				l.with(tab, 1)
				tab.Open(g.HTTP() + "/#code=" + g.Gateway().NewLoginCode("ada-token"))
				tab.Await(entered)
				return tab, l.pictures(t, tab, axe, "trouble-")
			}
			write := func(tab *Tab, text string) {
				tab.Await(`(() => { const x = document.querySelector("meup-composer textarea:not([disabled])"); x?.focus(); return x !== null; })()`)
				typeText(tab, text)
				enter(tab)
			}

			door := b.Private(t)
			l.with(door, 1)
			door.Expect("401")
			door.Open(s.Gateway.HTTP() + "/")
			door.Text("meup-sign-in h1")
			Eval[bool](door, `(document.querySelector("#token").focus(), true)`)
			typeText(door, "not-a-token")
			enter(door)
			door.Text(".door-trouble")
			l.pictures(t, door, axe, "trouble-")("token")

			fast := meuptest.Start(t, `spaces:
  lab: {participants: {ada: {token: ada-token, capabilities: ["*"], limits: {kinds: [{kind: chat, rate: 0.02, burst: 1}]}}}}
`)
			tab, picture := open(fast)
			write(tab, "One.")
			write(tab, "Two, which is too soon.")
			tab.Await(`document.querySelector(".banner.wait")?.textContent.startsWith("Rate limit exceeded. Sending continues automatically in ")`)
			tab.Await(`/^You are sending faster than your limit \(kinds: chat\) allows\. Sent again automatically in \d+s\.$/.test(document.querySelector(".message-note")?.textContent)`)
			picture("too-fast")
			tab.Clean()

			tab, picture = open(s.Gateway)
			s.Send("ben", Envelope{"kind": "participant.pause", "to": []string{"ada"}, "payload": map[string]any{"participant_id": "ada", "reason": "Lunch"}})
			tab.Await(`document.querySelector("meup-space-page").shell.state.participants.get("ada").paused`)
			write(tab, "Let us begin with eu-north.")
			tab.Text(".refusal")
			picture("rejected")
			s.Gateway.Stop()
			tab.Expect("WebSocket")
			tab.Expect("ERR_")
			tab.Await(`document.querySelector("[data-phase=lost]") && document.querySelector(".banner.wait")`)
			write(tab, "Are you still there?")
			tab.Await(`[...document.querySelectorAll(".message-note")].some((x) => x.textContent.includes("Waiting for the connection"))`)
			picture("lost")
			s.Gateway.Restart()
			tab.Await(entered)
			s.Send("ben", Envelope{"kind": "space.kick", "payload": map[string]any{"participant_id": "ada", "reason": "See you tomorrow"}})
			tab.Await(`document.querySelector("[data-phase=kicked]")`)
			picture("kicked")

			tab, picture = open(fast)
			tab.Expect("403")
			tab.Expect("404")
			Eval[bool](tab, `(location.hash = "#/space/elsewhere", true)`)
			tab.Await(`document.querySelector("[data-phase=refused]") && document.querySelector(".composer-box") === null`)
			picture("refused")
		})
	}
}
