package toolserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meup-protocol/meup/internal/kit/textutil"
)

// Bounds of the memory and time of one call.
const (
	maxFileBytes = 8 << 20 // of one read
	maxEntries   = 10_000  // of one listing or search
	maxTitle     = 4 << 10 // bytes of one file that are read for its title
	maxLine      = 4 << 20 // bytes of a message
)

// folder is the served folder.
type folder struct {
	root *os.Root
	path string // absolute, symbolic links resolved
}

// NewDocuments returns a server for dir, a folder of text files. It serves the reference
// agent where no Node runs @modelcontextprotocol/server-filesystem. Its tools have the same
// names and results, so that a plan for one server works with the other. The caller must
// call closeDir when the server is no longer used.
//
// The server is read-only and limited to its folder: the operating system's lookup
// ([os.Root]), not a comparison of strings, rejects paths that leave it by ".." or a
// symbolic link.
func NewDocuments(dir, version string) (server *mcp.Server, closeDir func() error, err error) {
	abs, err := filepath.Abs(dir)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	var root *os.Root
	if err == nil {
		root, err = os.OpenRoot(abs)
	}
	if cause := new(fs.PathError); errors.As(err, &cause) { // it has the path in another form
		err = cause.Err
	}
	if err != nil {
		return nil, nil, fmt.Errorf("serve folder %s: %w", dir, err)
	}
	f := &folder{root: root, path: abs}
	server = mcp.NewServer(&mcp.Implementation{Name: "meup-docserver", Version: version}, nil)
	addDocumentTool(server, "list_allowed_directories",
		"Returns the directory that this server may read.",
		func(struct{}) (string, error) { return "Allowed directories:\n" + f.path, nil })
	addDocumentTool(server, "list_directory",
		"Lists a directory: [FILE] or [DIR] and the name, one entry a line.", f.list)
	addDocumentTool(server, "read_text_file",
		"Reads a file as text: all of it, its first lines (head) or its last ones (tail).", f.read)
	addDocumentTool(server, "search_files",
		"Finds files and directories below a path whose relative path matches a glob; ** stands for any number of directories. Returns full paths.", f.search)
	addDocumentTool(server, "read_passages",
		"Searches the text of all documents for a question or for words. Returns the passages that fit best, three at most, each with its relative path and heading.", f.passages)
	return server, root.Close, nil
}

// ServeDocuments serves the client that writes to in and reads from out, until in or ctx ends.
func ServeDocuments(ctx context.Context, dir, version string, in io.Reader, out io.Writer) error {
	server, closeDir, err := NewDocuments(dir, version)
	if err != nil {
		return err
	}
	defer func() { _ = closeDir() }()
	r, w := io.Pipe()
	calls := &openCalls{none: make(chan struct{}, 1)}
	go func() { // ends with in; a read of it cannot be canceled
		err := passMessages(w, in, out, calls)
		if errors.Is(err, io.EOF) {
			calls.wait(ctx) // the SDK cancels the open ones at the end of its input
		}
		_ = w.CloseWithError(err)
	}()
	return server.Run(ctx, &mcp.IOTransport{Reader: r, Writer: struct {
		io.Writer
		io.Closer
	}{responses{out, calls}, r}})
}

// openCalls counts the requests that have no response.
type openCalls struct {
	n    atomic.Int64
	none chan struct{} // has a value after the last response
}

// endTime bounds the calls that are open at the end of the input: one with an id that
// another open one has gets no response.
const endTime = 10 * time.Second

// wait returns when no call is open.
func (o *openCalls) wait(ctx context.Context) {
	limit := time.NewTimer(endTime)
	defer limit.Stop()
	for o.n.Load() > 0 {
		select {
		case <-o.none:
		case <-limit.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// responses is an output that counts the responses; each Write is one message.
type responses struct {
	io.Writer
	calls *openCalls
}

func (w responses) Write(message []byte) (int, error) {
	n, err := w.Writer.Write(message)
	if m, _ := jsonrpc.DecodeMessage(bytes.TrimSpace(message)); m != nil {
		if _, ok := m.(*jsonrpc.Response); ok && w.calls.n.Add(-1) <= 0 {
			select {
			case w.calls.none <- struct{}{}:
			default:
			}
		}
	}
	return n, err
}

// passMessages writes the messages of a client to w, each in a line of its own, until the
// end of in. What is no message gets an error: the SDK would end the connection.
func passMessages(w io.Writer, in io.Reader, out io.Writer, calls *openCalls) error {
	lines := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := textutil.ReadLine(lines, maxLine)
		text := bytes.TrimSpace(line)
		var batch []json.RawMessage // of revision 2025-03-26
		if json.Unmarshal(text, &batch) != nil || len(batch) == 0 {
			batch = []json.RawMessage{text}
		}
		for _, message := range batch {
			if len(message) == 0 {
				continue
			}
			to := w
			if isCall, fault := check(message); fault != nil {
				to, message = out, fault
			} else if isCall {
				calls.n.Add(1)
			}
			if _, err := to.Write(append(message[:len(message):len(message)], '\n')); err != nil {
				return err
			}
		}
		if err != nil {
			return err
		}
	}
}

// check reports whether a message needs a response, and returns the response to what is no message.
func check(message []byte) (isCall bool, fault json.RawMessage) {
	var why jsonrpc.Error
	m, err := jsonrpc.DecodeMessage(message)
	switch {
	case len(message) > maxLine:
		why = jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: fmt.Sprintf("the message is longer than %d MiB", maxLine>>20)}
	case !json.Valid(message): // DecodeMessage accepts text after the message
		why = jsonrpc.Error{Code: jsonrpc.CodeParseError, Message: "the line is no JSON: expected one JSON-RPC message a line"}
	case err != nil:
		why = jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: err.Error()}
	default:
		r, isRequest := m.(*jsonrpc.Request)
		return isRequest && r.IsCall(), nil
	}
	fault, _ = json.Marshal(map[string]any{"jsonrpc": "2.0", "id": nil, "error": &why}) // of texts and numbers
	return false, fault
}

// addDocumentTool registers a read-only tool whose result is one text.
func addDocumentTool[In any](server *mcp.Server, name, description string, run func(In) (string, error)) {
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
		structured, err := json.Marshal(map[string]string{"content": text})
		return &mcp.CallToolResult{
			Content:           []mcp.Content{&mcp.TextContent{Text: text}},
			StructuredContent: json.RawMessage(structured),
		}, nil, err
	})
}

// relative converts a requested path, absolute or relative to the folder, into
// one for os.Root. It does not decide which paths are allowed.
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
