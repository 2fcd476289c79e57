package transcript

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	source "github.com/yuin/goldmark/text"
)

// markdown parses documents as GitHub does, with further common extensions.
var markdown = goldmark.New(goldmark.WithExtensions(extension.GFM, extension.Footnote, extension.DefinitionList))

// parsed is a document as a renderer interprets it.
type parsed struct {
	t      testing.TB
	source []byte
	// outline is a line for each block of the document. Texts of participants
	// appear only as a placeholder.
	outline []string
	// quotes contains the texts of quotations.
	quotes []string
}

func parse(t testing.TB, document string) *parsed {
	t.Helper()
	d := &parsed{t: t, source: []byte(document)}
	for n := markdown.Parser().Parse(source.NewReader(d.source)).FirstChild(); n != nil; n = n.NextSibling() {
		d.block(n)
	}
	return d
}

func (d *parsed) block(n ast.Node) {
	switch n := n.(type) {
	case *ast.Heading:
		d.note("h%d %s", n.Level, d.inline(n, true))
	case *ast.Paragraph:
		d.note("p %s", d.inline(n, true))
	case *ast.Blockquote:
		d.note("quote")
		d.quotes = append(d.quotes, d.quotation(n))
	case *ast.FencedCodeBlock:
		d.note("code %s", n.Language(d.source))
	case *ast.List:
		for item := n.FirstChild(); item != nil; item = item.NextSibling() {
			d.note("item %s", d.inline(item.FirstChild(), true))
		}
	case *ast.HTMLBlock:
		d.note("html %s", strings.TrimSpace(d.lines(n)))
	default:
		d.note("%s", n.Kind())
	}
}

func (d *parsed) note(format string, args ...any) {
	d.outline = append(d.outline, fmt.Sprintf(format, args...))
}

// inline returns the text of a block that must contain no links or HTML,
// optionally without code spans, which contain names.
func (d *parsed) inline(block ast.Node, withoutCode bool) string {
	var b strings.Builder
	err := ast.Walk(block, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering || n == block {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			if n.Parent().Kind() == ast.KindCodeSpan {
				b.Write(n.Value(d.source))
			} else {
				b.WriteString(unescaped(string(n.Value(d.source))))
			}
			if n.SoftLineBreak() && !n.HardLineBreak() {
				d.t.Fatalf("lines are joined in %q", d.source)
			}
			if n.HardLineBreak() {
				b.WriteByte('\n')
			}
		case *ast.String:
			b.Write(n.Value)
		case *ast.CodeSpan:
			if withoutCode {
				b.WriteString("CODE")
				return ast.WalkSkipChildren, nil
			}
		case *ast.Emphasis:
			b.WriteString("*")
		default:
			d.t.Fatalf("a %s among text in %q", n.Kind(), d.source)
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		d.t.Error(err)
	}
	return b.String()
}

// quotation returns the text of a quotation, which must contain text and code
// only.
func (d *parsed) quotation(quote ast.Node) string {
	var b strings.Builder
	for n := quote.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Paragraph:
			b.WriteString(d.inline(n, false) + "\n")
		case *ast.FencedCodeBlock:
			b.WriteString(d.lines(n))
		default:
			d.t.Fatalf("a %s in the quotation %q", n.Kind(), d.source)
		}
	}
	return b.String()
}

func (d *parsed) lines(n ast.Node) string {
	var b strings.Builder
	for _, segment := range n.Lines().Sliced(0, n.Lines().Len()) {
		b.Write(segment.Value(d.source))
	}
	if h, ok := n.(*ast.HTMLBlock); ok && h.HasClosure() {
		b.Write(h.ClosureLine.Value(d.source))
	}
	return b.String()
}

// unescaped removes the backslashes that a renderer removes.
func unescaped(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && s[i+1] < utf8.RuneSelf && (unicode.IsPunct(rune(s[i+1])) || unicode.IsSymbol(rune(s[i+1]))) {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// letters returns a text without white space, for comparison.
func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}

// withoutFences removes the lines that start and end fenced blocks.
func withoutFences(s string) string {
	lines := strings.Split(Clean(s), "\n")
	var kept []string
	for i := 0; i < len(lines); i++ {
		f, ok := opening(lines[i])
		if !ok {
			kept = append(kept, lines[i])
			continue
		}
		var b strings.Builder
		taken := f.quote(&b, lines[i+1:])
		inner := lines[i+1 : i+1+taken]
		if n := len(inner); n > 0 && strings.Count(b.String(), "\n")-2 < n {
			inner = inner[:n-1]
		}
		kept = append(kept, inner...)
		i += taken
	}
	return strings.Join(kept, "\n")
}

// The checks above detect violations.
func TestOutline_DetectsViolations(t *testing.T) {
	d := parse(t, "# A `b`\n\n- one `x`\n\n<details>\n<summary>s</summary>\n\n> a \\* b\n\n```json\n{}\n```\n\n</details>\n\n**bold**\n")
	want := []string{"h1 A CODE", "item one CODE", "html <details>\n<summary>s</summary>", "quote", "code json", "html </details>", "p *bold"}
	if !slices.Equal(d.outline, want) || d.quotes[0] != "a * b\n" {
		t.Errorf("outline %q\n   want %q, said %q", d.outline, want, d.quotes)
	}
}
