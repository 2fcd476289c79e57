// Package bridge connects an MCP server to a space as a participant. It answers
// the MCP requests of other participants with the server's results.
//
// The bridge handles requests that are addressed to it and have a JSON-RPC id.
// Each gets one mcp.response, addressed to the requester, in the request's
// context, with the id of the request's envelope in correlationId and the same
// JSON-RPC id. The bridge ignores requests without a recipient, because several
// participants could respond. Results and errors of the server are returned
// unchanged; the bridge's own errors have a "reason" in their data (see
// [Reason]).
//
// Authorization is the gateway's task: it checks capabilities before the bridge
// receives a request.
//
// Notifications of the server are sent to the participants that they concern:
// changes of a list to the participants that requested this list from the
// bridge, updates of a resource to its subscribers, log messages to the
// participants that set a level, progress to the requester of the call. They
// are mcp.request envelopes without a JSON-RPC id. A notification replaces a
// queued one with the same meaning.
//
// Goroutines: the goroutine of Run reads the space. It starts one goroutine per
// accepted request, at most MaxCalls + MaxWaiting, and one per short reply, at
// most 256. Run blocks only when all 256 are in use, until one ends, because it
// would otherwise leave a request without a response. One more goroutine sends
// notifications. Run returns when all have ended.
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

// Space is the part of *client.Client that the bridge uses.
type Space interface {
	// Receive returns the next envelope. A *client.GapError does not end the
	// stream.
	Receive(ctx context.Context) (protocol.Envelope, error)
	// Send returns once the envelope is in the log, or returns a
	// *protocol.Error.
	Send(ctx context.Context, draft protocol.Envelope) (client.Receipt, error)
	// Welcome returns the identity and the rights.
	Welcome() protocol.Welcome
}

// Server is the part of a *mcptools.Set with one server that the bridge uses.
type Server interface {
	// Do runs op over a session and returns the result as the server wrote it.
	Do(ctx context.Context, op mcptools.Op) (json.RawMessage, error)
}

// Options configures a Bridge. Space and Server are required.
type Options struct {
	Space  Space
	Server Server
	// Notices receives the server's notifications; nil: none.
	Notices *Notices

	MaxCalls   int // calls carried out in parallel; 0: 16
	MaxWaiting int // queued calls; 0: 64

	Version string       // of the program, for the response to initialize
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

// Bridge serves one MCP server in one space.
type Bridge struct {
	opts Options
	log  *slog.Logger
	you  protocol.ParticipantID

	// Owned by the goroutine of Run.
	newLog bool         // the log was replaced since the last envelope
	old    protocol.Seq // head of the replaced log when the bridge joined it

	group      sync.WaitGroup
	turns      chan struct{} // one token for each call being carried out
	asyncSlots chan struct{} // one token for each short reply in progress
	gate       gate

	listeners     *listeners
	subscribeLock chan struct{} // serializes subscribe and unsubscribe

	mu    sync.Mutex
	calls map[protocol.ID]*call // by the id of the envelope
	begun int                   // calls that have started
	token int64                 // the last progress token that was assigned
}

// maxAsync bounds the short replies in progress.
const maxAsync = 256

// New returns a bridge for a client that has joined and a running server.
func New(opts Options) *Bridge {
	opts = opts.withDefaults()
	you := opts.Space.Welcome().You.ID
	return &Bridge{
		opts: opts, you: you,
		log:           opts.Logger.With("participant", you),
		turns:         make(chan struct{}, opts.MaxCalls),
		asyncSlots:    make(chan struct{}, maxAsync),
		listeners:     newListeners(),
		subscribeLock: make(chan struct{}, 1),
		calls:         make(map[protocol.ID]*call),
	}
}

// errShutdown is the cause that ends calls when the bridge shuts down.
var errShutdown = errors.New("the bridge is shutting down")

// Run handles requests until ctx ends, an authorized participant shuts the
// bridge down (both return nil), or the client ends. Calls in progress are then
// cancelled, and their requesters receive an error if the gateway can still be
// reached.
func (b *Bridge) Run(ctx context.Context) error {
	work, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer b.gate.open() // stops its timer
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
		if b.dispatch(work, &env) == shutdown {
			b.log.Info("shut down", "by", env.From)
			return nil
		}
	}
}

// isOld reports whether an envelope was already in the log that replaced the
// one being read. A restored copy contains requests that were answered long
// ago; they must not be carried out again.
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
