package planner

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/textutil"
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
)

// ModelOptions configures a Model. Model is required.
type ModelOptions struct {
	Model llm.Model
	// Budget is the language model's window in tokens; 0 means 128,000. The
	// answer and the tools are subtracted; the rest is for the context.
	Budget      int
	Utilization contextwindow.Utilization
	Summarizer  contextwindow.Summarizer // summarizes long results; nil: previews
	Effort      string                   // as in llm.Request
	MaxTokens   int                      // of one answer; 0 means the provider's default

	Now    func() time.Time // nil: time.Now; the prompt includes the date
	Logger *slog.Logger     // nil discards
}

// Bounds of a Model's work.
const (
	defaultBudget = 128_000
	minBudget     = 2_000
	answerReserve = 4_096 // tokens reserved for the answer if MaxTokens is 0
	maxRepairs    = 1     // requests in one decision to correct a turn
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

// Memory caches a Model's work on the records of one question, so that the cost
// of a step depends on its new content only. The zero value is ready to use. A
// Memory belongs to one question; its contents can be rebuilt from the State.
type Memory struct {
	mu      sync.Mutex
	owner   *Model
	builder *contextwindow.Builder
}

// build builds a context, with the memory's builder if mem is not nil.
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

// window returns the model's window without the answer, in the provider's
// tokens.
func (m *Model) window() float64 {
	answer := m.opts.MaxTokens
	if answer <= 0 {
		answer = answerReserve
	}
	return float64(m.opts.Budget - answer)
}

// budget returns the estimated tokens that the answer and the offered tools,
// which may change from step to step, leave for the context.
func (m *Model) budget(o *offer) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return max(min(minBudget, m.opts.Budget), int(m.window()/m.ratio)-estimateTools(o.tools))
}

// toolBudget returns the estimated tokens that the definitions of all tools may
// have together. It rounds the ratio up to a quarter, so that the offered tools
// seldom change from step to step.
func (m *Model) toolBudget() int {
	m.mu.Lock()
	ratio := math.Ceil(m.ratio*4) / 4
	m.mu.Unlock()
	return int(toolShare * max(float64(min(minBudget, m.opts.Budget)), m.window()/ratio))
}

// offer returns the tools that fit the budget. It logs each set of tools that
// do not fit once.
func (m *Model) offer(s *State) *offer {
	room := m.toolBudget()
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
		Utilization: m.opts.Utilization, Summarizer: m.opts.Summarizer,
		Logger: m.log, Now: m.opts.Now,
	})
}

// Next decides the next step.
//
// The model is offered the tools and either calls some or writes the answer. If
// a result was not shown in full, or the steps are used up, a second request to
// the model writes the answer, with as much of the results as fits.
//
// A call is invalid if its tool is unknown, its arguments do not fit the tool's
// schema, or the records already have it. The model gets one chance to correct
// invalid calls; calls that remain invalid are dropped. If no call is left,
// repeated calls lead to an answer from the present results, others to an error
// that wraps ErrBadCalls.
//
// A forced tool is called regardless of the records, and also beyond MaxSteps.
func (m *Model) Next(ctx context.Context, s State) (Decision, error) {
	t := &turn{m: m, s: &s, offer: m.offer(&s)}
	t.d = Decision{Source: ByModel, Model: m.opts.Model.Name(), Provider: m.opts.Model.Provider()}
	var err error
	switch {
	case s.Forced != "":
		err = t.force(ctx)
	case len(s.Steps) >= s.Limit():
		err = t.write(ctx, exhausted)
	default:
		err = t.plan(ctx)
	}
	if err != nil {
		return Decision{Model: t.d.Model, Provider: t.d.Provider, Usage: t.d.Usage}, err
	}
	return t.d, nil
}

// turn is the state of one decision.
type turn struct {
	m     *Model
	s     *State
	offer *offer
	d     Decision
}

// force requires the model to call the forced tool.
func (t *turn) force(ctx context.Context) error {
	wire := t.offer.names[t.s.Forced]
	if t.offer.wire[wire] == nil {
		return fmt.Errorf("%w: there is no tool %q with a schema that can be read and fits the model's window", ErrForced, t.s.Forced)
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

// decide asks for calls or an answer, and again if the turn was invalid.
func (t *turn) decide(ctx context.Context, choice llm.ToolChoice) error {
	req := llm.Request{Tools: t.offer.tools, Choice: choice}
	resp, err := t.request(ctx, contextwindow.Planning, t.planningPrompt(), &req)
	for repairs := 0; ; repairs++ {
		if err != nil {
			return err
		}
		r := t.read(&resp)
		if len(r.faults) > 0 && repairs < maxRepairs {
			t.m.log.Info("model's turn sent back", "faults", r.faultSummary())
			req.Messages = append(slices.Clip(req.Messages), t.offer.withWireNames(r.correction())...)
			resp, err = t.ask(ctx, contextwindow.Planning, req)
			continue
		}
		return t.resolve(ctx, &r)
	}
}

// resolve makes the decision from a parsed turn, including its remaining faults.
func (t *turn) resolve(ctx context.Context, r *parsedTurn) error {
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
	return fmt.Errorf("%w: %s", ErrBadCalls, r.faultSummary())
}

// use decides on the calls.
func (t *turn) use(r *parsedTurn) {
	t.d.Action = contextwindow.UseTools
	t.d.Thought = textutil.Shorten(strings.TrimSpace(r.resp.Message.Text), maxNarrative)
	t.d.Calls = r.calls
	t.d.Turn = &r.resp.Message // includes dropped calls: a context marks them as calls without a result
	if len(r.faults) > 0 {
		t.m.log.Warn("calls of the model left out", "faults", r.faultSummary())
	}
}

// answer uses the text of the planning turn as the answer if the model saw
// every result in full. Otherwise it requests a new answer.
func (t *turn) answer(ctx context.Context, resp *llm.Response) error {
	if !whole(t.d.Shown) && resp.Stop != llm.StopRefusal {
		if err := t.write(ctx, ready); err != nil {
			return err
		}
		t.d.Thought = textutil.Shorten(withoutConclusion(resp.Message.Text, t.d.Conclusion), maxReason)
		return nil
	}
	return t.finish(resp)
}

// whole reports whether every result was shown in full.
func whole(m *contextwindow.Meta) bool { return m.Previews+m.Summaries+m.Dropped+m.Steps == 0 }

// write requests the answer from the present results. The tools stay in the
// request, since some providers reject calls in a conversation without tools,
// but none may be called. If the model calls one anyway, the request is
// repeated without tools.
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

// finish decides on the answer in the response.
func (t *turn) finish(resp *llm.Response) error {
	text := strings.TrimSpace(resp.Message.Text)
	if text == "" {
		return emptyError(resp.Stop)
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

// emptyError returns the error for a response without text.
func emptyError(stop llm.Stop) error {
	switch stop {
	case llm.StopRefusal:
		return ErrRefused
	case llm.StopLength:
		return ErrLength
	}
	return ErrSilent
}

// context builds the messages for a goal and stores their metadata in the
// decision.
func (t *turn) context(ctx context.Context, goal contextwindow.Goal, system string) ([]llm.Message, error) {
	messages, meta, err := t.m.build(ctx, t.s.Memory, t.offer, contextwindow.Input{
		System: system, History: t.s.History, Question: t.s.Question, Records: t.s.Steps, Goal: goal,
	})
	if err != nil {
		return nil, fmt.Errorf("build context for %s: %w", goal, err)
	}
	t.d.Shown = &meta
	return t.offer.withWireNames(messages), nil
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
		t.shrinkOffer(req)
	}
}

// shrinkOffer offers the tools that fit the present budget, unless that would
// remove the tool that the request forces, or all tools.
func (t *turn) shrinkOffer(req *llm.Request) {
	o := t.m.offer(t.s)
	if req.Tools == nil || len(o.tools) == 0 || t.s.Forced != "" && o.wire[o.names[t.s.Forced]] == nil {
		return
	}
	t.offer, req.Tools = o, o.tools
}

// ask sends one request to the model and adds its usage to the decision.
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
