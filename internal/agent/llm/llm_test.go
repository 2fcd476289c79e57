package llm_test

import (
	"context"
	"errors"
	"iter"
	"testing"

	"github.com/meup-protocol/meup/internal/agent/llm"
)

// scripted is a model that sends its events, up to an error.
type scripted struct {
	events []llm.Event
	err    error
	asked  *llm.Request
}

func (scripted) Name() string     { return "m" }
func (scripted) Provider() string { return "p" }

func (m scripted) Generate(_ context.Context, req llm.Request) iter.Seq2[llm.Event, error] {
	*m.asked = req
	return func(yield func(llm.Event, error) bool) {
		for _, event := range m.events {
			if !yield(event, nil) {
				return
			}
		}
		if m.err != nil {
			yield(llm.Event{}, m.err)
		}
	}
}

func TestAsk(t *testing.T) {
	piece, answer := llm.Event{Delta: llm.Delta{Text: "a"}}, llm.Event{Response: &llm.Response{ID: "1"}}
	broken := errors.New("broken")
	for name, tc := range map[string]struct {
		model   scripted
		id      string
		pieces  string
		err     error
		unheard bool
	}{
		"answer":          {scripted{events: []llm.Event{piece, piece, answer}}, "1", "aa", nil, false},
		"nobody listens":  {scripted{events: []llm.Event{piece, answer}}, "1", "", nil, true},
		"error":           {scripted{events: []llm.Event{piece}, err: broken}, "", "a", broken, false},
		"no answer":       {scripted{events: []llm.Event{piece}}, "", "a", llm.ErrTruncated, false},
		"after an answer": {scripted{events: []llm.Event{answer, piece}, err: broken}, "1", "", nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			var asked llm.Request
			tc.model.asked = &asked
			pieces := ""
			on := func(d llm.Delta) { pieces += d.Text }
			if tc.unheard {
				on = nil
			}
			r, err := llm.Ask(t.Context(), tc.model, llm.Request{Effort: "low"}, on)
			if r.ID != tc.id || pieces != tc.pieces || !errors.Is(err, tc.err) || asked.Effort != "low" || asked.Whole != tc.unheard {
				t.Errorf("%+v, %q, %v, asked %+v", r, pieces, err, asked)
			}
		})
	}
}
