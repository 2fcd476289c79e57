package webtest

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// maxFaults bounds the recorded faults of a page.
const maxFaults = 100

// Tab is one page in the browser.
type Tab struct {
	t   testing.TB
	ctx context.Context //nolint:containedctx // how the library names a tab

	watches int

	mu       sync.Mutex
	hosts    map[string]bool // hosts that the page may send requests to
	expected []string
	faults   []string
	more     chan struct{} // closed with the next fault
}

// Do runs actions in the tab. The test fails if an action fails or takes too
// long.
func (x *Tab) Do(actions ...chromedp.Action[chromedp.Void]) {
	x.t.Helper()
	run(x, chromedp.Steps(actions...))
}

func run[T any](x *Tab, action chromedp.Action[T]) T {
	x.t.Helper()
	ctx, cancel := context.WithTimeout(x.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, action)
	if err != nil {
		x.t.Fatalf("in the browser: %v; seen there: %q", err, x.Faults())
	}
	return v
}

// Open opens an address and waits until it is loaded. The tab may send requests
// only to hosts of opened addresses.
func (x *Tab) Open(address string) {
	x.t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		x.t.Fatalf("open %s: %v", address, err)
	}
	x.mu.Lock()
	x.hosts[u.Host] = true
	x.mu.Unlock()
	x.Do(chromedp.Navigate(address))
}

// Eval evaluates an expression in the page and returns its value, decoded from
// JSON. It awaits a promise.
func Eval[T any](x *Tab, expression string) T {
	x.t.Helper()
	return run(x, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
}

// Await waits until an expression is truthy in the page and returns its value
// as a string.
func (x *Tab) Await(expression string) string {
	x.t.Helper()
	return Eval[string](x, "new Promise(done => { const look = () => { const v = ("+expression+
		"); v ? done(String(v)) : setTimeout(look, 10); }; look(); })")
}

// Watch notes in the page whether a condition begins to hold, also if it ends by itself
// before the test asks. It looks after every change of the document outside of shadow roots.
// The test calls it before the action that leads to the condition, which must not hold yet,
// and waits afterwards for the expression that it returns.
func (x *Tab) Watch(condition string) (seen string) {
	x.t.Helper()
	x.watches++
	seen = "window.seen" + strconv.Itoa(x.watches)
	if Eval[bool](x, `(() => {
		const holds = () => Boolean(`+condition+`);
		if (holds()) return true;
		new MutationObserver((_, observer) => {
			if (!holds()) return;
			`+seen+` = true;
			observer.disconnect();
		}).observe(document, { subtree: true, childList: true, characterData: true, attributes: true });
		return false;
	})()`) {
		x.t.Fatalf("in the browser: before the action there is already %s", condition)
	}
	return seen
}

// Text waits until the element of a CSS selector has text, and returns the
// text.
func (x *Tab) Text(selector string) string {
	x.t.Helper()
	return x.Await("document.querySelector(" + strconv.Quote(selector) + ")?.textContent")
}

// Steady waits until the element of an expression has kept its place for a second, as
// the page requires of what is decided on. The second begins with a frame after the one in
// which the element was seen in its place: the page notices moves in its frames, which are
// late on a busy machine, while its timers go on.
func (x *Tab) Steady(element string) {
	x.t.Helper()
	Eval[bool](x, `new Promise(done => {
		let place = "", since;
		const look = () => {
			const r = (`+element+`)?.getBoundingClientRect(), now = performance.now();
			const seen = r === undefined ? "" : r.left + " " + r.top;
			if (seen !== place || seen === "") { place = seen; since = undefined; }
			else since ??= now;
			if (since !== undefined && now - since > 1000) done(true);
			else requestAnimationFrame(look);
		};
		requestAnimationFrame(look);
	})`)
}

// AwaitFault waits for a fault that contains this text.
func (x *Tab) AwaitFault(text string) {
	x.t.Helper()
	late := time.After(patience)
	for {
		x.mu.Lock()
		more, found := x.more, slices.ContainsFunc(x.faults, func(f string) bool { return strings.Contains(f, text) })
		x.mu.Unlock()
		if found {
			return
		}
		select {
		case <-more:
		case <-late:
			x.t.Fatalf("in the browser: waited for %q, seen %q", text, x.Faults())
		}
	}
}

// Expect ignores faults that contain this text.
func (x *Tab) Expect(text string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.expected = append(x.expected, text)
}

// Faults returns the faults of the tab so far, one per line.
func (x *Tab) Faults() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	var list []string
	for _, f := range x.faults {
		if !slices.ContainsFunc(x.expected, func(e string) bool { return strings.Contains(f, e) }) {
			list = append(list, f)
		}
	}
	return list
}

// Clean fails the test if the tab has faults.
func (x *Tab) Clean() {
	x.t.Helper()
	for _, f := range x.Faults() {
		x.t.Errorf("in the browser: %s", f)
	}
}

func (x *Tab) add(format string, args ...any) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.faults) < maxFaults {
		x.faults = append(x.faults, fmt.Sprintf(format, args...))
		close(x.more)
		x.more = make(chan struct{})
	}
}

// listen records faults. The library calls it for every event.
func (x *Tab) listen(event any) {
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		switch e.Type {
		case runtime.ConsoleAPICalledTypeError, runtime.ConsoleAPICalledTypeWarning, runtime.ConsoleAPICalledTypeAssert:
			x.add("console.%s: %s", e.Type, arguments(e.Args))
		}
	case *runtime.EventExceptionThrown:
		text := e.ExceptionDetails.Text
		if e.ExceptionDetails.Exception != nil {
			text += " " + e.ExceptionDetails.Exception.Description
		}
		x.add("threw: %s", text)
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			x.add("%s: %s %s", e.Entry.Source, e.Entry.Text, e.Entry.URL)
		}
	case *audits.EventIssueAdded:
		if e.Issue.Details == nil || e.Issue.Details.ContentSecurityPolicyIssueDetails == nil {
			return
		}
		d := e.Issue.Details.ContentSecurityPolicyIssueDetails
		x.add("policy: %s forbids %s", d.ViolatedDirective, d.BlockedURL)
	case *network.EventRequestWillBeSent:
		x.checkHost(e.Request.URL)
	case *network.EventWebSocketCreated:
		x.checkHost(e.URL)
	}
}

func arguments(list []*runtime.RemoteObject) string {
	var words []string
	for _, a := range list {
		if len(a.Value) > 0 {
			words = append(words, string(a.Value))
			continue
		}
		words = append(words, a.Description)
	}
	return strings.Join(words, " ")
}

// checkHost records requests to hosts that the tab may not use.
func (x *Tab) checkHost(address string) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" { // data:, blob:, about:
		return
	}
	x.mu.Lock()
	known := x.hosts[u.Host]
	x.mu.Unlock()
	if !known {
		x.add("asked another host: %s", address)
	}
}
