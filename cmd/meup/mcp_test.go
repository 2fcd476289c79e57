package main

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meup-protocol/meup/internal/kit/program"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
)

// mcpOver starts meup mcp and connects a client to its standard input and output.
func mcpOver(t *testing.T, revision string) (session *mcp.ClientSession, ended <-chan error, closeInput func()) {
	t.Helper()
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
	in, toIn := io.Pipe()
	fromOut, out := io.Pipe()
	root := newRoot(program.Process())
	root.SetArgs([]string{"mcp"})
	root.SetIn(in)
	root.SetOut(out)
	done := make(chan error, 1)
	go func() {
		err := root.ExecuteContext(t.Context())
		_ = out.CloseWithError(io.EOF)
		done <- err
	}()
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := c.Connect(t.Context(), &mcp.IOTransport{Reader: fromOut, Writer: toIn}, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		t.Fatal(err)
	}
	return session, done, func() { _ = toIn.Close() }
}

func TestMCP(t *testing.T) {
	for _, revision := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			g := meuptest.Start(t, meuptest.Config)
			t.Setenv("MEUP_URL", g.HTTP())
			t.Setenv("MEUP_SPACE", "lab")
			t.Setenv("MEUP_TOKEN", "alice-token")
			t.Setenv("XDG_CONFIG_HOME", t.TempDir())
			session, ended, closeInput := mcpOver(t, revision)
			if about := session.InitializeResult(); !strings.Contains(about.Instructions, "participant alice") {
				t.Errorf("instructions: %q", about.Instructions)
			}
			said, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "say", Arguments: map[string]any{"message": "hello"}})
			if err != nil || said.IsError {
				t.Fatal(said, err)
			}
			if r, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "meup://space/contexts"}); err != nil || !strings.Contains(r.Contents[0].Text, `"contexts":[]`) {
				t.Error(r, err)
			}
			if r, err := session.ListResourceTemplates(t.Context(), nil); err != nil || len(r.ResourceTemplates) != 1 {
				t.Error(r, err)
			}
			if r, err := session.ListPrompts(t.Context(), nil); err != nil || len(r.Prompts) != 3 {
				t.Error(r, err)
			}
			if r, err := session.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "debate"}); err != nil || len(r.Messages) != 1 {
				t.Error(r, err)
			}
			if r, err := session.ListResources(t.Context(), nil); err != nil || len(r.Resources) != 2 {
				t.Error(r, err)
			}
			g.Restart()
			refused, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "say", Arguments: map[string]any{"message": "x", "to": []string{"nobody"}}})
			if err != nil || !refused.IsError || !strings.Contains(refused.Content[0].(*mcp.TextContent).Text, "nobody") {
				t.Error(refused, err)
			}
			closeInput()
			if err := <-ended; err != nil {
				t.Errorf("it ended with %v", err)
			}
			_ = session.Close()
		})
	}
}

func TestMCP_WrongToken(t *testing.T) {
	g := meuptest.Start(t, meuptest.Config)
	t.Setenv("MEUP_URL", g.HTTP())
	t.Setenv("MEUP_SPACE", "lab")
	t.Setenv("MEUP_TOKEN", "wrong-token")
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	root := newRoot(program.Process())
	root.SetArgs([]string{"mcp"})
	root.SetIn(strings.NewReader(""))
	root.SetOut(io.Discard)
	root.SetErr(io.Discard)
	if err := root.ExecuteContext(t.Context()); err == nil || strings.Contains(err.Error(), "wrong-token") {
		t.Errorf("%v", err)
	}
}

// Requests that were read are answered, also if the input ends right after them.
func TestMCP_EndOfInput(t *testing.T) {
	g := meuptest.Start(t, meuptest.Config)
	t.Setenv("MEUP_URL", g.HTTP())
	t.Setenv("MEUP_SPACE", "lab")
	t.Setenv("MEUP_TOKEN", "alice-token")
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
	for i := range 20 {
		var out strings.Builder
		root := newRoot(program.Process())
		root.SetArgs([]string{"mcp"})
		root.SetIn(strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"who","arguments":{}}}
`))
		root.SetOut(&out)
		if err := root.ExecuteContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), `"id":1`) || !strings.Contains(out.String(), `"id":2`) {
			t.Fatalf("attempt %d: %s", i, out.String())
		}
	}
}
