package planner

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/meup-protocol/meup/internal/textutil"

	"github.com/meup-protocol/meup/internal/agent/contextwindow"
)

// genericWords holds words in tool names that do not distinguish a tool from
// others.
var genericWords = wordSet(`get fetch show list read find search query lookup ask retrieve do make tool the a an of for to by with current two numbers`)

// distinctiveWords returns the words of a tool's name that distinguish it from others.
func distinctiveWords(t *Tool) []string {
	return slices.DeleteFunc(nameParts(t.Name), func(p string) bool { return genericWords[p] })
}

// sameMeaning lists synonyms in arithmetic, with their signs.
var sameMeaning = []struct {
	words map[string]bool
	sign  *regexp.Regexp
}{
	{wordSet("add adds adding sum total plus addition"), regexp.MustCompile(`\d\s*\+\s*-?\d`)},
	{wordSet("subtract difference minus subtraction"), regexp.MustCompile(`\d\s+[-−]\s+\d`)},
	{wordSet("multiply product times multiplied multiplication"), regexp.MustCompile(`\d\s*[*×]\s*-?\d`)},
	{wordSet("divide quotient divided division"), regexp.MustCompile(`\d\s*[/÷]\s*-?\d`)},
}

// mentions reports whether the question has the word, another form of it, or a
// synonym.
func (q *question) mentions(word string) bool {
	if slices.ContainsFunc(q.words, func(w string) bool { return stem(w) == stem(word) }) {
		return true
	}
	for _, same := range sameMeaning {
		if same.words[word] && (same.sign.MatchString(q.text) || slices.ContainsFunc(q.words, func(w string) bool { return same.words[w] })) {
			return true
		}
	}
	return false
}

// direct calls the tool that the question names, if the question has all its
// arguments, and finishes when the result is there.
func (r *ruleRun) direct() (Decision, bool) {
	best, bestScore := contextwindow.Call{}, 0
	for i := range r.box.query {
		t := &r.box.query[i]
		words := distinctiveWords(t)
		if len(words) == 0 || slices.ContainsFunc(words, func(w string) bool { return !r.q.mentions(w) }) {
			continue
		}
		f := r.fill(t)
		score := len(words) + f.numbers + f.chosen
		if c := f.call("The question asks for what " + code(t.Name) + " does."); len(c) > 0 && score > bestScore {
			best, bestScore = c[0], score
		}
	}
	if bestScore == 0 {
		return Decision{}, false
	}
	if res, done := r.known.results[signature(best)]; done {
		return r.answerWith(res), res.OK()
	}
	if !r.mayAct() {
		return Decision{}, false
	}
	return r.use("", []contextwindow.Call{best})
}

// force calls the tool that the caller requires.
func (r *ruleRun) force() (Decision, error) {
	t := r.s.named(r.s.Forced)
	if t == nil {
		return Decision{}, fmt.Errorf("%w: there is no tool %q", ErrForced, r.s.Forced)
	}
	f := r.fill(t)
	args, err := f.arguments()
	if err != nil {
		return Decision{}, fmt.Errorf("%w: %s: %w", ErrForced, t.Name, err)
	}
	c := contextwindow.Call{Tool: t.Name, Arguments: args, Reason: "I was told to call " + code(t.Name) + " now."}
	return Decision{Action: contextwindow.UseTools, Source: ByForce, Calls: []contextwindow.Call{c}}, nil
}

// named returns the tool of that name, or nil.
func (s *State) named(name string) *Tool {
	if name == Subproblem && s.Depth < s.MaxDepth {
		t := subproblemTool
		return &t
	}
	for i := range s.Tools {
		if s.Tools[i].Name == name {
			return &s.Tools[i]
		}
	}
	return nil
}

func (r *ruleRun) answerWith(res contextwindow.Result) Decision {
	text := strings.TrimSpace(res.Text)
	if text == "" {
		return finish(code(res.Tool)+" returned nothing about "+r.q.subject()+".", "The tool returned nothing.", 0.3)
	}
	return finish(code(res.Tool)+" says:\n\n"+quote(textutil.Shorten(text, maxOutput)), code(res.Tool)+" had an answer.", 0.6)
}
