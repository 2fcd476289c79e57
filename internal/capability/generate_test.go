package capability

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/meup-protocol/meup/protocol"
)

// generator makes capabilities and requests out of one small vocabulary, so
// that they often meet.
type generator struct{ r *rand.Rand }

func newGenerator(seed uint64) *generator {
	return &generator{rand.New(rand.NewPCG(seed, 7))}
}

func pick[T any](g *generator, list ...T) T { return list[g.r.IntN(len(list))] }

func (g *generator) chance(percent int) bool { return g.r.IntN(100) < percent }

var (
	someKinds = []string{
		"chat", "mcp.request", "mcp.request", "mcp.request", "mcp.response", "mcp.proposal",
		"reasoning.start", "reasoning.thought", "reasoning.conclusion", "reasoning.cancel", "x.app.ping",
	}
	someKindPatterns = []string{
		"*", "**", "chat", "mcp.request", "mcp/request", "mcp/request", "mcp.*", "mcp/re*", "reasoning/*", "reasoning/step",
		"reasoning.start", "!chat", "!mcp.*", "!reasoning/step", "/^mcp/", "/request$/", "!/^reason/", "x/*", "x.app.*",
		"*.request", "/reasoning\\/(start|thought)/", "c*", "*.*",
	}
	someTexts = []string{
		"tools/call", "read_a", "read_b", "delete_a", "delete_file", "a", "b", "", "a/b", "a/b/c", "/etc/passwd", "/tmp/x", "/tmp/a/b", "/tmp/../etc", "a/..", "..",
	}
	someTextPatterns = []string{
		"read_*", "*_a", "delete_*", "**", "*", "a*", "a/*", "a/**", "**/b", "**b*", "/tmp/**", "/tmp/*", "/^delete_/", "/_a$/", "/a|b/", "*/b/**", "a/*/c", "!*", "!**", "!", "",
	}
	someKeys = []string{
		"method", "params", "name", "path", "x", "a", "PATH", "Name",
	}
	someKeyPatterns = []string{
		"*", "**", "n*", "*a*", "$.params.name", "$..name", "$.params.*", "$['path']", "$.x[0]", "$.x[*]", "$.params..a", "$[*]", "$..*", "$.params[\"name\"]",
	}
	someIDs        = []string{"alice", "bob", "carol", "agent-1", "agent-2"}
	someIDPatterns = []string{
		"alice", "bob", "agent-*", "*", "!alice", "!agent-*", "/^a/", "!/bob/", "carol",
	}
	someContexts        = []string{"", "", "msg-1", "msg-1/sub", "msg-3", "msg-301", "msg-1/sub/deep", "secret/a"}
	someContextPatterns = []string{
		"", "!", "msg-1", "msg-3", "msg-*", "*", "**", "msg-1/*", "**/deep", "!secret", "!msg-1/**", "/^msg-\\d$/", "!/sub/", "*/sub",
	}
	someNumbers = []string{"1", "1.0", "10e-1", "1000000", "1e6", "-0", "0", "2.50", "2.5"}
)

func (g *generator) textPattern() string {
	s := pick(g, someTextPatterns...)
	if g.chance(45) {
		s = pick(g, someTexts...)
	}
	if g.chance(20) && !strings.HasPrefix(s, "!") {
		s = "!" + s
	}
	return s
}

// pattern makes the decoded form of a field pattern.
func (g *generator) pattern(depth int, deep bool) any {
	switch n := g.r.IntN(20); {
	case n < 11 || depth == 0:
		return g.textPattern()
	case n < 12:
		return json.Number(pick(g, someNumbers...))
	case n < 13:
		return pick[any](g, true, false, nil)
	case n < 16:
		out := make([]any, 1+g.r.IntN(3))
		for i := range out {
			out[i] = g.pattern(depth-1, deep)
		}
		return out
	}
	return g.objectPattern(depth-1, deep)
}

func (g *generator) objectPattern(depth int, deep bool) map[string]any {
	out := map[string]any{}
	for range g.r.IntN(3) {
		k := pick(g, someKeys...)
		if g.chance(35) {
			k = pick(g, someKeyPatterns...)
		}
		isDeep := k == "**" || strings.Contains(k, "..")
		if deep && isDeep {
			continue
		}
		out[k] = g.pattern(depth, deep || isDeep)
	}
	return out
}

func (g *generator) stringOrArray(list []string) any {
	if g.chance(60) {
		return pick(g, list...)
	}
	out := make([]any, 1+g.r.IntN(2))
	for i := range out {
		out[i] = pick(g, list...)
	}
	return out
}

// capability makes the decoded form of a capability.
func (g *generator) capability(denyPercent int) any {
	kind := pick(g, someKindPatterns...)
	if g.chance(20) {
		return kind
	}
	c := map[string]any{"kind": kind}
	if g.chance(55) {
		p := map[string]any{}
		switch g.r.IntN(3) {
		case 0:
			p["params"] = map[string]any{"name": g.pattern(2, false)}
		case 1:
			p["method"] = g.pattern(1, false)
		default:
			p = g.objectPattern(3, false)
		}
		c["payload"] = p
	}
	if g.chance(20) {
		c["to"] = g.stringOrArray(someIDPatterns)
	}
	if g.chance(20) {
		c["context"] = g.stringOrArray(someContextPatterns)
	}
	if g.chance(denyPercent) {
		c["deny"] = true
	}
	return c
}

// value makes the decoded form of a value.
func (g *generator) value(depth int) any {
	switch n := g.r.IntN(20); {
	case n < 11 || depth == 0:
		return pick(g, someTexts...)
	case n < 13:
		return json.Number(pick(g, someNumbers...))
	case n < 14:
		return pick[any](g, true, false, nil)
	case n < 16:
		out := make([]any, g.r.IntN(4))
		for i := range out {
			out[i] = g.value(depth - 1)
		}
		return out
	}
	return g.object(depth - 1)
}

func (g *generator) object(depth int) map[string]any {
	out := map[string]any{}
	for range g.r.IntN(4) {
		out[pick(g, someKeys...)] = g.value(depth)
	}
	return out
}

func (g *generator) request() oracleRequest {
	r := oracleRequest{kind: pick(g, someKinds...), context: pick(g, someContexts...)}
	for range pick(g, 0, 0, 1, 1, 2) {
		r.to = append(r.to, pick(g, someIDs...))
	}
	payload := g.object(3)
	if g.chance(60) {
		payload["method"] = pick(g, "tools/call", "tools/list")
		params := g.object(2)
		params["name"] = g.value(1)
		payload["params"] = params
	}
	r.payload = payload
	return r
}

// encode writes JSON, at times with escapes that need not be.
func (g *generator) encode(v any) []byte {
	var b strings.Builder
	g.write(&b, v)
	return []byte(b.String())
}

func (g *generator) write(b *strings.Builder, v any) {
	switch v := v.(type) {
	case map[string]any:
		sep := "{"
		for k, x := range v {
			b.WriteString(sep)
			g.writeText(b, k)
			b.WriteString(pick(g, ":", " : "))
			g.write(b, x)
			sep = ","
		}
		if sep == "{" {
			b.WriteString(sep)
		}
		b.WriteString("}")
	case []any:
		b.WriteString("[")
		for i, x := range v {
			if i > 0 {
				b.WriteString(", ")
			}
			g.write(b, x)
		}
		b.WriteString("]")
	case string:
		g.writeText(b, v)
	case json.Number:
		b.WriteString(string(v))
	case nil:
		b.WriteString("null")
	default:
		fmt.Fprint(b, v)
	}
}

func (g *generator) writeText(b *strings.Builder, s string) {
	if g.chance(90) {
		b.WriteString(quote(s))
		return
	}
	b.WriteByte('"')
	for _, r := range s {
		fmt.Fprintf(b, `\u%04X`, r)
	}
	b.WriteByte('"')
}

// compile makes the request that sets decide on.
func (r oracleRequest) compile(text []byte) (*Request, error) {
	doc, err := protocol.ParseJSON(text, protocol.MaxDepth)
	if err != nil {
		return nil, err
	}
	out := &Request{Kind: protocol.Kind(r.kind), Payload: doc.Root(), Context: protocol.ContextPath(r.context)}
	for _, id := range r.to {
		out.To = append(out.To, protocol.ParticipantID(id))
	}
	return out, nil
}
