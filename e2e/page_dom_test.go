package e2e

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/internal/testing/webtest"
)

// patienceMS is testkit.Patience in a script.
var patienceMS = strconv.FormatInt(testkit.Patience.Milliseconds(), 10)

// eyes finds elements of a page by role, name and text, as a screen reader
// would, through the shadow roots of the page's elements. It is injected into
// every document before the page's own scripts.
var eyes = `
window.eyes = (() => {
  const patience = ` + patienceMS + `;
  const squeeze = (s) => s.replace(/\s+/g, " ").trim();
  const glob = (g) => new RegExp("^" + g.split("*").map((x) => x.replace(/[.+?^${}()|[\]\\]/g, "\\$&")).join("[^]*") + "$");
  const seen = (e) => e.checkVisibility({ visibilityProperty: true }) && e.closest("[aria-hidden=true],[inert]") === null;
  const inner = (e) => [...(e.shadowRoot ?? e).childNodes];
  const all = (root, out = []) => {
    for (const e of (root.shadowRoot ?? root).children) { out.push(e); all(e, out); }
    return out;
  };
  const text = (n, spoken = false) => {
    if (n.nodeType === 3) return n.data;
    if (n.nodeType !== 1 || !seen(n) || n.localName === "style") return "";
    if (spoken && n.getAttribute("role") === "img") return n.getAttribute("aria-label") ?? "";
    const t = inner(n).map((x) => text(x, spoken)).join("");
    return getComputedStyle(n).display.startsWith("inline") && n.localName !== "br" ? t : " " + t + " ";
  };
  const inputs = { checkbox: "checkbox", radio: "radio", range: "slider", search: "searchbox", password: "textbox", text: "textbox" };
  const roles = { button: "button", article: "article", textarea: "textbox", select: "combobox", form: "form", main: "main", aside: "complementary",
    h1: "heading", h2: "heading", h3: "heading", li: "listitem", summary: "button", details: "group", fieldset: "group", section: "region", pre: "code" };
  const role = (e) => e.getAttribute("role") ?? (e.localName === "a" && e.href ? "link" : e.localName === "input" ? inputs[e.type] ?? "input" : roles[e.localName] ?? "");
  const labelled = (e) => [...(e.labels ?? [])].map((l) => inner(l).map((n) => (n === e ? "" : text(n))).join("")).join(" ");
  const name = (e) => squeeze(e.getAttribute("aria-label") ?? (labelled(e) || (e.matches("input,select,textarea") ? "" : text(e, true)) || e.title || e.placeholder || ""));
  const within = (root, e) => { for (let n = e; n !== null; n = n.parentNode ?? n.host ?? null) if (n === root) return true; return false; };
  const matcher = (spot) => {
    const n = glob(spot.name), t = glob(spot.text);
    return (e) => role(e) === spot.role && seen(e) && (spot.name === "*" || n.test(name(e))) && (spot.text === "*" || t.test(squeeze(text(e))));
  };
  const below = (spot) => {
    const root = spot.within ? find(spot.within) : document.body;
    return root === null ? [] : all(root);
  };
  const find = (spot) => below(spot).find(matcher(spot)) ?? null;
  const count = (spot) => below(spot).filter(matcher(spot)).length;
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  // The middle of an element, once it rests there and nothing lies above it.
  const middle = async (spot) => {
    const matches = matcher(spot);
    for (let before = "", e = null, late = performance.now() + patience; performance.now() < late; ) {
      e = e?.isConnected && matches(e) ? e : find(spot);
      if (e !== null) {
        const box = e.getBoundingClientRect();
        const at = { x: box.x + box.width / 2, y: box.y + box.height / 2 };
        let top = document.elementFromPoint(at.x, at.y);
        while (top?.shadowRoot) { const t = top.shadowRoot.elementFromPoint(at.x, at.y); if (!t || t === top) break; top = t; }
        const now = JSON.stringify(at);
        const reached = top !== null && (within(e, top) || within(top, e));
        if (reached && now === before) return at;
        if (top === null || !reached && now === before) e.scrollIntoView({ block: "center" }); // out of the window, or covered
        before = now;
      }
      await frame();
    }
    return null;
  };
  const active = () => { let e = document.activeElement; while (e?.shadowRoot?.activeElement) e = e.shadowRoot.activeElement; return e; };
  const before = (a, b) => a !== null && b !== null && (a.compareDocumentPosition(b) & Node.DOCUMENT_POSITION_FOLLOWING) !== 0;
  return { squeeze, glob, seen, all, text: (e) => squeeze(text(e)), role, name, find, count, middle, active, before,
    page: () => squeeze(text(document.body)) };
})();`

// spot identifies an element of the page by its role, its name and its text. In
// name and text * matches anything.
type spot struct{ role, name, text, within string }

func at(role, name string) spot { return spot{role: role, name: name, text: "*", within: "null"} }

// withText is the spot of a role with a matching text.
func withText(role, text string) spot { return spot{role: role, name: "*", text: text, within: "null"} }

func (s spot) in(outer spot) spot {
	s.within = outer.js()
	return s
}

func (s spot) js() string {
	return fmt.Sprintf("{role: %q, name: %s, text: %s, within: %s}", s.role, quote(s.name), quote(s.text), s.within)
}

// find is the expression of the element, or null.
func (s spot) find() string { return "eyes.find(" + s.js() + ")" }

func (s spot) String() string { return fmt.Sprintf("%s %q %q", s.role, s.name, s.text) }

func quote(s string) string { return strconv.QuoteToASCII(s) }

// until waits for an expression to be true in the page. On timeout the test
// fails with the text of the page.
func (p *webPage) until(what, expression string) {
	p.t.Helper()
	got := webtest.Eval[string](p.Tab, `new Promise((done) => {
		const late = performance.now() + `+patienceMS+`;
		const look = () => {
			const begun = performance.now();
			let v = false;
			try { v = `+expression+`; } catch (e) { if (performance.now() > late) { done("threw " + e); return; } }
			if (v) done("");
			else if (performance.now() > late) done("not seen");
			else setTimeout(look, Math.max(15, 5 * (performance.now() - begun))); // a look takes a part of the processor that the page needs
		};
		look();
	})`)
	if got != "" {
		p.t.Fatalf("%s: %s; faults %q\nthe page reads: %s", what, got, p.Faults(), p.reads())
	}
}

func (p *webPage) reads() string { return webtest.Eval[string](p.Tab, "eyes.page()") }

// sees waits until the spot exists.
func (p *webPage) sees(s spot) {
	p.t.Helper()
	p.until("see "+s.String(), s.find()+" !== null")
}

// misses waits until the spot does not exist.
func (p *webPage) misses(s spot) {
	p.t.Helper()
	p.until("no longer see "+s.String(), s.find()+" === null")
}

// counts waits until there are n matches.
func (p *webPage) counts(n int, s spot) {
	p.t.Helper()
	p.until(fmt.Sprintf("see %d times %s", n, s), fmt.Sprintf("eyes.count(%s) === %d", s.js(), n))
}

// has reports whether the spot exists now.
func (p *webPage) has(s spot) bool { return webtest.Eval[bool](p.Tab, s.find()+" !== null") }

// read returns the text of a spot once it exists.
func (p *webPage) read(s spot) string {
	p.t.Helper()
	p.sees(s)
	return webtest.Eval[string](p.Tab, "eyes.text("+s.find()+")")
}

// inOrder waits until spots follow one another.
func (p *webPage) inOrder(places ...spot) {
	p.t.Helper()
	for i := 1; i < len(places); i++ {
		p.until(fmt.Sprintf("see %s above %s", places[i-1], places[i]), fmt.Sprintf("eyes.before(%s, %s)", places[i-1].find(), places[i].find()))
	}
}

// click clicks a spot with the mouse.
func (p *webPage) click(s spot) {
	p.t.Helper()
	p.Do(chromedp.MouseClickXY(p.middle(s)))
}

// decide clicks a button of a card that has kept its place.
func (p *webPage) decide(s spot) {
	p.t.Helper()
	p.middle(s) // it is scrolled into view
	p.Steady(s.find())
	p.click(s)
}

func (p *webPage) middle(s spot) (x, y float64) {
	p.t.Helper()
	p.sees(s)
	m := webtest.Eval[*struct{ X, Y float64 }](p.Tab, "eyes.middle("+s.js()+")")
	if m == nil {
		p.t.Fatalf("%s cannot be reached: something lies above it, or it does not rest; the page reads: %s", s, p.reads())
	}
	return m.X, m.Y
}

// focus moves the keyboard focus to a spot, and keys presses keys there.
func (p *webPage) focus(s spot) {
	p.t.Helper()
	p.sees(s)
	p.until("focus "+s.String(), "(() => { const e = "+s.find()+"; e.focus(); return eyes.active() === e; })()")
}

func (p *webPage) keys(keys string, with ...chromedp.KeyOption) {
	p.t.Helper()
	p.Do(chromedp.KeyEvent(keys, with...))
}

// enter presses Enter as a keyboard does, with one event for the key and its
// text: a handler of the key prevents the text.
func (p *webPage) enter(with ...chromedp.KeyOption) {
	p.t.Helper()
	down := input.DispatchKeyEventParams{Type: kb.KeyDown, Key: "Enter", Code: "Enter", Text: "\r", UnmodifiedText: "\r", WindowsVirtualKeyCode: 13}
	for _, o := range with {
		o(&down)
	}
	up := down
	up.Type, up.Text, up.UnmodifiedText = kb.KeyUp, "", ""
	p.Do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		if _, err := cdp.Call(ctx, t, input.DispatchKeyEvent, down); err != nil {
			return err
		}
		_, err := cdp.Call(ctx, t, input.DispatchKeyEvent, up)
		return err
	}))
}

// unfold opens a collapsed section.
func (p *webPage) unfold(title string) {
	p.t.Helper()
	p.click(at("button", title))
	p.until(title+" is unfolded", at("button", title).find()+"?.parentElement.open === true")
}

// fill replaces the text of a field.
func (p *webPage) fill(s spot, text string) {
	p.t.Helper()
	p.focus(s)
	webtest.Eval[bool](p.Tab, "(eyes.active().select(), true)")
	if text == "" {
		p.keys(kb.Backspace)
		return
	}
	p.keys(text)
	p.until("type "+text, fmt.Sprintf("eyes.active().value === %s", quote(text)))
}

// choose selects the first option of a list with this prefix.
func (p *webPage) choose(s spot, option string) {
	p.t.Helper()
	p.sees(s)
	p.until("choose "+option, fmt.Sprintf(`(() => {
		const list = %s, option = [...list.options].find((o) => o.text.trim().startsWith(%s));
		if (!option) return false;
		list.value = option.value;
		list.dispatchEvent(new Event("input", { bubbles: true, composed: true }));
		list.dispatchEvent(new Event("change", { bubbles: true, composed: true }));
		return true;
	})()`, s.find(), quote(option)))
}

// value waits until a field has a value.
func (p *webPage) value(s spot, want string) {
	p.t.Helper()
	p.until(fmt.Sprintf("see %q in %s", want, s), fmt.Sprintf("%s?.value === %s", s.find(), quote(want)))
}

// is waits until an attribute of a spot has a value.
func (p *webPage) is(s spot, attribute, want string) {
	p.t.Helper()
	p.until(fmt.Sprintf("see %s=%q of %s", attribute, want, s), fmt.Sprintf("%s?.getAttribute(%q) === %s", s.find(), attribute, quote(want)))
}

// like returns a glob that matches a text at any position.
func like(words ...string) string { return "*" + strings.Join(words, "*") + "*" }
