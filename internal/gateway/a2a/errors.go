package a2a

import (
	"errors"
	"net/http"
	"strings"

	wire "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/meup-protocol/meup/protocol"
)

// The first and last part of the codes that JSON-RPC leaves to servers.
const (
	rpcParseError     = -32700
	rpcInvalidRequest = -32600
	rpcNoMethod       = -32601
	rpcInvalidParams  = -32602
	rpcInternal       = -32603
	rpcServer         = -32000
)

// specified are the errors of the specification: their codes in JSON-RPC, and their
// status over HTTP+JSON. Errors that are not listed are internal.
var specified = []struct {
	err    error
	code   int
	status int
	name   string // of the status
}{
	{wire.ErrParseError, rpcParseError, http.StatusBadRequest, "INVALID_ARGUMENT"},
	{wire.ErrInvalidRequest, rpcInvalidRequest, http.StatusBadRequest, "INVALID_ARGUMENT"},
	{wire.ErrMethodNotFound, rpcNoMethod, http.StatusNotFound, "NOT_FOUND"},
	{wire.ErrInvalidParams, rpcInvalidParams, http.StatusBadRequest, "INVALID_ARGUMENT"},
	{wire.ErrTaskNotFound, -32001, http.StatusNotFound, "NOT_FOUND"},
	{wire.ErrTaskNotCancelable, -32002, http.StatusBadRequest, "FAILED_PRECONDITION"},
	{wire.ErrPushNotificationNotSupported, -32003, http.StatusBadRequest, "FAILED_PRECONDITION"},
	{wire.ErrUnsupportedOperation, -32004, http.StatusBadRequest, "FAILED_PRECONDITION"},
	{wire.ErrUnsupportedContentType, -32005, http.StatusBadRequest, "INVALID_ARGUMENT"},
	{wire.ErrVersionNotSupported, -32009, http.StatusBadRequest, "FAILED_PRECONDITION"},
}

// statusNames are the names of the statuses of the gateway's own errors.
var statusNames = map[int]string{
	http.StatusBadRequest: "INVALID_ARGUMENT", http.StatusUnauthorized: "UNAUTHENTICATED", http.StatusForbidden: "PERMISSION_DENIED",
	http.StatusNotFound: "NOT_FOUND", http.StatusConflict: "ABORTED", http.StatusGone: "OUT_OF_RANGE", http.StatusRequestEntityTooLarge: "INVALID_ARGUMENT",
	http.StatusTooManyRequests: "RESOURCE_EXHAUSTED", http.StatusServiceUnavailable: "UNAVAILABLE",
}

// fail returns an error of the specification with a message for the client.
func fail(err error, message string) error { return wire.NewError(err, message) }

// fault is an error in the forms of both bindings.
type fault struct {
	code    int // of JSON-RPC
	status  int // of HTTP
	name    string
	message string
	reason  string
	domain  string
	// transport is set if JSON-RPC uses the status too: the request did not get to the
	// operation.
	transport bool
	cause     *protocol.Error // of the gateway; nil: of the specification
}

// faultOf returns the forms of an error.
func faultOf(err error) *fault {
	for _, s := range specified {
		if errors.Is(err, s.err) {
			return &fault{code: s.code, status: s.status, name: s.name, message: err.Error(), reason: wire.ErrorReason(s.err), domain: wire.ProtocolDomain}
		}
	}
	coded := protocol.AsError(err)
	status := coded.Code.HTTPStatus()
	f := &fault{code: rpcServer, status: status, name: statusNames[status], message: coded.Message, reason: strings.ToUpper(string(coded.Code)), domain: "meup", transport: true, cause: coded}
	switch {
	case status == http.StatusBadRequest:
		f.code, f.transport = rpcInvalidParams, false
	case f.name == "":
		f.code, f.name = rpcInternal, "INTERNAL"
	}
	return f
}

// detail returns the detail that clients read the reason from.
func (f *fault) detail() map[string]any {
	return map[string]any{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": f.reason, "domain": f.domain}
}

// rpc returns the error as the error of a response of JSON-RPC.
func (f *fault) rpc() map[string]any {
	return map[string]any{"code": f.code, "message": f.message, "data": []any{f.detail()}}
}

// rest returns the error as the body of a response over HTTP+JSON.
func (f *fault) rest() map[string]any {
	return map[string]any{"error": map[string]any{"code": f.status, "status": f.name, "message": f.message, "details": []any{f.detail()}}}
}
