package webtest_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/testing/webtest"
)

// serve serves pages under a policy that allows only scripts of the same host.
func serve(t *testing.T, files map[string]string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		content, ok := files[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Security-Policy", "default-src 'self' http://127.0.0.2:9; img-src 'self' data:; connect-src 'self' http://127.0.0.2:9; require-trusted-types-for 'script'")
		if strings.HasSuffix(r.URL.Path, ".js") {
			w.Header().Set("Content-Type", "text/javascript")
		}
		fmt.Fprint(w, content)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

const page = `<!doctype html><link rel="icon" href="data:,"><p id="here">here</p><script src="/page.js"></script>`

func TestCleanPage(t *testing.T) {
	address := serve(t, map[string]string{
		"/": page, "/page.js": `console.log("fine"); new Image().src = "/pixel";`, "/pixel": "",
	})
	tab := webtest.SharedBrowser(t).Tab(t)
	tab.Open(address + "/")
	if got := tab.Text("#here"); got != "here" {
		t.Errorf("text %q", got)
	}
	tab.Clean()
}

// Every kind of fault is recorded.
func TestFaults(t *testing.T) {
	b := webtest.SharedBrowser(t)
	for script, want := range map[string]string{
		`console.error("it broke", 7)`:                                 `console.error: "it broke" 7`,
		`throw new Error("thrown")`:                                    `threw: `,
		`Promise.reject(new Error("forgotten"))`:                       `threw: `,
		`document.body.setAttribute("style", "color: red")`:            `policy: style-src`,
		`document.body.innerHTML = "<b>text</b>"`:                      `policy: require-trusted-types-for`,
		`setTimeout("1")`:                                              `policy: `,
		`fetch("http://127.0.0.2:9/elsewhere").catch(() => {})`:        `asked another host: http://127.0.0.2:9/elsewhere`,
		`try { new WebSocket("ws://127.0.0.2:9/elsewhere") } catch {}`: `policy: connect-src`,
		`fetch("/missing")`:                                            `404`,
		`fetch("/").then(() => { document.title = "ready" })`:          "",
	} {
		address := serve(t, map[string]string{"/": page, "/page.js": script})
		tab := b.Private(t)
		tab.Open(address + "/")
		if want == "" {
			tab.Clean()
			continue
		}
		tab.AwaitFault(want)
	}
}

// A condition that ends by itself is seen, but not one that held before.
func TestWatch(t *testing.T) {
	address := serve(t, map[string]string{"/": page, "/page.js": ""})
	tab := webtest.SharedBrowser(t).Tab(t)
	tab.Open(address + "/")
	const say = `(async (...words) => {
		for (const word of words) {
			document.querySelector("#here").textContent = word;
			await new Promise(requestAnimationFrame);
		}
		return true;
	})`
	const said = `document.querySelector("#here").textContent === `
	webtest.Eval[bool](tab, say+`("before", "")`)
	before, after, class := tab.Watch(said+`"before"`), tab.Watch(said+`"after"`), tab.Watch(`document.querySelector(".flash")`)
	webtest.Eval[bool](tab, say+`("after", "")`)
	webtest.Eval[bool](tab, `(async (list) => { list.add("flash"); await null; list.remove("flash"); return true; })(document.querySelector("#here").classList)`)
	tab.Await(after)
	tab.Await(class)
	if webtest.Eval[bool](tab, `Boolean(`+before+`)`) {
		t.Error("what was before was seen")
	}
	tab.Clean()
}

// Cookies are shared by tabs, unless one is private.
func TestProfiles(t *testing.T) {
	address := serve(t, map[string]string{"/": page, "/page.js": ""})
	b := webtest.SharedBrowser(t)
	cookies := func(tab *webtest.Tab, script string) string {
		tab.Open(address + "/")
		return webtest.Eval[string](tab, script)
	}
	cookies(b.Tab(t), `document.cookie = "a=b; max-age=60"`)
	if got := cookies(b.Tab(t), `document.cookie`); got != "a=b" {
		t.Errorf("in another tab: %q", got)
	}
	if got := cookies(b.Private(t), `document.cookie`); got != "" {
		t.Errorf("in a private one: %q", got)
	}
}
