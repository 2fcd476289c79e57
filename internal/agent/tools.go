package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/meup-protocol/meup/internal/agent/mcptools"
	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/internal/agent/planner/rules"
	"github.com/meup-protocol/meup/protocol"
)

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
	b.NoteRights(a.you, a.opts.Space.Welcome().You.Capabilities)
	return b
}

// Bounds of listing the tools of other participants.
const (
	maxListPages = 10               // of one participant's tools
	listTime     = 10 * time.Second // for one participant to list its tools
	// relistPause is the minimum interval between two queries of one
	// participant, no matter how often it announces changes.
	relistPause = 5 * time.Second
)

// onJoin queries the participants that have joined for their tools.
func (a *Agent) onJoin() {
	if a.opts.OwnToolsOnly || a.queriesOff.Load() {
		return
	}
	for _, id := range a.peers.Update(a.you, a.opts.Space.Welcome().Participants, a.opts.Now()) {
		a.runtime.Group.Go(func() { a.pollTools(id) })
	}
}

// pollTools queries a participant for its tools, and repeats the query after
// relistPause if the participant announced a change in the meantime.
func (a *Agent) pollTools(id protocol.ParticipantID) {
	for {
		a.listTools(id)
		select {
		case <-a.opts.After(relistPause):
			if !a.peers.Finish(id, a.opts.Now()) {
				return
			}
		case <-a.runtime.Work.Done():
			return
		}
	}
}

func (a *Agent) listTools(id protocol.ParticipantID) {
	ctx, cancel := context.WithTimeout(a.runtime.Work, listTime)
	defer cancel()
	var tools []mcptools.Tool
	cursor := ""
	sent := true
	for range maxListPages {
		page, next, err := a.listPage(ctx, id, cursor)
		if err != nil {
			a.log.Debug("no tools listed", "by", id, "err", err)
			sent = !errors.Is(err, errNotSent)
			if errors.Is(err, &protocol.Error{Code: protocol.CodeCapabilityViolation}) {
				a.stopQueries(id, err)
				return
			}
			break
		}
		tools = append(tools, page...)
		if some := boundedTools(tools); len(some) < len(tools) {
			a.log.Warn("a participant offers more tools than are kept", "participant", id, "kept", len(some))
			tools = some
			break
		}
		cursor = next
		if cursor == "" {
			break
		}
	}
	if len(tools) > 0 {
		a.log.Info("tools found in the space", "participant", id, "tools", len(tools))
	}
	a.peers.Store(id, tools, sent && len(tools) == 0)
}

// errNotSent marks a query that was rejected, or not sent because the agent itself was
// not connected.
var errNotSent = errors.New("not sent")

// stopQueries stops the queries until the rights change.
func (a *Agent) stopQueries(id protocol.ParticipantID, err error) {
	if a.queriesOff.CompareAndSwap(false, true) {
		a.log.Info("the others are not asked for their tools", "err", err)
	}
	a.peers.Store(id, nil, false)
	a.peers.MarkAbsent(id)
}

func (a *Agent) listPage(ctx context.Context, id protocol.ParticipantID, cursor string) ([]mcptools.Tool, string, error) {
	params := map[string]string{}
	if cursor != "" {
		params["cursor"] = cursor
	}
	request := protocol.Envelope{ID: newID(), Kind: protocol.KindMCPRequest, To: []protocol.ParticipantID{id}}
	request.Payload = object(field{"jsonrpc", "2.0"}, field{"id", request.ID}, field{"method", "tools/list"}, field{"params", params})
	answer := a.inbox.Expect(request.ID)
	defer a.inbox.Release(request.ID)
	if err := a.out.Publish(ctx, request); err != nil {
		return nil, "", fmt.Errorf("%w: %w", errNotSent, err)
	}
	for {
		select {
		case env := <-answer:
			if env.Kind == protocol.KindMCPResponse && env.From == id {
				return mcptools.ParseToolList(env.Payload)
			}
		case <-ctx.Done():
			return nil, "", context.Cause(ctx)
		}
	}
}
