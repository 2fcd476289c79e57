package natsconn

import (
	"fmt"
	"strconv"
	"strings"
)

// PlainByte reports whether a byte is written unchanged in a subject token. A
// dot separates tokens, and '*' and '>' are wildcards.
func PlainByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
		c == '_' || c == '-'
}

// EncodeToken encodes any name except the empty one as one subject token: bytes
// that are not plain are written as %XX.
func EncodeToken(name string) string {
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		if c := name[i]; PlainByte(c) {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// DecodeToken decodes a token that EncodeToken wrote. It rejects all others.
func DecodeToken(token string) (string, bool) {
	if token == "" {
		return "", false
	}
	var b strings.Builder
	for i := 0; i < len(token); i++ {
		if PlainByte(token[i]) {
			b.WriteByte(token[i])
			continue
		}
		if token[i] != '%' || i+3 > len(token) {
			return "", false
		}
		c, err := strconv.ParseUint(token[i+1:i+3], 16, 8)
		if err != nil || PlainByte(byte(c)) {
			return "", false
		}
		b.WriteByte(byte(c))
		i += 2
	}
	return b.String(), EncodeToken(b.String()) == token
}
