package contextwindow

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/agent/llm"
)

// crowded returns an input with every part that can be left out.
func crowded() Input {
	in := Input{System: "Be kind.", Question: "What?", Goal: Planning}
	for i := range 2 {
		in.History = append(in.History,
			llm.Message{Role: llm.User, Text: fmt.Sprintf("earlier question %d, %s", i, prose(seeded(), 100))},
			llm.Message{Role: llm.Assistant, Calls: []llm.ToolCall{{ID: "h", Name: "read"}}},
			llm.Message{Role: llm.ToolResult, CallID: "h", Text: "earlier result"})
	}
	for i := range 3 {
		in.Records = append(in.Records,
			stepOf(3*i, success(prose(seeded(), 9000))),
			stepOf(3*i+1, success(prose(seeded(), 400))),
			stepOf(3*i+2, failure(prose(seeded(), 400))))
		for j := range 3 {
			in.Records[3*i+j].Thought = prose(seeded(), 200)
		}
	}
	return in
}

// shrink builds the context with decreasing budgets until it does not fit, and
// returns the changes in order.
func shrink(t *testing.T, in Input) []string {
	t.Helper()
	var seen []string
	note := func(format string, a ...any) {
		if s := fmt.Sprintf(format, a...); !slices.Contains(seen, s) {
			seen = append(seen, s)
		}
	}
	_, meta := build(t, 1<<30, Options{}, in)
	for budget := meta.Tokens; ; budget = meta.Tokens - 1 {
		in.Budget = budget
		messages, now, err := NewBuilder(Options{}).Build(t.Context(), in)
		if err != nil {
			return seen
		}
		meta = now
		check(t, in, messages, meta)
		for i := range messages {
			step, _, _ := strings.Cut(strings.TrimPrefix(messages[i].CallID, "step"), "_")
			switch head, body, _ := strings.Cut(messages[i].Text, "\n"); {
			case meta.Steps > 0 || messages[i].Role != llm.ToolResult:
			case strings.HasPrefix(body, "[left out: ") && messages[i].IsError:
				note("error %s", step)
			case strings.HasPrefix(body, "[left out: "):
				note("result %s", step)
			case strings.HasSuffix(head, "(preview)"):
				note("preview %s", step)
			}
		}
		if meta.Thoughts > 0 && meta.Steps == 0 {
			note("thoughts %d", meta.Thoughts)
		}
		if meta.History > 0 {
			note("history %d", meta.History)
		}
		if meta.Steps > 0 {
			note("steps %d", meta.Steps)
		}
	}
}

func TestFit_Order(t *testing.T) {
	ends := []string{
		"result 1", "result 4", "result 7",
		"thoughts 1", "thoughts 2", "thoughts 3", "thoughts 4", "thoughts 5", "thoughts 6", "thoughts 7", "thoughts 8", "thoughts 9",
		"history 3", "history 6",
		"error 2", "error 5", "error 8",
		"steps 1", "steps 2", "steps 3", "steps 4", "steps 5", "steps 6", "steps 7", "steps 8", "steps 9",
	}
	for goal, first := range map[Goal][]string{
		Planning:  {"preview 0", "preview 3", "preview 6", "result 0", "result 3", "result 6"},
		Synthesis: {"preview 0", "preview 3", "preview 6", "result 0", "result 3", "result 6"},
	} {
		in := crowded()
		in.Goal = goal
		got, want := shrink(t, in), append(first, ends...)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %s\nnot %s", goal, strings.Join(got, ", "), strings.Join(want, ", "))
		}
	}
}

func TestFit_Marks(t *testing.T) {
	big := strings.Repeat("word ", 2469) // 12,345 characters
	in := Input{Question: "?", Records: []Record{stepOf(0, success(big)), stepOf(1, success(big))}, Goal: Planning}
	_, all := build(t, defaultBudget, Options{}, in)
	messages, meta := build(t, all.Tokens-1, Options{}, in)
	if want := "Tool read: SUCCESS\n[left out: 12,345 characters; call the tool again if you need it]"; messages[2].Text != want || meta.Dropped != 1 || meta.Previews != 1 {
		t.Errorf("%s\n%+v", messages[2].Text, meta)
	}
	in.Goal = Synthesis // no more tool calls
	messages, meta = build(t, all.Tokens-1, Options{}, in)
	if want := "Tool read: SUCCESS\n[left out: 12,345 characters]"; messages[2].Text != want {
		t.Errorf("%s\n%+v", messages[2].Text, meta)
	}
	in.Goal = Planning
	messages, meta = build(t, 40, Options{}, in)
	if want := "user: ?\nuser: [left out: 2 earlier steps]"; texts(messages) != want || meta.Steps != 2 || meta.Dropped != 2 {
		t.Errorf("%s\n%+v", texts(messages), meta)
	}
	if meta.Thoughts != 0 {
		t.Errorf("thoughts of steps that are gone are counted: %+v", meta)
	}
	messages, meta = build(t, 6, Options{}, in)
	if texts(messages) != "user: ?" || meta.Steps != 2 {
		t.Errorf("%s\n%+v", texts(messages), meta)
	}
}

// A mark replaces only longer text, and the mark of a failed call does not
// suggest to repeat it.
func TestFit_MarksOfSmallResultsAndErrors(t *testing.T) {
	in := Input{Question: "?", Goal: Planning, Records: []Record{stepOf(0, success("ok")), stepOf(1, failure(prose(seeded(), 1000)))}}
	in.Records[0].Thought, in.Records[1].Thought = "", ""
	_, all := build(t, defaultBudget, Options{}, in)
	messages, meta := build(t, all.Tokens-1, Options{}, in)
	check(t, in, messages, meta)
	if messages[2].Text != "Tool read: SUCCESS\nok" || messages[4].Text != "Tool read: FAILED\n[left out: 1,000 characters]" || meta.Dropped != 1 {
		t.Errorf("%s\n%+v", texts(messages), meta)
	}
}

func TestBuild_ChangedInput(t *testing.T) {
	b := NewBuilder(Options{})
	in := Input{System: "one", Question: "?", Goal: Planning, Budget: defaultBudget}
	in.History = []llm.Message{{Role: llm.User, Text: "two"}}
	in.Records = []Record{stepOf(0, success("three")), stepOf(1, success("four"))}
	for i, change := range []func(){
		func() {},
		func() { in.System = "another prompt" },
		func() { in.History = []llm.Message{{Role: llm.User, Text: "other words"}} },
		func() { in.Records = []Record{stepOf(0, success("a third")), in.Records[1]} },
		func() { in.Records = []Record{in.Records[0], stepOf(5, failure("the last one"))} },
		func() { in.Question = "And now?" },
		func() { in.History = nil },
		func() { in.Records = in.Records[:1] },
		func() {
			turn := llm.Message{Role: llm.Assistant, Text: "mine", Calls: []llm.ToolCall{{ID: "m", Name: "read"}}}
			in.Records = slices.Clone(in.Records)
			in.Records[0].Turn = &turn
		},
	} {
		change()
		messages, meta, err := b.Build(t.Context(), in)
		fresh, freshMeta := build(t, defaultBudget, Options{}, in)
		if err != nil || !reflect.DeepEqual(messages, fresh) || !reflect.DeepEqual(meta, freshMeta) {
			t.Errorf("after change %d: %+v\nnot %+v, %v", i, messages, fresh, err)
		}
	}
}

// An oversized part is dropped without the parts that fit.
func TestFit_OversizedPart(t *testing.T) {
	giant := prose(seeded(), 200_000)
	turn := stepOf(1, success("small"))
	turn.Turn = &llm.Message{Role: llm.Assistant, Text: giant, Calls: []llm.ToolCall{{ID: "a", Name: "read"}}}
	thought := stepOf(2, success("small"))
	thought.Thought = giant
	arguments := stepOf(3, success("small"))
	arguments.Calls[0].Arguments = []byte(`{"text":"` + strings.Repeat("word ", 40_000) + `"}`)
	for name, in := range map[string]Input{
		"result, planning":  {Goal: Planning, Records: []Record{stepOf(1, success(giant))}},
		"result, synthesis": {Goal: Synthesis, Records: []Record{stepOf(1, success(giant))}},
		"error":             {Goal: Planning, Records: []Record{stepOf(1, failure(giant))}},
		"turn":              {Goal: Planning, Records: []Record{turn}},
		"thought":           {Goal: Planning, Records: []Record{thought}},
		"arguments":         {Goal: Planning, Records: []Record{arguments}},
		"history":           {Goal: Planning, History: []llm.Message{{Role: llm.User, Text: giant}}},
	} {
		in.Question = "?"
		in.History = append(in.History, llm.Message{Role: llm.User, Text: "earlier words"})
		first := stepOf(0, success(strings.Repeat("first result ", 120)))
		in.Records = append([]Record{first}, in.Records...)
		messages, meta := build(t, 2000, Options{}, in)
		check(t, in, messages, meta)
		all := texts(messages)
		for _, want := range []string{"earlier words", "first result", "thought 0"} {
			if !strings.Contains(all, want) {
				t.Errorf("%s: %q is not shown, %+v", name, want, meta)
			}
		}
	}
}

// A large result that never fits is skipped, so that older results are shown in
// full.
func TestFit_SynthesisSkipsOversizedResult(t *testing.T) {
	in := Input{Question: "?", Goal: Synthesis, Records: []Record{
		stepOf(0, success(strings.Repeat("old ", 500))), stepOf(1, success(strings.Repeat("giant ", 100_000))), stepOf(2, success(strings.Repeat("new ", 500))),
	}}
	messages, meta := build(t, 4000, Options{}, in)
	if meta.Previews != 1 || meta.Dropped != 0 || !strings.HasPrefix(messages[4].Text, "Tool read: SUCCESS (preview)") {
		t.Errorf("%+v", meta)
	}
}

// A large result of a step that was dropped for its own size uses no budget.
func TestFit_LargeResultOfDroppedStep(t *testing.T) {
	s := stepOf(0, success(strings.Repeat("word ", 300)))
	s.Turn = &llm.Message{Role: llm.Assistant, Text: strings.Repeat("thought ", 300), Calls: []llm.ToolCall{{ID: "a", Name: "read"}}}
	in := Input{Question: "?", Goal: Synthesis, Records: []Record{s}}
	messages, meta := build(t, 420, Options{}, in)
	check(t, in, messages, meta)
	if meta.Steps != 1 {
		t.Errorf("%+v", meta)
	}
}
