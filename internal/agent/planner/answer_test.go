package planner_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/agent/planner"
)

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
		"A.\nConfidence: 7": 0, "A. Confidence: 0.5": 0, "Confidence: 0.5": 0, "A.\nConfidence: high": 0.9, "A.\nConfidence: higher": 0, "A.\nConfidence: 0.5\nB": 0,
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
	var asked []string
	s.Asking = func(answer, calls bool) { asked = append(asked, fmt.Sprintf("answer %t, calls %t", answer, calls)) }
	d, model := decide(t, s, text("I need nothing more."), text("It ends with END."))
	if d.Answer != "It ends with END." || d.Thought != "I need nothing more." || d.Shown.Goal != contextwindow.Synthesis || d.Usage.Input != 20 {
		t.Errorf("%+v", d)
	}
	if shows(model.asked[0], "END") || !shows(model.asked[1], "END") {
		t.Errorf("END is shown for planning: %t, for the answer: %t", shows(model.asked[0], "END"), shows(model.asked[1], "END"))
	}
	if model.asked[1].Choice != llm.None || !slices.Equal(asked, []string{"answer false, calls true", "answer true, calls false"}) {
		t.Errorf("choice %q, and the text of the requests: %q", model.asked[1].Choice, asked)
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

// Replies to remarks are no part of the answer, also those in the turn before it.
func TestModel_RepliesWithAnswer(t *testing.T) {
	s := planner.State{Open: true, Steps: []contextwindow.Record{record(0, "read_file", `{"path":"a.md"}`, strings.Repeat("word ", 4000))}}
	d, model := decide(t, s, text("I have read it.\nReply to e2: Soon."), text("The answer is 42.\nReply to e3: Yes.\n\nConfidence: 0.5"))
	if d.Answer != "The answer is 42." || d.Confidence != 0.5 || d.Thought != "I have read it." || len(d.Notes) != 2 ||
		d.Notes[0].ReplyTo != "e2" || d.Notes[1].ReplyTo != "e3" || d.Notes[1].Text != "Yes." {
		t.Errorf("%+v", d)
	}
	if !shows(model.asked[1], `"Reply to e3: …"`) {
		t.Error("the prompt for the answer does not say how to reply")
	}
	s.Open = false
	d, _ = decide(t, s, text("I have read it."), text("The answer is 42.\nReply to e3: Yes."))
	if !strings.Contains(d.Answer, "Reply") || len(d.Notes) != 0 {
		t.Errorf("%+v", d)
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

// A model that writes no answer after the steps is asked once more. Space and thinking alone
// are no answer.
func TestModel_SilentAfterSteps(t *testing.T) {
	s := planner.State{MaxSteps: 1, Steps: []contextwindow.Record{record(0, "read_file", `{"path":"a.md"}`, "A")}}
	thought := func(llm.Request) (llm.Response, error) {
		return llm.Response{Thinking: "It is A.", Message: llm.Message{Role: llm.Assistant, Text: " \n"}, Stop: llm.StopEnd, Usage: llm.Usage{Input: 10}}, nil
	}
	d, model := decide(t, s, thought, text("It is A."))
	if d.Answer != "It is A." || !shows(model.asked[1], "You wrote no answer.") || len(model.asked[1].Tools) == 0 {
		t.Errorf("%+v after %+v", d, model.asked[1])
	}
	for name, says := range map[string][]func(llm.Request) (llm.Response, error){
		"silent twice": {thought, text("")}, "calls, then silent": {calls("", `read_file {"path":"b"}`), text("")},
	} {
		if _, _, err := ask(t, s, says...); !errors.Is(err, planner.ErrSilent) {
			t.Errorf("%s: error %v, want %v", name, err, planner.ErrSilent)
		}
	}
	if _, _, err := ask(t, s, stopped(" ", llm.StopLength)); !errors.Is(err, planner.ErrLength) {
		t.Errorf("error %v, want %v", err, planner.ErrLength)
	}
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
