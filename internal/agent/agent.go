// Package agent is the reference agent: it joins a space by the front door,
// answers questions with the help of tools, and thinks aloud while it does.
//
// The loop is perceive, plan, act, conclude. For every question the space sees
//
//	reasoning.start       at top level, answering the question; its id is the context
//	  reasoning.thought     why a tool is called (tool_name; parallel_group if several)
//	  mcp.request           the call, answering that thought
//	  mcp.response          what came of it, answering the call
//	  reasoning.thought     what was found
//	  reasoning.conclusion
//	chat                  at top level, the answer to the question
//
// A tool is called only once its request is admitted. A refusal by the gateway
// is a result like any other. A request is addressed to the participant that
// runs the tool, which is the agent itself for the tools of its own servers. The
// asker receives it all the same, since it correlates to the question through
// its thought. What follows from a question that was addressed to the agent goes
// to those who took part in that chat; everything else is a broadcast.
//
// Goroutines: Run's own reads the space and never waits for anything else, so
// that a cancellation is always heard; one for each question, at most
// MaxQuestions + MaxWaiting of them; one for each tool call of a question.
// Run returns when all have ended.
package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/agent/mcptools"
	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/internal/agent/telemetry"
	"github.com/meup-protocol/meup/internal/redact"
	"github.com/meup-protocol/meup/protocol"
)

// Space is what the agent needs of a *client.Client.
type Space interface {
	// Receive returns the next envelope; a *client.GapError is not the end.
	Receive(ctx context.Context) (protocol.Envelope, error)
	// Send returns once the envelope is in the log, or a *protocol.Error.
	Send(ctx context.Context, draft protocol.Envelope) (client.Receipt, error)
	// SendAsync returns before that. What it is given stands in the log in that
	// order, unless the gateway held some of it back.
	SendAsync(ctx context.Context, draft protocol.Envelope) (*client.Pending, error)
	// Welcome tells who one is, who is there, and what is allowed.
	Welcome() protocol.Welcome
}

// Tools is what the agent needs of a *mcptools.Set. Both methods may be called
// at the same time.
type Tools interface {
	Tools() []mcptools.Tool
	// Call returns the tool's result, or an error when there is none.
	Call(ctx context.Context, name string, args json.RawMessage) (mcptools.Result, error)
}

// History is what the agent needs of an *api.Client.
type History interface {
	Envelopes(ctx context.Context, space string, query api.EnvelopeQuery) (*api.Envelopes, error)
}

// Planner decides the next step of a question.
type Planner interface {
	Next(ctx context.Context, s planner.State) (planner.Decision, error)
}

// Options are an agent's. Space is required.
type Options struct {
	Space   Space
	Tools   Tools   // nil: none
	Planner Planner // nil: planner.Rules

	// Name is what the agent is mentioned by, besides its id.
	Name string
	// Answer says which chats are questions; empty stands for Auto.
	Answer Mode
	// Approach is named in the metadata of reasoning.start; empty: "rules".
	Approach string
	// Instructions are the operator's, for planners that heed them.
	Instructions string
	// CatchUp selects the questions from before the agent joined that are
	// answered; empty stands for CatchUpOff. The others need History.
	CatchUp CatchUp
	// History reads the log of the space; an *api.Client does.
	History History
	// ShowThinking shares a model's raw thinking too.
	ShowThinking bool
	// OwnToolsOnly does without the tools that other participants offer.
	OwnToolsOnly bool
	// PrivateToNeighbours offers the tools of other participants for questions
	// too that were put to the agent in private. What it is asked there may
	// reach them in the arguments of a call.
	PrivateToNeighbours bool
	// NoProposals leaves calls that the capabilities do not allow at that,
	// instead of asking the others to make them.
	NoProposals bool

	ToolTimeout     time.Duration // for another participant's answer; 0 stands for 30 s
	ProposalTimeout time.Duration // until a proposal expires; 0 stands for 5 min

	// ContextTokens is the model's window, for the agent's status; 0: not known.
	ContextTokens int

	MaxSteps     int // steps with tools for a question; 0 stands for the planner's own
	MaxDepth     int // of problems within problems; 0 stands for 2, below 0 for none
	MaxQuestions int // answered at the same time; 0 stands for 4
	MaxWaiting   int // questions that wait for their turn; 0 stands for 32
	// MaxHops bounds how many answers of agents may follow from one another
	// until the agent stays silent; 0 stands for 4.
	MaxHops int
	// MaxResultBytes bounds the mcp.response of a call, which is cut to it;
	// 0 stands for 256 KiB. The planner sees more.
	MaxResultBytes int

	Telemetry *telemetry.Telemetry // nil: none

	Now    func() time.Time   // nil: time.Now
	NewID  func() protocol.ID // nil: UUIDv7
	Logger *slog.Logger       // nil discards
}

func (o Options) withDefaults() Options {
	def := func(n *int, to int) {
		if *n <= 0 {
			*n = to
		}
	}
	def(&o.MaxSteps, planner.DefaultMaxSteps)
	def(&o.MaxQuestions, 4)
	def(&o.MaxWaiting, 32)
	def(&o.MaxHops, 4)
	def(&o.MaxResultBytes, 256<<10)
	if o.MaxDepth == 0 {
		o.MaxDepth = 2
	}
	if o.ToolTimeout <= 0 {
		o.ToolTimeout = 30 * time.Second
	}
	if o.ProposalTimeout <= 0 {
		o.ProposalTimeout = 5 * time.Minute
	}
	if o.CatchUp == "" {
		o.CatchUp = CatchUpOff
	}
	if o.Answer == "" {
		o.Answer = Auto
	}
	if o.Approach == "" {
		o.Approach = "rules"
	}
	if o.Tools == nil {
		o.Tools = noTools{}
	}
	if o.Planner == nil {
		o.Planner = planner.Rules{}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = func() protocol.ID { return protocol.ID(uuid.Must(uuid.NewV7()).String()) }
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

type noTools struct{}

func (noTools) Tools() []mcptools.Tool { return nil }

func (noTools) Call(context.Context, string, json.RawMessage) (mcptools.Result, error) {
	return mcptools.Result{}, mcptools.ErrUnknownTool
}

// Agent answers questions in one space.
type Agent struct {
	opts  Options
	log   *slog.Logger
	you   protocol.ParticipantID
	space string
	head  protocol.Seq // of the log when the agent joined
	logID string
	mask  func(string) string

	// Owned by the goroutine of Run.
	attention *attention
	talk      talk

	life    context.Context           // ends with Run
	endBy   atomic.Pointer[time.Time] // when everything must be said, once it does
	group   sync.WaitGroup            // whatever Run waits for
	turns   chan struct{}             // one token for each question being answered
	freed   chan struct{}             // a question has ended
	replies chan protocol.Envelope    // short ones, in their order
	own     own
	gate    gate
	inbox   inbox
	mute    atomic.Bool // the capabilities do not allow to stream
	unasked atomic.Bool // nor to ask the others for their tools

	neighbours neighbours

	mu      sync.Mutex
	running map[protocol.ID]*question // by the id of the chat
}

// maxReplies bounds the short replies that wait to be sent.
const maxReplies = 1024

// New makes an agent of a client that has joined.
func New(opts Options) *Agent {
	opts = opts.withDefaults()
	welcome := opts.Space.Welcome()
	you := welcome.You.ID
	a := &Agent{
		opts: opts, you: you, space: welcome.Space.Name, head: welcome.Space.Seq, logID: welcome.Space.Log,
		log:       opts.Logger.With("participant", you),
		attention: newAttention(you, opts),
		talk:      talk{you: you},
		turns:     make(chan struct{}, opts.MaxQuestions),
		freed:     make(chan struct{}, 1),
		replies:   make(chan protocol.Envelope, maxReplies),
		running:   make(map[protocol.ID]*question),
	}
	leaks, err := redact.Default()
	if err != nil { // the rules are the program's own
		a.log.Error("thoughts are not streamed, since secrets in them could not be masked", "err", err)
		a.mute.Store(true)
		return a
	}
	a.mask = leaks.Mask
	return a
}

// errShutdown is why questions end when the agent does.
var errShutdown = errors.New("the agent is shutting down")

// Run answers until ctx ends, somebody with the right to do so shuts the agent
// down (both return nil), or the client ends. Contexts that are open then are
// cancelled, as far as the gateway can still be reached.
func (a *Agent) Run(ctx context.Context) error {
	work, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	a.life = work
	defer a.group.Wait()
	defer func() {
		end := time.Now().Add(closingTime)
		a.endBy.Store(&end)
		stop(errShutdown)
	}()
	a.group.Go(func() { a.sendReplies(work) })
	a.meet(work)
	if a.opts.CatchUp != CatchUpOff && a.opts.History != nil {
		a.catchUp(ctx, work)
	}
	a.log.Info("agent ready", "answers", a.opts.Answer, "tools", len(a.opts.Tools.Tools()))
	for {
		env, err := a.opts.Space.Receive(ctx)
		var gap *client.GapError
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return nil
		case errors.As(err, &gap):
			a.log.Warn("envelopes were missed", "err", err)
			continue
		default:
			return fmt.Errorf("read space: %w", err)
		}
		if a.perceive(work, &env) == shutdown {
			a.log.Info("shut down", "by", env.From)
			return nil
		}
	}
}
