package capability

import (
	"errors"
	"fmt"

	"github.com/meup-protocol/meup/protocol"
)

// maxBytes bounds the JSON text of a capability.
const maxBytes = 4096

// Parse compiles a capability: a string, or an object as the package describes
// it. It does not retain v. The error is a *PatternError.
func Parse(v protocol.Value) (*Capability, error) {
	if len(v.Raw()) > maxBytes {
		return nil, &PatternError{Err: fmt.Errorf("it has more than %d bytes", maxBytes)}
	}
	return parse(v)
}

func parse(v protocol.Value) (*Capability, error) {
	p := &patternParser{}
	c := &Capability{source: append([]byte(nil), v.Raw()...)}
	switch v.Type() {
	case protocol.TypeString:
		c.kind = p.Kind("", v)
		c.plain = true
		c.slash = c.slashed(v, v)
	case protocol.TypeObject:
		c.parseObject(p, v)
	default:
		p.Fail("", fmt.Errorf("it must be a string or an object, not %s", v.Type()))
	}
	if err := p.Err(); err != nil {
		return nil, err
	}
	c.program = p.Program
	return c, nil
}

// ParseJSON is Parse for a JSON text. The error is a *PatternError or a
// *protocol.SyntaxError.
func ParseJSON(text []byte) (*Capability, error) {
	if len(text) > maxBytes {
		return nil, &PatternError{Err: fmt.Errorf("it has more than %d bytes", maxBytes)}
	}
	doc, err := protocol.ParseJSON(text, protocol.MaxDepth)
	if err != nil {
		return nil, fmt.Errorf("capability: %w", err)
	}
	return Parse(doc.Root())
}

// ParseCall is ParseJSON for a pattern of calls, whose kind may be absent.
func ParseCall(text []byte) (*Capability, error) {
	doc, err := protocol.ParseJSON(text, protocol.MaxDepth)
	if err == nil && doc.Root().Type() == protocol.TypeObject && !doc.Root().Get("kind").Exists() {
		members := doc.Root().Raw()[1:]
		text = protocol.AppendString([]byte(`{"kind":`), string(protocol.KindMCPRequest))
		if doc.Root().Len() > 0 {
			text = append(text, ',')
		}
		text = append(text, members...)
	}
	c, err := ParseJSON(text)
	if err == nil && !c.Selects(protocol.KindMCPRequest) {
		return nil, fmt.Errorf("it matches no call: leave kind out, or write kind: %s", protocol.KindMCPRequest)
	}
	return c, err
}

func (c *Capability) parseObject(p *patternParser, v protocol.Value) {
	kind := v.Get("kind")
	if !kind.Exists() {
		p.Fail("", errors.New("a kind is missing"))
		return
	}
	c.kind = p.Kind("/kind", kind)
	for name, x := range v.Members {
		switch key := name.Text(); key {
		case "kind":
		case "payload":
			c.payload = p.Payload(x)
		case "to":
			c.to = p.Target("/to", x)
		case "context":
			c.context = p.Target("/context", x)
		case "deny":
			if x.Type() != protocol.TypeBool {
				p.Fail("/deny", fmt.Errorf("it must be true or false, not %s", x.Type()))
			}
			c.deny = x.Bool()
		case "claims":
			switch {
			case x.EqualText("respect"):
				c.claims = claimsRespected
			case x.EqualText("require"):
				c.claims = claimsRequired
			default:
				p.Fail("/claims", errors.New(`it must be "require" or "respect"`))
			}
		default:
			p.Fail("/"+protocol.EscapePointer(key), errors.New("unknown key; a capability has kind, payload, to, context, claims and deny"))
		}
	}
	if c.deny && c.claims != claimsIgnored {
		p.Fail("/claims", errors.New("a deny rule cannot have it; allow what respects claims"))
	}
	if p.Err() == nil {
		c.plain = c.payload == nil && c.to == nil && c.context == nil && !c.deny && c.claims == claimsIgnored
		c.slash = c.slashed(v, kind)
	}
}
