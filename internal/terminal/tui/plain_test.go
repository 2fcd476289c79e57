package tui_test

import (
	"bytes"
	"context"
	"io"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/agent"
	"github.com/meup-protocol/meup/internal/terminal/tui"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
)

// lines is a terminal of lines: a pipe as input, and the output.
type lines struct {
	t     *testing.T
	in    *io.PipeWriter
	ended chan error

	mu      sync.Mutex
	written bytes.Buffer
	changed chan struct{}
}

// Write records the output of the program.
func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.changed)
	l.changed = make(chan struct{})
	return l.written.Write(b)
}

func openPlain(t *testing.T, g *meuptest.Gateway, who string, adapt ...func(*tui.Options)) *lines {
	t.Helper()
	r, w := io.Pipe()
	l := &lines{t: t, in: w, ended: make(chan error, 1), changed: make(chan struct{})}
	opts := options(t, g, who)
	opts.In, opts.Out = r, l
	for _, change := range adapt {
		change(&opts)
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() { l.ended <- tui.Run(ctx, opts) }()
	t.Cleanup(func() {
		cancel()
		_ = w.Close()
		if err := <-l.ended; err != nil {
			t.Error(err)
		}
	})
	return l
}

func (l *lines) enters(line string) {
	l.t.Helper()
	if _, err := io.WriteString(l.in, line+"\n"); err != nil {
		l.t.Fatal(err)
	}
}

func (l *lines) sees(text string) string {
	l.t.Helper()
	late := time.After(testkit.Patience)
	for {
		l.mu.Lock()
		got, changed := l.written.String(), l.changed
		l.mu.Unlock()
		if strings.Contains(got, text) {
			return got
		}
		select {
		case <-changed:
		case err := <-l.ended:
			l.ended <- err
			l.t.Fatalf("the program has ended (%v) before %q:\n%s", err, text, got)
		case <-late:
			l.t.Fatalf("%q does not come:\n%s", text, got)
		}
	}
}

func TestPlainLines(t *testing.T) {
	g := meuptest.Start(t, config)
	employ(t, g, "guide", agent.Options{Tools: handbook(t), Planner: calling("There are **two** documents.\n\nThat is all.",
		call("list_directory", `{"path":"."}`, "see what there is"))})
	l := openPlain(t, g, "alice")
	l.sees("Joined lab as alice.")
	l.enters("what is in the docs folder?")
	l.sees("→ 2 lines")
	l.enters("/reasoning")
	l.sees("outcome:")
	l.enters("/reasonin")
	l.sees("Did you mean /reasoning?")
	l.enters("/who")
	l.sees("guide: chat; reason")
	l.enters("/quit")
	if err := <-l.ended; err != nil {
		t.Error(err)
	}
	l.ended <- nil
	got := l.written.String()
	if strings.ContainsAny(got, "\x1b\r⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏") {
		t.Errorf("lines are lines: %q", got)
	}
	golden(t, "plain.txt", regexp.MustCompile(`for [0-9]+ seconds?`).ReplaceAllString(got, "for N seconds"))
}

// TestPlainEndOfInput checks that everything entered before the end of the
// input is sent, even if the gateway is unavailable for a while.
func TestPlainEndOfInput(t *testing.T) {
	g := meuptest.Start(t, config)
	l := openPlain(t, g, "alice")
	l.sees("Joined lab as alice")
	g.Stop()
	l.sees("Connection lost.")
	l.enters("one")
	l.enters("two")
	l.sees("Not connected; the message is sent")
	if err := l.in.Close(); err != nil {
		t.Fatal(err)
	}
	g.Restart()
	if err := <-l.ended; err != nil {
		t.Error(err)
	}
	l.ended <- nil
	if got := l.sees("* Sent: two"); !strings.Contains(got, "* Sent: one") {
		t.Error(got)
	}
	if list := threadsOf(t, g); len(list) != 1 || list[0].LastTurn != 2 {
		t.Errorf("the gateway has %+v", list)
	}
}

// TestPlainOnDumbTerminals checks that a terminal with TERM=dumb gets lines,
// although both ends are terminals.
func TestPlainOnDumbTerminals(t *testing.T) {
	g := meuptest.Start(t, config)
	x := open(t, g, "alice", 80, 24, func(o *tui.Options) { o.Environ = []string{"TERM=dumb"} })
	x.sees("* Joined lab as alice.")
	x.enters("hello")
	x.types("/quit\r")
	if err := x.end(); err != nil {
		t.Error(err)
	}
	if strings.Contains(x.written(), "\x1b") {
		t.Errorf("a dumb terminal got %q", x.written())
	}
	if list := threadsOf(t, g); len(list) != 1 {
		t.Errorf("the gateway has %+v", list)
	}
}

func TestNotJoining(t *testing.T) {
	g := meuptest.Start(t, config)
	opts := options(t, g, "nobody")
	opts.In, opts.Out = strings.NewReader(""), io.Discard
	err := tui.Run(testkit.Deadline(t), opts)
	if err == nil || strings.Contains(err.Error(), "nobody-token") {
		t.Errorf("error %v", err)
	}
	opts.API = nil
	if err := tui.Run(testkit.Deadline(t), opts); err == nil {
		t.Error("options without an API were taken")
	}
}

// TestControl_Agent checks that a real agent reports its status and ends on
// request.
func TestControl_Agent(t *testing.T) {
	g := meuptest.Start(t, strings.Replace(config, `"stream/*", "mcp/*"]`, `"stream/*", "mcp/*", participant.status]`, 1))
	c := dial(t, g, "guide")
	ended := make(chan error, 1)
	a := agent.New(agent.Options{Space: c, Tools: handbook(t), Planner: calling("Nothing.")})
	go func() { ended <- a.Run(testkit.Deadline(t)) }()
	l := openPlain(t, g, "alice")
	l.sees("Joined lab as alice.")
	l.enters("/status guide")
	l.sees("* guide: idle;")
	l.enters("/pause guide 10m lunch")
	l.sees("* alice paused guide for 10 minutes (lunch).")
	l.enters("/status guide")
	l.sees("paused true")
	l.enters("/shutdown guide")
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
