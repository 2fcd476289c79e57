package webtest

import (
	"fmt"
	"testing"
	"time"
)

// inSearch is an expression: a selector in the search panel.
func inSearch(selector string) string {
	return `document.querySelector("meup-search").shadowRoot.querySelector(` + quote(selector) + `)`
}

// searches replaces the text in the search field.
func searches(tab *Tab, text string) {
	tab.Await(`(() => { const x = ` + inSearch("#words") + `; x?.focus(); x?.select(); return x !== null && x !== undefined; })()`)
	typeText(tab, text)
}

// shows waits until the status of the search begins with a text.
func shows(tab *Tab, text string) {
	tab.Await(inSearch(".count") + `.textContent.startsWith(` + quote(text) + `)`)
}

// key dispatches a key to the focused element of the search panel and returns the
// text of the element that has the focus then.
func key(tab *Tab, name string) string {
	return Eval[string](tab, `(async () => {
		const root = document.querySelector("meup-search").shadowRoot;
		root.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key: `+quote(name)+`, bubbles: true, composed: true, cancelable: true }));
		await new Promise(requestAnimationFrame);
		return root.activeElement.id + root.activeElement.textContent;
	})()`)
}

// respond lets searches of the tab have this response until the page is loaded
// again; "" lets them fail.
func respond(tab *Tab, status int, body string) {
	Eval[bool](tab, fmt.Sprintf(`(() => {
		const real = window.fetchOfPage ??= window.fetch;
		window.fetch = (url, init) => !String(url).includes("/search?") ? real(url, init) : %q === "" ? Promise.reject(new TypeError("offline")) :
			%q === "wait" ? new Promise(() => {}) : Promise.resolve(new Response(%q, { status: %d, headers: { "Retry-After": "5" } }));
		return true;
	})()`, body, body, body, status))
}

func normal(tab *Tab) {
	Eval[bool](tab, `(window.fetch = window.fetchOfPage, true)`)
}

// TestSearch_States takes screenshots of the search in each of its states, and
// runs axe-core on them.
func TestSearch_States(t *testing.T) {
	axe := needsAxe(t)
	b := SharedBrowser(t)
	s := performDemo(t, time.Millisecond)
	for _, l := range some(looks[3], looks[0]) {
		t.Run(l.name, func(t *testing.T) {
			tab := b.Private(t)
			l.with(tab, 1)
			s.Enter(tab, "ada")
			awaitEnvelope(tab, "q-rollout")
			openPanel(t, tab, "search")
			picture := l.pictures(t, tab, axe, "search-")
			searches(tab, "limits")
			tab.Await(inSearch(".hit em") + `?.textContent === "limits"`)
			picture("results")
			searches(tab, "unicorns and a very long text that does not fit onto one line of the panel")
			shows(tab, "No results for “unicorns and")
			picture("empty")
			respond(tab, 503, `{"error":"unavailable","message":"The search index of this space is being built, 40 % of the log is read; try again in a moment."}`)
			searches(tab, "announcement")
			shows(tab, "Preparing search…")
			tab.Await(inSearch("progress") + ` !== null`)
			picture("building")
			respond(tab, 0, "wait")
			searches(tab, "checks")
			shows(tab, "Searching…")
			picture("loading")
			respond(tab, 0, "")
			searches(tab, "tags")
			tab.Await(inSearch("[role=alert]") + `?.textContent === "The gateway is unreachable."`)
			picture("offline")
			respond(tab, 200, `{"hits":[],"has_more":false,"partial":true,"indexed":1,"head":2}`)
			Eval[bool](tab, `(`+inSearch(".further .button")+`.click(), true)`)
			tab.Await(inSearch(".further") + `?.textContent.includes("The newest messages are not indexed yet.")`)
			picture("behind")
			normal(tab)
			tab.Expect("400 (Bad Request)")
			searches(tab, "-limits")
			tab.Await(inSearch("[role=alert]") + `?.textContent === "The query has no word to find." && ` + inSearch(".further .button") + ` === null`)
			picture("error")
			tab.Clean()
		})
	}
}

// TestSearch_Keyboard searches, selects and opens a result with the keyboard, and
// finds the search as it was.
func TestSearch_Keyboard(t *testing.T) {
	b := SharedBrowser(t)
	s := performDemo(t, time.Millisecond)
	for _, l := range []look{looks[0], looks[2]} {
		t.Run(l.name, func(t *testing.T) {
			tab := b.Private(t)
			l.with(tab, 1)
			s.Enter(tab, "ada")
			awaitEnvelope(tab, "q-rollout")
			openPanel(t, tab, "search")
			searches(tab, "can we release 2.4")
			enter(tab)
			shows(tab, "1 result")
			if first := key(tab, "ArrowDown"); !contains(first, "Can we release 2.4 today?") {
				t.Errorf("the first result is %q", first)
			}
			key(tab, "ArrowDown") // there is no other
			if field := key(tab, "ArrowUp"); field != "words" {
				t.Errorf("above the first result is %q", field)
			}
			key(tab, "ArrowDown")
			flashed := tab.Watch(`document.querySelector('[data-id="q-release"].flash')`)
			Eval[bool](tab, `(document.querySelector("meup-search").shadowRoot.activeElement.click(), true)`)
			tab.Await(flashed)
			if l.width < 500 { // the panel covered the conversation
				tab.Await(`document.querySelector("meup-search") === null`)
				openPanel(t, tab, "search")
			}
			shows(tab, "1 result")
			tab.Clean()
		})
	}
}

// TestSearch_Filters selects results by kind, participant, context and time, and
// loads further pages.
func TestSearch_Filters(t *testing.T) {
	b := SharedBrowser(t)
	s := performDemo(t, time.Millisecond)
	var many []Envelope
	for i := range 70 {
		many = append(many, Chat(fmt.Sprintf("many-%d", i), fmt.Sprintf("harvest %d", i)))
	}
	s.Send("ben", many...)
	tab := b.Private(t)
	s.Enter(tab, "ada")
	awaitEnvelope(tab, "many-69")
	openPanel(t, tab, "search")
	choose := func(id, value string) {
		tab.Await(`(() => { const x = ` + inSearch("#"+id) + `; x.value = ` + quote(value) + `; x.dispatchEvent(new Event("change", { bubbles: true })); return x.value === ` + quote(value) + `; })()`)
	}
	toggle := func(words string) {
		tab.Await(`(() => { const x = [...document.querySelector("meup-search").shadowRoot.querySelectorAll(".toggle")].find((b) => b.textContent === ` + quote(words) + `); x.click(); return true; })()`)
	}
	searches(tab, "checks")
	tab.Await(`document.querySelector("meup-search").shadowRoot.querySelectorAll(".hit").length > 3`)
	kinds := `[...document.querySelector("meup-search").shadowRoot.querySelectorAll(".hit .kind")].map((k) => k.textContent)`
	toggle("Calls")
	tab.Await(kinds + `.length > 0 && ` + kinds + `.every((k) => k === "Call" || k === "Result")`)
	toggle("Calls")
	choose("context", openProposal)
	tab.Await(inSearch(".count") + `.textContent.match(/^[0-9]+ results$/) !== null && !` + inSearch("ol") + `.textContent.includes("You")`)
	choose("context", "*")
	choose("from", "scout")
	shows(tab, "No results for “checks”")
	choose("from", "")
	searches(tab, "harvest")
	shows(tab, "30 results or more")
	choose("within", "3600000")
	shows(tab, "30 results or more")
	for _, n := range []string{"60 results or more", "70 results"} {
		Eval[bool](tab, `(`+inSearch(".further .button")+`.click(), true)`)
		shows(tab, n)
	}
	tab.Clean()
}

// TestSearch_NotInConversation opens the envelope of a result that the
// conversation does not show.
func TestSearch_NotInConversation(t *testing.T) {
	b := SharedBrowser(t)
	s := newStage(t, "ada", "ben")
	s.Send("ben", Envelope{"id": "measured", "kind": "x.lab.reading", "payload": map[string]any{"note": "thermometer at noon"}}, Chat("later", "good morning"))
	tab := b.Private(t)
	s.Enter(tab, "ada")
	awaitEnvelope(tab, "later")
	openPanel(t, tab, "search")
	searches(tab, "thermometer")
	shows(tab, "1 result")
	Eval[bool](tab, `(`+inSearch(".hit")+`.click(), true)`)
	tab.Await(`document.querySelector("meup-envelope")?.shadowRoot?.textContent.includes("thermometer at noon")`)
	for _, to := range []struct{ button, want string }{{"Next", "good morning"}, {"Previous", "thermometer at noon"}} {
		tab.Await(`(() => { const x = [...document.querySelector("meup-envelope").shadowRoot.querySelectorAll("button")].find((b) => b.textContent === ` + quote(to.button) + `); x?.click(); return x !== undefined; })()`)
		tab.Await(`document.querySelector("meup-envelope").shadowRoot.textContent.includes(` + quote(to.want) + `)`)
	}
	tab.Clean()
}

// TestSearch_OtherConversation keeps a search when one of its results is opened,
// and clears it when the user opens another conversation.
func TestSearch_OtherConversation(t *testing.T) {
	b := SharedBrowser(t)
	s := threadStage(t)
	tab := b.Private(t)
	looks[0].with(tab, 1)
	s.Enter(tab, "ada")
	awaitEnvelope(tab, "yes")
	press(t, tab, inThread("lunch"))
	tab.Await(shown + ` === "lunch yes"`)
	openPanel(t, tab, "search")
	searches(tab, "deploy")
	tab.Await(inSearch(".hit"))
	press(t, tab, inSearch(".hit"))
	tab.Await(shown + ` === "deploy lunch yes"`)
	if text := Eval[string](tab, inSearch("#words")+`.value`); text != "deploy" {
		t.Errorf("after opening a result, the text is %q", text)
	}
	press(t, tab, inThread("deploy"))
	tab.Await(shown + ` === "deploy" && ` + inSearch("#words") + `.value === "" && ` + inSearch(".hit") + ` === null`)
	closePanel(tab)
	openPanel(t, tab, "search")
	searches(tab, "noon")
	tab.Await(inSearch(".hit"))
	closePanel(tab)
	press(t, tab, inThread("lunch"))
	tab.Await(shown + ` === "lunch yes"`)
	openPanel(t, tab, "search")
	tab.Await(inSearch("#words") + `.value === "" && ` + inSearch(".hit") + ` === null`)
	tab.Clean()
}
