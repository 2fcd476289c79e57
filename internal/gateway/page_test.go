package gateway_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/meup-protocol/meup/internal/gateway"
	"github.com/meup-protocol/meup/internal/gateway/web/bundle"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/webtest"
)

// testPage is a small page with the layout of the real one.
func testPage(t *testing.T) fstest.MapFS {
	t.Helper()
	b, err := bundle.Build(bundle.Options{Dir: "web/testdata/page", Entry: "src/main.ts"})
	if err != nil {
		t.Fatal(err)
	}
	files := fstest.MapFS{}
	for name, content := range b.Files {
		files[name] = &fstest.MapFile{Data: content}
	}
	return files
}

// A browser signs in by a link, respects the page's policy, connects, and stays
// signed in. Pages of another port of the same host, to which browsers send the
// cookie too, have no access.
func TestPageInBrowser(t *testing.T) {
	t.Parallel()
	b := webtest.SharedBrowser(t)
	page := testPage(t)
	g := meuptest.Start(t, meuptest.Config, func(o *gateway.Options) { o.Page = page })
	code := g.Gateway().NewLoginCode("alice-token")

	tab := b.Tab(t)
	tab.Open(g.HTTP() + "/#code=" + code)
	for selector, want := range map[string]string{"#session": "200 alice", "#welcome": "alice", "#lazy": "styled"} {
		if got := tab.Text(selector); got != want {
			t.Errorf("%s: %q", selector, got)
		}
	}
	if got := webtest.Eval[string](tab, "location.href + document.cookie + JSON.stringify({...localStorage, ...sessionStorage})"); got != g.HTTP()+"/{}" {
		t.Errorf("left in the page: %s", got)
	}
	tab.Open(g.HTTP() + "/")
	if got := tab.Text("#welcome"); got != "alice" {
		t.Errorf("after a reload: %q", got)
	}
	tab.Clean()

	stranger := b.Private(t)
	stranger.Expect("401")
	stranger.Open(g.HTTP() + "/#code=" + code)
	if got := stranger.Text("#session"); got != "401 unauthorized" {
		t.Errorf("the link again: %q", got)
	}
	stranger.Clean()
	attack(t, b, g)
}

// attack opens a page of another port in the signed-in browser.
func attack(t *testing.T, b *webtest.Browser, g *meuptest.Gateway) {
	t.Helper()
	cookies := make(chan string, 16)
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		cookies <- r.Header.Get("Cookie")
		fmt.Fprint(w, `<!doctype html><link rel="icon" href="data:,">`)
	}))
	defer evil.Close()
	tab := b.Tab(t)
	tab.Open(evil.URL)
	if got := <-cookies; !strings.Contains(got, "meup_session=") {
		t.Fatalf("cookies are not shared by ports here (%q): this test shows nothing", got)
	}
	const chat = `{"kind": "chat", "payload": {"message": "forged"}}`
	for what, script := range map[string]string{
		"post":    `fetch("%s/api/spaces/lab/envelopes", {method: "POST", mode: "no-cors", credentials: "include", body: ` + "`" + chat + "`" + `}).then(r => r.type, e => "refused")`,
		"read":    `fetch("%s/api/spaces/lab/envelopes", {credentials: "include"}).then(r => r.text(), e => "refused")`,
		"embed":   `new Promise(done => { const s = document.createElement("script"); s.src = "%s/api/session"; s.onload = () => done("ran"); s.onerror = () => done("refused"); document.head.append(s) })`,
		"connect": `new Promise(done => { const s = new WebSocket("%s/ws?space=lab".replace("http", "ws"), ["meup.v0.1"]); s.onopen = () => done("open"); s.onerror = () => done("refused") })`,
		"signOut": `fetch("%s/api/session", {method: "DELETE", credentials: "include"}).then(r => r.status, e => "refused").then(String)`,
		"signIn":  `fetch("%s/api/session", {method: "POST", mode: "no-cors", credentials: "include", body: '{"token": "bob-token"}'}).then(r => r.type, e => "refused")`,
		"frame":   `new Promise(done => { const f = document.createElement("iframe"); f.src = "%s/"; f.onload = () => { try { done(f.contentDocument ? "open" : "refused") } catch { done("refused") } }; document.body.append(f) })`,
	} {
		if got := webtest.Eval[string](tab, fmt.Sprintf(script, g.HTTP())); got != "refused" && got != "opaque" {
			t.Errorf("%s: %q", what, got)
		}
	}
	own := b.Tab(t)
	own.Open(g.HTTP() + "/")
	if got := own.Text("#session"); got != "200 alice" {
		t.Errorf("afterwards, the own page: %q", got)
	}
	if got := webtest.Eval[string](own, `fetch("/api/spaces/lab/envelopes").then(r => r.text())`); !strings.Contains(got, `"envelopes":[]`) {
		t.Errorf("forged: %s", got)
	}
	own.Clean()
}

// The bundled page signs in by a link and renders, under its own policy and
// without console messages.
func TestBundledPageInBrowser(t *testing.T) {
	t.Parallel()
	b := webtest.SharedBrowser(t)
	g := meuptest.Start(t, meuptest.Config)
	if !g.Gateway().HasPage() {
		t.Fatal("the program has no page")
	}
	code := g.Gateway().NewLoginCode("alice-token")
	tab := b.Private(t) // the cookies of the other test are of this host too
	tab.Open(g.HTTP() + "/#code=" + code)
	tab.Await(`document.querySelector("meup-space-page")`)
	if got := webtest.Eval[string](tab, "location.href + document.cookie + JSON.stringify({...localStorage, ...sessionStorage})"); strings.Contains(got, code) || strings.Contains(got, "alice-token") {
		t.Errorf("left in the page: %s", got)
	}
	message := `{"kind": "chat", "payload": {"message": "# A heading\n\n**bold** <img src=x onerror=alert(1)> [link](javascript:alert(1))", "format": "markdown"}}`
	if got := webtest.Eval[int](tab, `fetch("/api/spaces/lab/envelopes", {method: "POST", headers: {Authorization: "Bearer bob-token"}, body: `+strconv.Quote(message)+`}).then(r => r.status)`); got != 200 {
		t.Fatalf("say something: %d", got)
	}
	tab.Await(`document.querySelector("strong")`) // the lazily loaded part is present
	tab.Clean()
}
