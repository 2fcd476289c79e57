package page

import (
	"fmt"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/testing/webtest"
)

// long is the number of messages of a long conversation.
const long = 10_000

// scrolling is how long the page scrolls.
const scrolling = 10 * time.Second

// BenchmarkScroll scrolls up through a loaded conversation of ten thousand
// messages, 40 pixels a frame; the bare page has 5,000 lines of text.
func BenchmarkScroll(b *testing.B) {
	s, browser := stage(b), webtest.StartBrowser(b)
	s.Send("bot", talk(long)...)
	for range b.N {
		tab := newTab(b, browser)
		s.Enter(tab, viewer)
		tab.Await(fmt.Sprintf(`document.querySelector('[data-id="m-%d"]') !== null`, long-1))
		// Scrolled away from the end, the page drops no older messages.
		tab.Await(fmt.Sprintf(`(() => {
			const { shell } = document.querySelector("meup-space-page");
			shell.room.space.following = false;
			if (shell.state.messages.size >= %d) return true;
			void shell.room.loadOlder();
			return false;
		})()`, long))
		reset(tab)
		w := scroll(tab, ".talk")
		note(b, "scrolling through 10,000 messages: frames", "a second", more, float64(w.Frames)/scrolling.Seconds())
		note(b, "scrolling through 10,000 messages: longest time between two frames", "ms", less, w.Gap)
		note(b, "scrolling through 10,000 messages: longest task", "ms", less, w.longest())
		tab.Clean()

		x := serveBare(b, s)
		bare := newTab(b, browser)
		bare.Open(x.URL + "/")
		webtest.Eval[bool](bare, `(() => {
			document.body.innerHTML = '<div class="talk" style="height: 800px; overflow: auto"></div>';
			const box = document.querySelector(".talk");
			for (let i = 0; i < 5000; i++) { const p = document.createElement("p"); p.textContent = "Message " + i + " of a long conversation"; box.append(p); }
			box.scrollTop = box.scrollHeight;
			return true;
		})()`)
		reset(bare)
		w = scroll(bare, ".talk")
		noteBare(b, "scrolling through 10,000 messages: frames", "a second", more, float64(w.Frames)/scrolling.Seconds())
		noteBare(b, "scrolling through 10,000 messages: longest time between two frames", "ms", less, w.Gap)
		noteBare(b, "scrolling through 10,000 messages: longest task", "ms", less, w.longest())
		x.end()
	}
}

// scroll scrolls an element upward for a while.
func scroll(tab *webtest.Tab, selector string) watched {
	return webtest.Eval[watched](tab, fmt.Sprintf(`new Promise((done) => {
		const box = document.querySelector(%q);
		const end = performance.now() + %d;
		const step = () => {
			if (performance.now() > end) return done(window.watched);
			box.scrollTop -= 40;
			requestAnimationFrame(step);
		};
		step();
	})`, selector, scrolling.Milliseconds()))
}
