package safety

import "bytes"

// checks are the functions that rules can name.
var checks = map[string]func([]byte) bool{"luhn": luhn, "iban": iban, "pipe": func([]byte) bool { return true }}

// begins are what a match of a rule with a check begins with, where that is
// sooner asked than the expression: digits are everywhere.
var begins = map[string]func(text []byte, at int) bool{"luhn": beginsNumber, "pipe": beginsPipe}

// beginsPipe reports whether there is a pipe in the rest of a command.
func beginsPipe(text []byte, at int) bool {
	i := bytes.IndexAny(text[at:min(len(text), at+220)], "|;\n")
	return i >= 0 && text[at+i] == '|'
}

// beginsNumber reports whether four digits begin at a place, and more follow.
func beginsNumber(text []byte, at int) bool {
	if at+12 > len(text) || at > 0 && isAlnum(text[at-1]) {
		return false
	}
	for _, c := range text[at : at+4] {
		if c < '0' || c > '9' {
			return false
		}
	}
	c := text[at+4]
	return c >= '0' && c <= '9' || c == ' ' || c == '-'
}

func isAlnum(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}

// luhn reports whether the last digit of a number is the right one for the
// others. Whatever else stands between them is passed over.
func luhn(text []byte) bool {
	sum, digits := 0, 0
	for i := len(text) - 1; i >= 0; i-- {
		if text[i] < '0' || text[i] > '9' {
			continue
		}
		d := int(text[i] - '0')
		if digits%2 == 1 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
		digits++
	}
	return digits > 1 && sum%10 == 0
}

// iban reports whether an account number is of a possible length and has the
// right remainder, once its first four characters are put behind the others.
func iban(text []byte) bool {
	var packed [34]byte
	n := 0
	for _, c := range text {
		if c == ' ' {
			continue
		}
		if n == len(packed) {
			return false
		}
		packed[n] = c
		n++
	}
	if n < 15 {
		return false
	}
	rest := 0
	for i := range n {
		switch c := packed[(i+4)%n]; {
		case c >= '0' && c <= '9':
			rest = (rest*10 + int(c-'0')) % 97
		case c >= 'A' && c <= 'Z':
			rest = (rest*100 + int(c-'A') + 10) % 97
		default:
			return false
		}
	}
	return rest == 1
}
