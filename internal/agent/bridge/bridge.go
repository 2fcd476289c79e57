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
// A question of the server (elicitation/create) goes to the requester of the call
// that it is about, as an mcp.request that correlates to that call; see [Elicit].
//
// Goroutines: the goroutine of Run reads the space. It starts one goroutine per
// accepted request, at most MaxCalls + MaxWaiting, and one per short reply, at
// most 256. Run blocks only when all 256 are in use, until one ends, because it
// would otherwise leave a request without a response. One more goroutine sends
// notifications. Run returns when all have ended.
package bridge

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/agent/mcptools"
	"github.com/meup-protocol/meup/internal/agent/participant"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/protocol"
)

// Server is the part of a *mcptools.Set with one server that the bridge uses.
type Server interface {
	// Do runs op over a session and returns the result as the server wrote it.
	Do(ctx context.Context, op mcptools.Op) (mcptools.Result, error)
	// SharesListen reports whether the end of one subscription ends other
	// notifications of the session, too.
	SharesListen(session *mcp.ClientSession) bool
	// Tools returns the server's tools.
	Tools() []mcptools.Tool
}

// Options configures a Bridge. Space and Server are required.
type Options struct {
	Space  participant.Space
	Server Server
	// Notices receives the server's notifications; nil: none.
	Notices *Notices

	MaxCalls   int // calls carried out in parallel; 0: 16
	MaxWaiting int // queued calls; 0: 64

	// Missed is the age up to which requests from before the start are answered,
	// if they have no response; 0: none. It needs History.
	Missed  time.Duration
	History participant.History

	// Pins holds back tools whose definition has changed; nil: none are.
	Pins *Pins

	// AnswerTimeout is the time that a participant has to answer a question of the server
	// ([Elicit]); 0: 5 min.
	AnswerTimeout time.Duration

	Now     func() time.Time                     // nil: time.Now
	After   func(time.Duration) <-chan time.Time // nil: time.After
	Version string                               // of the program, for the response to initialize
	Logger  *slog.Logger                         // nil discards
}

// Bridge serves one MCP server in one space.
type Bridge struct {
	opts    Options
	log     *slog.Logger
	you     protocol.ParticipantID
	runtime *participant.Runtime
	joined  protocol.SpaceInfo // when the bridge joined
	handled protocol.Seq       // last handled entry; owned by the goroutine of Run
	start   protocol.ID        // of the mark of the start
	settled atomic.Bool        // the calls from before the start are answered, or left to another process
	twin    chan struct{}      // a token when another process has replied to the mark of the start

	turns      chan struct{} // one token for each call being carried out
	asyncSlots chan struct{} // one token for each short reply in progress
	calls      participant.Requests[*call]
	questions  questions
	begun      atomic.Int64 // calls that have started
	token      atomic.Int64 // the last progress token that was assigned

	listeners     *listeners
	progress      sync.Map      // string, the bridge's token → *progress; at most one per call
	logLevel      atomic.Value  // string, the level set last
	recheck       chan struct{} // a token when the server's tools may have changed
	subscribeLock chan struct{} // serializes subscribe and unsubscribe
	forwarding    sync.Mutex    // held while queued notifications are sent
}

// maxAsync bounds the short replies in progress.
const maxAsync = 256

// errShutdown is the cause that ends calls when the bridge shuts down.
var errShutdown = errors.New("the bridge is shutting down")

// New returns a bridge for a client that has joined and a running server.
func New(opts Options) *Bridge {
	opts.MaxCalls = cmp.Or(opts.MaxCalls, 16)
	opts.MaxWaiting = cmp.Or(opts.MaxWaiting, 64)
	opts.AnswerTimeout = cmp.Or(opts.AnswerTimeout, 5*time.Minute)
	opts.Version = cmp.Or(opts.Version, "dev")
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.After == nil {
		opts.After = time.After
	}
	if opts.Notices == nil {
		opts.Notices = NewNotices()
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.History != nil {
		opts.History = participant.Patient(opts.History)
	}
	runtime, joined := participant.New(opts.Space, opts.Logger, errShutdown), opts.Space.Welcome().Space
	return &Bridge{
		opts: opts, you: runtime.You, log: runtime.Log, runtime: runtime, joined: joined, handled: joined.Seq, start: protocol.ID(uuid.Must(uuid.NewV7()).String()),
		twin:          make(chan struct{}, 1),
		turns:         make(chan struct{}, opts.MaxCalls),
		asyncSlots:    make(chan struct{}, maxAsync),
		calls:         participant.Requests[*call]{Places: opts.MaxCalls + opts.MaxWaiting},
		listeners:     newListeners(),
		recheck:       make(chan struct{}, 1),
		subscribeLock: make(chan struct{}, 1),
	}
}

// Run first answers the requests that were missed, and then handles requests
// until ctx ends, an authorized participant shuts the
// bridge down (both return nil), or the client ends. Calls in progress are then
// cancelled, and their requesters receive an error if the gateway can still be
// reached.
func (b *Bridge) Run(ctx context.Context) error {
	start := func() {
		b.runtime.Group.Go(func() { b.notify(b.runtime.Work) })
		if b.opts.Pins != nil {
			b.runtime.Group.Go(func() { b.checkChanges(b.runtime.Work) })
			b.toolsChanged()
		}
		if b.catchesUp() {
			m, err := b.readMissed(ctx)
			b.handleMissed(ctx, m, err)
		}
		b.log.Info("bridge ready")
	}
	err := b.runtime.Run(ctx, start, func(env *protocol.Envelope, old bool) {
		if env.Seq > 0 {
			b.handled = env.Seq // less than before in a log that replaced another one
		}
		if env.Kind == protocol.KindMCPResponse {
			b.questions.answer(env)
			return
		}
		if !old && env.AddressedTo(b.you) && (env.From != b.you || env.Kind == protocol.KindParticipantStatus) {
			b.dispatch(env)
		}
	})
	if err == nil {
		b.End(context.WithoutCancel(ctx), b.handled)
	}
	return err
}

// Begin makes the bridge a part of another participant, which calls Handle and End instead
// of Run. It handles the requests from before the start that have no response.
func (b *Bridge) Begin(ctx context.Context, runtime *participant.Runtime, waiting []protocol.Envelope) {
	b.runtime = runtime
	runtime.Group.Go(func() { b.notify(runtime.Work) })
	if !b.catchesUp() {
		return
	}
	reading, cancel := context.WithTimeout(ctx, missedTime)
	defer cancel()
	m := new(missed)
	var err error
	m.through, err = b.handledThrough(reading)
	slices.SortFunc(waiting, func(x, y protocol.Envelope) int { return cmp.Compare(x.Seq, y.Seq) })
	oldest := b.oldestMissed()
	for i := range waiting {
		if !waiting[i].TS.Before(oldest) {
			m.note(&waiting[i], b.you)
		}
	}
	b.handleMissed(ctx, m, err)
}

// End marks the end, after all other envelopes. through is the position up to which
// requests were handled.
func (b *Bridge) End(ctx context.Context, through protocol.Seq) {
	if b.catchesUp() {
		b.writeMark(ctx, "", mark{Status: markStopped, Through: through})
	}
}

// Handle handles an mcp.request that another participant sent to this one, or a status of
// another process of this one.
func (b *Bridge) Handle(env *protocol.Envelope) { b.dispatch(env) }

// dispatch handles an envelope that another participant, or another process of this one,
// addressed to the bridge.
func (b *Bridge) dispatch(env *protocol.Envelope) {
	switch env.Kind {
	case protocol.KindMCPRequest:
		b.admit(env)
	case protocol.KindParticipantStatus:
		b.onMark(env)
	case protocol.KindParticipantRequestStatus:
		begun, calls := int(b.begun.Load()), len(b.calls.All())
		status := struct {
			Status  string `json:"status"`
			Calls   int    `json:"calls"`
			Waiting int    `json:"waiting"`
			Paused  bool   `json:"paused"`
		}{"idle", begun, max(0, calls-begun), b.runtime.Gate.Closed()}
		if calls > 0 {
			status.Status = "working"
		}
		b.sendAsync(protocol.Envelope{
			Kind: protocol.KindParticipantStatus, To: []protocol.ParticipantID{env.From},
			Correlation: protocol.CorrelateTo(env.ID), Payload: mustMarshal(status),
		})
	}
}

// admit accepts a request, or rejects it at once.
func (b *Bridge) admit(env *protocol.Envelope) {
	request, err := participant.ParseRequest(env)
	if err != nil {
		b.log.Warn("request not understood", "envelope", env.ID, "err", err)
		return
	}
	if request.IsNotification {
		if request.Method == "notifications/cancelled" {
			b.cancelled(env, request.Params)
		}
		return // other notifications are ignored
	}
	c := &call{Request: request, asker: env.From, envelope: env.ID, contextPath: env.Context}
	run, known := methods[request.Method]
	switch {
	case request.Method == "ping":
		b.sendAsync(b.response(c, outcome{result: json.RawMessage(`{}`)}))
		return
	case !known:
		fault := &client.RPCError{Code: participant.CodeNoSuchMethod, Message: "Method not found: " + textutil.ShortenChars(request.Method, 200)}
		b.sendAsync(b.response(c, outcome{fault: fault}))
		return
	}
	c.ctx, c.cancel = context.WithCancelCause(context.WithValue(b.runtime.Work, callKey{}, c))
	c.bridge, c.place = b, participant.NewPlace(b.turns)
	if admission := b.calls.Admit(env, c); admission != participant.Accepted {
		c.cancel(nil)
		if admission == participant.Overloaded {
			b.log.Warn("request refused: too many are waiting", "envelope", env.ID, "from", env.From)
			b.sendAsync(b.response(c, outcome{fault: faultOf(participant.CodeFailed, Busy, "busy: too many calls are in progress or waiting; retry later")}))
		}
		return
	}
	b.runtime.Group.Go(func() {
		defer c.cancel(nil)
		defer b.calls.Remove(c.envelope)
		b.execute(c, run)
	})
}

// errCancelled is the cause that ends a call cancelled by its requester.
var errCancelled = errors.New("cancelled by the requester")

// cancelled cancels the calls that a notification names: the call whose
// envelope has the id, or else the requester's calls with that JSON-RPC id.
func (b *Bridge) cancelled(env *protocol.Envelope, params protocol.Value) {
	id := params.Get("requestId")
	if c := b.calls.Get(protocol.ID(id.Text())); c != nil && c.asker == env.From {
		c.cancel(errCancelled)
		return
	}
	for _, c := range b.calls.All() {
		if c.asker == env.From && sameID(c.ID, id) {
			c.cancel(errCancelled)
		}
	}
}

// sameID compares JSON-RPC ids: strings by their decoded text, numbers as
// written.
func sameID(raw []byte, id protocol.Value) bool {
	if id.Type() != protocol.TypeString {
		return id.Exists() && string(raw) == string(id.Raw())
	}
	var text string
	return json.Unmarshal(raw, &text) == nil && text == id.Text()
}

// sendAsync sends one short envelope on its own goroutine.
func (b *Bridge) sendAsync(env protocol.Envelope) {
	select {
	case b.asyncSlots <- struct{}{}:
	case <-b.runtime.Work.Done():
		return
	}
	b.runtime.Group.Go(func() {
		defer func() { <-b.asyncSlots }()
		_ = b.send(env) // send logs the error
	})
}
