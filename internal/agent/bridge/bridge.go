// Package bridge puts an MCP server into a space: a participant that answers
// the MCP requests of other participants with what the server says.
//
// A request is the bridge's when its envelope is addressed to it and has a
// JSON-RPC id. It gets one mcp.response, addressed to the asker, in the
// request's context, with the request's envelope in correlationId and the same
// JSON-RPC id. A request that names nobody is not the bridge's: several could
// feel meant. Results and refusals of the server pass as they are; what the
// bridge itself has to say is an error whose data has a "reason" (see [Reason]).
//
// Who may ask for what is the gateway's business: it decides by capabilities
// before the bridge sees a request.
//
// What the server says unasked goes to those whom it concerns: changes of a
// list to who has asked this bridge for that list, updates of a resource to
// who has subscribed to it, log messages to who has set a level, progress to
// who has asked for it in the call. These are mcp.request envelopes without a
// JSON-RPC id. Those that say the same and wait are one.
//
// Goroutines: Run's own reads the space and starts one for each request that
// is accepted, at most MaxCalls + MaxWaiting of them, and one for each short
// reply, at most 256. Only when that many short replies are on their way does
// it wait, for one of them: it would have to leave a request without an answer
// otherwise. One more sends notifications. Run returns when all have ended.
package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/agent/mcptools"
	"github.com/meup-protocol/meup/protocol"
)

// Space is what the bridge needs of a *client.Client.
type Space interface {
	// Receive returns the next envelope; a *client.GapError is not the end.
	Receive(ctx context.Context) (protocol.Envelope, error)
	// Send returns once the envelope is in the log, or a *protocol.Error.
	Send(ctx context.Context, draft protocol.Envelope) (client.Receipt, error)
	// Welcome tells who one is and what is allowed.
	Welcome() protocol.Welcome
}

// Server is what the bridge needs of a *mcptools.Set with one server.
type Server interface {
	// Do runs op over a session and returns the result as the server wrote it.
	Do(ctx context.Context, op mcptools.Op) (json.RawMessage, error)
}

// Options are a bridge's. Space and Server are required.
type Options struct {
	Space  Space
	Server Server
	// Notices is where the server's notifications come in; nil: there are none.
	Notices *Notices

	MaxCalls   int // carried out at the same time; 0 stands for 16
	MaxWaiting int // calls that wait for their turn; 0 stands for 64

	Version string       // of the program, for who asks with initialize
	Logger  *slog.Logger // nil discards
}

func (o Options) withDefaults() Options {
	if o.MaxCalls <= 0 {
		o.MaxCalls = 16
	}
	if o.MaxWaiting <= 0 {
		o.MaxWaiting = 64
	}
	if o.Notices == nil {
		o.Notices = NewNotices()
	}
	if o.Version == "" {
		o.Version = "dev"
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// Bridge answers for one server in one space.
type Bridge struct {
	opts Options
	log  *slog.Logger
	you  protocol.ParticipantID

	// Owned by the goroutine of Run.
	newLog bool         // the space has another log since the last envelope
	old    protocol.Seq // the last entry of that log that was there already

	group   sync.WaitGroup
	turns   chan struct{} // one token for each call being carried out
	errands chan struct{} // one token for each short reply being sent
	gate    gate

	listeners *listeners
	lane      chan struct{} // one subscription or its end at a time

	mu    sync.Mutex
	calls map[protocol.ID]*call // by the id of the envelope
	begun int                   // of them
	token int64                 // the last progress token that was given out
}

// maxErrands bounds the short replies that are on their way.
const maxErrands = 256

// New makes a bridge of a client that has joined and a server that runs.
func New(opts Options) *Bridge {
	opts = opts.withDefaults()
	you := opts.Space.Welcome().You.ID
	return &Bridge{
		opts: opts, you: you,
		log:       opts.Logger.With("participant", you),
		turns:     make(chan struct{}, opts.MaxCalls),
		errands:   make(chan struct{}, maxErrands),
		listeners: newListeners(),
		lane:      make(chan struct{}, 1),
		calls:     make(map[protocol.ID]*call),
	}
}

// errShutdown is why calls end when the bridge does.
var errShutdown = errors.New("the bridge is shutting down")

// Run answers until ctx ends, somebody with the right to do so shuts the
// bridge down (both return nil), or the client ends. Calls under way then are
// given up, and those who wait for them are told so as far as the gateway can
// still be reached.
func (b *Bridge) Run(ctx context.Context) error {
	work, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer b.gate.open() // and with it its timer
	defer b.group.Wait()
	defer stop(errShutdown)
	b.group.Go(func() { b.notify(work) })
	b.log.Info("bridge ready")
	for {
		env, err := b.opts.Space.Receive(ctx)
		var gap *client.GapError
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return nil
		case errors.As(err, &gap):
			b.log.Warn("envelopes were missed", "err", err)
			b.newLog = b.newLog || gap.Reset
			continue
		default:
			return fmt.Errorf("read space: %w", err)
		}
		if b.isOld(&env) {
			continue
		}
		if b.perceive(work, &env) == shutdown {
			b.log.Info("shut down", "by", env.From)
			return nil
		}
	}
}

// isOld reports whether an envelope stood in a log that has taken the place of
// the one that was read. A restored copy has requests that were answered long
// ago; nobody wants them carried out again.
func (b *Bridge) isOld(env *protocol.Envelope) bool {
	if env.Seq == 0 {
		return false
	}
	if b.newLog {
		b.newLog, b.old = false, b.opts.Space.Welcome().Space.Seq
	}
	if env.Seq > b.old {
		b.old = 0
	}
	return env.Seq <= b.old
}
