package mcptools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"sync"

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
}

// Start starts all servers and returns when each has listed its tools. If one
// cannot be started, all are stopped and the error names it and the reason. The
// context bounds only the start.
func Start(ctx context.Context, servers []Server, opts Options) (*Set, error) {
	s := &Set{opts: opts.withDefaults()}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	names := uniqueNames(servers)
	errs := make([]error, len(servers))
	var starting sync.WaitGroup
	for i, config := range servers {
		srv := newServer(names[i], config, s.opts)
		s.servers = append(s.servers, srv)
		starting.Go(func() {
			if err := srv.start(ctx); err != nil {
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
	sort.Slice(tools, func(i, j int) bool { return tools[i].Name < tools[j].Name })
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
		lists[i] = srv.offered()
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
// at most Options.CallTimeout. A tool that reports a failure returns a Result
// with IsError. Errors are ErrUnknownTool, ErrServerGone, ErrClosed,
// context.DeadlineExceeded, the error of ctx, and *jsonrpc.Error if the server
// refuses. A cancelled call is cancelled on the server too.
func (s *Set) Call(ctx context.Context, name string, args json.RawMessage) (Result, error) {
	if !s.begin() {
		return Result{}, fmt.Errorf("call %s: %w", name, ErrClosed)
	}
	defer s.calls.Done()
	t, ok := s.index()[name]
	if !ok {
		return Result{}, fmt.Errorf("call %s: %w", name, ErrUnknownTool)
	}
	ctx, end := s.during(ctx)
	defer end()
	res, err := t.server.call(ctx, t.tool.Name, args)
	if err != nil {
		return Result{}, fmt.Errorf("call %s: %w", name, s.whyEnded(err))
	}
	return res, nil
}

// Do runs op over a session with the only server of the set, and returns the
// result as the server wrote it, "{}" if op returns none. It waits for a server
// that is being restarted. If a request was not sent because the session had
// ended, Do runs op again with another session. op must not keep the session.
// Errors are the errors of Call, and any error of op.
func (s *Set) Do(ctx context.Context, op Op) (json.RawMessage, error) {
	if len(s.servers) != 1 {
		return nil, fmt.Errorf("ask the tool server: there are %d", len(s.servers))
	}
	srv := s.servers[0]
	if !s.begin() {
		return nil, fmt.Errorf("ask %s: %w", srv.name, ErrClosed)
	}
	defer s.calls.Done()
	ctx, end := s.during(ctx)
	defer end()
	raw, err := srv.do(ctx, op)
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", srv.name, s.whyEnded(err))
	}
	return raw, nil
}

// during bounds a call by its timeout and by the lifetime of the set.
func (s *Set) during(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithTimeout(ctx, s.opts.CallTimeout)
	stop := context.AfterFunc(s.ctx, cancel)
	return ctx, func() { stop(); cancel() }
}

func (s *Set) whyEnded(err error) error {
	if s.ctx.Err() != nil {
		return ErrClosed
	}
	return err
}

func (s *Set) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.calls.Add(1)
	return true
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
