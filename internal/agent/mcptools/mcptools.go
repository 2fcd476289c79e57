// Package mcptools keeps MCP servers running and calls their tools.
//
// A [Set] is a number of servers, each a command that speaks over its standard
// input and output, a URL that speaks streamable HTTP, or a server in this
// process. Each has one goroutine that keeps it connected: a server that dies
// is started again with a backoff, and a call made meanwhile waits for it. A
// call during which the server dies fails, since nobody knows how far it came.
//
// Tools are called by their own name; a name that several servers offer is
// qualified with that of the server, for each of them: "fs__read_file".
package mcptools

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Errors that callers match.
var (
	// ErrUnknownTool: no server offers a tool of that name now.
	ErrUnknownTool = errors.New("no such tool")
	// ErrServerGone: the server ended during the call, or did not come back
	// in the time that the call had.
	ErrServerGone = errors.New("tool server gone")
	// ErrClosed: the set was closed.
	ErrClosed = errors.New("tools closed")
)

// Server says how to reach one MCP server: exactly one of Command, URL and
// InProcess is set.
type Server struct {
	// Name qualifies tools that another server offers too. Empty: made from
	// the command or the URL. Names that are taken get a number.
	Name string

	Command []string // program and arguments
	Dir     string   // where the command runs; empty: here
	Env     []string // of the command, "KEY=value"; nil: Environment()

	URL    string
	Header http.Header // sent with every request to URL

	InProcess *mcp.Server
}

// Options hold for all servers of a set. The zero value is usable.
type Options struct {
	CallTimeout  time.Duration // of one call; 0 stands for 30 s
	StartTimeout time.Duration // from the start of a server to its tools; 0 stands for 60 s
	// Grace is how long a command may take to end once its input has, and
	// again once it was told to terminate; 0 stands for 2 s.
	Grace time.Duration
	// MinBackoff and MaxBackoff bound the pause before a dead server is
	// started again; 0 stands for 250 ms and 30 s.
	MinBackoff, MaxBackoff time.Duration
	// Version is what the servers are told of this program.
	Version string
	Logger  *slog.Logger // nil discards

	// OnNotice is told what servers say unasked: list changes, updates of
	// resources, progress and log messages, by the method's name and the SDK's
	// params, which may be nil. It is called in the order in which a server
	// speaks, and must not wait. A server that was started again counts as one
	// whose lists have changed. Nil: nothing but changes of tools is asked for.
	OnNotice func(method string, params mcp.Params)
	// OnRestart is told that a server was started or joined again: what it knew
	// of its clients, such as their subscriptions, is gone. It must not wait.
	OnRestart func()
	// Protocol is the newest revision of MCP to speak; empty: the SDK's.
	Protocol string
}

func (o Options) withDefaults() Options {
	def := func(d *time.Duration, to time.Duration) {
		if *d <= 0 {
			*d = to
		}
	}
	def(&o.CallTimeout, 30*time.Second)
	def(&o.StartTimeout, time.Minute)
	def(&o.Grace, 2*time.Second)
	def(&o.MinBackoff, 250*time.Millisecond)
	def(&o.MaxBackoff, 30*time.Second)
	if o.Version == "" {
		o.Version = "dev"
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.OnRestart == nil {
		o.OnRestart = func() {}
	}
	return o
}

// Tool is what a server offers.
type Tool struct {
	Name        string          // by which it is called here
	Server      string          // who offers it
	Description string          // for planners
	InputSchema json.RawMessage // a JSON Schema
	ReadOnly    bool            // the server says that it changes nothing
	// Hinted: the server says whether the tool changes anything. Where it
	// does not, ReadOnly is false and means nothing.
	Hinted bool
}

// Result is what a call returned.
type Result struct {
	// JSON is MCP's CallToolResult.
	JSON json.RawMessage
	// Text is its text content, one part a paragraph.
	Text string
	// IsError: the tool itself reports that it failed.
	IsError bool
}
