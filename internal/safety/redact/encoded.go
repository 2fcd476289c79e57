package redact

// runs finds possible base64 and hexadecimal in a text.
type runs struct {
	min     int  // characters of a run of base64
	stretch int  // characters of a text in the decoded bytes
	binary  bool // accept all decoded bytes
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

const none = 0xff

// sextets are the values of the characters of both alphabets of base64, and
// none.
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

// nibbles are the values of hexadecimal digits, and none.
var nibbles = func() (s [256]uint8) {
	for i := range s {
		s[i] = none
	}
	for i, c := range []byte("0123456789abcdef") {
		s[c] = uint8(i)
	}
	for c := byte('A'); c <= 'F'; c++ {
		s[c] = s[c|0x20]
	}
	return s
}()

// nextRun returns the next run of at least least characters of an alphabet at or
// after from; start == end: none. It checks the end of a possible run first, so
// that it reads one character in ten of prose.
func nextRun(alphabet *[256]uint8, least int, text []byte, from int) (start, end int) {
	for i := from; i+least <= len(text); {
		q := i + least - 1
		for q >= i && alphabet[text[q]] != none {
			q--
		}
		if q >= i {
			i = q + 1
			continue
		}
		end := i + least
		for end < len(text) && alphabet[text[end]] != none {
			end++
		}
		return i, end
	}
	return 0, 0
}

// appendBase64 appends the decoded whole bytes of a run.
func appendBase64(dst, run []byte) []byte {
	var bits uint32
	n := 0
	for _, c := range run {
		bits, n = bits<<6|uint32(sextets[c]), n+6
		if n >= 8 {
			n -= 8
			dst = append(dst, byte(bits>>n))
		}
	}
	return dst
}

func appendHex(dst, run []byte) []byte {
	for i := 1; i < len(run); i += 2 {
		dst = append(dst, nibbles[run[i-1]]<<4|nibbles[run[i]])
	}
	return dst
}

// stretchFrom returns the next range of text in decoded; it is empty at the end.
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

// unwrap adds the runs of base64 and hexadecimal that contain secrets to the
// findings. A run can begin anywhere, since the text before it may look the same.
func (s *Set) unwrap(c *scratch, r *reading, text []byte) {
	for start, end := nextRun(&sextets, s.runs.min, text, 0); start < end; start, end = nextRun(&sextets, s.runs.min, text, end) {
		padded := end
		for n := 0; n < 2 && padded < len(text) && text[padded] == '='; n++ {
			padded++
		}
		s.unwrapRun(c, r, text, start, end, padded, 4, appendBase64)
	}
	least := 2 * s.runs.stretch
	for start, end := nextRun(&nibbles, least, text, 0); start < end; start, end = nextRun(&nibbles, least, text, end) {
		s.unwrapRun(c, r, text, start, end, end, 2, appendHex)
	}
}

// unwrapRun decodes text[start:end] from each of the first shifts characters
// on. The first rule that finds something gives the whole of it its name.
func (s *Set) unwrapRun(c *scratch, r *reading, text []byte, start, end, padded, shifts int, decode func(dst, run []byte) []byte) {
	for shift := range shifts {
		c.decoded = decode(c.decoded[:0], text[min(start+shift, end):end])
		for from := 0; from < len(c.decoded); {
			first, last := s.runs.stretchFrom(c.decoded, from)
			known := len(c.found)
			s.search(c, nil, c.decoded[first:last])
			if hits := c.found[known:]; len(hits) > 0 {
				rule := hits[0].rule
				for _, h := range hits {
					rule = min(rule, h.rule)
				}
				c.found = c.found[:known]
				if !s.marks.hold(text, start, padded) {
					c.add(r, rule, start, padded)
				}
				return
			}
			from = last + 1
		}
	}
}
