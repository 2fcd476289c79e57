package planner

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/meup-protocol/meup/internal/kit/textutil"
)

// Bounds of the notes and the closing lines of one decision.
const (
	maxNotes   = 8    // of one text
	maxNote    = 2000 // characters of one text
	maxFactors = 12   // key factors, references and pieces of evidence
)

// noteLine matches a line of a text that begins a note or continues one.
var noteLine = regexp.MustCompile(`(?i)^[\s>*_#-]*(observation|hypothesis|question|reply to (e\d{1,4})|evidence for|evidence against)[*_]*\s*:[*_]*\s*(.*\S)\s*$`)

// noteConfidence matches a confidence at the end of a note.
var noteConfidence = regexp.MustCompile(`(?i)\s*[(\[]confidence[\s:=]*(\d(?:\.\d{1,4})?)[)\]][\s.]*$`)

// replyLine matches a line of a text that replies to a remark.
var replyLine = regexp.MustCompile(`(?i)^[\s>*_#-]*(reply to (e\d{1,4}))[*_]*\s*:[*_]*\s*(.*\S)\s*$`)

// plainNotes separates the notes in a text from the rest: the plain form for
// models that do not call Share.
func plainNotes(text string) (rest string, notes []Note) { return notesOf(text, noteLine) }

// plainReplies separates the replies to remarks in an answer from the rest. An
// answer that consists only of replies is kept.
func plainReplies(answer string) (rest string, replies []Note) {
	rest, replies = notesOf(answer, replyLine)
	if rest == "" {
		for _, r := range replies {
			rest += r.Text + "\n\n"
		}
	}
	return strings.TrimSpace(rest), replies
}

// notesOf separates the lines that match a pattern from the rest of a text.
func notesOf(text string, pattern *regexp.Regexp) (rest string, notes []Note) {
	var kept []string
	for line := range strings.Lines(text) {
		m := pattern.FindStringSubmatch(strings.TrimRight(line, "\r\n"))
		if len(m) > 3 && addNote(&notes, strings.ToLower(m[1]), m[2], m[3]) {
			continue
		}
		kept = append(kept, line)
	}
	return strings.TrimSpace(strings.Join(kept, "")), notes
}

// addNote adds a labeled line to the notes. It returns false for a line that
// does not belong to a note.
func addNote(notes *[]Note, label, id, text string) bool {
	switch {
	case strings.HasPrefix(label, "evidence"):
		if n := len(*notes); n > 0 && (*notes)[n-1].Kind == Hypothesis {
			list := &(*notes)[n-1].For
			if label == "evidence against" {
				list = &(*notes)[n-1].Against
			}
			*list = listOf(text, ";")
			return true
		}
		return false
	case len(*notes) == maxNotes:
		return false
	}
	note := Note{Kind: NoteKind(label)}
	if id != "" {
		note.Kind, note.ReplyTo = Reply, strings.ToLower(id)
	}
	if m := noteConfidence.FindStringSubmatchIndex(text); m != nil {
		if sure, err := strconv.ParseFloat(text[m[2]:m[3]], 64); err == nil && sure <= 1 && m[0] > 0 {
			note.Confidence, text = &sure, text[:m[0]]
		}
	}
	note.Text = textutil.ShortenChars(text, maxNote)
	*notes = append(*notes, note)
	return true
}

// listOf splits a line into at most maxFactors texts.
func listOf(line, separators string) []string {
	list := trimmed(strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(separators, r) }))
	return list[:min(len(list), maxFactors)]
}

// closing holds the labeled lines at the end of an answer.
type closing struct {
	confidence     float64 // 0: none
	keyFactors     []string
	recommendation string
	references     []string
}

var closingLine = regexp.MustCompile(`(?i)^[\s>*_-]*(key factors|recommendation|references)[*_]*\s*:[*_]*\s*(.*\S)\s*$`)

// emptyLine matches a closing line without a value.
var emptyLine = regexp.MustCompile(`(?i)^[\s>*_#-]*(?:key factors|recommendation|references|confidence(?: level)?)[*_]*\s*:[*_\s]*(?:none|n/a|unknown|-|—)?[*_.\s]*$`)

// factorsHeading and factorLine match the key factors in the form of a list.
var (
	factorsHeading = regexp.MustCompile(`(?i)^[\s>*_#]*key factors[*_]*\s*:?[*_\s]*$`)
	factorLine     = regexp.MustCompile(`^\s*(?:[-*+•]|\d{1,2}[.)])\s+(.*\S)\s*$`)
)

// ids matches a list of ids that a model was shown.
var ids = regexp.MustCompile(`^(e\d{1,4})(?:[\s,;]+e\d{1,4})*\.?$`)

// readClosing reads the labeled lines at the end of an answer. It removes the
// confidence, the references and labels without a value, which are not text for
// people.
func readClosing(answer string) (rest string, c closing) {
	var kept []string // last line first
	for body := answer; ; {
		body = strings.TrimRight(body, " \t\r\n")
		if shorter, sure := confidence(body); sure > 0 && c.confidence == 0 {
			body, c.confidence = shorter, sure
			answer = joinLines(body, kept)
			continue
		}
		if shorter, list := factorList(body); c.keyFactors == nil && list != nil {
			kept = append(kept, strings.TrimSpace(body[len(shorter):]))
			body, c.keyFactors = shorter, list
			continue
		}
		start := strings.LastIndexByte(body, '\n')
		line := body[start+1:]
		m := closingLine.FindStringSubmatch(line)
		empty := emptyLine.MatchString(line)
		if start < 0 || m == nil && !empty || strings.TrimSpace(body[:start]) == "" {
			return answer, c
		}
		body = body[:start]
		if empty {
			answer = joinLines(strings.TrimRight(body, " \t\r\n"), kept)
			continue
		}
		switch label := strings.ToLower(m[1]); {
		case label == "key factors" && c.keyFactors == nil:
			c.keyFactors = listOf(m[2], ";")
			kept = append(kept, line)
		case label == "recommendation" && c.recommendation == "":
			c.recommendation = textutil.ShortenChars(m[2], maxNote)
			kept = append(kept, line)
		case label == "references" && c.references == nil && ids.MatchString(strings.ToLower(m[2])):
			c.references = listOf(strings.ToLower(m[2]), ",;. \t")
			answer = joinLines(strings.TrimRight(body, " \t\r\n"), kept)
		default:
			return answer, c
		}
	}
}

// factorList reads key factors that are a list under a heading of their own at
// the end of an answer, and returns the text before the heading.
func factorList(body string) (before string, list []string) {
	for rest := body; len(list) <= maxFactors; {
		start := strings.LastIndexByte(rest, '\n')
		if start < 0 || strings.TrimSpace(rest[:start]) == "" {
			break
		}
		line := rest[start+1:]
		rest = rest[:start]
		if m := factorLine.FindStringSubmatch(line); m != nil {
			list = append(list, textutil.ShortenChars(m[1], maxNote))
			continue
		}
		switch {
		case strings.TrimSpace(line) == "":
			continue
		case len(list) > 0 && factorsHeading.MatchString(line):
			slices.Reverse(list)
			return rest, trimmed(list[:min(len(list), maxFactors)])
		}
		break
	}
	return body, nil
}

// joinLines appends lines, last line first, as paragraphs.
func joinLines(text string, kept []string) string {
	for i := len(kept) - 1; i >= 0; i-- {
		text += "\n\n" + kept[i]
	}
	return text
}
