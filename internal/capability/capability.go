package capability

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/meup-protocol/meup/protocol"
)

// Observe is the capability to see envelopes that are addressed to others.
// Section 6.
const Observe protocol.Kind = "observe"

// Decide is the capability to settle the proposals that its patterns match.
// Section 7.
const Decide protocol.Kind = "decide"

// Capability is one compiled capability. It is immutable.
type Capability struct {
	kind    protocol.KindPattern
	payload *pattern
	to      *target
	context *target
	deny    bool

	plain      bool // allows, and has nothing but a kind
	kindWeight int  // steps for matching a byte of a kind; 0 but for a regexp
	program    int  // instructions of its regexps
	source     json.RawMessage
	slash      json.RawMessage
}

// Request has the parts of an envelope that capabilities match. An absent
// Payload is an empty object.
type Request struct {
	Kind    protocol.Kind
	Payload protocol.Value
	To      []protocol.ParticipantID
	Context protocol.ContextPath
}

// Deny reports whether the capability takes away instead of giving.
func (c *Capability) Deny() bool { return c.deny }

// String returns the JSON text.
func (c *Capability) String() string { return string(c.source) }

// match reports whether the capability selects the request. An allowing
// capability selects requests that it certainly matches, a deny rule requests
// that it might match.
func (c *Capability) match(r *Request, w *work) bool {
	if c.kindWeight > 0 && !w.spend(len(r.Kind)*c.kindWeight) {
		return c.deny
	}
	return c.kind.Match(r.Kind) && (c.plain || c.matchRest(r, c.mode(), w))
}

// kindOnly reports whether the capability selects by the kind alone.
func (c *Capability) kindOnly() bool {
	return c.payload == nil && c.to == nil && c.context == nil
}

func (c *Capability) mode() mode {
	if c.deny {
		return modeDeny
	}
	return modeAllow
}

func (c *Capability) matchRest(r *Request, m mode, w *work) bool {
	if c.to != nil && !c.to.matchTo(r.To, m, w) {
		return false
	}
	if c.context != nil && !c.context.matchContext(r.Context, m, w) {
		return false
	}
	return c.payload == nil || c.payload.match(payloadOf(r), m, w)
}

var emptyObject = func() protocol.Value {
	doc, err := protocol.ParseJSON([]byte("{}"), 1)
	if err != nil {
		panic(err)
	}
	return doc.Root()
}()

func payloadOf(r *Request) protocol.Value {
	if !r.Payload.Exists() {
		return emptyObject
	}
	return r.Payload
}

// observes reports whether the capability is the right to read.
func (c *Capability) observes() bool {
	kind, ok := c.kind.Literal()
	return ok && kind == Observe && c.plain
}

// slashed returns the source of v with its kind spelt with a slash, unless
// that would turn an odd kind pattern (".x/") into a regexp.
func (c *Capability) slashed(v, kind protocol.Value) json.RawMessage {
	spelt := c.kind.Slash()
	_, regexp := regexpSource(strings.TrimPrefix(spelt, "!"))
	if regexp || spelt == kind.Text() {
		return c.source
	}
	at := kind.Offset() - v.Offset()
	out := protocol.AppendString(append([]byte(nil), c.source[:at]...), spelt)
	return append(out, c.source[at+len(kind.Raw()):]...)
}

// asDeny returns the deny rule with the same patterns.
func (c *Capability) asDeny() *Capability {
	if c.deny {
		return c
	}
	d := *c
	d.deny, d.plain = true, false
	d.source, d.slash = denyJSON(c.source), denyJSON(c.slash)
	return &d
}

// denyJSON writes a capability, a valid JSON text, as a deny rule.
func denyJSON(source json.RawMessage) json.RawMessage {
	doc, err := protocol.ParseJSON(source, protocol.MaxDepth)
	if err != nil || doc.Root().Type() == protocol.TypeString {
		return fmt.Appendf(nil, `{"kind":%s,"deny":true}`, source)
	}
	out := []byte{'{'}
	for k, v := range doc.Root().Members {
		if !k.EqualText("deny") {
			out = fmt.Appendf(out, "%s:%s,", k.Raw(), v.Raw())
		}
	}
	return append(out, `"deny":true}`...)
}
