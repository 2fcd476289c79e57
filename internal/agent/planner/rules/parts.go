package rules

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/internal/kit/textutil"
)

const (
	maxParts = 8   // a question of more parts is not divided
	maxIntro = 300 // characters of the text before the parts
)

// divide asks for the parts of a question, all in one step, and joins their
// answers. If none of them got an answer, the question is handled as a whole.
func (r *run) divide() (planner.Decision, bool) {
	if r.s.Tool(planner.Subproblem) == nil {
		return planner.Decision{}, false
	}
	intro, parts := partsOf(r.q.text)
	var open []contextwindow.Call
	var b strings.Builder
	answered := 0
	before := ""
	for _, part := range parts {
		ask := part
		if q := parse(part); before != "" && q.follows() {
			ask = strings.TrimRight(before, "?？ ") + ", " + part
		}
		before = ask
		c := contextwindow.Call{
			Tool:      planner.Subproblem,
			Arguments: llm.Marshal(map[string]string{"question": strings.TrimSpace(intro + " " + ask)}),
			Reason:    "This part of the question can be looked into by itself: " + textutil.ShortenChars(part, 200),
		}
		text := "There was no time left to look into this."
		switch res, done := r.results[c.Key()]; {
		case !done:
			open = append(open, c)
		case res.OK():
			answered++
			text = cmp.Or(strings.TrimSpace(res.Text), "Nothing came of this.")
		default:
			text = "I have no answer to this: " + strings.TrimRight(firstLine(res.Error, 300), ". ") + "."
		}
		fmt.Fprintf(&b, "### %s\n\n%s\n\n", part, text)
	}
	d, ok := r.use(fmt.Sprintf("The question has %s. I look into each by itself.", textutil.Count(len(parts), "part")), open)
	if ok || answered == 0 {
		return d, ok
	}
	conclusion := fmt.Sprintf("I have answers to %d of the %d parts of the question.", answered, len(parts))
	if answered == len(parts) {
		conclusion = fmt.Sprintf("I have an answer to each of the %d parts of the question.", len(parts))
	}
	return finish(strings.TrimSpace(b.String()), conclusion, 0), true
}

// partsOf finds the parts of a question: the items of a numbered list, or else
// the sentences that end with a question mark. intro is the text before them,
// unless it is long. There are no parts if there are fewer than two.
func partsOf(text string) (intro string, parts []string) {
	intro, parts = listedParts(text)
	if len(parts) < 2 {
		intro, parts = askedParts(text)
	}
	intro = planner.OneLine(intro)
	if utf8.RuneCountInString(intro) > maxIntro {
		intro = ""
	}
	for i := range parts {
		parts[i] = planner.OneLine(parts[i])
	}
	parts = unique(parts)
	if len(parts) < 2 || len(parts) > maxParts {
		return "", nil
	}
	return intro, parts
}

var numbered = regexp.MustCompile(`^\s*\(?\d{1,2}[.)]\s+(\S.*)$`)

// listedParts returns the items of a numbered list and the text before it.
// Lines directly after an item belong to the item.
func listedParts(text string) (intro string, items []string) {
	inItem := false
	for line := range strings.Lines(text) {
		m := numbered.FindStringSubmatch(strings.TrimRight(line, "\r\n"))
		switch {
		case m != nil:
			items = append(items, m[1])
			inItem = true
		case strings.TrimSpace(line) == "":
			inItem = false
		case inItem:
			items[len(items)-1] += " " + line
		case len(items) == 0:
			intro += " " + line
		}
	}
	return intro, items
}

// askedParts returns the sentences that ask, and the text before the first. A
// sentence ends at a line end, at an ASCII mark before a space or the end, or at
// a Chinese or Japanese mark.
func askedParts(text string) (intro string, questions []string) {
	from := 0
	for i, r := range text {
		end := i + utf8.RuneLen(r)
		next, _ := utf8.DecodeRuneInString(text[end:])
		if r != '\n' && !strings.ContainsRune("。！？", r) && (!strings.ContainsRune(".!?", r) || end < len(text) && !unicode.IsSpace(next)) {
			continue
		}
		sentence := strings.TrimSpace(text[from:end])
		from = end
		words := strings.TrimRight(sentence, ".!?。！？")
		switch m := numbered.FindStringSubmatch(sentence); {
		case words == "" || !strings.ContainsAny(sentence[len(words):], "?？"):
			if len(questions) == 0 {
				intro += " " + sentence
			}
		case m != nil:
			questions = append(questions, m[1])
		default:
			questions = append(questions, sentence)
		}
	}
	return intro, questions
}
