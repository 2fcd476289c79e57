package llm_test

import (
	"errors"
	"slices"
	"strings"
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
		second(llm.Ask(ctx, answer("m-2026", llm.Usage{}), llm.Request{}, nil)),
		second(llm.Ask(ctx, answer("unreported", llm.Usage{}), llm.Request{}, nil)),
		second(llm.Ask(within, answer("part", llm.Usage{Input: 100}), llm.Request{}, nil)),
		second(llm.Ask(t.Context(), answer("without a meter", llm.Usage{Input: 100}), llm.Request{}, nil)),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	cut := scripted{asked: new(llm.Request), events: []llm.Event{{Delta: llm.Delta{Text: "So. "}}}, err: llm.ErrTruncated}
	if _, err := llm.Ask(ctx, cut, llm.Request{}, func(llm.Delta) {}); !errors.Is(err, llm.ErrTruncated) {
		t.Fatal(err)
	}
	if got, want := outer.Spent(), []llm.Spent{
		{Requested: "m", Model: "m", Usage: llm.Usage{Input: 1, Output: 2}, Uncounted: 1},
		{Requested: "m", Model: "m-2026", Usage: llm.Usage{Input: 20, Output: 7, Cached: 5, Reasoning: 6}, Uncounted: 1},
		{Requested: "m", Model: "unreported", Uncounted: 1},
	}; !slices.Equal(got, want) {
		t.Errorf("spent %+v, want %+v", got, want)
	}
	if got, want := inner.Spent(), []llm.Spent{{Requested: "m", Model: "part", Usage: llm.Usage{Input: 100}}}; !slices.Equal(got, want) {
		t.Errorf("spent within %+v, want %+v", got, want)
	}
}

func second(_ llm.Response, err error) error { return err }

func TestParsePrices(t *testing.T) {
	got, err := llm.ParsePrices([]string{"m input=2.5 output=10 cached=0.25", "  qwen3:8b\toutput=0 input=0 ", "n input=3 output=1e1"})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]llm.Price{
		"m": {Input: 2.5, Output: 10, Cached: 0.25}, "qwen3:8b": {}, "n": {Input: 3, Output: 10, Cached: 3},
	} {
		if price, ok := got[name]; !ok || price != want {
			t.Errorf("%s costs %+v, want %+v", name, price, want)
		}
	}
	for line, want := range map[string]string{
		"":                                    `"" begins with no model`,
		"input=1 output=1":                    `begins with no model`,
		"m":                                   "m: input is missing",
		"m input=1":                           "m: output is missing",
		"m input=1 output=1 cache=1":          `m: unknown field "cache"`,
		"m input=1 output=1 1":                `m: unknown field "1"`,
		"m input=1 output=1 input=2":          "m: input is given twice",
		"m input=-1 output=1":                 "m: input=-1: expected",
		"m input=1 output=NaN":                "m: output=NaN: expected",
		"m input=1 output=Inf":                "m: output=Inf: expected",
		"m input=1 output=1 cached=-Infinity": "m: cached=-Infinity: expected",
		"m input=1 output=1e400":              "m: output=1e400: expected",
		"m input=1 output=1000001":            "m: output=1000001: expected",
		"m input=1 output=two":                "m: output=two: expected",
		"m input= output=1":                   "m: input=: expected",
		"m input=1, output=1":                 "m: input=1,: expected",
		"first input=9 output=9":              "first has two prices",
	} {
		if _, err := llm.ParsePrices([]string{"first input=1 output=1", line}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", line, err, want)
		}
	}
}

func TestPrices_Cost(t *testing.T) {
	prices := llm.Prices{"m": {Input: 2, Output: 10, Cached: 0.5}, "m-2026": {Input: 4}}
	million := llm.Usage{Input: 1e6, Output: 1e6, Cached: 4e5}
	for name, test := range map[string]struct {
		spent []llm.Spent
		cost  float64
		known bool
	}{
		"cached tokens are a part of the input": {[]llm.Spent{{Requested: "m", Model: "m", Usage: million}}, 1.2 + 0.2 + 10, true},
		"the name in the answers first":         {[]llm.Spent{{Requested: "m", Model: "m-2026", Usage: llm.Usage{Input: 1e6}}}, 4, true},
		"then the name in requests":             {[]llm.Spent{{Requested: "m", Model: "m-2027", Usage: llm.Usage{Input: 1e6}}}, 2, true},
		"more in the cache than in the input":   {[]llm.Spent{{Requested: "m", Model: "m", Usage: llm.Usage{Input: 10, Cached: 1e6}}}, 0.000005, true},
		"each model by its own price":           {[]llm.Spent{{Model: "m", Usage: llm.Usage{Output: 1}}, {Model: "m-2026", Usage: llm.Usage{Input: 1, Output: 1}}}, 0.000014, true},
		"one of them has none":                  {[]llm.Spent{{Model: "m", Usage: million}, {Model: "other", Usage: million}}, 0, false},
		"one answer without a count":            {[]llm.Spent{{Model: "m", Usage: million, Uncounted: 1}, {Model: "other", Uncounted: 1}}, 11.4, true},
		"no answer with a count":                {[]llm.Spent{{Model: "m", Uncounted: 1}}, 0, false},
		"nothing was spent":                     {nil, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			if cost, known := prices.Cost(test.spent); cost != test.cost || known != test.known {
				t.Errorf("cost %v, %t; want %v, %t", cost, known, test.cost, test.known)
			}
		})
	}
}
