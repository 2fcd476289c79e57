package client

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

// Options configures a Client. URL, Space and Token are required.
type Options struct {
	// URL of the gateway, "http://host" or "https://host", or of its socket,
	// "ws://host/ws" or "wss://host/ws".
	URL string
	// Space to join; it may be in the query of the URL instead.
	Space string
	// Token is the bearer token. It is never logged.
	Token string

	// Since is the position to start from; the zero Position is the head of the
	// log.
	Since Position
	// Filter selects the envelopes to receive, in addition to the ones that
	// always pass (section 6).
	Filter protocol.Filter
	// NoEcho excludes this participant's own envelopes.
	NoEcho bool
	// Observe opens a read-only connection, to which the filter applies without
	// exceptions.
	Observe bool
	// ServesTools declares that the client answers tools/list and tools/call;
	// the gateway publishes it to the other participants.
	ServesTools bool

	// Discard drops received envelopes, for programs that only send and make
	// requests: nothing is buffered, and Receive returns only the final error.
	// The token of an invitation, which is delivered in a space.invite-ack, is
	// lost too.
	Discard bool

	// InFlight bounds the envelopes that are sent and not yet acknowledged; 0:
	// 64.
	InFlight int
	// Buffer bounds the envelopes that are buffered for Receive; 0: 256.
	Buffer int
	// BufferBytes bounds their size; 0: 8 MiB. An empty buffer accepts one
	// envelope of any size.
	BufferBytes int64
	// NoRetry returns temporary refusals (rate_limited, unavailable,
	// outcome_unknown) to the sender instead of retrying.
	NoRetry bool

	// Backoff sets the delays between reconnects.
	Backoff Backoff
	// RetryDial makes Dial retry until its context ends while the gateway is
	// unreachable.
	RetryDial bool

	// HTTPHeader is added to the upgrade request.
	HTTPHeader http.Header
	// HTTPClient makes the upgrade requests; nil: a separate client. Its idle
	// connections are closed when the client ends.
	HTTPClient *http.Client

	// OnState is called when the state of the connection changes. It is called
	// by the client's own goroutine, one call at a time, for the last time
	// before Done is closed. It must not block, call Close or wait for Done.
	OnState func(State)
	// Logger receives events for operators; nil: none. A gateway that is not
	// reached, or lost, is one warning with its address and the cause, and its
	// return one message at Info; the attempts in between are at Debug.
	Logger *slog.Logger
}

// Position is a position in the log of a space.
type Position struct {
	after protocol.Seq
	log   string
	set   bool
}

// After returns the position after the entry seq; After(0) is the beginning.
func After(seq protocol.Seq) Position { return Position{after: seq, set: true} }

// In returns the position in the log with this id ([protocol.SpaceInfo].Log of
// an earlier welcome), so that the client detects if the space has another log
// now.
func (p Position) In(log string) Position {
	p.log = log
	return p
}

// Phase is the phase of a connection.
type Phase string

// Phases of a client.
const (
	Connected Phase = "connected" // the welcome was received
	Waiting   Phase = "waiting"   // the connection was lost and will be retried
	Closed    Phase = "closed"    // permanently
)

// State is a change of a client's connection.
type State struct {
	Phase   Phase
	Err     error         // why the connection was lost or closed
	Attempt int           // Waiting: number of the next attempt, from 1
	RetryIn time.Duration // Waiting: delay before it
}

const (
	defaultInFlight    = 64
	defaultBuffer      = 256
	defaultBufferBytes = 8 << 20

	// connectTimeout bounds one attempt, from the dial to the welcome.
	connectTimeout = 15 * time.Second
	// writeTimeout bounds the write of one frame.
	writeTimeout = 30 * time.Second
	// pingEvery and pingTimeout detect a dead connection.
	pingEvery   = 30 * time.Second
	pingTimeout = 20 * time.Second
	// closeTimeout bounds the closing handshake.
	closeTimeout = time.Second
	// maxFrame bounds one frame. A gateway's own limit is far lower; this one
	// only protects the memory from a faulty gateway.
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
