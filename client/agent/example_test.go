package agent_test

import (
	"context"
	"errors"
	"log"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/client/agent"
)

// An agent that answers each question with one call of another participant's tool.
// TestExample runs it against a gateway.
func Example() {
	readFile(context.Background(), client.Options{URL: "http://localhost:8080", Space: "lab", Token: os.Getenv("MEUP_TOKEN")})
}

func readFile(ctx context.Context, options client.Options) {
	a := agent.Agent{
		Client: options,
		OnQuestion: func(ctx context.Context, q *agent.Question) (string, error) {
			result, err := q.CallTool(ctx, "files", "read", map[string]string{"path": q.Text})
			if err != nil {
				return "", err
			}
			return result.Text, nil
		},
	}
	if err := a.Run(ctx); err != nil {
		log.Fatal(err)
	}
}

// A participant that offers a tool to the others.
func Example_tools() {
	serveFiles(context.Background(), client.Options{URL: "http://localhost:8080", Space: "lab", Token: os.Getenv("MEUP_TOKEN")})
}

func serveFiles(ctx context.Context, options client.Options) {
	type file struct {
		Path string `json:"path"`
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "files"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "read", Description: "Reads a file."},
		func(_ context.Context, _ *mcp.CallToolRequest, f file) (*mcp.CallToolResult, any, error) {
			if f.Path != "deploy.md" {
				return nil, nil, errors.New("no such file")
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "Run make release."}}}, nil, nil
		})
	if err := (&agent.Agent{Client: options, Tools: server}).Run(ctx); err != nil {
		log.Fatal(err)
	}
}
