package access

import (
	"net/http"
	"strings"

	"github.com/meup-protocol/meup/internal/kit/textutil"

	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/protocol"
)

// ConnectOptions has the query parameters of section 4.
type ConnectOptions struct {
	Join space.JoinOptions
	// DialectNamed is set if the client has named its dialect.
	DialectNamed bool
}

// ParseConnect parses the query parameters of a connection.
func ParseConnect(r *http.Request) (*ConnectOptions, error) {
	o := &ConnectOptions{}
	q := r.URL.Query()
	if !protocol.ValidSpaceName(q.Get("space")) {
		return nil, BadRequest("The parameter space must name a space: 1 to 128 of A-Z a-z 0-9 . _ : - .")
	}
	for name, values := range q {
		if len(values) > 1 && name != "context" && name != "kinds" && name != "from" {
			return nil, BadRequest("The parameter " + name + " is given more than once.")
		}
		if err := o.set(name, values); err != nil {
			return nil, err
		}
	}
	if !o.DialectNamed {
		o.DialectNamed = o.offered(r)
	}
	_, err := o.Join.Filter.Compile()
	if refused := protocol.AsError(err); refused != nil {
		return nil, BadRequest(refused.Message)
	}
	return o, nil
}

func (o *ConnectOptions) set(name string, values []string) error {
	value := values[0]
	var ok bool
	switch name {
	case "since":
		seq, err := protocol.ParseSeq(value)
		o.Join.Since, ok = &seq, err == nil
	case "log":
		o.Join.Log, ok = value, len(value) <= maxLogID
	case "ack":
		o.Join.Ack, ok = Boolean(value)
	case "echo":
		var echo bool
		echo, ok = Boolean(value)
		o.Join.NoEcho = !echo
	case "observe":
		o.Join.Observe, ok = Boolean(value)
	case "linger":
		o.Join.Linger, ok = Boolean(value)
	case "main":
		var main bool
		main, ok = Boolean(value)
		if main {
			o.Join.Filter.Contexts = append(o.Join.Filter.Contexts, "")
		}
	case "context":
		o.Join.Filter.Contexts = append(o.Join.Filter.Contexts, List(values)...)
		return nil
	case "kinds":
		o.Join.Filter.Kinds = List(values)
		return nil
	case "from":
		for _, id := range List(values) {
			o.Join.Filter.From = append(o.Join.Filter.From, protocol.ParticipantID(id))
		}
		return nil
	case "serves":
		o.Join.Tools, ok = true, value == protocol.ServesTools
	case "dialect":
		o.Join.Dialect, ok = protocol.ParseDialect(value)
		o.DialectNamed = true
	default:
		return nil // space, and parameters that proxies may add
	}
	if !ok {
		return BadRequest("The parameter " + name + " cannot be " + string(protocol.AppendString(nil, textutil.Shorten(value, 64))) + "; it is " + parameterTypes[name] + ".")
	}
	return nil
}

// maxLogID bounds the id of a log, in bytes.
const maxLogID = 256

var parameterTypes = map[string]string{
	"since":   "a seq of the log, 0 or more",
	"log":     "the id of a log, as the welcome names it",
	"ack":     "true or false",
	"echo":    "true or false",
	"observe": "true or false",
	"linger":  "true or false",
	"main":    "true or false",
	"serves":  protocol.ServesTools,
	"dialect": "one of " + strings.Join(protocol.DialectNames(), ", "),
}

// offered sets the dialect from the subprotocols that the client offers. The
// order is the one in which the upgrade selects among them.
func (o *ConnectOptions) offered(r *http.Request) bool {
	if HasToken(r.Header["Sec-Websocket-Protocol"], protocol.DialectMEUP01.Subprotocol()) {
		return false // the default of the space, unless the query names one
	}
	for _, d := range []protocol.Dialect{protocol.DialectMEUP02, protocol.DialectMEW04} {
		if HasToken(r.Header["Sec-Websocket-Protocol"], d.Subprotocol()) {
			o.Join.Dialect = d
			return true
		}
	}
	return false
}

// Boolean parses a boolean parameter; without a value it is true.
func Boolean(s string) (value, ok bool) {
	switch s {
	case "true", "1", "":
		return true, true
	case "false", "0":
		return false, true
	}
	return false, false
}

// List splits values at commas.
func List(values []string) []string {
	var out []string
	for _, v := range values {
		for item := range strings.SplitSeq(v, ",") {
			item = strings.TrimSpace(item)
			if item != "" {
				out = append(out, item)
			}
		}
	}
	return out
}

// HasToken reports whether a header that lists tokens contains token.
func HasToken(values []string, token string) bool {
	for _, v := range values {
		for t := range strings.SplitSeq(v, ",") {
			if strings.EqualFold(strings.TrimSpace(t), token) {
				return true
			}
		}
	}
	return false
}

// BadRequest returns an error with the code bad_request.
func BadRequest(message string) *protocol.Error {
	return protocol.Errorf(protocol.CodeBadRequest, "%s", message)
}
