package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/pflag"

	reasonerclient "github.com/meup-protocol/meup/client/reasoner"
	"github.com/meup-protocol/meup/client/reasoner/wire"
	"github.com/meup-protocol/meup/internal/agent/llm/models"
	"github.com/meup-protocol/meup/internal/kit/natsembed"
	"github.com/meup-protocol/meup/internal/kit/program"
	"github.com/meup-protocol/meup/internal/testing/programtest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
)

func TestMain(m *testing.M) { programtest.Main(m, "meup-reasoner", main) }

// TestScripts runs the program as a user would.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script", Setup: programtest.Race})
}

// running is the service as a separate process.
type running struct {
	*exec.Cmd
	address string

	stdout  bytes.Buffer // complete after Wait
	reading sync.WaitGroup
	log     testkit.Log
}

var serving = regexp.MustCompile(`msg=serving address=(\S+)`)

// start runs serve on a free port, and returns when it listens.
func start(t *testing.T, env []string, args ...string) *running {
	t.Helper()
	return launch(t, serving, env, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)
}

// launch runs the program, and returns when its log has an address.
func launch(t *testing.T, address *regexp.Regexp, env []string, args ...string) *running {
	t.Helper()
	p := &running{Cmd: exec.Command(programtest.Program(t, "meup-reasoner"), append(args, "--log-level", "debug")...)}
	p.Env, p.Stdout = append(os.Environ(), env...), &p.stdout
	stderr, err := p.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	found := make(chan string, 1)
	p.reading.Go(func() {
		defer close(found)
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			_, _ = io.WriteString(&p.log, lines.Text()+"\n") // never fails
			if m := address.FindStringSubmatch(lines.Text()); m != nil {
				found <- m[1]
			}
		}
	})
	t.Cleanup(func() { _ = p.Process.Kill(); p.reading.Wait(); _ = p.Wait() })
	p.address = <-found
	if p.address == "" {
		t.Fatalf("it ended:\n%s", p.log.String())
	}
	return p
}

func (p *running) ask(t *testing.T, method, path, token, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://"+p.address+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept-Version", "v1")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(raw)
}

const example = `{"session_id":"s1","persona":{},"goal_text":"search project for TODOs"}`

// TestServes covers a run from start to clean shutdown, and checks that no
// secret is printed.
func TestServes(t *testing.T) {
	results := make(chan [2]string, 1)
	receiver := receive(t, results)
	p := start(t, []string{"REASONING_API_TOKEN=old-token,new-token", "MEUP_CALLBACK_SECRET=callback-secret"},
		"--callback-allow", "127.0.0.1")
	status, body := p.ask(t, "POST", "/agent_intent", "new-token", example)
	if status != 200 || !strings.Contains(body, `"tool_name":"context.fts_search","tool_args":{"query":"search project for TODOs"}`) {
		t.Errorf("%d %s", status, body)
	}
	if status, _ := p.ask(t, "POST", "/agent_intent", "", example); status != 401 {
		t.Errorf("without a token: %d", status)
	}
	if status, body := p.ask(t, "GET", "/metrics", "", ""); status != 200 || !strings.Contains(body, `meup_decisions_total{`) ||
		!strings.Contains(body, `meup_reasoner_requests_total{endpoint="/agent_intent",status="200"} 1`) {
		t.Errorf("%d %s", status, body)
	}
	status, body = p.ask(t, "POST", "/agent_intent_async", "old-token", strings.Replace(example, "{", `{"callback_url":"`+receiver+`/?address-secret",`, 1))
	if status != 202 {
		t.Fatalf("%d %s", status, body)
	}
	if got := <-results; !strings.Contains(got[1], `"tool_name":"context.fts_search"`) || got[0] == "" {
		t.Errorf("%v", got)
	}
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.reading.Wait()
	if err := p.Wait(); err != nil {
		t.Errorf("%v\n%s", err, p.log.String())
	}
	for _, secret := range []string{"new-token", "old-token", "callback-secret", "address-secret", "TODOs"} {
		if strings.Contains(p.log.String(), secret) {
			t.Errorf("the log has %s:\n%s", secret, p.log.String())
		}
	}
	if !strings.Contains(p.log.String(), "msg=draining") || !strings.Contains(p.log.String(), "msg=stopped") {
		t.Errorf("log:\n%s", p.log.String())
	}
}

// receive receives one callback and returns its signature, if that is valid,
// and its body.
func receive(t *testing.T, results chan<- [2]string) string {
	t.Helper()
	server := &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		signature := r.Header.Get(wire.SignatureHeader)
		if !wire.Signed([]byte("callback-secret"), r.Header.Get(wire.TimestampHeader), body, signature) {
			signature = ""
		}
		results <- [2]string{signature, string(body)}
	})}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(l) })
	t.Cleanup(func() { _ = server.Close(); serving.Wait() })
	return "http://" + l.Addr().String()
}

func TestMetrics_OwnListener(t *testing.T) {
	p := start(t, nil, "--metrics-listen", "127.0.0.1:0")
	if status, _ := p.ask(t, "GET", "/metrics", "", ""); status != 404 {
		t.Errorf("%d", status)
	}
	m := regexp.MustCompile(`serving metrics" address=(\S+)`).FindStringSubmatch(p.log.String())
	if m == nil {
		t.Fatalf("log:\n%s", p.log.String())
	}
	p.address = m[1]
	if status, body := p.ask(t, "GET", "/metrics", "", ""); status != 200 || !strings.Contains(body, "meup_build_info") {
		t.Errorf("%d %s", status, body)
	}
}

// TestRecords: records of decisions are in a file and on standard output, and
// are restored after a restart.
func TestRecords(t *testing.T) {
	file := filepath.Join(t.TempDir(), "decisions.jsonl")
	env := []string{"REASONING_LOG_FILE=" + file, "REASONING_LOG_STDOUT=1"}
	p := start(t, env)
	if status, body := p.ask(t, "POST", "/agent_intent", "", example); status != 200 {
		t.Fatalf("%d %s", status, body)
	}
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.reading.Wait()
	if err := p.Wait(); err != nil {
		t.Errorf("it ended with %v:\n%s", err, p.log.String())
	}
	raw, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(raw), `"session_id":"s1"`) || !strings.Contains(p.stdout.String(), `"session_id":"s1"`) {
		t.Errorf("%v, file %s, standard output %s", err, raw, &p.stdout)
	}
	p = start(t, env)
	if got := run(t.Context(), program.Process(), []string{"serve", "--listen", "127.0.0.1:0", "--reasoning-log-file", file}); got != program.ExitFailed {
		t.Errorf("a second process has the file of the first one: %d", got)
	}
	if status, body := p.ask(t, "GET", "/reasoning_logs?session_id=s1", "", ""); status != 200 || !strings.Contains(body, `"outcome":"use_tools"`) {
		t.Errorf("%d %s", status, body)
	}
}

// TestWorker_Observed: a worker with --metrics-listen serves its metrics and
// records, to clients with a token.
func TestWorker_Observed(t *testing.T) {
	server, err := natsembed.Start(t.Context(), natsembed.Options{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	address := regexp.MustCompile(`serving metrics" address=(\S+)`)
	p := launch(t, address, []string{"REASONING_API_TOKEN=token"}, "worker", "--nats", server.URL(), "--metrics-listen", "127.0.0.1:0")
	c, err := reasonerclient.NewQueue(reasonerclient.Options{NATSURL: server.URL(), NATSOptions: server.ClientOptions(), Timeout: testkit.Patience})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	testkit.Eventually(t, "the worker has made the queue", func() bool {
		_, err := c.AgentIntent(t.Context(), &wire.AgentIntentRequest{SessionID: "s1", GoalText: "find x", CorrelationID: "c-1"})
		if err != nil && !errors.Is(err, reasonerclient.ErrNoQueue) {
			t.Fatal(err)
		}
		return err == nil
	})
	if status, body := p.ask(t, "GET", "/metrics", "", ""); status != 200 || !strings.Contains(body, "meup_decisions_total") {
		t.Errorf("%d %s", status, body)
	}
	if status, _ := p.ask(t, "GET", "/reasoning_logs", "", ""); status != 401 {
		t.Errorf("%d", status)
	}
	if status, body := p.ask(t, "GET", "/reasoning_logs?correlation_id=c-1", "token", ""); status != 200 || !strings.Contains(body, `"session_id":"s1"`) {
		t.Errorf("%d %s", status, body)
	}
	if status, body := p.ask(t, "GET", "/reasoning_diagnostics", "token", ""); status != 200 || !strings.Contains(body, `"queue":{"queued":0`) {
		t.Errorf("%d %s", status, body)
	}
	if status, _ := p.ask(t, "POST", "/agent_intent", "token", example); status != 404 {
		t.Errorf("%d", status)
	}
}

func TestExitCodes(t *testing.T) {
	for _, test := range []struct {
		args []string
		want int
	}{
		{[]string{"version"}, program.ExitOK},
		{[]string{"fly"}, program.ExitUsage},
		{[]string{"serve", "--listen", "nowhere"}, program.ExitUsage},
		{[]string{"serve", "--listen", "192.0.2.1:1"}, program.ExitFailed},
	} {
		t.Run(strings.Join(test.args, " "), func(t *testing.T) {
			if got := run(t.Context(), program.Process(), test.args); got != test.want {
				t.Errorf("%v: exit code %d, want %d", test.args, got, test.want)
			}
		})
	}
}

func TestKeys_OwnProviderOnly(t *testing.T) {
	t.Setenv("MEUP_MODEL_KEY", "any-key")
	t.Setenv("OPENAI_API_KEY", "")
	f := commonFlags{model: "anthropic:own", baseURL: "http://127.0.0.1:1"}
	if _, err := f.open("openai:gpt", "", nil); err == nil || strings.Contains(err.Error(), "any-key") {
		t.Errorf("the key for any provider goes to one that a request names: %v", err)
	}
	if _, err := f.open("openai:gpt", "of-the-request", nil); err != nil {
		t.Error(err)
	}
	if _, err := f.open("anthropic:other", "", nil); err != nil {
		t.Error(err)
	}
	for _, test := range []struct {
		a, b string
		want bool
	}{{"a:x", "a:y", true}, {"a:x", "b:x", false}, {"a:x", "", false}, {"", "", false}} {
		if models.SameProvider(test.a, test.b) != test.want {
			t.Errorf("%v", test)
		}
	}
}

// TestLocalProviders checks that a request reaches this host only if the
// operator allows it.
func TestLocalProviders(t *testing.T) {
	for _, test := range []struct {
		f    commonFlags
		name string
		want bool
	}{
		{commonFlags{}, "ollama:a", false},
		{commonFlags{}, "lmstudio:a", false},
		{commonFlags{model: "openai:gpt"}, "lmstudio:a", false},
		{commonFlags{model: "ollama:own"}, "ollama:a", true},
		{commonFlags{model: "ollama:own"}, "lmstudio:a", false},
		{commonFlags{model: "openai:gpt", allowLocal: []string{"lmstudio"}}, "lmstudio:a", true},
	} {
		t.Run(test.f.model+" asked for "+test.name, func(t *testing.T) {
			if _, err := test.f.open(test.name, "a-key", nil); (err == nil) != test.want {
				t.Errorf("%+v, %s: %v", test.f, test.name, err)
			}
		})
	}
	if err := (&commonFlags{modelTimeout: 1, allowLocal: []string{"openai"}}).check(); err == nil {
		t.Error("openai is taken for a local provider")
	}
}

// TestEnvironment: variables of the API are honored or rejected; the ones that
// Kubernetes sets for services are ignored.
func TestEnvironment(t *testing.T) {
	for _, test := range []struct {
		variable, value string
		want            string // in the error; "": none
	}{
		{"REASONING_LOG_LEVEL", "WARN", ""},
		{"REASONING_LOG_LEVEL", "loud", "--log-level"},
		{"REASONING_LOG_FORMAT", "json", "REASONING_LOG_FORMAT is unknown"},
		{"REASONING_LOG_FORMAT", "", ""},
		{"REASONING_QUEUE_POLL_MS", "50", ""},
		{"REASONING_QUEUE_WORKER_COUNT", "2", "REASONING_QUEUE_WORKER_COUNT is unknown"},
		{"REASONING_API_TIMEOUT_MS", "50", ""},
		{"REASONING_API_PORT_9000_TCP_ADDR", "10.0.0.1", ""},
		{"REASONING_QUEUE_SERVICE_HOST", "10.0.0.1", ""},
		{"REASONING_TRANSPORT", "mongo", "not supported"},
		{"REASONING_TRANSPORT", "carrier", "expected http or nats"},
		{"REASONING_TRANSPORT", "nats", ""},
	} {
		t.Run(test.variable+"="+test.value, func(t *testing.T) {
			t.Setenv(test.variable, test.value)
			var f serveFlags
			f.register(pflag.NewFlagSet("serve", pflag.ContinueOnError))
			err := f.check()
			if err == nil {
				_, err = f.logger()
			}
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v", err)
			}
			if level := "info"; test.variable == "REASONING_LOG_LEVEL" && err == nil && f.logLevel == level {
				t.Errorf("the level is %s", f.logLevel)
			}
		})
	}
}

// TestEnvironment_Ignored: variables of earlier implementations without effect
// are in the log.
func TestEnvironment_Ignored(t *testing.T) {
	t.Setenv("MONGO_URI", "mongodb://user:password@host")
	t.Setenv("UVICORN_WORKERS", "4")
	t.Setenv("REASONING_QUEUE_POLL_MS", "50")
	t.Setenv("UVICORN_HOST", "127.0.0.1")
	var log bytes.Buffer
	warnIgnored(slog.New(slog.NewTextHandler(&log, nil)))
	if text := log.String(); strings.Count(text, "has no effect") != 3 || !strings.Contains(text, "name=MONGO_URI") || !strings.Contains(text, "name=REASONING_QUEUE_POLL_MS") || strings.Contains(text, "password") {
		t.Errorf("%s", text)
	}
}

// TestDiagnostics_Defaults: the diagnostics show the settings in effect.
func TestDiagnostics_Defaults(t *testing.T) {
	p := start(t, nil)
	if status, body := p.ask(t, "GET", "/reasoning_diagnostics", "", ""); status != 200 || !strings.Contains(body, `"context_tokens":128000`) {
		t.Errorf("%d %s", status, body)
	}
}

func TestListen_Environment(t *testing.T) {
	t.Setenv("UVICORN_HOST", "::1")
	t.Setenv("UVICORN_PORT", "9123")
	var f serveFlags
	f.register(pflag.NewFlagSet("serve", pflag.ContinueOnError))
	if f.listen != "[::1]:9123" {
		t.Error(f.listen)
	}
}

// TestServe_QueueOutOfReach checks that the service answers while NATS is
// unavailable, and accepts asynchronous requests once it is available.
func TestServe_QueueOutOfReach(t *testing.T) {
	address := testkit.FreeAddress(t)
	results := make(chan [2]string, 1)
	receiver := receive(t, results)
	p := start(t, nil, "--nats", "nats://"+address, "--callback-allow", "127.0.0.1")
	if status, body := p.ask(t, "GET", "/healthz", "", ""); status != 200 {
		t.Errorf("/healthz: %d %s", status, body)
	}
	if status, body := p.ask(t, "POST", "/agent_intent", "", example); status != 200 {
		t.Errorf("/agent_intent: %d %s", status, body)
	}
	async := strings.TrimSuffix(example, "}") + `,"callback_url":"` + receiver + `"}`
	if status, body := p.ask(t, "POST", "/agent_intent_async", "", async); status != 503 {
		t.Errorf("/agent_intent_async: %d %s", status, body)
	}
	server, err := natsembed.Start(t.Context(), natsembed.Options{Dir: t.TempDir(), Listen: address})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	testkit.Eventually(t, "asynchronous requests are accepted", func() bool { // another process has to notice
		status, _ := p.ask(t, "POST", "/agent_intent_async", "", async)
		return status == 202
	})
	<-results
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.reading.Wait()
	if err := p.Wait(); err != nil {
		t.Errorf("it ended with %v:\n%s", err, p.log.String())
	}
}
