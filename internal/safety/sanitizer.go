package safety

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/meup-protocol/meup/internal/safety/redact"
)

func between(r, first, last rune) bool { return r >= first && r <= last }

// sanitizer is the stage that finds text that a reader, above all a model,
// could take for something else: tokens of chat templates, forged turns,
// orders to forget earlier text, invisible characters. It marks the
// words and leaves them readable: [marked:RULE …], and [removed:RULE] for
// hidden text. Nothing is escaped; a < b && c stays so.
type sanitizer struct {
	ruleStage
	own map[string]Action // of rules that have an action of their own
	off map[string]bool
}

// The rules of the sanitizer that are no expressions.
const (
	ruleHidden = "hidden-text"
	ruleBidi   = "bidi-override"
)

func (z *sanitizer) inspect(dst []finding, t input) []finding {
	n := len(dst)
	dst = z.unseen(dst, t.body)
	if len(dst) > n {
		return dst // and the rest once it is gone
	}
	dst = z.ruleStage.inspect(dst, t)
	for i := range dst[n:] {
		if f := &dst[n+i]; f.action == "" && f.Rule != redact.RuleLimit {
			text := string(bytes.Trim(redact.Visible(t.body[f.Start:f.End]), "<|>[]｜"))
			line := strings.Join(strings.Fields(text), " ")
			f.put = "[marked:" + f.Rule + " " + strings.NewReplacer("[", "(", "]", ")").Replace(line) + "]"
		}
	}
	return dst
}

// unseen appends runs of characters that encode invisible text, and characters that
// change the direction of the text.
func (z *sanitizer) unseen(dst []finding, body []byte) []finding {
	for i := 0; i < len(body); {
		if body[i] < 0xe2 { // none of them begins so
			i++
			continue
		}
		run := readUnseen(body[i:])
		switch {
		case run.size == 0:
			i++
			continue
		case run.turns && !z.off[ruleBidi]:
			dst = append(dst, z.removal(ruleBidi, i, i+run.size))
		case run.hides() && !run.flagAfter(body[:i]) && !z.off[ruleHidden]:
			dst = append(dst, z.removal(ruleHidden, i, i+run.size))
		}
		i += run.size
	}
	return dst
}

func (z *sanitizer) removal(rule string, start, end int) finding {
	f := finding{Finding: redact.Finding{Rule: rule, Start: start, End: end}, action: z.own[rule]}
	if f.action == "" {
		f.put = "[removed:" + rule + "]"
	}
	return f
}

// unseenRun is a run of characters of one sort.
type unseenRun struct {
	size                  int
	turns                 bool // one character that overrides the direction
	tags, selectors, zero int
	ends                  bool // with the tag that ends a flag
}

// How many characters without width it takes until they must be a text: emoji
// have one or two in a row, and so do the scripts that need them.
const (
	manySelectors = 3
	manyZero      = 8
)

func (r *unseenRun) hides() bool {
	return r.tags > 0 || r.selectors >= manySelectors || r.zero >= manyZero
}

// flagAfter reports whether the run is the rest of a flag: up to six tags after a
// black flag, such as the flag of Scotland.
func (r *unseenRun) flagAfter(before []byte) bool {
	return r.ends && r.tags <= 7 && r.tags*4 == r.size && bytes.HasSuffix(before, []byte("\U0001f3f4"))
}

// readUnseen reads the run that a text begins with; its size is 0 if there is
// none.
func readUnseen(text []byte) unseenRun {
	var run unseenRun
	for run.size < len(text) {
		r, size := utf8.DecodeRune(text[run.size:])
		switch {
		case r == 0x202d || r == 0x202e:
			if run.size == 0 {
				return unseenRun{size: size, turns: true}
			}
			return run
		case between(r, 0xe0000, 0xe007f):
			run.tags++
			run.ends = r == 0xe007f
		case between(r, 0xfe00, 0xfe0f) || between(r, 0xe0100, 0xe01ef):
			run.selectors++
		case between(r, 0x200b, 0x200f) || between(r, 0x2060, 0x2064) || r == 0xfeff:
			run.zero++
		default:
			return run
		}
		run.size += size
	}
	return run
}
