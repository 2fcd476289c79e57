package safety

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"github.com/meup-protocol/meup/internal/safety/redact"
	"github.com/meup-protocol/meup/protocol"
)

// Stream masks a text that arrives in chunks, such as the partial thoughts of a
// model. Its output is the output of the stages for the whole text, with two
// differences: masked text is not inspected again, and blocking rules mask. It
// holds back only text that may become part of a finding, at most maxHeld bytes.
//
// A Stream is not safe for concurrent use. The zero Stream is ready.
type Stream struct {
	// text begins where something may have begun that is not complete, or with
	// the line of that place.
	text   []byte
	passed int  // bytes of text that were passed on, or masked
	seen   int  // length of text at the last search
	start  int  // before it nothing is open
	drop   bool // a finding was longer than maxHeld: drop the rest of it
	lines  bool // it has several lines
	// nothing was passed on of the last chunk
	nothing bool
	found   []finding
	more    []finding
}

// maxHeld bounds the text that a Stream keeps, in bytes. It is the longest
// secret that is masked as a whole.
const maxHeld = 16 << 10

// maxBefore bounds how much of a line is kept before the place where a search
// has to begin: rules look at the beginnings of lines, and at their widths.
const maxBefore = 96

// Held returns the number of bytes that are held back.
func (s *Stream) Held() int { return len(s.text) - s.passed }

// Nothing reports whether the last chunk was held back as a whole.
func (s *Stream) Nothing() bool { return s.nothing }

// Size returns the number of bytes that the stream keeps.
func (s *Stream) Size() int { return cap(s.text) }

// StreamData inspects a payload of stream.data: its data, which is the next chunk of
// a stream, and its other fields. In the payload of the verdict, data is the
// released text, which may be empty. Other fields are inspected like those of
// reasoning; stream_id is not.
//
// Error: as of [Pipeline.Payload].
func (p *Pipeline) StreamData(s *Stream, payload, extra protocol.Value) (Verdict, error) {
	w := walks.Get().(*walk) //nolint:forcetypeassert // the pool holds nothing else
	defer w.release()
	w.p, w.root, w.reasoning, w.stream = p, payload.Offset(), true, s
	return w.envelope(payload, extra)
}

// StreamRest ends a stream. It returns the text that was held back, as it can be
// passed on, the rules that changed it, and the work.
func (p *Pipeline) StreamRest(s *Stream) (rest string, redacted []string, work int) {
	w := walks.Get().(*walk) //nolint:forcetypeassert // the pool holds nothing else
	defer w.release()
	w.p = p
	rest = string(w.next(s, nil, true))
	*s = Stream{}
	return rest, copied(w.redacted), w.work
}

// chunk replaces the data of a stream by the released text.
func (w *walk) chunk(v protocol.Value) {
	body, plain := v.Plain()
	if !plain {
		w.text = v.AppendText(w.text[:0])
		body = w.text
	}
	out := w.next(w.stream, body, false)
	w.stream.nothing = len(out) == 0 && len(body) > 0
	if !bytes.Equal(out, body) {
		w.replace(v, string(out))
	}
}

// lazily is the length of a held text from which on it is inspected again only
// once it has grown by an eighth: a long secret would be read for each of its
// chunks.
const lazily = 64

// next adds a chunk and returns the released text, which is valid until the next
// call.
func (w *walk) next(s *Stream, chunk []byte, last bool) []byte {
	chunk = s.dropped(chunk)
	s.text = append(s.text, chunk...)
	w.work += len(chunk)
	if held := s.Held(); !last && held >= lazily && held <= maxHeld && len(s.text)-s.seen < held/8 {
		return nil
	}
	if open, quiet := w.p.quiet(s.text[s.start:]); quiet && !last && s.Held() <= maxHeld {
		s.found = s.found[:0]
		open.Start, open.Hold = open.Start+s.start, open.Hold+s.start
		out := w.pass(s, s.end(open.Hold))
		s.forget(open.Start)
		return out
	}
	budget := redact.NewBudget(len(s.text))
	open := redact.Opening{Start: len(s.text), Hold: len(s.text)}
	if !last {
		open = w.p.open(s.text, &budget)
	}
	w.work += budget.Spent()
	budget = redact.NewBudget(len(s.text))
	s.search(w.p, &budget)
	w.work += budget.Spent()

	end, start := s.end(open.Hold), open.Start
	if end < open.Hold {
		start = 0 // a finding is not over, and its rule may have begun long before
	}
	if !last && len(s.text)-end > maxHeld {
		end = s.force(len(s.text) - maxHeld/2)
	}
	out := w.pass(s, end)
	s.forget(min(start, end))
	return out
}

// force returns a place from at on at which the text is divided although it is
// open there. A finding that reaches the end of the text goes on.
func (s *Stream) force(at int) int {
	for i := range s.found {
		if f := &s.found[i]; f.Start < at && at < f.End {
			s.drop = f.End == len(s.text)
			s.lines = bytes.IndexByte(s.text[f.Start:], '\n') >= 0
			return f.End
		}
	}
	return s.end(at)
}

// sets returns the sets of rules of all stages.
func (p *Pipeline) sets(yield func(*redact.Set) bool) {
	for _, stage := range p.stages {
		if s, ok := stage.(interface{ rules() *redact.Set }); ok && !yield(s.rules()) {
			return
		}
	}
}

// quiet returns the opening of a text in which no stage can find anything.
func (p *Pipeline) quiet(text []byte) (o redact.Opening, ok bool) {
	o = redact.Opening{Start: len(text), Hold: len(text)}
	for set := range p.sets {
		one, ok := set.Quiet(text)
		if !ok {
			return o, false
		}
		o = redact.Opening{Start: min(o.Start, one.Start), Hold: min(o.Hold, one.Hold)}
	}
	return o, true
}

// open returns the opening of a text to all stages.
func (p *Pipeline) open(text []byte, b *redact.Budget) redact.Opening {
	at := len(text)
	for at > 0 && text[at-1] >= utf8.RuneSelf { // before the hidden text of the sanitizer that it ends with
		_, size := utf8.DecodeLastRune(text[:at])
		if readUnseen(text[at-size:at]).size == 0 {
			break
		}
		at -= size
	}
	o := redact.Opening{Start: at, Hold: at}
	for set := range p.sets {
		one := set.Open(text, b)
		o = redact.Opening{Start: min(o.Start, one.Start), Hold: min(o.Hold, one.Hold)}
	}
	return o
}

// search collects the findings that change the text, in order and without overlap.
// Findings of an earlier stage take precedence.
func (s *Stream) search(p *Pipeline, b *redact.Budget) {
	s.found = s.found[:0]
	for _, stage := range p.stages {
		if _, ok := stage.(lengthGuard); ok {
			continue
		}
		known := len(s.found)
		s.more = stage.inspect(s.more[:0], input{body: s.text, budget: b})
		for _, f := range s.more {
			overlaps := func(g finding) bool { return f.Start < g.End && g.Start < f.End }
			f.stage = stage.name()
			if f.action.changes() && !slices.ContainsFunc(s.found[:known], overlaps) {
				s.found = append(s.found, f)
			}
		}
	}
	if len(s.found) > 1 {
		slices.SortFunc(s.found, func(a, b finding) int { return a.Start - b.Start })
	}
}

// end returns the last place up to hold at which the text can be divided: not
// within a finding, nor within a character.
func (s *Stream) end(hold int) int {
	for i := range s.found {
		if f := &s.found[i]; f.Start < hold && hold < f.End {
			hold = f.Start
		}
	}
	for hold > 0 && hold < len(s.text) && !utf8.RuneStart(s.text[hold]) {
		hold--
	}
	return max(hold, s.passed)
}

// pass releases the text up to end with its findings masked.
func (w *walk) pass(s *Stream, end int) []byte {
	out, at := w.out[:0], s.passed
	for i := range s.found {
		f := &s.found[i]
		if f.End <= at || max(f.Start, at) >= end {
			continue
		}
		if f.Start > at {
			out = append(out, s.text[at:f.Start]...)
		}
		out = append(out, f.replacement()...)
		at = f.End
		w.redacted = with(w.redacted, f.Rule)
		w.p.found(f.stage, f.Rule)
	}
	if at < end {
		out = append(out, s.text[at:end]...)
	}
	s.passed, w.out = max(at, end), out
	return out
}

// forget removes the text that nothing needs any more, when nothing is open
// before start.
func (s *Stream) forget(start int) {
	open := start
	if s.drop {
		start = len(s.text)
	} else if from := max(0, start-maxBefore); start > 0 {
		if i := bytes.LastIndexByte(s.text[from:start], '\n'); i >= 0 {
			from += i
		}
		for start = from; start < s.passed && !utf8.RuneStart(s.text[start]); {
			start++
		}
	}
	if room := len(s.text) - start; room > maxHeld { // all of it is open, and passed on
		start += room - maxHeld
		start = min(start, s.passed)
	}
	n := copy(s.text, s.text[start:])
	s.text, s.passed = s.text[:n], s.passed-start
	s.seen, s.start = n, max(0, open-start)
	if cap(s.text) > 4*maxHeld {
		s.text = slices.Clip(slices.Clone(s.text))
	}
}

// dropped returns a chunk without the rest of a finding that was masked before it
// was complete, such as the lines of a key.
func (s *Stream) dropped(chunk []byte) []byte {
	if !s.drop {
		return chunk
	}
	for i, b := range chunk {
		if !inSecret[b] || b == '\n' && !s.lines {
			s.drop = false
			return chunk[i:]
		}
	}
	return nil
}

var inSecret = func() (set [256]bool) {
	for _, b := range []byte(letters + "0123456789+/_.-~:=\\\r\n") {
		set[b] = true
	}
	return set
}()
