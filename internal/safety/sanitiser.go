package safety

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// Sanitiser is the stage that finds what a reader, above all a model, could
// take for something other than text: tokens of chat templates, forged turns,
// orders to forget what was said, characters that nobody sees. It takes the
// sting out and leaves the words: [marked:RULE …], and [removed:RULE] for what
// nobody saw. Nothing is escaped; a < b && c stays so.
type Sanitiser struct {
	*matcher
	actions map[string]Action // of rules that have one of their own
	off     map[string]bool
}

// The rules of the sanitiser that are no expressions.
const (
	ruleHidden = "hidden-text"
	ruleBidi   = "bidi-override"
)

// Name returns "sanitiser".
func (z *Sanitiser) Name() string { return "sanitiser" }

// Inspect appends what is to be neutralised.
func (z *Sanitiser) Inspect(dst []Finding, t Text) []Finding {
	n := len(dst)
	if dst = z.unseen(dst, t); len(dst) > n {
		return dst // and the rest once it is gone
	}
	return inspectBoth(dst, t, z)
}

func (z *Sanitiser) inspect(dst []Finding, t Text) []Finding {
	s := z.borrow()
	defer z.scratch.Put(s)
	z.search(s, t.Body)
	n := len(dst)
	dst = z.resolve(dst, s.found, 0, len(t.Body))
	for i := range dst[n:] {
		if f := &dst[n+i]; f.Action == "" {
			f.Put = marked(f.Rule, t.Body[f.Start:f.End])
		}
	}
	return dst
}

// marked returns a text as it stands in a mark, on one line.
func marked(rule string, text []byte) string {
	inner := strings.Join(strings.Fields(string(bytes.Trim(text, "<|>[]｜"))), " ")
	return markedMark + rule + " " + strings.NewReplacer("[", "(", "]", ")").Replace(inner) + "]"
}

// unseen appends runs of characters that carry a text which nobody sees, and
// those that turn the direction of what is shown.
func (z *Sanitiser) unseen(dst []Finding, t Text) []Finding {
	if t.sight == 0 {
		t.sight = look(t.Body)
	}
	if t.sight&carries == 0 {
		return dst
	}
	for i := 0; i < len(t.Body); {
		if !suspects[t.Body[i]] {
			i++
			continue
		}
		run := readUnseen(t.Body[i:])
		switch {
		case run.size == 0:
			i++
			continue
		case run.turns && !z.off[ruleBidi]:
			dst = append(dst, z.removal(ruleBidi, i, i+run.size))
		case run.hides() && !run.flagBehind(t.Body[:i]) && !z.off[ruleHidden]:
			dst = append(dst, z.removal(ruleHidden, i, i+run.size))
		}
		i += run.size
	}
	return dst
}

func (z *Sanitiser) removal(rule string, start, end int) Finding {
	f := Finding{Rule: rule, Start: start, End: end, Action: z.actions[rule]}
	if f.Action == "" {
		f.Put = "[removed:" + rule + "]"
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

// flagBehind reports whether the run is the rest of a flag: up to six tags
// behind a black flag, such as that of Scotland.
func (r *unseenRun) flagBehind(before []byte) bool {
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
