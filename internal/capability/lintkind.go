package capability

import (
	"slices"
	"strings"

	"github.com/meup-protocol/meup/protocol"
)

var knownKinds = append(protocol.Kinds(), observe, Decide)

// unknownKind reports patterns that select no kind that means anything.
// Applications' own kinds (x.*) mean something, and so does any reasoning kind.
func (l *linter) unknownKind(c *Capability) {
	body := strings.TrimLeft(c.kind.String(), "/^")
	if strings.HasPrefix(c.kind.String(), "!") || slices.ContainsFunc(knownKinds, c.kind.Match) {
		return
	}
	if strings.HasPrefix(body, "x.") || strings.HasPrefix(body, "x/") || strings.HasPrefix(body, `x\.`) || strings.HasPrefix(body, "*") {
		return
	}
	kind, literal := c.kind.Literal()
	if literal && kind.IsReserved() {
		l.mistake("only the gateway may send %s", kind)
		return
	}
	if literal && kind.IsReasoning() {
		return
	}
	l.mistake("no kind of the protocol matches %s; kinds of applications begin with x.", c.kind.String())
}

// rpcFields are the fields of a JSON-RPC message.
var rpcFields = []string{"jsonrpc", "id", "method", "params", "result", "error"}

// unknownFields reports fields that MCP payloads do not have. Most of them are
// one level too high.
func (l *linter) unknownFields(kind protocol.Kind, p *Pattern) {
	if kind != protocol.KindMCPRequest && kind != protocol.KindMCPProposal && kind != protocol.KindMCPResponse {
		return
	}
	for _, name := range p.Names() {
		if !slices.Contains(rpcFields, name) {
			l.mistake("the payload of %s has no field %s; does it belong inside params?", kind, name)
		}
	}
}
