package reduce

import "encoding/binary"

// Append appends the encoding of an excerpt to dst.
func (x Excerpt) Append(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(x.margin))
	dst = binary.AppendUvarint(dst, uint64(len(x.text)))
	return append(dst, x.text...)
}

// ReadExcerpt returns the excerpt at the beginning of b, and the rest of b; nil if
// there is none.
func ReadExcerpt(b []byte) (x Excerpt, rest []byte) {
	margin, n := binary.Uvarint(b)
	if n <= 0 || margin > cutMargin+titleMargin {
		return x, nil
	}
	size, m := binary.Uvarint(b[n:])
	if m <= 0 || size > uint64(len(b)-n-m) {
		return x, nil
	}
	b = b[n+m:]
	return Excerpt{string(b[:size]), int(margin)}, b[size:]
}
