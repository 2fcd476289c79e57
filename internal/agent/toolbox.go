package agent

import (
	"github.com/meup-protocol/meup/internal/mcptools"
	"github.com/meup-protocol/meup/internal/planner"
	"github.com/meup-protocol/meup/protocol"
)

// tool is one that may be called: of the agent's own servers, or of another
// participant.
type tool struct {
	owner protocol.ParticipantID // "" for the agent's own
	name  string                 // its owner's name for it
}

// toolbox is what there is to call, by the name that the planner knows.
type toolbox struct {
	plannable []planner.Tool
	tools     map[string]tool
}

// find returns the tool of that name; one that nobody offers is taken for the
// agent's own, whose servers then say that they have none.
func (b toolbox) find(name string) tool {
	if t, ok := b.tools[name]; ok {
		return t
	}
	return tool{name: name}
}

// toolbox collects what there is now. The agent's own tools keep their names; a
// neighbour's whose name is taken is called after its owner too. What was asked
// in private is not told to the neighbours in the arguments of a call, unless
// the operator wants it so.
func (a *Agent) toolbox(p *problem) toolbox {
	b := toolbox{tools: make(map[string]tool)}
	for _, t := range a.opts.Tools.Tools() {
		b.add(t.Name, tool{name: t.Name}, t)
	}
	if a.opts.OwnToolsOnly || len(p.q.private) > 0 && !a.opts.PrivateToNeighbours {
		return b
	}
	a.neighbours.wait(p.ctx, a.opts.Now())
	a.neighbours.each(func(owner protocol.ParticipantID, t mcptools.Tool) {
		name := t.Name
		if _, taken := b.tools[name]; taken {
			name = string(owner) + "__" + name
		}
		b.add(name, tool{owner: owner, name: t.Name}, t)
	})
	return b
}

func (b *toolbox) add(name string, where tool, t mcptools.Tool) {
	if _, taken := b.tools[name]; taken {
		return
	}
	b.tools[name] = where
	b.plannable = append(b.plannable, planner.Tool{
		Name: name, Description: t.Description, InputSchema: t.InputSchema, ReadOnly: t.ReadOnly, Hinted: t.Hinted,
	})
}
