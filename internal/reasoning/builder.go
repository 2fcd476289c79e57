package reasoning

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/meup-protocol/meup/internal/llm"
)

// defaultBudget is the window that most models have at least.
const defaultBudget = 128_000

// defaultSummarise is the size from which a summary is worth asking a model.
const defaultSummarise = 4_000

// Options configure a Builder. The zero value is a budget of 128,000 tokens of
// o200k_base, all of which may be used, and no summaries.
type Options struct {
	Model       string // its name decides the encoding; o200k_base for those unknown
	Budget      int    // tokens of the model's window that are for a context; 0: 128,000. Input.Budget overrides it
	Utilisation Utilisation

	// Summarise puts long results into words in place of a preview; nil: off.
	Summarise Summariser
	// SummariseOver is the size in characters from which it does; 0: 4,000.
	SummariseOver int

	Logger *slog.Logger     // nil discards
	Now    func() time.Time // measures summaries; nil: time.Now
}

// Builder builds the contexts of one question. It remembers what it has
// counted and shortened, so that a step costs what is new in it. The records
// of a step must begin with those of the step before; what differs is counted
// anew. What records and messages point to must not be changed meanwhile. Its
// methods must not be called at the same time.
type Builder struct {
	opts    Options
	limit   int // tokens that a context may have
	counter *counter

	question string // of the contexts so far
	steps    []*remembered
	talk     []plain // the system prompt, the question and the history
}

// NewBuilder makes one.
func NewBuilder(opts Options) *Builder {
	if opts.Budget <= 0 {
		opts.Budget = defaultBudget
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.SummariseOver <= 0 {
		opts.SummariseOver = defaultSummarise
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	return &Builder{opts: opts, counter: newCounter(opts.Model)}
}

// Build returns the messages of a context and what it holds: the system
// prompt, the history, the question, and of each record the assistant's
// message with the results of its calls.
//
// Planning shows previews of successful results over 1,000 characters,
// synthesis shows them whole, the newest first, as far as there is room.
// When the rest is too large all the same, it leaves out the oldest large
// results, then the oldest small ones, the oldest thoughts, the oldest
// exchanges of the history, the oldest errors and at last whole steps. What
// would not fit if it were alone goes before all that. The system prompt and
// the question are never cut; too large for any tokenizer, they are refused
// without being counted. When ctx ends, counting does too.
//
// Errors: *TooLargeError, an unknown goal, and ctx's own.
func (b *Builder) Build(ctx context.Context, in Input) ([]llm.Message, Meta, error) {
	if err := ctx.Err(); err != nil {
		return nil, Meta{}, err
	}
	if in.Goal != Planning && in.Goal != Synthesis {
		return nil, Meta{}, fmt.Errorf("build context: goal %q is neither planning nor synthesis", in.Goal)
	}
	if in.Question != b.question {
		b.question, b.steps = in.Question, nil // summaries are of the question
	}
	b.setLimit(in.Budget)
	b.talk = b.talk[:min(len(b.talk), 2+len(in.History))]
	b.counter.begin(ctx)
	messages, meta, err := b.build(ctx, in)
	if b.counter.ended {
		b.steps, b.talk = nil, nil // what is remembered was not counted
		return nil, Meta{}, ctx.Err()
	}
	return messages, meta, err
}

// setLimit sets the tokens that the next context may have. What was counted is
// exact up to the limit of then only, so a larger limit has it counted again.
func (b *Builder) setLimit(budget int) {
	if budget <= 0 {
		budget = b.opts.Budget
	}
	limit := b.opts.Utilisation.of(budget)
	if limit > b.limit {
		b.steps, b.talk = nil, nil
	}
	b.limit = limit
}

func (b *Builder) build(ctx context.Context, in Input) ([]llm.Message, Meta, error) {
	p := newPlan(b, in, b.recall(in.Records))
	if p.fixed > p.limit {
		return nil, Meta{}, p.tooLarge()
	}
	p.dropTooLarge()
	if in.Goal == Synthesis {
		p.showWhole()
	}
	p.fit()
	made, err := b.summarise(ctx, p, in.Question)
	if err != nil {
		return nil, Meta{}, err
	}
	p.dropTooLarge()
	p.fit()
	meta := p.meta()
	meta.Utilisation = b.opts.Utilisation.String()
	meta.SummaryTime, meta.SummariesFailed = made.took, made.failed
	return p.messages(in), meta, nil
}
