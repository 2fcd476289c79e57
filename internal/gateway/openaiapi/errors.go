package openaiapi

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/meup-protocol/meup/internal/gateway/access"
	"github.com/meup-protocol/meup/protocol"
)

// fault is an error in the form of the API.
type fault struct {
	status  int
	message string
	kind    string // the field type
	code    string
	param   string          // "": none
	final   bool            // clients, which repeat requests with some statuses, must not repeat this one
	delay   *protocol.Error // has the time after which the request may be repeated; nil: none
}

// Error returns the message.
func (f *fault) Error() string { return f.message }

// invalid returns the error for a parameter.
func invalid(param, message string) *fault {
	return &fault{status: http.StatusBadRequest, message: message, kind: "invalid_request_error", code: "invalid_value", param: param}
}

// unsupported returns the error for a parameter that would change the meaning of a
// request.
func unsupported(param, message string) *fault {
	f := invalid(param, message)
	f.code = "unsupported_parameter"
	return f
}

func unknownModel(model string) *fault {
	return &fault{
		status: http.StatusNotFound, kind: "invalid_request_error", code: "model_not_found", param: "model",
		message: "The model " + string(quote(model)) + " does not exist, or the token does not give access to it. GET /v1/models lists the models: spaces, and SPACE/PARTICIPANT.",
	}
}

// faultOf returns an error in the form of the API.
func faultOf(err error) *fault {
	var f *fault
	if errors.As(err, &f) {
		return f
	}
	e := protocol.AsError(err)
	f = &fault{status: e.Code.HTTPStatus(), message: e.Message, code: string(e.Code), kind: "invalid_request_error"}
	switch {
	case e.Code == protocol.CodeUnauthorized:
		f.kind, f.code = "authentication_error", "invalid_api_key"
	case f.status == http.StatusForbidden:
		f.kind = "permission_error"
	case f.status == http.StatusTooManyRequests:
		f.kind, f.code, f.delay = "rate_limit_error", "rate_limit_exceeded", e
	case f.status >= http.StatusInternalServerError:
		f.kind, f.delay = "server_error", e
	}
	return f
}

// object returns the value of the field error.
func (f *fault) object() map[string]any {
	o := map[string]any{"message": f.message, "type": f.kind, "code": f.code, "param": nil}
	if f.param != "" {
		o["param"] = f.param
	}
	return o
}

// write responds with the error.
func (f *fault) write(w http.ResponseWriter) {
	h := w.Header()
	if f.status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="meup"`)
	}
	if f.delay != nil {
		access.SetRetryAfter(h, f.delay)
	}
	if f.final {
		h.Set("X-Should-Retry", "false")
	}
	writeJSON(w, f.status, map[string]any{"error": f.object()})
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	h := w.Header()
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(append(quote(value), '\n')) // the peer may have disconnected
}

// quote encodes a value of texts, numbers and JSON that was read.
func quote(value any) json.RawMessage {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return text
}

// failed returns the error for a turn that ended without an answer.
func failed(reason string) *fault {
	return &fault{
		status: http.StatusBadGateway, kind: "server_error", code: "no_answer", final: true,
		message: cmp.Or(reason, "The participants that took the question gave up."),
	}
}
