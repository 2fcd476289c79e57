package llm

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Usage counts tokens. Input includes tokens read from a cache, Output includes
// tokens of thinking.
type Usage struct {
	Input     int `json:"input_tokens"`
	Output    int `json:"output_tokens"`
	Cached    int `json:"cached_tokens,omitempty"`
	Reasoning int `json:"reasoning_tokens,omitempty"`
}

// Plus returns the sum of two usages.
func (u Usage) Plus(v Usage) Usage {
	return Usage{
		Input: u.Input + v.Input, Output: u.Output + v.Output,
		Cached: u.Cached + v.Cached, Reasoning: u.Reasoning + v.Reasoning,
	}
}

// Count is a number of tokens in a provider's answer. An invalid number is 0: it
// must not fail the answer.
type Count int

// UnmarshalJSON never fails.
func (c *Count) UnmarshalJSON(b []byte) error {
	*c = 0
	var f float64
	if json.Unmarshal(b, &f) == nil && f > 0 && f <= math.MaxInt32 {
		*c = Count(f)
	}
	return nil
}

// Spent is the usage of the answers of one model.
type Spent struct {
	Requested string // its name in the requests
	Model     string // its name in the answers; Requested if they have none; "" if a service asked it
	Usage     Usage
	Uncounted int // answers that are not in Usage: the server reported no tokens, or they broke off
}

// Meter counts the tokens of all answers that Ask returns with a context of
// WithMeter: of every request for a decision, and of summaries by another model.
// The zero Meter is ready to use. It is safe for concurrent use.
type Meter struct {
	mu    sync.Mutex
	spent []Spent
}

type meterKey struct{}

// WithMeter returns a context whose answers are counted by m alone, not by a
// meter of ctx.
func WithMeter(ctx context.Context, m *Meter) context.Context {
	return context.WithValue(ctx, meterKey{}, m)
}

// Spend counts with the meter of ctx what a service spent for its answer. Negative counts
// are 0.
func Spend(ctx context.Context, u Usage, uncounted int) {
	u = Usage{Input: max(0, u.Input), Output: max(0, u.Output), Cached: max(0, u.Cached), Reasoning: max(0, u.Reasoning)}
	meterOf(ctx).add(Spent{Usage: u, Uncounted: max(0, uncounted)})
}

// meterOf returns the meter of ctx, or a new one.
func meterOf(ctx context.Context) *Meter {
	if m, ok := ctx.Value(meterKey{}).(*Meter); ok {
		return m
	}
	return new(Meter)
}

// Spent returns what was counted, one entry for each model, in the order of their
// first answers.
func (m *Meter) Spent() []Spent {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.spent)
}

func (m *Meter) add(s Spent) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.IndexFunc(m.spent, func(t Spent) bool { return t.Requested == s.Requested && t.Model == s.Model })
	if i < 0 {
		m.spent = append(m.spent, s)
		return
	}
	m.spent[i].Usage = m.spent[i].Usage.Plus(s.Usage)
	m.spent[i].Uncounted += s.Uncounted
}

// Total returns the sum of usages, and the number of answers that are not in it.
func Total(spent []Spent) (sum Usage, uncounted int) {
	for _, s := range spent {
		sum = sum.Plus(s.Usage)
		uncounted += s.Uncounted
	}
	return sum, uncounted
}

// Price is the price of a million tokens.
type Price struct{ Input, Output, Cached float64 }

// maxPrice bounds a price, so that no cost overflows.
const maxPrice = 1e6

// Prices are the prices of models, by the name in their answers or in requests.
type Prices map[string]Price

// ParsePrices reads lines such as
//
//	gpt-6.1-terra input=2.5 output=10 cached=0.25
//
// Without cached, tokens from a cache cost as much as others. The error names the
// line's model and the field.
func ParsePrices(lines []string) (Prices, error) {
	prices := make(Prices, len(lines))
	for _, line := range lines {
		words := strings.Fields(line)
		if len(words) == 0 || strings.Contains(words[0], "=") {
			return nil, fmt.Errorf("%q begins with no model: expected NAME input=PRICE output=PRICE [cached=PRICE]", line)
		}
		name := words[0]
		if _, twice := prices[name]; twice {
			return nil, fmt.Errorf("%s has two prices: remove one of them", name)
		}
		price, err := parsePrice(words[1:])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		prices[name] = price
	}
	return prices, nil
}

func parsePrice(fields []string) (Price, error) {
	given := make(map[string]float64, 3)
	for _, field := range fields {
		name, text, _ := strings.Cut(field, "=")
		if name != "input" && name != "output" && name != "cached" {
			return Price{}, fmt.Errorf("unknown field %q: expected input=PRICE output=PRICE [cached=PRICE]", name)
		}
		if _, twice := given[name]; twice {
			return Price{}, fmt.Errorf("%s is given twice", name)
		}
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(n) || n < 0 || n > maxPrice {
			return Price{}, fmt.Errorf("%s=%s: expected the price of a million tokens, 0 to %d", name, text, int(maxPrice))
		}
		given[name] = n
	}
	for _, name := range []string{"input", "output"} {
		if _, ok := given[name]; !ok {
			return Price{}, fmt.Errorf("%s is missing: expected input=PRICE output=PRICE [cached=PRICE]", name)
		}
	}
	price := Price{Input: given["input"], Output: given["output"], Cached: given["input"]}
	if n, ok := given["cached"]; ok {
		price.Cached = n
	}
	return price, nil
}

// Cost returns the cost of the tokens that were counted, to a billionth. It is unknown if none
// were, or if one of their models has no price: a part of it would mislead.
func (p Prices) Cost(spent []Spent) (cost float64, known bool) {
	for _, s := range spent {
		if s.Usage == (Usage{}) {
			continue
		}
		known = true
		price, ok := p[s.Model]
		if !ok {
			price, ok = p[s.Requested]
		}
		if !ok {
			return 0, false
		}
		cached := min(s.Usage.Cached, s.Usage.Input) // a server may count wrong
		cost += float64(s.Usage.Input-cached)*price.Input + float64(cached)*price.Cached + float64(s.Usage.Output)*price.Output
	}
	return math.Round(cost*1e3) / 1e9, known
}
