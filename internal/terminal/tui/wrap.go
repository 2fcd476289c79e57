package tui

import (
	"regexp"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/meup-protocol/meup/internal/kit/termsafe"
)

// cellWidth returns the width of a text in cells. Terminals differ for some
// characters; this is the greater of the two common widths.
func cellWidth(s string) int { return max(ansi.StringWidth(s), ansi.StringWidthWc(s)) }

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
	if cellWidth(line) <= cells {
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

// WrapHanging breaks a styled line into lines of at most this many cells, with the line's indent and a bar before
// continuation lines, so that they cannot be mistaken for separate lines.
func WrapHanging(line string, cells int) []string {
	if cellWidth(line) <= cells {
		return []string{line}
	}
	indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
	if cellWidth(indent) > cells/2 {
		indent = ""
	}
	room := cells - cellWidth(indent) - cellWidth(more)
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

// Fit truncates a line to this many cells and marks the cut.
func Fit(line string, cells int) string {
	if cellWidth(line) <= cells {
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

// joiner joins two emoji into one.
const joiner = "\u200d"

// wrapJoined breaks a line that has joined emoji: between words if possible,
// and never within an emoji, unless it alone is wider than a line.
func wrapJoined(line string, cells int) []string {
	var out []string
	var b strings.Builder
	used, space := 0, -1 // cells of the line so far; byte offset after its last space
	turn := func() {
		done, rest := b.String(), ""
		if space > 0 {
			done, rest = done[:space], done[space:]
		}
		out = append(out, strings.TrimRight(done, " "))
		b.Reset()
		b.WriteString(rest)
		used, space = cellWidth(rest), -1
	}
	for line != "" {
		part := piece(line, cells)
		line = line[len(part):]
		n := cellWidth(part)
		for used+n > cells && used > 0 {
			if part == " " {
				space = b.Len()
			}
			turn()
		}
		if part == " " && used == 0 && len(out) > 0 {
			continue
		}
		b.WriteString(part)
		used += n
		if part == " " {
			space = b.Len()
		}
	}
	return append(out, b.String())
}

// piece returns the unbreakable prefix of a line: an escape sequence or a
// grapheme cluster.
func piece(line string, cells int) string {
	if n := termsafe.Sequence(line); n > 0 {
		return line[:n]
	}
	part, _ := ansi.FirstGraphemeCluster(line, ansi.GraphemeWidth)
	if part == "" || cellWidth(part) > cells {
		part = string([]rune(line)[:1])
	}
	return part
}

// dropVisible drops the first n visible bytes of a line and keeps its escape
// sequences.
func dropVisible(line string, n int) string {
	var b strings.Builder
	for n > 0 && line != "" {
		if k := termsafe.Sequence(line); k > 0 {
			b.WriteString(line[:k])
			line = line[k:]
			continue
		}
		line, n = line[1:], n-1
	}
	return b.String() + line
}
