package clienttest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/meup-protocol/meup/internal/agent/mcptools"
	"github.com/meup-protocol/meup/protocol"
)

// program is the program under test.
type program struct {
	*mcptools.Process
	reading sync.WaitGroup
	stderr  *stderr

	connects int          // of this process
	seen     protocol.Seq // the highest that it was sent
	log      string       // id of the log of the last welcome
}

// start starts the program.
func (g *game) start() error {
	if g.program != nil {
		return errors.New("the program runs already")
	}
	env := g.o.Env
	if env == nil {
		env = os.Environ()
	}
	written := &stderr{more: make(chan struct{}, 1), Handler: slog.NewTextHandler(g.output, &slog.HandlerOptions{Level: slog.LevelDebug})}
	process, err := mcptools.StartProcess(mcptools.ProcessOptions{
		Command: g.o.Command, Dir: g.o.Dir, Grace: 2 * time.Second,
		Env: append(slices.Clone(env), "MEUP_URL="+g.url, "MEUP_TOKEN="+token, "MEUP_SPACE="+space, "MEUP_ROLE="+g.role),
		Log: slog.New(written),
	})
	if err != nil {
		return err
	}
	g.program = &program{Process: process, stderr: written}
	g.program.reading.Go(func() { _, _ = io.Copy(g.output, process.Stdout) }) // ends with the program
	return nil
}

// wait waits for the end of the program.
func (p *program) wait() {
	_ = p.Close()
	p.reading.Wait()
}

// stop ends the program with a signal. After SIGKILL it is gone.
func (g *game) stop(ctx context.Context, end func(*program)) error {
	if g.program == nil {
		return errors.New("the program does not run")
	}
	end(g.program)
	return ctx.Err()
}

// exits waits for the end of the program, and checks its exit status.
func (g *game) exits(ctx context.Context, want string) error {
	if g.program == nil {
		return errors.New("the program does not run")
	}
	select {
	case <-g.program.Exited():
	case a := <-g.attempts:
		a.refuse(503, "")
		return errors.New("the program connects again instead")
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	code := g.program.ExitCode()
	g.drop()
	p := g.program
	g.program = nil
	p.wait()
	switch {
	case want == "" || want == fmt.Sprint(code):
		return nil
	case want == "failed" && code > 0:
		return nil
	}
	return p.Explain(fmt.Errorf("it ended with the exit status %d", code))
}

// stderr is the handler of the records that have the lines of standard error. It keeps the
// lines until a step expects them.
type stderr struct {
	slog.Handler
	more chan struct{} // one entry: there are more lines

	mu    sync.Mutex
	lines []string
}

// Handle keeps the line of a record.
func (w *stderr) Handle(ctx context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "line" {
			w.mu.Lock()
			w.lines = append(w.lines, a.Value.String())
			w.mu.Unlock()
		}
		return true
	})
	select {
	case w.more <- struct{}{}:
	default:
	}
	return w.Handler.Handle(ctx, r)
}

// take removes the lines up to one that begins with a text, and reports whether there is one.
func (w *stderr) take(text string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.IndexFunc(w.lines, func(line string) bool { return strings.HasPrefix(line, text) })
	w.lines = w.lines[i+1:]
	return i >= 0
}

// prints waits for a line on standard error that begins with a text.
func (g *game) prints(ctx context.Context, text string) error {
	if g.program == nil {
		return errors.New("the program does not run")
	}
	text, err := g.fill(text)
	if err != nil {
		return err
	}
	w := g.program.stderr
	for !w.take(text) {
		select {
		case <-w.more:
		case <-g.program.Exited():
			if !w.take(text) {
				return g.program.Explain(errors.New("it ended without this line"))
			}
			return nil
		case <-ctx.Done():
			return g.program.Explain(context.Cause(ctx))
		}
	}
	return nil
}
