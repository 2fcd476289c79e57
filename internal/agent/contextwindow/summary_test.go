package contextwindow

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"log/slog"
	"reflect"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/testing/llmtest"
)

// fakeSummarizer records its requests.
type fakeSummarizer struct {
	asked []SummaryRequest
	says  func(SummaryRequest) (string, error)
}

func (s *fakeSummarizer) Summarize(_ context.Context, r SummaryRequest) (string, error) {
	s.asked = append(s.asked, r)
	return s.says(r)
}

func inShort(r SummaryRequest) (string, error) {
	return "In short: " + r.Result[:19], nil
}

func TestBuild_Summaries(t *testing.T) {
	long, medium := prose(seeded(), 9000), prose(seeded(), 2000)
	in := Input{Question: "What?", Goal: Planning, Budget: defaultBudget, Records: []Record{
		stepOf(0, success(long)), stepOf(1, success(medium)), stepOf(2, success("small")), stepOf(3, failure(long)),
	}}
	s := &fakeSummarizer{says: inShort}
	b := NewBuilder(Options{Summarizer: s.Summarize})
	_, without := build(t, defaultBudget, Options{}, in)
	for range 2 {
		messages, meta, err := b.Build(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		check(t, in, messages, meta)
		if want := "Tool read: SUCCESS (summary)\nIn short: " + long[:19]; messages[2].Text != want {
			t.Errorf("%s", messages[2].Text)
		}
		if meta.Summaries != 1 || meta.Previews != 1 || meta.Dropped != 0 {
			t.Errorf("%+v", meta)
		}
		if meta.Tokens >= without.Tokens {
			t.Errorf("%d tokens, %d without summaries", meta.Tokens, without.Tokens)
		}
	}
	if want := []SummaryRequest{{Question: "What?", Tool: "read", Result: long}}; !reflect.DeepEqual(s.asked, want) {
		t.Errorf("asked %d times", len(s.asked))
	}
	in.Question = "Another?"
	if _, _, err := b.Build(t.Context(), in); err != nil || len(s.asked) != 2 {
		t.Errorf("another question: asked %d times, %v", len(s.asked), err)
	}
}

// Synthesis shows results in full as far as they fit, and summaries of the
// others.
func TestBuild_SummariesForSynthesis(t *testing.T) {
	long := prose(seeded(), 9000)
	in := Input{Question: "What?", Goal: Synthesis, Budget: defaultBudget, Records: []Record{stepOf(0, success(long)), stepOf(1, success(long))}}
	s := &fakeSummarizer{says: inShort}
	_, all := build(t, defaultBudget, Options{Summarizer: s.Summarize}, in)
	if len(s.asked) != 0 || all.Previews+all.Summaries+all.Dropped != 0 {
		t.Errorf("asked %d times, %+v", len(s.asked), all)
	}
	messages, meta := build(t, all.Tokens-1, Options{Summarizer: s.Summarize}, in)
	check(t, in, messages, meta)
	if len(s.asked) != 1 || meta.Summaries != 1 || meta.Previews+meta.Dropped != 0 || !strings.Contains(messages[2].Text, "In short: ") {
		t.Errorf("asked %d times, %+v", len(s.asked), meta)
	}
}

// TestBuild_SummaryOnce: planning and synthesis share the summary of a result, or
// the one attempt to get it. Synthesis still prefers the whole result.
func TestBuild_SummaryOnce(t *testing.T) {
	long := prose(seeded(), 9000)
	for name, test := range map[string]struct {
		says func(SummaryRequest) (string, error)
		want int // summaries
	}{
		"success": {inShort, 2},
		"failure": {func(SummaryRequest) (string, error) { return "", errors.New("overloaded") }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := &fakeSummarizer{says: test.says}
			b := NewBuilder(Options{Summarizer: s.Summarize})
			in := Input{Question: "What?", Budget: defaultBudget, Records: []Record{stepOf(0, success(long)), stepOf(1, success(long))}}
			for _, step := range []struct {
				goal      Goal
				budget    int
				summaries int
			}{{Planning, defaultBudget, test.want}, {Synthesis, 1500, test.want}, {Synthesis, defaultBudget, 0}, {Planning, defaultBudget, test.want}} {
				in.Goal, in.Budget = step.goal, step.budget
				_, meta, err := b.Build(t.Context(), in)
				if err != nil || meta.Summaries != step.summaries || meta.Dropped != 0 {
					t.Errorf("%s with %d: %+v, %v", step.goal, step.budget, meta, err)
				}
			}
			if len(s.asked) != 2 {
				t.Errorf("%d requests for the summaries of 2 results", len(s.asked))
			}
		})
	}
}

func TestBuild_SummaryFails(t *testing.T) {
	long := prose(seeded(), 9000)
	for name, says := range map[string]func(SummaryRequest) (string, error){
		"an error":  func(SummaryRequest) (string, error) { return "", errors.New("overloaded") },
		"nothing":   func(SummaryRequest) (string, error) { return " \n", nil },
		"no less":   func(r SummaryRequest) (string, error) { return r.Result, nil },
		"a preview": nil,
	} {
		s := &fakeSummarizer{says: says}
		var log bytes.Buffer
		o := Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}
		if says != nil {
			o.Summarizer = s.Summarize
		}
		b := NewBuilder(o)
		in := Input{Question: "What?", Goal: Planning, Budget: defaultBudget, Records: []Record{stepOf(0, success(long))}}
		messages, meta, err := b.Build(t.Context(), in)
		if err != nil || meta.Previews != 1 || meta.Summaries != 0 || !strings.HasPrefix(messages[2].Text, "Tool read: SUCCESS (preview)\n") {
			t.Errorf("%s: %v, %+v", name, err, meta)
		}
		if says == nil {
			continue
		}
		if !strings.Contains(log.String(), "level=WARN") || strings.Contains(log.String(), long[:50]) {
			t.Errorf("%s: %+v, log %s", name, meta, log.String())
		}
		_, _, err = b.Build(t.Context(), in)
		if err != nil || len(s.asked) != 1 {
			t.Errorf("%s: asked %d times, %v", name, len(s.asked), err)
		}
	}
}

func TestBuild_SummaryIsBounded(t *testing.T) {
	s := &fakeSummarizer{says: func(SummaryRequest) (string, error) { return strings.Repeat("ü", 5000), nil }}
	in := Input{Question: "What?", Goal: Planning, Budget: defaultBudget, Records: []Record{stepOf(0, success(prose(seeded(), 50_000)))}}
	messages, meta := build(t, defaultBudget, Options{Summarizer: s.Summarize}, in)
	check(t, in, messages, meta)
	if want := "Tool read: SUCCESS (summary)\n" + strings.Repeat("ü", 4000) + "… [1,000 more characters]"; messages[2].Text != want {
		t.Error(messages[2].Text)
	}
	messages, meta = build(t, 400, Options{Summarizer: s.Summarize}, in) // and does not fit in any case
	check(t, in, messages, meta)
}

func TestBuild_SummaryCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := &fakeSummarizer{says: func(SummaryRequest) (string, error) { cancel(); return "", ctx.Err() }}
	b := NewBuilder(Options{Summarizer: s.Summarize})
	in := Input{Question: "What?", Goal: Planning, Budget: defaultBudget, Records: []Record{stepOf(0, success(prose(seeded(), 9000)))}}
	for range 2 {
		if _, _, err := b.Build(ctx, in); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	s.says = inShort
	if _, meta, err := b.Build(t.Context(), in); err != nil || meta.Summaries != 1 {
		t.Errorf("%+v, %v", meta, err)
	}
}

// model is an llm.Model based on a function.
type model func(llm.Request) (llm.Response, error)

func (m model) Generate(_ context.Context, r llm.Request) iter.Seq2[llm.Event, error] {
	resp, err := m(r)
	return llmtest.Answer(r, resp, err)
}
func (m model) Name() string     { return "test" }
func (m model) Provider() string { return "test" }

func TestSummarizeBy(t *testing.T) {
	var asked []llm.Request
	summarize := SummarizeBy(model(func(r llm.Request) (llm.Response, error) {
		asked = append(asked, r)
		return llm.Response{Message: llm.Message{Role: llm.Assistant, Text: " It says so.\n"}, Stop: llm.StopEnd}, nil
	}))
	got, err := summarize(t.Context(), SummaryRequest{Question: "Who?", Tool: "search", Result: strings.Repeat("0123456789", summaryInput/10) + "abc"})
	if err != nil || got != "It says so." {
		t.Errorf("%q, %v", got, err)
	}
	if prompt := asked[0].Messages[0].Text; !strings.Contains(prompt, "what to do next") || !strings.Contains(prompt, "answers the question") || asked[0].MaxTokens != 500 {
		t.Errorf("%s", prompt)
	}
	for _, want := range []string{"Who?", "search", "0123456789… [3 more characters]"} {
		if !strings.Contains(asked[0].Messages[1].Text, want) {
			t.Errorf("%s\nhas no %q", asked[0].Messages[1].Text, want)
		}
	}
}

func TestSummarizeBy_Fails(t *testing.T) {
	down := &llm.Error{Provider: "test", Status: 503}
	for name, c := range map[string]struct {
		r    llm.Response
		err  error
		want string // "": an error
	}{
		"down":     {err: down},
		"silent":   {r: llm.Response{Stop: llm.StopEnd}},
		"refusing": {r: llm.Response{Message: llm.Message{Text: "No."}, Stop: llm.StopRefusal}},
		"long":     {r: llm.Response{Message: llm.Message{Text: "It says"}, Stop: llm.StopLength}, want: "It says …"},
	} {
		summarize := SummarizeBy(model(func(llm.Request) (llm.Response, error) { return c.r, c.err }))
		got, err := summarize(t.Context(), SummaryRequest{Tool: "search", Result: "x"})
		if got != c.want || (err == nil) != (c.want != "") || c.err != nil && !errors.Is(err, c.err) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// TestSummarizeBy_Counted: the tokens of a summary count for the decision that needed
// it, by the model that wrote it.
func TestSummarizeBy_Counted(t *testing.T) {
	used := llm.Usage{Input: 900, Output: 50}
	b := NewBuilder(Options{Summarizer: SummarizeBy(model(func(llm.Request) (llm.Response, error) {
		return llm.Response{Message: llm.Message{Role: llm.Assistant, Text: "Short."}, Stop: llm.StopEnd, Usage: used}, nil
	}))})
	var meter llm.Meter
	in := Input{Question: "What?", Goal: Planning, Budget: defaultBudget, Records: []Record{stepOf(0, success(prose(seeded(), 9000)))}}
	if _, meta, err := b.Build(llm.WithMeter(t.Context(), &meter), in); err != nil || meta.Summaries != 1 {
		t.Fatalf("%+v, %v", meta, err)
	}
	if got := meter.Spent(); len(got) != 1 || got[0] != (llm.Spent{Requested: "test", Model: "test", Usage: used}) {
		t.Errorf("spent %+v, want %+v of test", got, used)
	}
}
