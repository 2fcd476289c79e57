package planner_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/agent/planner"
)

// floodedState returns a state with a tool of the agent, n large tools of a
// peer and one small tool after them.
func floodedState(n int) planner.State {
	var properties []string
	for i := range 5 {
		properties = append(properties, fmt.Sprintf(`"parameter_%d":{"type":"string","description":"parameter %d of the tool"}`, i, i))
	}
	s := planner.State{Question: "q", Tools: []planner.Tool{tool("own", `{}`)}}
	for i := range n {
		t := tool(fmt.Sprintf("peer_%03d", i), `{"type":"object","properties":{`+strings.Join(properties, ",")+`}}`)
		t.Description = strings.Repeat("é", 2000)
		s.Tools = append(s.Tools, t)
	}
	s.Tools = append(s.Tools, tool("small", `{}`))
	return s
}

// toolSize returns the names of the tools of a request and their estimated
// tokens.
func toolSize(req *llm.Request) (names []string, tokens int) {
	for _, t := range req.Tools {
		names = append(names, t.Name)
		tokens += contextwindow.EstimateTokens(t.Name) + contextwindow.EstimateTokens(t.Description) + contextwindow.EstimateTokens(t.InputSchema)
	}
	return names, tokens
}

func TestModel_ToolsFitTheBudget(t *testing.T) {
	const window, room = 16_000, (16_000 - 4_096) / 2
	for name, c := range map[string]struct {
		change func(*planner.State)
		want   []string
	}{
		"own tools first": {func(*planner.State) {}, []string{"own", "peer_000", "small"}},
		"forced":          {func(s *planner.State) { s.Forced = "peer_119" }, []string{"own", "peer_119", "small"}},
		"called before": {func(s *planner.State) {
			s.Steps = append(s.Steps, record(0, "peer_118", `{}`, "done"))
		}, []string{"own", "peer_118", "small"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := floodedState(120)
			c.change(&s)
			call := "own {}"
			if s.Forced != "" {
				call = s.Forced + " {}"
			}
			model := &talker{t: t, says: []func(llm.Request) (llm.Response, error){calls("", call)}}
			if _, err := planner.NewModel(planner.ModelOptions{Model: model, Budget: window}).Next(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			req := &model.asked[0]
			names, tokens := toolSize(req)
			if tokens > room || tokens+estimate(req) > window-4_096 {
				t.Errorf("%d tokens of tools, %d of messages", tokens, estimate(req))
			}
			for _, want := range c.want {
				if !slices.Contains(names, want) {
					t.Errorf("no tool %q in %q", want, names)
				}
			}
			for _, offered := range req.Tools {
				if !utf8.ValidString(offered.Description) || utf8.RuneCountInString(offered.Description) > 301 {
					t.Errorf("description of %s: %q", offered.Name, offered.Description)
				}
			}
		})
	}
}

// TestModel_ToolsLeftOut checks that a tool that is left out is unknown to the
// model, counted and named in the decision, and that the omission is logged once.
func TestModel_ToolsLeftOut(t *testing.T) {
	s := floodedState(120)
	model := &talker{t: t}
	for range 2 {
		model.says = append(model.says, calls("", "peer_119 {}"), calls("", "own {}"))
	}
	var log bytes.Buffer
	m := planner.NewModel(planner.ModelOptions{Model: model, Budget: 16_000, Logger: slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))})
	for range 2 {
		d, err := m.Next(t.Context(), s)
		if err != nil || len(d.Calls) != 1 || d.Calls[0].Tool != "own" {
			t.Fatalf("%+v, %v", d, err)
		}
		if want := len(s.Tools) - len(model.asked[0].Tools); d.Shown.Tools != want || len(d.Shown.ToolNames) != 16 || !strings.HasPrefix(d.Shown.ToolNames[0], "peer_") {
			t.Errorf("%+v, want %d", d.Shown, want)
		}
	}
	if last := model.asked[1].Messages; !strings.Contains(last[len(last)-1].Text, `There is no tool "peer_119"`) {
		t.Errorf("messages %+v", last)
	}
	var line struct {
		Level   string
		LeftOut int `json:"left_out"`
	}
	if err := json.Unmarshal(log.Bytes(), &line); err != nil || line.Level != "WARN" {
		t.Fatalf("log %s: %v", &log, err)
	}
	if want := len(s.Tools) - len(model.asked[0].Tools); line.LeftOut != want {
		t.Errorf("%d tools left out, want %d", line.LeftOut, want)
	}
}

// TestModel_TooLongTools checks that a request that the provider rejects as too
// long is sent again with fewer tools.
func TestModel_TooLongTools(t *testing.T) {
	model := &talker{t: t, says: []func(llm.Request) (llm.Response, error){
		fails(&llm.Error{Provider: "test", Status: 400, Message: "prompt is too long: 20000 tokens > 16000 maximum"}),
		calls("", "own {}"),
	}}
	if _, err := planner.NewModel(planner.ModelOptions{Model: model, Budget: 16_000}).Next(t.Context(), floodedState(120)); err != nil {
		t.Fatal(err)
	}
	_, before := toolSize(&model.asked[0])
	if _, after := toolSize(&model.asked[1]); after > before*3/4 {
		t.Errorf("%d tokens of tools after %d", after, before)
	}
}
