package mcptools_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meup-protocol/meup/internal/agent/mcptools"
	"github.com/meup-protocol/meup/internal/testing/testkit"
)

// preciseResult contains numbers that a float64 cannot represent.
const preciseResult = `{"id":9007199254740993,"price":0.10000000000000000001}`

const revisionsEnv = "MEUP_TEST_REVISIONS"

// revisions are the revisions that a server in its own process supports.
func revisions() []string {
	if list := os.Getenv(revisionsEnv); list != "" {
		return strings.Split(list, ",")
	}
	return nil
}

func serveHTTP(addr string, s *mcp.Server) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{
		Stateless: slices.Contains(revisions(), newest),
	})
	return (&http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}).Serve(l)
}

func web(t *testing.T, s *mcp.Server, opts *mcp.StreamableHTTPOptions) mcptools.Server {
	t.Helper()
	srv := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, opts))
	t.Cleanup(srv.Close)
	return mcptools.Server{URL: srv.URL}
}

// ways are the transports to a server that supports the given revisions.
func ways(t *testing.T, revisions ...string) map[string]mcptools.Server {
	t.Helper()
	command := self(t, "moody")
	command.Env = append(command.Env, revisionsEnv+"="+strings.Join(revisions, ","))
	all := map[string]mcptools.Server{
		"command":              command,
		"in process":           {InProcess: moody(revisions...)},
		"http":                 web(t, moody(revisions...), nil),
		"http, JSON":           web(t, moody(revisions...), &mcp.StreamableHTTPOptions{JSONResponse: true}),
		"http, no state":       web(t, moody(revisions...), &mcp.StreamableHTTPOptions{Stateless: true}),
		"http, no state, JSON": web(t, moody(revisions...), &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true}),
	}
	if slices.Equal(revisions, []string{newest}) { // has no state over HTTP
		delete(all, "http")
		delete(all, "http, JSON")
	}
	return all
}

const newest = "2026-07-28"

// heard collects the notifications of a server.
type heard chan string

func (h heard) options() mcptools.Options {
	return mcptools.Options{OnNotice: func(method string, _ mcp.Params) { h <- method }}
}

// await returns when the server has sent the notification.
func (h heard) await(t *testing.T, method string) {
	t.Helper()
	timeout := time.After(testkit.Patience)
	for {
		select {
		case got := <-h:
			if got == method {
				return
			}
		case <-timeout:
			t.Fatalf("the server has not said %s", method)
		}
	}
}

// Every revision of MCP over every transport: the negotiated revision, a call,
// and notifications.
func TestRevisions(t *testing.T) {
	for _, revision := range mcp.SupportedProtocolVersions() {
		for way, server := range ways(t, revision) {
			t.Run(revision+" "+way, func(t *testing.T) { tryRevision(t, server, revision, way) })
		}
	}
}

func tryRevision(t *testing.T, server mcptools.Server, revision, way string) {
	h := make(heard, 100)
	set := start(t, h.options(), server)
	if got := revisionOf(t, set); got != revision {
		t.Errorf("speaks %s", got)
	}
	res, err := set.Call(t.Context(), "precise", nil)
	if err != nil || !strings.Contains(string(res.JSON), preciseResult) {
		t.Errorf("result %s, %v", res.JSON, err)
	}
	if _, err := set.Call(t.Context(), "fly", nil); !errors.Is(err, mcptools.ErrUnknownTool) {
		t.Errorf("unknown tool: %v", err)
	}
	if strings.HasPrefix(way, "http, no state") && revision != newest {
		return // no notifications there
	}
	call(t, set, "grow", `{}`)
	h.await(t, "notifications/tools/list_changed")
	_, err = set.Do(t.Context(), func(ctx context.Context, session *mcp.ClientSession) (mcp.Result, error) {
		return nil, session.Subscribe(ctx, &mcp.SubscribeParams{URI: "mood://now"})
	})
	if err != nil {
		t.Fatal(err)
	}
	eventuallyHears(t, h, "notifications/resources/updated", func() { call(t, set, "change", `{}`) })
}

// eventuallyHears repeats an action until the server has sent the notification:
// a subscription of 2026-07-28 takes effect some time after the request.
func eventuallyHears(t *testing.T, h heard, method string, do func()) {
	t.Helper()
	testkit.Eventually(t, "the server says "+method, func() bool {
		do()
		for {
			select {
			case got := <-h:
				if got == method {
					return true
				}
			default:
				return false
			}
		}
	})
}

func revisionOf(t *testing.T, set *mcptools.Set) string {
	t.Helper()
	var revision string
	result, err := set.Do(t.Context(), func(_ context.Context, session *mcp.ClientSession) (mcp.Result, error) {
		revision = session.InitializeResult().ProtocolVersion
		return nil, nil
	})
	if err != nil || string(result.JSON) != "{}" {
		t.Fatalf("%s, %v", result.JSON, err)
	}
	return revision
}

// Both the server and the client may be limited to an older revision.
func TestOlderRevisionIsAskedFor(t *testing.T) {
	for way, server := range ways(t) {
		set := start(t, mcptools.Options{Protocol: "2025-06-18"}, server)
		if got := revisionOf(t, set); got != "2025-06-18" {
			t.Errorf("%s: speaks %s", way, got)
		}
	}
}

// A server's errors are returned unchanged, also with the codes that the SDK
// uses for the end of the connection.
func TestRefusalsPassAsTheyAre(t *testing.T) {
	for way, server := range ways(t) {
		set := start(t, mcptools.Options{}, server)
		before := call(t, set, "pid", `{}`)
		for _, code := range []int64{-32602, -32000, -32003, -32004, -32005, 17} {
			if strings.HasPrefix(way, "http") && (code == -32003 || code == -32004) {
				continue // see TestCodesOfTheSDKOverHTTP
			}
			_, err := set.Call(t.Context(), "refuse", json.RawMessage(`{"code":`+strconv.FormatInt(code, 10)+`}`))
			var refusal *jsonrpc.Error
			if !errors.As(err, &refusal) || refusal.Code != code || refusal.Message != "not today" || string(refusal.Data) != `{"until":9007199254740993}` {
				t.Errorf("%s: %d: %v", way, code, err)
			}
		}
		if after := call(t, set, "pid", `{}`); after != before {
			t.Errorf("%s: the server was started again", way)
		}
	}
}

// Over HTTP the SDK treats two codes of a server as the end of the connection.
// They cannot be distinguished there, but the server remains usable.
func TestCodesOfTheSDKOverHTTP(t *testing.T) {
	set := start(t, mcptools.Options{}, ways(t)["http"])
	if _, err := set.Call(t.Context(), "refuse", json.RawMessage(`{"code":-32004}`)); !errors.Is(err, mcptools.ErrServerGone) {
		t.Errorf("error %v", err)
	}
	call(t, set, "pid", `{}`)
}

func TestHugeResultsAndHangs(t *testing.T) {
	for way, server := range ways(t) {
		set := start(t, mcptools.Options{}, server)
		if way == "http" || way == "http, no state" { // TestHugeResult has a command
			if res, err := set.Call(t.Context(), "huge", nil); err != nil || len(res.Text) != 10<<20 || len(res.JSON) < 10<<20 {
				t.Errorf("%s: %d bytes, %v", way, len(res.Text), err)
			}
		}
		if !strings.HasPrefix(way, "http, no state") { // the cancellation does not reach it there, and the call would remain
			hangs(t, set)
		}
		call(t, set, "pid", `{}`)
	}
}

// hangs cancels a call that does not end.
func hangs(t *testing.T, set *mcptools.Set) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := set.Call(ctx, "hang", nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
}

// A server is killed during a call: the call fails, and the next one uses a new
// process.
func TestKilledInTheMiddleOfACall(t *testing.T) {
	for _, revision := range []string{"2026-07-28", "2025-11-25"} {
		restarted := make(chan struct{}, 10)
		server := self(t, "moody")
		server.Env = append(server.Env, revisionsEnv+"="+revision)
		h := make(heard, 100)
		opts := h.options()
		opts.OnRestart = func() { restarted <- struct{}{} }
		set := start(t, opts, server)
		before := call(t, set, "pid", `{}`)
		ended := hang(t, set, h)
		kill(t, before)
		if err := <-ended; !errors.Is(err, mcptools.ErrServerGone) {
			t.Errorf("%s: the call under way: %v", revision, err)
		}
		if after := call(t, set, "pid", `{}`); after == before {
			t.Errorf("%s: still %s", revision, after)
		}
		<-restarted
	}
}

// hang starts a call that does not end, and returns when it is in progress.
func hang(t *testing.T, set *mcptools.Set, h heard) <-chan error {
	t.Helper()
	ended := make(chan error, 1)
	go func() {
		_, err := set.Do(context.Background(), func(ctx context.Context, session *mcp.ClientSession) (mcp.Result, error) {
			params := &mcp.CallToolParams{Name: "hang"}
			params.SetProgressToken("hanging")
			return session.CallTool(ctx, params)
		})
		ended <- err
	}()
	h.await(t, "notifications/progress")
	return ended
}

func kill(t *testing.T, pid string) {
	t.Helper()
	n, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(n, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

// The same over HTTP, where only the server's operator restarts it.
func TestKilledOverHTTP(t *testing.T) {
	for _, revision := range []string{"2026-07-28", "2025-11-25"} {
		addr := testkit.FreeAddress(t)
		first := program(t, revision, addr)
		h := make(heard, 1000)
		opts := h.options()
		opts.CallTimeout = testkit.Patience
		set := start(t, opts, mcptools.Server{URL: "http://user:hush@" + addr + "/mcp?key=hush"})
		call(t, set, "pid", `{}`)
		hangs(t, set)
		ended := hang(t, set, h)
		kill(t, strconv.Itoa(first.Process.Pid))
		_ = first.Wait()
		if err := <-ended; !errors.Is(err, mcptools.ErrServerGone) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: the call under way: %v", revision, err)
		}
		if _, err := set.Call(t.Context(), "pid", nil); !errors.Is(err, mcptools.ErrServerGone) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: while it is away: %v", revision, err)
		}
		program(t, revision, addr)
		testkit.Eventually(t, revision+": a call works again", func() bool {
			_, err := set.Call(t.Context(), "pid", nil)
			return err == nil
		})
		eventuallyHears(t, h, "notifications/tools/list_changed", func() { _, _ = set.Call(t.Context(), "grow", nil) })
	}
}

// program starts a server in its own process, and waits until it listens.
func program(t *testing.T, revision, addr string) *exec.Cmd {
	t.Helper()
	server := self(t, "moody-http", addr)
	cmd := exec.Command(server.Command[0], server.Command[1:]...)
	cmd.Env = append(server.Env, revisionsEnv+"="+revision)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	testkit.Eventually(t, "the server listens", func() bool {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", addr)
		if err != nil {
			return false
		}
		return conn.Close() == nil
	})
	return cmd
}

func TestDoWantsOneServer(t *testing.T) {
	op := func(context.Context, *mcp.ClientSession) (mcp.Result, error) { return nil, nil }
	set := start(t, mcptools.Options{}, mcptools.Server{InProcess: moody()}, mcptools.Server{InProcess: moody()})
	if _, err := set.Do(t.Context(), op); err == nil {
		t.Error("asked one of two")
	}
	one := start(t, mcptools.Options{}, mcptools.Server{InProcess: moody()})
	_ = one.Close()
	if _, err := one.Do(t.Context(), op); !errors.Is(err, mcptools.ErrClosed) {
		t.Errorf("after close: %v", err)
	}
}
