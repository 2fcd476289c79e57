package planner_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/internal/testing/llmtest"
)

// A memory changes the cost of a step and nothing else.
func TestModel_Memory(t *testing.T) {
	with := planner.State{Memory: new(planner.Memory), Tools: []planner.Tool{tool("read_file", pathSchema)}, Question: "q"}
	without := with
	without.Memory = nil
	a, b := &talker{t: t}, &talker{t: t}
	for i := range 4 {
		say := calls("", fmt.Sprintf(`read_file {"path":"%d"}`, i))
		a.says, b.says = append(a.says, say), append(b.says, say)
	}
	ma, mb := planner.NewModel(planner.ModelOptions{Model: a}), planner.NewModel(planner.ModelOptions{Model: b})
	for i := range 4 {
		for _, x := range []struct {
			m *planner.Model
			s *planner.State
		}{{ma, &with}, {mb, &without}} {
			d, err := x.m.Next(t.Context(), *x.s)
			if err != nil {
				t.Fatal(err)
			}
			r := record(i, "read_file", string(d.Calls[0].Arguments), strings.Repeat("long ", 3000))
			r.Calls, r.Turn = d.Calls, d.Turn
			x.s.Steps = append(x.s.Steps, r)
		}
		if x, y := fmt.Sprintf("%+v", a.asked[i].Messages), fmt.Sprintf("%+v", b.asked[i].Messages); x != y {
			t.Fatalf("step %d differs:\n%s\n%s", i, x, y)
		}
	}
}

func TestModel_ConcurrentQuestions(t *testing.T) {
	model := &talker{t: t}
	for range 50 {
		model.says = append(model.says, text("It is so."))
	}
	m := planner.NewModel(planner.ModelOptions{Model: model})
	var group sync.WaitGroup
	for i := range 50 {
		group.Go(func() {
			s := planner.State{Question: fmt.Sprint(i), Tools: []planner.Tool{tool("a.b", pathSchema)}, Memory: new(planner.Memory)}
			if d, err := m.Next(t.Context(), s); err != nil || d.Answer != "It is so." {
				t.Errorf("%v, %+v", err, d)
			}
		})
	}
	group.Wait()
}

// shortener summarizes, and counts its calls.
type shortener struct{ n int }

func (s *shortener) Summarize(context.Context, contextwindow.SummaryRequest) (string, error) {
	s.n++
	return "In short.", nil
}

// With a memory a result is summarized once for all steps.
func TestModel_MemoryKeepsSummaries(t *testing.T) {
	for memory, want := range map[*planner.Memory]int{nil: 3, new(planner.Memory): 1} {
		short := new(shortener)
		model := &talker{t: t}
		m := planner.NewModel(planner.ModelOptions{Model: model, Summarizer: short.Summarize})
		s := planner.State{Question: "q", Memory: memory, Tools: []planner.Tool{tool("read_file", pathSchema)}}
		s.Steps = []contextwindow.Record{record(0, "read_file", `{"path":"a"}`, strings.Repeat("word ", 4000))}
		for range 3 {
			model.says = append(model.says, calls("", `read_file {"path":"b"}`))
			if _, err := m.Next(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}
		if short.n != want {
			t.Errorf("%d summaries, want %d", short.n, want)
		}
	}
}

func TestModel_Budget(t *testing.T) {
	model := &talker{t: t}
	m := planner.NewModel(planner.ModelOptions{Model: model, Budget: 10_000, MaxTokens: 4000})
	_, err := m.Next(t.Context(), planner.State{Question: strings.Repeat("word ", 6500)})
	if !errors.Is(err, contextwindow.ErrTooLarge) {
		t.Errorf("error %v", err)
	}
	heavy := tool("heavy", `{"type":"object","description":"`+strings.Repeat("x", 10_000)+`"}`)
	model.says = append(model.says, text("So."))
	s := planner.State{Question: strings.Repeat("word ", 3000)}
	if _, err := m.Next(t.Context(), s); err != nil {
		t.Error(err)
	}
	s.Tools = []planner.Tool{heavy}
	if _, err := m.Next(t.Context(), s); !errors.Is(err, contextwindow.ErrTooLarge) {
		t.Errorf("the tools take no room: %v", err)
	}
}

// BenchmarkModelNext measures a decision without the language model's own time.
func BenchmarkModelNext(b *testing.B) {
	model := &quick{}
	m := planner.NewModel(planner.ModelOptions{Model: model})
	s := planner.State{Question: "q", Memory: new(planner.Memory), MaxSteps: 20}
	for i := range 40 {
		s.Tools = append(s.Tools, tool(fmt.Sprintf("server.tool_%d", i), pathSchema))
	}
	for i := range 8 {
		s.Steps = append(s.Steps, record(i, "read_file", `{"path":"a"}`, strings.Repeat("word ", 10_000)))
	}
	for b.Loop() {
		if _, err := m.Next(b.Context(), s); err != nil {
			b.Fatal(err)
		}
	}
}

// quick is a model that always makes the same call.
type quick struct{ talker }

func (*quick) Generate(_ context.Context, req llm.Request) iter.Seq2[llm.Event, error] {
	return llmtest.Answer(req, llm.Response{Message: llm.Message{Calls: []llm.ToolCall{{ID: "1", Name: "server_tool_1", Arguments: json.RawMessage(`{"path":"b"}`)}}}}, nil)
}

// TestModel_BudgetFollowsTools checks that the current tools are subtracted
// from the budget at each step, with and without a memory.
func TestModel_BudgetFollowsTools(t *testing.T) {
	few := []planner.Tool{tool("read_file", pathSchema)}
	many := slices.Clone(few)
	for i := range 100 {
		many = append(many, tool(fmt.Sprintf("tool_%d_%s", i, strings.Repeat("x", 40)), pathSchema))
	}
	state := planner.State{Question: "q", MaxSteps: 20}
	for i := range 6 {
		state.Steps = append(state.Steps, record(i, "read_file", fmt.Sprintf(`{"path":"%d"}`, i), strings.Repeat("long ", 900)))
	}
	with, without := &talker{t: t}, &talker{t: t}
	var budgets []int
	for i := range 3 {
		say := calls("", fmt.Sprintf(`read_file {"path":"new %d"}`, i))
		with.says, without.says = append(with.says, say), append(without.says, say)
	}
	memory := new(planner.Memory)
	options := planner.ModelOptions{Budget: 16_000}
	options.Model = with
	a := planner.NewModel(options)
	options.Model = without
	b := planner.NewModel(options)
	for i, tools := range [][]planner.Tool{few, many, few} {
		state.Tools, state.Memory = tools, memory
		d, err := a.Next(t.Context(), state)
		if err != nil {
			t.Fatal(err)
		}
		budgets = append(budgets, d.Shown.Budget)
		if d.Shown.Tokens > d.Shown.Budget {
			t.Errorf("step %d: %d tokens of %d", i, d.Shown.Tokens, d.Shown.Budget)
		}
		state.Memory = nil
		if _, err := b.Next(t.Context(), state); err != nil {
			t.Fatal(err)
		}
		if x, y := fmt.Sprintf("%+v", with.asked[i].Messages), fmt.Sprintf("%+v", without.asked[i].Messages); x != y {
			t.Errorf("step %d differs with a memory", i)
		}
	}
	if budgets[0] != budgets[2] || budgets[1] >= budgets[0]-2000 {
		t.Errorf("budgets %v", budgets)
	}
}
