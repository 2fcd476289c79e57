package contextwindow

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/agent/llm"
)

// stepOf returns a record of one call.
func stepOf(i int, r Result) Record {
	r.Tool = "read"
	return Record{
		Index: i, Action: UseTools, Thought: fmt.Sprintf("thought %d", i),
		Calls: []Call{{Tool: "read", Arguments: json.RawMessage(`{"n":1}`)}}, Results: []Result{r},
	}
}

func success(text string) Result { return Result{Success: true, Text: text} }

func failure(text string) Result { return Result{Error: text} }

const defaultBudget = 128_000

// build builds one context with a new Builder.
func build(t *testing.T, budget int, o Options, in Input) ([]llm.Message, Meta) {
	t.Helper()
	if in.Goal == "" {
		in.Goal = Planning
	}
	in.Budget = budget
	messages, meta, err := NewBuilder(o).Build(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return messages, meta
}

func texts(messages []llm.Message) string {
	var out []string
	for _, m := range messages {
		out = append(out, string(m.Role)+": "+m.Text)
	}
	return strings.Join(out, "\n")
}

func TestBuild_Order(t *testing.T) {
	history := []llm.Message{{Role: llm.User, Text: "Hi"}, {Role: llm.Assistant, Text: "Hello"}}
	two := stepOf(0, success("one"))
	two.Calls = append(two.Calls, Call{ID: "x1", Tool: "list", Arguments: json.RawMessage(`{"a":2}`)})
	two.Results = append(two.Results, failure("no such folder"))
	last := Record{Index: 1, Action: Finish, Thought: "That is all."}
	messages, meta := build(t, defaultBudget, Options{}, Input{System: "Be kind.", History: history, Question: "What?", Records: []Record{two, last}})
	want := []llm.Message{
		{Role: llm.System, Text: "Be kind."},
		history[0], history[1],
		{Role: llm.User, Text: "What?"},
		{Role: llm.Assistant, Text: "thought 0", Calls: []llm.ToolCall{
			{ID: "step0_call0", Name: "read", Arguments: json.RawMessage(`{"n":1}`)},
			{ID: "x1", Name: "list", Arguments: json.RawMessage(`{"a":2}`)},
		}},
		{Role: llm.ToolResult, Text: "Tool read: SUCCESS\none", CallID: "step0_call0"},
		{Role: llm.ToolResult, Text: "Tool list: FAILED\nno such folder", CallID: "x1", IsError: true},
		{Role: llm.Assistant, Text: "That is all."},
	}
	if !reflect.DeepEqual(messages, want) {
		t.Errorf("got %+v\nnot %+v", messages, want)
	}
	if meta.Previews+meta.Dropped+meta.History != 0 || meta.Budget != 128_000 || meta.Goal != Planning {
		t.Errorf("meta %+v", meta)
	}
}

func TestBuild_QuestionOnly(t *testing.T) {
	messages, meta := build(t, defaultBudget, Options{}, Input{Question: "What?"})
	if texts(messages) != "user: What?" || meta.Tokens != perMessage+2 {
		t.Errorf("%s, %+v", texts(messages), meta)
	}
}

func TestBuild_ResultHead(t *testing.T) {
	for want, r := range map[string]Result{
		"Tool read: SUCCESS\nok":             success("ok"),
		"Tool read: SUCCESS\n(nothing)":      success(""),
		"Tool read: FAILED\nbroken":          failure("broken"),
		"Tool read: FAILED\nbroken\nat 3":    {Error: "broken", Text: "at 3"},
		"Tool read: FAILED\nit is broken":    {Error: "broken", Text: "it is broken"},
		"Tool read: FULFILLED\nok":           {Success: true, Outcome: Fulfilled, Text: "ok"},
		"Tool read: REJECTED\nno":            {Outcome: Rejected, Error: "no"},
		"Tool read: WITHDRAWN\nno":           {Outcome: Withdrawn, Error: "no"},
		"Tool read: EXPIRED\nno":             {Outcome: Expired, Error: "no"},
		"Tool read: REFUSED\nno":             {Outcome: Refused, Error: "no"},
		"Tool read: FAILED\nno":              {Outcome: Failure, Error: "no"},
		"Tool read: SUCCESS\nb\uFFFDd bytes": success("b\xffd bytes"),
	} {
		messages, _ := build(t, defaultBudget, Options{}, Input{Question: "?", Records: []Record{stepOf(0, r)}})
		if got := messages[2]; got.Text != want || got.IsError != !r.Success {
			t.Errorf("got %+v, want %q", got, want)
		}
	}
}

func TestBuild_MissingResult(t *testing.T) {
	r := stepOf(0, success("ok"))
	r.Calls = append(r.Calls, Call{Tool: "list"}, Call{Tool: "list"})
	b := NewBuilder(Options{})
	for _, goal := range []Goal{Planning, Synthesis} {
		messages, meta, err := b.Build(t.Context(), Input{Question: "?", Records: []Record{r}, Goal: goal, Budget: defaultBudget})
		want := llm.Message{Role: llm.ToolResult, Text: "Tool list: FAILED\nno result", CallID: "step0_call2", IsError: true}
		if err != nil || len(messages) != 5 || !reflect.DeepEqual(messages[4], want) || meta.Previews+meta.Dropped != 0 {
			t.Fatalf("%+v, %+v, %v", messages, meta, err)
		}
	}
	r.Results = append(r.Results, success("later")) // the Builder detects the change
	messages, _, err := b.Build(t.Context(), Input{Question: "?", Records: []Record{r}, Goal: Planning, Budget: defaultBudget})
	if err != nil || messages[3].Text != "Tool list: SUCCESS\nlater" {
		t.Errorf("%+v, %v", messages, err)
	}
}

func TestBuild_TurnIsUnchanged(t *testing.T) {
	turn := llm.Message{
		Role: llm.Assistant, Text: "I look.", Opaque: llm.ProviderState{Provider: "anthropic", Data: json.RawMessage(`[{"type":"thinking","signature":"EqQB"}]`)},
		Calls: []llm.ToolCall{{ID: "toolu_1", Name: "read_file"}, {ID: "toolu_2", Name: "unknown"}, {ID: "toolu_3", Name: "list"}},
	}
	r := Record{Index: 4, Action: UseTools, Thought: "other words", Turn: &turn,
		Calls:   []Call{{ID: "toolu_3", Tool: "files/list"}, {ID: "toolu_1", Tool: "files/read"}},
		Results: []Result{success("of list"), success("of read")},
	}
	messages, _ := build(t, defaultBudget, Options{}, Input{Question: "?", Records: []Record{r}})
	if !reflect.DeepEqual(messages[1], turn) {
		t.Errorf("turn %+v", messages[1])
	}
	want := []llm.Message{
		{Role: llm.ToolResult, CallID: "toolu_1", Text: "Tool files/read: SUCCESS\nof read"},
		{Role: llm.ToolResult, CallID: "toolu_2", Text: "Tool unknown: FAILED\nno result", IsError: true},
		{Role: llm.ToolResult, CallID: "toolu_3", Text: "Tool files/list: SUCCESS\nof list"},
	}
	if !reflect.DeepEqual(messages[2:], want) {
		t.Errorf("results %+v", messages[2:])
	}
}

func TestBuild_TurnWithoutIDsOrCalls(t *testing.T) {
	noIDs := stepOf(0, success("ok"))
	noIDs.Turn = &llm.Message{Role: llm.Assistant, Calls: []llm.ToolCall{{Name: "read"}}}
	inWords := stepOf(1, success("ok"))
	inWords.Turn = &llm.Message{Role: llm.Assistant, Text: `{"tool":"read"}`}
	silent := Record{Index: 2, Action: Finish}
	messages, _ := build(t, defaultBudget, Options{}, Input{Question: "?", Records: []Record{noIDs, inWords, silent}})
	if len(messages) != 5 || messages[1].Calls[0].ID != "step0_call0" || messages[2].CallID != "step0_call0" || noIDs.Turn.Calls[0].ID != "" {
		t.Errorf("no ids: %+v", messages)
	}
	if messages[3].Text != "thought 1" || messages[3].Calls[0].ID != "step1_call0" || messages[4].CallID != "step1_call0" {
		t.Errorf("no calls: %+v", messages[3:])
	}
}

func TestBuild_CallIDsAreUnique(t *testing.T) {
	r := Record{Calls: []Call{{ID: "a"}, {ID: "a"}, {ID: "step0_call3"}, {}}}
	messages, _ := build(t, defaultBudget, Options{}, Input{Question: "?", Records: []Record{r}})
	seen := map[string]bool{}
	for i, c := range messages[1].Calls {
		if seen[c.ID] || messages[2+i].CallID != c.ID {
			t.Errorf("%q again", c.ID)
		}
		seen[c.ID] = true
	}
}

func TestBuild_PlanningPreviews(t *testing.T) {
	list := `{"hits":[` + strings.Repeat(`{"u":"x"}, `, 200) + `{}],"n": 201}`
	records := []Record{
		stepOf(0, success(strings.Repeat("x", 1000))),
		stepOf(1, success(strings.Repeat("x", 1001))),
		stepOf(2, success(list)),
		stepOf(3, failure(strings.Repeat("e", 20_000))),
		stepOf(4, failure(strings.Repeat("e", 20_001))),
		stepOf(5, success(`{ "s":`+strings.Repeat(" ", 1000)+`1}`)),
		stepOf(6, Result{Success: true, Outcome: Fulfilled, Text: list}),
	}
	want := []string{
		"Tool read: SUCCESS\n" + strings.Repeat("x", 1000),
		"Tool read: SUCCESS (preview)\n" + strings.Repeat("x", 300) + "… [701 more characters]",
		"Tool read: SUCCESS (preview)\n" + `{"hits":[{"u":"x"},{"u":"x"},{"u":"x"},"[198 more items]"],"n":201}`,
		"Tool read: FAILED\n" + strings.Repeat("e", 20_000),
		"Tool read: FAILED\n" + strings.Repeat("e", 20_000) + "… [1 more character]",
		"Tool read: SUCCESS\n" + `{"s":1}`,
		"Tool read: FULFILLED (preview)\n" + `{"hits":[{"u":"x"},{"u":"x"},{"u":"x"},"[198 more items]"],"n":201}`,
	}
	messages, meta := build(t, defaultBudget, Options{}, Input{Question: "?", Records: records})
	for i, w := range want {
		if got := messages[2+2*i].Text; got != w {
			t.Errorf("%d: %s\nnot %s", i, got, w)
		}
	}
	if meta.Previews != 4 || meta.Dropped != 0 {
		t.Errorf("meta %+v", meta)
	}

	messages, meta = build(t, defaultBudget, Options{}, Input{Question: "?", Records: records, Goal: Synthesis})
	for i, r := range records {
		if got := messages[2+2*i].Text; i != 4 && !strings.HasSuffix(got, "\n"+r.Results[0].Text+r.Results[0].Error) {
			t.Errorf("%d is not whole: %s", i, got)
		}
	}
	if meta.Dropped != 0 || meta.Previews != 1 {
		t.Errorf("meta %+v", meta)
	}
}

func TestBuild_Errors(t *testing.T) {
	if _, _, err := NewBuilder(Options{}).Build(t.Context(), Input{Question: "?", Goal: "fun"}); err == nil || !strings.Contains(err.Error(), `"fun"`) {
		t.Error(err)
	}
	b := NewBuilder(Options{Utilization: Low})
	_, _, err := b.Build(t.Context(), Input{System: strings.Repeat("word ", 80), Question: strings.Repeat("word ", 80), Goal: Planning, Budget: 400})
	if !errors.Is(err, ErrTooLarge) || !strings.HasSuffix(err.Error(), fmt.Sprintf(" have %d tokens, the budget is 100", 2*(perMessage+100))) {
		t.Errorf("%v", err)
	}
}

func TestParseUtilization(t *testing.T) {
	for s, want := range map[string]Utilization{"full": Full, "half": Half, "low": Low, "": Full} {
		got, err := ParseUtilization(s)
		if err != nil || got != want || s != "" && string(got) != s {
			t.Errorf("%q is %v, %v", s, got, err)
		}
	}
	if _, err := ParseUtilization("most"); err == nil {
		t.Error("most is a share")
	}
	for u, want := range map[Utilization]int{Full: 1000, Half: 500, Low: 250} {
		if _, meta := build(t, 1000, Options{Utilization: u}, Input{Question: "?"}); meta.Budget != want {
			t.Errorf("%v of 1,000 is %d", u, meta.Budget)
		}
	}
}

// The documented error of estimates holds for text with known tokens: the
// counts of o200k_base and cl100k_base, the one that differs more.
func TestEstimateTokens(t *testing.T) {
	german := "Die Geschwindigkeitsbegrenzung auf Autobahnen ist ein häufig diskutiertes Thema; übermäßige Änderungen wären unpopulär. "
	for name, c := range map[string]struct {
		text   string
		tokens int
	}{
		"German":  {strings.Repeat(german, 50), 1401},
		"numbers": {strings.Repeat("1234567, 89.123; 2026-11-22T12:00:00Z 0.0012 ", 100), 2900},
	} {
		t.Run(name, func(t *testing.T) {
			if n := EstimateTokens(c.text); n < c.tokens*95/100 || n > c.tokens*135/100 {
				t.Errorf("estimate is %d, count is %d", n, c.tokens)
			}
		})
	}
	if n := EstimateTokens(""); n != 0 {
		t.Errorf("estimate of an empty text is %d", n)
	}
}
