// Package mcptools runs MCP servers and calls their tools.
//
// A [Set] is a set of servers, each a command that uses its standard input and
// output, a URL with streamable HTTP, or a server in this process. Each has one
// goroutine that keeps it connected: a server that ends is restarted with a
// backoff, and calls wait for the restart. A call fails if the server ends
// during it, because its effects are unknown.
//
// Tools are called by their own name. If several servers offer a name, it is
// qualified with the name of the server for each of them: "fs__read_file".
package mcptools

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meup-protocol/meup/protocol"
)

// Errors that callers match.
var (
	// ErrUnknownTool: no server currently offers a tool with that name.
	ErrUnknownTool = errors.New("no such tool")
	// ErrServerGone: the server ended during the call, or did not restart
	// within the call's timeout.
	ErrServerGone = errors.New("tool server gone")
	// ErrClosed: the set was closed.
	ErrClosed = errors.New("tools closed")
)

// Server configures one MCP server: exactly one of Command, URL and InProcess
// is set.
type Server struct {
	// Name qualifies tools that another server offers too. Empty: derived from
	// the command or the URL. A name that is in use gets a number.
	Name string

	Command []string // program and arguments
	Dir     string   // working directory of the command; empty: the current one
	Env     []string // of the command, "KEY=value"; nil: Environment()

	URL    string
	Header http.Header // sent with every request to URL

	InProcess *mcp.Server
}

// Options apply to all servers of a set. The zero value is usable.
type Options struct {
	// CallTimeout is the timeout of one call; 0: 30 s. Progress begins it anew, up to
	// MaxCallTimeout after the start of the call; 0: 10 min.
	CallTimeout, MaxCallTimeout time.Duration

	StartTimeout time.Duration // from the start of a server to its list of tools; 0: 60 s
	// Grace is the time a command has to exit after its input was closed, and
	// again after the signal to terminate; 0: 2 s.
	Grace time.Duration
	// MinBackoff and MaxBackoff bound the pause before a server that ended is
	// restarted; 0: 250 ms and 30 s.
	MinBackoff, MaxBackoff time.Duration
	// Version is the version of this program, sent to the servers.
	Version string
	Logger  *slog.Logger // nil discards

	// OnNotice is called for the notifications of servers (list changes,
	// updates of resources, progress and log messages) with the method's name
	// and the SDK's params, which may be nil. It is called in the order in
	// which a server sends them, and must not block. A restart counts as a
	// change of all lists. Nil: only changes of tools are requested.
	OnNotice func(method string, params mcp.Params)
	// OnRestart is called after a server was restarted or reconnected; it has
	// lost its clients' state, such as subscriptions. It must not block.
	OnRestart func()
	// OnElicit answers the questions of servers, elicitation/create, that are requests, or
	// part of a result input_required. It is called on a goroutine of its own, or on that of the
	// operation; its context ends when the server takes the question back, or with the
	// operation. Nil: servers are told that the client answers none.
	OnElicit func(context.Context, Question) (*mcp.ElicitResult, error)
	// Protocol is the newest revision of MCP to use; empty: the SDK's.
	Protocol string
}

// Tool is a tool that a server offers.
type Tool struct {
	Name        string          // the name for Call
	Server      string          // the server that offers it
	Description string          // for planners
	InputSchema json.RawMessage // a JSON Schema
	ReadOnly    bool            // the server declares that it changes nothing
	// Hinted: the server declares whether the tool changes anything. If false,
	// ReadOnly is false and has no meaning.
	Hinted bool
}

// Result is the result of a call.
type Result struct {
	// JSON is MCP's CallToolResult.
	JSON json.RawMessage
	// Text is its text content, one paragraph per part.
	Text string
	// IsError: the tool itself reports that it failed.
	IsError bool
	// Fits: JSON is known to be valid in an envelope that has room for it.
	Fits bool

	root protocol.Value // JSON, if it was parsed
}
