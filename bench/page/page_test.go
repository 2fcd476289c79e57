package page

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/network"
	cdpage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/meup-protocol/meup/internal/testing/webtest"
)

// Parameters of the measurements.
const (
	messages  = 1000
	rate      = 500 // envelopes per second
	burst     = 20 * time.Second
	hour      = 36_000 // envelopes: ten per second
	hourRate  = 2000   // envelopes per second in which they are sent
	beat      = 10 * time.Millisecond
	viewer    = "ada"
	rowsDrawn = `.rows [data-id], #log [data-id]`
)

// watch records in the page the time of the first content, tasks longer than 50
// ms, and the longest time between two frames.
const watch = `(() => {
	const w = window.watched = { first: 0, tasks: [], frames: 0, gap: 0 };
	new PerformanceObserver((list) => { for (const e of list.getEntries()) w.tasks.push(e.duration); }).observe({ type: "longtask", buffered: true });
	let last = 0;
	const frame = (now) => {
		if (last > 0) w.gap = Math.max(w.gap, now - last);
		last = now;
		w.frames++;
		if (w.first === 0 && document.querySelector("` + rowsDrawn + `")) { w.first = -1; requestAnimationFrame(() => (w.first = performance.now())); }
		requestAnimationFrame(frame);
	};
	requestAnimationFrame(frame);
})()`

// watched is the data that it has recorded.
type watched struct {
	First  float64   `json:"first"`
	Tasks  []float64 `json:"tasks"`
	Frames int       `json:"frames"`
	Gap    float64   `json:"gap"`
}

func (w watched) longest() float64 {
	most := 0.0
	for _, d := range w.Tasks {
		most = max(most, d)
	}
	return most
}

// newTab opens an isolated tab with the watch script.
func newTab(b *testing.B, browser *webtest.Browser) *webtest.Tab {
	b.Helper()
	tab := browser.Private(b)
	tab.Do(chromedp.EmulateViewport(1280, 900), chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, cdpage.AddScriptToEvaluateOnNewDocument, cdpage.AddScriptToEvaluateOnNewDocumentParams{Source: watch})
		return err
	}))
	return tab
}

func stage(b *testing.B) *webtest.Stage {
	b.Helper()
	return webtest.NewStageWith(b, []string{"bot"}, map[string][]string{viewer: {"*", "observe"}})
}

// BenchmarkFirstLoad measures the compressed size of a first visit until the
// page appears, and of a visit that opens every panel.
func BenchmarkFirstLoad(b *testing.B) {
	s, browser := stage(b), webtest.StartBrowser(b)
	const loaded = `performance.getEntriesByType("navigation").concat(performance.getEntriesByType("resource")).filter(e => /\/(assets\/.*)?$/.test(new URL(e.name).pathname)).reduce((n, e) => n + e.encodedBodySize, 0) / 1000`
	for range b.N {
		tab := newTab(b, browser)
		tab.Open(s.Gateway.HTTP() + "/")
		tab.Text("meup-sign-in h1")
		note(b, "first load", "kB gzipped", less, webtest.Eval[float64](tab, loaded))
	}
}

// BenchmarkFirstContent measures the time from the start of a visit to a frame
// that shows messages, for a signed-in participant in a space with a thousand
// messages.
func BenchmarkFirstContent(b *testing.B) {
	s, browser := stage(b), webtest.StartBrowser(b)
	s.Send("bot", talk(messages)...)
	last := fmt.Sprintf(`document.querySelector('[data-id="m-%d"]') !== null && window.watched.first > 0`, messages-1)
	b.Run("page", func(b *testing.B) {
		for range b.N {
			tab := newTab(b, browser)
			s.Enter(tab, viewer)
			tab.Await(last)
			for _, how := range []string{"cold", "warm"} {
				empty(tab, how == "cold")
				tab.Open(s.Gateway.HTTP() + "/")
				tab.Await(last)
				note(b, "first content of 1,000 messages, "+how+" cache", "ms", less, webtest.Eval[watched](tab, `window.watched`).First)
			}
		}
	})
	b.Run("bare", func(b *testing.B) {
		x := serveBare(b, s)
		defer x.end()
		for range b.N {
			tab := newTab(b, browser)
			tab.Open(x.URL + "/")
			tab.Await(last)
			first := webtest.Eval[watched](tab, `window.watched`).First
			for _, how := range []string{"cold", "warm"} {
				noteBare(b, "first content of 1,000 messages, "+how+" cache", "ms", less, first)
			}
		}
	})
}

// BenchmarkBurst sends 500 envelopes a second for 20 seconds. Each must arrive.
func BenchmarkBurst(b *testing.B) {
	browser := webtest.StartBrowser(b)
	total := rate * int(burst/time.Second)
	held := `new Set(document.querySelector("meup-space-page").shell.envelopes.filter(e => /^[erc]-/.test(e.id)).map(e => e.id)).size`
	b.Run("page", func(b *testing.B) {
		for range b.N {
			s := stage(b)
			s.Join("bot")
			tab := newTab(b, browser)
			s.Enter(tab, viewer)
			reset(tab)
			s.SendAtRate("bot", total, rate, beat, traffic)
			tab.Await(fmt.Sprintf(`document.querySelector("meup-space-page").shell.state.head >= %d`, s.Head("bot")))
			w := webtest.Eval[watched](tab, `window.watched`)
			noteBurst(b, note, w, total-webtest.Eval[int](tab, held))
			tab.Clean()
		}
	})
	b.Run("bare", func(b *testing.B) {
		for range b.N {
			s := stage(b)
			x := serveBare(b, s)
			tab := newTab(b, browser)
			tab.Open(x.URL + "/")
			reset(tab)
			s.SendAtRate("bot", total, rate, beat, traffic)
			tab.Await(fmt.Sprintf(`window.got >= %d`, total))
			noteBurst(b, noteBare, webtest.Eval[watched](tab, `window.watched`), total-webtest.Eval[int](tab, `window.got`))
			x.end()
		}
	})
}

func noteBurst(b *testing.B, note func(*testing.B, string, string, better, float64), w watched, missing int) {
	b.Helper()
	if missing != 0 {
		b.Errorf("%d envelopes are missing", missing)
	}
	note(b, "burst: longest task", "ms", less, w.longest())
	note(b, "burst: tasks over 50 ms", "of 20 s", less, float64(len(w.Tasks)))
	note(b, "burst: longest time between two frames", "ms", less, w.Gap)
	note(b, "burst: frames", "a second", more, float64(w.Frames)/burst.Seconds())
}

// BenchmarkHour measures the memory of the page after an hour's worth of
// traffic, and after another one.
func BenchmarkHour(b *testing.B) {
	browser := webtest.StartBrowser(b)
	b.Run("page", func(b *testing.B) {
		for range b.N {
			s := stage(b)
			s.Join("bot")
			tab := newTab(b, browser)
			s.Enter(tab, viewer)
			note(b, "heap of an empty space", "MB", less, heap(b, tab))
			reset(tab)
			for n, name := range []string{"an hour", "two hours"} {
				s.SendAtRate("bot", hour, hourRate, beat, func(i int) webtest.Envelope { return traffic(n*hour + i) })
				tab.Await(fmt.Sprintf(`document.querySelector("meup-space-page").shell.state.head >= %d`, s.Head("bot")))
				note(b, "heap after "+name, "MB", less, heap(b, tab))
				note(b, "elements after "+name, "", less, webtest.Eval[float64](tab, `document.querySelectorAll("*").length`))
			}
			note(b, "longest task at 2,000 envelopes/s, garbage collection among it", "ms", less, webtest.Eval[watched](tab, `window.watched`).longest())
			tab.Clean()
		}
	})
	b.Run("bare", func(b *testing.B) {
		for range b.N {
			s := stage(b)
			x := serveBare(b, s)
			tab := newTab(b, browser)
			tab.Open(x.URL + "/")
			noteBare(b, "heap of an empty space", "MB", less, heap(b, tab))
			s.SendAtRate("bot", hour, hourRate, beat, traffic)
			tab.Await(fmt.Sprintf(`window.got >= %d`, hour))
			noteBare(b, "heap after an hour", "MB", less, heap(b, tab))
			noteBare(b, "elements after an hour", "", less, webtest.Eval[float64](tab, `document.querySelectorAll("*").length`))
			x.end()
		}
	})
}

// empty clears the browser's cache if cold is set.
func empty(tab *webtest.Tab, cold bool) {
	if !cold {
		return
	}
	tab.Do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, network.ClearBrowserCache, cdp.Empty{})
		return err
	}))
}

// reset discards the data that was recorded during loading.
func reset(tab *webtest.Tab) {
	webtest.Eval[bool](tab, `new Promise(done => setTimeout(() => { Object.assign(window.watched, { tasks: [], frames: 0, gap: 0 }); done(true); }, 500))`)
}

// heap collects garbage until the size is stable, and returns it in MB.
func heap(b *testing.B, tab *webtest.Tab) float64 {
	b.Helper()
	var used float64
	tab.Do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		for range 3 {
			if _, err := cdp.Call(ctx, t, heapprofiler.CollectGarbage, cdp.Empty{}); err != nil {
				return err
			}
		}
		r, err := cdp.Call(ctx, t, runtime.GetHeapUsage, cdp.Empty{})
		used = r.UsedSize / 1e6
		return err
	}))
	return used
}
