package planner_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/agent/planner"
)

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
