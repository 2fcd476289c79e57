package planner_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/agent/planner"
)

// longState returns a state with results of about 100,000 tokens.
func longState() planner.State {
	s := planner.State{Question: "q", MaxSteps: 20}
	for i := range 400 {
		s.Steps = append(s.Steps, record(i%15, "read_file", fmt.Sprintf(`{"path":"%d"}`, i), strings.Repeat("long ", 190)))
	}
	return s
}

// estimate returns the estimated tokens of a request.
func estimate(req *llm.Request) int {
	n := 0
	for i := range req.Messages {
		n += contextwindow.EstimateMessage(&req.Messages[i])
	}
	return n
}

func TestModel_CalibratesEstimates(t *testing.T) {
	for name, c := range map[string]struct{ factor, wantPercent int }{
		"twice":        {200, 50},
		"as estimated": {100, 100},
		"implausible":  {1000, 100},
		"absent":       {0, 100},
	} {
		t.Run(name, func(t *testing.T) {
			model := &talker{t: t}
			counted := func(req llm.Request) (llm.Response, error) {
				resp, err := text("So.")(req)
				resp.Usage.Input = estimate(&req) * c.factor / 100
				return resp, err
			}
			model.says = []func(llm.Request) (llm.Response, error){counted, counted}
			m := planner.NewModel(planner.ModelOptions{Model: model, Budget: 50_000, MaxTokens: 1000})
			s := longState()
			s.MaxSteps = 1 // the answer
			for range 2 {
				if _, err := m.Next(t.Context(), s); err != nil {
					t.Fatal(err)
				}
			}
			first, second := estimate(&model.asked[0]), estimate(&model.asked[1])
			if got := 100 * second / first; got < c.wantPercent-5 || got > c.wantPercent+5 {
				t.Errorf("the second context has %d %% of the first one's tokens, want %d %%", got, c.wantPercent)
			}
		})
	}
}

func TestModel_TooLongRequest(t *testing.T) {
	tooLong := func(llm.Request) (llm.Response, error) {
		return llm.Response{}, &llm.Error{Provider: "test", Status: 400, Message: "prompt is too long: 60000 tokens > 50000 maximum"}
	}
	for name, c := range map[string]struct {
		rejected int
		ok       bool
	}{"once": {1, true}, "always": {3, false}} {
		t.Run(name, func(t *testing.T) {
			model := &talker{t: t}
			for range c.rejected {
				model.says = append(model.says, tooLong)
			}
			if c.ok {
				model.says = append(model.says, text("So."))
			}
			m := planner.NewModel(planner.ModelOptions{Model: model, Budget: 50_000})
			s := longState()
			s.MaxSteps = 1
			_, err := m.Next(t.Context(), s)
			var refusal *llm.Error
			if (err == nil) != c.ok || err != nil && !errors.As(err, &refusal) {
				t.Fatalf("error %v", err)
			}
			for i := 1; i < len(model.asked); i++ {
				if was, is := estimate(&model.asked[i-1]), estimate(&model.asked[i]); is > was*3/4 {
					t.Errorf("request %d has %d tokens after one of %d was too long", i, is, was)
				}
			}
			if want := c.rejected + map[bool]int{true: 1}[c.ok]; len(model.asked) != want {
				t.Errorf("%d requests, want %d", len(model.asked), want)
			}
		})
	}
}
