package acp_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/agent"
	"github.com/meup-protocol/meup/internal/agent/acp"
	"github.com/meup-protocol/meup/internal/agent/intake"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

func TestMain(m *testing.M) {
	if os.Getenv("FAKE_AGENT") != "" {
		runFake()
		os.Exit(0)
	}
	testkit.Main(m)
}

const config = `
limits: {rate: 100000, burst: 100000, bytes_per_second: 1GiB, message_bytes: 1MiB, connections: 64, open_contexts: 100000, context_depth: 5}
spaces:
  lab:
    participants:
      alice: {token: alice-token, capabilities: ["*"]}
      bob: {token: bob-token, capabilities: ["*"]}
      claude: {token: claude-token, capabilities: [chat, "chat/*", "reasoning/*", "stream/*", mcp.proposal, mcp.withdraw, mcp.response, "participant/*",
        {kind: mcp.request, payload: {method: tools/call, params: {name: execute}}}]}
`

// lab is a space with an agent.
type lab struct {
	t    *testing.T
	g    *meuptest.Gateway
	api  *api.Client
	stop func()
	log  *testkit.Log
}

func start(t *testing.T, set ...func(*acp.Options, *agent.Options)) *lab {
	t.Helper()
	t.Setenv("FAKE_AGENT", "1")
	l := &lab{t: t, g: meuptest.Start(t, config)}
	l.api = l.g.API(t, "alice")
	l.employ(set...)
	return l
}

// employ starts an agent with the token of claude.
func (l *lab) employ(set ...func(*acp.Options, *agent.Options)) {
	l.t.Helper()
	l.log = &testkit.Log{}
	log := slog.New(slog.NewTextHandler(l.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	self, err := os.Executable()
	if err != nil {
		l.t.Fatal(err)
	}
	o := acp.Options{Command: []string{self}, Env: os.Environ(), Dir: l.t.TempDir(), CallDelay: testkit.Patience, CancelGrace: testkit.Patience, Log: log}
	c, err := client.Dial(testkit.Deadline(l.t), client.Options{URL: l.g.URL("lab"), Token: "claude-token", Backoff: client.Backoff{Min: time.Millisecond, Max: 20 * time.Millisecond}})
	if err != nil {
		l.t.Fatal(err)
	}
	a := agent.Options{Space: c, ShowThinking: true, OwnToolsOnly: true, CatchUp: intake.CatchUpAuto, History: l.g.API(l.t, "claude"), WatchInterval: 50 * time.Millisecond, Logger: log}
	for _, f := range set {
		f(&o, &a)
	}
	solver, err := acp.Start(testkit.Deadline(l.t), o)
	if err != nil {
		l.t.Fatal(err)
	}
	a.Solver = solver
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- agent.New(a).Run(ctx) }()
	ended := false
	l.stop = func() {
		if ended {
			return
		}
		ended = true
		cancel()
		if err := <-done; err != nil {
			l.t.Error(err)
		}
		_ = c.Close()
		solver.Close()
		if l.t.Failed() {
			l.t.Log(l.log.String())
		}
	}
	l.t.Cleanup(l.stop)
}

// send sends an envelope of a participant; it returns its id.
func (l *lab) send(who string, e protocol.Envelope) protocol.ID {
	l.t.Helper()
	r, err := l.g.API(l.t, who).Send(testkit.Deadline(l.t), "lab", e)
	if err != nil {
		l.t.Fatal(err)
	}
	return r.ID
}

func (l *lab) ask(script string) protocol.ID { return l.chat(script) }

func (l *lab) chat(message string, re ...protocol.ID) protocol.ID {
	e := protocol.Envelope{Kind: protocol.KindChat, Payload: protocol.AppendString([]byte(`{"message":`), message)}
	e.Payload = append(e.Payload, '}')
	if len(re) > 0 {
		e.Correlation = protocol.CorrelateTo(re[0])
	}
	return l.send("alice", e)
}

// all returns the log.
func (l *lab) all() []protocol.Envelope {
	l.t.Helper()
	var list []protocol.Envelope
	q := api.EnvelopeQuery{Limit: 1000}
	for {
		page, err := l.api.Envelopes(testkit.Deadline(l.t), "lab", q)
		if err != nil {
			l.t.Fatal(err)
		}
		list = append(list, page.Envelopes...)
		if !page.HasMore {
			return list
		}
		q.Since = page.Next
	}
}

// await waits for an envelope.
func (l *lab) await(what string, is func(*protocol.Envelope) bool) *protocol.Envelope {
	l.t.Helper()
	var found *protocol.Envelope
	defer func() {
		if found == nil {
			l.t.Log(l.story(), l.log.String())
		}
	}()
	testkit.Eventually(l.t, what, func() bool {
		list := l.all()
		for i := range list {
			if is(&list[i]) {
				found = &list[i]
				return true
			}
		}
		return false
	})
	return found
}

func (l *lab) awaitKind(kind protocol.Kind) *protocol.Envelope {
	l.t.Helper()
	return l.await(string(kind), func(e *protocol.Envelope) bool { return e.Kind == kind && e.From == "claude" })
}

// answer waits for the answer to a question.
func (l *lab) answer(question protocol.ID) string {
	l.t.Helper()
	answer := l.await("answer", func(e *protocol.Envelope) bool {
		return e.Kind == protocol.KindChat && e.From == "claude" && e.Correlation.Names(question)
	})
	return answer.ParsePayload().Get("message").Text()
}

// story renders the log: one line for each envelope, with places in the log instead of ids.
func (l *lab) story() string {
	l.t.Helper()
	var b strings.Builder
	names := make(map[protocol.ID]string)
	for i, e := range l.all() {
		names[e.ID] = fmt.Sprintf("#%d", i+1)
		fmt.Fprintf(&b, "#%d %s %s", i+1, e.From, e.Kind)
		if len(e.To) > 0 {
			fmt.Fprintf(&b, " to %v", e.To)
		}
		if e.Context != "" {
			fmt.Fprintf(&b, " in %s", names[protocol.ID(e.Context.Last())])
		}
		for _, id := range e.Correlation.IDs {
			fmt.Fprintf(&b, " re %s", names[id])
		}
		text := string(e.Payload)
		for id, name := range names {
			text = strings.ReplaceAll(text, string(id), name)
		}
		fmt.Fprintf(&b, " %s\n", text)
	}
	return b.String()
}

// check compares the story with lines that it must have, in this order.
func (l *lab) check(want ...string) {
	l.t.Helper()
	story := l.story()
	rest := story
	for _, line := range want {
		_, after, ok := strings.Cut(rest, line)
		if !ok {
			l.t.Errorf("missing %q in\n%s", line, story)
			return
		}
		rest = after
	}
}

// closed checks that each context is closed, each call has one response, and each proposal
// is settled.
func (l *lab) closed() {
	l.t.Helper()
	open, answers := make(map[protocol.ID]string), make(map[protocol.ID]int)
	for _, e := range l.all() {
		switch e.Kind {
		case protocol.KindReasoningStart, protocol.KindMCPRequest, protocol.KindMCPProposal:
			open[e.ID] = string(e.Kind)
		case protocol.KindReasoningConclusion, protocol.KindReasoningCancel:
			delete(open, protocol.ID(e.Context.Last()))
		}
		for _, id := range e.Correlation.IDs {
			switch {
			case e.Kind == protocol.KindMCPResponse:
				answers[id]++
				if answers[id] > 1 {
					l.t.Errorf("%d responses to %s", answers[id], id)
				}
				delete(open, id)
			case open[id] == string(protocol.KindMCPProposal) && e.Kind != protocol.KindMCPResponse:
				delete(open, id)
			}
		}
	}
	if len(open) > 0 {
		l.t.Errorf("open: %v\n%s", open, l.story())
	}
}

// pipe returns the path of a named pipe, and a function that ends the wait of the program
// that opens it.
func (l *lab) pipe() (path string, open func()) {
	l.t.Helper()
	path = filepath.Join(l.t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		l.t.Fatal(err)
	}
	return path, func() {
		f, err := os.OpenFile(path, os.O_RDWR, 0) // does not wait for the program
		if err != nil {
			l.t.Error(err)
			return
		}
		l.t.Cleanup(func() { _ = f.Close() })
	}
}
