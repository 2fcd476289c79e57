package planner_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/agent/planner"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// talker is a language model with scripted responses. It checks the providers'
// requirements for every request: legal names, object schemas, a result
// directly after each call, and no call that is not allowed.
type talker struct {
	t     *testing.T
	mu    sync.Mutex
	says  []func(llm.Request) (llm.Response, error)
	asked []llm.Request
}

func (m *talker) Name() string     { return "talker-1" }
func (m *talker) Provider() string { return "test" }

func (m *talker) Generate(ctx context.Context, req llm.Request, on func(llm.Delta)) (llm.Response, error) {
	if err := ctx.Err(); err != nil {
		return llm.Response{}, err
	}
	m.mu.Lock()
	m.asked = append(m.asked, req)
	n := len(m.asked)
	m.mu.Unlock()
	checkRequest(m.t, req)
	if n > len(m.says) {
		m.t.Errorf("asked %d times, not %d", n, len(m.says))
		return llm.Response{}, errors.New("nothing more to say")
	}
	resp, err := m.says[n-1](req)
	if on != nil && err == nil {
		on(llm.Delta{Kind: llm.ThinkingDelta, Text: resp.Thinking})
		on(llm.Delta{Text: resp.Message.Text})
	}
	return resp, err
}

var providersName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

func checkRequest(t *testing.T, req llm.Request) {
	t.Helper()
	offered := make(map[string]bool)
	for _, tool := range req.Tools {
		var schema struct {
			Type       string
			Properties map[string]json.RawMessage
		}
		if err := json.Unmarshal(tool.InputSchema, &schema); err != nil || schema.Type != "object" || schema.Properties == nil {
			t.Errorf("schema of %s: %s: %v", tool.Name, tool.InputSchema, err)
		}
		if !providersName.MatchString(tool.Name) || offered[tool.Name] || len(tool.Description) > 1024 {
			t.Errorf("tool %q, offered before: %t, description of %d bytes", tool.Name, offered[tool.Name], len(tool.Description))
		}
		offered[tool.Name] = true
	}
	if c := req.Choice; c != llm.Auto && c != llm.None && c != llm.Required && !offered[string(c)] {
		t.Errorf("choice %q is not on offer", c)
	}
	checkConversation(t, req.Messages)
}

func checkConversation(t *testing.T, messages []llm.Message) {
	t.Helper()
	var waiting []string
	for i, m := range messages {
		if m.Role == llm.ToolResult {
			if at := slices.Index(waiting, m.CallID); at >= 0 {
				waiting = slices.Delete(waiting, at, at+1)
			} else {
				t.Errorf("message %d is the result of %q, which was not called", i, m.CallID)
			}
			continue
		}
		if len(waiting) > 0 {
			t.Errorf("message %d comes before the results of %q", i, waiting)
		}
		waiting = nil
		for _, c := range m.Calls {
			if c.ID == "" || slices.Contains(waiting, c.ID) || !providersName.MatchString(c.Name) {
				t.Errorf("message %d has a call %q of %q", i, c.ID, c.Name)
			}
			waiting = append(waiting, c.ID)
		}
	}
	if len(waiting) > 0 {
		t.Errorf("no results of %q", waiting)
	}
}

// Scripted responses of a talker.

func text(s string) func(llm.Request) (llm.Response, error) {
	return stopped(s, llm.StopEnd)
}

func stopped(s string, stop llm.Stop) func(llm.Request) (llm.Response, error) {
	return func(llm.Request) (llm.Response, error) {
		return llm.Response{Message: llm.Message{Role: llm.Assistant, Text: s}, Stop: stop, Usage: llm.Usage{Input: 10, Output: 3}}, nil
	}
}

func fails(err error) func(llm.Request) (llm.Response, error) {
	return func(llm.Request) (llm.Response, error) { return llm.Response{}, err }
}

// calls returns a response with calls, each given as "tool arguments".
func calls(s string, list ...string) func(llm.Request) (llm.Response, error) {
	return func(llm.Request) (llm.Response, error) {
		m := llm.Message{Role: llm.Assistant, Text: s, Opaque: llm.ProviderState{Provider: "test", Data: json.RawMessage(`"signed"`)}}
		for i, c := range list {
			name, args, _ := strings.Cut(c, " ")
			m.Calls = append(m.Calls, llm.ToolCall{ID: fmt.Sprintf("id%d", i), Name: name, Arguments: json.RawMessage(args)})
		}
		return llm.Response{Message: m, Stop: llm.StopTools, Thinking: "hm", Usage: llm.Usage{Input: 10, Output: 3, Cached: 2, Reasoning: 1}}, nil
	}
}

func tool(name, schema string) planner.Tool {
	return planner.Tool{Name: name, Description: "Does " + name, InputSchema: json.RawMessage(schema)}
}

const pathSchema = `{"type":"object","properties":{"path":{"type":"string"}},"required":["path"],"additionalProperties":false}`

// ask runs one decision.
func ask(t *testing.T, s planner.State, says ...func(llm.Request) (llm.Response, error)) (planner.Decision, *talker, error) {
	t.Helper()
	model := &talker{t: t, says: says}
	if s.Question == "" {
		s.Question = "What is in a.md?"
	}
	if s.Tools == nil {
		s.Tools = []planner.Tool{tool("read_file", pathSchema), tool("context.fts_search", `{"type":"object","properties":{"query":{"type":"string"}},"required":["query"]}`)}
	}
	m := planner.NewModel(planner.ModelOptions{Model: model, Now: func() time.Time { return time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC) }})
	d, err := m.Next(t.Context(), s)
	if len(model.asked) != len(says) {
		t.Errorf("asked %d times, not %d", len(model.asked), len(says))
	}
	return d, model, err
}

func decide(t *testing.T, s planner.State, says ...func(llm.Request) (llm.Response, error)) (planner.Decision, *talker) {
	t.Helper()
	d, model, err := ask(t, s, says...)
	if err != nil {
		t.Fatal(err)
	}
	return d, model
}

// record is a finished step with one call.
func record(index int, tool, args, result string) contextwindow.Record {
	return contextwindow.Record{
		Index: index, Thought: "so far", Action: contextwindow.UseTools,
		Calls:   []contextwindow.Call{{ID: fmt.Sprintf("r%d", index), Tool: tool, Arguments: json.RawMessage(args), Reason: "why"}},
		Results: []contextwindow.Result{{Tool: tool, Success: true, Text: result}},
	}
}

func shown(calls []contextwindow.Call) string {
	var out []string
	for _, c := range calls {
		out = append(out, fmt.Sprintf("%s %s %s", c.Tool, c.Arguments, c.Reason))
	}
	return strings.Join(out, "\n")
}

func system(req llm.Request) string { return req.Messages[0].Text }

func TestModel_Calls(t *testing.T) {
	d, model := decide(t, planner.State{Instructions: "You are Ada."}, calls("I know nothing yet.",
		`read_file {"rationale":" I read\n it to see. ","path":"a.md"}`,
		`context_fts_search {"query":"1 < 2"}`))
	if want := "read_file {\"path\":\"a.md\"} I read it to see.\ncontext.fts_search {\"query\":\"1 < 2\"} " + planner.DefaultReason; shown(d.Calls) != want {
		t.Errorf("calls\n%s\nwant\n%s", shown(d.Calls), want)
	}
	if d.Action != contextwindow.UseTools || d.Source != planner.ByModel || d.Thought != "I know nothing yet." || d.Thinking != "hm" {
		t.Errorf("%+v", d)
	}
	if d.Model != "talker-1" || d.Provider != "test" || d.Usage != (llm.Usage{Input: 10, Output: 3, Cached: 2, Reasoning: 1}) || d.Shown == nil || d.Shown.Goal != contextwindow.Planning {
		t.Errorf("%+v", d)
	}
	if d.Turn == nil || len(d.Turn.Calls) != 2 || d.Turn.Opaque.Provider == "" || d.Calls[0].ID != "id0" {
		t.Errorf("turn %+v", d.Turn)
	}
	req := model.asked[0]
	for _, want := range []string{"You are Ada.", "never an instruction", "language of the question", "Sunday, 1 March 2026", "at once", "shown in part"} {
		if !strings.Contains(system(req), want) {
			t.Errorf("no %q in the prompt:\n%s", want, system(req))
		}
	}
	if strings.Contains(system(req), "led nowhere") {
		t.Errorf("it is not stuck:\n%s", system(req))
	}
}

func TestModel_OfferedTools(t *testing.T) {
	tools := []planner.Tool{
		tool("a.b", `{"type":"object","properties":{"z":{"type":"string"},"a":{}},"required":["z"]}`),
		tool("a_b", ``),
		tool("a b", `{"properties":{"rationale":{"type":"string"}}}`),
		tool(strings.Repeat("é", 90), `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","anyOf":[{"required":["x"]}],"properties":{"x":{}}}`),
		tool("a_b", `{"type":"object"}`), // a second one
		tool("remote", `{"$ref":"http://127.0.0.1:1/x"}`),
		tool("local", `{"$ref":"file:///etc/passwd"}`),
		tool("broken", `{"type":12}`),
	}
	_, model := decide(t, planner.State{Tools: tools, MaxDepth: 1}, text("Nothing."))
	offered := make(map[string]llm.Tool)
	var names []string
	for _, x := range model.asked[0].Tools {
		offered[x.Name] = x
		names = append(names, x.Name)
	}
	if len(names) != 5 || names[0] != planner.Subproblem || !strings.HasPrefix(names[1], "a_b_") || names[2] != "a_b" || !strings.HasPrefix(names[3], "a_b_") || names[4] != "tool" {
		t.Errorf("names %q", names)
	}
	const why = `{"type":"string","description":"one sentence for people: why this call now"}`
	for i, want := range map[int]string{
		1: `{"properties":{"rationale":` + why + `,"z":{"type":"string"},"a":{}},"required":["rationale","z"],"type":"object"}`,
		2: `{"properties":{"rationale":` + why + `},"required":["rationale"],"type":"object"}`,
		3: `{"properties":{"meup_rationale":` + why + `,"rationale":{"type":"string"}},"required":["meup_rationale"],"type":"object"}`,
		4: `{"properties":{"rationale":` + why + `,"x":{}},"required":["rationale"],"type":"object"}`,
	} {
		if got := string(offered[names[i]].InputSchema); got != want {
			t.Errorf("schema of %s\n%s\nwant\n%s", names[i], got, want)
		}
	}
	if d := offered["tool"].Description; !strings.Contains(d, `{"anyOf":[{"required":["x"]}]}`) {
		t.Errorf("description %q", d)
	}
}

func TestModel_SubproblemDepth(t *testing.T) {
	for depth, want := range []bool{true, true, false} {
		_, model := decide(t, planner.State{Depth: depth, MaxDepth: 2}, text("Nothing."))
		got := slices.ContainsFunc(model.asked[0].Tools, func(x llm.Tool) bool { return x.Name == planner.Subproblem })
		if got != want {
			t.Errorf("depth %d: offered %t", depth, got)
		}
	}
	d, _ := decide(t, planner.State{MaxDepth: 1}, calls("", `subproblem {"question":"And b?","rationale":"Apart."}`))
	if shown(d.Calls) != `subproblem {"question":"And b?"} Apart.` {
		t.Errorf("calls %s", shown(d.Calls))
	}
}

func TestModel_OwnRationaleParameter(t *testing.T) {
	own := tool("decide", `{"type":"object","properties":{"rationale":{"type":"string"}},"required":["rationale"]}`)
	d, _ := decide(t, planner.State{Tools: []planner.Tool{own}}, calls("", `decide {"rationale":"theirs","meup_rationale":"ours"}`))
	if shown(d.Calls) != `decide {"rationale":"theirs"} ours` {
		t.Errorf("calls %s", shown(d.Calls))
	}
}

func TestModel_Correction(t *testing.T) {
	good := `read_file {"path":"b.md"}`
	var twenty, sixteen []string
	for i := range 20 {
		twenty = append(twenty, fmt.Sprintf(`read_file {"path":"%d"}`, i))
	}
	sixteen = twenty[:16]
	for name, test := range map[string]struct {
		first []string
		told  string // in the result of the last of first
	}{
		"unknown tool":    {[]string{good, `write_file {}`}, `There is no tool "write_file". The tools are: read_file, context_fts_search.`},
		"wrong type":      {[]string{good, `read_file {"path":1}`}, "/path: expected string, but got number"},
		"unknown key":     {[]string{good, `read_file {"path":"a","x":1}`}, "x"},
		"missing":         {[]string{good, `read_file {}`}, "path"},
		"no object":       {[]string{good, `read_file "a.md"`}, "expected an object"},
		"broken":          {[]string{good, `read_file {"path":"a`}, "read_file was not called. arguments:"},
		"nothing":         {[]string{good, `read_file `}, "path"},
		"deep":            {[]string{good, `read_file ` + strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 100)}, "deep"},
		"duplicate key":   {[]string{good, `read_file {"path":"a","path":"b"}`}, "duplicate"},
		"made before":     {[]string{good, `read_file { "path" : "a.md", "rationale":"x" }`}, "called with these arguments before"},
		"twins":           {[]string{good, good}, "called with these arguments before"},
		"far too many":    {twenty, "No more than 16 calls"},
		"only the faulty": {[]string{`write_file {}`}, "There is no tool"},
	} {
		s := planner.State{Steps: []contextwindow.Record{record(0, "read_file", `{"path":"a.md"}`, "A")}}
		d, model := decide(t, s, calls("x", test.first...), calls("y", sixteen...))
		if len(d.Calls) != 16 || d.Usage.Input != 20 || d.Usage.Reasoning != 2 || d.Thought != "y" || d.Turn.Opaque.Provider == "" {
			t.Errorf("%s: %+v", name, d)
		}
		all := model.asked[1].Messages
		last := all[len(all)-1]
		if !last.IsError || !strings.Contains(last.Text, test.told) {
			t.Errorf("%s: told %q, want %q", name, last.Text, test.told)
		}
		if first := all[len(all)-len(test.first)]; len(test.first) > 1 && !strings.Contains(first.Text, "was not called yet") {
			t.Errorf("%s: told of the good one: %q", name, first.Text)
		}
	}
}

func TestModel_RemainingFaults(t *testing.T) {
	bad := calls("", `read_file {"path":"secret-0815","x":1}`)
	_, _, err := ask(t, planner.State{}, bad, bad)
	if !errors.Is(err, planner.ErrBadCalls) || !strings.Contains(err.Error(), "read_file") || strings.Contains(err.Error(), "0815") {
		t.Errorf("error %v", err)
	}
	d, _ := decide(t, planner.State{}, bad, calls("", `read_file {"path":1}`, `read_file {"path":"b"}`))
	if shown(d.Calls) != `read_file {"path":"b"} `+planner.DefaultReason {
		t.Errorf("calls %s", shown(d.Calls))
	}
	// The turn is unchanged; the next context has a result for each call.
	r := record(0, "read_file", `{"path":"b"}`, "B")
	r.Calls, r.Turn = d.Calls, d.Turn
	_, model := decide(t, planner.State{Steps: []contextwindow.Record{r}}, text("B."))
	if len(d.Turn.Calls) != 2 || d.Turn.Opaque.Provider == "" || !shows(model.asked[0], "no result") {
		t.Errorf("turn %+v, shown as %+v", d.Turn, model.asked[0].Messages)
	}
}

func TestModel_CallsWithoutIDs(t *testing.T) {
	anonymous := func(llm.Request) (llm.Response, error) {
		return llm.Response{Message: llm.Message{Calls: []llm.ToolCall{
			{Name: "read_file", Arguments: json.RawMessage(`{"path":"a"}`)}, {Name: "read_file", Arguments: json.RawMessage(`{"path":1}`)},
		}}}, nil
	}
	sameNames := func(req llm.Request) (llm.Response, error) {
		resp, err := anonymous(req)
		resp.Message.Calls = slices.Clone(resp.Message.Calls)
		for i := range resp.Message.Calls {
			resp.Message.Calls[i].ID = "x"
		}
		return resp, err
	}
	decide(t, planner.State{}, sameNames, anonymous) // the talker checks the ids
	d, _ := decide(t, planner.State{}, anonymous, anonymous)
	if len(d.Calls) != 1 || d.Calls[0].ID == "" || d.Calls[0].ID != d.Turn.Calls[0].ID || d.Turn.Role != llm.Assistant {
		t.Errorf("%+v", d)
	}
}

func TestModel_RepeatedCall(t *testing.T) {
	again := calls("Once more.", `context.fts_search {"query":"x"}`)
	s := planner.State{Stuck: true, Steps: []contextwindow.Record{record(0, "context.fts_search", `{"query": "x"}`, "found")}}
	d, model := decide(t, s, again, again, text("It is x."))
	if d.Action != contextwindow.Finish || d.Answer != "It is x." || d.Shown.Goal != contextwindow.Synthesis || d.Usage.Input != 30 {
		t.Errorf("%+v", d)
	}
	if last := model.asked[2]; last.Choice != llm.None || !strings.Contains(system(last), "again and again") {
		t.Errorf("choice %q, prompt\n%s", last.Choice, system(last))
	}
	if !strings.Contains(system(model.asked[0]), "led nowhere") {
		t.Errorf("it is not told that it is stuck:\n%s", system(model.asked[0]))
	}
}

func TestModel_Answers(t *testing.T) {
	d, model := decide(t, planner.State{Steps: []contextwindow.Record{record(0, "read_file", `{"path":"a.md"}`, "A")}},
		text("## Answer\n\nIt says A, e.g. in line 1. More is not there.\n"))
	if d.Action != contextwindow.Finish || d.Answer != "## Answer\n\nIt says A, e.g. in line 1. More is not there." || d.Conclusion != "It says A, e.g. in line 1." {
		t.Errorf("%+v", d)
	}
	if d.Confidence != 0 || d.Thought != "" || d.Turn != nil || d.Source != planner.ByModel || len(model.asked) != 1 {
		t.Errorf("%+v", d)
	}
}

func TestModel_Confidence(t *testing.T) {
	for said, want := range map[string]float64{
		"A.\n\nConfidence: 0.8": 0.8, "A.\n**Confidence:** 75 %": 0.75, "A.\nconfidence: 1": 1, "A.\n*Confidence: 40%.*": 0.4,
		"A.\nConfidence: 7": 0, "A. Confidence: 0.5": 0, "Confidence: 0.5": 0, "A.\nConfidence: high": 0, "A.\nConfidence: 0.5\nB": 0,
	} {
		d, _ := decide(t, planner.State{}, text(said))
		if d.Confidence != want || want > 0 && d.Answer != "A." || want == 0 && d.Answer != said {
			t.Errorf("%q: %g, answer %q", said, d.Confidence, d.Answer)
		}
	}
}

func TestModel_FullResultsForAnswer(t *testing.T) {
	long := strings.Repeat("word ", 4000) + "END"
	s := planner.State{Steps: []contextwindow.Record{record(0, "read_file", `{"path":"a.md"}`, long)}}
	var goals []contextwindow.Goal
	s.Asking = func(g contextwindow.Goal) { goals = append(goals, g) }
	d, model := decide(t, s, text("I need nothing more."), text("It ends with END."))
	if d.Answer != "It ends with END." || d.Thought != "I need nothing more." || d.Shown.Goal != contextwindow.Synthesis || d.Usage.Input != 20 {
		t.Errorf("%+v", d)
	}
	if shows(model.asked[0], "END") || !shows(model.asked[1], "END") {
		t.Errorf("END is shown for planning: %t, for the answer: %t", shows(model.asked[0], "END"), shows(model.asked[1], "END"))
	}
	if model.asked[1].Choice != llm.None || !slices.Equal(goals, []contextwindow.Goal{contextwindow.Planning, contextwindow.Synthesis}) {
		t.Errorf("choice %q, goals %v", model.asked[1].Choice, goals)
	}
}

// A planning turn that is a draft of the answer is not used as a thought.
func TestModel_DraftAnswerNotThought(t *testing.T) {
	s := planner.State{Steps: []contextwindow.Record{record(0, "read_file", `{"path":"a.md"}`, strings.Repeat("word ", 4000))}}
	for draft, thought := range map[string]string{
		"The answer is 42.":             "",
		"The answer is 42. I am sure.":  "",
		"Now I know. The answer is 42.": "Now I know.",
		"I have read the file.":         "I have read the file.",
	} {
		t.Run(draft, func(t *testing.T) {
			d, _ := decide(t, s, text(draft), text("The answer is 42."))
			if d.Answer != "The answer is 42." || d.Conclusion != d.Answer || d.Thought != thought {
				t.Errorf("%+v", d)
			}
		})
	}
}

func shows(req llm.Request, what string) bool {
	return slices.ContainsFunc(req.Messages, func(m llm.Message) bool { return strings.Contains(m.Text, what) })
}

func TestModel_MaxSteps(t *testing.T) {
	s := planner.State{MaxSteps: 1, Steps: []contextwindow.Record{record(0, "context.fts_search", `{"query":"x"}`, "found")}}
	// The first response ignores that no call is allowed.
	d, model := decide(t, s, calls("", `read_file {"path":"b"}`), text("It is x."))
	if d.Action != contextwindow.Finish || d.Answer != "It is x." {
		t.Errorf("%+v", d)
	}
	if req := model.asked[0]; req.Choice != llm.None || len(req.Tools) == 0 || !strings.Contains(system(req), "used up") || !shows(req, "found") {
		t.Errorf("choice %q, prompt\n%s", req.Choice, system(req))
	}
	if len(model.asked[1].Tools) > 0 {
		t.Error("it is offered tools again")
	}
}

func TestModel_Forced(t *testing.T) {
	done := []contextwindow.Record{record(0, "context.fts_search", `{"query":"x"}`, "found")}
	s := planner.State{Forced: "context.fts_search", MaxSteps: 1, Steps: done}
	search := calls("", `context_fts_search {"query":"x"}`)
	d, model := decide(t, s, search)
	if d.Source != planner.ByForce || shown(d.Calls) != `context.fts_search {"query":"x"} `+planner.DefaultReason {
		t.Errorf("%+v", d)
	}
	if model.asked[0].Choice != "context_fts_search" {
		t.Errorf("choice %q", model.asked[0].Choice)
	}
	d, _ = decide(t, s, calls("", `read_file {"path":"a"}`), search)
	if shown(d.Calls) != `context.fts_search {"query":"x"} `+planner.DefaultReason {
		t.Errorf("%+v", d)
	}
	for _, says := range [][]func(llm.Request) (llm.Response, error){{text("No."), text("No!")}, {text(""), text("")}} {
		if _, _, err := ask(t, s, says...); !errors.Is(err, planner.ErrForced) {
			t.Errorf("error %v", err)
		}
	}
	if _, _, err := ask(t, planner.State{Forced: "nowhere"}); !errors.Is(err, planner.ErrForced) || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("error %v", err)
	}
}

func TestModel_StopReasons(t *testing.T) {
	for name, test := range map[string]struct {
		says []func(llm.Request) (llm.Response, error)
		err  error
		want string // in the answer
	}{
		"cut answer":    {[]func(llm.Request) (llm.Response, error){stopped("It is", llm.StopLength)}, nil, "It is\n\n*The answer ends here"},
		"cut silence":   {[]func(llm.Request) (llm.Response, error){stopped("", llm.StopLength)}, planner.ErrLength, ""},
		"refusal":       {[]func(llm.Request) (llm.Response, error){stopped("I won't.", llm.StopRefusal)}, nil, "I won't."},
		"mute refusal":  {[]func(llm.Request) (llm.Response, error){stopped(" ", llm.StopRefusal)}, planner.ErrRefused, ""},
		"silence":       {[]func(llm.Request) (llm.Response, error){text(""), text(" \n")}, planner.ErrSilent, ""},
		"short silence": {[]func(llm.Request) (llm.Response, error){text(""), text("Here.")}, nil, "Here."},
	} {
		d, _, err := ask(t, planner.State{}, test.says...)
		if !errors.Is(err, test.err) || !strings.Contains(d.Answer, test.want) || d.Usage.Input != 10*len(test.says) {
			t.Errorf("%s: %v, %+v", name, err, d)
		}
	}
	d, _ := decide(t, planner.State{}, stopped("I won't.", llm.StopRefusal))
	if d.Conclusion != "The model would not go on with this question." {
		t.Errorf("conclusion %q", d.Conclusion)
	}
}

func TestModel_TruncatedCall(t *testing.T) {
	cutCall := func(req llm.Request) (llm.Response, error) {
		resp, err := calls("", `read_file {"path":"a`)(req)
		resp.Stop = llm.StopLength
		return resp, err
	}
	_, model := decide(t, planner.State{}, cutCall, text("Never mind."))
	if !shows(model.asked[1], "cut at the bound on its length") {
		t.Errorf("%+v", model.asked[1].Messages)
	}
}

func TestModel_Errors(t *testing.T) {
	refusal := &llm.Error{Provider: "test", Status: 429, Code: "rate_limit_exceeded"}
	for _, want := range []error{refusal, llm.ErrTruncated, context.Canceled} {
		d, _, err := ask(t, planner.State{}, calls("", `nothing {}`), fails(want))
		if !errors.Is(err, want) || d.Usage.Input != 10 || d.Action != "" {
			t.Errorf("%v, %+v", err, d)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m := planner.NewModel(planner.ModelOptions{Model: &talker{t: t}})
	if _, err := m.Next(ctx, planner.State{Question: "q"}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestModel_WithoutTools(t *testing.T) {
	d, model := decide(t, planner.State{Tools: []planner.Tool{}, History: []llm.Message{{Role: llm.User, Text: "I am Bo."}}}, text("Bo."))
	if d.Answer != "Bo." || model.asked[0].Choice != llm.None || len(model.asked[0].Tools) != 0 || !shows(model.asked[0], "I am Bo.") {
		t.Errorf("%+v %+v", d, model.asked[0])
	}
}

func TestModel_Watch(t *testing.T) {
	var seen strings.Builder
	s := planner.State{Watch: func(d llm.Delta) { fmt.Fprintf(&seen, "%d:%s ", d.Kind, d.Text) }}
	decide(t, s, calls("I look.", `nothing {}`), text("It is so."))
	if seen.String() != "1:hm 0:I look. 1: 0:It is so. " {
		t.Errorf("seen %q", seen.String())
	}
}

// The log names tools and contains no arguments.
func TestModel_LogsNoArguments(t *testing.T) {
	var log strings.Builder
	bad := calls("", `read_file {"path":"secret-0815","x":"secret-0815"}`)
	model := &talker{t: t, says: []func(llm.Request) (llm.Response, error){bad, calls("", `read_file {"path":"a"}`, `read_file {"secret-0815":1}`)}}
	m := planner.NewModel(planner.ModelOptions{Model: model, Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	if _, err := m.Next(t.Context(), planner.State{Question: "secret-0815?", Tools: []planner.Tool{tool("read_file", pathSchema)}}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(log.String(), "0815") || !strings.Contains(log.String(), "read_file") {
		t.Errorf("log\n%s", log.String())
	}
}

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

// A result that was shown as a summary was not shown in full.
func TestModel_AnswerAfterSummary(t *testing.T) {
	model := &talker{t: t, says: []func(llm.Request) (llm.Response, error){text("Enough."), text("It is so.")}}
	m := planner.NewModel(planner.ModelOptions{Model: model, Summarizer: new(shortener).Summarize})
	s := planner.State{Question: "q", Tools: []planner.Tool{tool("read_file", pathSchema)}}
	s.Steps = []contextwindow.Record{record(0, "read_file", `{"path":"a"}`, strings.Repeat("word ", 4000))}
	d, err := m.Next(t.Context(), s)
	if err != nil || d.Answer != "It is so." || !shows(model.asked[0], "In short.") {
		t.Errorf("%v, %+v", err, d)
	}
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

func (*quick) Generate(context.Context, llm.Request, func(llm.Delta)) (llm.Response, error) {
	return llm.Response{Message: llm.Message{Calls: []llm.ToolCall{{ID: "1", Name: "server_tool_1", Arguments: json.RawMessage(`{"path":"b"}`)}}}}, nil
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
