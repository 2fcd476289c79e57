package tui

import (
	"hash/fnv"
	"regexp"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/meup-protocol/meup/internal/terminal/termsafe"
	"github.com/meup-protocol/meup/protocol"
)

// theme holds the styles: the sixteen colors that every terminal has, or none.
type theme struct {
	dim, bold, bad, good, busy lipgloss.Style
	names                      []lipgloss.Style
	colour                     bool
}

func newTheme(colour bool) theme {
	plain := lipgloss.NewStyle()
	if !colour {
		return theme{plain, plain, plain, plain, plain, []lipgloss.Style{plain}, false}
	}
	t := theme{
		dim: plain.Foreground(lipgloss.BrightBlack), bold: plain.Bold(true), bad: plain.Foreground(lipgloss.Red),
		good: plain.Foreground(lipgloss.Green), busy: plain.Foreground(lipgloss.Yellow), colour: true,
	}
	for _, c := range []lipgloss.Style{
		plain.Foreground(lipgloss.Cyan), plain.Foreground(lipgloss.Magenta), plain.Foreground(lipgloss.Blue),
		plain.Foreground(lipgloss.Green), plain.Foreground(lipgloss.Yellow),
	} {
		t.names = append(t.names, c.Bold(true))
	}
	return t
}

// name styles a participant's name, always in the same color.
func (t *theme) name(id protocol.ParticipantID) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id))
	return t.names[int(h.Sum32())%len(t.names)].Render(shortName(id))
}

// width returns the width of a text in cells. Terminals differ for some
// characters; this is the greater of the two common widths.
func width(s string) int { return max(ansi.StringWidth(s), ansi.StringWidthWc(s)) }

// wrap breaks a text without escape sequences into lines of at most this many
// cells.
func wrap(s string, cells int) []string {
	var out []string
	for line := range strings.SplitSeq(s, "\n") {
		out = append(out, wrapPainted(line, cells)...)
	}
	return out
}

// wrapPainted breaks a styled line into lines of at most this many cells. The
// style continues over the breaks.
func wrapPainted(line string, cells int) []string {
	cells = max(cells, 1)
	if width(line) <= cells {
		return []string{line}
	}
	var lines []string
	if strings.Contains(line, joiner) {
		lines = wrapJoined(line, cells)
	} else {
		wrapped := ansi.HardwrapWc(ansi.WrapWc(line, cells, ""), cells, true)
		wrapped = ansi.Hardwrap(wrapped, cells, true) // some emoji are wider than their parts
		lines = strings.Split(wrapped, "\n")
	}
	open := ""
	for i, l := range lines {
		begin := open
		open = carried(open, l)
		if begin != "" || open != "" {
			l = begin + l
			if open != "" {
				l += "\x1b[0m"
			}
		}
		lines[i] = l
	}
	return lines
}

// wrapHanging is wrapPainted with the line's indent and a bar before
// continuation lines, so that they cannot be mistaken for separate lines.
func wrapHanging(line string, cells int) []string {
	if width(line) <= cells {
		return []string{line}
	}
	indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
	if width(indent) > cells/2 {
		indent = ""
	}
	room := cells - width(indent) - width(more)
	first := wrapPainted(line, cells)[:1]
	rest := spaces.ReplaceAllString(dropVisible(line, len(ansi.Strip(first[0]))), "$1")
	for _, l := range wrapPainted(rest, room) {
		first = append(first, indent+more+l)
	}
	return first
}

// spaces matches the leading spaces of a line, with the escape sequences before
// them.
var spaces = regexp.MustCompile(`^((?:\x1b\[[0-9;:]*m)*) +`)

// carried returns the escape sequences in force at the end of a line.
func carried(open, line string) string {
	for {
		i := strings.Index(line, "\x1b[")
		if i < 0 {
			return open
		}
		line = line[i:]
		end := strings.IndexByte(line, 'm')
		if end < 0 {
			return open
		}
		if seq := line[:end+1]; seq == "\x1b[0m" || seq == "\x1b[m" {
			open = ""
		} else if len(open) < 256 {
			open += seq
		}
		line = line[end+1:]
	}
}

// fit truncates a line to this many cells and marks the cut.
func fit(line string, cells int) string {
	if width(line) <= cells {
		return line
	}
	if cells < 1 {
		return ""
	}
	return ansi.Truncate(ansi.TruncateWc(line, cells, "…"), cells, "…")
}

// painted removes all escape sequences except those for colors and weights, and
// all other text that termsafe.Text removes. It is for the output of rendering
// libraries.
func painted(s string) string {
	var b strings.Builder
	for {
		i := strings.IndexByte(s, '\x1b')
		if i < 0 {
			b.WriteString(termsafe.Text(s))
			return b.String()
		}
		b.WriteString(termsafe.Text(s[:i]))
		n := sgr(s[i:])
		if n == 0 {
			n = max(1, termsafe.Sequence(s[i:]))
		} else {
			b.WriteString(s[i : i+n])
		}
		s = s[i+n:]
	}
}

// sgr returns the length of the sequence for colors and weights at the start of
// s, or 0.
func sgr(s string) int {
	if !strings.HasPrefix(s, "\x1b[") {
		return 0
	}
	for i := 2; i < len(s) && i < 64; i++ {
		switch c := s[i]; {
		case c == 'm':
			return i + 1
		case c != ';' && c != ':' && (c < '0' || c > '9'):
			return 0
		}
	}
	return 0
}
