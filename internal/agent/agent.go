// Package agent is the reference agent: a participant that answers questions with
// the help of tools, and publishes its reasoning.
//
// The loop is dispatch, plan, act, conclude. For every question the log contains
//
//	reasoning.start       at top level, correlates to the question; its id is the context
//	  reasoning.thought     why a tool is called (tool_name; parallel_group if several)
//	  mcp.request           the call, correlates to that thought
//	  mcp.response          the result, correlates to the call
//	  reasoning.thought     the findings; also an observation, a hypothesis or a question
//	  reasoning.conclusion
//	chat                  at top level, the answer to the question
//
// Steps and chats of others in a context reach the next decision about it; see
// remarks.go. A part may be given to another agent; see delegate.go. Several
// processes of one participant share its questions; see twins.go.
//
// A tool is called only after its request is admitted. A request that the rights do not
// allow becomes a proposal (see propose.go); another refusal by the gateway is a result like
// any other. A request is addressed to the participant that
// runs the tool, which is the agent itself for the tools of its own servers. The
// asker receives it too, because it correlates to the question through its
// thought. All envelopes about a question that was addressed to the agent go to
// the participants of that chat; all others are broadcasts.
//
// Goroutines: the goroutine of Run first reads what the log has for the agent, and then
// receives and never blocks on anything else, so that a cancellation is always received; one
// per question, at most
// MaxQuestions + MaxWaiting of them, also those that wait for a decision, and
// maxWatched for the questions of another process; one per tool call of a question.
// Run returns when all have ended.
package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/meup-protocol/meup/internal/agent/intake"
	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/agent/mcptools"
	"github.com/meup-protocol/meup/internal/agent/participant"
	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/internal/agent/planner/rules"
	"github.com/meup-protocol/meup/internal/agent/telemetry"
	"github.com/meup-protocol/meup/protocol"
)

// Tools is the part of *mcptools.Set that the agent uses. Both methods are safe
// for concurrent use.
type Tools interface {
	Tools() []mcptools.Tool
	// Call returns the tool's result, or an error if the tool returned none.
	Call(ctx context.Context, name string, args json.RawMessage) (mcptools.Result, error)
}

// Planner decides the next step of a question.
type Planner interface {
	Next(ctx context.Context, s planner.State) (planner.Decision, error)
}

// Host serves tools to other participants; a *bridge.Bridge implements it.
type Host interface {
	// Begin is called before the first Handle, with the requests from before the start
	// that have no response.
	Begin(ctx context.Context, runtime *participant.Runtime, waiting []protocol.Envelope)
	// Handle handles an mcp.request to the agent, or its own participant.status.
	Handle(request *protocol.Envelope)
	// End is called after all other work, with the seq up to which requests were handled.
	End(ctx context.Context, through protocol.Seq)
}

// Options configures an Agent. Space is required.
type Options struct {
	Space   Space
	Tools   Tools   // nil: none
	Planner Planner // nil: rules.Rules
	Solver  Solver  // nil: the agent's own loop with Tools and Planner
	Host    Host    // answers MCP requests to the agent; nil: they are declined

	// Name is a name for mentions, in addition to the participant's id.
	Name string
	// Answer selects the chats that are questions; empty: intake.Auto.
	Answer intake.Mode
	// Approach is sent in the metadata of reasoning.start; empty: "rules".
	Approach string
	// Instructions are the operator's, for planners that use them.
	Instructions string
	// CatchUp selects the questions to answer that were asked before the agent
	// joined; empty: intake.CatchUpOff. The other values need History.
	CatchUp intake.CatchUp
	// History reads the log of the space; an *api.Client implements it.
	History participant.History
	// ShowThinking also publishes a model's raw thinking.
	ShowThinking bool
	// OwnToolsOnly ignores the tools of other participants.
	OwnToolsOnly bool
	// NoProposals reports calls that the capabilities do not allow as refused,
	// instead of proposing them to the other participants.
	NoProposals bool

	// OnElicitation answers a question that a host asks about a call of the agent, MCP's
	// elicitation/create: it gets the params and returns the result. An error is the action
	// cancel. ctx ends with the call, or when the host no longer needs the answer. Nil: the
	// host gets error -32601.
	OnElicitation func(ctx context.Context, host protocol.ParticipantID, params json.RawMessage) (result json.RawMessage, err error)

	// ToolTimeout bounds the wait for another participant's response; 0: 30 s. Progress begins it anew, up
	// to MaxToolTimeout after the request; 0: 10 min.
	ToolTimeout, MaxToolTimeout time.Duration

	ProposalTimeout time.Duration // until a proposal expires; 0: 5 min
	// DelegateTimeout bounds the wait for the conclusion of another agent that
	// was asked to take a part; 0: 2 min, negative: no agent is asked.
	DelegateTimeout time.Duration

	// ContextTokens is the size of the model's context window, for the agent's
	// status; 0: unknown.
	ContextTokens int

	// Prices are the prices of models in Currency. The conclusion reports the cost if
	// all models that were used have one.
	Prices   llm.Prices
	Currency string

	// WatchInterval is the time between two probes whether the process that took
	// a question, another one of the same participant, still works on it; 0: 15 s.
	WatchInterval time.Duration

	MaxSteps     int // steps with tools per question; 0: the planner's default
	MaxDepth     int // of nested problems; 0: 2, negative: none
	MaxQuestions int // answered in parallel, without those that wait for a decision; 0: 4
	MaxWaiting   int // queued questions; 0: 32
	// MaxHops bounds a chain of agent answers that follow one another; the
	// agent does not continue a longer chain. 0: 4.
	MaxHops int

	Telemetry *telemetry.Telemetry // nil: none

	Now    func() time.Time                     // nil: time.Now
	After  func(time.Duration) <-chan time.Time // nil: time.After
	Logger *slog.Logger                         // nil discards
}

func (o Options) withDefaults() Options {
	o.MaxSteps = cmp.Or(o.MaxSteps, planner.DefaultMaxSteps)
	o.MaxDepth = cmp.Or(o.MaxDepth, 2)
	o.MaxQuestions = cmp.Or(o.MaxQuestions, 4)
	o.MaxWaiting = cmp.Or(o.MaxWaiting, 32)
	o.MaxHops = cmp.Or(o.MaxHops, 4)
	o.ToolTimeout = cmp.Or(o.ToolTimeout, 30*time.Second)
	o.MaxToolTimeout = max(cmp.Or(o.MaxToolTimeout, 10*time.Minute), o.ToolTimeout)
	o.ProposalTimeout = cmp.Or(o.ProposalTimeout, 5*time.Minute)
	o.DelegateTimeout = cmp.Or(o.DelegateTimeout, 2*time.Minute)
	o.WatchInterval = cmp.Or(o.WatchInterval, 15*time.Second)
	o.CatchUp = cmp.Or(o.CatchUp, intake.CatchUpOff)
	o.Answer = cmp.Or(o.Answer, intake.Auto)
	o.Approach = cmp.Or(o.Approach, "rules")
	if o.Tools == nil {
		o.Tools = noTools{}
	}
	if o.Planner == nil {
		o.Planner = rules.Rules{}
	}
	if o.After == nil {
		o.After = time.After
	}
	if o.Now == nil {
		o.Now = time.Now
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
	opts    Options
	runtime *participant.Runtime
	out     Publisher
	log     *slog.Logger
	you     protocol.ParticipantID
	space   protocol.SpaceInfo // when the agent joined

	// Owned by the goroutine of Run.
	addressing *intake.Classifier
	chats      intake.RecentChats

	questions  participant.Requests[*question] // by the chat; a question of the backlog is held until it is admitted
	turns      chan struct{}                   // one token per question being answered that waits for no decision
	watched    chan struct{}                   // one token per question of another process that is watched
	warnTwin   sync.Once
	freed      chan struct{}                            // signals that a question has ended
	replies    chan protocol.Envelope                   // queue of short replies, sent in order
	contexts   sync.Map                                 // protocol.ContextPath → *problem: the agent's open contexts
	agents     atomic.Pointer[[]protocol.ParticipantID] // the connected agents
	inbox      Inbox
	peers      peerTable
	streamsOff atomic.Bool // the capabilities do not allow streams
	queriesOff atomic.Bool // the capabilities do not allow tools/list requests
}

// maxReplies bounds the queue of short replies.
const maxReplies = 1024

// New returns an agent for a client that has joined a space.
func New(opts Options) *Agent {
	opts = opts.withDefaults()
	welcome, runtime := opts.Space.Welcome(), participant.New(opts.Space, opts.Logger, errShutdown)
	return &Agent{
		opts: opts, runtime: runtime, out: Publisher{Space: opts.Space, Runtime: runtime}, log: runtime.Log, you: runtime.You,
		space:      welcome.Space,
		addressing: intake.NewClassifier(runtime.You, opts.Name, opts.Answer, opts.MaxHops, welcome.Participants),
		chats:      intake.RecentChats{You: runtime.You},
		questions:  participant.Requests[*question]{Places: opts.MaxQuestions + opts.MaxWaiting},
		turns:      make(chan struct{}, opts.MaxQuestions),
		watched:    make(chan struct{}, maxWatched),
		freed:      make(chan struct{}, 1),
		replies:    make(chan protocol.Envelope, maxReplies),
	}
}

// errShutdown is the cause that ends questions when the agent shuts down.
const errShutdown = publicError(intake.ShuttingDown)

// Run answers questions until ctx ends, an authorized participant shuts the
// agent down (both return nil), or the client ends. Open contexts are then
// cancelled, if the gateway can still be reached.
func (a *Agent) Run(ctx context.Context) error {
	start := func() {
		a.runtime.Group.Go(a.sendReplies)
		a.onJoin()
		a.noteAgents()
		var waiting []protocol.Envelope
		if a.opts.CatchUp != intake.CatchUpOff && a.opts.History != nil {
			waiting = a.catchUp(ctx)
		}
		if a.opts.Host != nil {
			a.opts.Host.Begin(ctx, a.runtime, waiting)
		} else {
			for _, env := range waiting {
				a.handleMCP(&env, false)
			}
		}
		a.log.Info("agent ready", "answers", a.opts.Answer, "tools", len(a.opts.Tools.Tools()))
	}
	through := a.space.Seq
	err := a.runtime.Run(ctx, start, func(env *protocol.Envelope, old bool) {
		if env.Seq > 0 {
			through = env.Seq // less than before in a log that replaced another one
		}
		a.dispatch(env, old)
	})
	if err == nil && a.opts.Host != nil {
		a.opts.Host.End(context.WithoutCancel(ctx), through)
	}
	return err
}
