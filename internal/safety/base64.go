package safety

// runs finds what may be base64 in a text.
type runs struct {
	min     int  // characters of a run
	stretch int  // characters of a text in what was decoded
	binary  bool // what was decoded is taken as it is
}

// The shortest secrets that rules know have 10 characters with their name; in
// base64 and within a text these are about 16. With a margin for words and
// paths, which look the same.
const (
	minRun     = 20
	minStretch = 10
)

// fit makes runs short enough for a known value.
func (r *runs) fit(value string) {
	r.min = min(r.min, (len(value)*8+5)/6)
	r.stretch = min(r.stretch, len(value))
	for i := range len(value) {
		r.binary = r.binary || !printable(value[i])
	}
}

// sextets are the values of the characters of both alphabets, and none.
var sextets = func() (s [256]uint8) {
	for i := range s {
		s[i] = none
	}
	for i, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") {
		s[c] = uint8(i)
	}
	s['-'], s['_'] = s['+'], s['/']
	return s
}()

const none = 0xff

// wrappedLine is the length from which on a line is one of several that base64
// is broken into; the usual ones are 64 and 76.
const wrappedLine = 60

// next returns the next run in text at or behind from; start == end: there is
// none. It looks at the end of where a run would be first, so that of prose it
// reads a character in ten.
func (r *runs) next(text []byte, from int) (start, end int) {
	for i := from; i+r.min <= len(text); {
		q := i + r.min - 1
		for q >= i && sextets[text[q]] != none {
			q--
		}
		if q >= i {
			i = q + 1
			continue
		}
		return i, runEnd(text, i, i+r.min)
	}
	return 0, 0
}

// runEnd returns where a run ends, its padding and further lines of it
// included. What stands before at is part of it.
func runEnd(text []byte, start, at int) int {
	for {
		for at < len(text) && sextets[text[at]] != none {
			at++
		}
		next := at
		if next < len(text) && text[next] == '\r' {
			next++
		}
		if at-start < wrappedLine || next+1 >= len(text) || text[next] != '\n' || sextets[text[next+1]] == none {
			break
		}
		start, at = next+1, next+1
	}
	for n := 0; n < 2 && at < len(text) && text[at] == '='; n++ {
		at++
	}
	return at
}

// appendDecoded appends what a run stands for, as far as it has whole bytes.
func appendDecoded(dst, run []byte) []byte {
	var bits uint32
	n := 0
	for _, c := range run {
		v := sextets[c]
		if v == none {
			continue // a line break, padding
		}
		bits, n = bits<<6|uint32(v), n+6
		if n >= 8 {
			n -= 8
			dst = append(dst, byte(bits>>n))
		}
	}
	return dst
}

// stretchFrom returns the next stretch of text in what was decoded; it is
// empty at the end.
func (r *runs) stretchFrom(decoded []byte, from int) (start, end int) {
	if r.binary {
		return from, len(decoded)
	}
	for start = from; start < len(decoded); start = end + 1 {
		end = start
		for end < len(decoded) && printable(decoded[end]) {
			end++
		}
		if end-start >= r.stretch {
			return start, end
		}
	}
	return len(decoded), len(decoded)
}

func printable(c byte) bool { return c >= ' ' && c < 0x7f || c == '\t' || c == '\n' || c == '\r' }
