package mcptools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// server is one MCP server and the connection to it.
type server struct {
	name   string
	config Server
	opts   Options
	log    *slog.Logger

	progressed func(token any)

	http    *http.Transport
	away    atomic.Bool             // the last request over HTTP has not reached the server
	changed chan struct{}           // receives a token when the server's tools change
	broken  chan *mcp.ClientSession // sessions that a caller reports as unusable

	// Owned by the keeper: the session started last, and the channel that
	// reports the end of its notifications (nil if that cannot be detected).
	live         *mcp.ClientSession
	noticesEnded <-chan struct{}

	operations operations
	retired    sync.WaitGroup // replaced sessions that are still in use

	mu      sync.Mutex
	session *mcp.ClientSession // for calls; nil while the server is gone
	back    chan struct{}      // closed when session is set again
	tools   []*mcp.Tool        // the latest list
}

// idleConns is how many connections to a server over HTTP are kept for later calls; with
// fewer, most of the calls that are made in parallel would open one each.
const idleConns = 16

// maxFirstPause bounds the pause between two attempts to reach a server at the start.
const maxFirstPause = 2 * time.Second

// startFirst is start for a set that starts. A server over HTTP may come up later than
// this program: it is tried again for the time of a start.
func (s *server) startFirst(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.opts.StartTimeout)
	defer cancel()
	err := s.start(ctx)
	for pause := s.opts.MinBackoff; err != nil && s.away.Load(); pause = min(2*pause, maxFirstPause) {
		s.log.Warn("tool server not reached; trying again", "in", pause, "err", err)
		if !sleep(ctx, jitter(pause)) {
			return err
		}
		if again := s.start(ctx); again == nil || ctx.Err() == nil {
			err = again
		}
	}
	return err
}

// start connects and lists the tools.
func (s *server) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.opts.StartTimeout)
	defer cancel()
	transport, deaf, err := s.transport()
	if err != nil {
		return err
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "meup", Version: s.opts.Version}, s.clientOptions())
	client.AddSendingMiddleware(s.multiRoundTrip)
	client.AddReceivingMiddleware(refuse)
	session, err := client.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: s.opts.Protocol})
	if err != nil {
		return withTail(err, transport)
	}
	tools, err := listTools(ctx, session)
	if err != nil {
		_ = session.Close()
		return withTail(err, transport)
	}
	s.live, s.noticesEnded = session, deaf
	s.mu.Lock()
	away := s.session == nil
	s.session, s.tools = session, tools
	if away {
		close(s.back)
	}
	s.mu.Unlock()
	s.log.Info("tool server ready", "tools", len(tools), "protocol", session.InitializeResult().ProtocolVersion)
	return nil
}

// transport returns a transport to the server; see noticesEnded for the
// channel.
func (s *server) transport() (mcp.Transport, <-chan struct{}, error) {
	var asked func(json.RawMessage)
	if s.opts.OnElicit != nil {
		asked = s.operations.keep
	}
	switch {
	case s.config.InProcess != nil:
		here, there := net.Pipe() // not the SDK's pipe, which has a lower bound on messages
		if _, err := s.config.InProcess.Connect(context.Background(), over(there), nil); err != nil {
			return nil, nil, err
		}
		return tapped{over(here), s.notice, asked}, nil, nil
	case s.config.URL != "":
		u, err := url.Parse(s.config.URL)
		if err != nil {
			return nil, nil, fmt.Errorf("parse URL of the tool server: %w", err)
		}
		t := &httpTransport{header: s.config.Header, user: u.User, query: u.RawQuery, base: s.http, away: &s.away, notice: s.notice, noticesEnded: make(chan struct{}, 1)}
		u.User, u.RawQuery = nil, ""
		return &mcp.StreamableClientTransport{Endpoint: u.String(), HTTPClient: &http.Client{Transport: t}, MaxEventSize: maxLine}, t.noticesEnded, nil
	case len(s.config.Command) > 0:
		return tapped{&command{config: s.config, grace: s.opts.Grace, log: s.log}, s.notice, asked}, nil, nil
	}
	return nil, nil, errors.New("neither a command nor a URL is given")
}

func over(conn net.Conn) mcp.Transport {
	return &mcp.IOTransport{Reader: conn, Writer: conn, MaxLineLength: maxLine}
}

// maxTools bounds the list of a server.
const maxTools = 1000

func listTools(ctx context.Context, session *mcp.ClientSession) ([]*mcp.Tool, error) {
	if init := session.InitializeResult(); init != nil && init.Capabilities != nil && init.Capabilities.Tools == nil {
		return nil, nil
	}
	var tools []*mcp.Tool
	for tool, err := range session.Tools(ctx, nil) {
		if err != nil {
			return nil, fmt.Errorf("list tools: %w", err)
		}
		tools = append(tools, tool)
		if len(tools) == maxTools {
			break
		}
	}
	return tools, nil
}

// stop closes the server permanently, after its last use.
func (s *server) stop() {
	if s.live != nil {
		_ = s.live.Close()
	}
	s.http.CloseIdleConnections()
}

// stableUptime is the uptime after which the backoff of a server is reset.
const stableUptime = 30 * time.Second

// supervise restarts the server whenever it ends, until ctx ends.
func (s *server) supervise(ctx context.Context) {
	defer s.retired.Wait()
	pause := s.opts.MinBackoff
	for {
		started := time.Now()
		rest, ended := s.watch(ctx)
		if ctx.Err() != nil {
			rest()
			return
		}
		if time.Since(started) > stableUptime {
			pause = s.opts.MinBackoff
		}
		again := false
		for !again {
			s.log.Warn("tool server lost; starting it again", "in", pause)
			if !sleep(ctx, jitter(pause)) {
				break
			}
			pause = min(2*pause, s.opts.MaxBackoff)
			err := s.start(ctx)
			again = err == nil
			if !again {
				s.log.Warn("tool server does not start", "err", err)
			}
		}
		s.retired.Go(rest)
		if !again {
			return
		}
		s.opts.OnRestart()
		if ended { // the new process may be another version
			s.notice(toolsChanged, nil)
			s.notice(promptsChanged, nil)
			s.notice(resourcesChanged, nil)
		}
	}
}

// watch returns when a new session is needed. It reports whether the current
// session has ended; the server is then marked as gone. A session that only no
// longer receives notifications is used until its replacement is ready; rest
// closes it.
func (s *server) watch(ctx context.Context) (rest func(), ended bool) {
	session := s.live
	over := make(chan struct{})
	go func() { // ends with the session, which rest waits for
		_ = session.Wait()
		close(over)
	}()
	rest = func() {
		_ = session.Close() // also ends the process
		<-over
	}
	for {
		select {
		case <-ctx.Done():
			return rest, false
		case <-over:
			s.gone(session)
			rest()
			return func() {}, true
		case <-s.noticesEnded:
			s.log.Info("tool server's notifications have ended")
			return rest, false
		case b := <-s.broken:
			if b == session {
				_ = session.Close()
			}
		case <-s.changed:
			listing, cancel := context.WithTimeout(ctx, s.opts.StartTimeout)
			tools, err := listTools(listing, session)
			cancel()
			if err != nil {
				s.log.Warn("changed tools not listed", "err", err)
				continue
			}
			s.mu.Lock()
			s.tools = tools
			s.mu.Unlock()
			s.log.Info("tools changed", "tools", len(tools))
		}
	}
}

func jitter(d time.Duration) time.Duration {
	return d/2 + time.Duration(rand.Int64N(int64(d/2)+1))
}

func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

const (
	toolsChanged     = "notifications/tools/list_changed"
	promptsChanged   = "notifications/prompts/list_changed"
	resourcesChanged = "notifications/resources/list_changed"
	progressMade     = "notifications/progress"
	logMessage       = "notifications/message"
)

// clientOptions returns the handlers for the server's notifications; the transport has those
// for progress and log messages. The client offers servers elicitation if Options.OnElicit is set, and neither sampling nor roots.
func (s *server) clientOptions() *mcp.ClientOptions {
	opts := &mcp.ClientOptions{
		Capabilities:   &mcp.ClientCapabilities{},
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true}, // see multiRoundTrip
		Logger:         s.log,
		ToolListChangedHandler: func(_ context.Context, r *mcp.ToolListChangedRequest) {
			select {
			case s.changed <- struct{}{}:
			default:
			}
			s.notice(toolsChanged, r.Params)
		},
	}
	if s.opts.OnElicit != nil {
		opts.ElicitationHandler = s.elicit
		opts.Capabilities.Elicitation = &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{}}
	}
	if s.opts.OnNotice == nil {
		return opts
	}
	opts.PromptListChangedHandler = func(_ context.Context, r *mcp.PromptListChangedRequest) {
		s.notice(promptsChanged, r.Params)
	}
	opts.ResourceListChangedHandler = func(_ context.Context, r *mcp.ResourceListChangedRequest) {
		s.notice(resourcesChanged, r.Params)
	}
	opts.ResourceUpdatedHandler = func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) {
		s.notice("notifications/resources/updated", r.Params)
	}
	return opts
}

func (s *server) notice(method string, params mcp.Params) {
	if p, ok := params.(*mcp.ProgressNotificationParams); ok {
		s.progressed(p.ProgressToken)
	}
	if s.opts.OnNotice != nil {
		s.opts.OnNotice(method, params)
	}
}
