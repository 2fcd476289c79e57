package webtest

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// pressKey presses and releases a key as the browser receives it.
func pressKey(tab *Tab, name, text string, modifiers int64) {
	tab.Do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		for _, kind := range []input.DispatchKeyEventType{input.DispatchKeyEventTypeKeyDown, input.DispatchKeyEventTypeKeyUp} {
			p := input.DispatchKeyEventParams{Type: kind, Key: name, Code: name, Modifiers: modifiers}
			if kind == input.DispatchKeyEventTypeKeyDown {
				p.Text = text
			}
			p.WindowsVirtualKeyCode = map[string]int64{"Tab": 9, "Escape": 27}[name]
			if _, err := cdp.Call(ctx, t, input.DispatchKeyEvent, p); err != nil {
				return err
			}
		}
		return nil
	}))
}

// ctrl is the modifier of the Control key.
const ctrl = 2

func everydayStage(t *testing.T) *Stage {
	t.Helper()
	s := NewStageWith(t, []string{"ben", "planner", "files"}, map[string][]string{"ada": {"*", "observe"}})
	s.Join("planner", "ben")
	s.Send("ada", Chat("one", "How do I start it?"))
	s.Send("planner", Envelope{"id": "two", "kind": "chat", "correlationId": "one", "payload": map[string]any{"format": "markdown",
		"message": "Like this:\n\n```go\nfunc main() { // start\n\tfmt.Println(\"on port\", 8080)\n}\n```\n\nor `make demo`."}})
	s.Send("ben", Chat("three", "Thank you."))
	return s
}

// TestEveryday_Keyboard reaches the composer with two keys, moves between messages
// and their controls, and opens the list of keys and the command palette.
func TestEveryday_Keyboard(t *testing.T) {
	axe := needsAxe(t)
	b := SharedBrowser(t)
	s := everydayStage(t)
	for _, l := range []look{looks[0], looks[3]} {
		t.Run(l.name, func(t *testing.T) {
			tab := b.Private(t)
			l.with(tab, 1)
			s.Enter(tab, "ada")
			awaitEnvelope(tab, "three")
			picture := l.pictures(t, tab, axe, "everyday-")
			focus := func(selector string) string { return `document.activeElement?.matches(` + quote(selector) + `)` }

			Eval[bool](tab, `(document.activeElement.blur(), document.body.focus(), true)`)
			pressKey(tab, "Tab", "", 0)
			tab.Await(focus(".skip"))
			enter(tab)
			tab.Await(focus("meup-composer textarea"))

			Eval[bool](tab, `(document.querySelector('[data-id="three"]').focus(), true)`)
			pressKey(tab, "ArrowUp", "", 0)
			tab.Await(focus(`[data-id="two"]`))
			pressKey(tab, "ArrowRight", "", 0)
			tab.Await(focus(`[data-id="two"] .author`))
			picture("message")
			pressKey(tab, "Escape", "", 0)
			tab.Await(focus(`[data-id="two"]`))
			if got := Eval[int](tab, `document.querySelector('[data-id="two"]').querySelectorAll("button:not([tabindex]), a:not([tabindex])").length`); got != 1 {
				t.Errorf("%d controls of a message are tab stops, besides the copying of code", got-1)
			}

			pressKey(tab, "?", "?", 0)
			tab.Await(`document.querySelector(".palette-keys") !== null`)
			picture("keys")
			Eval[bool](tab, `(document.querySelector(".palette-head button").click(), true)`)
			tab.Await(`document.querySelector("meup-palette") === null`)

			pressKey(tab, "k", "", ctrl)
			tab.Await(focus(".palette-input"))
			typeText(tab, "start")
			tab.Await(`document.querySelector(".palette-list li")?.textContent.includes("How do I start it?")`)
			picture("palette")
			enter(tab)
			tab.Await(shown + ` === "one two" && document.querySelector("meup-palette") === null`)
			tab.Clean()
		})
	}
}

// TestEveryday_Focus checks where the focus is after a dialog, a panel or the list of
// conversations is closed, and that a narrow page shows how many proposals wait.
func TestEveryday_Focus(t *testing.T) {
	b := SharedBrowser(t)
	s := everydayStage(t)
	s.Send("planner", Envelope{"id": "p", "kind": "mcp.proposal", "payload": map[string]any{"method": "tools/call", "params": map[string]any{"name": "push_tag"}}})
	for _, l := range []look{looks[0], looks[2]} {
		t.Run(l.name, func(t *testing.T) {
			tab := b.Private(t)
			l.with(tab, 1)
			s.Enter(tab, "ada")
			awaitEnvelope(tab, "p")
			Eval[bool](tab, `(document.querySelector('[data-id="three"]').focus(), true)`)
			for _, open := range []struct {
				key, text string
				modifiers int64
				shown     string
			}{{"k", "", ctrl, ".palette-input"}, {"?", "?", 0, ".palette-keys"}, {"/", "/", 0, "meup-search"}} {
				pressKey(tab, open.key, open.text, open.modifiers)
				tab.Await(`document.querySelector(` + quote(open.shown) + `) && document.activeElement?.dataset.id !== "three"`)
				pressKey(tab, "Escape", "", 0)
				tab.Await(`document.querySelector(` + quote(open.shown) + `) === null && document.activeElement?.dataset.id === "three"`)
			}
			if l.width < 1000 {
				tab.Await(`document.querySelector(".head-panels").ariaLabel === "Panels, 1 awaiting approval" && document.querySelector(".head-panels .badge").checkVisibility()`)
				press(t, tab, `document.querySelector(".head-list")`)
				press(t, tab, inThread("one"))
				tab.Await(`document.querySelector(".threads") === null && document.activeElement?.className === "talk"`)
			}
			tab.Clean()
		})
	}
}

// TestEveryday_FocusVisible presses Tab through the page: each stop shows the focus.
func TestEveryday_FocusVisible(t *testing.T) {
	b := SharedBrowser(t)
	s := performDemo(t, time.Millisecond)
	tab := b.Private(t)
	looks[0].with(tab, 1)
	s.Enter(tab, "ada")
	awaitEnvelope(tab, "q-rollout")
	openPanel(t, tab, "proposals")
	Eval[bool](tab, `(document.activeElement.blur(), true)`)
	stops := make(map[string]bool)
	for range 90 {
		pressKey(tab, "Tab", "", 0)
		fault := Eval[string](tab, `(async () => {
			await new Promise(requestAnimationFrame);
			let e = document.activeElement;
			while (e?.shadowRoot?.activeElement) e = e.shadowRoot.activeElement;
			if (e === null || e === document.body) return "";
			const css = getComputedStyle(e), box = e.closest(".composer-box");
			const shown = (css.outlineStyle !== "none" && parseFloat(css.outlineWidth) >= 2) || (box !== null && getComputedStyle(box).boxShadow !== "none");
			return (shown && e.checkVisibility({ visibilityProperty: true }) ? "" : "!") + e.localName + "." + e.className;
		})()`)
		if stop, hidden := strings.CutPrefix(fault, "!"); hidden {
			t.Errorf("the focus is not visible: %s", stop)
		} else {
			stops[fault] = true
		}
	}
	if len(stops) < 12 {
		t.Errorf("only %d kinds of stops: %v", len(stops), stops)
	}
	tab.Clean()
}

// TestEveryday_Code copies code, and shows its language and its keywords.
func TestEveryday_Code(t *testing.T) {
	b := SharedBrowser(t)
	s := everydayStage(t)
	tab := b.Private(t)
	s.Enter(tab, "ada")
	tab.Await(`document.querySelector("meup-code .code-language")?.textContent === "go"`)
	if got := Eval[string](tab, `[...document.querySelectorAll("meup-code .code-word, meup-code .code-text, meup-code .code-number, meup-code .code-note")].map((x) => x.textContent).join("|")`); got != `func|// start|"on port"|8080` {
		t.Errorf("highlighted: %s", got)
	}
	confirmed := tab.Watch(`document.querySelector(".code-copy")?.textContent === "Copied"`)
	Eval[bool](tab, `(navigator.clipboard.writeText = (x) => { window.copied = x; return Promise.resolve(); }, document.querySelector(".code-copy").click(), true)`)
	tab.Await(confirmed + ` && window.copied === 'func main() { // start\n\tfmt.Println("on port", 8080)\n}'`)
	Eval[bool](tab, `(document.querySelector('[data-id="three"] [aria-label="Copy text"]').click(), true)`)
	tab.Await(`window.copied === "Thank you."`)
	tab.Clean()
}

// TestEveryday_Attention counts in the title what waits for the user, notifies a
// hidden page, and keeps a theme.
func TestEveryday_Attention(t *testing.T) {
	b := SharedBrowser(t)
	s := everydayStage(t)
	tab := b.Private(t)
	looks[0].with(tab, 1)
	s.Enter(tab, "ada")
	tab.Await(`document.title === "lab · meup"`)
	awaitEnvelope(tab, "three") // what was there before is no news
	Eval[bool](tab, `(() => {
		window.shownNotes = [];
		window.Notification = class { constructor(title, o) { shownNotes.push(title + ": " + o.body); } static permission = "granted"; static requestPermission() { return Promise.resolve("granted"); } };
		Object.defineProperty(document, "visibilityState", { value: "hidden", configurable: true });
		return true;
	})()`)
	press(t, tab, `document.querySelector('input[name=notify]')`)
	tab.Await(`localStorage.getItem("meup.notify") === "yes"`)
	s.Send("ben", Chat("noise", "Not for ada."))
	awaitEnvelope(tab, "noise")
	s.Send("planner", Envelope{"id": "p", "kind": "mcp.proposal", "payload": map[string]any{"method": "tools/call", "params": map[string]any{"name": "push_tag"}}},
		Envelope{"id": "direct", "kind": "chat", "to": []string{"ada"}, "payload": map[string]any{"message": "Please look."}})
	tab.Await(`document.title === "(1) lab · meup"`)
	tab.Await(`JSON.stringify(shownNotes) === '["planner waits for your approval: push_tag","planner: Please look."]'`)

	press(t, tab, `document.querySelector('input[name=theme][value=dark]')`)
	const ground = `getComputedStyle(document.body).backgroundColor`
	tab.Await(ground + ` === "rgb(23, 22, 20)"`)
	tab.Open("about:blank")
	tab.Open(s.Gateway.HTTP() + "/")
	tab.Await(entered + ` && ` + ground + ` === "rgb(23, 22, 20)"`)
	tab.Clean()
}

// TestEveryday_Suggestions offers questions in an empty space, and writes a chosen
// one into the composer.
func TestEveryday_Suggestions(t *testing.T) {
	b := SharedBrowser(t)
	s := NewStageWith(t, []string{"ben"}, map[string][]string{"ada": {"chat"}, "guide": {"chat", "reasoning.*"}})
	s.Join("guide")
	tab := b.Private(t)
	s.Enter(tab, "ada")
	press(t, tab, `document.querySelector(".suggestion")`)
	tab.Await(`document.querySelector("meup-composer textarea").value === "@guide What can you help me with?"`)
	shoot(t, tab, filepath.Join(screenshotDir, "everyday-suggestions.png"))
	tab.Clean()
}

// TestEveryday_TimelineAxis checks that the times along the timeline are whole and
// in order.
func TestEveryday_TimelineAxis(t *testing.T) {
	b := SharedBrowser(t)
	s := everydayStage(t)
	tab := b.Private(t)
	looks[2].with(tab, 1)
	s.Enter(tab, "ada")
	awaitEnvelope(tab, "three")
	press(t, tab, `document.querySelector(".head-panels")`)
	openPanel(t, tab, "timeline")
	const axis = `[...document.querySelector("meup-timeline").shadowRoot.querySelectorAll(".axis span")]`
	tab.Await(axis + `.length === 3 && ` + axis + `.every((x) => /^\d{1,2}:\d{2}:\d{2}/.test(x.textContent) && x.scrollWidth <= x.clientWidth)`)
	tab.Await(`/entries( over (\d+ ms|\d+\.\d s|\d+m.*))?, since/.test(document.querySelector("meup-timeline").shadowRoot.textContent)`)
	tab.Clean()
}

// TestEveryday_Shrinks checks that a window that becomes narrow closes the list and the
// panel, which would cover the conversation, and that the list returns in a wide one.
func TestEveryday_Shrinks(t *testing.T) {
	s := everydayStage(t)
	tab := SharedBrowser(t).Private(t)
	looks[0].with(tab, 1)
	s.Enter(tab, "ada")
	openPanel(t, tab, "participants")
	tab.Await(`document.querySelector('.space[data-list="true"][data-panel="true"] .threads')`)
	looks[3].with(tab, 1)
	tab.Await(`document.querySelector('.space[data-list="false"][data-panel="false"] .space-main:not([inert])')`)
	looks[0].with(tab, 1)
	tab.Await(`document.querySelector('.space[data-list="true"] .threads')`)
	tab.Clean()
}
