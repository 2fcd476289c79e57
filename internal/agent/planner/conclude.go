package planner

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/meup-protocol/meup/internal/kit/textutil"
)

const maxConclusion = 300 // characters

// confidenceLine matches a last line with the model's confidence: a number or a
// word, and a remark in parentheses.
var confidenceLine = regexp.MustCompile(`(?i)\n[ \t>*_#-]*confidence(?: level)?[*_]*[ \t]*[:=][*_ \t]*` +
	`(?:(\d{1,3}(?:\.\d+)?)[ \t]*(%?)|(very high|high|medium|moderate|low|very low))[*_. \t]*(?:\([^()\n]{0,200}\))?[*_. \t]*$`)

// wordConfidence are the numbers for confidences that a model gives as a word.
var wordConfidence = map[string]float64{
	"very high": 0.95, "high": 0.9, "medium": 0.6, "moderate": 0.6, "low": 0.3, "very low": 0.1,
}

// confidence removes a model's confidence, such as 0.8, 80 % or high, from the
// end of an answer. sure is 0 if there is none or it is invalid.
func confidence(answer string) (rest string, sure float64) {
	m := confidenceLine.FindStringSubmatchIndex(answer)
	if m == nil {
		return answer, 0
	}
	var err error
	if m[6] >= 0 {
		sure = wordConfidence[strings.ToLower(answer[m[6]:m[7]])]
	} else {
		sure, err = strconv.ParseFloat(answer[m[2]:m[3]], 64)
	}
	if m[4] < m[5] {
		sure /= 100
	}
	rest = strings.TrimSpace(answer[:m[0]])
	if err != nil || sure < 0 || sure > 1 || rest == "" {
		return answer, 0
	}
	return rest, sure
}

// setAnswer sets the answer, the conclusion, and what the lines at the end of the
// answer give.
func (d *Decision) setAnswer(text string) {
	var c closing
	d.Answer, c = readClosing(text)
	d.Conclusion = FirstSentence(d.Answer)
	d.Confidence, d.KeyFactors, d.Recommendation, d.References = c.confidence, c.keyFactors, c.recommendation, c.references
}

// markup matches the Markdown markup at the beginning of a line.
var markup = regexp.MustCompile(`^(?:#{1,6}\s+|[-*+]\s+|\d{1,3}[.)]\s+|>\s*)+`)

// FirstSentence returns the first sentence of a Markdown text on one line: of
// its first paragraph, or of its first heading or item if it has no paragraph.
func FirstSentence(text string) string {
	first := ""
	fenced := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~") {
			fenced = !fenced
			continue
		}
		plain := strings.Trim(markup.ReplaceAllString(line, ""), "* _|-=")
		if fenced || plain == "" {
			continue
		}
		if first == "" {
			first = plain
		}
		if !markup.MatchString(line) {
			first = plain
			break
		}
	}
	if first == "" {
		first = OneLine(text)
	}
	return textutil.ShortenChars(OneLine(sentenceOf(first)), maxConclusion)
}

// withoutConclusion returns a thought without the conclusion. For a draft of the answer,
// which begins with the conclusion, it returns "".
func withoutConclusion(thought, conclusion string) string {
	thought = strings.TrimSpace(thought)
	if FirstSentence(thought) == conclusion {
		return ""
	}
	return strings.TrimSpace(strings.TrimSuffix(thought, conclusion))
}

// sentenceOf returns the first sentence of a line. A full stop ends a sentence
// if a space and no lower-case letter follow, so "e.g. this" is not split.
func sentenceOf(s string) string {
	for i, r := range s {
		switch r {
		case '。', '！', '？':
			return s[:i+utf8.RuneLen(r)]
		case '.', '!', '?', '…':
			next := strings.TrimLeft(s[i+utf8.RuneLen(r):], `*_)"'”’`)
			word := strings.TrimLeft(next, " \t")
			first, _ := utf8.DecodeRuneInString(word)
			if word != "" && word != next && !unicode.IsLower(first) {
				return s[:len(s)-len(next)]
			}
		}
	}
	return s
}
