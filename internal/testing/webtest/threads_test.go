package webtest

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// inThread is an expression: the row of a conversation in the list.
func inThread(id string) string {
	return `document.querySelector(".thread[data-thread=` + id + `]")`
}

// shown is an expression: the ids of the messages in the conversation.
const shown = `[...document.querySelectorAll(".rows .message")].map((x) => x.dataset.id).join(" ")`

func threadStage(t *testing.T) *Stage {
	t.Helper()
	s := NewStageWith(t, []string{"ben", "planner", "files"}, map[string][]string{"ada": {"*", "observe"}, "guest": {"observe"}})
	s.Join("planner", "ben")
	s.Send("ada", Chat("deploy", "Can we **deploy** today?"))
	s.Send("planner", Envelope{"id": "r", "kind": "reasoning.start", "correlationId": "deploy", "payload": map[string]any{"message": "Look at the open points"}})
	s.Send("ben", Chat("lunch", "Lunch at noon?"))
	s.Send("ada", Envelope{"id": "yes", "kind": "chat", "correlationId": "lunch", "payload": map[string]any{"message": "Yes."}})
	return s
}

// TestThreads_List opens, continues, begins, names and finds conversations.
func TestThreads_List(t *testing.T) {
	b := SharedBrowser(t)
	s := threadStage(t)
	tab := b.Private(t)
	looks[0].with(tab, 1)
	s.Enter(tab, "ada")
	awaitEnvelope(tab, "yes")
	tab.Await(inThread("deploy") + `?.textContent.includes("Reasoning") && !` + inThread("lunch") + `.textContent.includes("unread")`)

	press(t, tab, inThread("deploy"))
	tab.Await(shown + ` === "deploy" && location.hash === "#/space/lab/t/deploy"`)
	s.Send("ben", Envelope{"id": "late", "kind": "chat", "correlationId": "yes", "payload": map[string]any{"message": "At one?"}})
	tab.Await(inThread("lunch") + `.querySelector(".thread-count")?.textContent === "1 unread"`)
	s.Send("planner", propose("p", "r", "push_tag", map[string]any{"tag": "v1"}))
	tab.Await(inThread("deploy") + `.textContent.includes("Waiting for approval")`)
	press(t, tab, inThread("lunch"))
	tab.Await(shown + ` === "lunch yes late" && ` + inThread("lunch") + `.querySelector(".thread-count") === null`)

	// A message in a conversation continues it; one in a new conversation begins it.
	send := func(text string) {
		tab.Await(`(() => { const x = document.querySelector("meup-composer textarea:not([disabled])"); x?.focus(); return x !== null; })()`)
		typeText(tab, text)
		enter(tab)
	}
	send("At one.")
	tab.Await(`document.querySelectorAll(".rows .message").length === 4`)
	if last := s.history("chat"); last[len(last)-1]["correlationId"] != "late" {
		t.Errorf("the reply correlates to %v", last[len(last)-1]["correlationId"])
	}
	press(t, tab, `document.querySelector(".threads-head a")`)
	tab.Await(`document.querySelector(".thread-head h2").textContent === "New conversation" && ` + shown + ` === ""`)
	send("Something else")
	tab.Await(`document.querySelectorAll(".rows .message").length === 1 && /\/t\/[\w-]{8,}$/.test(location.hash) && document.querySelector(".thread[aria-current=page]")?.textContent.includes("Something else")`)

	press(t, tab, `document.querySelector(".thread-head .icon-button")`)
	tab.Await(`(() => { const x = document.querySelector(".thread-head input"); if (!x || document.activeElement !== x) return false; x.value = "Other business"; x.form.requestSubmit(); return true; })()`)
	tab.Await(`document.querySelector(".thread[aria-current=page] .thread-title")?.textContent === "Other business"`)
	tab.Await(`(() => { const x = document.querySelector(".threads-find input"); x.value = "other b"; x.dispatchEvent(new Event("input")); return true; })()`)
	tab.Await(`document.querySelectorAll(".thread").length === 1`)

	tab.Open("about:blank")
	tab.Open(s.Gateway.HTTP() + "/#/space/lab/t/lunch")
	tab.Await(shown + `.startsWith("lunch yes late")`)
	tab.Await(`[...document.querySelectorAll(".thread-title")].some((x) => x.textContent === "Other business")`)
	press(t, tab, `document.querySelector(".thread.everything")`)
	tab.Await(`document.querySelectorAll(".rows .message").length === 6`)
	tab.Clean()
}

// TestThreads_Badge shows on the button of the list, where the list is closed, what is
// unread and what waits.
func TestThreads_Badge(t *testing.T) {
	s := threadStage(t)
	tab := SharedBrowser(t).Private(t)
	looks[2].with(tab, 1)
	s.Enter(tab, "ada")
	awaitEnvelope(tab, "yes")
	button := func(label, count string) {
		t.Helper()
		tab.Await(`document.querySelector(".head-list").ariaLabel === ` + quote(label) + ` && (document.querySelector(".head-list .badge")?.dataset.count ?? "") === ` + quote(count))
	}
	button("Conversations", "")
	s.Send("planner", propose("p", "r", "push_tag", map[string]any{"tag": "v1"}))
	button("Conversations, 1 awaiting approval", "1")
	press(t, tab, `document.querySelector(".head-list")`)
	press(t, tab, inThread("deploy"))
	tab.Await(shown + ` === "deploy"`)
	for _, id := range []string{"late", "later"} {
		s.Send("ben", Envelope{"id": id, "kind": "chat", "correlationId": "yes", "payload": map[string]any{"message": "At one?"}})
	}
	button("Conversations, 2 unread, 1 awaiting approval", "2")
	tab.Await(`document.querySelector(".head-list .badge").checkVisibility()`)
	tab.Clean()
}

// TestThreads_Groups lists first what waits for the user, then the others by day, each with
// the participant that answers.
func TestThreads_Groups(t *testing.T) {
	b := SharedBrowser(t)
	s := threadStage(t)
	s.Send("planner", propose("p", "r", "push_tag", map[string]any{"tag": "v1"}))
	s.Send("ben", Chat("newest", "Something new."))
	for who, want := range map[string]string{
		"ada":   "Everything|# Waiting for you|Can we deploy today? Waiting for approval · planner|# Today|Something new. ben|Lunch at noon? You",
		"guest": "Everything|# Today|Something new. ben|Can we deploy today? Waiting for approval · planner|Lunch at noon? ada",
	} {
		tab := b.Private(t)
		looks[0].with(tab, 1)
		atNoon(tab)
		s.Enter(tab, who)
		awaitEnvelope(tab, "newest")
		tab.Await(inThread("deploy") + `?.textContent.includes("Waiting")`)
		if got := Eval[string](tab, `[...document.querySelectorAll(".thread-list > :is(h3, a)")].map((x) => (x.localName === "h3" ? "# " : "") +
			x.textContent.replace(/ · \d+:\d+.*| ?\d+ unread/gs, "").replace(/\s+/g, " ").trim()).join("|")`); got != want {
			t.Errorf("the list of %s: %q, want %q", who, got, want)
		}
		tab.Clean()
	}
}

// atNoon sets the time zone of a tab to one where it is about noon: the day does not end
// during the test.
func atNoon(tab *Tab) {
	zone := fmt.Sprintf("Etc/GMT%+d", time.Now().UTC().Hour()-12) // the sign is that of POSIX: west of Greenwich is positive
	tab.Do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: zone})
		return err
	}))
}

// TestThreads_Widths changes the widths of the list and of a panel with the pointer and
// with keys; they survive a reload, and a double click resets them. A user may have asked
// for less motion.
func TestThreads_Widths(t *testing.T) {
	for _, motion := range []string{"no-preference", "reduce"} {
		t.Run(motion, func(t *testing.T) {
			s := threadStage(t)
			tab := SharedBrowser(t).Private(t)
			looks[4].with(tab, 1)
			prefer(tab, "reduced-motion", motion)
			s.Enter(tab, "ada")
			openPanel(t, tab, "participants")
			width := func(box string) float64 {
				return Eval[float64](tab, `document.querySelector(`+quote(box)+`).getBoundingClientRect().width`)
			}
			for _, column := range []struct {
				box, key string
				by       float64 // a wider column moves its handle to this side
			}{{".threads", "ArrowRight", 1}, {".panel", "ArrowLeft", -1}} {
				handle := `document.querySelector(` + quote(column.box+" .resizer") + `)`
				usual := width(column.box)
				x, y := middle(tab, handle)
				tab.Do(chromedp.MouseEvent(chromedp.MousePressed, x, y, chromedp.Button("left"), chromedp.ClickCount(1)),
					chromedp.MouseEvent(chromedp.MouseMoved, x+60*column.by, y, chromedp.Button("left")), chromedp.MouseEvent(chromedp.MouseReleased, x+60*column.by, y, chromedp.Button("left"), chromedp.ClickCount(1)))
				if got := width(column.box); math.Abs(got-usual-60) > 1 {
					t.Errorf("%s is %v wide after its handle was moved by 60, want %v", column.box, got, usual+60)
				}
				Eval[bool](tab, `(`+handle+`.focus(), true)`)
				pressKey(tab, column.key, "", 0)
				tab.Open("about:blank")
				tab.Open(s.Gateway.HTTP() + "/")
				tab.Await(entered + ` && document.querySelector(` + quote(column.box) + `)`)
				if got := width(column.box); math.Abs(got-usual-76) > 2 {
					t.Errorf("%s is %v wide after a reload, want %v", column.box, got, usual+76)
				}
				Eval[bool](tab, `(`+handle+`.dispatchEvent(new MouseEvent("dblclick")), true)`)
				if got := width(column.box); got != usual {
					t.Errorf("%s is %v wide after a double click, want %v", column.box, got, usual)
				}
			}
			tab.Clean()
		})
	}
}

// TestThreads_Older finds conversations that began before the loaded history.
func TestThreads_Older(t *testing.T) {
	b := SharedBrowser(t)
	s := threadStage(t)
	for i := range 8 {
		var some []Envelope
		for k := range 100 {
			some = append(some, Chat(fmt.Sprintf("m-%d-%d", i, k), fmt.Sprintf("Note %d of %d", k, i)))
		}
		s.Send("ben", some...)
	}
	tab := b.Private(t)
	looks[0].with(tab, 1)
	s.Enter(tab, "ada")
	awaitEnvelope(tab, "m-7-99")
	tab.Await(`(() => {
		if (` + inThread("deploy") + ` !== null) return true;
		for (const x of document.querySelectorAll(".thread-note button")) x.click();
		return false;
	})()`)
	press(t, tab, inThread("lunch"))
	tab.Await(shown + ` === "lunch yes"`)
	tab.Clean()
}

// TestThreads_Looks takes screenshots of the list, and runs axe-core on them.
func TestThreads_Looks(t *testing.T) {
	axe := needsAxe(t)
	b := SharedBrowser(t)
	s := threadStage(t)
	s.Send("planner", propose("p", "r", "push_tag", map[string]any{"tag": "v1"}))
	for _, l := range some(looks[3], looks[0], looks[4]) {
		t.Run(l.name, func(t *testing.T) {
			tab := b.Private(t)
			l.with(tab, 1)
			s.Enter(tab, "ada")
			awaitEnvelope(tab, "yes")
			picture := l.pictures(t, tab, axe, "threads-")
			if l.width < 1000 {
				press(t, tab, `document.querySelector(".head-list")`)
			}
			tab.Await(inThread("lunch"))
			picture("list")
			press(t, tab, inThread("lunch"))
			tab.Await(shown + ` === "lunch yes"`)
			picture("one")
			tab.Clean()
		})
	}
}
