package redact

import "bytes"

// marks finds the marks of the pipeline: [redacted:RULE], and [marked:RULE text] of
// a sanitizer. A rule may match a part of a mark, which must not be masked again.
type marks struct {
	rules map[string]bool // that can be in a mark; shared by all stages
	// marked includes [marked:…]. Only the sanitizer sets it; for other stages its
	// content is ordinary text.
	marked bool
}

const (
	redactedMark = "[redacted:"
	markedMark   = "[marked:"
	maxMark      = 256 // bytes that no mark is longer than
)

// hold reports whether text[start:end] is within a mark.
func (m marks) hold(text []byte, start, end int) bool {
	from := max(0, start-maxMark)
	open := bytes.LastIndexByte(text[from:min(start+1, len(text))], '[')
	if open < 0 {
		return false
	}
	mark := text[from+open:]
	mark = mark[:min(len(mark), maxMark)]
	size := bytes.IndexByte(mark, ']')
	if size < 0 || from+open+size+1 < end {
		return false
	}
	mark = mark[:size]
	if rule, ok := bytes.CutPrefix(mark, []byte(redactedMark)); ok {
		return m.rules[string(rule)]
	}
	rule, ok := bytes.CutPrefix(mark, []byte(markedMark))
	rule, _, _ = bytes.Cut(rule, []byte(" "))
	return ok && m.marked && m.rules[string(rule)]
}
