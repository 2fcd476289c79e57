package e2e

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"time"

	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/testing/llmtest"
	"github.com/meup-protocol/meup/internal/testing/webtest"
	"github.com/meup-protocol/meup/protocol"
)

// block is a participant's reasoning, and head its heading, which opens and
// closes it.
func block(who string) spot { return at("group", "Reasoning of "+who).in(room) }

func head(of spot, title string) spot { return at("button", title+"*").in(of) }

// spinning is an expression: whether a block shows that it runs.
func spinning(of spot) string {
	return of.find() + `?.getAttribute("aria-busy") === "true" && ` + of.find() + `.querySelector(".spinner") !== null`
}

// pacedModel decides in four turns: two parallel calls, a sub-question, its
// answer, the answer. Each turn waits for the test.
type pacedModel struct {
	first, second, last chan struct{}
	words               chan struct{} // of the first turn
}

func (m *pacedModel) script(r llmtest.Request) llmtest.Turn {
	switch {
	case strings.Contains(r.LastUser(), "Is that safe?"):
		return llmtest.Turn{Text: "Nothing speaks against it."}
	case r.N == 1:
		return llmtest.Turn{Hang: m.first, Gate: m.words, Text: "I look for the port in all documents.", Calls: []llm.ToolCall{
			call("list_directory", `{"path":".","rationale":"Which documents are there?"}`),
			call("search_files", `{"path":".","pattern":"*network*","rationale":"One may be about networks."}`),
		}}
	case r.N == 2:
		return llmtest.Turn{Hang: m.second, Text: "Now the rest.", Calls: []llm.ToolCall{call("subproblem", `{"question":"Is that safe?","rationale":"Safety has to be looked at."}`)}}
	}
	return llmtest.Turn{Hang: m.last, Text: "It listens on port 8080."}
}

// Thoughts and conclusions are Markdown: complete in the steps, one line in the
// preview.
func pageThoughtMarkdown(s *pageStage) {
	scout := s.join("scout")
	in := scout.reason(s.join("alice").say("What now?"), "Making a **plan**")
	scout.think(in, "**First** look at `a_b`:\n\n1. read it\n2. change it")
	p := s.visit("alice")
	b := block("scout")
	p.sees(withText("listitem", like("First look at a_b")).in(b))
	p.until("no marks in the preview", `!eyes.text(`+b.find()+`).includes("**")`)
	scout.think(in, "# Changed\n\n<b>not bold</b> and *done*")
	scout.conclude(in, "It is **done**.")
	scout.answer(protocol.ID(in), "Done.")
	p.is(head(b, "Thought for "), "aria-expanded", "false")
	p.click(head(b, "Thought for "))
	p.sees(withText("listitem", "read it").in(b))
	p.sees(withText("heading", "Changed").in(b))
	p.sees(withText("listitem", like("<b>not bold</b> and done")).in(b))
	p.until("strong words", `[...`+b.find()+`.querySelectorAll("strong")].map((x) => x.textContent).join() === "plan,First,done"`)
	p.until("no marks", `!/[*`+"`"+`#]/.test(eyes.text(`+b.find()+`))`)
}

// Every state of a block of the real agent, and the same after a reload.
func pageBlocksLive(s *pageStage) {
	m := &pacedModel{first: make(chan struct{}), second: make(chan struct{}), last: make(chan struct{}), words: make(chan struct{})}
	_, flags := model(s.T, m.script)
	s.agent("guide", flags...)
	log := s.join("alice")
	p := s.visit("alice")
	p.before(skewed) // from the next reload on
	p.post("Which port is it?")
	b := block("guide")
	p.sees(head(b, "Reasoning · "))
	p.until("a spinner", spinning(b))
	p.runsFor(b, 2)
	start := log.await("the start", func(env *protocol.Envelope) bool { return env.Kind == protocol.KindReasoningStart })

	close(m.first)
	for range 5 { // the role, and four words
		m.words <- struct{}{}
	}
	p.sees(withText("listitem", "I look for*").in(b))
	p.until("not the whole of what grows", `!eyes.page().includes("all documents")`)
	close(m.words)
	p.sees(withText("listitem", like("Which documents are there?", "list_directory")).in(b))
	p.sees(withText("listitem", like("One may be about networks.", "search_files")).in(b))
	p.counts(2, at("listitem", "*").in(b)) // the last two steps

	p.reload()
	shown, now := p.running(b), time.Since(start.TS)
	if (shown - now).Abs() > skew/2 {
		s.Errorf("after a reload it says %v, %v after the start", shown, now)
	}
	p.until("a spinner", spinning(b))
	p.counts(2, at("listitem", "*").in(b))

	close(m.second)
	p.sees(withText("listitem", like("Safety has to be looked at.")).in(b))
	close(m.last)
	p.sees(messageWith("It listens on port 8080."))
	p.is(head(b, "Thought for "), "aria-expanded", "false")
	p.until("no spinner", "!("+spinning(b)+")")
	p.inOrder(messageWith("Which port is it?"), b, messageWith("It listens on port 8080."))
	p.sees(head(b, "Thought for "+log.thought(start)))

	p.click(head(b, "Thought for "))
	p.opensWhole(b)
	before := p.read(b)
	p.reload()
	p.opensWhole(b) // a person's choice is kept
	if after := p.read(b); after != before {
		s.Errorf("after a reload\n%s\nbefore\n%s", after, before)
	}
}

// skewed lets the browser's clock be wrong by skew, which is more than any test takes.
const (
	skew   = 90 * time.Minute
	skewed = `{ const now = Date.now; Date.now = () => now() + 5_400_000; }`
)

// runs matches the duration that a block shows: "9s", "1m", "1m 5s".
var runs = regexp.MustCompile(`Reasoning · ((?:(\d+)m)? ?(?:(\d+)s)?)`)

// runsFor waits until a block shows at least this duration.
func (p *webPage) runsFor(b spot, seconds int) {
	p.t.Helper()
	p.until(fmt.Sprintf("reasoning for %ds", seconds), fmt.Sprintf(`((x) => x !== null && Number(x[2] ?? 0) * 60 + Number(x[3] ?? 0) >= %d)(/%s/.exec(eyes.text(%s)))`, seconds, runs, b.find()))
}

// running returns the duration that a block shows.
func (p *webPage) running(b spot) time.Duration {
	p.t.Helper()
	p.sees(head(b, "Reasoning · "))
	text := p.read(b)
	found := runs.FindStringSubmatch(text)
	if found == nil {
		p.t.Fatalf("no duration in %q", text)
	}
	d, err := time.ParseDuration(strings.ReplaceAll(found[1], " ", ""))
	if err != nil {
		p.t.Fatalf("no duration in %q: %v", text, err)
	}
	return d
}

// thought is for how long a context was thought about, by the log and in the words of the page.
func (g *guest) thought(start *protocol.Envelope) string {
	g.s.Helper()
	var end time.Time
	g.await("the answer", func(env *protocol.Envelope) bool {
		if end.IsZero() && env.Kind == protocol.KindReasoningConclusion && env.Context == protocol.ContextPath(start.ID) {
			end = env.TS
		}
		return env.Kind == protocol.KindChat && env.From == start.From
	})
	seconds := int(math.Max(1, math.Ceil(float64(end.UnixMilli()-start.TS.UnixMilli())/1000)))
	switch {
	case seconds < 60:
		return fmt.Sprintf("%ds", seconds)
	case seconds%60 == 0:
		return fmt.Sprintf("%dm", seconds/60)
	}
	return fmt.Sprintf("%dm %ds", seconds/60, seconds%60)
}

// opensWhole looks at everything that is in the slow model's block.
func (p *webPage) opensWhole(b spot) {
	p.t.Helper()
	p.is(head(b, "Thought for "), "aria-expanded", "true")
	for _, words := range []string{"I look for the port in all documents.", "2 in parallel", "Now the rest.", "Conclusion"} {
		p.sees(withText("group", like(words)).in(room))
	}
	p.sees(at("button", like("done", "list_directory")).in(b))
	inner := at("group", "Reasoning of guide").in(b)
	p.sees(head(inner, "Thought for "))
	if webtest.Eval[int](p.Tab, "eyes.count("+at("button", like("search_files")).in(b).js()+")") != 1 {
		p.t.Errorf("the call is not there once: %s", p.read(b))
	}
}
