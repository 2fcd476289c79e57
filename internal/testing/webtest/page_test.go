package webtest

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// quote returns a text as a JavaScript string.
func quote(text string) string {
	out, err := json.Marshal(text)
	if err != nil {
		panic(err) // every string has a JSON form
	}
	return string(out)
}

func typeText(tab *Tab, text string) {
	tab.Do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, input.InsertText, input.InsertTextParams{Text: text})
		return err
	}))
}

// enter presses the Enter key.
func enter(tab *Tab) {
	tab.Do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		for _, kind := range []input.DispatchKeyEventType{input.DispatchKeyEventTypeKeyDown, input.DispatchKeyEventTypeKeyUp} {
			p := input.DispatchKeyEventParams{Type: kind, Key: "Enter", Code: "Enter", Text: "\r", WindowsVirtualKeyCode: 13}
			if _, err := cdp.Call(ctx, t, input.DispatchKeyEvent, p); err != nil {
				return err
			}
		}
		return nil
	}))
}

// preferOpen sets the preference to open all reasoning.
func preferOpen(tab *Tab) {
	tab.Await(`(() => { const x = document.querySelector('input[name=reasoning][value=open]'); x?.click(); return x !== null; })()`)
}

// openAll opens everything in the conversation that can be opened, until
// nothing is left. It waits for blocks that have just ended, which close by themselves.
// It returns how often it found something.
func openAll(tab *Tab) int {
	return Eval[int](tab, `(async () => {
		const selector = ".rows meup-rest button:not(.code-copy), .rows [aria-expanded=false], .rows .reasoning-all";
		const closing = (x) => x.shell.toggles.closesAt(x.block, performance.now()) !== null;
		const frame = () => new Promise(requestAnimationFrame);
		let n = 0;
		for (let quiet = 0; quiet < 3 && n < 3000; ) {
			const found = [...document.querySelectorAll(selector)];
			for (const e of found) e.click();
			n += found.length;
			quiet = found.length === 0 && ![...document.querySelectorAll(".rows meup-reasoning")].some(closing) ? quiet + 1 : 0;
			await frame(); await frame();
		}
		return n;
	})()`)
}

// openPanel opens a panel and waits until its element is rendered.
func openPanel(t *testing.T, tab *Tab, id string) {
	t.Helper()
	tab.Await(`(() => {
		const tab = document.querySelector('.tab[data-panel=` + id + `]');
		if (!tab) return false;
		if (tab.getAttribute("aria-selected") !== "true") tab.click();
		const e = document.querySelector(".panel-body")?.lastElementChild;
		return e?.localName === "meup-" + ` + quote(id) + ` && e.updateComplete && e.shadowRoot?.childElementCount > 0;
	})()`)
}
