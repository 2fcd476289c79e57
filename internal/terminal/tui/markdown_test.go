package tui

import (
	"strings"
	"testing"
)

func TestMarkdown_NotRendered(t *testing.T) {
	for name, text := range map[string]string{
		"too long":      strings.Repeat("x ", maxMarkdown),
		"quotes":        strings.Repeat("> ", 1000) + "x",
		"lists":         strings.Repeat("- ", 1000) + "x",
		"numbered":      strings.Repeat("1. ", 1000) + "x",
		"mixed":         strings.Repeat("1) > * ", 300) + "x",
		"by the margin": strings.Repeat(" ", 1000) + "- x",
	} {
		m := markdown{}
		if _, ok := m.lines(text, 40); ok {
			t.Errorf("%s is rendered", name)
		}
	}
	for name, text := range map[string]string{"a rule": strings.Repeat("-", 200), "quotes": "> > > x", "a list": "- a\n  - b\n    - c"} {
		m := markdown{}
		if _, ok := m.lines(text, 40); !ok {
			t.Errorf("%s is not rendered", name)
		}
	}
}

func TestMarkdown_Entities(t *testing.T) {
	for in, want := range map[string]string{
		"&amp; &lt;b&gt; &auml; &#228; &#xe4;": "&amp; &lt;b&gt; &auml; &#228; &#xe4;",
		"&#27; &#x1B; &#155; &#8238; &#x200b;": "\ufffd \ufffd \ufffd \ufffd \ufffd",
		"&ZeroWidthSpace;&rlm;&shy;&zwj;":      "\ufffd\ufffd\ufffd\ufffd",
		"&#2&#27;7;":                           "\ufffd\ufffd7;",
		"&#27[2J&#x9bJ&shyx &amp #&#35":        "\ufffd[2J\ufffdJ\ufffd &amp #&#35",
		"&#99999999999;":                       "\ufffd",
		"&nosuch; & &;":                        "&nosuch; & &;",
	} {
		t.Run(in, func(t *testing.T) {
			if got := unentity(in); got != want {
				t.Errorf("%q becomes %q, want %q", in, got, want)
			}
		})
	}
}

func FuzzMarkdown(f *testing.F) {
	for _, s := range []string{"# x", "&#27;[31m", "[a](http://b/\x1b[2J)", "```\n\x1b\n```", "| a |\n|---|\n| あ |", "> > - 1. x", "<b>&#x202e;", "![x](y)", "&#27[m", "&amp;#27;[2J", "&#38#27[2J", "`&#27[2J`", "[&#27[2J](&#27[2J \"&#27[2J\")"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<10 {
			return
		}
		for _, color := range []bool{false, true} {
			m := markdown{color: color}
			lines, _ := m.lines(text, 30)
			for _, line := range lines {
				if cellWidth(line) > 30 {
					t.Fatalf("%q: %d cells", line, cellWidth(line))
				}
				for rest := line; ; {
					i := strings.IndexByte(rest, '\x1b')
					if i < 0 {
						if r, bad := harmful(rest); bad {
							t.Fatalf("%q: %U", line, r)
						}
						break
					}
					n := sgr(rest[i:])
					if n == 0 || !color {
						t.Fatalf("%q has another sequence", line)
					}
					rest = rest[:i] + rest[i+n:]
				}
			}
		}
	})
}
