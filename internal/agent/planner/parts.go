package planner

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/meup-protocol/meup/internal/textutil"

	"github.com/meup-protocol/meup/internal/agent/contextwindow"
)

const (
	maxParts = 8   // a question of more parts is not divided
	maxIntro = 300 // characters of the text before the parts
)

// part is a part of a question.
type part struct {
	heading string // as written
	ask     string // understandable without the rest
}

var numbered = regexp.MustCompile(`^\s*\(?\d{1,2}[.)]\s+(\S.*)$`)

// partsOf finds the parts of a question: the items of a numbered list, or else
// the sentences that end with a question mark. It returns nil for fewer than
// two.
func partsOf(text string) []part {
	intro, asked := listedParts(text)
	if len(asked) < 2 {
		intro, asked = askedParts(text)
	}
	if len(asked) < 2 || len(asked) > maxParts {
		return nil
	}
	if intro = oneLine(intro); len([]rune(intro)) > maxIntro {
		intro = ""
	}
	var out []part
	seen := make(map[string]bool)
	for _, a := range asked {
		a = oneLine(a)
		if a == "" || seen[a] {
			continue
		}
		seen[a] = true
		out = append(out, part{heading: a, ask: strings.TrimSpace(intro + " " + a)})
	}
	if len(out) < 2 {
		return nil
	}
	return out
}

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

// askedParts returns the sentences that ask, and the text before the first.
func askedParts(text string) (intro string, questions []string) {
	from := 0
	for _, at := range sentenceEnds(text) {
		sentence := strings.TrimSpace(text[from:at.to])
		from = at.to
		switch {
		case at.asks:
			if m := numbered.FindStringSubmatch(sentence); m != nil {
				sentence = m[1]
			}
			questions = append(questions, sentence)
		case len(questions) == 0:
			intro += " " + sentence
		}
	}
	return intro, questions
}

// divide asks for the parts of a question, all in one step, and joins their
// answers. If none of them got an answer, the question is handled as a whole.
func (r *ruleRun) divide() (Decision, bool) {
	if r.s.named(Subproblem) == nil {
		return Decision{}, false
	}
	parts := partsOf(r.q.text)
	var calls []contextwindow.Call
	answered := 0
	for _, p := range parts {
		c := p.call()
		res, done := r.known.results[signature(c)]
		switch {
		case !done:
			calls = append(calls, c)
		case res.OK():
			answered++
		}
	}
	if len(parts) > 0 && r.mayAct() {
		if d, ok := r.use(fmt.Sprintf("The question has %s. I look into each by itself.", textutil.Count(len(parts), "part")), calls); ok {
			return d, true
		}
	}
	if answered == 0 {
		return Decision{}, false
	}
	return r.join(parts, answered), true
}

func (p part) call() contextwindow.Call {
	return contextwindow.Call{
		Tool:      Subproblem,
		Arguments: marshal(map[string]string{"question": p.ask}),
		Reason:    "This part of the question can be looked into by itself: " + textutil.Shorten(p.heading, 200),
	}
}

// join puts the answers of the parts under their questions.
func (r *ruleRun) join(parts []part, answered int) Decision {
	var b strings.Builder
	for _, p := range parts {
		fmt.Fprintf(&b, "### %s\n\n", p.heading)
		res, done := r.known.results[signature(p.call())]
		switch text := strings.TrimSpace(res.Text); {
		case !done:
			b.WriteString("There was no time left to look into this.")
		case !res.OK():
			b.WriteString("I have no answer to this: " + strings.TrimRight(firstLine(res.Error, 300), ". ") + ".")
		case text == "":
			b.WriteString("Nothing came of this.")
		default:
			b.WriteString(text)
		}
		b.WriteString("\n\n")
	}
	conclusion := fmt.Sprintf("I have answers to %d of the %d parts of the question.", answered, len(parts))
	if answered == len(parts) {
		conclusion = fmt.Sprintf("I have an answer to each of the %d parts of the question.", len(parts))
	}
	return finish(strings.TrimSpace(b.String()), conclusion, 0)
}
