package safety

import (
	"slices"
	"unicode/utf8"
)

// sight says whether a text is what it seems to be. Characters without width,
// written into a word, hide it from every rule and from no reader. The zero
// sight is that nobody has looked.
type sight uint8

const (
	looked   sight = 1 << iota
	carries        // there are unseen characters
	deceives       // there are some between two characters of ASCII
)

// inspector looks at one reading of a text.
type inspector interface {
	inspect(dst []Finding, t Text) []Finding
}

// inspectBoth lets a stage look at a text as it is, and as it is read.
func inspectBoth(dst []Finding, t Text, in inspector) []Finding {
	n := len(dst)
	dst = in.inspect(dst, t)
	if t.sight == 0 {
		t.sight = look(t.Body)
	}
	if t.sight&deceives != 0 {
		dst = inspectView(dst, n, t, viewOf(t.Body, characters), in)
	}
	if t.sight&carries != 0 && steersTerminal(t.Body) {
		dst = inspectView(dst, n, t, viewOf(t.Body, commands), in)
		dst = inspectView(dst, n, t, viewOf(t.Body, sequences), in)
	}
	return dst
}

// inspectView lets a stage look at another reading of a text. What it finds is
// added to dst[n:], which is what was found so far.
func inspectView(dst []Finding, n int, t Text, v *view, in inspector) []Finding {
	if len(v.text) == 0 {
		return dst
	}
	found := in.inspect(nil, Text{Key: t.Key, Body: v.text, Secret: t.Secret, sight: looked})
	return merge(dst, n, found, v)
}

// merge adds what was found in a reading of a text to dst[n:], what was found
// in the text. Where they overlap, what is masked becomes as long as both; what
// is only marked stays as it was found first.
func merge(dst []Finding, n int, found []Finding, v *view) []Finding {
	for _, f := range found {
		f.Start, f.End = v.span(f.Start, f.End)
		overlaps := func(g Finding) bool { return f.Start < g.End && g.Start < f.End }
		if slices.ContainsFunc(dst[n:], func(g Finding) bool { return overlaps(g) && f.Put+g.Put != "" }) {
			continue
		}
		for i := n; i < len(dst); {
			g := dst[i]
			if !overlaps(g) {
				i++
				continue
			}
			if f.Action.strictness() >= g.Action.strictness() {
				f.Rule, f.Action = g.Rule, g.Action
			}
			f.Start, f.End = min(f.Start, g.Start), max(f.End, g.End)
			dst = slices.Delete(dst, i, i+1)
		}
		dst = append(dst, f)
	}
	slices.SortFunc(dst[n:], func(a, b Finding) int { return a.Start - b.Start })
	return dst
}

// suspects are the bytes that characters which nobody sees begin with.
var suspects = func() (s [256]bool) {
	for c := range 0x20 {
		s[c] = c != '\t' && c != '\n' && c != '\r'
	}
	for _, c := range []byte{0x7f, 0xc2, 0xcd, 0xd8, 0xe1, 0xe2, 0xe3, 0xef, 0xf3} {
		s[c] = true
	}
	return s
}()

// look finds out whether there are unseen characters, and whether they stand
// between two of ASCII, which is what secrets and orders are written in. Those
// that join emoji or letters of other scripts are where they belong.
func look(text []byte) sight {
	seen := looked
	for i := 0; i < len(text); i++ {
		if !suspects[text[i]] {
			continue
		}
		n := unseenAt(text[i:])
		if n == 0 {
			continue
		}
		seen |= carries
		if i > 0 && text[i-1] < utf8.RuneSelf && i+n < len(text) && text[i+n] < utf8.RuneSelf {
			return seen | deceives
		}
		i += n - 1
	}
	return seen
}

// unseenAt returns the length of the unseen characters that a text begins with.
func unseenAt(text []byte) int {
	n := 0
	for n < len(text) && suspects[text[n]] {
		size := unseenOne(text[n:])
		if size == 0 {
			break
		}
		n += size
	}
	return n
}

// unseenOne returns the length of the one that a text begins with, or 0.
func unseenOne(text []byte) int {
	r, size := utf8.DecodeRune(text)
	if !isUnseen(r) {
		return 0
	}
	return size
}

// isUnseen reports whether a character has no width and no meaning of its own.
func isUnseen(r rune) bool {
	switch {
	case r < 0x20, r == 0x7f:
		return r != '\t' && r != '\n' && r != '\r'
	case between(r, 0x80, 0x9f):
		return r != 0x85
	case r == 0xad, r == 0x34f, r == 0x61c, r == 0x115f, r == 0x1160, r == 0x17b4, r == 0x17b5, r == 0x3164, r == 0xfeff, r == 0xffa0:
		return true
	}
	return between(r, 0x180b, 0x180f) || between(r, 0x200b, 0x200f) || between(r, 0x202a, 0x202e) || between(r, 0x2060, 0x206f) ||
		between(r, 0xfe00, 0xfe0f) || between(r, 0xfff9, 0xfffb) || between(r, 0xe0000, 0xe0fff)
}

func between(r, first, last rune) bool { return r >= first && r <= last }
