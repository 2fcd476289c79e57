package planner

import (
	"encoding/json"
	"regexp"
	"strings"
	"unicode"
)

// question is a text as parsed by the rules.
type question struct {
	text     string   // the original text, without mentions
	words    []string // all words, lower case
	keywords []string // the words that carry the content
	files    []string // names of files as written
	lists    bool     // asks for a listing
	places   bool     // mentions folders or files
	numbers  []json.Number
	quoted   []string // texts in quotation marks
}

// Bounds of the parts that the rules extract from a question.
const (
	maxQuestion = 8 << 10 // bytes read
	maxKeywords = 64
	maxNamed    = 32 // files, numbers and quotations, each
)

// The patterns run in time proportional to the text. A pattern that searched
// repeatedly for a closing mark that may be missing would not: see quotations.
var (
	fileName = regexp.MustCompile(`[\p{L}\p{N}_\-./\\]*[\p{L}\p{N}_\-]\.[A-Za-z][A-Za-z0-9]{0,5}\b`)
	mention  = regexp.MustCompile(`@[\p{L}\p{N}_.:\-]+`)
)

// stopWords carry no content; placeWords name a place and not the subject.
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

// parseQuestion parses a text, or the first maxQuestion bytes of a long one.
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

// stem removes common endings, so that forms of the same word compare equal.
func stem(w string) string {
	for _, ending := range []string{"ments", "ment", "ings", "ing", "ations", "ation", "ies", "ers", "er", "ed", "es", "s", "y"} {
		if cut, ok := strings.CutSuffix(w, ending); ok && len(cut) >= 4 {
			return cut
		}
	}
	return w
}

// matches returns the number of keywords that occur in a text.
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

// subject returns the name of the question's subject, for use in an answer.
func (q question) subject() string {
	all := append(append([]string(nil), q.files...), q.keywords...)
	if len(all) == 0 {
		return "that"
	}
	return "“" + strings.Join(all, " ") + "”"
}
