package search

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

// corpus makes envelopes with words of natural frequency, by Zipf's law. Three in ten are addressed.
type corpus struct {
	words []string
	r     *rand.Rand
	zipf  *rand.Zipf
}

func newCorpus(vocabulary int) *corpus {
	c := &corpus{r: rand.New(rand.NewSource(1))}
	syllables := strings.Fields("ka lo mi ter an pro con re sta ble ing er on is ve qu est de fi gra nu ti sor ma pe")
	for seen := make(map[string]bool); len(c.words) < vocabulary; {
		w := ""
		for range 1 + c.r.Intn(4) {
			w += syllables[c.r.Intn(len(syllables))]
		}
		if len(c.words) > vocabulary/2 {
			w += fmt.Sprint(c.r.Intn(1000))
		}
		if !seen[w] {
			seen[w] = true
			c.words = append(c.words, w)
		}
	}
	c.zipf = rand.NewZipf(c.r, 1.1, 4, uint64(vocabulary-1))
	return c
}

// doc returns an envelope of 8 to 25 words.
func (c *corpus) doc(n int) Doc {
	words := make([]string, 8+c.r.Intn(18))
	for i := range words {
		words[i] = c.words[c.zipf.Uint64()]
	}
	kinds := []protocol.Kind{"chat", "reasoning.thought", "reasoning.thought", "reasoning.conclusion"}
	e := &protocol.Envelope{
		Seq: protocol.Seq(n), ID: protocol.ID(fmt.Sprint("e", n)), TS: time.UnixMilli(1_750_000_000_000 + int64(n)*40).UTC(),
		From: protocol.ParticipantID(fmt.Sprint("p", c.r.Intn(20))), Kind: kinds[c.r.Intn(len(kinds))],
		Payload: []byte(`{"message":"` + strings.Join(words, " ") + `"}`),
	}
	if e.Kind != "chat" {
		e.Context = protocol.ContextPath(fmt.Sprintf("0199f2c4-5b1e-7c3a-9d44-%012x", n/20))
	}
	d := Doc{Envelope: e, Payload: e.ParsePayload()}
	if c.r.Intn(10) < 3 {
		e.To = []protocol.ParticipantID{protocol.ParticipantID(fmt.Sprint("p", c.r.Intn(20)))}
		d.Audience = append(e.To, e.From)
	}
	return d
}

// query returns a query of one to three words, of which the more are the more
// frequent.
func (c *corpus) query(i int) string {
	switch i % 3 {
	case 0:
		return c.words[c.r.Intn(2000)]
	case 1:
		return c.words[c.r.Intn(50)] + " " + c.words[c.r.Intn(500)]
	}
	return c.words[c.r.Intn(20)] + " " + c.words[c.r.Intn(100)] + " " + c.words[c.r.Intn(1000)]
}

// apply indexes documents of a corpus, and returns the size of their text.
func (c *corpus) apply(tb testing.TB, x *Index, n, batch int, store map[protocol.Seq]*protocol.Envelope) (text int) {
	tb.Helper()
	if err := x.Begin("lab", "log"); err != nil {
		tb.Fatal(err)
	}
	var docs []Doc
	for i := 1; i <= n; i++ {
		d := c.doc(i)
		text += len(d.Envelope.Payload) - len(`{"message":""}`)
		if store != nil {
			store[d.Envelope.Seq] = d.Envelope
		}
		docs = append(docs, d)
		if len(docs) == batch || i == n {
			if err := x.Apply("lab", docs, protocol.Seq(i), i == n); err != nil {
				tb.Fatal(err)
			}
			docs = docs[:0]
		}
	}
	return text
}
