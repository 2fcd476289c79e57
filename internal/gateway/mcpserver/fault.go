package mcpserver

import (
	"encoding/json"
	"net/http"
	"strings"
)

// Codes of JSON-RPC.
const (
	rpcParse   = -32700
	rpcInvalid = -32600
)

// faults makes JSON-RPC errors of the errors that the SDK writes as plain text.
type faults struct {
	http.ResponseWriter
	code int
	text bool // the response is such an error
}

// WriteHeader begins the response.
func (f *faults) WriteHeader(status int) {
	h := f.Header()
	if f.text = status >= http.StatusBadRequest && strings.HasPrefix(h.Get("Content-Type"), "text/plain"); f.text {
		h.Set("Content-Type", "application/json")
		h.Del("Content-Length")
	}
	f.ResponseWriter.WriteHeader(status)
}

// Write writes a part of the response; http.Error writes all of an error.
func (f *faults) Write(p []byte) (int, error) {
	if !f.text {
		return f.ResponseWriter.Write(p)
	}
	text, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": nil, "error": map[string]any{"code": f.code, "message": strings.TrimSpace(string(p))},
	})
	if err != nil {
		return 0, err
	}
	_, err = f.ResponseWriter.Write(text)
	return len(p), err
}

// Flush implements http.Flusher, for streams.
func (f *faults) Flush() { _ = http.NewResponseController(f.ResponseWriter).Flush() }

// Unwrap implements the interface of http.ResponseController.
func (f *faults) Unwrap() http.ResponseWriter { return f.ResponseWriter }
