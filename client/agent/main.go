package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// errInterrupted is the cause that ends an agent after SIGINT.
var errInterrupted = errors.New("interrupted")

// Main runs the agent as a program, and does not return. SIGINT (Ctrl-C) and SIGTERM end
// it as the end of Run's context does: open contexts and proposals are closed; a second
// signal ends the program at once. The exit status is 0, 1 after an error, which is one
// line on standard error, and 130 after SIGINT.
func (a *Agent) Main() {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() { // ends with the program
		received := <-signals
		signal.Stop(signals)
		if received == os.Interrupt {
			cancel(errInterrupted)
		}
		cancel(nil)
	}()
	err := a.Run(ctx)
	switch {
	case err != nil:
		fmt.Fprintf(os.Stderr, "meup: %v\n", err)
		os.Exit(1)
	case errors.Is(context.Cause(ctx), errInterrupted):
		os.Exit(128 + int(syscall.SIGINT))
	}
	os.Exit(0)
}
