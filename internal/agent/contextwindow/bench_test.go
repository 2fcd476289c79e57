package contextwindow

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// vocabulary has enough words for a text without early repetitions.
var vocabulary = func() []string {
	r := rand.New(rand.NewPCG(1, 2))
	parts := []string{"an", "ber", "con", "de", "er", "fa", "ging", "ho", "in", "ka", "lo", "ment", "no", "or", "per", "re", "st", "tion", "un", "ver", "wa", "ze"}
	words := make([]string, 4000)
	for i := range words {
		for range 1 + r.IntN(4) {
			words[i] += parts[r.IntN(len(parts))]
		}
	}
	return words
}()

func prose(r *rand.Rand, size int) string {
	var b strings.Builder
	for b.Len() < size {
		b.WriteString(vocabulary[r.IntN(len(vocabulary))])
		b.WriteString([]string{" ", " ", " ", " ", " ", ", ", ". ", "\n"}[r.IntN(8)])
	}
	return b.String()[:size]
}

// found returns a search result: about size bytes of JSON, or of prose.
func found(r *rand.Rand, size int, asJSON bool) string {
	if !asJSON {
		return prose(r, size)
	}
	type hit struct {
		ID      string  `json:"id"`
		URL     string  `json:"url"`
		Score   float64 `json:"score"`
		Title   string  `json:"title"`
		Content string  `json:"content"`
	}
	var hits []hit
	for n := 0; n < size; n += 1000 {
		hits = append(hits, hit{
			ID: fmt.Sprintf("%016x", r.Uint64()), URL: "https://example.org/" + prose(r, 12), Score: r.Float64(),
			Title: prose(r, 40), Content: prose(r, 800),
		})
	}
	data, err := json.Marshal(map[string]any{"query": prose(r, 30), "results": hits, "total": 1234})
	if err != nil {
		panic(err)
	}
	return string(data)
}

// steps returns n records of one call each; half of the results are JSON.
func steps(n, size int) []Record {
	r := rand.New(rand.NewPCG(3, 4))
	out := make([]Record, n)
	for i := range out {
		out[i] = Record{
			Index: i, Action: UseTools, Thought: prose(r, 200),
			Calls:   []Call{{Tool: "search", Arguments: json.RawMessage(`{"query":"` + vocabulary[i%len(vocabulary)] + `"}`), Reason: "to know"}},
			Results: []Result{{Tool: "search", Success: true, Text: found(r, size, i%2 == 0)}},
		}
	}
	return out
}

func BenchmarkBuild(b *testing.B) {
	records := steps(200, 10_000)
	in := func(g Goal, n int) Input {
		return Input{System: strings.Repeat("You plan. ", 300), Question: "What is the best way?", Records: records[:n], Goal: g, Budget: defaultBudget}
	}
	build := func(b *testing.B, builder *Builder, input Input) {
		messages, meta, err := builder.Build(b.Context(), input)
		if err != nil || len(messages) < 3 || meta.Tokens > meta.Budget {
			b.Fatal(err, len(messages), meta.Tokens)
		}
	}
	for _, u := range []Utilization{Full, Half, Low} {
		b.Run("planning/warm/"+string(u), func(b *testing.B) {
			b.ReportAllocs()
			builder := NewBuilder(Options{Utilization: u})
			build(b, builder, in(Planning, 199))
			for b.Loop() {
				b.StopTimer()
				build(b, builder, in(Planning, 199)) // drops the last result from the cache
				b.StartTimer()
				build(b, builder, in(Planning, 200))
			}
		})
	}
	for _, g := range []Goal{Planning, Synthesis} {
		b.Run(string(g)+"/cold", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				build(b, NewBuilder(Options{}), in(g, 200))
			}
		})
	}
	b.Run("synthesis/cold/everything", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			all := in(Synthesis, 200)
			all.Budget = 2_000_000
			build(b, NewBuilder(Options{}), all)
		}
	})
	b.Run("synthesis/after planning", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			b.StopTimer()
			builder := NewBuilder(Options{})
			build(b, builder, in(Planning, 200))
			b.StartTimer()
			build(b, builder, in(Synthesis, 200))
		}
	})
}

// BenchmarkBuildHuge uses a result of 10 MB, which cannot be shown in full.
func BenchmarkBuildHuge(b *testing.B) {
	r := rand.New(rand.NewPCG(5, 6))
	for name, text := range map[string]string{"prose": prose(r, 10<<20), "JSON": found(r, 10<<20, true), "one word": strings.Repeat("a", 10<<20)} {
		record := Record{Calls: []Call{{Tool: "read"}}, Results: []Result{{Tool: "read", Success: true, Text: text}}}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, meta, err := NewBuilder(Options{}).Build(b.Context(), Input{Question: "?", Records: []Record{record}, Goal: Synthesis, Budget: defaultBudget}); err != nil || meta.Previews != 1 {
					b.Fatal(err, meta)
				}
			}
		})
	}
}

func BenchmarkEstimateTokens(b *testing.B) {
	text := found(rand.New(rand.NewPCG(7, 8)), 10_000, true)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		EstimateTokens(text)
	}
}
