// Package mcprelay serves the tools of an MCP server over HTTP to a client on
// standard input and output.
package mcprelay

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Options configures a relay. All fields are required.
type Options struct {
	Endpoint string // URL of the server
	Token    string // bearer token; only the endpoint gets it
	Version  string // of this program
	In       io.Reader
	Out      io.Writer
}

// Run passes calls on until In ends, or until ctx does. A server without
// sessions may restart meanwhile.
func Run(ctx context.Context, o Options) error {
	hc := &http.Client{
		Transport:     bearer{o.Token},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "meup", Version: o.Version}, nil)
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: o.Endpoint, HTTPClient: hc, DisableStandaloneSSE: true}, nil)
	if err != nil {
		return fmt.Errorf("connect to %s: %w", o.Endpoint, err)
	}
	defer session.Close() //nolint:errcheck // the server keeps nothing of it
	about := session.InitializeResult()
	server := mcp.NewServer(about.ServerInfo, &mcp.ServerOptions{Instructions: about.Instructions})
	for tool, err := range session.Tools(ctx, nil) {
		if err != nil {
			return fmt.Errorf("list the tools of %s: %w", o.Endpoint, err)
		}
		server.AddTool(tool, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return session.CallTool(ctx, &mcp.CallToolParams{Name: r.Params.Name, Arguments: r.Params.Arguments})
		})
	}
	return server.Run(ctx, &mcp.IOTransport{Reader: io.NopCloser(o.In), Writer: unclosed{o.Out}})
}

// bearer sends a token with each request.
type bearer struct{ token string }

// RoundTrip sends a request.
func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return http.DefaultTransport.RoundTrip(r)
}

// unclosed is a writer that stays open.
type unclosed struct{ io.Writer }

// Close does nothing.
func (unclosed) Close() error { return nil }
