package contextwindow

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/meup-protocol/meup/internal/kit/textutil"

	"pgregory.net/rapid"

	"github.com/meup-protocol/meup/internal/agent/llm"
)

func seeded() *rand.Rand { return rand.New(rand.NewPCG(9, 10)) }

// check checks the invariants of every context.
func check(t rapid.TB, in Input, messages []llm.Message, meta Meta) {
	t.Helper()
	if meta.Tokens > meta.Budget {
		t.Errorf("%d tokens, the budget is %d", meta.Tokens, meta.Budget)
	}
	if got := recount(messages); got != meta.Tokens {
		t.Errorf("%d tokens, meta says %d", got, meta.Tokens)
	}
	checkPairs(t, messages)
	if in.System != "" {
		if messages[0].Role != llm.System || messages[0].Text != in.System {
			t.Errorf("the first message is %+v", messages[0])
		}
		messages = messages[1:]
	}
	kept := len(in.History) - meta.History
	for i, m := range messages[:kept] {
		if !slices.ContainsFunc(in.History, func(h llm.Message) bool { return reflect.DeepEqual(h, m) }) {
			t.Errorf("history %d is %+v", i, m)
		}
	}
	if q := messages[kept]; q.Role != llm.User || q.Text != in.Question {
		t.Errorf("in place of the question is %+v", q)
	}
	checkSteps(t, in, messages[kept+1:], meta)
}

// recount returns the estimate of all messages.
func recount(messages []llm.Message) int {
	sum := 0
	for i := range messages {
		sum += EstimateMessage(&messages[i])
	}
	return sum
}

// checkPairs checks that every call has one result, after its message and in
// the same order.
func checkPairs(t rapid.TB, messages []llm.Message) {
	t.Helper()
	var open []string
	for i, m := range messages {
		switch {
		case m.Role == llm.ToolResult && (len(open) == 0 || open[0] != m.CallID):
			t.Errorf("message %d answers %q, not one of %v", i, m.CallID, open)
		case m.Role == llm.ToolResult:
			open = open[1:]
		case len(open) > 0:
			t.Errorf("message %d comes before the results of %v", i, open)
		}
		for _, c := range m.Calls {
			open = append(open, c.ID)
		}
		if m.Role != llm.User && m.Text == "" && len(m.Calls) == 0 && len(m.Opaque.Data) == 0 {
			t.Errorf("message %d says nothing", i)
		}
	}
	if len(open) > 0 {
		t.Errorf("%v are not answered", open)
	}
}

// checkSteps compares the displayed results with Meta.
func checkSteps(t rapid.TB, in Input, messages []llm.Message, meta Meta) {
	t.Helper()
	shown := map[string]llm.Message{}
	turns := 0
	for _, m := range messages {
		if m.Role == llm.ToolResult {
			shown[m.CallID] = m
		}
		if m.Role == llm.Assistant && len(m.Calls) > 0 {
			turns++
		}
	}
	var counted Meta
	for i := range in.Records {
		r := &in.Records[i]
		if len(r.Calls) > 0 {
			turns--
		} else if r.Turn == nil && r.Thought != "" && meta.Thoughts+meta.Steps == 0 && !strings.Contains(texts(messages), r.Thought) {
			t.Errorf("thought %d is missing", i)
		}
		for j := range r.Results {
			id := madeID(r, j)
			if r.Turn != nil {
				id = r.Turn.Calls[j].ID
			}
			m, isShown := shown[id]
			if !isShown && meta.Steps == 0 {
				t.Errorf("result %d of step %d is missing", j, i)
			}
			checkResult(t, &r.Results[j], m, isShown, &counted)
		}
	}
	if counted.Previews != meta.Previews || counted.Dropped != meta.Dropped || counted.Summaries != meta.Summaries {
		t.Errorf("counted %+v, meta %+v", counted, meta)
	}
	if -turns > meta.Steps {
		t.Errorf("%d steps are missing, meta says %d", -turns, meta.Steps)
	}
}

// checkResult checks the form in which a result is shown, and counts it.
func checkResult(t rapid.TB, r *Result, m llm.Message, isShown bool, counted *Meta) {
	t.Helper()
	text := r.Text + r.Error
	chars := utf8.RuneCountInString(text)
	head, body, _ := strings.Cut(m.Text, "\n")
	switch {
	case !isShown:
		counted.Dropped++
	case m.IsError != !r.Success || !strings.HasPrefix(head, "Tool "+r.Tool+": "):
		t.Errorf("%+v is shown as %+v", r, m)
	case strings.HasPrefix(body, "[left out: "+textutil.Count(chars, "character")):
		counted.Dropped++
	case strings.HasSuffix(head, " (summary)"):
		counted.Summaries++
	case strings.HasSuffix(head, " (preview)"):
		counted.Previews++
		if !r.Success || body == text {
			t.Errorf("%.100q is a preview of %d characters", m.Text, chars)
		}
	case !r.Success && chars > maxError:
		counted.Previews++
	default:
		if body != text && (text != "" || body != "(nothing)") && (!json.Valid([]byte(text)) || body != previewText(text)) {
			t.Errorf("%.100q is shown as %.100q, and not as cut", text, m.Text)
		}
	}
}

func recountOf(in Input) int {
	messages := []llm.Message{{Text: in.Question}}
	if in.System != "" {
		messages = append(messages, llm.Message{Text: in.System})
	}
	return recount(messages)
}

func drawText(t *rapid.T, label string) string {
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, label+" seed"), 0))
	switch rapid.IntRange(0, 6).Draw(t, label) {
	case 0:
		return ""
	case 1:
		return prose(r, 1+r.IntN(1000))
	case 2:
		return prose(r, 1+r.IntN(5_000))
	case 3:
		return found(r, 1+r.IntN(5_000), true)
	case 4:
		return strings.Repeat("日本語。", 1+r.IntN(500))
	case 5:
		return strings.Repeat("=", r.IntN(2000))
	default:
		return rapid.String().Draw(t, label+" text")
	}
}

func drawRecord(t *rapid.T, index int) Record {
	r := Record{Index: index, Thought: drawText(t, "thought")}
	for i := range rapid.IntRange(0, 3).Draw(t, "calls") {
		r.Calls = append(r.Calls, Call{Tool: fmt.Sprintf("tool%d", i), Arguments: json.RawMessage(`{"a":1}`)})
	}
	for i := range rapid.IntRange(0, len(r.Calls)).Draw(t, "results") {
		result := Result{Tool: r.Calls[i].Tool, Success: rapid.Bool().Draw(t, "success")}
		if result.Success {
			result.Text = drawText(t, "result")
		} else {
			result.Error = "it failed: " + drawText(t, "error")
		}
		r.Results = append(r.Results, result)
	}
	if len(r.Calls) > 0 && rapid.Bool().Draw(t, "has turn") {
		r.Turn = &llm.Message{Role: llm.Assistant, Text: r.Thought}
		for i, c := range r.Calls {
			r.Turn.Calls = append(r.Turn.Calls, llm.ToolCall{ID: fmt.Sprintf("t%d.%d", index, i), Name: c.Tool, Arguments: c.Arguments})
		}
		if rapid.Bool().Draw(t, "opaque") {
			r.Turn.Opaque = llm.ProviderState{Provider: "p", Data: json.RawMessage(`["` + strings.Repeat("EqQB9x", 50) + `"]`)}
		}
	}
	return r
}

func drawInput(t *rapid.T) Input {
	in := Input{Question: "What is it? " + rapid.String().Draw(t, "question"), Goal: rapid.SampledFrom([]Goal{Planning, Synthesis}).Draw(t, "goal")}
	if rapid.Bool().Draw(t, "has system") {
		in.System = "You plan." + rapid.String().Draw(t, "system")
	}
	for i := range rapid.IntRange(0, 4).Draw(t, "exchanges") {
		in.History = append(in.History, llm.Message{Role: llm.User, Text: fmt.Sprint(i, drawText(t, "earlier"))})
		if rapid.Bool().Draw(t, "with tools") {
			id := fmt.Sprint("h", i)
			in.History = append(in.History,
				llm.Message{Role: llm.Assistant, Calls: []llm.ToolCall{{ID: id, Name: "read"}}},
				llm.Message{Role: llm.ToolResult, CallID: id, Text: "earlier result"})
		}
		in.History = append(in.History, llm.Message{Role: llm.Assistant, Text: "answer " + drawText(t, "earlier answer")})
	}
	for i := range rapid.IntRange(0, 8).Draw(t, "records") {
		in.Records = append(in.Records, drawRecord(t, i))
	}
	return in
}

// Every context is valid and described by Meta, for all records and budgets. A
// Builder that has built the earlier steps builds the same context as a new
// one.
func TestBuild_IsValid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t)
		in.Budget = rapid.OneOf(rapid.IntRange(1, 2000), rapid.IntRange(1, 15_000)).Draw(t, "budget")
		o := Options{Utilization: rapid.SampledFrom([]Utilization{Full, Half, Low}).Draw(t, "utilization")}
		cold, meta, err := NewBuilder(o).Build(t.Context(), in)
		if errors.Is(err, ErrTooLarge) {
			if fixed := recountOf(in); fixed <= in.Budget/o.Utilization.Divisor() {
				t.Errorf("%v, but it has %d tokens", err, fixed)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		check(t, in, cold, meta)
		warm := NewBuilder(o)
		for n := range in.Records {
			before := in
			before.Records, before.Goal = in.Records[:n], Planning
			if _, _, err := warm.Build(t.Context(), before); err != nil {
				t.Fatal(err)
			}
		}
		again, metaAgain, err := warm.Build(t.Context(), in)
		if err != nil || !reflect.DeepEqual(again, cold) || !reflect.DeepEqual(metaAgain, meta) {
			t.Errorf("a warm builder gives %+v, a cold one %+v, %v", metaAgain, meta, err)
		}
	})
}
