package mcptools

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// server is one MCP server and the connection to it.
type server struct {
	name   string
	config Server
	opts   Options
	log    *slog.Logger

	http    *http.Transport
	changed chan struct{}           // receives a token when the server's tools change
	broken  chan *mcp.ClientSession // sessions that a caller reports as unusable

	// Owned by the keeper: the session started last, and the channel that
	// reports the end of its notifications (nil if that cannot be detected).
	live         *mcp.ClientSession
	noticesEnded <-chan struct{}

	retired sync.WaitGroup // replaced sessions that are still in use

	mu      sync.Mutex
	session *mcp.ClientSession // for calls; nil while the server is gone
	back    chan struct{}      // closed when session is set again
	tools   []*mcp.Tool        // the latest list
}

func newServer(name string, config Server, opts Options) *server {
	return &server{
		name: name, config: config, opts: opts,
		log:     opts.Logger.With("tool_server", name),
		http:    &http.Transport{Proxy: http.ProxyFromEnvironment, TLSHandshakeTimeout: opts.StartTimeout},
		changed: make(chan struct{}, 1),
		broken:  make(chan *mcp.ClientSession, 1),
		back:    make(chan struct{}),
	}
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
	session, err := client.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: s.opts.Protocol})
	if err != nil {
		return withStderrTail(err, transport)
	}
	tools, err := listTools(ctx, session)
	if err != nil {
		_ = session.Close()
		return withStderrTail(err, transport)
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
	switch {
	case s.config.InProcess != nil:
		here, there := net.Pipe() // not the SDK's pipe, which has a lower bound on messages
		if _, err := s.config.InProcess.Connect(context.Background(), over(there), nil); err != nil {
			return nil, nil, err
		}
		return tapped{over(here)}, nil, nil
	case s.config.URL != "":
		return s.overHTTP()
	case len(s.config.Command) > 0:
		return tapped{&command{config: s.config, grace: s.opts.Grace, log: s.log}}, nil, nil
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
		if tools = append(tools, tool); len(tools) == maxTools {
			break
		}
	}
	return tools, nil
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

func (s *server) offered() []*mcp.Tool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tools
}

// stop closes the server permanently, after its last use.
func (s *server) stop() {
	if s.live != nil {
		_ = s.live.Close()
	}
	s.http.CloseIdleConnections()
}
