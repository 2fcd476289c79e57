package webtest

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// root is the repository, relative to this package.
const root = "../../.."

var axeSource = sync.OnceValues(func() ([]byte, error) {
	return os.ReadFile(filepath.Join(root, "web", "node_modules", "axe-core", "axe.min.js"))
})

// needsAxe skips the test if the page's tools are not installed; in CI it
// fails.
func needsAxe(t *testing.T) string {
	t.Helper()
	source, err := axeSource()
	if errors.Is(err, fs.ErrNotExist) {
		if ci := os.Getenv("CI"); ci != "" && ci != "false" {
			t.Fatal("axe-core is not there: scripts/install-web.sh")
		}
		t.Skip("axe-core is not there: scripts/install-web.sh")
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(source)
}

// violations returns the findings of axe-core in the tab, one per line.
// axe-core is injected through the debugger and is not part of the page. A part of
// the page that it has analyzed before is left out, as long as only numbers differ:
// analyzing the whole page takes most of the time of these tests.
func violations(tab *Tab, source string) []string {
	if Eval[bool](tab, `typeof axe === "undefined"`) {
		tab.Do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
			r, err := cdp.Call(ctx, target, runtime.Evaluate, runtime.EvaluateParams{Expression: source + "\n;0"})
			if err == nil && r.ExceptionDetails != nil {
				err = errors.New(r.ExceptionDetails.Text)
			}
			return err
		}))
	}
	return Eval[[]string](tab, `(async () => {
		await Promise.all(document.getAnimations().filter(a => a.effect?.getTiming().iterations !== Infinity).map(a => a.finished.catch(() => {})));
		const html = (root) => root.innerHTML.replace(/\d+/g, "0") + [...root.querySelectorAll("*")].map((e) => (e.shadowRoot ? html(e.shadowRoot) : "")).join("");
		const known = (window.axeKnown ??= new Set());
		const exclude = [...document.querySelectorAll("meup-threads, .space-main, meup-side")].filter((e) => {
			const key = e.clientWidth + e.cloneNode(false).outerHTML + html(e);
			return known.has(key) || !known.add(key);
		});
		const { violations } = await axe.run({ include: [document], exclude }, { resultTypes: ["violations"], rules: { "target-size": { enabled: true } } });
		return violations.flatMap(v => v.nodes.map(n => (v.id + " (" + v.impact + "): " + n.target.join(" ") + ": " + n.failureSummary.split("\n").slice(1, 3).join(" ").trim()).replace(/\s+/g, " ")));
	})()`)
}

// TestViolations checks that leaving out what was analyzed before hides no finding.
func TestViolations(t *testing.T) {
	axe := needsAxe(t)
	tab := SharedBrowser(t).Private(t)
	s := everydayStage(t)
	s.Enter(tab, "ada")
	awaitEnvelope(tab, "three")
	if list := violations(tab, axe); len(list) > 0 {
		t.Fatalf("violations: %q", list)
	}
	for _, parent := range []string{".talk", "meup-side"} {
		Eval[bool](tab, `(document.querySelector(`+quote(parent)+`).append(document.createElement("button")), true)`)
		if list := violations(tab, axe); len(list) != 1 || !contains(list[0], "button-name") {
			t.Errorf("violations of a button without a name in %s: %q", parent, list)
		}
	}
}
