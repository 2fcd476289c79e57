package planner

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const maxConclusion = 300 // characters

// sayConfidence is a last line in which a model says how sure it is.
var sayConfidence = regexp.MustCompile(`(?i)\n[ \t]*[*_]*confidence[*_]*[ \t]*[:=][*_ \t]*(\d{1,3}(?:\.\d+)?)[ \t]*(%?)[*_. \t]*$`)

// confidence takes what a model says of its confidence, as 0.8 or 80 %, off
// the end of an answer; 0: it says nothing that makes sense.
func confidence(answer string) (rest string, sure float64) {
	m := sayConfidence.FindStringSubmatchIndex(answer)
	if m == nil {
		return answer, 0
	}
	sure, err := strconv.ParseFloat(answer[m[2]:m[3]], 64)
	if m[4] < m[5] {
		sure /= 100
	}
	rest = strings.TrimSpace(answer[:m[0]])
	if err != nil || sure < 0 || sure > 1 || rest == "" {
		return answer, 0
	}
	return rest, sure
}

// markup is what Markdown puts in front of a line's text.
var markup = regexp.MustCompile(`^(?:#{1,6}\s+|[-*+]\s+|\d{1,3}[.)]\s+|>\s*)+`)

// firstSentence is the first sentence of a Markdown text, on one line: that of
// its first paragraph, or of a heading or an item where there is none.
func firstSentence(text string) string {
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
		first = oneLine(text)
	}
	return cut(oneLine(sentenceOf(first)), maxConclusion)
}

// apart returns the part of a thought that the conclusion does not repeat. Of a
// draft of the answer, which begins with the conclusion, that is nothing.
func apart(thought, conclusion string) string {
	thought = strings.TrimSpace(thought)
	if firstSentence(thought) == conclusion {
		return ""
	}
	return strings.TrimSpace(strings.TrimSuffix(thought, conclusion))
}

// sentenceOf cuts a line behind its first sentence. A full stop ends one when
// a space and no small letter follow, so that "e.g. this" does not.
func sentenceOf(s string) string {
	for i, r := range s {
		switch r {
		case '。', '！', '？':
			return s[:i+utf8.RuneLen(r)]
		case '.', '!', '?', '…':
			next := strings.TrimLeft(s[i+utf8.RuneLen(r):], `*_)"'”’`)
			if startsSentence(next) {
				return s[:len(s)-len(next)]
			}
		}
	}
	return s
}

func startsSentence(after string) bool {
	rest := strings.TrimLeft(after, " \t")
	if rest == after || rest == "" {
		return false
	}
	r, _ := utf8.DecodeRuneInString(rest)
	return !unicode.IsLower(r)
}
