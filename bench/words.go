package main

import (
	"bytes"
	"fmt"
	"math/rand"
	"strings"
)

const vocabulary = 30_000

// textSource makes the contents of the benchmarks: texts of words with natural
// frequencies, the same ones in each run.
type textSource struct {
	random *rand.Rand
	zipf   *rand.Zipf
}

// newTextSource returns a textSource.
func newTextSource() *textSource {
	random := rand.New(rand.NewSource(1))
	return &textSource{random, rand.NewZipf(random, 1.1, 4, vocabulary-1)}
}

// text returns 8 to 25 words.
func (s *textSource) text() string {
	list := make([]string, 8+s.random.Intn(18))
	for i := range list {
		list[i] = word(s.zipf.Uint64())
	}
	return strings.Join(list, " ")
}

// pair returns a common word and one that is less common.
func (s *textSource) pair() string {
	return word(20+uint64(s.random.Intn(2000))) + " " + word(uint64(s.random.Intn(200)))
}

// word returns the word with a rank of frequency.
func word(rank uint64) string {
	var b strings.Builder
	for n := rank + 7; n > 0; n /= 20 {
		b.WriteByte("bcdfghjklmnpqrstvwxz"[n%20])
		b.WriteByte("aeiou"[(n+rank)%5])
	}
	return b.String()
}

// turnThoughts and turnEnvelopes are the numbers of thoughts and envelopes of a turn.
const (
	turnThoughts  = 20
	turnEnvelopes = turnThoughts + 4
)

// writeTurn writes the frames of the turn with a number: the question of one
// participant, and the reasoning and answer of another. The question follows the
// answer of an earlier turn, or begins a thread if follows is negative.
func writeTurn(question, work *bytes.Buffer, n, follows int) {
	frame := func(b *bytes.Buffer, format string, a ...any) {
		b.Write(clientFrames(fmt.Appendf(nil, format, a...), 1))
	}
	if follows < 0 {
		frame(question, `{"id":"q-%d","kind":"chat","payload":{"message":"Question %[1]d: which of the releases can be rolled back?"}}`, n)
	} else {
		frame(question, `{"id":"q-%d","kind":"chat","correlationId":"a-%d","payload":{"message":"And, for question %[1]d, what about the one before it?"}}`, n, follows)
	}
	frame(work, `{"id":"r-%d","kind":"reasoning.start","correlationId":"q-%[1]d","payload":{"message":"Looking into question %[1]d"}}`, n)
	for i := range turnThoughts {
		frame(work, `{"kind":"reasoning.thought","context":"r-%d","payload":{"message":"Step %d: the listing shows four files; number %d is the most likely to describe a rollback, so I read its first lines before the others."}}`, n, i, n%97)
	}
	frame(work, `{"kind":"reasoning.conclusion","context":"r-%d","payload":{"message":"The last two releases can be rolled back."}}`, n)
	frame(work, `{"id":"a-%d","kind":"chat","correlationId":"q-%[1]d","payload":{"message":"The last two of %[1]d; the one before them changed the schema."}}`, n)
}
