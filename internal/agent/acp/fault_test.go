package acp_test

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/agent"
	"github.com/meup-protocol/meup/internal/agent/acp"
	"github.com/meup-protocol/meup/internal/exchange"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// A program that cannot be used is reported when it starts, with what it wrote.
func TestStart_Faults(t *testing.T) {
	t.Setenv("FAKE_AGENT", "1")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		command []string
		env     string
		want    string
	}{
		"missing":    {[]string{"/no/such/program"}, "", "no such file"},
		"exits":      {[]string{self}, "FAKE_START=exit", "no license"},
		"silent":     {[]string{self}, "FAKE_START=silent", "it did not answer in time"},
		"not ACP":    {[]string{"yes"}, "", "not the Agent Client Protocol"},
		"no newline": {[]string{"sh", "-c", "cat /dev/zero"}, "", "longer than 8 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			o := acp.Options{
				Command: test.command, Env: append(os.Environ(), test.env), Dir: t.TempDir(), StartTimeout: testkit.Patience, CancelGrace: time.Second,
				Log: slog.New(slog.DiscardHandler),
			}
			if name == "silent" {
				o.StartTimeout = 100 * time.Millisecond
			}
			_, err := acp.Start(testkit.Deadline(t), o)
			var fault *acp.Fault
			if err == nil || !strings.Contains(err.Error(), test.want) || !errors.As(err, &fault) || strings.Contains(fault.Public(), test.want) {
				t.Errorf("%v", err)
			}
		})
	}
}

// A program that fails in a question ends it with a reason, and works on the next one.
func TestTurn_ProgramFails(t *testing.T) {
	for script, want := range map[string]string{
		"begin a;die":     "the agent program ended while it worked on this",
		"begin a;garbage": "the agent program broke its protocol: the output is not the Agent Client Protocol",
		"begin a;huge":    "the agent program broke its protocol: a message is longer than 8 MiB",
	} {
		t.Run(script, func(t *testing.T) {
			l := start(t)
			if got := l.answer(l.ask(script)); got != "I have stopped looking into this: "+want+"." {
				t.Errorf("answer %q", got)
			}
			l.check("claude mcp.request", "claude mcp.response", "may have taken effect", "claude reasoning.cancel")
			if got := l.answer(l.ask("say I am back.")); got != "I am back." {
				t.Errorf("answer %q", got)
			}
			l.closed()
		})
	}
}

// A session that the program refuses is explained without its texts.
func TestTurn_LoginNeeded(t *testing.T) {
	l := start(t, func(o *acp.Options, _ *agent.Options) { o.Env = append(o.Env, "FAKE_START=login") })
	if got := l.answer(l.ask("say hi")); !strings.Contains(got, "needs a login") || strings.Contains(l.story(), "secret") {
		t.Errorf("answer %q", got)
	}
	l.closed()
}

// A mode that the program does not have is reported, not left out.
func TestTurn_UnknownMode(t *testing.T) {
	l := start(t, func(o *acp.Options, _ *agent.Options) { o.Mode = "careful" })
	if got := l.answer(l.ask("say hi")); !strings.Contains(got, `has no mode "careful"`) || strings.Contains(l.story(), "secret") {
		t.Errorf("answer %q", got)
	}
	l.closed()
}

// Processes that the program started end with it.
func TestClose_Children(t *testing.T) {
	l := start(t)
	pid := 0
	for _, c := range l.answer(l.ask("fork")) {
		pid = 10*pid + int(c-'0')
	}
	l.stop()
	testkit.Eventually(t, "end of the child", func() bool { return syscall.Kill(pid, 0) != nil })
}

// cancellation ends a question in each of its ways.
func TestTurn_Canceled(t *testing.T) {
	for name, test := range map[string]struct {
		script string
		cancel func(l *lab, q protocol.ID, context protocol.ContextPath)
		want   []string
	}{
		"question withdrawn": {"begin a;wait", func(l *lab, q protocol.ID, _ protocol.ContextPath) {
			l.send("alice", protocol.Envelope{Kind: protocol.KindChatCancel, Correlation: protocol.CorrelateTo(q)})
		}, []string{"claude mcp.response", "claude reasoning.cancel", "cancelled by alice"}},
		"context canceled": {"begin a;wait", func(l *lab, _ protocol.ID, c protocol.ContextPath) {
			l.send("bob", protocol.Envelope{Kind: protocol.KindReasoningCancel, Context: c})
		}, []string{"bob reasoning.cancel", "claude mcp.response", "I have stopped looking into this: cancelled by bob"}},
		"program that does not end": {"begin a;hang", func(l *lab, q protocol.ID, _ protocol.ContextPath) {
			l.send("alice", protocol.Envelope{Kind: protocol.KindChatCancel, Correlation: protocol.CorrelateTo(q)})
		}, []string{"claude mcp.response", "claude reasoning.cancel"}},
		"permission": {"ask a", func(l *lab, q protocol.ID, _ protocol.ContextPath) {
			l.awaitKind(protocol.KindMCPProposal)
			l.send("alice", protocol.Envelope{Kind: protocol.KindChatCancel, Correlation: protocol.CorrelateTo(q)})
		}, []string{"claude mcp.withdraw", "no_longer_needed", "claude reasoning.cancel"}},
		"shutdown": {"begin a;wait", func(l *lab, _ protocol.ID, _ protocol.ContextPath) {
			l.stop()
		}, []string{"claude mcp.response", "claude reasoning.cancel", "shutting down"}},
	} {
		t.Run(name, func(t *testing.T) {
			l := start(t, func(o *acp.Options, _ *agent.Options) {
				if test.script == "begin a;hang" {
					o.CancelGrace = time.Millisecond
				}
			})
			q := l.ask(test.script)
			s := l.awaitKind(protocol.KindReasoningStart)
			if strings.HasPrefix(test.script, "begin") {
				l.awaitKind(protocol.KindMCPRequest)
			}
			test.cancel(l, q, protocol.ContextPath(s.ID))
			last := test.want[len(test.want)-1]
			testkit.Eventually(t, last, func() bool { return strings.Contains(l.story(), last) })
			l.check(test.want...)
			l.closed()
			if name != "shutdown" {
				if got := l.answer(l.ask("say I am back.")); got != "I am back." {
					t.Errorf("answer %q", got)
				}
			}
		})
	}
}

// A pause cancels the prompt, since the program runs its tools itself. The work goes on
// after it.
func TestTurn_Paused(t *testing.T) {
	l := start(t)
	q := l.ask("say First.;begin a;wait")
	l.awaitKind(protocol.KindMCPRequest)
	l.send("bob", protocol.Envelope{Kind: protocol.KindParticipantPause, To: []protocol.ParticipantID{"claude"}})
	l.send("bob", protocol.Envelope{Kind: protocol.KindParticipantResume, To: []protocol.ParticipantID{"claude"}})
	if got := l.answer(q); !strings.Contains(got, "prompt 2 was: Your work was paused") {
		t.Errorf("answer %q", got)
	}
	l.closed()
}

// The prompt of a paused participant is canceled at once, also if as much waits to be
// published as may.
func TestTurn_PausedWhileFlooding(t *testing.T) {
	l := start(t)
	canceled := filepath.Join(t.TempDir(), "canceled")
	q := l.ask("chatter " + canceled)
	testkit.Eventually(t, "a flood of thoughts", func() bool { return len(l.all()) > 400 })
	l.send("bob", protocol.Envelope{Kind: protocol.KindParticipantPause, To: []protocol.ParticipantID{"claude"}})
	testkit.Eventually(t, "cancel of the prompt", func() bool { _, err := os.Stat(canceled); return err == nil })
	l.send("bob", protocol.Envelope{Kind: protocol.KindParticipantResume, To: []protocol.ParticipantID{"claude"}})
	if got := l.answer(q); !strings.Contains(got, "prompt 2 was: Your work was paused") {
		t.Errorf("answer %q", got)
	}
	l.closed()
}

// A gateway that restarts in the middle of a prompt loses and doubles nothing.
func TestTurn_GatewayRestarts(t *testing.T) {
	l := start(t, func(o *acp.Options, _ *agent.Options) { o.CancelGrace = time.Millisecond }) // it does not end the prompt
	path, open := l.pipe()
	q := l.ask("say Before.;begin a;until " + path + ";run b;say After.")
	l.awaitKind(protocol.KindMCPRequest)
	l.g.Restart()
	open()
	if got := l.answer(q); got != "After." {
		t.Errorf("answer %q", got)
	}
	l.check("Before.", "claude mcp.request", "claude mcp.request", "claude mcp.response", "claude reasoning.conclusion", `{"message":"After."`)
	l.closed()
}

// A decision about a permission arrives after a restart of the gateway too.
func TestPermission_GatewayRestarts(t *testing.T) {
	l := start(t)
	q := l.ask("ask b.txt")
	p := l.awaitKind(protocol.KindMCPProposal)
	l.g.Restart()
	e, err := exchange.Approval(p, "approved", "")
	if err != nil {
		t.Fatal(err)
	}
	l.send("bob", e)
	if got := l.answer(q); got != "outcome once." {
		t.Errorf("answer %q", got)
	}
	l.closed()
}

// Two processes with one token answer a question once.
func TestTwins(t *testing.T) {
	l := start(t)
	stop := l.stop
	l.employ()
	q := l.ask("begin a;say Once.")
	l.answer(q)
	l.stop()
	stop()
	if n := strings.Count(l.story(), `claude chat re`); n != 1 {
		t.Errorf("%d answers\n%s", n, l.story())
	}
	if n := strings.Count(l.story(), `claude mcp.request`); n != 1 {
		t.Errorf("%d calls\n%s", n, l.story())
	}
	l.closed()
}

// A process that ends with a question open closes its work; the next one answers, and
// knows the calls.
func TestCatchUp(t *testing.T) {
	l := start(t, func(o *acp.Options, _ *agent.Options) { o.CancelGrace = time.Millisecond }) // it does not end the prompt
	path, open := l.pipe()
	q := l.ask("run a.txt;head;until " + path)
	l.awaitKind(protocol.KindMCPResponse)
	l.stop()
	open()
	l.employ()
	l.answer(q)
	l.check("claude reasoning.cancel", "claude reasoning.start re #1", `{\"tool\":\"execute\",\"arguments\":\"{\\\"path\\\":\\\"a.txt\\\"}\",\"result\":\"ran a.txt\"}`)
	l.closed()
}
