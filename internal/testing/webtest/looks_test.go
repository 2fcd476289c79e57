package webtest

import (
	"context"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
)

var forReadme = flag.Bool("screenshots", false, "write the screenshots and the recording of the documentation into docs/images")

var everyLook = flag.Bool("looks", false, "take the pictures of every state at every size, light and dark (half an hour)")

// some returns the first of these looks, all of them with make slow, or all looks on
// request. The tests begin with different ones.
func some(these ...look) []look {
	switch {
	case *everyLook:
		return looks
	case testkit.IsSlow():
		return these
	}
	return these[:1]
}

// pace returns the pause between the steps of a scene, which only its pictures need.
func pace(d time.Duration) time.Duration {
	if *everyLook {
		return d
	}
	return time.Millisecond
}

// screenshotDir is the folder for screenshots.
var screenshotDir = filepath.Join(root, "artifacts", "page")

// look is a display configuration of the page.
type look struct {
	name          string
	scheme        string
	width, height int64
}

var looks = []look{
	{"light", "light", 1280, 860}, {"dark", "dark", 1280, 860}, {"narrow", "light", 360, 740}, {"narrow-dark", "dark", 360, 740}, {"large", "light", 2560, 1440}, {"large-dark", "dark", 2560, 1440},
}

// with applies the display configuration to the tab. A narrow one is touched.
func (l look) with(tab *Tab, scale float64) {
	options := []chromedp.EmulateViewportOption{chromedp.EmulateScale(scale)}
	if l.width < 500 {
		options = append(options, chromedp.EmulateTouch)
	}
	tab.Do(chromedp.EmulateViewport(l.width, l.height, options...))
	prefer(tab, "color-scheme", l.scheme)
}

// prefer sets the only preference of the user.
func prefer(tab *Tab, name, value string) {
	tab.Do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-" + name, Value: value}}})
		return err
	}))
}

// rest waits until the tab is drawn.
func rest(tab *Tab) {
	tab.Await(`document.fonts.status === "loaded" && document.getAnimations().every(a => a.playState !== "running" || a.effect?.getTiming().iterations === Infinity)`)
	Eval[bool](tab, `new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))`)
}

// shoot writes a screenshot of the tab.
func shoot(t *testing.T, tab *Tab, path string) {
	t.Helper()
	rest(tab)
	var png []byte
	tab.Do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		var err error
		png, err = chromedp.CaptureScreenshot()(ctx, target)
		return err
	}))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, png, 0o644); err != nil {
		t.Fatal(err)
	}
	if absolute, err := filepath.Abs(path); err == nil {
		t.Logf("screenshot: %s", absolute)
	}
}

// pictures returns a function that reports what axe-core and misfits find in a state
// of the tab; on request it takes a screenshot.
func (l look) pictures(t *testing.T, tab *Tab, axe, prefix string) func(name string) {
	return func(name string) {
		t.Helper()
		for _, v := range l.examine(t, tab, axe, prefix+name) {
			t.Errorf("%s: %s", name, v)
		}
	}
}

func (l look) examine(t *testing.T, tab *Tab, axe, name string) []string {
	t.Helper()
	rest(tab)
	if *everyLook {
		shoot(t, tab, filepath.Join(screenshotDir, l.name+"-"+name+".png"))
	}
	return slices.Concat(violations(tab, axe), misfits(tab))
}

// TestLooks runs axe-core on the page in each of its states, and with make slow in each of
// its looks. Narrow and dark ones are in the other tests.
func TestLooks(t *testing.T) {
	axe := needsAxe(t)
	b := SharedBrowser(t)
	s := performDemo(t, pace(700*time.Millisecond))
	empty := newStage(t, "ada", "ben")
	spaces := meuptest.Start(t, `spaces:
  lab: {participants: {ada: {token: ada-token, capabilities: [chat]}}}
  review: {participants: {ada: {token: ada-token, capabilities: [chat]}}}
  "team-*": {participants: {ada: {token: ada-token, capabilities: [chat]}}}
`)
	seen := make(map[string][]string)
	for _, l := range some(looks...) {
		t.Run(l.name, func(t *testing.T) {
			picture := func(tab *Tab, name string) {
				t.Helper()
				for _, v := range l.examine(t, tab, axe, name) {
					seen[v] = append(seen[v], l.name+" "+name)
				}
			}
			door := b.Private(t)
			l.with(door, 1)
			door.Open(s.Gateway.HTTP() + "/")
			door.Text("meup-sign-in h1")
			picture(door, "sign-in")

			chooser := b.Private(t)
			l.with(chooser, 1)
			chooser.Open(spaces.HTTP() + "/#code=" + spaces.Gateway().NewLoginCode("ada-token"))
			chooser.Text("meup-spaces .space-list")
			picture(chooser, "spaces")

			nobody := b.Private(t)
			l.with(nobody, 1)
			empty.Enter(nobody, "ada")
			nobody.Text(".nothing-yet")
			picture(nobody, "empty")

			watcher := b.Private(t)
			l.with(watcher, 1)
			s.Enter(watcher, "guest")
			watcher.Text(".composer-none")
			awaitEnvelope(watcher, "q-rollout")
			picture(watcher, "observer")

			tab := b.Private(t)
			l.with(tab, 1)
			s.Enter(tab, "ada")
			awaitEnvelope(tab, "q-rollout")
			picture(tab, "conversation")
			openBlock(tab, openProposal)
			picture(tab, "block")
			openAll(tab)
			toTop(tab, openProposal)
			picture(tab, "block-whole")
			for _, id := range panels {
				openPanel(t, tab, id)
				picture(tab, "panel-"+id)
				closePanel(tab)
			}
			Eval[bool](tab, `(document.querySelector('[data-id="a-release"] .raw-link').click(), true)`)
			tab.Await(`document.querySelector("meup-envelope")?.shadowRoot?.textContent.includes("a-release")`)
			picture(tab, "panel-envelope")
			tab.Clean()
		})
	}
	for _, v := range slices.Sorted(maps.Keys(seen)) {
		t.Errorf("in %d pictures (%s …): %s", len(seen[v]), seen[v][0], v)
	}
}

// misfits returns the controls and headings of the page itself, without
// participants' texts, that break within a word or overflow their box or the
// window.
func misfits(tab *Tab) []string {
	return Eval[[]string](tab, `(() => {
		const out = [];
		const own = "button, .button, .words, .chip, .tab, summary, label, legend, select, h1, h2, h3, h4, th";
		const visit = (root) => {
			for (const e of root.querySelectorAll("*")) {
				if (e.shadowRoot) visit(e.shadowRoot);
				if (!e.matches(own) || e.closest(".prose, .step-text, .unseen, [hidden]") || !e.checkVisibility({ visibilityProperty: true, contentVisibilityAuto: true })) continue;
				const name = e.localName + "." + e.className + " " + JSON.stringify(e.textContent.trim().replace(/\s+/g, " ").slice(0, 60));
				const words = document.createTreeWalker(e, NodeFilter.SHOW_TEXT);
				for (let n = words.nextNode(); n !== null; n = words.nextNode()) {
					for (const m of n.data.matchAll(/[^\s-]+/g)) {
						const r = document.createRange();
						r.setStart(n, m.index);
						r.setEnd(n, m.index + m[0].length);
						if (new Set([...r.getClientRects()].map((x) => Math.round(x.top))).size > 1) out.push("breaks within a word: " + name);
					}
				}
				const clips = getComputedStyle(e).overflow !== "visible";
				if (!clips && e.clientWidth > 0 && e.scrollWidth > e.clientWidth + 1) out.push("wider than its box: " + name);
			}
		};
		visit(document);
		for (const e of [document.documentElement, document.querySelector(".talk"), document.querySelector(".panel-body"), document.querySelector(".rail")]) {
			if (e !== null && e.scrollWidth > e.clientWidth + 1) out.push("scrolls sideways: " + e.localName + "." + e.className);
		}
		return out;
	})()`)
}

// openBlock opens a block and scrolls it to the top.
func openBlock(tab *Tab, path string) {
	block := `document.querySelector('[data-context=` + quote(path) + `]')`
	tab.Await(`(() => { const b = ` + block + `; if (b?.dataset.open === "true") return true; b?.querySelector(".reasoning-toggle").click(); return false; })()`)
	toTop(tab, path)
}

// toTop scrolls a block to the top of the conversation, and again after the
// rows above it have their final height.
func toTop(tab *Tab, path string) {
	Eval[bool](tab, `(async () => {
		const row = document.querySelector('[data-context=`+quote(path)+`]').closest(".row");
		for (let i = 0; i < 4; i++) { row.scrollIntoView({ block: "start" }); await new Promise(requestAnimationFrame); }
		return true;
	})()`)
}

// closePanel closes the panel that is open.
func closePanel(tab *Tab) {
	tab.Await(`(() => { const x = document.querySelector(".panel-head [aria-label='Close panel']"); x?.click(); return x === null; })()`)
}

// TestScreenshots takes the screenshots of the documentation, on request.
func TestScreenshots(t *testing.T) {
	if !*forReadme {
		t.Skip("without -screenshots the documentation keeps its pictures")
	}
	b := SharedBrowser(t)
	s := performDemo(t, 1800*time.Millisecond)
	images := filepath.Join(root, "docs", "images")

	light := b.Private(t)
	look{"light", "light", 1120, 1120}.with(light, 2)
	s.Enter(light, "ada")
	awaitEnvelope(light, "q-rollout")
	openBlock(light, openProposal)
	shoot(t, light, filepath.Join(images, "conversation.png"))

	dark := b.Private(t)
	look{"dark", "dark", 1280, 900}.with(dark, 2)
	s.Enter(dark, "ada")
	awaitEnvelope(dark, "q-rollout")
	openPanel(t, dark, "proposals")
	dark.Await(`document.querySelector("meup-proposals").shadowRoot.querySelector("meup-proposal-card")?.shadowRoot.childElementCount > 0`)
	shoot(t, dark, filepath.Join(images, "proposals.png"))
}
