package bridge_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meup-protocol/meup/internal/agent/mcptools"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/protocol"
)

// Numbers keep their spelling on the way to a server and back, over all transports: in arguments,
// results, errors and log messages.
func TestNumbers(t *testing.T) {
	const numbers = `{"id":9007199254740993,"one":1.0}`
	m, pipes := inProcess()
	m.tool("numbers", func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if err := r.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Data: r.Params.Arguments}); err != nil { //nolint:staticcheck // deprecated, and passed on
			return nil, err
		}
		return &mcp.CallToolResult{Content: []mcp.Content{}, StructuredContent: r.Params.Arguments}, nil
	})
	web := func(o *mcp.StreamableHTTPOptions) mcptools.Server {
		srv := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return m.Server }, o))
		t.Cleanup(srv.Close)
		return mcptools.Server{URL: srv.URL}
	}
	for name, test := range map[string]struct {
		server   mcptools.Server
		revision string
	}{
		"pipes":                  {pipes, handshake},
		"pipes, 2026-07-28":      {pipes, "2026-07-28"},
		"HTTP":                   {web(nil), handshake},
		"HTTP, JSON":             {web(&mcp.StreamableHTTPOptions{JSONResponse: true}), handshake},
		"HTTP, 2026-07-28":       {web(&mcp.StreamableHTTPOptions{Stateless: true}), "2026-07-28"},
		"HTTP, JSON, 2026-07-28": {web(&mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true}), "2026-07-28"},
	} {
		t.Run(name, func(t *testing.T) {
			g := meuptest.Start(t, config)
			employ(t, g, test.server, setup{tools: mcptools.Options{Protocol: test.revision}})
			alice := join(t, g, "alice", nil)
			logs := test.revision == handshake && !strings.Contains(name, "JSON") // else only in a stream that may not be open yet
			if logs {
				ask(t, alice, "logging/setLevel", map[string]string{"level": "info"})
			}
			id := begin(t, alice, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"numbers","arguments":`+numbers+`}}`)
			logged := !logs
			for responded := false; !responded || !logged; {
				env := await(t, alice, func(env *protocol.Envelope) bool { return saying("notifications/message")(env) || responseTo(id)(env) })
				want := `"data":` + numbers
				if env.Kind == protocol.KindMCPResponse {
					responded, want = true, `"structuredContent":`+numbers
				} else {
					logged = true
				}
				if !strings.Contains(string(env.Payload), want) {
					t.Errorf("%s %s, expected %s", env.Kind, env.Payload, want)
				}
			}
			if e := refused(t, alice, "tools/call", tool("refuse")); string(e.Data) != `{"until":9007199254740993}` {
				t.Errorf("the data of the error is %s", e.Data)
			}
		})
	}
}
