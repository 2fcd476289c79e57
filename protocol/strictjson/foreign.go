package strictjson

import (
	"bytes"
	"slices"
	"unicode/utf16"
	"unicode/utf8"
)

// ParseForeign parses JSON of a program that other parsers understand, although
// they disagree on it: a lone surrogate and invalid UTF-8 become the replacement
// character, and of duplicate keys the last one counts. Everything else keeps its
// spelling, numbers too. The text of the Doc is strict JSON: src itself if Parse
// accepts it. Error: *SyntaxError.
func ParseForeign(src []byte, maxDepth int) (*Doc, error) {
	if doc, err := Parse(src, maxDepth); err == nil {
		return doc, nil
	}
	// The result of ToValidUTF8 is a copy.
	src = replaceLoneSurrogates(bytes.ToValidUTF8(src, []byte(string(utf8.RuneError))))
	d := new(Doc)
	if err := d.parse(src, maxDepth, true); err != nil {
		return nil, err
	}
	return Parse(d.withoutDuplicates(), maxDepth)
}

// replaceLoneSurrogates replaces the escapes of surrogates that have no other half,
// in place.
func replaceLoneSurrogates(text []byte) []byte {
	const escape = len(`\u0000`)
	for rest := text; ; {
		i := bytes.IndexByte(rest, '\\')
		if i < 0 || len(rest) < i+2 {
			return text
		}
		rest = rest[i:]
		r := hex4(rest[2:])
		switch {
		case rest[1] != 'u' || r < 0:
			rest = rest[2:]
		case !utf16.IsSurrogate(r):
			rest = rest[escape:]
		case len(rest) >= 2*escape && rest[escape] == '\\' && rest[escape+1] == 'u' &&
			utf16.DecodeRune(r, hex4(rest[escape+2:])) != utf8.RuneError:
			rest = rest[2*escape:]
		default:
			copy(rest, `\ufffd`)
			rest = rest[escape:]
		}
	}
}

// withoutDuplicates returns the text with the last member of each key.
func (d *Doc) withoutDuplicates() []byte {
	var dropped []uint32 // keys of the others
	for i, n := range d.nodes {
		if n.typ != TypeObject {
			continue
		}
		last := make(map[string]uint32)
		for k := range (Value{d, uint32(i)}).Members {
			if earlier, ok := last[k.Text()]; ok {
				dropped = append(dropped, earlier)
			}
			last[k.Text()] = k.idx
		}
	}
	if len(dropped) == 0 {
		return d.src
	}
	slices.Sort(dropped)
	out, kept := make([]byte, 0, len(d.src)), 0
	for _, key := range dropped {
		if start := int(d.nodes[key].start); start >= kept { // otherwise inside of a member that is dropped
			out = append(out, d.src[kept:start]...)
			kept = int(d.nodes[d.nodes[key+1].next].start) // of the next key: the last member stays
		}
	}
	return append(out, d.src[kept:]...)
}
