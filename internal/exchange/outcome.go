package exchange

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/protocol"
)

// maxError bounds the reason of an error or a rejection that is shown, in characters.
const maxError = 200

// maxDocument bounds a text that is parsed as JSON, in bytes.
const maxDocument = 256 << 10

// Result describes the payload of an mcp.response in a few words, such as "3 documents
// found", "42 lines" or "error: no such file". It reveals counts and the text of an error,
// but nothing else of a result, except in [ShownResult].
type Result struct {
	Failed bool
	Text   string // of an error, not shortened; else the description; empty: nothing to describe
	Bytes  int    // of the result or the error as JSON
}

// String returns the description on one line: empty for a success without
// countable content.
func (r Result) String() string {
	if !r.Failed {
		return r.Text
	}
	if text := OutcomeReason(r.Text); text != "" {
		return "error: " + text
	}
	return "error"
}

// OutcomeReason shortens the reason of an error or a rejection to one line.
func OutcomeReason(text string) string {
	return textutil.ShortenChars(strings.Join(strings.Fields(text), " "), maxError)
}

// JoinOutcome combines the state of a call (success, rejected), the participant that
// decided it and the description of its response: "3 documents found", "fulfilled
// by bob: 42 lines". by and text may be empty.
func JoinOutcome(state, by, text string) string {
	if text != "" && by == "" && (state == "success" || state == "error") {
		return text
	}
	if by != "" {
		state += " by " + by
	}
	if text != "" {
		state += ": " + text
	}
	return state
}

// ReadResult describes the payload of an mcp.response.
func ReadResult(payload protocol.Value) Result {
	r, _ := read(payload)
	return r
}

// read also returns the text of the content.
func read(payload protocol.Value) (r Result, text string) {
	if fault := payload.Get("error"); fault.Exists() {
		text = fault.Text()
		if text == "" {
			text = fault.Get("message").Text()
		}
		return Result{Failed: true, Text: text, Bytes: len(fault.Raw())}, text
	}
	answer := payload.Get("result")
	r = Result{Failed: answer.Get("isError").Bool(), Bytes: len(answer.Raw())}
	text, kinds := content(answer)
	switch {
	case r.Failed:
		r.Text = text
	case text == "" && answer.Get("content").Len() > 0:
		r.Text = kinds
	default:
		r.Text = describe(answer, text)
	}
	return r, text
}

// maxLine bounds a line that ShownResult returns, in characters.
const maxLine = 120

// ShownResult describes the payload of an mcp.response to a person who may read it: a short line
// itself, in quotation marks, in place of the number of its characters.
func ShownResult(payload protocol.Value) string {
	r, text := read(payload)
	if r.Failed || !characters.MatchString(r.Text) {
		return r.String()
	}
	line := strings.TrimRight(text, "\r\n")
	if utf8.RuneCountInString(line) > maxLine || strings.TrimSpace(line) == "" {
		return r.Text
	}
	return "“" + strings.NewReplacer("“", "'", "”", "'").Replace(line) + "”"
}

var characters = regexp.MustCompile(`^[0-9,]+ characters?$`)

// content joins the texts of a result by line breaks, and counts its other parts:
// "2 images".
func content(answer protocol.Value) (text, others string) {
	var texts []string
	n, noun := 0, ""
	for part := range answer.Get("content").Elements {
		kind := part.Get("type").Text()
		if kind == "text" {
			texts = append(texts, part.Get("text").Text())
			continue
		}
		if kind == "resource_link" {
			kind = "resource"
		}
		n++
		if kind != "image" && kind != "audio" && kind != "resource" || n > 1 && kind != noun {
			kind = "item"
		}
		noun = kind
	}
	if n == 0 {
		return strings.Join(texts, "\n"), ""
	}
	return strings.Join(texts, "\n"), found(n, noun+"s", "")
}

// describe counts the elements, the lines or the characters of a success.
func describe(answer protocol.Value, text string) string {
	if s := elements(answer.Get("structuredContent")); s != "" {
		return s
	}
	if text == "" {
		return elements(answer)
	}
	if len(text) <= maxDocument && (text[0] == '{' || text[0] == '[') {
		if doc, err := protocol.ParseJSON([]byte(text), protocol.MaxDepth); err == nil {
			if s := elements(doc.Root()); s != "" {
				return s
			}
		}
	}
	if m := announced.FindStringSubmatch(text); m != nil {
		if n, err := strconv.Atoi(m[1] + m[3]); err == nil {
			return found(n, strings.ToLower(m[2]+m[4]), " found")
		}
	}
	if lines := strings.Count(strings.TrimRight(text, "\r\n"), "\n") + 1; lines > 1 {
		return found(lines, "lines", "")
	}
	return found(utf8.RuneCountInString(text), "characters", "")
}

// announced matches the count that a text begins with: "Found 3 documents", or "12 files
// matched".
var announced = regexp.MustCompile(`^(?i:found ([0-9]{1,9}) ([a-z]{2,32})\b|([0-9]{1,9}) ([a-z]{2,32}) (?:found|matched)\b)`)

// elements counts the elements of an array, or of the only array of an object,
// which is called by its name: "3 documents found".
func elements(v protocol.Value) string {
	if v.Type() == protocol.TypeArray {
		return found(v.Len(), "items", " found")
	}
	arrays, n, noun := 0, 0, "items"
	for key, x := range v.Members {
		if x.Type() != protocol.TypeArray || key.Text() == "content" {
			continue
		}
		arrays++
		n, noun = x.Len(), "items"
		if name := key.Text(); plural.MatchString(name) {
			noun = strings.ToLower(strings.ReplaceAll(name, "_", " "))
		}
	}
	if arrays != 1 {
		return ""
	}
	return found(n, noun, " found")
}

// plural matches a name that can be used as a noun.
var plural = regexp.MustCompile(`^[A-Za-z][A-Za-z_]{0,30}[A-RT-Za-rt-z]s$`)

// found counts things that a plural names: "1 match found".
func found(n int, plural, end string) string {
	if n == 1 {
		for _, e := range endings {
			stem, ok := strings.CutSuffix(plural, e[0])
			if ok {
				plural = stem + e[1]
				break
			}
		}
	}
	return textutil.Thousands(int64(n)) + " " + plural + end
}

// endings are endings of plurals with their singulars.
var endings = [][2]string{{"ies", "y"}, {"ches", "ch"}, {"shes", "sh"}, {"sses", "ss"}, {"xes", "x"}, {"s", ""}}
