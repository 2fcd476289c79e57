package mcptools

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meup-protocol/meup/internal/agent/subprocess"
)

// maxLine bounds one message of a server. Results of tens of megabytes are
// accepted; a server that sends more is terminated.
const maxLine = 64 << 20

// command is a transport over a program's standard input and output.
type command struct {
	config Server
	grace  time.Duration
	log    *slog.Logger

	process *subprocess.Process
}

// Connect starts the program.
func (c *command) Connect(context.Context) (mcp.Connection, error) {
	p, err := subprocess.Start(subprocess.Options{Command: c.config.Command, Dir: c.config.Dir, Env: c.config.Env, Grace: c.grace, Log: c.log})
	if err != nil {
		return nil, err
	}
	c.process = p
	return (&mcp.IOTransport{Reader: io.NopCloser(p.Stdout), Writer: p, MaxLineLength: maxLine}).Connect(context.Background())
}

// withStderrTail adds the last lines of a command's standard error to the error
// of its start, and names the exit code if it has ended.
func withStderrTail(err error, transport mcp.Transport) error {
	if t, ok := transport.(tapped); ok {
		transport = t.Transport
	}
	c, ok := transport.(*command)
	if !ok {
		return err
	}
	if c.process != nil && errors.Is(err, mcp.ErrConnectionClosed) { // Connect has closed it
		err = fmt.Errorf("it ended with exit code %d", c.process.ExitCode())
	}
	return c.process.Explain(err)
}
