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

// beginsNumber reports whether twelve digits and more begin at a place, alone or
// in groups of four and more, which are neither behind a dot nor the rest of a
// longer number. It is asked at every digit, and much sooner done than the
// expression.
func beginsNumber(text []byte, at int) bool {
	if at > 0 && (isAlnum(text[at-1]) || text[at-1] == '.') {
		return false
	}
	for i, digits := at, 0; digits < 12; i++ {
		switch {
		case i == len(text):
			return false
		case isDigit(text[i]):
			digits++
		case digits < 4 || text[i] != ' ' && text[i] != '-' || !isDigit(text[i-1]):
			return false
		}
	}
	return !goesOn(text, at)
}

// goesOn reports whether the digits at a place belong to those in front: behind
// a hyphen, or as a group of four behind others. Four groups and as many more
// are a number that has ended, and another one may follow; more than sixteen
// are a table.
func goesOn(text []byte, at int) bool {
	groups, from := 0, at
	for groups < 17 && from >= 5 && text[from-1] == ' ' && text[at+4] == ' ' && fourDigits(text[from-5:from-1]) {
		groups++
		from -= 5
	}
	return groups%4 != 0 || at > 1 && text[at-1] == '-' && isDigit(text[at-2])
}

func fourDigits(text []byte) bool {
	return isDigit(text[0]) && isDigit(text[1]) && isDigit(text[2]) && isDigit(text[3])
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isAlnum(c byte) bool {
	return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'z'
}

// luhn reports whether the last digit of a number is the right one for the
// others. Whatever else stands between them is passed over.
func luhn(text []byte) bool {
	sum, digits := 0, 0
	for i := len(text) - 1; i >= 0; i-- {
		if !isDigit(text[i]) {
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
