package mcpclients

import (
	"context"
	_ "embed"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/client/agent"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
)

//go:embed frameworks.mjs
var frameworks []byte

// modelName is the form of a tool's name that the APIs of models take.
var modelName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// serveDotted serves a tool whose name has a dot as the participant fixture, and waits until it has joined.
func serveDotted(t *testing.T, g *meuptest.Gateway) {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "files", Version: "1"}, nil)
	type arguments struct {
		Path string `json:"path"`
	}
	mcp.AddTool(server, &mcp.Tool{Name: "files.read", Description: "Reads a file."}, func(_ context.Context, _ *mcp.CallToolRequest, in arguments) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "the content of " + in.Path}}}, nil, nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	host := agent.Agent{Client: client.Options{URL: g.HTTP(), Space: "lab", Token: "fixture-token", Logger: slog.New(slog.DiscardHandler)}, Tools: server}
	go func() { done <- host.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	observer, err := client.Dial(testkit.Deadline(t), client.Options{URL: g.HTTP(), Space: "lab", Token: "alice-token", Discard: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = observer.Close() })
	testkit.Eventually(t, "fixture has joined", func() bool {
		for _, p := range observer.Welcome().Participants {
			if p.ID == "fixture" {
				return true
			}
		}
		return false
	})
}

// Frameworks for agents give the names of tools to the APIs of models as they are: each has the form that these
// take, also that of a tool whose own name has a dot, and the call reaches that tool.
func TestFrameworks(t *testing.T) {
	t.Parallel()
	g := meuptest.Start(t, config)
	serveDotted(t, g)
	for name, module := range map[string]string{"ai-sdk": "@ai-sdk/mcp/package.json", "langchain": "@langchain/mcp-adapters/package.json"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			installed(t, module)
			dir := t.TempDir()
			script := filepath.Join(dir, "frameworks.mjs")
			if err := os.WriteFile(script, frameworks, 0o600); err != nil {
				t.Fatal(err)
			}
			// The script finds packages beside itself.
			if err := os.Symlink(installed(t, ""), filepath.Join(dir, "node_modules")); err != nil {
				t.Fatal(err)
			}
			out, err := run(t, nil, node(t), script, name, g.HTTP()+"/mcp?space=lab", "alice-token", `{"path":"a.txt"}`, "fixture__files_read")
			var got struct {
				Names  []string        `json:"names"`
				Called string          `json:"called"`
				Result json.RawMessage `json:"result"`
			}
			if start := strings.LastIndex(out, `{"names"`); err != nil || start < 0 || json.Unmarshal([]byte(out[start:]), &got) != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			for _, tool := range got.Names {
				if !modelName.MatchString(tool) {
					t.Errorf("the tool %q: its name has not the form %s", tool, modelName)
				}
			}
			if !strings.Contains(string(got.Result), "the content of a.txt") {
				t.Errorf("the tool %q of %q returned %s, want the text of files.read", got.Called, got.Names, got.Result)
			}
		})
	}
}
