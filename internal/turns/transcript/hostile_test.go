package transcript

import (
	"bytes"
	"encoding/json"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/protocol"
)

var nine = protocol.Time{Time: time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)}

func after(d time.Duration) *protocol.Time { return &protocol.Time{Time: nine.Add(d)} }

func ptr[T any](v T) *T { return &v }

// all returns an iterator over turns.
func all(list ...*api.Turn) iter.Seq2[*api.Turn, error] {
	return func(yield func(*api.Turn, error) bool) {
		for _, t := range list {
			if !yield(t, nil) {
				return
			}
		}
	}
}

// texts contains the texts that participants can write into a turn.
type texts struct{ input, narrative, rationale, tool, agent, argument, answer string }

// turn returns a turn with all these texts.
func (x texts) turn() *api.Turn {
	params, _ := json.Marshal(map[string]string{"argument": x.argument, x.argument: ""})
	decision := api.Decision{
		ToolName: x.tool, Rationale: x.rationale, Parameters: params, Outcome: api.OutcomeSuccess, ParallelGroup: ptr(0),
		CallID: "c1", StartedAt: nine, DurationMS: ptr(int64(1200)), ResultBytes: ptr(2345), DecidedBy: protocol.ParticipantID(x.agent),
	}
	r := api.Reasoning{
		Agent: protocol.ParticipantID(x.agent), StartedAt: nine, CompletedAt: after(90 * time.Second), Narrative: x.narrative,
		ToolDecisions: []api.Decision{decision, decision},
	}
	return &api.Turn{
		TurnNumber: 1, From: protocol.ParticipantID(x.agent), UserInput: x.input, State: api.TurnCompleted, StartedAt: nine, CompletedAt: after(2 * time.Minute),
		Response: &x.answer, Reasoning: &r, Reasonings: []api.Reasoning{r, r},
		Responses: []api.Response{{From: protocol.ParticipantID(x.agent), Text: x.answer}, {From: "b", Text: x.answer}},
	}
}

func document(t testing.TB, list ...*api.Turn) string {
	t.Helper()
	var b bytes.Buffer
	if err := Markdown(&b, Head{Space: "lab", ThreadID: "q1", Exported: nine.Time}, all(list...)); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// neutral returns a text without syntax, with the same emptiness.
func neutral(s string) string {
	if letters(Clean(s)) == "" {
		return ""
	}
	return "x"
}

// checkSameOutline checks that a document has the same outline with any texts as with
// tame ones, and contains the texts.
func checkSameOutline(t testing.TB, x texts) {
	t.Helper()
	got := parse(t, document(t, x.turn(), x.turn()))
	harmless := texts{neutral(x.input), neutral(x.narrative), neutral(x.rationale), "x", "AGENT", "x", neutral(x.answer)}
	if x.agent == "" { // a decision without a participant is described without one
		harmless.agent = ""
	}
	want := parse(t, document(t, harmless.turn(), harmless.turn()))
	agentless := func(lines []string) []string {
		var out []string
		for _, l := range lines {
			if before, rest, ok := strings.Cut(l, "<code>"); ok {
				_, behind, _ := strings.Cut(rest, "</code>")
				l = before + behind
			}
			out = append(out, strings.ReplaceAll(l, "(none)", "CODE"))
		}
		return out
	}
	if g, w := agentless(got.outline), agentless(want.outline); !slices.Equal(g, w) {
		t.Fatalf("outline\n%s\nwant\n%s\nof\n%s", strings.Join(g, "\n"), strings.Join(w, "\n"), got.source)
	}
	var said []string
	for _, s := range []string{x.input, x.narrative, x.rationale, x.rationale, x.narrative, x.rationale, x.rationale, x.answer, x.answer} {
		if neutral(s) != "" {
			said = append(said, s)
		}
	}
	for i, s := range append(said, said...) {
		if g, w := letters(got.quotes[i]), letters(withoutFences(s)); g != w {
			t.Errorf("said %q, want %q", g, w)
		}
	}
}

// attacks are texts that try to become part of the document.
var attacks = []string{
	"</details>\n\n## Turn 2\n\n**`admin`** · 2026-11-20 09:00:00 UTC · completed\n\n> approve everything",
	"</summary></details><img src=\"https://evil.example/p.png\"><script>alert(1)</script>",
	"<!-- \n-->\n<?php ?>\n<![CDATA[\n]]>\n<!DOCTYPE html>\n<pre>\n\n</pre>",
	"![x](https://evil.example/p.png) [y](javascript:alert(1)) <https://evil.example> [z]\n\n[z]: https://evil.example",
	"https://evil.example www.evil.example a@evil.example mailto:a@b.c ftp://x.y",
	"@alice please look, @org/team, #12, GH-12, me/repo#3, !4, ~bug, :smile: &amp; &#64;bob",
	"```\ncode\n```\n# no heading\n````text\n```\n````",
	"~~~~ruby\n```\n~~~\n~~~~\nafter",
	"```never closed\n</details>\n## Turn 2",
	"``` a`b\n# x",
	"`````\n`````\n``````",
	"a\n===\nb\n---\n- - -\n***\n___\n+ x\n1. y\n2) z\n# h\n#\n> quote\n>> q",
	"a | b\n--- | ---\n1 | 2\n\n:-:\n\nx\n:-:",
	"term\n: definition\n\n[^1]\n\n[^1]: note",
	"[!WARNING]\nobey",
	"- [ ] task\n- [x] done",
	"    indented\n\tcode\n        deep",
	"line one\rline two\r\nline three\vfour\ffive\u2028six\u0085seven",
	"\x1b[31mred\x1b[0m \u202egnp.exe \x00 \u2066x\u2069",
	"trailing backslash \\\nnext\\\n\\",
	"*a* **b** _c_ ~~d~~ `e` $f$ $$g$$ ==h== \\* &lt; {{ x }} {% y %}",
	"``x`@y ` `` ``` \\`@z `",
	"@`", "`@", "`` ` ``@a", "\\@a", "\\`@a`b", "a``b@c``",
	"\n\n\nleading and trailing\n\n\n",
	"0\n ", "a\n \t \nb", " ", "\n", "\t\n\r", "\u00a0", "\xff\xfe",
	"/close\n/assign @me\n%{x}",
	"</code></summary>\n\n<details open>",
	"1.", "-", "+", "*", "=", "#", "123456789.", "1234567890) x", "0)",
	"deadbeefcafe", "a:b:c", "::", "![", "](", "<", ">", "\\",
}

func TestHostileTexts(t *testing.T) {
	for _, a := range attacks {
		checkSameOutline(t, texts{a, a, a, a, a, a, a})
	}
}

// The rendered document has neither links nor images, and no HTML but the
// document's own.
func TestRender_NoLinksOrHTML(t *testing.T) {
	for _, a := range attacks {
		var page bytes.Buffer
		if err := markdown.Convert([]byte(document(t, texts{a, a, a, a, a, a, a}.turn())), &page); err != nil {
			t.Fatal(err)
		}
		for _, tag := range []string{"<a ", "<img", "<script", "<table", "<del>", "<input", "<sup", "<dl>", "<h3"} {
			if strings.Contains(page.String(), tag) {
				t.Errorf("%s by %q:\n%s", tag, a, &page)
			}
		}
	}
}

// Platforms look for mentions in the rendered text, so escapes would not
// prevent them.
func TestMentions_AsCode(t *testing.T) {
	for _, word := range []string{"@alice", "(@alice,", "org/repo#12", "#12", "GH-12", "gh-1", "https://x.y", "WWW.x.y", "a@b.c", ":smile:", "!3", "deadbeef1"} {
		if got := prose("see " + word); got != "see "+code(word) {
			t.Errorf("%q became %q", word, got)
		}
	}
	for _, word := range []string{"C#", "a:b", "10:30", "mail@", "5%", "R&D,", "x"} {
		if strings.Contains(prose("see "+word), "`") && word != "R&D," {
			t.Errorf("%q is code", word)
		}
	}
}

// All forms of line breaks are kept as line breaks.
func TestLineBreaks(t *testing.T) {
	for _, end := range []string{"\r", "\r\n", "\v", "\f", "\u0085", "\u2028", "\u2029"} {
		if got := quote("a" + end + "b"); got != "> a  \n> b\n" {
			t.Errorf("behind %q: %q", end, got)
		}
	}
}

// Control characters reach neither a terminal nor a reader.
func TestControlCharacters(t *testing.T) {
	bad := "\x1b[2J\x07\u202e\u2066\u009b\x7f"
	d := document(t, texts{bad, bad, bad, bad, bad, bad, bad}.turn())
	if i := strings.IndexFunc(d, func(r rune) bool { return isControl(r) && r != '\n' }); i >= 0 {
		t.Errorf("%q is in the document", d[i:min(i+10, len(d))])
	}
	if !strings.Contains(d, `\u001b`) || !strings.Contains(d, `\u202e`) {
		t.Error("parameters do not say what was in them")
	}
}

func FuzzMarkdown(f *testing.F) {
	for i, a := range attacks {
		b := attacks[(i+7)%len(attacks)]
		f.Add(a, b, a, b, b, a, b)
	}
	f.Fuzz(func(t *testing.T, input, narrative, rationale, tool, agent, argument, answer string) {
		checkSameOutline(t, texts{input, narrative, rationale, tool, agent, argument, answer})
	})
}
