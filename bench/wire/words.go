// Package words makes the contents of the benchmarks: texts of words with natural
// frequencies, the same ones in each run, and the frames of turns.
package wire

import (
	"math/rand"
	"strings"
)

const vocabulary = 30_000

// TextSource makes texts.
type TextSource struct {
	random *rand.Rand
	zipf   *rand.Zipf
}

// NewSource returns a Source.
func NewSource() *TextSource {
	random := rand.New(rand.NewSource(1))
	return &TextSource{random, rand.NewZipf(random, 1.1, 4, vocabulary-1)}
}

// Text returns 8 to 25 words.
func (s *TextSource) Text() string {
	list := make([]string, 8+s.random.Intn(18))
	for i := range list {
		list[i] = word(s.zipf.Uint64())
	}
	return strings.Join(list, " ")
}

// Pair returns a common word and one that is less common.
func (s *TextSource) Pair() string {
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
