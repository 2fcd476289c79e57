package docserver_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meup-protocol/meup/internal/agent/docserver"
	"github.com/meup-protocol/meup/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// serve starts the server for a folder with a few files, a symbolic link that
// leaves it, and a secret file outside.
func serve(t *testing.T) (*mcp.ClientSession, string) {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(top, "docs")
	files := map[string]string{
		"docs/a.md":             "# A\none\ntwo\nthree\n",
		"docs/b.txt":            "only",
		"docs/guide/deploy.md":  "deploy",
		"docs/guide/deep/x.md":  "x",
		"docs/picture.bin":      "\xff\xfe\x00",
		"secret.txt":            "secret",
		"docs-of-others/her.md": "hers",
	}
	for name, text := range files {
		path := filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"way-out": top, "secret-link": filepath.Join(top, "secret.txt"), "inside": "a.md"} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	server, closeDir, err := docserver.New(dir, "test")
	if err != nil {
		t.Fatal(err)
	}
	here, there := mcp.NewInMemoryTransports()
	if _, err := server.Connect(t.Context(), there, nil); err != nil {
		t.Fatal(err)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(t.Context(), here, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = session.Close()
		_ = closeDir()
	})
	return session, dir
}

func call(t *testing.T, s *mcp.ClientSession, tool, args string) (string, bool) {
	t.Helper()
	res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(args)})
	if err != nil {
		return err.Error(), false
	}
	return res.Content[0].(*mcp.TextContent).Text, !res.IsError
}

func TestReads(t *testing.T) {
	s, dir := serve(t)
	for _, test := range []struct{ tool, args, want string }{
		{"list_allowed_directories", `{}`, "Allowed directories:\n" + dir},
		{"list_directory", `{"path":"guide"}`, "[DIR] deep\n[FILE] deploy.md"},
		{"list_directory", `{"path":"` + dir + `/guide"}`, "[DIR] deep\n[FILE] deploy.md"},
		{"read_text_file", `{"path":"a.md"}`, "# A\none\ntwo\nthree\n"},
		{"read_text_file", `{"path":"a.md","head":2}`, "# A\none"},
		{"read_text_file", `{"path":"a.md","tail":2}`, "two\nthree"},
		{"read_text_file", `{"path":"b.txt","head":9}`, "only"},
		{"read_text_file", `{"path":"inside","head":1}`, "# A"},
		{"search_files", `{"path":".","pattern":"*.md"}`, dir + "/a.md"},
		{"search_files", `{"path":"` + dir + `","pattern":"**/*.md"}`, dir + "/a.md\n" + dir + "/guide/deep/x.md\n" + dir + "/guide/deploy.md"},
		{"search_files", `{"path":".","pattern":"**/*.md","excludePatterns":["**/deep"]}`, dir + "/a.md\n" + dir + "/guide/deploy.md"},
		{"search_files", `{"path":"guide","pattern":"*deploy*"}`, dir + "/guide/deploy.md"},
		{"search_files", `{"path":".","pattern":"**/nothing"}`, "No matches found"},
	} {
		if got, ok := call(t, s, test.tool, test.args); got != test.want || !ok {
			t.Errorf("%s %s: %q, want %q", test.tool, test.args, got, test.want)
		}
	}
}

func TestNothingOutsideIsReached(t *testing.T) {
	s, dir := serve(t)
	for _, path := range []string{
		"../secret.txt", "..", "guide/../../secret.txt", "/etc/passwd", dir + "/../secret.txt", dir + "-of-others/her.md",
		"secret-link", "way-out/secret.txt", dir + "/way-out/secret.txt", "", "\u0000",
	} {
		for _, tool := range []string{"read_text_file", "list_directory", "search_files"} {
			args := map[string]string{"path": path}
			if tool == "search_files" {
				args["pattern"] = "**"
			}
			raw, err := json.Marshal(args)
			if err != nil {
				t.Fatal(err)
			}
			if got, ok := call(t, s, tool, string(raw)); ok {
				t.Errorf("%s %q: %q", tool, path, got)
			}
		}
	}
	if got, _ := call(t, s, "search_files", `{"path":".","pattern":"**/*.txt"}`); strings.Contains(got, "secret.txt") {
		t.Errorf("the search left the folder: %s", got)
	}
}

func TestRefusals(t *testing.T) {
	s, _ := serve(t)
	for _, test := range []struct{ tool, args, want string }{
		{"read_text_file", `{"path":"a.md","head":1,"tail":1}`, "together"},
		{"read_text_file", `{"path":"a.md","head":-1}`, "0 or more"},
		{"read_text_file", `{"path":"guide"}`, "not a regular file"},
		{"read_text_file", `{"path":"picture.bin"}`, "not a text file"},
		{"read_text_file", `{"path":"none.md"}`, "no such file"},
		{"read_text_file", `{}`, "path"},
		{"search_files", `{"path":".","pattern":"["}`, "pattern"},
		{"search_files", `{"path":".","pattern":""}`, "pattern"},
	} {
		if got, ok := call(t, s, test.tool, test.args); ok || !strings.Contains(got, test.want) {
			t.Errorf("%s %s: %q, want an error with %q", test.tool, test.args, got, test.want)
		}
	}
}
