package agent

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"

	"github.com/meup-protocol/meup/internal/agent/mcptools"
	"github.com/meup-protocol/meup/internal/agent/participant"
	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/internal/agent/planner/rules"
	"github.com/meup-protocol/meup/protocol"
)

// boxTool identifies a tool that can be called: one of the agent's own servers, or
// of another participant.
type boxTool struct {
	Owner protocol.ParticipantID // "" for the agent's own
	Name  string                 // as the owner names it
}

// toolbox is the set of tools that can be called, the agent's own and those of other
// participants, by the name that the planner uses.
type toolbox struct {
	Plannable []planner.Tool
	tools     map[string]boxTool
}

// Find returns the tool with that name. An unknown name resolves to the agent's
// own servers, which then return an error.
func (b *toolbox) Find(name string) boxTool {
	if t, ok := b.tools[name]; ok {
		return t
	}
	return boxTool{Name: name}
}

// AddOffered adds the tools of other participants. The resulting names are
// unique no matter which names the participants choose.
func (b *toolbox) AddOffered(offered []peerTool) {
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
		b.Add(name, boxTool{Owner: t.Owner, Name: t.Name}, t.Tool)
	}
}

func qualified(t peerTool) string { return string(t.Owner) + "__" + t.Name }

// taken reports whether a name belongs to another tool, or to one of the
// planner's own.
func (b *toolbox) taken(name string) bool {
	_, taken := b.tools[name]
	return taken || planner.IsBuiltin(name)
}

// Add adds a tool under a name, unless the name is taken.
func (b *toolbox) Add(name string, where boxTool, t mcptools.Tool) {
	if b.taken(name) {
		return
	}
	if b.tools == nil {
		b.tools = make(map[string]boxTool)
	}
	b.tools[name] = where
	b.Plannable = append(b.Plannable, planner.Tool{
		Name: name, Description: t.Description, InputSchema: t.InputSchema, ReadOnly: t.ReadOnly, Hinted: t.Hinted,
		Host: string(where.Owner) + "/" + t.Server,
	})
}

// NameOf returns the name that the planner uses for a tool. A tool that is not
// offered now keeps the owner's name for it.
func (b *toolbox) NameOf(t boxTool) string {
	for name, offered := range b.tools {
		if offered == t {
			return name
		}
	}
	return t.Name
}

// toolbox collects the tools that can be called now. The agent's own tools keep
// their names. A tool of another participant keeps its name only if no one else
// offers a tool with that name; otherwise each is qualified by its owner, so
// that no participant can take over the name of another's tool. The tools of
// others may not be called for a private question, because the content would
// reach them in the arguments. The planner sees them nevertheless until it wants
// one, if it has no others: the answer then says so. The rules do not see them for
// a greeting, because they would name them.
func (a *Agent) toolbox(p *problem) *toolbox {
	b := new(toolbox)
	for _, t := range a.opts.Tools.Tools() {
		name := t.Name
		if planner.IsBuiltin(name) {
			name = t.Server + "__" + name
		}
		b.Add(name, boxTool{Name: t.Name}, t)
	}
	_, byRules := a.opts.Planner.(rules.Rules)
	mayWant := !p.q.part && !p.q.withheld.Load() && len(a.opts.Tools.Tools()) == 0 && (!byRules || rules.AsksAnything(p.q.text))
	if !a.opts.OwnToolsOnly && (len(p.q.private) == 0 || mayWant) {
		a.peers.Wait(p.ctx, a.opts.Now())
		b.AddOffered(a.peers.Offered())
	}
	capabilities := a.opts.Space.Welcome().You.Capabilities
	for i := range b.Plannable {
		t := b.Find(b.Plannable[i].Name)
		b.Plannable[i].NeedsApproval = !participant.MayCall(capabilities, cmp.Or(t.Owner, a.you), t.Name)
	}
	return b
}
