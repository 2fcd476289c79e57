package contextwindow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/meup-protocol/meup/internal/agent/llm"
)

// ErrTooLarge reports a system prompt and a question that exceed the budget.
// They are never cut.
var ErrTooLarge = errors.New("context too large")

// Goal is the purpose of a context.
type Goal string

// The goals.
const (
	Planning  Goal = "planning"  // decide the next step
	Synthesis Goal = "synthesis" // write the answer
)

// Utilization is the share of a budget that a context may use. The zero value
// is Full.
type Utilization string

// The shares.
const (
	Full Utilization = "full"
	Half Utilization = "half"
	Low  Utilization = "low" // a quarter
)

// ParseUtilization parses "full", "half", "low" or "", which means full.
func ParseUtilization(s string) (Utilization, error) {
	switch u := Utilization(cmp.Or(s, string(Full))); u {
	case Full, Half, Low:
		return u, nil
	}
	return Full, fmt.Errorf("context utilization must be full, half or low, not %q", s)
}

// Divisor returns the number by which a budget is divided.
func (u Utilization) Divisor() int {
	switch u {
	case Half:
		return 2
	case Low:
		return 4
	}
	return 1
}

// Options configure a Builder. The zero value is valid.
type Options struct {
	Utilization Utilization
	Summarizer  Summarizer   // replaces previews of long results by summaries; nil: off
	Logger      *slog.Logger // nil: discard
}

// Input is the content of a context.
type Input struct {
	System   string        // never cut
	History  []llm.Message // earlier conversation, oldest first
	Question string        // never cut
	Records  []Record
	Goal     Goal
	Budget   int // tokens
}

// Meta describes a context and the parts that were left out of it.
type Meta struct {
	Goal      Goal
	Tokens    int // estimate for all messages
	Budget    int // after utilization
	Previews  int // results shown in part
	Summaries int // results shown as a summary
	Dropped   int // results replaced by a mark, or dropped with their step
	History   int // messages that were dropped
	Thoughts  int // steps shown without their thought
	Steps     int // steps that were dropped

	// Tools counts the tools that were not offered, for lack of room, and
	// ToolNames holds the first of their names. The planner sets them.
	Tools     int
	ToolNames []string
}

// Builder builds the contexts of one question. It caches previews and
// summaries of results between builds. It is not safe for concurrent use.
type Builder struct {
	opts     Options
	question string
	cache    map[resultKey]*source
}

// resultKey is the position of a result: record, then call.
type resultKey struct{ record, call int }

// NewBuilder returns a Builder.
func NewBuilder(opts Options) *Builder {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	return &Builder{opts: opts}
}

// Build returns the messages of a context: the system prompt, the history, the
// question, and for each record the assistant's message and the results of its
// calls.
//
// Planning shows previews of successful results over 1,000 characters.
// Synthesis shows results whole, the newest first, as far as the budget
// allows. If the context is still too large, Build drops, in this order and
// the oldest first: large results, small results, thoughts, exchanges of the
// history, errors, steps. A part that exceeds the budget by itself is dropped
// before that.
//
// Errors: one that wraps ErrTooLarge, an unknown goal, and the error of ctx.
func (b *Builder) Build(ctx context.Context, in Input) ([]llm.Message, Meta, error) {
	if err := ctx.Err(); err != nil {
		return nil, Meta{}, err
	}
	if in.Goal != Planning && in.Goal != Synthesis {
		return nil, Meta{}, fmt.Errorf("build context: goal %q is neither planning nor synthesis", in.Goal)
	}
	if in.Question != b.question {
		b.question, b.cache = in.Question, nil // summaries depend on the question
	}
	l := &layout{goal: in.Goal, limit: in.Budget / b.opts.Utilization.Divisor()}
	l.fixed = EstimateMessage(&llm.Message{Text: in.Question})
	if in.System != "" {
		l.fixed += EstimateMessage(&llm.Message{Text: in.System})
	}
	l.tokens = l.fixed
	if l.tokens > l.limit {
		return nil, Meta{}, fmt.Errorf("%w: the system prompt and the question have %d tokens, the budget is %d", ErrTooLarge, l.tokens, l.limit)
	}
	for i := range in.History {
		if i == 0 || in.History[i].Role == llm.User {
			l.history = append(l.history, exchange{messages: in.History[i:i]})
		}
		e := &l.history[len(l.history)-1]
		e.messages = e.messages[:len(e.messages)+1]
		n := EstimateMessage(&in.History[i])
		e.tokens += n
		l.tokens += n
	}
	b.addRecords(l, in.Records)
	l.dropOversized()
	if in.Goal == Synthesis {
		l.expand()
	}
	l.fit()
	if err := b.summarize(ctx, l, in.Question); err != nil {
		return nil, Meta{}, err
	}
	l.dropOversized()
	l.fit()
	return l.messages(in), l.describe(), nil
}

// addRecords adds the steps to the layout. It takes renderings of unchanged
// results from the cache, which then holds the results of these records only.
func (b *Builder) addRecords(l *layout, records []Record) {
	cache := make(map[resultKey]*source, len(records))
	for i := range records {
		s := step{record: &records[i]}
		var answers []answer
		s.message, answers = turnOf(s.record)
		if s.message.Text != "" || len(s.message.Calls) > 0 || len(s.message.Opaque.Data) > 0 { // an empty message is not sent: providers reject it
			s.tokens = EstimateMessage(&s.message)
		}
		s.results = make([]result, len(answers))
		for j, a := range answers {
			var res *Result
			if a.at >= 0 && a.at < len(s.record.Results) {
				res = &s.record.Results[a.at]
			}
			key := resultKey{i, j}
			src := b.cache[key]
			if src == nil || src.tool != a.tool || src.missing != (res == nil) || res != nil && src.result != *res {
				src = newSource(a.tool, res) // of another result
			}
			cache[key] = src
			r := &s.results[j]
			r.source, r.callID = src, a.id
			r.rendering = src.initial(l.goal)
			l.tokens += r.tokens
		}
		l.tokens += s.tokens
		l.steps = append(l.steps, s)
	}
	b.cache = cache
}
