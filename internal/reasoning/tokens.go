package reasoning

import (
	"context"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/tiktoken-go/tokenizer"

	"github.com/meup-protocol/meup/internal/llm"
)

// What a message costs beside its words. Providers do not publish the shape
// that they give a conversation; these are the figures of OpenAI's published
// one, rounded up.
const (
	perMessage = 4  // a message: its role and its ends
	perCall    = 12 // a call: its id, here and in the result, and what is around name and arguments
)

const (
	// maxWord is the longest piece whose count is remembered, maxWords how
	// many are: about 1.5 MB. A full memory is emptied.
	maxWord  = 32
	maxWords = 16_384
	// maxRun is the longest piece without any boundary that is counted towards
	// a limit. Merging a longer one takes seconds, and nobody can read it.
	maxRun = 256 << 10
	// longestToken is how many bytes a token has at most, in any encoding: it
	// is one of spaces.
	longestToken = 128
	// lookUp is after how many bytes it is asked whether anybody still waits.
	lookUp = 64 << 10
)

// counter counts tokens exactly. The tokenizer takes about 110 ns a byte, so
// texts are taken apart where every encoding has a boundary, and the counts of
// short pieces are remembered: the sum is the same.
type counter struct {
	codec tokenizer.Codec
	words map[string]int

	done  <-chan struct{} // nobody waits for the counts any more; nil: never
	since int             // bytes since it was last asked
	ended bool            // done was closed: the counts are good for nothing
}

// newCounter chooses the encoding of a model.
func newCounter(model string) *counter {
	return &counter{codec: encodingOf(model), words: map[string]int{}}
}

func encodingOf(model string) tokenizer.Codec {
	if !strings.HasPrefix(model, "ft:gpt-4o") { // which the library takes for a gpt-4
		if codec, err := tokenizer.ForModel(tokenizer.Model(model)); err == nil {
			return codec
		}
	}
	codec, err := tokenizer.Get(tokenizer.O200kBase)
	if err != nil {
		panic("reasoning: the tokenizer does not know " + string(tokenizer.O200kBase)) // it is compiled in
	}
	return codec
}

// begin has the counter give up when ctx ends: what it says then is wrong, and
// ended tells so.
func (c *counter) begin(ctx context.Context) {
	c.done, c.since, c.ended = ctx.Done(), 0, false
}

// givesUp is asked before each piece.
func (c *counter) givesUp(piece int) bool {
	if c.since += piece; c.since < lookUp || c.ended {
		return c.ended
	}
	c.since = 0
	select {
	case <-c.done:
		c.ended = true
	default:
	}
	return c.ended
}

// count is the number of tokens of a text of any kind and length: of 10 MB of
// letters without a space after some seconds.
func (c *counter) count(text string) int {
	n := 0
	for text != "" {
		piece := text[:boundary(text)]
		if c.givesUp(len(piece)) {
			return n
		}
		n += c.piece(piece)
		text = text[len(piece):]
	}
	return n
}

// within counts up to a limit. When ok is false, the text has more tokens, or
// a run that is not worth counting, or nobody waits any more.
func (c *counter) within(text string, limit int) (n int, ok bool) {
	if len(text)/longestToken > limit {
		return 0, false
	}
	for text != "" {
		end := boundary(text)
		if end > maxRun || n > limit || c.givesUp(end) {
			return 0, false
		}
		n += c.piece(text[:end])
		text = text[end:]
	}
	return n, n <= limit
}

// piece counts what has no boundary within.
func (c *counter) piece(s string) int {
	if len(s) > maxWord {
		return c.ask(s)
	}
	n, ok := c.words[s]
	if !ok {
		n = c.ask(s)
		if len(c.words) >= maxWords {
			clear(c.words)
		}
		c.words[strings.Clone(s)] = n // the text itself may be long
	}
	return n
}

func (c *counter) ask(s string) int {
	n, err := c.codec.Count(s)
	if err != nil {
		return len(s) // it has no more than these
	}
	return n
}

// message is what a message costs. What a provider keeps of a turn counts
// beside the turn: some keep what they thought, others the whole turn again,
// and a context had better be smaller than it is counted. A message beyond the
// limit may cost anything beyond it.
func (c *counter) message(m llm.Message, limit int) int {
	n := perMessage + c.part(m.Text, limit) + c.part(string(m.Opaque.Data), limit)
	for i := range m.Calls {
		n += perCall + c.part(m.Calls[i].Name, limit) + c.part(string(m.Calls[i].Arguments), limit)
	}
	return n
}

// part counts a text; one beyond the limit as beyond.
func (c *counter) part(text string, limit int) int {
	if n, ok := c.within(text, limit); ok {
		return n
	}
	return beyond
}

// beyond stands for a count that was given up; sums of it do not overflow.
const beyond = math.MaxInt32

// class is what the patterns of the encodings tell characters apart by.
type class uint8

const (
	other  class = iota // anything else: no boundary is known beside it
	blank               // space and tab
	letter              // \p{L}
	mark                // \p{M}
	number              // \p{N}
	quote               // ', which may begin the end of a word
	sign                // ASCII punctuation
)

var ascii = func() (t [utf8.RuneSelf]class) {
	for c := range t {
		switch b := byte(c); {
		case b == ' ' || b == '\t':
			t[c] = blank
		case b >= '0' && b <= '9':
			t[c] = number
		case b|0x20 >= 'a' && b|0x20 <= 'z':
			t[c] = letter
		case b == '\'':
			t[c] = quote
		case b > ' ' && b < 0x7f:
			t[c] = sign
		}
	}
	return t
}()
