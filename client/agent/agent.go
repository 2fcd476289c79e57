// Package agent makes a program an agent of a space: it answers questions with shared
// reasoning, calls tools of other participants, and offers tools of its own.
//
//	a := agent.Agent{
//		Client: client.Options{URL: "http://localhost:8080", Space: "lab", Token: token},
//		OnQuestion: func(ctx context.Context, q *agent.Question) (string, error) {
//			result, err := q.CallTool(ctx, "files", "read_text_file", map[string]any{"path": q.Text})
//			if err != nil {
//				return "", err
//			}
//			return result.Text, nil
//		},
//	}
//	err := a.Run(ctx)
//
// Agent.Tools serves tools: a server of the MCP SDK, github.com/modelcontextprotocol/go-sdk/mcp.
// An agent may have tools, OnQuestion, or both. To connect an MCP server that is a program of
// its own, run meup-agent bridge (docs/bridge.md).
//
// It is the reference agent with another way to decide (docs/agent.md): the chats that are
// questions, a bounded number of them at the same time, private questions, cancellation, pause, the
// end, several processes with one token, of which one answers, and work that a killed process
// left open, are handled in the same way.
package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/agent"
	"github.com/meup-protocol/meup/internal/agent/bridge"
	"github.com/meup-protocol/meup/internal/agent/intake"
	"github.com/meup-protocol/meup/internal/agent/mcptools"
	"github.com/meup-protocol/meup/internal/agent/participant"
	"github.com/meup-protocol/meup/internal/mcp/elicit"
	"github.com/meup-protocol/meup/protocol"
)

// Answers selects the chats that are questions (docs/agent.md, Questions).
type Answers string

// The values of Agent.Answers. In each case, chats that name the agent in to are questions.
const (
	Auto      Answers = ""          // like Any while no other agent is connected, otherwise like Mentioned
	Addressed Answers = "addressed" // no others
	Mentioned Answers = "mentioned" // also chats to all with @name in their text
	Any       Answers = "any"       // also chats of people to all
)

// Agent is an agent of one space. Client, and OnQuestion, Tools or both are required.
// Its fields must not change while it runs.
type Agent struct {
	// Client has the gateway, the space and the token. ServesTools and RetryDial are set by
	// Run: it waits for a gateway that is away. Logger is used by the agent too, which reports
	// that it has joined, and warns of a gateway that is away and of missing capabilities;
	// nil: these messages go to slog.Default, with Main as lines to standard error.
	Client client.Options
	// ConnectTimeout bounds the wait for a gateway that is away at the start; 0: without end.
	ConnectTimeout time.Duration
	// OnQuestion answers a question, in Markdown. ctx ends when the question is canceled,
	// when another process takes it over, or with Run; then nothing is sent but the end
	// of open work. An error ends the question: its context is closed with
	// reasoning.cancel, and a chat gives the asker the reason. The text of an error is only
	// logged, unless it has a method Public() string. It may be called concurrently.
	OnQuestion func(ctx context.Context, q *Question) (answer string, err error)
	// OnElicitation answers a question that the host of a tool asks about a call in progress,
	// MCP's elicitation/create: a form with RequestedSchema, or the URL of a page. A nil result
	// is the action decline, an error the action cancel; its text is only logged. While it
	// runs, CallTimeout does not pass. ctx ends with the call, or when the host no longer needs
	// the answer. When the host stops waiting, or after 10 minutes if it does not say when, the
	// action is cancel, and ctx ends. Nil: the host gets an error at once. It may be called
	// concurrently.
	OnElicitation func(ctx context.Context, host protocol.ParticipantID, p *mcp.ElicitParams) (*mcp.ElicitResult, error)
	// Tools are offered to the other participants, and to Question.CallTool.
	Tools *mcp.Server

	Name    string  // for mentions, in addition to the participant's id
	Answers Answers // which chats are questions
	// IgnoreEarlier ignores the log before the start. By default, the agent closes the work
	// that an earlier process left open, and answers the questions of the last hour that have
	// no answer, if it was in the space before them, and the calls of Tools of the last minute
	// that it missed (docs/bridge.md).
	IgnoreEarlier bool

	MaxQuestions    int           // answered at the same time; 0: 4. 32 more wait, further ones are refused
	MaxCalls        int           // of Tools at the same time; 0: 16. 64 more wait, further ones are refused
	CallTimeout     time.Duration // of Question.CallTool, and of a call of Tools; 0: 30 s
	ProposalTimeout time.Duration // until a proposal expires; 0: 5 min
	// NoProposals proposes no calls: one that the capabilities do not allow ends with Refused.
	NoProposals bool

	program *program // of Main; nil with Run
}

// prefix begins the errors of Run.
const prefix = "run agent: "

// Run joins the space and answers until ctx ends or an authorized participant shuts the
// agent down (both return nil), or the gateway removes it. While the gateway cannot be
// reached, at the start or later, Run tries again until ctx ends, after Client.Backoff; at the
// start for ConnectTimeout at most. A final rejection (400, 401, 403, 404) ends it with a
// *client.DialError. At the end it closes open contexts and calls, if the gateway can be reached.
func (a *Agent) Run(ctx context.Context) error {
	if a.OnQuestion == nil && a.Tools == nil {
		return errors.New(prefix + "neither OnQuestion nor Tools is set")
	}
	if _, err := intake.ParseMode(string(a.mode())); err != nil {
		return fmt.Errorf(prefix+"%w", err)
	}
	address, err := client.HTTPURL(a.Client.URL)
	if err != nil {
		return fmt.Errorf(prefix+"%w", err)
	}
	history, err := api.New(api.Options{URL: address.String(), Token: a.Client.Token, HTTPClient: a.Client.HTTPClient})
	if err != nil {
		return fmt.Errorf(prefix+"%w", err)
	}
	defer history.Close()
	options := a.Client
	options.ServesTools, options.RetryDial, options.Logger = a.Tools != nil, true, cmp.Or(a.Client.Logger, slog.Default())
	log := cmp.Or(a.Client.Logger, slog.New(warnings{slog.Default().Handler()}))
	var set *mcptools.Set
	var notices *bridge.Notices
	if a.Tools != nil {
		notices = bridge.NewNotices()
		set, err = mcptools.Start(ctx, []mcptools.Server{{Name: "own", InProcess: a.Tools}}, mcptools.Options{
			CallTimeout: a.CallTimeout, Logger: log, OnNotice: notices.Put, OnRestart: notices.Restarted,
		})
		if err != nil {
			return fmt.Errorf(prefix+"%w", err)
		}
		defer func() { _ = set.Close() }()
	}
	c, err := a.dial(ctx, options, address.Redacted())
	switch {
	case err != nil && ctx.Err() != nil:
		return nil
	case err != nil:
		return fmt.Errorf(prefix+"%w", err)
	}
	defer func() { _ = c.Close() }()
	options.Logger.Info("joined", "space", c.Welcome().Space.Name, "participant", c.You(), "gateway", address.Redacted())
	return a.serve(ctx, c, log, history, set, notices)
}

// dial joins the space. It waits for a gateway that is away.
func (a *Agent) dial(ctx context.Context, o client.Options, gateway string) (*client.Client, error) {
	if a.ConnectTimeout <= 0 {
		return client.Dial(ctx, o)
	}
	ctx, cancel := context.WithTimeout(ctx, a.ConnectTimeout)
	defer cancel()
	c, err := client.Dial(ctx, o)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) && err != nil {
		return nil, fmt.Errorf("the gateway at %s was not reached within %g s (%w): start it, or check the address", gateway, a.ConnectTimeout.Seconds(), client.Unreachable(err))
	}
	return c, err
}

// warnings is a handler for warnings and errors only.
type warnings struct{ slog.Handler }

func (w warnings) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && w.Handler.Enabled(ctx, l)
}

func (w warnings) WithAttrs(attrs []slog.Attr) slog.Handler {
	return warnings{w.Handler.WithAttrs(attrs)}
}

func (w warnings) WithGroup(name string) slog.Handler { return warnings{w.Handler.WithGroup(name)} }

func (a *Agent) mode() intake.Mode {
	if a.Answers == Auto {
		return intake.Auto
	}
	return intake.Mode(a.Answers)
}

// serve answers in a space that was joined.
func (a *Agent) serve(ctx context.Context, c *client.Client, log *slog.Logger, history *api.Client, set *mcptools.Set, notices *bridge.Notices) error {
	var host *bridge.Bridge
	var needs []participant.Need
	if set != nil {
		needs = participant.HostNeeds
		o := bridge.Options{Space: c, Server: set, Notices: notices, MaxCalls: a.MaxCalls, Logger: log}
		if !a.IgnoreEarlier {
			o.Missed, o.History = time.Minute, history
		}
		host = bridge.New(o)
	}
	if a.OnQuestion != nil {
		needs = append(needs[:len(needs):len(needs)], participant.QuestionNeeds...)
	}
	participant.WarnMissing(log, c.Welcome().You.Capabilities, needs...)
	if a.OnQuestion == nil {
		return host.Run(ctx)
	}
	o := agent.Options{
		Space: c, Solver: solver{a, c, log}, Approach: "program", Name: a.Name, Answer: a.mode(), CatchUp: intake.CatchUpAuto, History: history,
		OwnToolsOnly: true, ToolTimeout: a.CallTimeout, ProposalTimeout: a.ProposalTimeout, NoProposals: a.NoProposals, MaxQuestions: a.MaxQuestions, Logger: log,
	}
	if a.IgnoreEarlier {
		o.CatchUp = intake.CatchUpOff
	}
	if a.OnElicitation != nil {
		o.OnElicitation = a.elicit
	}
	if host != nil {
		o.Host, o.Tools = host, set
	}
	return agent.New(o).Run(ctx)
}

// elicit answers a question about a call with OnElicitation.
func (a *Agent) elicit(ctx context.Context, host protocol.ParticipantID, params json.RawMessage) (json.RawMessage, error) {
	var p mcp.ElicitParams
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, fmt.Errorf("read the question: %w", err)
	}
	result, err := a.OnElicitation(ctx, host, &p)
	if err != nil {
		return nil, err
	}
	return json.Marshal(cmp.Or(result, &mcp.ElicitResult{Action: elicit.Decline}))
}

// solver answers questions with OnQuestion.
type solver struct {
	a   *Agent
	c   *client.Client
	log *slog.Logger
}

// Solve implements agent.Solver.
func (s solver) Solve(ctx context.Context, t *agent.Task) (agent.Solution, error) {
	end, ended := s.a.program.begin(t), errPanicked
	defer func() { end(ended) }()
	q := &Question{Chat: *t.Chat, Text: t.Text, Context: t.Context, task: t, space: s.c, proposes: !s.a.NoProposals, explains: protocol.ID(t.Context.Last()), conclusion: "Done."}
	for _, m := range t.History {
		q.History = append(q.History, m.Text)
	}
	answer, err := s.a.OnQuestion(ctx, q)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	} else if err != nil && s.a.program == nil {
		s.log.Warn("question not answered", "question", t.Chat.ID, "from", t.Chat.From, "err", err)
	}
	ended = err
	if err != nil {
		return agent.Solution{}, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return agent.Solution{Answer: answer, Stream: q.stream, Message: q.conclusion}, nil
}
