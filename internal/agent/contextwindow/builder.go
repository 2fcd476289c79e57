package contextwindow

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/meup-protocol/meup/internal/agent/llm"
)

// ErrTooLarge is wrapped by TooLargeError.
var ErrTooLarge = errors.New("context too large")

// TooLargeError reports a system prompt and a question that exceed the budget.
// They are never cut.
type TooLargeError struct {
	Tokens int // estimate for the system prompt and the question
	Budget int
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("context too large: the system prompt and the question have %d tokens, the budget is %d", e.Tokens, e.Budget)
}

// Unwrap returns ErrTooLarge.
func (e *TooLargeError) Unwrap() error { return ErrTooLarge }

// Goal is the purpose of a context.
type Goal string

// The goals.
const (
	Planning  Goal = "planning"  // decide the next step
	Synthesis Goal = "synthesis" // write the answer
)

// Utilization is the share of a budget that a context may use.
type Utilization int

// The shares. Full is the zero value.
const (
	Full Utilization = iota
	Half
	Low // a quarter
)

var utilizations = [...]string{Full: "full", Half: "half", Low: "low"}

// ParseUtilization parses "full", "half", "low" or "", which means full.
func ParseUtilization(s string) (Utilization, error) {
	if s == "" {
		return Full, nil
	}
	for u, name := range utilizations {
		if s == name {
			return Utilization(u), nil
		}
	}
	return Full, fmt.Errorf("context utilization must be full, half or low, not %q", s)
}

// String returns the name that ParseUtilization parses.
func (u Utilization) String() string {
	if u < Full || u > Low {
		return fmt.Sprintf("Utilization(%d)", int(u))
	}
	return utilizations[u]
}

// Options configure a Builder. The zero value is valid.
type Options struct {
	Utilization Utilization
	Summarizer  Summarizer       // replaces previews of long results by summaries; nil: off
	Logger      *slog.Logger     // nil: discard
	Now         func() time.Time // nil: time.Now
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
	Goal     Goal `json:"goal"`
	Tokens   int  `json:"context_tokens"` // estimate for all messages
	Budget   int  `json:"token_budget"`   // after utilization
	Previews int  `json:"previews"`       // results shown in part
	Dropped  int  `json:"dropped"`        // results replaced by a mark, or dropped with their step
	History  int  `json:"history_dropped"`

	Thoughts int   `json:"thoughts_dropped,omitempty"` // steps shown without their thought
	Steps    int   `json:"steps_dropped,omitempty"`
	Cut      []Cut `json:"cut,omitempty"` // oldest first

	Utilization     string        `json:"context_utilization,omitempty"`
	Summaries       int           `json:"summaries,omitempty"`           // results shown as a summary
	SummariesFailed int           `json:"summaries_failed,omitempty"`    // in this build
	SummaryTime     time.Duration `json:"summary_duration_ns,omitempty"` // in this build
}

// Cut describes a result that is not shown whole.
type Cut struct {
	Step    int  `json:"step_index"`
	Call    int  `json:"call"`       // from 0
	Chars   int  `json:"characters"` // of the whole result
	Shown   int  `json:"shown"`      // characters of it in the context; 0 for a summary
	Dropped bool `json:"dropped,omitempty"`
	Summary bool `json:"summary,omitempty"`
	Error   bool `json:"error,omitempty"` // the call failed
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
	if opts.Now == nil {
		opts.Now = time.Now
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
// Errors: *TooLargeError, an unknown goal, and the error of ctx.
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
	l := &layout{goal: in.Goal, limit: in.Budget >> b.opts.Utilization}
	if l.addFixed(in.System, in.Question); l.tokens > l.limit {
		return nil, Meta{}, &TooLargeError{Tokens: l.tokens, Budget: l.limit}
	}
	l.addHistory(in.History)
	b.addRecords(l, in.Records)
	l.dropOversized()
	if in.Goal == Synthesis {
		l.expand()
	}
	l.fit()
	meta, err := b.summarize(ctx, l, in.Question)
	if err != nil {
		return nil, Meta{}, err
	}
	l.dropOversized()
	l.fit()
	meta.Utilization = b.opts.Utilization.String()
	l.describe(&meta)
	return l.messages(in), meta, nil
}

// addRecords adds the steps to the layout. It takes renderings of unchanged
// results from the cache, which then holds the results of these records only.
func (b *Builder) addRecords(l *layout, records []Record) {
	cache := make(map[resultKey]*source, len(records))
	for i := range records {
		s := step{record: &records[i]}
		var answers []answer
		s.message, answers = turnOf(s.record)
		if !isEmpty(&s.message) {
			s.tokens = EstimateMessage(&s.message)
		}
		s.results = make([]result, len(answers))
		for j, a := range answers {
			key, res := resultKey{i, j}, resultOf(s.record, a.at)
			src := b.cache[key]
			if src == nil || !src.matches(a.tool, res) {
				src = newSource(a.tool, res)
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
