package capability

import (
	"bytes"
	"strings"
	"unicode"

	"github.com/meup-protocol/meup/internal/kit/glob"
	"github.com/meup-protocol/meup/protocol"
)

// selects reports whether a keyName or keyGlob selects the key of a member.
// Deny rules ignore case, like the decoders of many receivers: a rule that denies
// "path" also denies "PATH".
func (k *key) selects(name protocol.Value, m Mode) bool {
	b, plain := name.Plain()
	switch {
	case k.class == keyGlob && m.deny():
		return glob.Match(k.folded, fold(name.Text()))
	case k.class == keyGlob && plain:
		return glob.Match(k.glob, b)
	case k.class == keyGlob:
		return glob.Match(k.glob, name.Text())
	case !m.deny():
		return name.EqualText(k.name)
	case plain:
		return bytes.EqualFold(b, []byte(k.name))
	}
	return strings.EqualFold(name.Text(), k.name)
}

// cost is the work of comparing with the key of a member.
func (k *key) cost(name protocol.Value) int { return 1 + len(name.Raw())*len(k.glob)/16 }

// fold writes s with one rune for all runes that differ in case alone, as
// strings.EqualFold compares them.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for x := unicode.SimpleFold(r); x != r; x = unicode.SimpleFold(x) {
			least = min(least, x)
		}
		return least
	}, s)
}
