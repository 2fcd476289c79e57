// Package docserver is a small MCP server over one folder of text files: what
// the reference agent reads where there is no Node to run
// @modelcontextprotocol/server-filesystem. The tools that it has bear the same
// names and answer in the same form, so that what is planned for one works
// with the other.
//
// It only reads, and only below its folder: paths that lead out of it, by ".."
// or by a symbolic link, are refused by the operating system's own lookup
// ([os.Root]), not by comparing strings.
package docserver

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Bounds that keep one call from taking the memory or the day.
const (
	maxFileBytes = 8 << 20 // of one read
	maxEntries   = 10_000  // of one listing or search
)

// folder is the one that is served.
type folder struct {
	root *os.Root
	path string // absolute, symbolic links resolved
}

// New makes a server for the folder dir. Closing the returned function's
// resources is the caller's: call it once the server is no longer used.
func New(dir, version string) (server *mcp.Server, closeDir func() error, err error) {
	abs, err := filepath.Abs(dir)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("serve folder: %w", err)
	}
	root, err := os.OpenRoot(abs)
	if err != nil {
		return nil, nil, fmt.Errorf("serve folder: %w", err)
	}
	f := &folder{root: root, path: abs}
	server = mcp.NewServer(&mcp.Implementation{Name: "meup-docserver", Version: version}, nil)
	f.register(server)
	return server, root.Close, nil
}

// Serve answers on the process's standard input and output until the input
// ends or ctx does.
func Serve(ctx context.Context, dir, version string) error {
	server, closeDir, err := New(dir, version)
	if err != nil {
		return err
	}
	defer func() { _ = closeDir() }()
	return server.Run(ctx, &mcp.StdioTransport{})
}

func (f *folder) register(server *mcp.Server) {
	add(server, "list_allowed_directories",
		"Returns the directory that this server may read.",
		func(struct{}) (string, error) { return "Allowed directories:\n" + f.path, nil })
	add(server, "list_directory",
		"Lists a directory: [FILE] or [DIR] and the name, one entry a line.", f.list)
	add(server, "read_text_file",
		"Reads a file as text: all of it, its first lines (head) or its last ones (tail).", f.read)
	add(server, "search_files",
		"Finds files and directories below a path whose relative path matches a glob; ** stands for any number of directories. Returns full paths.", f.search)
}

// add registers a read-only tool that answers with one text.
func add[In any](server *mcp.Server, name, description string, run func(In) (string, error)) {
	closed := false
	tool := &mcp.Tool{
		Name:        name,
		Description: description,
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: &closed},
	}
	mcp.AddTool(server, tool, func(_ context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, any, error) {
		text, err := run(in)
		if err != nil {
			return nil, nil, err
		}
		return &mcp.CallToolResult{
			Content:           []mcp.Content{&mcp.TextContent{Text: text}},
			StructuredContent: structured(text),
		}, nil, nil
	})
}

func structured(text string) json.RawMessage {
	raw, err := json.Marshal(map[string]string{"content": text})
	if err != nil { // a map of strings cannot fail
		return json.RawMessage(`{}`)
	}
	return raw
}

// relative turns a path as it was asked for, absolute or relative to the
// folder, into one that os.Root takes. It does not decide what is allowed.
func (f *folder) relative(path string) (string, error) {
	if strings.TrimSpace(path) == "" {
		return "", fmt.Errorf("a path is needed; %q is the folder", f.path)
	}
	if !filepath.IsAbs(path) {
		return filepath.Clean(path), nil
	}
	rel, err := filepath.Rel(f.path, filepath.Clean(path))
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", fmt.Errorf("access denied: %s is outside of %s", path, f.path)
	}
	return rel, nil
}
