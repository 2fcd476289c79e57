package bridge

import (
	"encoding/json"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meup-protocol/meup/protocol"
)

// shape names the fields of an object that pass; those of a field that is an
// object itself, or nil where all of it passes. The gateway has judged the
// request by fields as they are spelt. A decoder that takes "NAME" for "name"
// must not see any others.
type shape map[string]shape

// decode makes typed params of what passes. The error is a *fault.
func decode[P any](params protocol.Value, s shape) (*P, error) {
	p := new(P)
	switch params.Type() {
	case protocol.TypeNone:
		return p, nil
	case protocol.TypeObject:
	default:
		return nil, &fault{Code: codeInvalidParams, Message: "params must be an object"}
	}
	if err := json.Unmarshal(s.keep(params), p); err != nil {
		return nil, &fault{Code: codeInvalidParams, Message: "invalid params: " + cut(err.Error(), maxMessage)}
	}
	return p, nil
}

// keep writes the part of an object that passes.
func (s shape) keep(v protocol.Value) []byte {
	out := []byte{'{'}
	for name, inner := range s {
		field := v.Get(name)
		if !field.Exists() {
			continue
		}
		raw := field.Raw()
		if inner != nil && field.Type() == protocol.TypeObject {
			raw = inner.keep(field)
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = protocol.AppendString(out, name)
		out = append(append(out, ':'), raw...)
	}
	return append(out, '}')
}

// hopKeys are what _meta says of the connection that it travels on: the
// bridge's to the server is another than the asker's to the bridge.
var hopKeys = map[string]bool{
	mcp.MetaKeyProtocolVersion: true, mcp.MetaKeyClientInfo: true, mcp.MetaKeyClientCapabilities: true,
	"io.modelcontextprotocol/logLevel": true, mcp.MetaKeySubscriptionID: true,
}

const progressToken = "progressToken"

// mark gives the server's params the asker's _meta. A progress token becomes
// one of the bridge's own, since two askers may have chosen the same; the
// function that is returned forgets it.
func (b *Bridge) mark(c *call, params mcp.Params) (done func()) {
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
		b.listeners.expect(mine, &progress{asker: c.asker, envelope: c.envelope, place: c.place, token: token})
		done = func() { b.listeners.expectNoMore(mine) }
	} else {
		done = func() {}
	}
	if len(meta) > 0 {
		params.SetMeta(meta)
	}
	return done
}
