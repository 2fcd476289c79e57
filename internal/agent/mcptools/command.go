package mcptools

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxLine bounds one message of a server. Results of tens of megabytes are
// accepted; a server that sends more is terminated.
const maxLine = 64 << 20

// command is a transport over a program's standard input and output.
type command struct {
	config Server
	grace  time.Duration
	log    *slog.Logger

	process *Process
}

// Connect starts the program.
func (c *command) Connect(context.Context) (mcp.Connection, error) {
	p, err := StartProcess(ProcessOptions{Command: c.config.Command, Dir: c.config.Dir, Env: c.config.Env, Grace: c.grace, Drained: true, Log: c.log})
	if err != nil {
		return nil, err
	}
	c.process = p
	// Lines that are no messages, such as a banner, are left out; the SDK would end the connection.
	messages, w := io.Pipe()
	go func() { // ends with the output; Close of the process ends that
		err := copyMessages(w, p)
		_ = w.CloseWithError(err)
		_, _ = io.Copy(io.Discard, p.Stdout)
	}()
	return (&mcp.IOTransport{Reader: messages, Writer: p, MaxLineLength: maxLine}).Connect(context.Background())
}

// errLongLine means that a line exceeds maxLine.
var errLongLine = errors.New("the server wrote a line of more than 64 MiB")

// copyMessages writes each message of a server in a line of its own. After an error of
// w it reads on, for the lines that are no messages.
func copyMessages(w io.Writer, p *Process) error {
	in := bufio.NewReaderSize(p.Stdout, 64<<10)
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		if len(line)+len(part) > maxLine {
			return errLongLine
		}
		line = append(line, part...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		text := bytes.TrimSpace(line)
		var batch []json.RawMessage
		if !bytes.HasPrefix(text, []byte("[")) || json.Unmarshal(text, &batch) != nil {
			batch = []json.RawMessage{text}
		}
		for _, message := range batch {
			message, ok := repaired(message)
			if ok {
				_, _ = w.Write(append(message, '\n'))
			} else if len(message) > 0 {
				p.Noise(noiseOf(message), message)
			}
		}
		if err != nil {
			return err
		}
		line = line[:0]
	}
}

// noiseOf returns why a line is no message.
func noiseOf(line []byte) string {
	var fields map[string]json.RawMessage
	switch {
	case !json.Valid(line):
		return "no JSON"
	case json.Unmarshal(line, &fields) == nil && (fields["result"] != nil || fields["error"] != nil) && (fields["id"] == nil || string(fields["id"]) == "null"):
		return "response without an id"
	}
	return "no JSON-RPC"
}

// withTail adds the last lines that a command wrote to the error of its start, and
// names the exit code if it has ended.
func withTail(err error, transport mcp.Transport) error {
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
