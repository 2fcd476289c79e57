package bridge

import (
	"encoding/json"
	"strconv"

	"github.com/meup-protocol/meup/internal/textutil"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meup-protocol/meup/protocol"
)

// shape names the fields of an object that are forwarded, each with the shape
// of its own fields, or nil to forward all of it. The gateway has checked the
// request by exact field names; a decoder that matches "NAME" to "name" must
// not receive any other fields.
type shape map[string]shape

// decode decodes the forwarded fields into typed params. The error is a *fault.
func decode[P any](params protocol.Value, s shape) (*P, error) {
	p := new(P)
	switch params.Type() {
	case protocol.TypeNone:
		return p, nil
	case protocol.TypeObject:
	default:
		return nil, &fault{Code: codeInvalidParams, Message: "params must be an object"}
	}
	if err := json.Unmarshal(s.filter(params), p); err != nil {
		return nil, &fault{Code: codeInvalidParams, Message: "invalid params: " + textutil.Shorten(err.Error(), maxMessage)}
	}
	return p, nil
}

// filter returns the object reduced to the forwarded fields.
func (s shape) filter(v protocol.Value) []byte {
	out := []byte{'{'}
	for name, inner := range s {
		field := v.Get(name)
		if !field.Exists() {
			continue
		}
		raw := field.Raw()
		if inner != nil && field.Type() == protocol.TypeObject {
			raw = inner.filter(field)
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = protocol.AppendString(out, name)
		out = append(append(out, ':'), raw...)
	}
	return append(out, '}')
}

// hopKeys are the keys of _meta that describe one connection: the bridge's
// connection to the server is not the requester's connection to the bridge.
var hopKeys = map[string]bool{
	mcp.MetaKeyProtocolVersion: true, mcp.MetaKeyClientInfo: true, mcp.MetaKeyClientCapabilities: true,
	"io.modelcontextprotocol/logLevel": true, mcp.MetaKeySubscriptionID: true,
}

const progressToken = "progressToken"

// forwardMeta copies the requester's _meta to the server's params. A progress
// token is replaced by one of the bridge's own, because two requesters may use
// the same token; done removes it.
func (b *Bridge) forwardMeta(c *call, params mcp.Params) (done func()) {
	meta := make(map[string]any)
	for key, value := range c.params.Get("_meta").Members {
		if name := key.Text(); !hopKeys[name] {
			meta[name] = json.RawMessage(value.Raw())
		}
	}
	token, asked := meta[progressToken].(json.RawMessage)
	if asked {
		b.mu.Lock()
		b.token++
		mine := strconv.FormatInt(b.token, 10)
		b.mu.Unlock()
		meta[progressToken] = mine
		b.listeners.expect(mine, &progress{asker: c.asker, envelope: c.envelope, contextPath: c.contextPath, token: token})
		done = func() { b.listeners.expectNoMore(mine) }
	} else {
		done = func() {}
	}
	if len(meta) > 0 {
		params.SetMeta(meta)
	}
	return done
}
