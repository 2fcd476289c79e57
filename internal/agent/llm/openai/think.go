package openai

import "strings"

const (
	openTag  = "<think>"
	closeTag = "</think>"
)

// tagPairs are the tags around thinking: of DeepSeek's and Qwen's models, and of
// Mistral's.
var tagPairs = [][2]string{{openTag, closeTag}, {"[THINK]", "[/THINK]"}}

// thinkTags splits content that begins with <think>…</think> or
// [THINK]…[/THINK], once or several times, into thinking and text. Later tags are
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
		if rest, opened := strings.CutPrefix(trimmed, tag[0]); opened {
			t.state, t.closing = inThinking, tag[1]
			if t.thoughts++; t.thoughts > 1 {
				t.thinking("\n\n")
			}
			return rest
		}
		if strings.HasPrefix(tag[0], trimmed) {
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
	before, after, closed := strings.Cut(s, t.closing)
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

// partial returns the length of the longest suffix of s that is a prefix of
// tag.
func partial(s, tag string) int {
	for n := min(len(s), len(tag)-1); n > 0; n-- {
		if strings.HasSuffix(s, tag[:n]) {
			return n
		}
	}
	return 0
}

// splitUnopened splits a complete text with a closing tag but no opening tag: some
// templates put the opening tag into the prompt.
func splitUnopened(text, thinking string) (string, string) {
	for _, tag := range tagPairs {
		before, after, closed := strings.Cut(text, tag[1])
		if closed && thinking == "" && !strings.Contains(before, tag[0]) {
			return strings.TrimLeft(after, " \t\r\n"), strings.TrimSpace(before)
		}
	}
	return text, thinking
}
