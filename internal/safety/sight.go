package safety

import (
	"slices"
	"sort"
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
	if t.sight&deceives == 0 {
		return dst
	}
	v := viewOf(t.Body)
	m := len(dst)
	dst = in.inspect(dst, Text{Key: t.Key, Body: v.text, Secret: t.Secret, sight: looked})
	hidden := slices.Clone(dst[m:])
	dst = dst[:m]
	for _, f := range hidden {
		f.Start, f.End = v.place(f.Start), v.place(f.End-1)+1
		if !slices.ContainsFunc(dst[n:m], func(g Finding) bool { return f.Start < g.End && g.Start < f.End }) {
			dst = append(dst, f)
		}
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
		r, size := utf8.DecodeRune(text[n:])
		if !isUnseen(r) {
			break
		}
		n += size
	}
	return n
}

// isUnseen reports whether a character has no width and no meaning of its own.
func isUnseen(r rune) bool {
	switch {
	case r < 0x20, r == 0x7f:
		return r != '\t' && r != '\n' && r != '\r'
	case r == 0xad, r == 0x34f, r == 0x61c, r == 0x115f, r == 0x1160, r == 0x17b4, r == 0x17b5, r == 0x3164, r == 0xfeff, r == 0xffa0:
		return true
	}
	return between(r, 0x180b, 0x180f) || between(r, 0x200b, 0x200f) || between(r, 0x202a, 0x202e) || between(r, 0x2060, 0x206f) ||
		between(r, 0xfe00, 0xfe0f) || between(r, 0xfff9, 0xfffb) || between(r, 0xe0000, 0xe0fff)
}

func between(r, first, last rune) bool { return r >= first && r <= last }

// view is a text without its unseen characters.
type view struct {
	text []byte
	cuts []cut
}

// cut is a place where something was left out.
type cut struct {
	at    int // in the view
	total int // bytes that were left out up to here
}

func viewOf(body []byte) *view {
	v := &view{text: make([]byte, 0, len(body))}
	for i := 0; i < len(body); {
		if suspects[body[i]] {
			if n := unseenAt(body[i:]); n > 0 {
				i += n
				v.cuts = append(v.cuts, cut{len(v.text), i - len(v.text)})
				continue
			}
		}
		v.text = append(v.text, body[i])
		i++
	}
	return v
}

// place returns where a byte of the view is in the text.
func (v *view) place(at int) int {
	n := sort.Search(len(v.cuts), func(i int) bool { return v.cuts[i].at > at })
	if n == 0 {
		return at
	}
	return at + v.cuts[n-1].total
}
