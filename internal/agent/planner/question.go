package planner

import (
	"encoding/json"
	"regexp"
	"strings"
	"unicode"
)

// question is what the rules understand of a text.
type question struct {
	text     string   // as it was written, without mentions
	words    []string // all of them, lower case
	keywords []string // of these those that carry the matter
	files    []string // names of files as they were written
	lists    bool     // asks what there is
	places   bool     // speaks of folders or files
	numbers  []json.Number
	quoted   []string // what stands in quotation marks
}

// Bounds of what the rules take of a question.
const (
	maxQuestion = 8 << 10 // bytes that are read
	maxKeywords = 64
	maxNamed    = 32 // files, numbers and quotations, of each
)

// The patterns take time in proportion to a text. One that looks for the end of
// something that may have none, again and again, would not: see quotations.
var (
	fileName = regexp.MustCompile(`[\p{L}\p{N}_\-./\\]*[\p{L}\p{N}_\-]\.[A-Za-z][A-Za-z0-9]{0,5}\b`)
	mention  = regexp.MustCompile(`@[\p{L}\p{N}_.:\-]+`)
)

// stopWords carry no content; placeWords name the place and not the matter.
var (
	stopWords = wordSet(`a about after all am an and any are as at be been before but by can could did do does
		each explain find for from get give had has have hello help her hey hi him his how i if in info information into is it
		its know let like list look many may me mention mentions more most much my need no not of on or our out
		please read same say says search see she should show some summarise summarize summary tell than thank thanks that the
		their them then there these they this those to up us use want was we were what when where which who whom
		whose why will with would write written yes you your contents contain contains content inside open print exist
		s re ve d ll t m`)
	placeWords = wordSet(`folder folders directory directories dir dirs docs doc document documents documentation
		file files repo repository workspace project disk path available here everything things`)
	listWords = wordSet(`list show what which contents contents contain contains available are whats`)
)

func wordSet(s string) map[string]bool {
	set := make(map[string]bool)
	for _, w := range strings.Fields(s) {
		set[w] = true
	}
	return set
}

// parseQuestion reads a text, or the beginning of a long one.
func parseQuestion(text string) question {
	text = mention.ReplaceAllString(head(text, maxQuestion), " ")
	q := question{text: strings.TrimSpace(text), numbers: numbersIn(text), quoted: quotations(text)}
	q.quoted = q.quoted[:min(len(q.quoted), maxNamed)]
	for _, name := range fileName.FindAllString(text, maxNamed) {
		q.files = append(q.files, strings.Trim(name, "."))
	}
	text = fileName.ReplaceAllString(text, " ")
	seen := make(map[string]bool)
	q.words = words(text)
	for _, w := range q.words {
		if listWords[w] {
			q.lists = true
		}
		switch {
		case placeWords[w]:
			q.places = true
		case !stopWords[w] && !seen[w] && len([]rune(w)) > 1 && len(q.keywords) < maxKeywords:
			seen[w] = true
			q.keywords = append(q.keywords, w)
		}
	}
	return q
}

// words splits a text into lower-case words.
func words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '-'
	})
}

// stem cuts the endings that make one word look like two.
func stem(w string) string {
	for _, ending := range []string{"ments", "ment", "ings", "ing", "ations", "ation", "ies", "ers", "er", "ed", "es", "s", "y"} {
		if cut, ok := strings.CutSuffix(w, ending); ok && len(cut) >= 4 {
			return cut
		}
	}
	return w
}

// matches counts the keywords that occur in a text, each once.
func (q question) matches(text string) int {
	text = strings.ToLower(text)
	n := 0
	for _, k := range q.keywords {
		if strings.Contains(text, stem(k)) {
			n++
		}
	}
	return n
}

// subject is how an answer names what was asked for.
func (q question) subject() string {
	all := append(append([]string(nil), q.files...), q.keywords...)
	if len(all) == 0 {
		return "that"
	}
	return "“" + strings.Join(all, " ") + "”"
}
