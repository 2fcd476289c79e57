package openai

import "strings"

const (
	openTag  = "<think>"
	closeTag = "</think>"
)

// tagPairs are the tags around thinking: of DeepSeek's and Qwen's models, of Mistral's, of
// prompts that ask for them, of Seed's and of Kimi's. Their letters have any case.
var tagPairs = [][2]string{
	{openTag, closeTag}, {"[THINK]", "[/THINK]"}, {"<thinking>", "</thinking>"}, {"<reasoning>", "</reasoning>"},
	{"<seed:think>", "</seed:think>"}, {"◁think▷", "◁/think▷"},
}

// inPrompts is how many of tagPairs have an opening tag that templates put into the prompt.
const inPrompts = 2

// thinkTags splits content that begins with one of tagPairs and a text between them, once
// or several times, into thinking and text. Later tags are
// part of the answer. A tag may arrive in pieces: a possible beginning of a tag is
// held back until it is complete.
type thinkTags struct {
	text, thinking func(string)

	state    tagState
	closing  string // the tag that ends the thinking
	held     string
	thoughts int // tags opened
}

type tagState int

const (
	atStart tagState = iota // only space and thinking so far
	inThinking
	inText
)

func (t *thinkTags) write(s string) {
	if s == "" {
		return
	}
	s = t.held + s
	t.held = ""
	for s != "" {
		switch t.state {
		case atStart:
			s = t.start(s)
		case inThinking:
			s = t.think(s)
		default:
			t.text(s)
			return
		}
	}
}

// start finds an opening tag and returns the text to process next.
func (t *thinkTags) start(s string) string {
	trimmed := strings.TrimLeft(s, " \t\r\n")
	for _, tag := range tagPairs {
		if len(trimmed) >= len(tag[0]) && strings.EqualFold(trimmed[:len(tag[0])], tag[0]) {
			rest := trimmed[len(tag[0]):]
			t.state, t.closing = inThinking, tag[1]
			t.thoughts++
			if t.thoughts > 1 {
				t.thinking("\n\n")
			}
			return rest
		}
		if len(trimmed) < len(tag[0]) && strings.EqualFold(tag[0][:len(trimmed)], trimmed) {
			t.held = s
			return ""
		}
	}
	t.state = inText
	if t.thoughts > 0 {
		return trimmed // drop the space after the thinking
	}
	return s
}

func (t *thinkTags) think(s string) string {
	before, after, closed := cutFold(s, t.closing)
	if closed {
		t.thinking(before)
		t.state = atStart
		return after
	}
	n := partial(s, t.closing)
	t.thinking(s[:len(s)-n])
	t.held = s[len(s)-n:]
	return ""
}

// end emits the text that was held back, at the end of the answer.
func (t *thinkTags) end() {
	held := t.held
	t.held = ""
	switch {
	case held == "":
	case t.state == inThinking:
		t.thinking(held)
	case strings.TrimSpace(held) != "" || t.thoughts == 0:
		t.text(held)
	}
}

// cutFold is strings.Cut at a tag in any case.
func cutFold(s, tag string) (before, after string, found bool) {
	for i := 0; i+len(tag) <= len(s); i++ {
		if s[i] == tag[0] && strings.EqualFold(s[i:i+len(tag)], tag) {
			return s[:i], s[i+len(tag):], true
		}
	}
	return s, "", false
}

// partial returns the length of the longest suffix of s that is a prefix of
// tag, in any case.
func partial(s, tag string) int {
	for n := min(len(s), len(tag)-1); n > 0; n-- {
		if strings.EqualFold(s[len(s)-n:], tag[:n]) {
			return n
		}
	}
	return 0
}

// splitUnopened splits a complete text with a closing tag but no opening tag: some
// templates put the opening tag into the prompt.
func splitUnopened(text, thinking string) (string, string) {
	for _, tag := range tagPairs[:inPrompts] {
		before, after, closed := cutFold(text, tag[1])
		if _, _, opened := cutFold(before, tag[0]); closed && thinking == "" && !opened {
			return strings.TrimLeft(after, " \t\r\n"), strings.TrimSpace(before)
		}
	}
	return text, thinking
}
