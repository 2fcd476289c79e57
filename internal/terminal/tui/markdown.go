package tui

import (
	"html"
	"regexp"
	"strconv"
	"strings"

	"charm.land/glamour/v2"
	"charm.land/glamour/v2/ansi"
	"charm.land/glamour/v2/styles"

	"github.com/meup-protocol/meup/internal/kit/termsafe"
)

// maxMarkdown bounds the text that is rendered, in bytes; longer text is shown
// as it was written. For some texts the renderer needs more than linear time.
const maxMarkdown = 16 << 10

// markdown renders the Markdown of agents. It breaks lines itself, since the
// library cannot break a line without spaces; only tables are laid out by the
// library.
type markdown struct {
	color  bool
	free   *glamour.TermRenderer // does not break lines
	tables *glamour.TermRenderer // for the width
	width  int                   // of tables
}

// lines returns the laid out text, or false if the text is to be shown
// unrendered.
func (m *markdown) lines(text string, cells int) (out []string, ok bool) {
	if len(text) > maxMarkdown || cells < 10 || deep(text) {
		return nil, false
	}
	defer func() { // a panic of the renderer affects this text only
		if recover() != nil {
			m.free, m.tables, out, ok = nil, nil, nil, false
		}
	}()
	text = unentity(termsafe.Text(text))
	laid, err := m.render(text, 0)
	if err == nil && isTable(laid, cells) {
		laid, err = m.render(text, cells)
	}
	if err != nil {
		return nil, false
	}
	for line := range strings.SplitSeq(strings.Trim(painted(laid), "\n"), "\n") {
		for _, part := range hang(strings.TrimRight(line, " "), cells) {
			switch {
			case strings.TrimSpace(part) != "":
				out = append(out, part)
			case len(out) > 0 && out[len(out)-1] != "": // one blank line for several
				out = append(out, "")
			}
		}
	}
	if n := len(out); n > 0 && out[n-1] == "" {
		out = out[:n-1]
	}
	return out, true
}

// render renders for a width; 0: without breaking lines. It caches its
// renderers, since creating one takes longer than using it.
func (m *markdown) render(text string, cells int) (string, error) {
	r := &m.free
	if cells > 0 {
		r = &m.tables
		if m.width != cells {
			m.tables, m.width = nil, cells
		}
	}
	if *r == nil {
		made, err := glamour.NewTermRenderer(glamour.WithStyles(m.style()), glamour.WithWordWrap(cells))
		if err != nil {
			return "", err
		}
		*r = made
	}
	return (*r).Render(text)
}

// isTable reports whether a text has a table that is too wide.
func isTable(laid string, cells int) bool {
	ruled := false
	for line := range strings.SplitSeq(laid, "\n") {
		ruled = ruled || strings.Contains(line, "-|-")
		if ruled && strings.Contains(line, " | ") && cellWidth(line) > cells {
			return true
		}
	}
	return false
}

// margin matches the prefix that continuation lines repeat: the bars of quotes
// and the indent of an item.
var margin = regexp.MustCompile(`^((?:\| )*)((?: *(?:•|[0-9]+\.|\[[ x✓]\]) +)| *)`)

// hang breaks a line and indents the continuation lines below its content.
func hang(line string, cells int) []string {
	if cellWidth(line) <= cells {
		return []string{line}
	}
	m := margin.FindStringSubmatch(line)
	room := cells - cellWidth(m[0])
	if m[0] == "" || room < cells/2 {
		return wrapPainted(line, cells)
	}
	out := wrapPainted(line[len(m[0]):], room)
	for i := range out {
		if i == 0 {
			out[i] = m[0] + out[i]
		} else {
			out[i] = m[1] + strings.Repeat(" ", cellWidth(m[2])) + out[i]
		}
	}
	return out
}

// style is a style of the library, without margins and with the sixteen
// standard colors only.
func (m *markdown) style() ansi.StyleConfig {
	s := styles.NoTTYStyleConfig
	if m.color {
		s = styles.ASCIIStyleConfig
		bold, yes := true, "6"
		s.Heading.Bold, s.Heading.Color = &bold, &yes
		s.Code.Color, s.CodeBlock.Color = &yes, &yes
		s.Strong = ansi.StylePrimitive{Bold: &bold}
		s.Emph = ansi.StylePrimitive{Italic: &bold}
	}
	none := uint(0)
	s.Document.Margin = &none
	s.Document.BlockPrefix, s.Document.BlockSuffix = "", ""
	return s
}

// entity matches a character by its name or number. The renderer would decode
// it, also without a semicolon, into a character that termsafe.Text removes.
var entity = regexp.MustCompile(`&(#[0-9]+|#[xX][0-9a-fA-F]+|[A-Za-z][A-Za-z0-9]*);?`)

// unentity keeps the entities of safe characters only.
func unentity(s string) string {
	return entity.ReplaceAllStringFunc(s, func(e string) string {
		var decoded string
		switch {
		case strings.HasPrefix(e, "&#x"), strings.HasPrefix(e, "&#X"):
			decoded = numbered(strings.TrimSuffix(e[3:], ";"), 16)
		case strings.HasPrefix(e, "&#"):
			decoded = numbered(strings.TrimSuffix(e[2:], ";"), 10)
		default:
			decoded = html.UnescapeString(e)
		}
		if clean := termsafe.Text("x" + decoded); clean != "x"+decoded {
			return "\ufffd" // not "": the surrounding text could form a new entity
		}
		return e
	})
}

func numbered(digits string, base int) string {
	n, err := strconv.ParseUint(digits, base, 32)
	if err != nil || n > 0x10ffff {
		return "\x00"
	}
	return string(rune(n))
}

// maxNesting bounds nested quotes and lists: the time of the renderer grows
// with the cube of the depth.
const maxNesting = 12

// marker matches the beginning of a quote or a list.
var marker = regexp.MustCompile(`^[ \t]*(>|(?:[-+*]|[0-9]{1,9}[.)])(?:[ \t]|$))`)

// deep reports whether a text nests too many quotes and lists.
func deep(text string) bool {
	for line := range strings.SplitSeq(text, "\n") {
		if len(line)-len(strings.TrimLeft(line, " \t")) > 4*maxNesting {
			return true
		}
		for n := 0; ; n++ {
			m := marker.FindString(line)
			if m == "" {
				break
			}
			if n >= maxNesting {
				return true
			}
			line = line[len(m):]
		}
	}
	return false
}
