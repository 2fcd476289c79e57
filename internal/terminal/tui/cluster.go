package tui

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/meup-protocol/meup/internal/terminal/termsafe"
)

// joiner makes one emoji of two.
const joiner = "\u200d"

// wrapJoined breaks a line that has joined emoji: between words where it can,
// and never within an emoji, unless that alone is longer than a line.
func wrapJoined(line string, cells int) []string {
	var out []string
	var b strings.Builder
	used, space := 0, -1 // cells of the line so far; where its last space ends, in bytes
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

// piece is what a line begins with and what is not to be broken: a sequence
// that paints, or what people take for one character.
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

// behind drops the first n bytes that are to be seen of a line. What paints it
// stays.
func behind(line string, n int) string {
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
