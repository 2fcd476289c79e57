package mcpserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/protocol"
)

// Codes of JSON-RPC.
const (
	rpcParse    = -32700
	rpcInvalid  = -32600
	rpcNoMethod = -32601
	rpcParams   = -32602
)

// fault is an error of a message that the SDK does not get: its own errors have the names of Go
// types, or no id.
type fault struct {
	code int
	text string
}

// paramsOf returns where the params of a request are decoded to, for each request that the SDK
// handles.
var paramsOf = map[string]func() any{
	"initialize":               func() any { return new(mcp.InitializeParams) },
	"server/discover":          func() any { return new(mcp.DiscoverParams) },
	"ping":                     func() any { return new(mcp.PingParams) },
	"completion/complete":      func() any { return new(mcp.CompleteParams) },
	"logging/setLevel":         func() any { return new(mcp.SetLoggingLevelParams) }, //nolint:staticcheck // clients of earlier revisions send it
	"prompts/list":             func() any { return new(mcp.ListPromptsParams) },
	"prompts/get":              func() any { return new(mcp.GetPromptParams) },
	"resources/list":           func() any { return new(mcp.ListResourcesParams) },
	"resources/templates/list": func() any { return new(mcp.ListResourceTemplatesParams) },
	"resources/read":           func() any { return new(mcp.ReadResourceParams) },
	"resources/subscribe":      func() any { return new(mcp.SubscribeParams) },
	"resources/unsubscribe":    func() any { return new(mcp.UnsubscribeParams) },
	methodList:                 func() any { return new(mcp.ListToolsParams) },
	methodCall: func() any {
		return new(struct { // mcp.CallToolParamsRaw has arguments of any type
			Meta           mcp.Meta                   `json:"_meta"`
			Name           string                     `json:"name"`
			Arguments      map[string]json.RawMessage `json:"arguments"`
			InputResponses mcp.InputResponseMap       `json:"inputResponses"`
			RequestState   string                     `json:"requestState"`
		})
	},
	methodListen: func() any { return new(mcp.SubscriptionsListenParams) },
}

// faultOf returns why a message is not handled; nil: the SDK reads it.
func faultOf(m protocol.Value) *fault {
	if m.Type() != protocol.TypeObject {
		return &fault{rpcInvalid, "expected a JSON-RPC message, an object"}
	}
	var typed struct {
		Version string  `json:"jsonrpc"`
		Method  *string `json:"method"`
		Error   *struct {
			Code    int64  `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	err := json.Unmarshal(m.Raw(), &typed)
	switch id := m.Get("id"); {
	case err != nil:
		return &fault{rpcInvalid, textutil.JSONFault(err)}
	case typed.Version != "2.0":
		return &fault{rpcInvalid, `jsonrpc: expected "2.0"`}
	case id.Exists() && id.Type() != protocol.TypeNull && !isID(id):
		return &fault{rpcInvalid, "id: expected a string, or an integer of at most 2^53"}
	case typed.Method == nil || !isID(id) || strings.HasPrefix(*typed.Method, "notifications/"):
		return nil
	case paramsOf[*typed.Method] == nil:
		return &fault{rpcNoMethod, fmt.Sprintf("method not found: %.100q", *typed.Method)}
	}
	method, params, into := *typed.Method, m.Get("params"), paramsOf[*typed.Method]()
	if params.Type() == protocol.TypeNone || params.Type() == protocol.TypeNull {
		if strings.HasSuffix(method, "/list") || method == "ping" || method == "server/discover" {
			return nil
		}
		return &fault{rpcParams, "params: expected an object; there are none"}
	}
	var wrong *json.UnmarshalTypeError
	if err := json.Unmarshal(params.Raw(), into); errors.As(err, &wrong) {
		if wrong.Field == "" {
			return &fault{rpcParams, "params: " + textutil.JSONFault(err)}
		}
		return &fault{rpcParams, "params." + textutil.JSONFault(err)}
	}
	return nil
}

// isID reports whether a value is an id that the response has unchanged: the SDK reads numbers as
// float64.
func isID(v protocol.Value) bool {
	const most = 1 << 53
	n, err := strconv.ParseInt(string(v.Raw()), 10, 64)
	return v.Type() == protocol.TypeString || err == nil && -most <= n && n <= most
}

// rpcError returns the response to a request with an error; without an id: to none that is known.
func rpcError(id string, code int, text string) []byte {
	if id == "" {
		id = "null"
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`, id, code, protocol.AppendString(nil, text))
}

// refuse writes the response to a message with a fault. Its status is 200 for a request, as for other
// errors, until revision 2026-07-28, which has a status for each error.
func (a *asks) refuse(w http.ResponseWriter) {
	status := http.StatusBadRequest
	switch {
	case a.sessionless && a.fault.code == rpcNoMethod:
		status = http.StatusNotFound
	case !a.sessionless && a.batch == 0 && (a.fault.code == rpcNoMethod || a.fault.code == rpcParams):
		status = http.StatusOK
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(rpcError(a.id, a.fault.code, a.fault.text))
}

// faults makes JSON-RPC errors of the errors that the SDK writes as plain text.
type faults struct {
	http.ResponseWriter
	id   string // of the request, "" if it is none
	text bool   // the response is such an error
}

// WriteHeader begins the response.
func (f *faults) WriteHeader(status int) {
	h := f.Header()
	f.text = status >= http.StatusBadRequest && strings.HasPrefix(h.Get("Content-Type"), "text/plain")
	if f.text {
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
	_, err := f.ResponseWriter.Write(rpcError(f.id, rpcInvalid, strings.TrimSpace(string(p))))
	return len(p), err
}

// Flush implements http.Flusher, for streams.
func (f *faults) Flush() { _ = http.NewResponseController(f.ResponseWriter).Flush() }

// Unwrap implements the interface of http.ResponseController.
func (f *faults) Unwrap() http.ResponseWriter { return f.ResponseWriter }
