// Package clienttest plays the gateway of client vectors: it starts the program under test,
// and sends and expects frames over a real WebSocket.
//
// Goroutines: the goroutine of Run runs the script and owns all state but the log, which
// the handlers of HTTP requests read too; the HTTP server's, which wait for the script; one
// for each connection, which reads frames; one that reads the output of the program. All end
// before Run returns.
package clienttest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/sdk/conformance/vector"
)

// The fixed names of the game.
const (
	space = "lab"
	token = "bot-token-d41d8cd9" //nolint:gosec // of the game
	bot   = "bot"
	tools = "tools"
)

// Options configures Run. Command is required.
type Options struct {
	Command []string
	Env     []string      // of the program, in addition to the variables of the game; nil: the environment of the runner
	Dir     string        // working directory of the program
	Output  io.Writer     // gets all frames, and the output of the program; nil: none
	Step    time.Duration // for one step; 0: 10 s
	Start   time.Duration // for a connection, or the end of the program; 0: 30 s
}

// Run runs a vector. A *vector.Failure names the step that failed; another error means that the
// vector could not be run.
func Run(ctx context.Context, v *vector.Vector, o Options) (err error) {
	o.Step = cmp.Or(o.Step, 10*time.Second)
	o.Start = cmp.Or(o.Start, max(o.Step, 30*time.Second))
	if o.Output == nil {
		o.Output = io.Discard
	}
	g := &game{
		o: o, vars: make(testkit.JSONVars), log: newLogbook(), attempts: make(chan *attempt), over: make(chan struct{}),
		output: &syncWriter{w: o.Output}, role: strings.TrimSpace(v.Files["role"]),
	}
	if text := v.Files["welcome"]; text != "" {
		if err := json.Unmarshal([]byte(text), &g.welcomeChange); err != nil {
			return fmt.Errorf("%s: file welcome: %w", v.Name, err)
		}
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	g.url = "http://" + listener.Addr().String()
	g.vars["url"] = g.url
	server := &http.Server{Handler: g, ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) }) // ends with Close
	defer func() {
		close(g.over)
		g.end()
		_ = server.Close()
		serving.Wait()
	}()
	for _, s := range v.Steps {
		for i := range s.Times {
			g.vars["n"] = i + 1
			if err := g.step(ctx, s); err != nil {
				if g.program != nil {
					err = g.program.Explain(err) // with its last output
				}
				return &vector.Failure{Vector: v.Name, Step: s, Err: err}
			}
		}
	}
	return nil
}

// game is a vector while it runs.
type game struct {
	o             Options
	url           string
	vars          testkit.JSONVars
	log           *logbook
	attempts      chan *attempt // upgrades that wait for the script
	over          chan struct{} // closed when the script has ended
	output        *syncWriter
	welcomeChange map[string]json.RawMessage
	role          string // of the program; "": an agent with a tool

	program *program
	conn    *conn      // nil: none
	passed  []*inbound // received, admitted and not expected by a step so far
	held    []*inbound
	paused  bool // by a frame of the script
	refused int  // frames that were refused because of this pause
}

// errTimeout means that a step waited too long.
var errTimeout = errors.New("nothing happened in time")

func (g *game) step(ctx context.Context, s vector.Step) error {
	patience := g.o.Step
	switch s.Verb {
	case vector.Connect, vector.Refuse, vector.Exits:
		patience = g.o.Start
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errTimeout)
	defer cancel()
	body, err := g.fill(s.Body)
	if err != nil {
		return err
	}
	s.Body = body
	fmt.Fprintf(g.output, "%s\n", s.Text)
	switch s.Verb {
	case vector.Start:
		return g.start()
	case vector.Kill:
		return g.stop(ctx, (*program).Kill)
	case vector.Signal:
		return g.stop(ctx, (*program).Terminate)
	case vector.Exits:
		return g.exits(ctx, s.Word)
	case vector.Prints:
		return g.prints(ctx, s.Word)
	case vector.Connect:
		return g.connect(ctx)
	case vector.Refuse:
		return g.refuse(ctx, s.Status, body)
	case vector.Send:
		return g.send(ctx, s.Encoding, body)
	case vector.Log:
		_, err := g.compose(body)
		return err
	case vector.Expect:
		return g.expect(ctx, s)
	case vector.Await:
		return g.await(ctx, s)
	case vector.Not:
		return g.not(s)
	case vector.Quiet:
		return g.quiet(ctx)
	case vector.Release:
		return g.release(ctx)
	case vector.Cut, vector.Close:
		return g.disconnect(s)
	case vector.NewLog:
		g.log.replace()
		return nil
	}
	return fmt.Errorf("%q is no step of a client vector", s.Verb)
}

// fill replaces the placeholders of a text, which is JSON or part of it.
func (g *game) fill(text string) (string, error) {
	return vector.Fill(text, func(name string) (string, bool) {
		if age, isAge := strings.CutPrefix(name, "ago "); isAge {
			d, err := time.ParseDuration(age)
			return time.Now().Add(-d).Format(time.RFC3339Nano), err == nil
		}
		value, known := g.vars[name]
		if !known {
			return "", false
		}
		quoted, err := json.Marshal(fmt.Sprint(value))
		if err != nil {
			return "", false
		}
		return string(quoted[1 : len(quoted)-1]), true
	})
}

// end ends the program and the connection.
func (g *game) end() {
	g.drop()
	if g.program != nil {
		g.program.Kill()
		g.program.wait()
	}
}

// syncWriter writes one text at a time.
type syncWriter struct {
	mu sync.Mutex
	w  io.Writer
}

// Write writes to the output.
func (w *syncWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.w.Write(p)
}
