package client

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

// Options say where to join and how. URL, Space and Token are required.
type Options struct {
	// URL of the gateway's socket, "ws://host/ws" or "wss://host/ws".
	URL string
	// Space to join; it may stand in the URL's query instead.
	Space string
	// Token is the bearer token. It is never logged.
	Token string

	// Since is where to begin; the zero Position is from now on.
	Since Position
	// Filter is what to receive besides what no filter hides (section 6).
	Filter protocol.Filter
	// NoEcho leaves out one's own envelopes.
	NoEcho bool
	// Observe opens a connection that only watches: it may send nothing, and
	// its filter holds without exception.
	Observe bool
	// ServesTools declares that the client answers tools/list and tools/call;
	// the gateway shows it to the other participants.
	ServesTools bool

	// Discard throws away what is received, for programs that only send and
	// make requests: nothing waits to be taken, and Receive returns nothing but
	// the end. The token of an invitation, which comes as space.invite-ack, is
	// lost too.
	Discard bool

	// InFlight bounds the envelopes that are sent and not yet answered;
	// 0 stands for 64.
	InFlight int
	// Buffer bounds the envelopes that are received and not yet taken;
	// 0 stands for 256.
	Buffer int
	// BufferBytes bounds their size; 0 stands for 8 MiB. One envelope is
	// always taken in, whatever its size.
	BufferBytes int64
	// NoRetry returns refusals for the moment (rate_limited, unavailable,
	// outcome_unknown) to the sender instead of trying again.
	NoRetry bool

	// Backoff spaces the attempts to connect again.
	Backoff Backoff
	// RetryDial makes Dial try again, until its context ends, while the
	// gateway cannot be reached.
	RetryDial bool

	// HTTPHeader is sent along with the upgrade request.
	HTTPHeader http.Header
	// HTTPClient makes the upgrade requests; nil stands for one of the client's
	// own. Its idle connections are closed when the client ends.
	HTTPClient *http.Client

	// OnState is told what becomes of the connection. It is called by the
	// client's own goroutine, one call at a time, for the last time before Done
	// is closed, and must not block, call Close or wait for Done.
	OnState func(State)
	// Logger gets what an operator might want to know; nil discards it.
	Logger *slog.Logger
}

// Position is a place in a space's log at which to begin.
type Position struct {
	after protocol.Seq
	log   string
	set   bool
}

// After is the position behind the entry seq; After(0) is the beginning.
func After(seq protocol.Seq) Position { return Position{after: seq, set: true} }

// In returns the position in the log with this id ([protocol.SpaceInfo].Log of
// the welcome that came before it), so that a space which has another log by now
// is noticed.
func (p Position) In(log string) Position {
	p.log = log
	return p
}

// Phase names what a connection is doing.
type Phase string

// The phases of a client.
const (
	Connected Phase = "connected" // the welcome has come
	Waiting   Phase = "waiting"   // the connection is lost; another attempt comes
	Closed    Phase = "closed"    // for good
)

// State is one change of a client's connection.
type State struct {
	Phase   Phase
	Err     error         // why the connection was lost or closed
	Attempt int           // Waiting: which attempt comes next, from 1
	RetryIn time.Duration // Waiting: when
}

const (
	defaultInFlight    = 64
	defaultBuffer      = 256
	defaultBufferBytes = 8 << 20

	// connectTimeout bounds one attempt, from the dial to the welcome.
	connectTimeout = 15 * time.Second
	// writeTimeout bounds the write of one frame.
	writeTimeout = 30 * time.Second
	// pingEvery and pingTimeout find a connection that is dead without having
	// said so.
	pingEvery   = 30 * time.Second
	pingTimeout = 20 * time.Second
	// closeTimeout bounds the closing handshake.
	closeTimeout = time.Second
	// maxFrame bounds what is read at once. A gateway's own limit is far
	// lower; this one only keeps a broken one from filling the memory.
	maxFrame = 64 << 20
)

func (o Options) withDefaults() Options {
	if o.InFlight <= 0 {
		o.InFlight = defaultInFlight
	}
	if o.Buffer <= 0 {
		o.Buffer = defaultBuffer
	}
	if o.BufferBytes <= 0 {
		o.BufferBytes = defaultBufferBytes
	}
	if o.OnState == nil {
		o.OnState = func(State) {}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.HTTPClient == nil {
		o.HTTPClient = &http.Client{Transport: &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			TLSHandshakeTimeout: connectTimeout,
		}}
	}
	o.Backoff = o.Backoff.withDefaults()
	return o
}
