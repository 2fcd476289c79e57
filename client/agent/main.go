package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/agent"
	"github.com/meup-protocol/meup/protocol"
)

// errInterrupted is the cause that ends an agent after SIGINT.
var errInterrupted = errors.New("interrupted")

// Main runs the agent as a program, and does not return. SIGINT (Ctrl-C) and SIGTERM end
// it as the end of Run's context does: open contexts and proposals are closed; a second
// signal ends the program at once. The exit status is 0, 1 after an error, which is one
// line on standard error, and 130 after SIGINT.
//
// Without Client.Logger, standard error also has one line for the connection and its loss,
// for each question that begins and that ends, and for the signal. They have ids and names, and no
// text of a question: it may be private, and logs are kept elsewhere and read by others than the
// space. The id finds it in the log, for participants that may see it.
func (a *Agent) Main() {
	log := cmp.Or(a.Client.Logger, slog.New(lines{out: os.Stderr, lost: new(atomic.Bool)}))
	a.Client.Logger, a.program = log, &program{log: log}
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() { // ends with the program
		received := <-signals
		signal.Stop(signals)
		log.Info("stopping", "questions", a.program.open.Load())
		if received == os.Interrupt {
			cancel(errInterrupted)
		}
		cancel(nil)
	}()
	err := a.Run(ctx)
	var refused *client.DialError
	if errors.As(err, &refused) && refused.Refusal != nil && refused.Refusal.Code == protocol.CodeUnauthorized {
		err = refused // it names the gateway, and where the token is
	}
	switch {
	case err != nil:
		fmt.Fprintf(os.Stderr, "meup: %s\n", oneLine(strings.TrimPrefix(err.Error(), prefix)))
		os.Exit(1)
	case errors.Is(context.Cause(ctx), errInterrupted):
		os.Exit(128 + int(syscall.SIGINT))
	}
	os.Exit(0)
}

// program is the part of an agent that Main adds.
type program struct {
	log  *slog.Logger
	open atomic.Int64 // questions that have begun and not ended
}

// errPanicked is the error of a question until OnQuestion has returned.
var errPanicked = errors.New("OnQuestion panicked")

// begin reports that a question begins. The returned function reports its end. Without Main, they
// do nothing.
func (p *program) begin(t *agent.Task) (end func(error)) {
	if p == nil {
		return func(error) {}
	}
	p.open.Add(1)
	started := time.Now()
	log := p.log.With("question", t.Chat.ID, "from", t.Chat.From)
	log.Info("question begins")
	return func(err error) {
		p.open.Add(-1)
		log = log.With("seconds", fmt.Sprintf("%.1f", time.Since(started).Seconds()))
		if err != nil {
			log.Warn("question ended without an answer", "err", err)
			return
		}
		log.Info("question ended")
	}
}
