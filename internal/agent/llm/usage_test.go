package llm_test

import (
	"slices"
	"testing"

	"github.com/meup-protocol/meup/internal/agent/llm"
)

func TestMeter(t *testing.T) {
	var outer, inner llm.Meter
	ctx := llm.WithMeter(t.Context(), &outer)
	within := llm.WithMeter(ctx, &inner)
	answer := func(model string, u llm.Usage) scripted {
		return scripted{asked: new(llm.Request), events: []llm.Event{{Response: &llm.Response{Model: model, Usage: u}}}}
	}
	for _, err := range []error{
		second(llm.Ask(ctx, answer("", llm.Usage{Input: 1, Output: 2}), llm.Request{}, nil)),
		second(llm.Ask(ctx, answer("m-2026", llm.Usage{Input: 10, Cached: 5}), llm.Request{}, nil)),
		second(llm.Ask(ctx, answer("m-2026", llm.Usage{Input: 10, Output: 7, Reasoning: 6}), llm.Request{}, nil)),
		second(llm.Ask(ctx, answer("unreported", llm.Usage{}), llm.Request{}, nil)),
		second(llm.Ask(within, answer("part", llm.Usage{Input: 100}), llm.Request{}, nil)),
		second(llm.Ask(t.Context(), answer("without a meter", llm.Usage{Input: 100}), llm.Request{}, nil)),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if got, want := outer.Spent(), []llm.Spent{
		{Requested: "m", Model: "m", Usage: llm.Usage{Input: 1, Output: 2}},
		{Requested: "m", Model: "m-2026", Usage: llm.Usage{Input: 20, Output: 7, Cached: 5, Reasoning: 6}},
	}; !slices.Equal(got, want) {
		t.Errorf("spent %+v, want %+v", got, want)
	}
	if got, want := inner.Spent(), []llm.Spent{{Requested: "m", Model: "part", Usage: llm.Usage{Input: 100}}}; !slices.Equal(got, want) {
		t.Errorf("spent within %+v, want %+v", got, want)
	}
}

func second(_ llm.Response, err error) error { return err }
