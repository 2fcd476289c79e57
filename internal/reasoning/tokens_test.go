package reasoning

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tiktoken-go/tokenizer"

	"github.com/meup-protocol/meup/internal/llm"
)

var encodings = []tokenizer.Encoding{tokenizer.O200kBase, tokenizer.Cl100kBase, tokenizer.P50kBase, tokenizer.R50kBase}

func countedBy(t testing.TB, e tokenizer.Encoding) *counter {
	codec, err := tokenizer.Get(e)
	if err != nil {
		t.Fatal(err)
	}
	return &counter{codec: codec, words: map[string]int{}}
}

// The tokenizer itself, over the whole text, says the same as the pieces.
func FuzzCount(f *testing.F) {
	for _, s := range []string{
		"", " ", "I'll say it's John's; don't.", "a\u0301b c\u0301 5\u0301", "x  \n\n  y", "\t\t5 \t5", "12345 678", "日本語、とても。", "foo/bar/\n/baz", "a'5's'ſ", "{\"name\": \"Bob\",\n  \"n\": [1,2, 3]}", "HTTPServer's XMLs'", "ab\xff cd\xc3", "٣٤ ½ Ⅷx", "a\u00a0b \u2003 5",
	} {
		f.Add(s)
	}
	counters := make([]*counter, len(encodings))
	for i, e := range encodings {
		counters[i] = countedBy(f, e)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, c := range counters {
			clear(c.words) // the same input takes the same way
			want, err := c.codec.Count(text)
			if err != nil {
				t.Fatal(err)
			}
			if got := c.count(text); got != want {
				t.Errorf("%s: %q has %d tokens, counted %d", c.codec.GetName(), text, want, got)
			}
			if got, ok := c.within(text, want); !ok || got != want {
				t.Errorf("%s: %q has %d tokens, within gave %d, %v", c.codec.GetName(), text, want, got, ok)
			}
			if _, ok := c.within(text, want-1); ok {
				t.Errorf("%s: %q has %d tokens, within %d says ok", c.codec.GetName(), text, want, want-1)
			}
		}
	})
}

// Every text of up to three characters, and some longer ones, of every class
// that a pattern knows.
func TestCountEveryShortText(t *testing.T) {
	alphabet := []string{"a", "B", "'", "s", "ſ", "5", "½", " ", "\t", "\n", "\r", "/", ".", "中", "é", "\u0301", "\u00a0", "…", "\v", "\xff"}
	for _, e := range []tokenizer.Encoding{tokenizer.O200kBase, tokenizer.Cl100kBase, tokenizer.P50kBase} {
		c := countedBy(t, e)
		var every func(prefix string, left int)
		every = func(prefix string, left int) {
			want, err := c.codec.Count(prefix)
			if err != nil {
				t.Fatal(err)
			}
			if got := c.count(prefix); got != want {
				t.Fatalf("%s: %q has %d tokens, counted %d", e, prefix, want, got)
			}
			if left == 0 {
				return
			}
			for _, a := range alphabet {
				every(prefix+a, left-1)
			}
		}
		every("", 3)
		r := rand.New(rand.NewPCG(1, 1))
		for range 5_000 {
			var text strings.Builder
			for range 4 + r.IntN(8) {
				text.WriteString(alphabet[r.IntN(len(alphabet))])
			}
			every(text.String(), 0)
		}
	}
}

func TestEncodingOf(t *testing.T) {
	for model, want := range map[string]string{
		"gpt-4o-mini": "o200k_base", "gpt-4": "cl100k_base", "gpt-4-turbo": "cl100k_base", "claude-sonnet-4-5": "o200k_base",
		"": "o200k_base", "gpt2": "o200k_base", "ft:gpt-4o-mini:x": "o200k_base", "ft:gpt-4:x": "cl100k_base", "davinci": "r50k_base",
	} {
		if got := encodingOf(model).GetName(); got != want {
			t.Errorf("%q is encoded with %s, not %s", model, got, want)
		}
	}
}

// What is counted for a limit ends soon behind it.
func TestCountingStopsAtTheLimit(t *testing.T) {
	codec := &metered{Codec: encodingOf("")}
	for name, text := range map[string]string{
		"words":      strings.Repeat("some words, 12 of them\n", 500_000),
		"long words": strings.Repeat(strings.Repeat("x", maxWord+1)+" ", 100_000),
		"one word":   strings.Repeat("a", 10<<20),
		"blank":      strings.Repeat(" ", 10<<20),
		"mixed":      strings.Repeat("x", 100) + strings.Repeat("=", 10<<20),
		"digits":     strings.Repeat("7", 10<<20),
		"Chinese":    strings.Repeat("日", 3<<20),
	} {
		c := &counter{codec: codec, words: map[string]int{}}
		codec.bytes = 0
		if _, ok := c.within(text, 1000); ok {
			t.Errorf("%s: within the limit", name)
		}
		if codec.bytes > 10_000 {
			t.Errorf("%s: %d bytes went through the tokenizer", name, codec.bytes)
		}
		if n := len(c.words); n > maxWords {
			t.Errorf("%s: %d words are remembered", name, n)
		}
	}
}

// A run that nobody can read is not counted for a result, but for a question
// it is.
func TestARunWithoutEnd(t *testing.T) {
	c, text := newCounter(""), strings.Repeat("ab", maxRun/2+1)
	if _, ok := c.within(text, 1<<30); ok {
		t.Error("a run without end is within a limit")
	}
	want, err := c.codec.Count(text)
	if err != nil || c.count(text) != want {
		t.Errorf("counted %d of %d, %v", c.count(text), want, err)
	}
}

func TestTheMemoryOfPiecesIsBounded(t *testing.T) {
	c := newCounter("")
	var text strings.Builder
	for i := range 3 * maxWords {
		text.WriteString(" x")
		for n := i; n > 0; n /= 26 {
			text.WriteByte(byte('a' + n%26))
		}
	}
	want, err := c.codec.Count(text.String())
	if got := c.count(text.String()); err != nil || got != want || len(c.words) > maxWords {
		t.Errorf("%d tokens, not %d; %d words remembered; %v", got, want, len(c.words), err)
	}
}

// metered says how much was tokenized.
type metered struct {
	tokenizer.Codec
	bytes int
}

func (m *metered) Count(s string) (int, error) {
	m.bytes += len(s)
	return m.Codec.Count(s)
}

// No token of any encoding is longer than it is taken to be.
func TestLongestToken(t *testing.T) {
	for _, e := range encodings {
		codec := countedBy(t, e).codec
		longest := 0
		for id := range uint(210_000) {
			if text, err := codec.Decode([]uint{id}); err == nil {
				longest = max(longest, len(text))
			}
		}
		if longest == 0 || longest > longestToken {
			t.Errorf("%s: a token of %d bytes", e, longest)
		}
	}
}

// meddling ends a context after so many bytes.
type meddling struct {
	metered
	after int
	end   func()
}

func (m *meddling) Count(s string) (int, error) {
	if m.bytes > m.after {
		m.end()
	}
	return m.metered.Count(s)
}

// Nobody waits any more: counting ends soon, and nothing of it is remembered.
func TestCountingEndsWithItsContext(t *testing.T) {
	var history []llm.Message
	for range 100 { // of pieces that are too long to be remembered
		history = append(history, llm.Message{Role: llm.User, Text: strings.Repeat(strings.Repeat("aé", maxWord)+" ", 100)})
	}
	in := Input{Goal: Planning, Question: "What is it?", History: history}
	b := NewBuilder(Options{Budget: 10_000_000})
	want, meta, err := NewBuilder(Options{Budget: 10_000_000}).Build(t.Context(), in)
	if err != nil || meta.History > 0 {
		t.Fatal(err, meta)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	codec := &meddling{metered: metered{Codec: b.counter.codec}, after: 1_000, end: cancel}
	b.counter.codec = codec
	if _, _, err := b.Build(ctx, in); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	if codec.bytes > 2*lookUp {
		t.Errorf("%d bytes went through the tokenizer", codec.bytes)
	}
	codec.after = math.MaxInt
	got, after, err := b.Build(t.Context(), in)
	if err != nil || len(got) != len(want) {
		t.Fatal(err, len(got))
	}
	if after.Tokens != meta.Tokens {
		t.Errorf("%d tokens, not %d", after.Tokens, meta.Tokens)
	}
}

// What no tokenizer could make small enough is not counted.
func TestATextTooLargeIsNotCounted(t *testing.T) {
	for name, text := range map[string]string{
		"words":    strings.Repeat("some words, 12 of them\n", 170_000),
		"one word": strings.Repeat("a", 3_900_000),
		"blank":    strings.Repeat(" ", 3_900_000),
	} {
		for _, in := range []Input{{Question: text}, {Question: "q", System: text}} {
			b := NewBuilder(Options{Budget: 10_000})
			codec := &metered{Codec: b.counter.codec}
			b.counter.codec = codec
			in.Goal = Planning
			_, _, err := b.Build(t.Context(), in)
			var large *TooLargeError
			if !errors.As(err, &large) || !large.More || large.Tokens != 10_000 || !strings.Contains(err.Error(), "more than 10000 tokens") {
				t.Errorf("%s: %v", name, err)
			}
			if codec.bytes > 100_000 {
				t.Errorf("%s: %d bytes went through the tokenizer", name, codec.bytes)
			}
		}
	}
}
