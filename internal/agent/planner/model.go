package planner

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/llm"
)

// Errors of a Model, in addition to the wrapped errors of the language model:
// *llm.Error, llm.ErrTruncated, ctx's own, contextwindow.ErrTooLarge.
var (
	// ErrRefused: the language model refused without an explanation.
	ErrRefused = errors.New("the model refused to answer")
	// ErrLength: the answer reached the bound on its length before its first
	// word.
	ErrLength = errors.New("the model reached the bound on its length before it said anything")
	// ErrSilent: the model wrote neither a call nor an answer, even when asked
	// again.
	ErrSilent = errors.New("the model wrote neither a call nor an answer")
	// ErrBadCalls: all its calls were invalid, even when asked again.
	ErrBadCalls = errors.New("none of the model's calls can be made")
	// ErrForced: the forced tool does not exist, or was not called.
	ErrForced = errors.New("the forced tool cannot be called")
	// ErrNotCalled, an ErrForced: the model did not call the tool, even when asked
	// again.
	ErrNotCalled = fmt.Errorf("%w: the model did not call it", ErrForced)
)

// ModelOptions configures a Model. Model is required.
type ModelOptions struct {
	Model llm.Model
	// Budget is the language model's window in tokens; 0 means DefaultBudget. The
	// answer and the tools are subtracted; the rest is for the context.
	Budget      int
	Utilization contextwindow.Utilization
	Summarizer  contextwindow.Summarizer // summarizes long results; nil: previews
	Effort      string                   // as in llm.Request
	MaxTokens   int                      // of one answer; 0 means the provider's default

	Now    func() time.Time // nil: time.Now; the prompt includes the date
	Logger *slog.Logger     // nil discards
}

// Values of ModelOptions.Budget.
const (
	DefaultBudget = 128_000
	MinWindow     = 4_096 // below, there is no room for the instructions and a question
)

// Bounds of a Model's work.
const (
	minBudget     = 2_000 // after utilization: room for the system prompt and a question
	answerReserve = 4_096 // tokens reserved for the answer if MaxTokens is 0
	maxCalls      = 16    // calls in one step, which run concurrently
	toolShare     = 0.5   // of the window without the answer, for the definitions of tools
	maxLeftOut    = 64    // sets of tools whose omission is remembered
)

// Model decides by asking a language model. It is safe for concurrent use.
type Model struct {
	opts ModelOptions
	log  *slog.Logger

	mu    sync.Mutex
	ratio float64 // the provider's latest count of input tokens divided by the estimate
	// leftOut holds hashes of the sets of tools whose omission was logged.
	leftOut map[uint64]bool
}

// NewModel returns a Model with the given options.
func NewModel(opts ModelOptions) *Model {
	if opts.Budget <= 0 {
		opts.Budget = DefaultBudget
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	return &Model{opts: opts, ratio: 1, log: opts.Logger.With("provider", opts.Model.Provider(), "model", opts.Model.Name())}
}

// Memory caches a Model's work on the records of one question, so that the cost
// of a step depends on its new content only. The zero value is ready to use. A
// Memory belongs to one question; its contents can be rebuilt from the State.
type Memory struct {
	mu      sync.Mutex
	owner   *Model
	builder *contextwindow.Builder
}

// build builds a context, with the memory's builder if mem is not nil. It has the estimated tokens
// that the answer and the offered tools, which may change from step to step, leave, before
// utilization.
func (m *Model) build(ctx context.Context, mem *Memory, o *offer, in contextwindow.Input) ([]llm.Message, contextwindow.Meta, error) {
	m.mu.Lock()
	least := min(minBudget, m.opts.Budget) * m.opts.Utilization.Divisor()
	in.Budget = max(least, int(m.window()/m.ratio)-estimateTools(o.tools))
	m.mu.Unlock()
	if mem == nil {
		return m.newBuilder().Build(ctx, in)
	}
	mem.mu.Lock()
	defer mem.mu.Unlock()
	if mem.owner != m {
		mem.owner, mem.builder = m, m.newBuilder()
	}
	return mem.builder.Build(ctx, in)
}

// window returns the model's window without the answer, in the provider's
// tokens.
func (m *Model) window() float64 {
	answer := m.opts.MaxTokens
	if answer <= 0 {
		answer = answerReserve
	}
	return float64(m.opts.Budget - answer)
}

// offer returns the tools that fit the estimated tokens that the definitions of all tools may have
// together. It rounds the ratio up to a quarter, so that the offered tools seldom change from step to
// step. It logs each set of tools that do not fit once.
func (m *Model) offer(s *State) *offer {
	m.mu.Lock()
	ratio := math.Ceil(m.ratio*4) / 4
	m.mu.Unlock()
	room := int(toolShare * max(float64(min(minBudget, m.opts.Budget)), m.window()/ratio))
	o := newOffer(s, room, m.log)
	if len(o.leftOut) == 0 {
		return o
	}
	h := fnv.New64a()
	for _, name := range slices.Sorted(slices.Values(o.leftOut)) {
		fmt.Fprintf(h, "%q", name)
	}
	m.mu.Lock()
	logged := m.leftOut[h.Sum64()]
	if !logged {
		if m.leftOut == nil || len(m.leftOut) == maxLeftOut {
			m.leftOut = make(map[uint64]bool)
		}
		m.leftOut[h.Sum64()] = true
	}
	m.mu.Unlock()
	if !logged {
		m.log.Warn("tools left out: a request to the model has no room for them",
			"left_out", len(o.leftOut), "offered", len(o.tools), "max_tools", maxOffered, "max_tokens", room)
	}
	return o
}

// Bounds of the ratio of counted to estimated tokens, and its growth when the
// provider rejects a request as too long.
const (
	minRatio, maxRatio = 0.25, 4
	ratioStep          = 1.5
	maxTooLong         = 3 // requests
)

// calibrate stores the ratio of the provider's count of a request to its
// estimate. It ignores small requests, whose count depends mostly on the
// provider's format, and implausible counts.
func (m *Model) calibrate(req *llm.Request, counted int) {
	estimate := estimateTools(req.Tools)
	for i := range req.Messages {
		estimate += contextwindow.EstimateMessage(&req.Messages[i])
	}
	if estimate < minBudget {
		return
	}
	if ratio := float64(counted) / float64(estimate); ratio >= minRatio && ratio <= maxRatio {
		m.mu.Lock()
		m.ratio = ratio
		m.mu.Unlock()
	}
}

// shrink makes later contexts smaller, after a request that was too long.
func (m *Model) shrink() {
	m.mu.Lock()
	m.ratio = min(m.ratio*ratioStep, maxRatio)
	m.mu.Unlock()
}

func (m *Model) newBuilder() *contextwindow.Builder {
	return contextwindow.NewBuilder(contextwindow.Options{
		Utilization: m.opts.Utilization, Summarizer: m.opts.Summarizer, Logger: m.log,
	})
}
