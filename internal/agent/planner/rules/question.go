package rules

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/kit/textutil"
)

// question is a parsed question.
type question struct {
	text     string            // as written, without mentions
	words    []string          // all words, lower case
	keywords []string          // the words that carry the content, of a follow-up also those that it refers to
	own      []string          // the keywords without those
	about    []string          // the keywords that a follow-up refers to
	files    []string          // names of files as written
	quoted   []string          // texts in quotation marks
	assigned map[string]string // values of "name: value" and "name=value", by lower-case name
	numbers  []json.Number
	lists    bool // asks for a listing
	seeks    bool // asks for a search
	places   bool // mentions folders or files
}

// Bounds of the parts that are extracted from a question.
const (
	maxQuestion = 8 << 10 // bytes read
	maxKeywords = 64
	maxNamed    = 32 // files, numbers, quotations and assignments, each
)

// The patterns run in time proportional to the text. A pattern that searches
// repeatedly for a closing mark that may be missing does not: see quotations.
var (
	fileName     = regexp.MustCompile(`[\p{L}\p{N}_\-./\\]*[\p{L}\p{N}_\-]\.[A-Za-z][A-Za-z0-9]{0,7}\b`)
	mention      = regexp.MustCompile(`@[\p{L}\p{N}_.:\-]+`)
	number       = regexp.MustCompile(`(^|[\s(=+*/,:])(-?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?)\b`)
	asksForFiles = regexp.MustCompile(`(?i)\b(?:which|what) (?:(?:files|documents|docs|pages)\b|(?:file|document|page)\b(?: (?:contain|describe|explain|ha[sv]|mention|sa[iy]|speak|tell|is\b|are\b)|[?.]|$))`)
	assignment   = regexp.MustCompile(`(?:^|[\s,;(])([\p{L}\p{N}_.\-]+)\s?[:=]\s*("[^"\n]+"|[^\s,;)]+)`)
)

// stopWords carry no content; placeWords name a place and not the subject.
var (
	stopWords = wordSet(`a about after all am an and any are as at be been before but by can could did do does
		each explain find for from get give had has have hello help her hey hi him his how i if in info information into is it
		its know let like list look many may me mention mentions more most much my need no not of on or our out
		please read same say says search see she should show some somebody someone something speak summarise summarize summary tell than thank thanks that the
		their them then there these they this those to up us use want was we were what when where which who whom
		whose why will with would write written yes you your contents contain contains content inside open print exist
		s re ve d ll t m`)
	placeWords = wordSet(`folder folders directory directories dir dirs docs doc document documents documentation
		file files repo repository workspace project available here everything things`)
	listWords = wordSet(`list show what which contents contents contain contains available are whats`)
	seekWords = wordSet(`find search look list show read explain`)
	askWords  = wordSet(`what whats who where which`) // first in a question
)

func wordSet(s string) map[string]bool {
	set := make(map[string]bool)
	for _, w := range strings.Fields(s) {
		set[w] = true
	}
	return set
}

// spaceOperators separates numbers from operators.
var spaceOperators = strings.NewReplacer("+", " + ", "*", " * ", "/", " / ")

// parse parses a text, or the first maxQuestion bytes of a long one.
func parse(text string) question {
	text = mention.ReplaceAllString(strings.ToValidUTF8(textutil.Truncate(text, maxQuestion), ""), " ")
	q := question{text: strings.TrimSpace(text), quoted: quotations(text), assigned: make(map[string]string)}
	for _, m := range assignment.FindAllStringSubmatch(text, maxNamed) {
		q.assigned[strings.ToLower(m[1])] = strings.Trim(m[2], `"`)
	}
	for _, m := range number.FindAllStringSubmatch(spaceOperators.Replace(text), maxNamed) {
		if f, err := strconv.ParseFloat(strings.ReplaceAll(m[2], ",", ""), 64); err == nil {
			q.numbers = append(q.numbers, json.Number(strconv.FormatFloat(f, 'f', -1, 64)))
		}
	}
	for _, name := range fileName.FindAllString(text, maxNamed) {
		q.files = append(q.files, strings.Trim(name, "."))
	}
	q.words = words(fileName.ReplaceAllString(text, " "))
	var letters []string // words of one letter
	for _, w := range q.words {
		q.lists = q.lists || listWords[w]
		q.seeks = q.seeks || seekWords[w]
		q.places = q.places || placeWords[w]
		switch {
		case placeWords[w] || stopWords[w] || stopWords[strings.TrimSuffix(w, "s")] || len(q.keywords) == maxKeywords || slices.Contains(q.keywords, w):
		case utf8.RuneCountInString(w) == 1:
			letters = append(letters, w)
		default:
			q.keywords = append(q.keywords, w)
		}
	}
	q.seeks = q.seeks || len(q.words) > 0 && askWords[q.words[0]]
	if q.seeks && len(q.keywords) == 0 {
		q.keywords = letters[:min(len(letters), maxKeywords)]
	}
	q.own = q.keywords
	return q
}

var (
	pronouns     = wordSet(`it its they them their he him his she her`)
	conjunctions = wordSet(`and but or so then also`)
	verbs        = wordSet(`is are was were do does did has have had can could may must should will would`)
	openers      = wordSet(`why how when where who`)
)

// follows reports whether a text may refer to the question before it: "and who may change
// it?", "why?", "and in Python?".
func (q *question) follows() bool {
	if len(q.words) == 0 || len(q.own) > 2 || len(q.files) > 0 || slices.Contains(q.words, "you") {
		return false
	}
	first := q.words[0]
	switch {
	case q.hasPronoun():
		return q.wants() || conjunctions[first] || first == "tell"
	case conjunctions[first]:
		return !slices.ContainsFunc(q.words, func(w string) bool { return verbs[w] })
	}
	return openers[first] && len(q.own) == 0 && !q.places
}

func (q *question) hasPronoun() bool {
	return slices.ContainsFunc(q.words, func(w string) bool { return pronouns[w] })
}

// resolve adds the keywords and files of the question that a follow-up refers to: the last
// one of its asker in the history that was answered, or the one that a pronoun in it refers to
// in turn.
func (q *question) resolve(history []llm.Message, asker string) {
	if !q.follows() {
		return
	}
	answered := false
	for i, m := range slices.Backward(history) {
		sender, text, _ := strings.Cut(m.Text, ": ")
		if m.Role == llm.Assistant {
			answered = true
		} else if answered && (asker == "" || sender == asker) {
			before := parse(text)
			before.resolve(history[:i], asker)
			q.about = before.keywords
			if len(before.about) > 0 && q.hasPronoun() {
				q.about = before.about
			}
			q.keywords = unique(slices.Concat(q.about, q.own))
			q.keywords = q.keywords[:min(len(q.keywords), maxKeywords)]
			q.files = before.files
			return
		}
	}
}

// quotations returns the texts in one of three kinds of quotation marks, each
// on one line, in their order. An apostrophe is not a quotation mark.
func quotations(text string) []string {
	closing := map[rune]string{'"': `"`, '`': "`", '“': "”"}
	var out []string
	for line := range strings.Lines(text) {
		for len(out) < maxNamed {
			i := strings.IndexAny(line, "\"`“")
			if i < 0 {
				break
			}
			open, size := utf8.DecodeRuneInString(line[i:])
			line = line[i+size:]
			if inner, rest, found := strings.Cut(line, closing[open]); found && inner != "" {
				out = append(out, inner)
				line = rest
			}
		}
	}
	return out
}

// asks reports whether the question has content that a search could find, as
// opposed to a greeting.
func (q *question) asks() bool {
	return len(q.keywords) > 0 || len(q.files) > 0 || len(q.numbers) > 0 || q.places
}

// wants reports whether the question asks for something that it does not name.
func (q *question) wants() bool { return q.seeks || strings.ContainsAny(q.text, "?？") }

// matches returns the number of keywords that occur in a text.
func (q *question) matches(text string) int {
	text = strings.ToLower(text)
	n := 0
	for _, k := range q.keywords {
		if strings.Contains(text, textutil.Stem(k)) {
			n++
		}
	}
	return n
}

// names reports whether the question has the word or another form of it.
func (q *question) names(word string) bool {
	return slices.ContainsFunc(q.words, func(w string) bool { return textutil.Stem(w) == textutil.Stem(word) })
}

func (q *question) namesFile(p string) bool {
	return slices.ContainsFunc(q.files, func(name string) bool { return sameFile(p, name) })
}

// isAboutPart reports whether the question names files, and something that parts of them may be
// about.
func (q *question) isAboutPart() bool { return len(q.files) > 0 && len(q.keywords) > 0 }

// choice returns the longest value of an enumeration that the question names.
func (q *question) choice(enum []any) string {
	text := " " + strings.Join(q.words, " ") + " "
	best := ""
	for _, v := range enum {
		s, _ := v.(string)
		if name := strings.Join(words(s), " "); len(s) > len(best) && name != "" && strings.Contains(text, " "+name+" ") {
			best = s
		}
	}
	return best
}

// terms returns the files and keywords.
func (q *question) terms() []string { return slices.Concat(q.files, q.keywords) }

// subject returns the name of the question's subject, for use in an answer.
func (q *question) subject() string {
	if len(q.terms()) == 0 {
		return "that"
	}
	return "“" + strings.Join(q.terms(), " ") + "”"
}

// words splits a text into lower-case words.
func words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '-'
	})
}
