// Package toolbox names the tools that an agent can call: its own tools, and the tools of
// other participants.
package toolbox

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/meup-protocol/meup/internal/agent/mcptools"
	"github.com/meup-protocol/meup/internal/agent/peers"
	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/internal/participant"
	"github.com/meup-protocol/meup/protocol"
)

// Tool identifies a tool that can be called: one of the agent's own servers, or
// of another participant.
type Tool struct {
	Owner protocol.ParticipantID // "" for the agent's own
	Name  string                 // as the owner names it
}

// Box is the set of tools that can be called, by the name that the planner
// uses.
type Box struct {
	Plannable []planner.Tool
	tools     map[string]Tool
}

// Find returns the tool with that name. An unknown name resolves to the agent's
// own servers, which then return an error.
func (b *Box) Find(name string) Tool {
	if t, ok := b.tools[name]; ok {
		return t
	}
	return Tool{Name: name}
}

// AddOffered adds the tools of other participants. The resulting names are
// unique no matter which names the participants choose.
func (b *Box) AddOffered(offered []peers.Tool) {
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
			owner := sha256.Sum256([]byte(t.Owner))
			name += "__" + hex.EncodeToString(owner[:4])
		}
		b.Add(name, Tool{Owner: t.Owner, Name: t.Name}, t.Tool)
	}
}

func qualified(t peers.Tool) string { return string(t.Owner) + "__" + t.Name }

// taken reports whether a name belongs to another tool, or to one of the
// planner's own.
func (b *Box) taken(name string) bool {
	_, taken := b.tools[name]
	return taken || planner.IsBuiltin(name)
}

// Add adds a tool under a name, unless the name is taken.
func (b *Box) Add(name string, where Tool, t mcptools.Tool) {
	if b.taken(name) {
		return
	}
	if b.tools == nil {
		b.tools = make(map[string]Tool)
	}
	b.tools[name] = where
	b.Plannable = append(b.Plannable, planner.Tool{
		Name: name, Description: t.Description, InputSchema: t.InputSchema, ReadOnly: t.ReadOnly, Hinted: t.Hinted,
		Host: string(where.Owner) + "/" + t.Server,
	})
}

// NoteRights sets NeedsApproval of the tools that the capabilities of the agent
// cannot allow it to call.
func (b *Box) NoteRights(you protocol.ParticipantID, capabilities []json.RawMessage) {
	for i := range b.Plannable {
		t := b.tools[b.Plannable[i].Name]
		b.Plannable[i].NeedsApproval = !participant.MayCall(capabilities, cmp.Or(t.Owner, you), t.Name)
	}
}

// NameOf returns the name that the planner uses for a tool. A tool that is not
// offered now keeps the owner's name for it.
func (b *Box) NameOf(t Tool) string {
	for name, offered := range b.tools {
		if offered == t {
			return name
		}
	}
	return t.Name
}
