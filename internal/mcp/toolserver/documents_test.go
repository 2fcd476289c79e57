package toolserver_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meup-protocol/meup/internal/mcp/toolserver"
	"github.com/meup-protocol/meup/internal/testing/testkit"
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
	server, closeDir, err := toolserver.NewDocuments(dir, "test")
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

// What is no message gets an error, and the messages after it are answered. The end of the
// input ends the server.
func TestServe_NoMessage(t *testing.T) {
	in, client := io.Pipe()
	answers, out := io.Pipe()
	ended := make(chan error, 1)
	go func() { // ends with client
		err := toolserver.ServeDocuments(t.Context(), t.TempDir(), "test", in, out)
		_ = errors.Join(in.Close(), out.Close())
		ended <- err
	}()
	lines := bufio.NewScanner(answers)
	for _, c := range []struct{ line, want string }{
		{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`, `"id":1,"result"`},
		{`garbage`, `"code":-32700`},
		{`{"jsonrpc":"2.0","id":2,`, `"code":-32700`},
		{`{"a":1}`, `"code":-32600`},
		{`[]`, `"code":-32600`},
		{`"` + strings.Repeat("x", 5<<20) + `"`, "longer than 4 MiB"},
		{`{"jsonrpc":"2.0","id":3,"method":"ping"} trailing`, `"code":-32700`},
		{"\n\r\n" + `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" + `{"jsonrpc":"2.0","id":4,"method":"ping"}`, `"id":4,"result"`},
		{`[{"jsonrpc":"2.0","id":5,"method":"ping"}]`, `"id":5,"result"`},
	} {
		if _, err := io.WriteString(client, c.line+"\n"); err != nil {
			t.Fatal(err)
		}
		if !lines.Scan() || !strings.Contains(lines.Text(), c.want) {
			t.Errorf("%.50s: got %q (%v), want %s", c.line, lines.Text(), lines.Err(), c.want)
		}
	}
	// What is open at the end of the input is answered.
	const last = 50
	go func() {
		for id := range last {
			end := "\n"
			if id == last-1 {
				end = ""
			}
			if _, err := fmt.Fprintf(client, `{"jsonrpc":"2.0","id":%d,"method":"ping"}%s`, 100+id, end); err != nil {
				t.Error(err)
			}
		}
		_ = client.Close()
	}()
	for n := range last {
		if !lines.Scan() || !strings.Contains(lines.Text(), `"result"`) {
			t.Fatalf("%d of %d calls at the end of the input were answered, and then %q", n, last, lines.Text())
		}
	}
	if err := <-ended; err != nil {
		t.Errorf("after the end of the input: %v", err)
	}
}

func TestReads(t *testing.T) {
	s, dir := serve(t)
	for _, test := range []struct{ tool, args, want string }{
		{"list_allowed_directories", `{}`, "Allowed directories:\n" + dir},
		{"list_directory", `{"path":"guide"}`, "[DIR] deep\n[FILE] deploy.md"},
		{"list_directory", `{"path":"` + dir + `/guide"}`, "[DIR] deep\n[FILE] deploy.md"},
		{"list_directory", `{"path":".","titles":true}`, "[FILE] a.md\tA\n[FILE] b.txt\n[DIR] guide\n[FILE] inside\n[FILE] picture.bin\n[FILE] secret-link\n[FILE] way-out"},
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
