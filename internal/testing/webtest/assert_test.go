package webtest

import (
	"slices"
	"testing"

	"github.com/meup-protocol/meup/internal/testing/testkit"
)

func TestMain(m *testing.M) { testkit.Main(Tests{M: m}) }

// walk is a page function that visits every element, including shadow roots,
// and passes whether the element is within a participant's text.
const walk = `const walk = (f) => {
	const visit = (n, within) => {
		for (const e of n.children ?? []) {
			const inside = within || e.matches(".rows, .panel-body, .outgoing, .thread-list");
			f(e, within);
			visit(e, inside);
			if (e.shadowRoot) visit(e.shadowRoot, inside);
		}
	};
	visit(document.documentElement, false);
};`

// outline returns the accessible structure of the page, without texts of
// participants and without counts.
func outline(tab *Tab) []string {
	return Eval[[]string](tab, `(() => { `+walk+`
		const list = [];
		walk((e, within) => {
			if (within || !e.matches("[role],[aria-label],[aria-live],header,main,aside,nav,footer,form,h1,h2,h3,button,a,input,textarea,select,summary,dialog,iframe,link,style,script,meta")) return;
			if (e.closest("[aria-hidden=true], [hidden]") || e.matches("link[href^='/assets/'], .to-end")) return;
			const name = (e.getAttribute("aria-label") ?? (e.matches("button,a,h1,h2,h3,summary") ? e.textContent : "")).trim().replace(/\s+/g, " ").replace(/(, \d+ unread)?(, \d+ awaiting approval)?$/, "").replace(/^\d+ online$/, "N online");
			list.push([e.localName, e.getAttribute("role") ?? "", name, e.getAttribute("aria-live") ?? ""].join("|"));
		});
		return list;
	})()`)
}

// intruders returns elements within participants' texts that only an attack
// could create, one per line.
func intruders(tab *Tab) []string {
	return Eval[[]string](tab, `(() => { `+walk+`
		const out = [], say = (e, why) => out.length < 40 && out.push(why + ": " + e.outerHTML.slice(0, 240));
		const roles = new Set(["separator", "note", "group", "img", "alert", "search", "status", "tab", "tablist", "tabpanel", "tree", "treeitem", "switch", "slider", "listbox", "option", "region", "list", "listitem", "radiogroup"]);
		const unseen = /[\u061C\u200B\u200E\u200F\u202A-\u202E\u2060-\u2069\uFEFF\u0000-\u0008\u000E-\u001F]|[\u{E0000}-\u{E0FFF}]/u;
		walk((e, within) => {
			for (const a of e.attributes) {
				if (/^on/i.test(a.name)) say(e, "handler " + a.name);
				if (unseen.test(a.value) && within) say(e, "unseen characters in " + a.name);
				if (["src", "srcset", "srcdoc", "background", "poster", "action", "formaction", "ping", "xlink:href"].includes(a.name) && e.localName !== "script") say(e, "attribute " + a.name);
				if (a.name === "id" && within && !/^([mb]-|steps-)/.test(a.value) && e.getRootNode() === document) say(e, "id");
			}
			if (!within) return;
			const root = e.getRootNode() === document ? "rows" : "panel";
			if (e.matches("script,style,link,meta,base,iframe,frame,object,embed,applet,img,picture,video,audio,source,track,canvas,dialog,portal,marquee,math,template,foreignObject,image")
				&& !(root === "panel" && e.localName === "style")) say(e, "element");
			if (root === "rows" && e.matches("form,textarea,select,details,summary,label,h1,h2,nav,main,aside,footer")) say(e, "element");
			if (root === "rows" && e.matches("input") && !(e.disabled && e.type === "checkbox")) say(e, "input");
			if (e.hasAttribute("style") && root === "rows") say(e, "style");
			if (e.hasAttribute("role") && !roles.has(e.getAttribute("role"))) say(e, "role");
			if (e.matches("a")) {
				const own = /^#\/space\/lab(\/|$)/.test(e.getAttribute("href") ?? "");
				const rel = (e.rel ?? "").split(" ");
				if (own ? e.closest(".prose, .step-text, .bubble") : !(/^(https?|mailto):$/.test(e.protocol) && rel.includes("noopener") && rel.includes("nofollow") && e.target === "_blank" && e.username === "")) say(e, "link");
			}
			if (e.matches("button, [role=button], [tabindex], [contenteditable]") && e.closest(".prose, .step-text, .bubble, .call-result, .call-args, .message-note") && !e.matches("pre, .table, meup-code > .code-head > .code-copy, meup-rest > .words, meup-rest .words, .call-result > .words")) say(e, "control in a text");
			if (e.localName.includes("-") && e.closest(".prose, .step-text") && !e.matches("meup-prose, meup-rest, meup-code")) say(e, "component in a text");
			if (e.children.length === 0 && unseen.test(e.textContent)) say(e, "unseen characters");
		});
		return out;
	})()`)
}

// harm returns evidence of a successful attack, one per line.
func harm(tab *Tab) []string {
	return Eval[[]string](tab, `(() => {
		const out = [];
		if (window.ran !== undefined && !(window.ran instanceof Element)) out.push("a script of a stranger ran " + window.ran + " times");
		if (window.ran instanceof Element) out.push("an element took a name of the window");
		if (({}).polluted !== undefined || ({}).message !== undefined) out.push("the prototype of all objects was changed");
		if (document.querySelectorAll("meup-app").length !== 1 || document.querySelectorAll("meup-composer").length !== 1) out.push("the page is there twice or not at all");
		if (document.documentElement.scrollWidth > innerWidth) out.push("the page is wider than the window: " + document.documentElement.scrollWidth);
		if (document.documentElement.scrollHeight > innerHeight) out.push("the page is higher than the window: " + document.documentElement.scrollHeight);
		const talk = document.querySelector(".talk");
		if (talk.scrollWidth > talk.clientWidth) out.push("the talk is wider than its place: " + talk.scrollWidth + " > " + talk.clientWidth);
		for (const selector of ["meup-composer textarea", "meup-composer .send", ".head .menu summary", "meup-link-state .link-state"]) {
			const e = document.querySelector(selector), r = e?.getBoundingClientRect();
			const top = r && document.elementFromPoint(r.x + r.width / 2, r.y + r.height / 2);
			if (!r || r.width === 0 || (top !== e && !e.contains(top))) out.push(selector + " is covered or gone: " + (top?.outerHTML ?? "").slice(0, 120));
		}
		return out;
	})()`)
}

// unharmed compares the page to its earlier outline, and checks for intruders
// and harm.
func unharmed(t *testing.T, tab *Tab, before []string) {
	t.Helper()
	for _, list := range [][]string{harm(tab), intruders(tab)} {
		for _, x := range list {
			t.Error(x)
		}
	}
	if before != nil {
		after := outline(tab)
		for _, x := range missing(before, after) {
			t.Errorf("the page has lost %s", x)
		}
		for _, x := range missing(after, before) {
			t.Errorf("the page has got %s", x)
		}
	}
	tab.Clean()
}

// missing returns the lines of one list that are not in the other.
func missing(from, in []string) []string {
	left := slices.Clone(in)
	var list []string
	for _, x := range from {
		if i := slices.Index(left, x); i >= 0 {
			left = slices.Delete(left, i, i+1)
			continue
		}
		list = append(list, x)
	}
	return list
}

// sendMessage types a message into the composer and waits until it is in the
// conversation.
func sendMessage(tab *Tab, text string) {
	tab.Await(`(() => { const f = document.querySelector("meup-composer textarea"); if (!f || f.disabled) return false; f.focus(); return document.activeElement === f; })()`)
	typeText(tab, text)
	enter(tab)
	tab.Await(`[...document.querySelectorAll(".rows article[data-own=true]:not(.pending)")].some(e => e.textContent.includes(` + quote(text) + `))`)
}
