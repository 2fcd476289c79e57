package agent

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/meup-protocol/meup/internal/agent/mcptools"
	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/protocol"
)

// tool identifies a tool that can be called: one of the agent's own servers, or
// of another participant.
type tool struct {
	owner protocol.ParticipantID // "" for the agent's own
	name  string                 // as the owner names it
}

// toolbox is the set of tools that can be called, by the name that the planner
// uses.
type toolbox struct {
	plannable []planner.Tool
	tools     map[string]tool
}

// find returns the tool with that name. An unknown name resolves to the agent's
// own servers, which then return an error.
func (b toolbox) find(name string) tool {
	if t, ok := b.tools[name]; ok {
		return t
	}
	return tool{name: name}
}

// toolbox collects the tools that can be called now. The agent's own tools keep
// their names. A tool of another participant keeps its name only if no one else
// offers a tool with that name; otherwise each is qualified by its owner, so
// that no participant can take over the name of another's tool. For private
// questions the tools of others are omitted, because the content would reach
// them in the arguments of a call.
func (a *Agent) toolbox(p *problem) toolbox {
	b := toolbox{tools: make(map[string]tool)}
	for _, t := range a.opts.Tools.Tools() {
		b.add(t.Name, tool{name: t.Name}, t)
	}
	if a.opts.OwnToolsOnly || len(p.q.private) > 0 {
		return b
	}
	a.peers.wait(p.ctx, a.opts.Now())
	b.addOffered(a.peers.offered())
	return b
}

// offeredTool is a tool of another participant.
type offeredTool struct {
	owner protocol.ParticipantID
	mcptools.Tool
}

// addOffered adds the tools of other participants. The resulting names are
// unique no matter which names the participants choose.
func (b *toolbox) addOffered(offered []offeredTool) {
	claims := make(map[string]int, len(offered))
	for _, t := range offered {
		claims[t.Name]++
		claims[qualified(t)]++
	}
	for _, t := range offered {
		name := t.Name
		if b.taken(name) || claims[name] > 1 {
			name = qualified(t)
		}
		if b.taken(name) || claims[name] > 1 {
			owner := sha256.Sum256([]byte(t.owner))
			name += "__" + hex.EncodeToString(owner[:4])
		}
		b.add(name, tool{owner: t.owner, name: t.Name}, t.Tool)
	}
}

func qualified(t offeredTool) string { return string(t.owner) + "__" + t.Name }

func (b *toolbox) taken(name string) bool {
	_, taken := b.tools[name]
	return taken
}

func (b *toolbox) add(name string, where tool, t mcptools.Tool) {
	if b.taken(name) {
		return
	}
	b.tools[name] = where
	b.plannable = append(b.plannable, planner.Tool{
		Name: name, Description: t.Description, InputSchema: t.InputSchema, ReadOnly: t.ReadOnly, Hinted: t.Hinted,
		Host: string(where.owner) + "/" + t.Server,
	})
}
