package page

import (
	"fmt"

	"github.com/meup-protocol/meup/internal/testing/webtest"
)

// agents is the number of agents that reason in parallel.
const agents = 4

// words is a text of about 180 bytes.
const words = "The list of open points is in `docs/release.md`, the checks run on the branch. Neither needs the other, so I look at both at once and say what I found when all of it is there."

// traffic returns the n-th envelope of a busy space: of forty, four are
// messages, two begin and end a context, and the others are thoughts and calls
// in it.
func traffic(n int) webtest.Envelope {
	agent := n % agents
	turn := n / agents / 10
	context := fmt.Sprintf("r-%d-%d", agent, turn)
	id := fmt.Sprintf("e-%d", n)
	in := func(kind string, payload map[string]any) webtest.Envelope {
		return webtest.Envelope{"id": id, "kind": kind, "context": context, "payload": payload}
	}
	call := fmt.Sprintf("c-%d-%d", agent, turn)
	switch n / agents % 10 {
	case 0:
		return webtest.Markdown(id, "**"+fmt.Sprint(n)+"** "+words)
	case 1:
		return webtest.Envelope{"id": context, "kind": "reasoning.start", "payload": map[string]any{"message": words}}
	case 4:
		e := in("mcp.request", map[string]any{"id": n, "method": "tools/call", "params": map[string]any{"name": "read_file", "arguments": map[string]any{"path": words}}})
		e["id"] = call
		return e
	case 5:
		e := in("mcp.response", map[string]any{"id": n, "result": map[string]any{"content": []any{map[string]any{"type": "text", "text": words}}}})
		e["correlationId"] = call
		return e
	case 9:
		return in("reasoning.conclusion", map[string]any{"message": words, "confidence": 0.9})
	default:
		return in("reasoning.thought", map[string]any{"message": fmt.Sprint(n, " ", words)})
	}
}

// talk returns n messages.
func talk(n int) []webtest.Envelope {
	var list []webtest.Envelope
	for i := range n {
		list = append(list, webtest.Chat(fmt.Sprintf("m-%d", i), fmt.Sprint(i, " ", words)))
	}
	return list
}
