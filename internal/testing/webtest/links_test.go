package webtest

import (
	"slices"
	"testing"
	"time"
)

// inAddress is an expression: a parameter of the address.
func inAddress(name string) string {
	return `new URLSearchParams(location.hash.split("?")[1] ?? "").get(` + quote(name) + `)`
}

// goes goes through the history of the tab, and waits until an expression is true.
func goes(tab *Tab, by, until string) {
	Eval[bool](tab, `(history.go(`+by+`), true)`)
	tab.Await(until)
}

// follow opens a link of the space in a page that is loaded anew.
func (s *Stage) follow(tab *Tab, link string) {
	tab.Open("about:blank")
	tab.Open(s.Gateway.HTTP() + "/#/space/lab" + link)
	tab.Await(entered)
}

// chatter is more messages than a page loads at first.
func chatter() []Envelope {
	return slices.Repeat([]Envelope{{"kind": "chat", "payload": map[string]any{"message": "Meanwhile."}}}, 700)
}

func linkTab(t *testing.T, s *Stage, l look) *Tab {
	t.Helper()
	tab := SharedBrowser(t).Private(t)
	l.with(tab, 1)
	s.Enter(tab, "ada")
	awaitEnvelope(tab, "q-rollout")
	return tab
}

// TestLinks_Panels opens each panel by its tab and by its link. Back and forward lead
// through them, a reload keeps the open one, and so does another conversation.
func TestLinks_Panels(t *testing.T) {
	s := performDemo(t, time.Millisecond)
	for _, l := range []look{looks[0], looks[2]} {
		t.Run(l.name, func(t *testing.T) {
			tab := linkTab(t, s, l)
			is := func(id string) string {
				return `document.querySelector("meup-side .panel-body")?.lastElementChild?.localName === "meup-` + id + `" && ` + inAddress("panel") + ` === ` + quote(id)
			}
			const closed = `document.querySelector("meup-side .panel") === null && !location.hash.includes("?")`
			tab.Await(closed)
			for _, id := range panels {
				if l.width < 500 {
					Eval[bool](tab, `(document.querySelector("meup-space-page").shell.open(`+quote(id)+`), true)`)
				}
				openPanel(t, tab, id)
				tab.Await(is(id))
			}
			last := len(panels) - 1
			for i := last - 1; i >= 0; i-- {
				goes(tab, "-1", is(panels[i]))
			}
			goes(tab, "-1", closed)
			goes(tab, "1", is(panels[0]))
			closePanel(tab)
			tab.Await(closed)
			goes(tab, "-1", is(panels[0]))
			for _, id := range panels {
				Eval[bool](tab, `(location.hash = "#/space/lab?panel=`+id+`", true)`)
				tab.Await(is(id))
			}
			s.follow(tab, "?panel="+panels[0])
			tab.Await(is(panels[0]))
			Eval[bool](tab, `(location.hash = "#/space/lab?panel=nothing", true)`)
			tab.Await(closed)
			tab.Clean()
		})
	}
}

// TestLinks_Conversation keeps the open panel when another conversation is opened, and
// Back leads to the conversation before with the panel that was open there.
func TestLinks_Conversation(t *testing.T) {
	s := threadStage(t)
	tab := SharedBrowser(t).Private(t)
	looks[0].with(tab, 1)
	s.Enter(tab, "ada")
	awaitEnvelope(tab, "yes")
	press(t, tab, inThread("deploy"))
	tab.Await(shown + ` === "deploy"`)
	openPanel(t, tab, "tools")
	press(t, tab, inThread("lunch"))
	tab.Await(shown + ` === "lunch yes" && location.hash === "#/space/lab/t/lunch?panel=tools" && document.querySelector("meup-tools") !== null`)
	closePanel(tab)
	goes(tab, "-1", `document.querySelector("meup-tools") !== null`)
	goes(tab, "-1", shown+` === "deploy" && location.hash === "#/space/lab/t/deploy?panel=tools"`)
	goes(tab, "-1", `document.querySelector("meup-tools") === null && location.hash === "#/space/lab/t/deploy"`)
	press(t, tab, `[...document.querySelectorAll(".thread-head button")].find((x) => x.textContent === "Show everything")`)
	tab.Await(shown + ` === "deploy lunch yes" && location.hash === "#/space/lab"`)
	tab.Clean()
}

// TestLinks_Trace opens a trace, a step and a comparison by a link. Back closes the step,
// and a turn before the loaded history is loaded.
func TestLinks_Trace(t *testing.T) {
	s := performDemo(t, time.Millisecond)
	tab := linkTab(t, s, looks[0])
	s.follow(tab, "?panel=trace&id=q-release&step=o-1")
	tab.Await(inTrace + `?.querySelector(".inspector")?.textContent.includes("One point is open")`)
	press(t, tab, step("read_file")+`?.querySelector(".label")`)
	tab.Await(inTrace + `.querySelector(".inspector").textContent.includes("docs/release-2.4.md") && ` + inAddress("step") + ` === "t-1"`)
	goes(tab, "-1", inTrace+`.querySelector(".inspector").textContent.includes("One point is open")`)
	choose(t, tab, inTrace+`.querySelectorAll("select")[1]`, "q-rollout")
	tab.Await(inTrace + `.querySelectorAll("section").length > 1 && ` + inAddress("other") + ` === "q-rollout" && ` + inAddress("id") + ` === "q-release"`)
	goes(tab, "-1", inTrace+`.querySelector("table") === null`)

	s.Send("ben", chatter()...)
	s.follow(tab, "?panel=trace&id=q-release")
	tab.Await(inTrace + `?.textContent.includes("run_checks")`)
	s.follow(tab, "?panel=trace&id=nowhere")
	tab.Await(inTrace + `?.textContent.includes("This turn is not in the available history.")`)

	looks[2].with(tab, 1)
	s.follow(tab, "?panel=trace&id=q-release&step=h-1")
	tab.Await(`((row, body) => row && row.top >= body.top - 1 && row.bottom - 20 < body.bottom)(` + step("2.4 can go out") + `?.querySelector(".label").getBoundingClientRect(), document.querySelector(".panel-body")?.getBoundingClientRect())`)
	tab.Clean()
}

// TestLinks_Proposal opens a proposal by a link, also one before the loaded history.
func TestLinks_Proposal(t *testing.T) {
	s := performDemo(t, time.Millisecond)
	tab := linkTab(t, s, looks[0])
	for range 2 {
		s.follow(tab, "?panel=proposals&id="+decided)
		tab.Await(inList(decided) + `?.chosen`)
		s.Send("ben", chatter()...)
	}
	tab.Clean()
}

// TestLinks_Search has the query in the address, in which Back and a link find it.
func TestLinks_Search(t *testing.T) {
	s := performDemo(t, time.Millisecond)
	tab := linkTab(t, s, looks[0])
	openPanel(t, tab, "search")
	searches(tab, "checks & limits?")
	tab.Await(inAddress("text") + ` === "checks & limits?"`)
	searches(tab, "checks")
	press(t, tab, `[...document.querySelector("meup-search").shadowRoot.querySelectorAll(".toggle")].find((b) => b.textContent === "Calls")`)
	tab.Await(inAddress("text") + ` === "checks" && ` + inAddress("kinds") + ` === "calls" && ` + inSearch(".hit") + ` !== null`)
	want := Eval[string](tab, inSearch(".count")+`.textContent`)
	link := Eval[string](tab, `location.hash.replace("#/space/lab", "")`)
	press(t, tab, `document.querySelector(".tab[data-panel=tools]")`)
	goes(tab, "-1", inAddress("text")+` === "checks" && document.querySelector("meup-search") !== null`)
	goes(tab, "-1", `document.querySelector("meup-search") === null`)
	s.follow(tab, link)
	tab.Await(`document.querySelector("meup-search")?.shadowRoot?.querySelector(".count")?.textContent === ` + quote(want))
	if got := Eval[string](tab, inSearch("#words")+`.value + " " + `+inSearch(".toggle[aria-pressed=true]")+`.textContent`); got != "checks Calls" {
		t.Errorf("the link shows the search %q, want checks in Calls", got)
	}
	tab.Clean()
}
