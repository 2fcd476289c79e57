package reasoning

import "strconv"

// What stands in the place of what is left out.

func moreCharacters(n int) string { return "… [" + counted(n, "more character") + "]" }

func leftOut(n int, again bool) string {
	s := "[left out: " + counted(n, "character")
	if again {
		s += "; call the tool again if you need it"
	}
	return s + "]"
}

func earlierSteps(n int) string { return "[left out: " + counted(n, "earlier step") + "]" }

// counted is such as "1,234 items" or "1 item".
func counted(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return grouped(n) + " " + what
}

// grouped writes a number with a comma between thousands.
func grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
