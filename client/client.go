package client

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

// Client is a participant in one space. All methods are safe for concurrent
// use.
type Client struct {
	// Set by Dial and not changed later.
	opts       Options
	target     *url.URL // without the position
	gateway    string   // its address in logs
	http       *http.Client
	log        *slog.Logger
	out        *outbox
	in         *inbox
	wakeReader chan struct{} // wakes the reader that is waiting for space in the inbox

	cancel  context.CancelFunc // ends all goroutines immediately
	closing context.Context    // ends when Close is called, or with the client
	leave   context.CancelFunc // ends closing
	done    chan struct{}      // supervise has ended; final is set
	final   error

	// Owned by supervise, and by Dial before it starts.
	cursor cursor

	mu         sync.Mutex
	welcome    protocol.Welcome
	calls      map[protocol.ID]*call // requests without a response
	subscribed map[protocol.ID]*subscription
	filter     protocol.Filter // in effect, also after a reconnect
	matcher    *protocol.Matcher
}

// cursor is the client's position in the log.
type cursor struct {
	pos         protocol.Seq // the last envelope that was kept
	log         string       // id of the log that pos belongs to; "": unknown
	set         bool         // pos is set; otherwise the client starts at the head
	reset       bool         // a gap was reported for the new log; the gateway reports it too
	behindCount int          // consecutive connects at which the gateway's log ended before pos
}

// Dial joins a space and returns after the welcome. The context applies only to
// the dial. Errors: *DialError if the gateway rejects the connection,
// *protocol.Error for an invalid filter.
func Dial(ctx context.Context, opts Options) (*Client, error) {
	target, err := socketURL(opts.URL)
	if err != nil {
		return nil, fmt.Errorf("join space: parse gateway URL: %w", err)
	}
	if opts.Space == "" {
		opts.Space = target.Query().Get("space")
	}
	matcher, refusal := opts.Filter.Compile()
	if refusal != nil {
		return nil, fmt.Errorf("join space: %w", refusal)
	}
	opts = opts.withDefaults()
	c := &Client{
		opts:       opts,
		http:       opts.HTTPClient,
		log:        opts.Logger.With("space", opts.Space),
		in:         newInbox(opts.Buffer, opts.BufferBytes),
		wakeReader: make(chan struct{}, 1),
		done:       make(chan struct{}),
		cursor:     cursor{pos: opts.Since.after, log: opts.Since.log, set: opts.Since.set},
		calls:      make(map[protocol.ID]*call),
		subscribed: make(map[protocol.ID]*subscription),
		filter:     opts.Filter,
		matcher:    matcher,
	}
	c.closing, c.leave = context.WithCancel(context.Background())
	c.out = newOutbox(opts.InFlight, func() { wake(c.wakeReader) })
	q := target.Query()
	q.Set("space", opts.Space)
	if opts.Observe {
		q.Set("observe", "true")
	} else {
		q.Set("ack", "true")
	}
	if opts.NoEcho {
		q.Set("echo", "false")
	}
	if opts.ServesTools {
		q.Set("serves", protocol.ServesTools)
	}
	target.RawQuery = q.Encode()
	c.target = target
	if address, err := HTTPURL(opts.URL); err == nil {
		c.gateway = address.Redacted()
	}
	s, err := c.firstConnect(ctx)
	if err != nil {
		c.leave()
		c.http.CloseIdleConnections()
		return nil, fmt.Errorf("join space %q: %w", opts.Space, err)
	}
	run, cancel := context.WithCancel(context.Background())
	c.cancel = cancel
	c.opts.OnState(State{Phase: Connected})
	go c.supervise(run, s)
	return c, nil
}

// socketURL returns the address of a gateway's socket: the given one, or the one below
// the gateway's http or https address.
func socketURL(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	scheme, ok := map[string]string{"http": "ws", "https": "wss"}[u.Scheme]
	if ok {
		u.Scheme = scheme
		u.Path = strings.TrimSuffix(u.Path, "/")
		if !strings.HasSuffix(u.Path, "/ws") {
			u.Path += "/ws"
		}
	}
	return u, nil
}

// HTTPURL returns the address of a gateway's HTTP API for an address in any form that
// Options.URL takes.
func HTTPURL(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("parse gateway URL: %w", err)
	}
	u.Scheme = strings.Replace(u.Scheme, "ws", "http", 1)
	u.Path = strings.TrimSuffix(strings.TrimSuffix(u.Path, "/"), "/ws")
	u.RawQuery = ""
	return u, nil
}

func (c *Client) firstConnect(ctx context.Context) (*session, error) {
	for attempt := 1; ; attempt++ {
		s, err := c.connect(ctx)
		if err == nil {
			s.pendingWelcome = nil // Welcome returns it to the caller
			if attempt > 1 {
				c.log.Info("gateway reached", "gateway", c.gateway, "attempts", attempt)
			}
		}
		if err == nil || finalError(err) != nil || ctx.Err() != nil {
			return s, err
		}
		if !c.opts.RetryDial && !errors.Is(err, errBehind) {
			return nil, err
		}
		delay := c.retryDelay(attempt, err)
		level := slog.LevelDebug
		if attempt == 1 { // one warning, however long it takes
			level = slog.LevelWarn
		}
		c.log.Log(ctx, level, "gateway not reached; trying again", "gateway", c.gateway, "err", Unreachable(err), "in", delay.Round(time.Millisecond))
		select {
		case <-time.After(delay):
		case <-ctx.Done():
			return nil, err
		}
	}
}

// retryDelay returns the backoff, or the delay that the gateway requested if
// that is longer.
func (c *Client) retryDelay(attempt int, cause error) time.Duration {
	delay := c.opts.Backoff.delay(attempt)
	var refused *DialError
	if errors.As(cause, &refused) {
		delay = max(delay, refused.RetryAfter)
	}
	return delay
}

// You returns the id of this participant.
func (c *Client) You() protocol.ParticipantID {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.welcome.You.ID
}

// Welcome returns the latest welcome of the gateway, with the current
// capabilities, limits and connected participants. Space.Seq is the head of the
// log at the last connect.
func (c *Client) Welcome() protocol.Welcome {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.welcome
	w.Participants = slices.Clone(w.Participants)
	return w
}

// Done returns a channel that is closed when the client has ended; Err then
// returns the reason.
func (c *Client) Done() <-chan struct{} { return c.done }

// Err returns nil while the client is running, ErrClosed after Close, and
// otherwise the *CloseError or *DialError that ended it.
func (c *Client) Err() error {
	select {
	case <-c.done:
		return c.final
	default:
		return nil
	}
}

// Close leaves the space. Received envelopes remain available to Receive; sends
// that are not acknowledged fail with ErrClosed. Close waits for the client's
// goroutines, at most a few seconds.
func (c *Client) Close() error {
	c.leave()
	<-c.done
	return nil
}
