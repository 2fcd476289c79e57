package planner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/llm"
)

// Errors of a Model, besides those of the language model itself, which are
// wrapped: *llm.Error, llm.ErrCut, ctx's own, contextwindow.ErrTooLarge.
var (
	// ErrRefused: the language model would not go on and did not say why.
	ErrRefused = errors.New("the model refused to answer")
	// ErrLength: the bound on its length came before the answer's first word.
	ErrLength = errors.New("the model reached the bound on its length before it said anything")
	// ErrSilent: it wrote neither a call nor an answer, when asked again too.
	ErrSilent = errors.New("the model wrote neither a call nor an answer")
	// ErrBadCalls: none of its calls could be made, when asked again too.
	ErrBadCalls = errors.New("none of the model's calls can be made")
	// ErrForced: the forced tool is not there, or was not called.
	ErrForced = errors.New("the forced tool cannot be called")
)

// ModelOptions are a Model's. Model is required.
type ModelOptions struct {
	Model llm.Model
	// Budget is the language model's window in tokens; 0 stands for 128,000. Of
	// it the answer and the tools are taken off, the rest is for the context.
	Budget      int
	Utilization contextwindow.Utilization
	Summarizer  contextwindow.Summarizer // of long results; nil: previews
	Effort      string                   // as in llm.Request
	MaxTokens   int                      // of one answer; 0 stands for the provider's default

	Now    func() time.Time // nil: time.Now; the model is told the day
	Logger *slog.Logger     // nil discards
}

// Bounds of a Model's work.
const (
	defaultBudget = 128_000
	leastBudget   = 2_000
	answerRoom    = 4_096 // tokens kept free where MaxTokens says nothing
	maxRepairs    = 1     // times in one decision that the model is told what was wrong
	maxCalls      = 16    // that one step makes at the same time
)

// Model decides by asking a language model. It may be used by many at the same
// time.
type Model struct {
	opts ModelOptions
	log  *slog.Logger

	mu    sync.Mutex
	ratio float64 // of the provider's last count of input tokens to the estimate
}

// NewModel makes one.
func NewModel(opts ModelOptions) *Model {
	if opts.Budget <= 0 {
		opts.Budget = defaultBudget
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	return &Model{opts: opts, ratio: 1, log: opts.Logger.With("provider", opts.Model.Provider(), "model", opts.Model.Name())}
}

// Memory holds what a Model has worked out about the records of one question,
// so that a step costs what is new in it. The zero value is ready. It belongs
// to one question; whatever is in it can be made again from the State.
type Memory struct {
	mu      sync.Mutex
	owner   *Model
	builder *contextwindow.Builder
}

// build builds a context, with the memory's builder if there is a memory.
func (m *Model) build(ctx context.Context, mem *Memory, o *offer, in contextwindow.Input) ([]llm.Message, contextwindow.Meta, error) {
	in.Budget = m.budget(o)
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

// budget returns the estimated tokens that the answer and the offered tools,
// which may change from step to step, leave for the context.
func (m *Model) budget(o *offer) int {
	answer := m.opts.MaxTokens
	if answer <= 0 {
		answer = answerRoom
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return max(min(leastBudget, m.opts.Budget), int(float64(m.opts.Budget-answer)/m.ratio)-estimateTools(o.tools))
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
	if estimate < leastBudget {
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
		Utilization: m.opts.Utilization, Summarizer: m.opts.Summarizer,
		Logger: m.log, Now: m.opts.Now,
	})
}

// Next decides the next step.
//
// The model is offered the tools and either calls some or writes the answer.
// Where it was not shown every result whole, or the steps are used up, the
// answer is written by a second question to it, for which it sees as much of
// them as there is room for.
//
// A call of an unknown tool, with arguments that do not fit the tool's schema,
// or that the records have already, is not made. The model is told once what
// was wrong. Those calls that are still wrong then are left out; when none is
// left, repeated ones lead to an answer from what there is, others to an error
// that wraps ErrBadCalls.
//
// A forced tool is called whatever the records say, and also beyond MaxSteps.
func (m *Model) Next(ctx context.Context, s State) (Decision, error) {
	t := &turn{m: m, s: &s, offer: newOffer(&s, m.log)}
	t.d = Decision{Source: ByModel, Model: m.opts.Model.Name(), Provider: m.opts.Model.Provider()}
	var err error
	switch {
	case s.Forced != "":
		err = t.force(ctx)
	case len(s.Steps) >= s.limit():
		err = t.write(ctx, exhausted)
	default:
		err = t.plan(ctx)
	}
	if err != nil {
		return Decision{Model: t.d.Model, Provider: t.d.Provider, Usage: t.d.Usage}, err
	}
	return t.d, nil
}

// turn is one decision in the making.
type turn struct {
	m     *Model
	s     *State
	offer *offer
	d     Decision
}

// force has the model call the one tool.
func (t *turn) force(ctx context.Context) error {
	wire := t.offer.names[t.s.Forced]
	if wire == "" {
		return fmt.Errorf("%w: there is no tool %q with a schema that can be read", ErrForced, t.s.Forced)
	}
	t.d.Source = ByForce
	return t.decide(ctx, llm.ToolChoice(wire))
}

func (t *turn) plan(ctx context.Context) error {
	if len(t.offer.tools) == 0 {
		return t.decide(ctx, llm.None)
	}
	return t.decide(ctx, llm.Auto)
}

// decide asks for calls or an answer, and once more where that was wrong.
func (t *turn) decide(ctx context.Context, choice llm.ToolChoice) error {
	req := llm.Request{Tools: t.offer.tools, Choice: choice}
	resp, err := t.request(ctx, contextwindow.Planning, t.planningPrompt(), &req)
	for repairs := 0; ; repairs++ {
		if err != nil {
			return err
		}
		r := t.read(&resp)
		if len(r.faults) > 0 && repairs < maxRepairs {
			t.m.log.Info("model's turn sent back", "faults", r.told())
			req.Messages = append(slices.Clip(req.Messages), t.offer.spoken(r.correction())...)
			resp, err = t.ask(ctx, contextwindow.Planning, req)
			continue
		}
		return t.settle(ctx, &r)
	}
}

// settle makes the decision of what was read, faults and all.
func (t *turn) settle(ctx context.Context, r *reading) error {
	switch {
	case len(r.calls) > 0:
		t.use(r)
		return nil
	case r.err != nil:
		return r.err
	case r.answers:
		return t.answer(ctx, r.resp)
	case r.onlyRepeats():
		return t.write(ctx, repeated)
	}
	return fmt.Errorf("%w: %s", ErrBadCalls, r.told())
}

// use decides on the calls.
func (t *turn) use(r *reading) {
	t.d.Action = contextwindow.UseTools
	t.d.Thought = cut(strings.TrimSpace(r.resp.Message.Text), maxNarrative)
	t.d.Calls = r.calls
	t.d.Turn = &r.resp.Message // with those left out: a context says that they have no result
	if len(r.faults) > 0 {
		t.m.log.Warn("calls of the model left out", "faults", r.told())
	}
}

// answer takes the planning's own text for the answer where the model has seen
// everything whole, and has it written anew where it has not.
func (t *turn) answer(ctx context.Context, resp *llm.Response) error {
	if !whole(t.d.Shown) && resp.Stop != llm.StopRefusal {
		if err := t.write(ctx, ready); err != nil {
			return err
		}
		t.d.Thought = cut(apart(resp.Message.Text, t.d.Conclusion), maxReason)
		return nil
	}
	return t.finish(resp)
}

// whole reports whether every result was shown as it is.
func whole(m *contextwindow.Meta) bool { return m.Previews+m.Summaries+m.Dropped+m.Steps == 0 }

// write has the answer written from what there is. The tools stay on offer,
// since some providers do not take calls in a conversation without tools, but
// none may be called; to a model that does so nevertheless none is offered.
func (t *turn) write(ctx context.Context, why string) error {
	req := llm.Request{Tools: t.offer.tools, Choice: llm.None}
	if len(t.s.Steps) == 0 {
		req.Tools = nil
	}
	resp, err := t.request(ctx, contextwindow.Synthesis, t.synthesisPrompt(why), &req)
	if err == nil && strings.TrimSpace(resp.Message.Text) == "" && len(resp.Message.Calls) > 0 && req.Tools != nil {
		req.Tools = nil
		resp, err = t.ask(ctx, contextwindow.Synthesis, req)
	}
	if err != nil {
		return err
	}
	return t.finish(&resp)
}

// finish decides on the answer that the response holds.
func (t *turn) finish(resp *llm.Response) error {
	text := strings.TrimSpace(resp.Message.Text)
	if text == "" {
		return silence(resp.Stop)
	}
	t.d.Action = contextwindow.Finish
	t.d.Answer, t.d.Confidence = confidence(text)
	t.d.Conclusion = firstSentence(t.d.Answer)
	switch resp.Stop {
	case llm.StopLength:
		t.d.Answer += "\n\n" + cutNote
	case llm.StopRefusal:
		t.d.Conclusion = "The model would not go on with this question."
	}
	return nil
}

// silence is the error of a response without a word.
func silence(stop llm.Stop) error {
	switch stop {
	case llm.StopRefusal:
		return ErrRefused
	case llm.StopLength:
		return ErrLength
	}
	return ErrSilent
}

// context builds the messages for a goal and notes what they show.
func (t *turn) context(ctx context.Context, goal contextwindow.Goal, system string) ([]llm.Message, error) {
	messages, meta, err := t.m.build(ctx, t.s.Memory, t.offer, contextwindow.Input{
		System: system, History: t.s.History, Question: t.s.Question, Records: t.s.Steps, Goal: goal,
	})
	if err != nil {
		return nil, fmt.Errorf("build context for %s: %w", goal, err)
	}
	t.d.Shown = &meta
	return t.offer.spoken(messages), nil
}

// request builds the context for a goal, sets req.Messages and sends the request.
// If the provider rejects it as too long, request sends a smaller one.
func (t *turn) request(ctx context.Context, goal contextwindow.Goal, system string, req *llm.Request) (llm.Response, error) {
	for sent := 1; ; sent++ {
		messages, err := t.context(ctx, goal, system)
		if err != nil {
			return llm.Response{}, err
		}
		req.Messages = messages
		resp, err := t.ask(ctx, goal, *req)
		var refusal *llm.Error
		if sent == maxTooLong || !errors.As(err, &refusal) || !refusal.TooLong() {
			return resp, err
		}
		t.m.log.Warn("the request was too long; sending a smaller context", "error", err)
		t.m.shrink()
	}
}

// ask asks the model and adds up what that took.
func (t *turn) ask(ctx context.Context, goal contextwindow.Goal, req llm.Request) (llm.Response, error) {
	if t.s.Asking != nil {
		t.s.Asking(goal)
	}
	req.Effort, req.MaxTokens = t.m.opts.Effort, t.m.opts.MaxTokens
	resp, err := t.m.opts.Model.Generate(ctx, req, t.s.Watch)
	t.d.Usage = plus(t.d.Usage, resp.Usage)
	t.m.calibrate(&req, resp.Usage.Input)
	if err != nil {
		return llm.Response{}, fmt.Errorf("ask %s for %s: %w", t.m.opts.Model.Name(), goal, err)
	}
	if resp.Model != "" {
		t.d.Model = resp.Model
	}
	if thought := strings.TrimSpace(resp.Thinking); thought != "" {
		if t.d.Thinking != "" {
			t.d.Thinking += "\n\n"
		}
		t.d.Thinking += thought
	}
	return resp, nil
}

func plus(a, b llm.Usage) llm.Usage {
	return llm.Usage{
		Input: a.Input + b.Input, Output: a.Output + b.Output,
		Cached: a.Cached + b.Cached, Reasoning: a.Reasoning + b.Reasoning,
	}
}
