package mcptools_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meup-protocol/meup/internal/agent/mcptools"
	"github.com/meup-protocol/meup/internal/mcp/toolserver"
	"github.com/meup-protocol/meup/internal/testing/testkit"
)

// The test binary is also the server program that the tests start over a real
// pipe.
func TestMain(m *testing.M) {
	switch os.Getenv("MEUP_TEST_SERVER") {
	case "docs":
		exitWith(toolserver.ServeDocuments(context.Background(), os.Args[1], "test", os.Stdin, os.Stdout))
	case "moody":
		exitWith(moody(revisions()...).Run(context.Background(), &mcp.StdioTransport{}))
	case "moody-http":
		exitWith(serveHTTP(os.Args[1], moody(revisions()...)))
	case "noisy":
		exitWith(noisy())
	case "chatty": // it ends at once
		fmt.Println("no such database: postgres://ada:hunter2hunter2@db/x")
		os.Exit(4)
	case "broken":
		fmt.Fprintln(os.Stderr, "the licence has expired")
		os.Exit(3)
	}
	testkit.Main(m)
}

func exitWith(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// moody is a server with the failures of real ones. It supports the given
// revisions of MCP, or all.
func moody(revisions ...string) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "moody", Version: "1"}, &mcp.ServerOptions{
		SupportedProtocolVersions: revisions,
		SubscribeHandler:          func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler:        func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	s.AddResource(&mcp.Resource{URI: "mood://now", Name: "mood"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "mood://now", Text: "fine"}}}, nil
	})
	s.AddTool(&mcp.Tool{Name: "precise", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{}, StructuredContent: json.RawMessage(preciseResult)}, nil
	})
	s.AddTool(&mcp.Tool{Name: "refuse", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var args struct{ Code int64 }
		_ = json.Unmarshal(req.Params.Arguments, &args)
		return nil, &jsonrpc.Error{Code: args.Code, Message: "not today", Data: json.RawMessage(`{"until":9007199254740993}`)}
	})
	text := func(s string) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
	}
	type none struct{}
	add := func(name string, run func(context.Context) (*mcp.CallToolResult, error)) {
		mcp.AddTool(s, &mcp.Tool{Name: name, Description: name}, func(ctx context.Context, _ *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, any, error) {
			res, err := run(ctx)
			return res, nil, err
		})
	}
	add("pid", func(context.Context) (*mcp.CallToolResult, error) { return text(strconv.Itoa(os.Getpid())), nil })
	add("die", func(context.Context) (*mcp.CallToolResult, error) { os.Exit(7); return nil, nil })
	add("change", func(ctx context.Context) (*mcp.CallToolResult, error) {
		return text("changed"), s.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: "mood://now"})
	})
	add("fail", func(context.Context) (*mcp.CallToolResult, error) { return nil, errors.New("out of paper") })
	add("huge", func(context.Context) (*mcp.CallToolResult, error) {
		return text(strings.Repeat("0123456789", 1<<20)), nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "hang"}, func(ctx context.Context, req *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, any, error) {
		if token := req.Params.GetProgressToken(); token != nil {
			_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: 1})
		}
		<-ctx.Done() // a cancelled call ends here
		if path := os.Getenv("MEUP_TEST_NOTE"); path != "" {
			_ = os.WriteFile(path, []byte("cancelled"), 0o600)
		}
		return nil, nil, ctx.Err()
	})
	add("child", func(context.Context) (*mcp.CallToolResult, error) {
		cmd := exec.Command("sleep", "600")
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		if err := cmd.Start(); err != nil {
			return nil, err
		}
		return text(strconv.Itoa(cmd.Process.Pid)), nil
	})
	add("grow", func(context.Context) (*mcp.CallToolResult, error) {
		add("grown", func(context.Context) (*mcp.CallToolResult, error) { return text("yes"), nil })
		return text("done"), nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "list_directory"}, func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, any, error) {
		return text("mine"), nil, nil
	})
	return s
}

func self(t *testing.T, which string, args ...string) mcptools.Server {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return mcptools.Server{
		Name: which, Command: append([]string{exe}, args...),
		Env: append(os.Environ(), "MEUP_TEST_SERVER="+which),
	}
}

func start(t *testing.T, opts mcptools.Options, servers ...mcptools.Server) *mcptools.Set {
	t.Helper()
	opts.MinBackoff = time.Millisecond
	opts.CallTimeout = cmp.Or(opts.CallTimeout, 10*testkit.Patience) // a busy machine needs long for a huge result
	set, err := mcptools.Start(t.Context(), servers, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = set.Close() })
	return set
}

func call(t *testing.T, set *mcptools.Set, tool, args string) string {
	t.Helper()
	res, err := set.Call(t.Context(), tool, json.RawMessage(args))
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	return res.Text
}

func docs(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"deploy.md": "# Deploy\npush it\n", "notes.txt": "a note"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestCallsAServersTools(t *testing.T) {
	dir := docs(t)
	set := start(t, mcptools.Options{}, self(t, "docs", dir))
	var names []string
	for _, tool := range set.Tools() {
		names = append(names, tool.Name)
		if !tool.ReadOnly || !tool.Hinted || len(tool.InputSchema) < 10 || tool.Description == "" || tool.Server != "docs" {
			t.Errorf("tool %+v", tool)
		}
	}
	if got := fmt.Sprint(names); got != "[list_allowed_directories list_directory read_passages read_text_file search_files]" {
		t.Errorf("tools %s", got)
	}
	if got := call(t, set, "list_directory", `{"path":"."}`); got != "[FILE] deploy.md\n[FILE] notes.txt" {
		t.Errorf("listing %q", got)
	}
	res, err := set.Call(t.Context(), "read_text_file", json.RawMessage(`{"path":"none"}`))
	if err != nil || !res.IsError || !strings.Contains(res.Text, "no such file") || !json.Valid(res.JSON) {
		t.Errorf("missing file: %+v, %v", res, err)
	}
	if _, err := set.Call(t.Context(), "fly", nil); !errors.Is(err, mcptools.ErrUnknownTool) {
		t.Errorf("unknown tool: %v", err)
	}
}

func TestNamesThatCollideAreQualified(t *testing.T) {
	dir := docs(t)
	set := start(t, mcptools.Options{}, self(t, "docs", dir), self(t, "moody"), self(t, "docs", dir))
	if got := call(t, set, "moody__list_directory", `{}`); got != "mine" {
		t.Errorf("moody says %q", got)
	}
	if got := call(t, set, "docs-2__list_directory", `{"path":"."}`); !strings.Contains(got, "deploy.md") {
		t.Errorf("docs-2 says %q", got)
	}
	if _, err := set.Call(t.Context(), "list_directory", json.RawMessage(`{}`)); !errors.Is(err, mcptools.ErrUnknownTool) {
		t.Errorf("the ambiguous name: %v", err)
	}
	call(t, set, "pid", `{}`) // not ambiguous
}

func TestServer_Restart(t *testing.T) {
	set := start(t, mcptools.Options{}, self(t, "moody"))
	before := call(t, set, "pid", `{}`)
	if _, err := set.Call(t.Context(), "die", nil); !errors.Is(err, mcptools.ErrServerGone) {
		t.Errorf("the call that it died of: %v", err)
	}
	if after := call(t, set, "pid", `{}`); after == before {
		t.Errorf("still %s", after)
	}
}

func TestTimeoutCancelsTheCall(t *testing.T) {
	note := filepath.Join(t.TempDir(), "note")
	server := self(t, "moody")
	server.Env = append(server.Env, "MEUP_TEST_NOTE="+note)
	set := start(t, mcptools.Options{CallTimeout: 50 * time.Millisecond}, server)
	if _, err := set.Call(t.Context(), "hang", nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	testkit.Eventually(t, "the server is notified", func() bool {
		_, _ = set.Call(t.Context(), "hang", nil) // a busy machine may not have sent the first one in time
		_, err := os.Stat(note)
		return err == nil
	})
	testkit.Eventually(t, "the server responds within the timeout", func() bool {
		_, err := set.Call(t.Context(), "pid", nil)
		return err == nil
	})
}

func TestHugeResult(t *testing.T) {
	set := start(t, mcptools.Options{}, self(t, "moody"))
	res, err := set.Call(t.Context(), "huge", nil)
	if err != nil || len(res.Text) != 10<<20 {
		t.Errorf("%d bytes, %v", len(res.Text), err)
	}
}

func TestToolErrorIsAResult(t *testing.T) {
	set := start(t, mcptools.Options{}, self(t, "moody"))
	res, err := set.Call(t.Context(), "fail", nil)
	if err != nil || !res.IsError || res.Text != "out of paper" {
		t.Errorf("%+v, %v", res, err)
	}
	_, err = set.Call(t.Context(), "pid", json.RawMessage(`{"unknown":1}`))
	var rpc *jsonrpc.Error
	if err != nil && !errors.As(err, &rpc) {
		t.Errorf("wrong arguments: %v", err)
	}
}

func TestClose_EndsChildren(t *testing.T) {
	set := start(t, mcptools.Options{Grace: 50 * time.Millisecond}, self(t, "moody"))
	child, err := strconv.Atoi(call(t, set, "child", `{}`))
	if err != nil {
		t.Fatal(err)
	}
	waits := make(chan error, 1)
	go func() {
		_, err := set.Call(context.Background(), "hang", nil)
		waits <- err
	}()
	if err := set.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-waits; !errors.Is(err, mcptools.ErrClosed) {
		t.Errorf("the call under way: %v", err)
	}
	// init reaps the child, which may take a moment.
	testkit.Eventually(t, "the child is gone", func() bool { return !alive(child) })
	if _, err := set.Call(t.Context(), "pid", nil); !errors.Is(err, mcptools.ErrClosed) {
		t.Errorf("after close: %v", err)
	}
}

// alive reports whether a process runs; a zombie does not.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || !strings.Contains(string(stat), ") Z ")
}

// invalidResponses are the ends of the responses of some tools.
var invalidResponses = map[string]string{
	"nothing": "",
	"deep":    `,"result":` + strings.Repeat("[", 200_000) + strings.Repeat("]", 200_000),
	"number":  `,"result":5`,
	"longer":  `,"result":{"content":[{"type":"text","text":"x"}]}} and {"more":1`,
}

const invalidTools = `{"tools":[{"name":"pid","inputSchema":{"type":"object"}},{"name":"nothing","inputSchema":{"type":"object"}},` +
	`{"name":"deep","inputSchema":{"type":"object"}},{"name":"longer","inputSchema":{"type":"object"}},{"name":"number","inputSchema":{"type":"object"}}]}`

// invalidHTTP is a server with invalid responses, as events or as JSON.
func invalidHTTP(t *testing.T, events bool) mcptools.Server {
	sessions := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Name string }
		}
		if r.Method != http.MethodPost {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil || m.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		end, invalid := invalidResponses[m.Params.Name]
		switch {
		case m.Method == "initialize":
			sessions++
			end = `,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"invalid","version":"1"}}`
		case m.Method == "tools/list":
			end = `,"result":` + invalidTools
		case m.Method == "tools/call" && !invalid:
			end = fmt.Sprintf(`,"result":{"content":[{"type":"text","text":"%d"}]}`, sessions)
		case m.Method != "tools/call":
			end = `,"error":{"code":-32601,"message":"no such method"}`
		}
		if events {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = fmt.Fprintf(w, "event: message\ndata: {\"jsonrpc\":\"2.0\",\ndata: \"id\":%s%s}\n\n", m.ID, end)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s%s}`, m.ID, end)
	}))
	t.Cleanup(srv.Close)
	return mcptools.Server{URL: srv.URL}
}

// noisy is a server that writes lines to its standard output that are no messages.
func noisy() error {
	fmt.Println("Noisy server 1.0")
	fmt.Println(`{"level":"info","msg":"listening"}`)
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Name string }
		}
		if err := json.Unmarshal(in.Bytes(), &m); err != nil || m.ID == nil {
			continue
		}
		fmt.Println(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}`)
		fmt.Println(`{"jsonrpc":"2.0","method":"notifications/message"} and more`)
		fmt.Println("handling", m.Method, "token=ghp_abcdefghijklmnopqrstuvwxyz0123456789")
		fmt.Print("\r\n")
		switch m.Method {
		case "initialize":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"noisy","version":"1"}}}`+"\r\n", m.ID)
		case "tools/list":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, invalidTools)
		case "tools/call":
			if invalid, ok := invalidResponses[m.Params.Name]; ok {
				fmt.Printf(`{"jsonrpc":"2.0","id":%s%s}`+"\n", m.ID, invalid)
				continue
			}
			fmt.Printf(`[{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"%d"}]}}]`+"\n", m.ID, os.Getpid())
		default:
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`+"\n", m.ID)
		}
	}
	return in.Err()
}

// Lines on standard output that are no messages are logged, each kind once, and end
// neither the server nor a call.
func TestNoiseOnStdout(t *testing.T) {
	var logged testkit.Log
	set := start(t, mcptools.Options{Logger: slog.New(slog.NewTextHandler(&logged, nil))}, self(t, "noisy"))
	first := call(t, set, "pid", "{}")
	if again := call(t, set, "pid", "{}"); again != first {
		t.Errorf("the server was started again: process %s, then %s", first, again)
	}
	text := logged.String()
	for _, kind := range []string{`kind="no JSON"`, `kind="no JSON-RPC"`, `kind="response without an id"`} {
		if n := strings.Count(text, kind+" "); n != 1 {
			t.Errorf("%d log lines with %s, expected 1:\n%s", n, kind, text)
		}
	}
	if !strings.Contains(text, "Noisy server 1.0") || strings.Contains(text, "ghp_") {
		t.Errorf("the log does not show the line, or shows a secret:\n%s", text)
	}
}

// A response that is invalid is an error of its call alone, at once.
func TestInvalidResponses(t *testing.T) {
	for way, server := range map[string]mcptools.Server{"command": self(t, "noisy"), "http": invalidHTTP(t, true), "http, JSON": invalidHTTP(t, false)} {
		t.Run(way, func(t *testing.T) {
			set := start(t, mcptools.Options{}, server)
			first := call(t, set, "pid", "{}")
			for tool, want := range map[string]string{
				"nothing": "the tool server's response is invalid: it has neither result nor error",
				"deep":    "the tool server's response is invalid: it is nested deeper than 1000 levels",
				"number":  "answer not understood: expected an object, not a number",
				"longer":  "the tool server's response is invalid: it is not JSON",
			} {
				_, err := set.Call(t.Context(), tool, nil)
				if err == nil || errors.Is(err, mcptools.ErrServerGone) || !strings.Contains(err.Error(), want) {
					t.Errorf("%s: error %v, expected %q", tool, err, want)
				}
			}
			if again := call(t, set, "pid", "{}"); again != first {
				t.Errorf("the server was started again: process or session %s, then %s", first, again)
			}
		})
	}
}

// A server that ends at once is reported with the lines that it wrote to standard output.
func TestServerThatOnlyWritesToStdout(t *testing.T) {
	for range 20 {
		_, err := mcptools.Start(t.Context(), []mcptools.Server{self(t, "chatty")}, mcptools.Options{})
		if err == nil || !strings.Contains(err.Error(), "exit code 4") || !strings.Contains(err.Error(), "no such database") || strings.Contains(err.Error(), "hunter2") {
			t.Fatalf("error %v, expected the exit code and the line without its password", err)
		}
	}
}

func TestServerThatDoesNotStart(t *testing.T) {
	_, err := mcptools.Start(t.Context(), []mcptools.Server{self(t, "moody"), self(t, "broken")}, mcptools.Options{})
	if err == nil || !strings.Contains(err.Error(), "start tool server broken") || !strings.Contains(err.Error(), "licence has expired") {
		t.Errorf("error %v", err)
	}
	_, err = mcptools.Start(t.Context(), []mcptools.Server{{Command: []string{"/no/such/program"}}}, mcptools.Options{})
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
	_, err = mcptools.Start(t.Context(), []mcptools.Server{{}}, mcptools.Options{})
	if err == nil {
		t.Error("started nothing")
	}
}

func TestStreamableHTTP(t *testing.T) {
	server := moody()
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	var headers []string
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" {
			headers = append(headers, r.Method)
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	set := start(t, mcptools.Options{}, mcptools.Server{URL: web.URL, Header: http.Header{"Authorization": {"Bearer secret"}}})
	if got := call(t, set, "pid", `{}`); got != strconv.Itoa(os.Getpid()) {
		t.Errorf("pid %s", got)
	}
	if err := set.Close(); err != nil {
		t.Error(err)
	}
	if len(headers) > 0 {
		t.Errorf("requests without the header: %v", headers)
	}
}

// Calls in parallel use the connections of earlier ones.
func TestStreamableHTTP_KeepsConnections(t *testing.T) {
	const parallel, waves = 8, 20
	var opened atomic.Int64
	arrived, leave := make(chan struct{}), make(chan struct{})
	server := mcp.NewServer(&mcp.Implementation{Name: "meeting", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "meet", InputSchema: map[string]any{"type": "object"}}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		arrived <- struct{}{}
		<-leave
		return &mcp.CallToolResult{Content: []mcp.Content{}}, nil
	})
	web := httptest.NewUnstartedServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true}))
	web.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			opened.Add(1)
		}
	}
	web.Start()
	t.Cleanup(web.Close)
	set := start(t, mcptools.Options{}, mcptools.Server{URL: web.URL})
	for range waves {
		var calls sync.WaitGroup
		for range parallel {
			calls.Go(func() {
				if _, err := set.Call(t.Context(), "meet", nil); err != nil {
					t.Error(err)
				}
			})
		}
		for range parallel {
			<-arrived
		}
		for range parallel {
			leave <- struct{}{}
		}
		calls.Wait()
	}
	if n := opened.Load(); n > parallel*waves/2 { // a connection may be returned a little after its call
		t.Errorf("%d connections for %d calls", n, parallel*waves)
	}
}

func TestToolsThatChange(t *testing.T) {
	for name, server := range map[string]mcptools.Server{"command": self(t, "moody"), "in process": {InProcess: moody()}} {
		set := start(t, mcptools.Options{}, server)
		call(t, set, "grow", `{}`)
		testkit.Eventually(t, name+" offers the new tool", func() bool {
			res, err := set.Call(t.Context(), "grown", nil)
			return err == nil && res.Text == "yes"
		})
	}
}

func TestFilesystemServerOfTheReferenceImplementation(t *testing.T) {
	path := testkit.FilesystemServer(t)
	dir := docs(t)
	set := start(t, mcptools.Options{}, mcptools.Server{Command: []string{path, dir}})
	if got := call(t, set, "list_directory", `{"path":"`+dir+`"}`); got != "[FILE] deploy.md\n[FILE] notes.txt" {
		t.Errorf("listing %q", got)
	}
	if got := call(t, set, "read_text_file", `{"path":"`+dir+`/deploy.md","head":1}`); got != "# Deploy" {
		t.Errorf("head %q", got)
	}
	for _, tool := range set.Tools() {
		if tool.Name == "write_file" && tool.ReadOnly {
			t.Error("write_file passes as read-only")
		}
	}
}
