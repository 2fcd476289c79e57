// Package mcprelay serves the tools, resources and prompts of an MCP server over
// HTTP to a client on standard input and output.
package mcprelay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
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
	caps := &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}
	if about.Capabilities != nil && about.Capabilities.Resources != nil {
		caps.Resources = &mcp.ResourceCapabilities{}
	}
	if about.Capabilities != nil && about.Capabilities.Prompts != nil {
		caps.Prompts = &mcp.PromptCapabilities{}
	}
	server := mcp.NewServer(about.ServerInfo, &mcp.ServerOptions{Instructions: about.Instructions, Capabilities: caps})
	server.AddReceivingMiddleware(relay(session))
	return server.Run(ctx, &patient{&mcp.IOTransport{Reader: io.NopCloser(o.In), Writer: unclosed{o.Out}}})
}

// relay passes requests on to a session. The server's lists are not kept: they
// may change.
func relay(session *mcp.ClientSession) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			switch p := req.GetParams().(type) {
			case *mcp.ListToolsParams:
				return session.ListTools(ctx, &mcp.ListToolsParams{Cursor: cmp.Or(p, new(mcp.ListToolsParams)).Cursor})
			case *mcp.CallToolParamsRaw:
				return session.CallTool(ctx, &mcp.CallToolParams{Meta: endToEnd(p.Meta), Name: p.Name, Arguments: p.Arguments, InputResponses: p.InputResponses, RequestState: p.RequestState})
			case *mcp.ListResourcesParams:
				return session.ListResources(ctx, &mcp.ListResourcesParams{Cursor: cmp.Or(p, new(mcp.ListResourcesParams)).Cursor})
			case *mcp.ListResourceTemplatesParams:
				return session.ListResourceTemplates(ctx, &mcp.ListResourceTemplatesParams{Cursor: cmp.Or(p, new(mcp.ListResourceTemplatesParams)).Cursor})
			case *mcp.ReadResourceParams:
				return session.ReadResource(ctx, &mcp.ReadResourceParams{Meta: endToEnd(p.Meta), URI: p.URI})
			case *mcp.ListPromptsParams:
				return session.ListPrompts(ctx, &mcp.ListPromptsParams{Cursor: cmp.Or(p, new(mcp.ListPromptsParams)).Cursor})
			case *mcp.GetPromptParams:
				return session.GetPrompt(ctx, &mcp.GetPromptParams{Meta: endToEnd(p.Meta), Name: p.Name, Arguments: p.Arguments})
			}
			return next(ctx, method, req)
		}
	}
}

// patient is a transport whose end waits for the responses to the requests before it.
type patient struct{ mcp.Transport }

// Connect returns the connection of the transport.
func (p *patient) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := p.Transport.Connect(ctx)
	return &patientConn{Connection: c, pending: make(map[jsonrpc.ID]bool), changed: make(chan struct{}, 1)}, err
}

// patientConn counts the requests without a response.
type patientConn struct {
	mcp.Connection
	mu      sync.Mutex
	pending map[jsonrpc.ID]bool
	changed chan struct{} // has an element after pending changed
}

// endTimeout bounds the wait at the end for requests that were canceled, which have no
// response, or whose response the gateway does not give.
const endTimeout = time.Minute

// Read returns the next message. At the end of the input it waits for the responses.
func (c *patientConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	if r, ok := m.(*jsonrpc.Request); err == nil && ok && r.IsCall() {
		c.mu.Lock()
		c.pending[r.ID] = true
		c.mu.Unlock()
	}
	if !errors.Is(err, io.EOF) {
		return m, err
	}
	late := time.NewTimer(endTimeout)
	defer late.Stop()
	for c.waits() {
		select {
		case <-c.changed:
		case <-ctx.Done():
			return nil, err
		case <-late.C:
			return nil, err
		}
	}
	return nil, err
}

func (c *patientConn) waits() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.pending) > 0
}

// Write sends a message.
func (c *patientConn) Write(ctx context.Context, m jsonrpc.Message) error {
	err := c.Connection.Write(ctx, m)
	if r, ok := m.(*jsonrpc.Response); ok {
		c.mu.Lock()
		delete(c.pending, r.ID)
		c.mu.Unlock()
		select {
		case c.changed <- struct{}{}:
		default:
		}
	}
	return err
}

// endToEnd returns the fields of _meta that do not describe the connection to
// the client.
func endToEnd(meta mcp.Meta) mcp.Meta {
	out := make(mcp.Meta)
	for name, value := range meta {
		switch name {
		case mcp.MetaKeyProtocolVersion, mcp.MetaKeyClientInfo, mcp.MetaKeyClientCapabilities, mcp.MetaKeyLogLevel, "progressToken":
		default:
			out[name] = value
		}
	}
	return out
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
