// Package acp makes an agent that speaks the Agent Client Protocol a participant: it is
// the agent.Solver that prompts the program with a question, and publishes the
// program's session updates as the work on it.
//
// A thread of the space is one session of the program. The program hosts its own tools:
// its calls are requests that the participant addresses to itself, and its requests for
// permission are proposals that other participants decide (docs/acp.md).
//
// Goroutines: for each question the agent's own, one that publishes, and one for the
// prompt; one for each request for permission. All end before Solve returns, except one for
// a prompt that the program does not answer, which ends with the program.
package acp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/meup-protocol/meup/internal/acp"
	"github.com/meup-protocol/meup/internal/agent"
	"github.com/meup-protocol/meup/internal/agent/mcptools"
	"github.com/meup-protocol/meup/internal/kit/recent"
)

// Options configures an Agent. Command and Dir are required.
type Options struct {
	Command []string // the program and its arguments
	Env     []string // its environment; nil: mcptools.Environment()
	Dir     string   // its working directory, absolute

	// MCPServers are handed to each session, in the form of session/new; HTTPServers
	// replace them if the program supports HTTP.
	MCPServers, HTTPServers []any

	// Mode is the mode of the sessions, by the id that the program gives it; "": the
	// program's default, which may ask for no permission.
	Mode string

	ProposalTimeout time.Duration // for the decision about a permission; 0: 5 min
	IdleTimeout     time.Duration // without a message of the program, while it works; 0: 30 min
	StartTimeout    time.Duration // for the program to start, which may download itself, and to open a session; 0: 2 min
	CancelGrace     time.Duration // for the program to end a canceled prompt; 0: 10 s
	GrantTime       time.Duration // of the grant that a proposal suggests; 0: 1 h
	CallDelay       time.Duration // from a call to its request, if the program asks for no permission; 0: 300 ms
	MaxCost         float64       // of a question, in the currency that the program reports; 0: any
	MaxTokens       int64         // of a question; 0: any
	MaxSessions     int           // kept at once; 0: 32

	After   func(time.Duration) <-chan time.Time // of IdleTimeout; nil: time.After
	Version string
	Log     *slog.Logger // nil discards
}

func (o Options) withDefaults() Options {
	o.ProposalTimeout = cmp.Or(o.ProposalTimeout, 5*time.Minute)
	o.IdleTimeout = cmp.Or(o.IdleTimeout, 30*time.Minute)
	o.StartTimeout = cmp.Or(o.StartTimeout, 2*time.Minute)
	o.CancelGrace = cmp.Or(o.CancelGrace, 10*time.Second)
	o.GrantTime = cmp.Or(o.GrantTime, time.Hour)
	o.CallDelay = cmp.Or(o.CallDelay, 300*time.Millisecond)
	o.MaxSessions = cmp.Or(o.MaxSessions, 32)
	if o.After == nil {
		o.After = time.After
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// Agent is an agent.Solver. It starts the program again when it has ended and a question
// needs it.
type Agent struct {
	o Options

	start    chan struct{} // one token: one start at a time
	mu       sync.Mutex
	program  *program            // nil: none runs
	sessions map[string]*session // by thread
	known    *recent.Map[string, sessionID]
	threads  *recent.Map[string, string] // the thread of a chat
	uses     int
}

var _ agent.Solver = (*Agent)(nil)

type sessionID string

// maxKnown bounds the remembered threads and their sessions.
const maxKnown = 1024

// Fault is the failure of a question, with a text for the space. The error beneath it is for
// the log: it may contain what the program wrote.
type Fault struct {
	text  string
	cause error
}

func faultOf(cause error, format string, args ...any) *Fault {
	return &Fault{fmt.Sprintf(format, args...), cause}
}

// Public returns the text for the space.
func (f *Fault) Public() string { return f.text }

// Error returns the text with the cause.
func (f *Fault) Error() string {
	if f.cause == nil {
		return f.text
	}
	return f.text + ": " + f.cause.Error()
}

// Unwrap returns the cause.
func (f *Fault) Unwrap() error { return f.cause }

// Start starts the program, so that a command that is wrong is reported at once.
func Start(ctx context.Context, o Options) (*Agent, error) {
	a := &Agent{
		o: o.withDefaults(), start: make(chan struct{}, 1), sessions: make(map[string]*session),
		known: recent.New[string, sessionID](maxKnown), threads: recent.New[string, string](maxKnown),
	}
	if _, err := a.running(ctx); err != nil {
		return nil, err
	}
	return a, nil
}

// Close ends the program. No Solve may be in progress.
func (a *Agent) Close() {
	a.mu.Lock()
	p := a.program
	a.program = nil
	a.mu.Unlock()
	if p != nil {
		p.close()
	}
}

// Name describes the program: its name and version, as far as it tells them.
func (a *Agent) Name() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.program == nil {
		return ""
	}
	return a.program.name
}

// running returns the program, which it starts if it does not run.
func (a *Agent) running(ctx context.Context) (*program, error) {
	select {
	case a.start <- struct{}{}:
		defer func() { <-a.start }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	a.mu.Lock()
	p := a.program
	a.mu.Unlock()
	if p != nil && !p.ended() {
		return p, nil
	}
	if p != nil {
		a.o.Log.Warn("the agent program has ended; it is started again", "err", p.process.Explain(p.conn.Err()))
		p.close()
	}
	p, err := startProgram(ctx, &a.o)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.program = p
	for thread, s := range a.sessions { // of the ended program
		if !s.busy {
			delete(a.sessions, thread)
		}
	}
	return p, err
}

// program is a running agent program.
type program struct {
	o       *Options
	process *mcptools.Process
	conn    *acp.Conn
	name    string
	can     capabilities

	mu    sync.Mutex
	turns map[sessionID]*turn // prompts in progress
	end   sync.Once
}

// capabilities are the parts of agentCapabilities that are used.
type capabilities struct {
	LoadSession bool `json:"loadSession"`
	MCP         struct {
		HTTP bool `json:"http"`
	} `json:"mcpCapabilities"`
	Session struct {
		Resume *struct{} `json:"resume"`
		Close  *struct{} `json:"close"`
	} `json:"sessionCapabilities"`
}

// version is the version of the protocol.
const version = 1

// startProgram starts the program and initializes the connection.
func startProgram(ctx context.Context, o *Options) (*program, error) {
	process, err := mcptools.StartProcess(mcptools.ProcessOptions{Command: o.Command, Dir: o.Dir, Env: o.Env, Grace: 2 * time.Second, Log: o.Log})
	if err != nil {
		return nil, faultOf(err, "the agent program could not be started")
	}
	p := &program{o: o, process: process, turns: make(map[sessionID]*turn)}
	p.conn = acp.NewConn(process.Stdout, process, o.Log, p.handle)
	p.conn.Start()
	var about struct {
		Version      int          `json:"protocolVersion"`
		Capabilities capabilities `json:"agentCapabilities"`
		Info         struct {
			Name    string `json:"name"`
			Version string `json:"version"`
		} `json:"agentInfo"`
	}
	err = p.call(ctx, o.StartTimeout, "initialize", map[string]any{
		"protocolVersion": version, "clientInfo": map[string]string{"name": "meup-agent", "version": o.Version},
		"clientCapabilities": map[string]any{"fs": map[string]bool{"readTextFile": false, "writeTextFile": false}, "terminal": false},
	}, &about)
	if err == nil && about.Version != version {
		err = fmt.Errorf("it speaks version %d of the protocol, not %d", about.Version, version)
	}
	if err != nil {
		p.process.Kill()
		p.close()
		return nil, faultOf(p.process.Explain(err), "the agent program did not start")
	}
	p.can = about.Capabilities
	p.name = about.Info.Name
	if p.name != "" && about.Info.Version != "" {
		p.name += " " + about.Info.Version
	}
	return p, nil
}

// errSlow is the cause that ends a request that the program does not answer.
var errSlow = errors.New("it did not answer in time")

// call sends a request, for a bounded time. A program that does not read its input may
// block it for longer than ctx, but not for longer than the bound: then the program is
// killed.
func (p *program) call(ctx context.Context, limit time.Duration, method string, params, result any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errSlow)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- p.conn.Call(ctx, method, params, result) }() // ends with ctx, or with the program
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	timer := time.NewTimer(p.o.CancelGrace)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
		p.process.Kill()
		return <-done
	}
}

func (p *program) ended() bool {
	select {
	case <-p.conn.Done():
		return true
	default:
		return false
	}
}

// close ends the program with all programs that it started.
func (p *program) close() {
	p.end.Do(func() {
		_ = p.process.Close()
		p.conn.Close()
	})
}

// handle handles a message of the program.
func (p *program) handle(ctx context.Context, method string, params json.RawMessage) (any, error) {
	var about struct {
		Session sessionID `json:"sessionId"`
	}
	if err := acp.Params(params, &about); err != nil {
		return nil, err
	}
	p.mu.Lock()
	t := p.turns[about.Session]
	p.mu.Unlock()
	switch method {
	case "session/update":
		if t != nil { // others replay a session, or come too late
			t.update(params)
		}
		return nil, nil
	case "session/request_permission":
		if t == nil {
			return canceled, nil
		}
		return t.permission(ctx, params)
	}
	return nil, acp.NewError(acp.CodeNoSuchMethod, "method not found: files and terminals are the agent's own")
}
