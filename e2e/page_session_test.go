package e2e

import (
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	"github.com/chromedp/chromedp"

	"github.com/meup-protocol/meup/internal/testing/webtest"
)

// listening records the page's console output for checks.
const listening = `
window.told = [];
for (const how of ["log", "info", "debug", "warn", "error"]) {
  const tell = console[how];
  console[how] = (...words) => { window.told.push(words.map(String).join(" ")); tell(...words); };
}`

// kept returns everything that a browser stores of the page where scripts can
// read it: addresses, storages, cookies, the console, the document.
func (p *webPage) kept() string {
	p.t.Helper()
	return webtest.Eval[string](p.Tab, `JSON.stringify([location.href, document.referrer, document.cookie, document.title, { ...localStorage }, { ...sessionStorage },
		history.state, performance.getEntriesByType("resource").map((e) => e.name),
		window.told ?? [], document.documentElement.outerHTML, [...document.querySelectorAll("input")].map((e) => e.value)])`)
}

// Sign in with a token, and sign out: the token is stored nowhere.
func pageSignIn(s *pageStage) {
	p := s.newPage()
	p.before(listening)
	p.Open(s.address())
	token := at("textbox", "Token")
	p.fill(token, "nobodys-token-for-tests")
	p.enter()
	p.sees(withText("alert", like("Sign-in failed")))
	p.value(token, "")
	p.signIn("alice")
	p.post("I am here.")
	for _, secret := range []string{"alice-token-for-tests", "nobodys-token-for-tests"} {
		if kept := p.kept(); strings.Contains(kept, secret) {
			s.Errorf("the token is kept: %s", kept)
		}
	}
	p.reload() // the cookie is enough
	p.sees(messageWith("I am here."))
	if got := webtest.Eval[int](p.Tab, `fetch("/api/session").then((r) => r.status)`); got != 200 {
		s.Errorf("signed in: status %d", got)
	}
	p.fill(composer, "a draft that is nobody else's business")
	p.click(at("button", "You are alice. Settings"))
	p.click(at("button", "Sign out"))
	p.sees(token)
	p.until("the gateway knows", `!eyes.page().includes("I am here.")`)
	if got := webtest.Eval[int](p.Tab, `fetch("/api/session").then((r) => r.status)`); got != 401 {
		s.Errorf("signed out: status %d", got)
	}
	if kept := p.kept(); strings.Contains(kept, "nobody else's business") {
		s.Errorf("the draft is kept: %s", kept)
	}
	p.Open(s.address())
	p.sees(token)
	p.signIn("bob") // another user on the same computer
	p.value(composer, "")
}

// Tabs of one browser share one cookie: signing out in one signs out the other,
// and the other cannot send in the name of the next user.
func pageTabs(s *pageStage) {
	p, other := s.pageIn(s.browser.Tab(s.T)), s.pageIn(s.browser.Tab(s.T))
	p.Open(s.address())
	p.signIn("alice")
	other.Open(s.address())
	other.sees(at("button", "You are alice. Settings"))
	p.click(at("button", "You are alice. Settings"))
	p.click(at("button", "Sign out"))
	p.sees(at("textbox", "Token"))
	other.sees(at("textbox", "Token"))
	p.signIn("bob")
	other.sees(at("button", "You are bob. Settings"))
	p.click(at("button", "You are bob. Settings"))
	p.click(at("button", "Sign out"))
	other.sees(at("textbox", "Token"))
}

// The address of another space opens that space, and everything in the page
// belongs to it.
func pageOtherSpace(s *pageStage) {
	p := s.newPage()
	p.Open(s.address())
	p.fill(at("textbox", "Token"), "rover-token-for-tests")
	p.click(at("button", "Sign in"))
	p.click(at("link", "lab*"))
	p.live()
	p.post("This is the lab.")
	p.fill(composer, "a draft for the lab")
	p.panel("Participants")

	den := at("textbox", "Message to den")
	p.address("#/space/den")
	p.live()
	p.misses(messageWith("This is the lab."))
	p.value(den, "")
	p.fill(den, "This is the den.")
	p.enter()
	p.value(den, "")
	p.sees(ownMessage("This is the den."))

	p.Do(chromedp.NavigateBack())
	p.live()
	p.sees(ownMessage("This is the lab."))
	p.misses(messageWith("This is the den."))
	p.value(composer, "a draft for the lab")
	p.sees(at("tabpanel", "Participants"))
	p.address("#/")
	p.click(at("link", "den*"))
	p.live()
	p.sees(ownMessage("This is the den."))
}

// A link with a code signs one browser in, once, and does not stay in the
// address.
func pageCode(s *pageStage) {
	addr := "127.0.0.1:" + freePort(s.T)
	docs := s.TempDir()
	demo := start(s.T, nil, filepath.Join(bin, "meup-gateway"), "demo", "--listen", addr, "--mcp", "go", "--docs", docs)
	link := regexp.MustCompile(`http://\S+#code=(\S+)`)
	eventually(s.T, "the demo prints a link", func() bool { return link.MatchString(demo.log.String()) })
	found := link.FindStringSubmatch(demo.log.String())
	p := s.newPage()
	p.before(listening)
	p.Expect("the server responded with a status of 401 (Unauthorized) http://" + addr + "/api/session")
	p.Open(found[0])
	p.live()
	p.sees(at("button", "You are you. Settings"))
	p.until("the address has no code", `!location.href.includes("code")`)
	if kept := p.kept(); strings.Contains(kept, found[1]) {
		s.Errorf("the code is kept: %s", kept)
	}
	p.Do(chromedp.NavigateBack())
	p.until("nor has its history", `!location.href.includes("code=")`)

	again := s.newPage()
	again.Expect("the server responded with a status of 401 (Unauthorized) http://" + addr + "/api/session")
	again.Open(found[0])
	again.sees(withText("alert", like("Sign-in failed", "the link was already used")))
	again.until("the address has no code", `!location.href.includes("code")`)
}

// The gateway is killed and restarted. The page shows the state of the
// connection throughout, and no message is lost or duplicated.
func pageReconnect(s *pageStage) {
	p, bob := s.visit("alice"), s.join("bob")
	p.Expect("WebSocket connection to")
	p.Expect("net::ERR_")                                 // of requests, and of the panels that are loaded ahead
	p.Expect("the server responded with a status of 503") // the gateway accepts connections, and its log is not open yet
	p.post("Before.")

	// One message is in flight when the gateway dies: the gateway has not read
	// it.
	s.g.signal(syscall.SIGSTOP)
	p.fill(composer, "On its way.")
	p.enter()
	unsent := at("article", "Your message, not sent yet").in(room)
	p.sees(withText("article", like("On its way.", "Sending…")).in(room))
	s.g.kill()
	p.until("it says so", `/\b(Disconnected|Reconnecting)\b/.test(eyes.page()) && eyes.page().includes("Reconnect now")`)
	p.fill(composer, "Typed meanwhile.")
	p.enter()
	p.sees(withText("article", like("Typed meanwhile.", "Waiting for the connection")).in(room))
	p.counts(2, unsent)

	s.g.restart()
	bob.say("Back again.")
	p.live()
	p.misses(unsent)
	p.sees(messageWith("Back again."))
	for _, words := range []string{"Before.", "On its way.", "Typed meanwhile.", "Back again."} {
		p.counts(1, messageWith(words))
	}
	p.inOrder(messageWith("Before."), messageWith("On its way."), messageWith("Typed meanwhile."))
	if n := len(history(s.T, s.g.addr, "alice")); n != 4 {
		s.Errorf("%d envelopes are in the log", n)
	}
	before := p.read(room)
	p.reload()
	p.sees(messageWith("Back again."))
	if after := p.read(room); after != before {
		s.Errorf("after a reload\n%s\nbefore\n%s", after, before)
	}
}
