package clienttest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/meup-protocol/meup/internal/agent/subprocess"
	"github.com/meup-protocol/meup/protocol"
)

// program is the program under test.
type program struct {
	*subprocess.Process
	reading sync.WaitGroup

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
	process, err := subprocess.Start(subprocess.Options{
		Command: g.o.Command, Dir: g.o.Dir, Grace: 2 * time.Second,
		Env: append(slices.Clone(env), "MEUP_URL="+g.url, "MEUP_TOKEN="+token, "MEUP_SPACE="+space, "MEUP_ROLE="+g.role),
		Log: slog.New(slog.NewTextHandler(g.output, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	if err != nil {
		return err
	}
	g.program = &program{Process: process}
	g.program.reading.Go(func() { _, _ = io.Copy(g.output, process.Stdout) }) // ends with the program
	return nil
}

func (p *program) kill()      { p.Kill() }
func (p *program) terminate() { p.Terminate() }

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
