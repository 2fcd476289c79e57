package mcptools

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Set is a set of servers. Its methods are safe for concurrent use.
type Set struct {
	opts    Options
	servers []*server
	ctx     context.Context // ends with Close
	cancel  context.CancelFunc
	keepers sync.WaitGroup
	calls   sync.WaitGroup // guarded against Close by mu

	mu     sync.Mutex
	closed bool
	limits map[string]*timeLimit // of the calls in progress, by progress token
	token  int                   // the last one that Call assigned
}

// Start starts all servers and returns when each has listed its tools. If one
// cannot be started, all are stopped and the error names it and the reason. The
// context bounds only the start.
func Start(ctx context.Context, servers []Server, opts Options) (*Set, error) {
	opts.CallTimeout = cmp.Or(opts.CallTimeout, 30*time.Second)
	opts.MaxCallTimeout = max(cmp.Or(opts.MaxCallTimeout, 10*time.Minute), opts.CallTimeout)
	opts.StartTimeout = cmp.Or(opts.StartTimeout, time.Minute)
	opts.Grace = cmp.Or(opts.Grace, 2*time.Second)
	opts.MinBackoff = cmp.Or(opts.MinBackoff, 250*time.Millisecond)
	opts.MaxBackoff = cmp.Or(opts.MaxBackoff, 30*time.Second)
	opts.Version = cmp.Or(opts.Version, "dev")
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.OnRestart == nil {
		opts.OnRestart = func() {}
	}
	s := &Set{opts: opts, limits: make(map[string]*timeLimit)}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	names := uniqueNames(servers)
	errs := make([]error, len(servers))
	var starting sync.WaitGroup
	for i, config := range servers {
		srv := &server{
			name: names[i], config: config, opts: opts, progressed: s.progressed,
			log: opts.Logger.With("tool_server", names[i]),
			http: &http.Transport{
				Proxy: http.ProxyFromEnvironment, TLSHandshakeTimeout: opts.StartTimeout, MaxIdleConnsPerHost: idleConns, IdleConnTimeout: time.Minute,
			},
			changed: make(chan struct{}, 1),
			broken:  make(chan *mcp.ClientSession, 1),
			back:    make(chan struct{}),
		}
		s.servers = append(s.servers, srv)
		starting.Go(func() {
			if err := srv.startFirst(ctx); err != nil {
				errs[i] = fmt.Errorf("start tool server %s: %w", srv.name, err)
				return
			}
			s.keepers.Go(func() { srv.supervise(s.ctx) })
		})
	}
	starting.Wait()
	if err := errors.Join(errs...); err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

// Tools returns the tools that the servers currently offer, sorted by name.
func (s *Set) Tools() []Tool {
	index := s.index()
	tools := make([]Tool, 0, len(index))
	for name, t := range index {
		tools = append(tools, describe(name, t))
	}
	slices.SortFunc(tools, func(a, b Tool) int { return strings.Compare(a.Name, b.Name) })
	return tools
}

type target struct {
	server *server
	tool   *mcp.Tool
}

// index returns the tools by the names for Call.
func (s *Set) index() map[string]target {
	offers := make(map[string]int)
	lists := make([][]*mcp.Tool, len(s.servers))
	for i, srv := range s.servers {
		srv.mu.Lock()
		lists[i] = srv.tools
		srv.mu.Unlock()
		for _, t := range lists[i] {
			offers[t.Name]++
		}
	}
	index := make(map[string]target)
	for i, srv := range s.servers {
		for _, t := range lists[i] {
			name := t.Name
			if offers[name] > 1 {
				name = srv.name + "__" + name
			}
			index[name] = target{srv, t}
		}
	}
	return index
}

func describe(name string, t target) Tool {
	tool := Tool{Name: name, Server: t.server.name, Description: t.tool.Description}
	if raw, err := json.Marshal(t.tool.InputSchema); err == nil {
		tool.InputSchema = raw
	}
	if a := t.tool.Annotations; a != nil {
		tool.ReadOnly, tool.Hinted = a.ReadOnlyHint, true
	}
	return tool
}

// Call calls a tool with a JSON object of arguments and waits for its result,
// at most the time of Options. A tool that reports a failure returns a Result
// with IsError. Errors are ErrUnknownTool, ErrServerGone, ErrClosed,
// context.DeadlineExceeded, the error of ctx, and *jsonrpc.Error if the server
// refuses. A cancelled call is cancelled on the server too.
func (s *Set) Call(ctx context.Context, name string, args json.RawMessage) (Result, error) {
	t, ok := s.index()[name]
	if !ok {
		return Result{}, fmt.Errorf("call %s: %w", name, ErrUnknownTool)
	}
	params := &mcp.CallToolParams{Name: t.tool.Name}
	if len(args) > 0 {
		params.Arguments = args
	}
	s.mu.Lock()
	s.token++
	token := fmt.Sprint("call-", s.token)
	s.mu.Unlock()
	params.SetProgressToken(token)
	result, err := s.do(WithProgress(ctx, token), t.server, func(ctx context.Context, session *mcp.ClientSession) (mcp.Result, error) {
		return session.CallTool(ctx, params)
	})
	if err != nil {
		return Result{}, fmt.Errorf("call %s: %w", name, err)
	}
	return result, nil
}

// Do runs op over a session with the only server of the set, and returns the
// result as the server wrote it, "{}" if op returns none. It waits for a server
// that is being restarted. If a request was not sent because the session had
// ended, Do runs op again with another session. op must not keep the session.
// Errors are the errors of Call, and any error of op.
func (s *Set) Do(ctx context.Context, op Op) (Result, error) {
	if len(s.servers) != 1 {
		return Result{}, fmt.Errorf("ask the tool server: there are %d", len(s.servers))
	}
	result, err := s.do(ctx, s.servers[0], op)
	if err != nil {
		return Result{}, fmt.Errorf("ask %s: %w", s.servers[0].name, err)
	}
	return result, nil
}

// SharesListen reports whether the end of one subscription ends the other
// notifications of a session of the only server, too. From revision 2026-07-28
// on, servers of the Go SDK (v1.8.0) store who listens by session, which all
// subscriptions share unless each is a request over HTTP.
func (s *Set) SharesListen(session *mcp.ClientSession) bool {
	return s.servers[0].config.URL == "" && session.InitializeResult().ProtocolVersion >= "2026-07-28"
}

type progressKey struct{}

// WithProgress returns the context of a call that requests progress with a token, for
// Do: its progress extends the time of the call.
func WithProgress(ctx context.Context, token string) context.Context {
	return context.WithValue(ctx, progressKey{}, token)
}

// progressed begins the timeout of a call anew.
func (s *Set) progressed(token any) {
	name, _ := token.(string)
	s.mu.Lock()
	l := s.limits[name]
	s.mu.Unlock()
	if l != nil {
		l.extend()
	}
}

// do bounds an operation by its timeout and by the lifetime of the set.
func (s *Set) do(ctx context.Context, srv *server, op Op) (Result, error) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return Result{}, ErrClosed
	}
	s.calls.Add(1)
	defer s.calls.Done()
	ctx, l := withTimeLimit(ctx, s.opts.CallTimeout, s.opts.MaxCallTimeout)
	defer l.stop()
	if token, ok := ctx.Value(progressKey{}).(string); ok {
		s.limits[token] = l
		defer func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			delete(s.limits, token)
		}()
	}
	s.mu.Unlock()
	defer context.AfterFunc(s.ctx, l.stop)()
	result, err := srv.do(ctx, op)
	switch {
	case err != nil && s.ctx.Err() != nil:
		return Result{}, ErrClosed
	case err != nil && errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		return Result{}, fmt.Errorf("%w: %w", context.DeadlineExceeded, err)
	}
	return result, err
}

// Close cancels the calls in progress and stops all servers, commands with all
// their child processes.
func (s *Set) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cancel()
	s.calls.Wait()
	s.keepers.Wait()
	var ending sync.WaitGroup
	for _, srv := range s.servers {
		ending.Go(srv.stop)
	}
	ending.Wait()
	return nil
}

// uniqueNames assigns each server a unique name.
func uniqueNames(servers []Server) []string {
	names := make([]string, len(servers))
	taken := make(map[string]bool)
	for i, s := range servers {
		name := cleanName(s.Name)
		if name == "" {
			name = cleanName(guessName(s))
		}
		if name == "" {
			name = "tools"
		}
		base := name
		for n := 2; taken[name]; n++ {
			name = fmt.Sprintf("%s-%d", base, n)
		}
		taken[name] = true
		names[i] = name
	}
	return names
}

// guessName returns the package that npx or uvx runs, else the program's name,
// else the host.
func guessName(s Server) string {
	if len(s.Command) == 0 {
		u, err := url.Parse(s.URL)
		if err != nil {
			return ""
		}
		return u.Hostname()
	}
	program := filepath.Base(s.Command[0])
	switch program {
	case "npx", "uvx", "node", "python", "python3":
		for _, arg := range s.Command[1:] {
			if !strings.HasPrefix(arg, "-") {
				return strings.TrimSuffix(filepath.Base(arg), filepath.Ext(arg))
			}
		}
	}
	return program
}

// cleanName replaces the characters that are not valid in names of tools, so
// that a qualified name is valid too.
func cleanName(s string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_':
			return r
		}
		return '-'
	}, s), "-")
}
