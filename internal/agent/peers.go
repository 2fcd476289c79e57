package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/meup-protocol/meup/internal/agent/mcptools"
	"github.com/meup-protocol/meup/internal/agent/participant"
	"github.com/meup-protocol/meup/protocol"
)

// Bounds of the stored tools, and of the queries.
const (
	maxPeers     = 64      // participants that are queried
	maxOffered   = 256     // tools of one participant
	maxToolBytes = 1 << 20 // of their names, descriptions and schemas
	// listWait bounds how long a question waits for the lists of
	// participants known to serve tools. It does not wait for other
	// participants, most of which are people and never respond.
	listWait = time.Second
)

// peerTable stores the tools that the other participants offer, and decides when to query
// them for their lists. The zero peerTable is empty. Its methods are safe for concurrent use.
type peerTable struct {
	mu     sync.Mutex
	offers map[protocol.ParticipantID]*offer
}

// peerTool is a tool of another participant.
type peerTool struct {
	Owner protocol.ParticipantID
	mcptools.Tool
}

// offer is the list of tools of one participant, with the state of the query
// for it.
type offer struct {
	since    time.Time // start of the last query
	settled  chan struct{}
	tools    []mcptools.Tool // of the previous query until settled
	present  bool
	serves   bool // it declared that it serves tools; people with all capabilities may respond too, and never do
	querying bool // a goroutine queries it, or pauses before the next query
	changed  bool // it joined or announced a change during the query
	none     bool // it did not respond to the last query, or listed no tools
}

// Update records the present participants and returns those to query:
// participants that have just joined and may respond.
func (n *peerTable) Update(you protocol.ParticipantID, here []protocol.Participant, now time.Time) []protocol.ParticipantID {
	n.mu.Lock()
	defer n.mu.Unlock()
	present, serves := make(map[protocol.ParticipantID]bool, len(here)), make(map[protocol.ParticipantID]bool)
	for _, p := range here {
		present[p.ID], serves[p.ID] = true, slices.Contains(p.Serves, protocol.ServesTools)
	}
	before := make(map[protocol.ParticipantID]bool, len(n.offers))
	for id, o := range n.offers {
		before[id], o.present, o.serves = o.present, present[id], serves[id]
	}
	var ask []protocol.ParticipantID
	for _, declared := range []bool{true, false} { // declared hosts first, because maxPeers bounds the table
		for _, p := range here {
			if p.ID == you || before[p.ID] || serves[p.ID] != declared || !declared && !participant.MayAllow(p.Capabilities, protocol.KindMCPResponse) {
				continue
			}
			if n.beginLocked(p.ID, declared, now) {
				ask = append(ask, p.ID)
			}
		}
	}
	return ask
}

// Renew reports whether to query a participant that announced a change.
func (n *peerTable) Renew(id protocol.ParticipantID, now time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	serves := false
	if o := n.offers[id]; o != nil {
		o.none, serves = false, o.serves
	}
	return n.beginLocked(id, serves, now)
}

// beginLocked starts a query, unless one is in progress, or a participant that does
// not declare tools has listed none: it is probably a person. It reports whether the
// caller must send it.
func (n *peerTable) beginLocked(id protocol.ParticipantID, serves bool, now time.Time) bool {
	o := n.offers[id]
	switch {
	case o == nil && len(n.offers) >= maxPeers && !n.evictLocked(serves):
		return false
	case o == nil:
		o = &offer{present: true}
	case o.querying:
		o.changed = true
		return false
	case !serves && o.none:
		return false
	}
	if n.offers == nil {
		n.offers = make(map[protocol.ParticipantID]*offer)
	}
	n.offers[id] = &offer{since: now, settled: make(chan struct{}), tools: o.tools, present: o.present, serves: serves, querying: true}
	return true
}

// evictLocked evicts the absent participant with the oldest query. A
// participant that serves tools also evicts a present one that is not known to
// serve any. It reports whether an entry was evicted.
func (n *peerTable) evictLocked(serves bool) bool {
	var oldest protocol.ParticipantID
	for id, o := range n.offers {
		if (!o.present || serves && !o.known()) && !o.querying && (oldest == "" || o.since.Before(n.offers[oldest].since)) {
			oldest = id
		}
	}
	delete(n.offers, oldest)
	return oldest != ""
}

// known reports whether the participant is known to serve tools: it declared
// so, or has listed tools before.
func (o *offer) known() bool { return o.serves || len(o.tools) > 0 }

// Finish ends the query of a participant, unless a new query is required: the
// participant is present, and joined or announced a change in the meantime. It
// reports whether to query again.
func (n *peerTable) Finish(id protocol.ParticipantID, now time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	o := n.offers[id]
	o.querying = false
	return o.present && o.changed && n.beginLocked(id, o.serves, now)
}

// Store stores the result of a query. none means that the participant did not
// respond, or listed no tools. One that has listed some before is queried again.
func (n *peerTable) Store(id protocol.ParticipantID, tools []mcptools.Tool, none bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	o := n.offers[id]
	if o == nil {
		return
	}
	select {
	case <-o.settled: // by an earlier result
		return
	default:
	}
	o.none = none && !o.changed && !o.known()
	o.tools = tools
	close(o.settled)
}

// boundedTools truncates a list of tools to maxOffered and maxToolBytes.
func boundedTools(tools []mcptools.Tool) []mcptools.Tool {
	bytes := 0
	for i, t := range tools {
		bytes += len(t.Name) + len(t.Description) + len(t.InputSchema)
		if i == maxOffered || bytes > maxToolBytes {
			return slices.Clone(tools[:i])
		}
	}
	return tools
}

// MarkAbsent marks a participant as absent, so that it counts as new when it is
// next seen.
func (n *peerTable) MarkAbsent(id protocol.ParticipantID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if o := n.offers[id]; o != nil {
		o.present = false
	}
}

// Wait returns when every present participant known to serve tools, and queried
// less than listWait ago, has responded, or when listWait has passed.
func (n *peerTable) Wait(ctx context.Context, now time.Time) {
	n.mu.Lock()
	var open []chan struct{}
	patience := time.Duration(0)
	for _, o := range n.offers {
		if left := listWait - now.Sub(o.since); left > 0 && o.present && o.known() {
			open, patience = append(open, o.settled), max(patience, left)
		}
	}
	n.mu.Unlock()
	if len(open) == 0 {
		return
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for _, settled := range open {
		select {
		case <-settled:
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// Offered returns the tools of the present participants, ordered by owner. If
// an owner lists a name twice, the first tool is used.
func (n *peerTable) Offered() []peerTool {
	n.mu.Lock()
	defer n.mu.Unlock()
	var owners []protocol.ParticipantID
	for id, o := range n.offers {
		if o.present && len(o.tools) > 0 {
			owners = append(owners, id)
		}
	}
	slices.Sort(owners)
	var list []peerTool
	for _, id := range owners {
		names := make(map[string]bool, len(n.offers[id].tools))
		for _, t := range n.offers[id].tools {
			if !names[t.Name] {
				names[t.Name] = true
				list = append(list, peerTool{id, t})
			}
		}
	}
	return list
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
				if a.queriesOff.CompareAndSwap(false, true) { // until the rights change
					a.log.Info("the others are not asked for their tools", "err", err)
				}
				a.peers.Store(id, nil, false)
				a.peers.MarkAbsent(id)
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
