package tui

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/meup-protocol/meup/internal/terminal/termsafe"
)

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
		used, space = width(rest), -1
	}
	for line != "" {
		part := piece(line, cells)
		line = line[len(part):]
		n := width(part)
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
		if used += n; part == " " {
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
	if part == "" || width(part) > cells {
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
