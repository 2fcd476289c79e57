package agent

import (
	"regexp"
	"strings"
	"unicode"
)

// closings begin the lines of an answer that are for the agent and not for the reader,
// such as the confidence.
var closings = []string{"confidence", "key factors", "recommendation", "references", "reply to e"}

// noteLine matches a line that the agent shares as a note when calls follow.
var noteLine = regexp.MustCompile(`(?im)^[\s>*_#-]*(observation|hypothesis|question|evidence for|evidence against|reply to e\d+)[*_]*\s*:`)

// visible selects the part of an answer that is streamed: without space at its ends, and
// up to the first line that is, or may become, one of the closings. The complete answer has
// the rest.
type visible struct {
	begun   bool
	midline bool   // the beginning of the line was returned
	held    string // may begin a closing
	space   string // to be returned before further text
	over    bool
}

// add returns what can be shown after a further piece of the answer.
func (v *visible) add(piece string) string {
	var out strings.Builder
	for rest := v.held + piece; rest != "" && !v.over; {
		v.held = ""
		line, after, complete := strings.Cut(rest, "\n")
		if complete {
			line += "\n"
		}
		if !v.midline {
			is, undecided := closes(line, complete)
			v.over = is
			if is {
				break
			}
			if undecided {
				v.held = rest
				break
			}
		}
		out.WriteString(line)
		v.midline, rest = !complete, after
	}
	text := v.space + out.String()
	if !v.begun {
		text = strings.TrimLeftFunc(text, unicode.IsSpace)
	}
	shown := strings.TrimRightFunc(text, unicode.IsSpace)
	v.begun, v.space = v.begun || shown != "", text[len(shown):]
	return shown
}

// closes reports whether a line is a closing, or undecided: more of it is needed.
func closes(line string, complete bool) (is, undecided bool) {
	text := strings.ToLower(strings.TrimLeft(line, " \t\r\n>*_#-"))
	for _, label := range closings {
		rest, found := strings.CutPrefix(text, label)
		switch {
		case !found:
			undecided = undecided || strings.HasPrefix(label, text)
		case label == "reply to e":
			return true, false
		default:
			value := strings.TrimLeft(strings.TrimPrefix(rest, " level"), " \t\r\n*_")
			if strings.HasPrefix(value, ":") || strings.HasPrefix(value, "=") || value == "" && complete {
				return true, false
			}
			undecided = undecided || value == "" || strings.HasPrefix(" level", rest) //nolint:gocritic // rest may be the beginning of it
		}
	}
	return false, undecided && !complete
}
