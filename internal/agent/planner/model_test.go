package planner_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/agent/planner"
)

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
		if _, _, err := ask(t, s, says...); !errors.Is(err, planner.ErrNotCalled) || !errors.Is(err, planner.ErrForced) {
			t.Errorf("error %v", err)
		}
	}
	if _, _, err := ask(t, planner.State{Forced: "nowhere"}); !errors.Is(err, planner.ErrForced) || errors.Is(err, planner.ErrNotCalled) || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("error %v", err)
	}
}

func TestModel_Errors(t *testing.T) {
	refusal := &llm.Error{Provider: "test", Status: 429, Code: "rate_limit_exceeded"}
	for _, want := range []error{refusal, context.Canceled} {
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

// brokenOff is a model whose first answers end after a piece by errs.
type brokenOff struct {
	*talker
	errs []error
}

func (m *brokenOff) Generate(ctx context.Context, req llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		if n := len(m.asked); n < len(m.errs) {
			m.asked = append(m.asked, req)
			if req.Whole || yield(llm.Event{Delta: llm.Delta{Text: "So. "}}, nil) {
				yield(llm.Event{}, m.errs[n])
			}
			return
		}
		m.talker.Generate(ctx, req)(yield)
	}
}

// An answer that breaks off is requested once more, unless its error would occur again.
func TestModel_BrokenOff(t *testing.T) {
	busy, rejected := &llm.Error{Provider: "test", Code: "overloaded_error"}, &llm.Error{Provider: "test", Code: "invalid"}
	malformed := fmt.Errorf("read answer of test: event 2: %w", json.Unmarshal([]byte("{]"), new(any)))
	for name, test := range map[string]struct {
		errs  []error
		whole bool
		asked int
	}{
		"cut off":            {[]error{llm.ErrTruncated}, false, 2},
		"cut off, not shown": {[]error{llm.ErrTruncated}, true, 2},
		"busy":               {[]error{busy}, false, 2},
		"of the network":     {[]error{fmt.Errorf("%w: %w", llm.ErrTruncated, io.ErrUnexpectedEOF)}, false, 2},
		"malformed":          {[]error{malformed}, false, 1},
		"twice":              {[]error{llm.ErrTruncated, busy}, false, 2},
		"rejected":           {[]error{rejected}, false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			model := &brokenOff{&talker{t: t, says: []func(llm.Request) (llm.Response, error){nil, text("It is so.")}}, test.errs}
			began, seen := 0, ""
			s := planner.State{Question: "q"}
			if !test.whole {
				s.Asking = func(bool, bool) { began, seen = began+1, "" }
				s.Watch = func(d llm.Delta) { seen += d.Text }
			}
			d, err := planner.NewModel(planner.ModelOptions{Model: model}).Next(t.Context(), s)
			if len(model.asked) != test.asked || !test.whole && began != test.asked {
				t.Errorf("asked %d times and began %d texts, want %d", len(model.asked), began, test.asked)
			}
			if fails := len(test.errs) == test.asked; fails && !errors.Is(err, test.errs[test.asked-1]) || !fails && (err != nil || d.Answer != "It is so.") {
				t.Errorf("%q, %v after the errors %v", d.Answer, err, test.errs)
			} else if !fails && !test.whole && seen != "It is so." {
				t.Errorf("the last text is %q, want the answer", seen)
			}
		})
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
	if seen.String() != "1:hm 0:I look. 2: 0:It is so. " {
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

// The model is shown a call whose outcome is unknown, and may decide on it.
func TestModel_UnknownOutcome(t *testing.T) {
	model := &talker{t: t, says: []func(llm.Request) (llm.Response, error){calls("", `read_file {"path":"a"}`)}}
	s := planner.State{Question: "q", Tools: []planner.Tool{tool("read_file", pathSchema)}, Steps: []contextwindow.Record{record(0, "read_file", `{"path":"a"}`, "")}}
	s.Steps[0].Results[0] = contextwindow.Result{Outcome: contextwindow.Unknown, Error: "outcome unknown: it may have taken effect"}
	d, err := planner.NewModel(planner.ModelOptions{Model: model}).Next(t.Context(), s)
	if err != nil || len(d.Calls) != 1 {
		t.Errorf("%+v, %v", d, err)
	}
	if text := fmt.Sprintf("%+v", model.asked[0].Messages); !strings.Contains(text, "read_file: UNKNOWN") || !strings.Contains(text, "may have taken effect or not") {
		t.Errorf("the model was asked %s", text)
	}
}

// The planner's own tools and prompts for shared reasoning are offered only
// where others follow it; notes and closing lines are parsed.
func TestModel_Open(t *testing.T) {
	s := planner.State{Question: "q", Tools: []planner.Tool{tool("read_file", pathSchema)}}
	model := &talker{t: t, says: []func(llm.Request) (llm.Response, error){
		calls("Observation: it is late.", `read_file {"path":"a"}`),
		calls("I look.\nObservation: it is late.", `read_file {"path":"a"}`, `share {"kind":"question","text":"why?"}`, `delegate {"participant":"critic","question":"why?","rationale":"it knows"}`),
		calls("", `delegate {"participant":"mallory","question":"why?"}`, `share {"kind":"order","text":"go"}`),
		text("It is so.\n\nKey factors: a; b\nConfidence: 0.5\nReferences: e1"),
	}}
	m := planner.NewModel(planner.ModelOptions{Model: model})
	closed, err := m.Next(t.Context(), s)
	if err != nil || len(closed.Notes) != 0 || closed.Thought != "Observation: it is late." || len(model.asked[0].Tools) != 1 {
		t.Errorf("%+v, %v", closed, err)
	}
	s.Open, s.Delegates = true, []string{"critic", "helper"}
	d, err := m.Next(t.Context(), s)
	if err != nil || len(d.Calls) != 3 || d.Thought != "I look." || len(d.Notes) != 1 || d.Notes[0].Text != "it is late." {
		t.Errorf("%+v, %v", d, err)
	}
	if got := string(d.Calls[2].Arguments) + d.Calls[2].Reason; got != `{"participant":"critic","question":"why?"}it knows` {
		t.Errorf("delegate %s", got)
	}
	var names []string
	for _, x := range model.asked[1].Tools {
		names = append(names, x.Name)
	}
	if strings.Join(names, " ") != "delegate share read_file" || !strings.Contains(model.asked[1].Messages[0].Text, "It never approves a call") ||
		strings.Contains(model.asked[0].Messages[0].Text, "It never approves a call") {
		t.Errorf("offered %v: %s", names, model.asked[1].Messages[0].Text)
	}
	d, err = m.Next(t.Context(), s)
	if err != nil || d.Answer != "It is so.\n\nKey factors: a; b" || fmt.Sprint(d.KeyFactors, d.Confidence, d.References) != "[a b] 0.5 [e1]" {
		t.Errorf("%+v, %v", d, err)
	}
}

// Remarks of others are a user's message after the results.
func TestModel_Remarks(t *testing.T) {
	s := planner.State{Question: "q", Open: true, Tools: []planner.Tool{tool("read_file", pathSchema)}, Steps: []contextwindow.Record{
		record(0, "read_file", `{"path":"a"}`, "text"),
		{Index: 1, Action: contextwindow.Heard, Thought: "remark", Turn: &llm.Message{Role: llm.User, Text: "remark"}},
	}}
	s.Steps[0].Results[0].Ref = "e1"
	model := &talker{t: t, says: []func(llm.Request) (llm.Response, error){text("Done.")}}
	if _, err := planner.NewModel(planner.ModelOptions{Model: model}).Next(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	messages := model.asked[0].Messages
	result, remark := messages[len(messages)-2], messages[len(messages)-1]
	if !strings.HasPrefix(result.Text, "Tool read_file: SUCCESS [e1]\n") || remark.Role != llm.User || remark.Text != "remark" {
		t.Errorf("%+v", messages)
	}
}
