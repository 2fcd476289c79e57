package mcptools

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// steady is how long a server must have lived for its next death to begin the
// backoff anew.
const steady = 30 * time.Second

// server is one MCP server and the connection to it.
type server struct {
	name   string
	config Server
	opts   Options
	log    *slog.Logger

	http    *http.Transport
	changed chan struct{} // the server says that its tools have changed

	live *mcp.ClientSession // started last; the keeper's

	mu      sync.Mutex
	session *mcp.ClientSession // to call with; nil while the server is away
	back    chan struct{}      // closed when session is set again
	tools   []*mcp.Tool        // as told last
}

func newServer(name string, config Server, opts Options) *server {
	return &server{
		name: name, config: config, opts: opts,
		log:     opts.Logger.With("tool_server", name),
		http:    &http.Transport{Proxy: http.ProxyFromEnvironment, TLSHandshakeTimeout: opts.StartTimeout},
		changed: make(chan struct{}, 1),
		back:    make(chan struct{}),
	}
}

// start connects and asks for the tools.
func (s *server) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.opts.StartTimeout)
	defer cancel()
	transport, err := s.transport()
	if err != nil {
		return err
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "meup", Version: s.opts.Version}, &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{},
		Logger:       s.log,
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
			select {
			case s.changed <- struct{}{}:
			default:
			}
		},
	})
	session, err := client.Connect(ctx, transport, nil)
	if err != nil {
		return withLastWords(err, transport)
	}
	tools, err := listTools(ctx, session)
	if err != nil {
		_ = session.Close()
		return withLastWords(err, transport)
	}
	s.live = session
	s.mu.Lock()
	s.session, s.tools = session, tools
	close(s.back)
	s.mu.Unlock()
	s.log.Info("tool server ready", "tools", len(tools))
	return nil
}

func (s *server) transport() (mcp.Transport, error) {
	switch {
	case s.config.InProcess != nil:
		here, there := net.Pipe() // not the SDK's own: its bound is lower than ours
		if _, err := s.config.InProcess.Connect(context.Background(), over(there), nil); err != nil {
			return nil, err
		}
		return over(here), nil
	case s.config.URL != "":
		return &mcp.StreamableClientTransport{
			Endpoint:   s.config.URL,
			HTTPClient: &http.Client{Transport: &headerTransport{header: s.config.Header, base: s.http}},
		}, nil
	case len(s.config.Command) > 0:
		return &command{config: s.config, grace: s.opts.Grace, log: s.log}, nil
	}
	return nil, errors.New("neither a command nor a URL is given")
}

func over(conn net.Conn) mcp.Transport {
	return &mcp.IOTransport{Reader: conn, Writer: conn, MaxLineLength: maxLine}
}

// headerTransport adds the configured headers to every request.
type headerTransport struct {
	header http.Header
	base   http.RoundTripper
}

func (t *headerTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if len(t.header) > 0 {
		req = req.Clone(req.Context())
		for k, v := range t.header {
			req.Header[k] = v
		}
	}
	return t.base.RoundTrip(req)
}

// maxTools bounds what is taken from a server that lists without end.
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
		if tools = append(tools, tool); len(tools) == maxTools {
			break
		}
	}
	return tools, nil
}

// keep restarts the server whenever it ends, until ctx does.
func (s *server) keep(ctx context.Context) {
	pause := s.opts.MinBackoff
	for {
		started := time.Now()
		s.watch(ctx)
		if ctx.Err() != nil {
			return
		}
		if time.Since(started) > steady {
			pause = s.opts.MinBackoff
		}
		for {
			s.log.Warn("tool server ended; starting it again", "in", pause)
			if !sleep(ctx, jitter(pause)) {
				return
			}
			pause = min(2*pause, s.opts.MaxBackoff)
			err := s.start(ctx)
			if err == nil {
				break
			}
			s.log.Warn("tool server does not start", "err", err)
		}
	}
}

// watch returns when the session has ended, and marks the server as away.
func (s *server) watch(ctx context.Context) {
	session := s.live
	ended := make(chan struct{})
	go func() { // ends with the session, which this function waits for
		_ = session.Wait()
		close(ended)
	}()
	for {
		select {
		case <-ctx.Done():
			_ = session.Close()
			<-ended
			return
		case <-ended:
			s.gone(session)
			_ = session.Close() // and with it the process, if it still lives
			return
		case <-s.changed:
			s.relist(ctx, session)
		}
	}
}

func (s *server) relist(ctx context.Context, session *mcp.ClientSession) {
	ctx, cancel := context.WithTimeout(ctx, s.opts.StartTimeout)
	defer cancel()
	tools, err := listTools(ctx, session)
	if err != nil {
		s.log.Warn("changed tools not listed", "err", err)
		return
	}
	s.mu.Lock()
	s.tools = tools
	s.mu.Unlock()
	s.log.Info("tools changed", "tools", len(tools))
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

func (s *server) offered() []*mcp.Tool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tools
}

// stop ends the server for good, once nothing uses it any more.
func (s *server) stop() {
	if s.live != nil {
		_ = s.live.Close()
	}
	s.http.CloseIdleConnections()
}
