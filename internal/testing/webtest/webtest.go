// Package webtest tests the web page in a real browser, headless Chromium: a [Tab]
// records the faults of the page (console errors, exceptions in scripts, violations of
// its policy, and requests to other hosts), and a [Stage] is a real gateway in the test's
// process with participants that send to a space. The tests cover hostile content,
// accessibility, and appearance.
package webtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/meup-protocol/meup/internal/testing/testkit"
)

// patience bounds a step in the browser, including its start. It is longer than that
// of a script, which says what it waited for.
const patience = testkit.Patience + time.Minute

// Browser is a running browser with a profile of its own.
type Browser struct {
	ctx context.Context //nolint:containedctx // how the library names a browser
}

// StartBrowser starts a browser, which ends with the test. Without Chromium the test
// is skipped, or fails in CI (if the environment has CI).
func StartBrowser(t testing.TB) *Browser {
	t.Helper()
	b, end, err := launch(need(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := end(); err != nil {
			t.Logf("end the browser: %v", err)
		}
	})
	return b
}

// Tests runs the tests of a package, and ends the browser that they share.
type Tests struct{ *testing.M }

// Run implements the interface that testkit.Main requires.
func (m Tests) Run() int {
	code := m.M.Run()
	if shared.end != nil {
		if err := shared.end(); err != nil {
			fmt.Fprintln(os.Stderr, "end the browser:", err)
		}
	}
	return code
}

var shared struct {
	start sync.Once
	*Browser
	end func() error
	err error
}

// SharedBrowser returns the browser of the package's tests, whose start takes longer than
// many of them. It starts with the first test that needs it, and ends with Tests.
// Without Chromium it does what Start does.
func SharedBrowser(t testing.TB) *Browser {
	t.Helper()
	program := need(t)
	shared.start.Do(func() { shared.Browser, shared.end, shared.err = launch(program) })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.Browser
}

// need returns the path of the browser: from the environment variable CHROMIUM, or from the
// search path. Without one it skips or fails the test. The headless shell comes first: a whole
// Chromium spends as much time on its window as on the page.
func need(t testing.TB) string {
	t.Helper()
	program := os.Getenv("CHROMIUM")
	for _, name := range []string{"chromium-headless-shell", "chrome-headless-shell", "chromium", "chromium-browser", "google-chrome-stable", "google-chrome"} {
		path, err := exec.LookPath(name)
		if program == "" && err == nil {
			program = path
		}
	}
	if program == "" {
		if ci := os.Getenv("CI"); ci != "" && ci != "false" {
			t.Fatal("there is no Chromium: scripts/install-chromium.sh")
		}
		t.Skip("there is no Chromium: scripts/install-chromium.sh")
	}
	return program
}

// launch starts a browser; end ends it and waits for its process.
func launch(program string) (b *Browser, end func() error, err error) {
	alloc, release := chromedp.NewExecAllocator(context.Background(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program),
		chromedp.NoSandbox, // tests may run as root in a container, and load only our own page
		chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-domain-reliability", true),
		chromedp.WSURLReadTimeout(patience),
	)...)
	quiet := func(string, ...any) {}
	ctx, cancel := chromedp.NewContext(alloc, chromedp.WithLogf(quiet), chromedp.WithErrorf(quiet))
	end = func() error {
		err := chromedp.Cancel(ctx)
		cancel()
		release()
		chromedp.FromContext(ctx).Allocator.Wait()
		return err
	}
	if err := chromedp.Do(ctx); err != nil {
		_ = end()
		return nil, nil, fmt.Errorf("start %s: %w", program, err)
	}
	return &Browser{ctx}, end, nil
}

// Tab opens an empty tab, which is closed with the test. Tabs of one browser
// share their cookies.
func (b *Browser) Tab(t testing.TB) *Tab {
	t.Helper()
	return b.tab(t)
}

// Private opens a tab that shares no cookies with the others.
func (b *Browser) Private(t testing.TB) *Tab {
	t.Helper()
	return b.tab(t, chromedp.WithNewBrowserContext())
}

func (b *Browser) tab(t testing.TB, options ...chromedp.ContextOption) *Tab {
	t.Helper()
	x := &Tab{t: t, hosts: make(map[string]bool), more: make(chan struct{})}
	var cancel context.CancelFunc
	x.ctx, cancel = chromedp.NewContext(b.ctx, append(options, chromedp.WithListener(x.listen))...)
	t.Cleanup(cancel)
	// The tab lives as long as the context of this first call.
	if err := chromedp.Do(x.ctx, listening); err != nil {
		t.Fatalf("open a tab: %v", err)
	}
	return x
}

// listening enables the events that a Tab records.
func listening(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
	_, err := cdp.Call(ctx, t, network.Enable, network.EnableParams{})
	for _, enable := range []cdp.Command[cdp.Empty, cdp.Empty]{log.Enable, audits.Enable, runtime.Enable} {
		if err == nil {
			_, err = cdp.Call(ctx, t, enable, cdp.Empty{})
		}
	}
	return chromedp.Void{}, err
}
