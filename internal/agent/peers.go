package agent

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/meup-protocol/meup/internal/agent/mcptools"
	"github.com/meup-protocol/meup/protocol"
)

// Bounds for listing the tools of other participants.
const (
	maxPeers     = 64               // participants that are queried
	maxListPages = 10               // of one participant's tools
	maxOffered   = 256              // tools of one participant
	maxToolBytes = 1 << 20          // of their names, descriptions and schemas
	listTime     = 10 * time.Second // for one participant to list its tools
	// listWait bounds how long a question waits for the lists of
	// participants known to serve tools. It does not wait for other
	// participants, most of which are people and never respond.
	listWait = time.Second
	// relistPause is the minimum interval between two queries of one
	// participant, no matter how often it announces changes.
	relistPause = 5 * time.Second
	// awayTimeout is how long a participant may be disconnected before a
	// pending request to it fails.
	awayTimeout = 2 * time.Second
)

// peers stores the tools that the other participants offer.
type peers struct {
	mu     sync.Mutex
	offers map[protocol.ParticipantID]*offer
}

// offer is the list of tools of one participant, with the state of the query
// for it.
type offer struct {
	since      time.Time // start of the last query
	settled    chan struct{}
	tools      []mcptools.Tool // of the previous query until settled
	present    bool
	serves     bool // it declared that it serves tools
	querying   bool // a goroutine queries it, or pauses before the next query
	changed    bool // it joined or announced a change during the query
	unanswered int  // consecutive queries without a response
}

// maxUnanswered bounds the queries without a response. A participant at the
// bound is not queried when it joins again, because it is probably a person.
const maxUnanswered = 2

// update records the present participants and returns those to query:
// participants that have just joined and may respond.
func (n *peers) update(you protocol.ParticipantID, here []protocol.Participant, now time.Time) []protocol.ParticipantID {
	n.mu.Lock()
	defer n.mu.Unlock()
	present, serves := make(map[protocol.ParticipantID]bool, len(here)), make(map[protocol.ParticipantID]bool)
	for _, p := range here {
		present[p.ID], serves[p.ID] = true, servesTools(p)
	}
	before := make(map[protocol.ParticipantID]bool, len(n.offers))
	for id, o := range n.offers {
		before[id], o.present, o.serves = o.present, present[id], serves[id]
	}
	var ask []protocol.ParticipantID
	for _, declared := range []bool{true, false} { // declared hosts first, because maxPeers bounds the table
		for _, p := range here {
			if p.ID == you || before[p.ID] || serves[p.ID] != declared || !declared && !mayAnswer(p.Capabilities) {
				continue
			}
			if n.beginLocked(p.ID, declared, now) {
				ask = append(ask, p.ID)
			}
		}
	}
	return ask
}

func servesTools(p protocol.Participant) bool { return slices.Contains(p.Serves, protocol.ServesTools) }

// renew reports whether to query a participant that announced a change.
func (n *peers) renew(id protocol.ParticipantID, now time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	serves := false
	if o := n.offers[id]; o != nil {
		o.unanswered, serves = 0, o.serves
	}
	return n.beginLocked(id, serves, now)
}

// beginLocked starts a query, unless one is in progress or the participant does
// not respond. It reports whether the caller must send it.
func (n *peers) beginLocked(id protocol.ParticipantID, serves bool, now time.Time) bool {
	o := n.offers[id]
	switch {
	case o == nil && len(n.offers) >= maxPeers && !n.evictLocked(serves):
		return false
	case o == nil:
		o = &offer{present: true}
	case o.querying:
		o.changed = true
		return false
	case !serves && o.unanswered >= maxUnanswered:
		return false
	}
	if n.offers == nil {
		n.offers = make(map[protocol.ParticipantID]*offer)
	}
	n.offers[id] = &offer{since: now, settled: make(chan struct{}), tools: o.tools, present: o.present, serves: serves, querying: true, unanswered: o.unanswered}
	return true
}

// evictLocked evicts the absent participant with the oldest query. A
// participant that serves tools also evicts a present one that is not known to
// serve any. It reports whether an entry was evicted.
func (n *peers) evictLocked(serves bool) bool {
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

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// finish ends the query of a participant, unless a new query is required: the
// participant is present, and joined or announced a change in the meantime. It
// reports whether to query again.
func (n *peers) finish(id protocol.ParticipantID, now time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	o := n.offers[id]
	o.querying = false
	return o.present && o.changed && n.beginLocked(id, o.serves, now)
}

// store stores the result of a query. silent means that the participant did
// not respond.
func (n *peers) store(id protocol.ParticipantID, tools []mcptools.Tool, silent bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	o := n.offers[id]
	if o == nil || isClosed(o.settled) {
		return
	}
	o.tools = tools
	if silent {
		o.unanswered++
	} else {
		o.unanswered = 0
	}
	close(o.settled)
}

// bounded truncates a list of tools to maxOffered and maxToolBytes.
func bounded(tools []mcptools.Tool) []mcptools.Tool {
	bytes := 0
	for i, t := range tools {
		bytes += len(t.Name) + len(t.Description) + len(t.InputSchema)
		if i == maxOffered || bytes > maxToolBytes {
			return slices.Clone(tools[:i])
		}
	}
	return tools
}

// markAbsent marks a participant as absent, so that it counts as new when it is
// next seen.
func (n *peers) markAbsent(id protocol.ParticipantID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if o := n.offers[id]; o != nil {
		o.present = false
	}
}

// wait returns when every present participant known to serve tools, and queried
// less than listWait ago, has responded, or when listWait has passed.
func (n *peers) wait(ctx context.Context, now time.Time) {
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

// offered returns the tools of the present participants, ordered by owner. If
// an owner lists a name twice, the first tool is used.
func (n *peers) offered() []offeredTool {
	n.mu.Lock()
	defer n.mu.Unlock()
	var owners []protocol.ParticipantID
	for id, o := range n.offers {
		if o.present && len(o.tools) > 0 {
			owners = append(owners, id)
		}
	}
	slices.Sort(owners)
	var list []offeredTool
	for _, id := range owners {
		names := make(map[string]bool, len(n.offers[id].tools))
		for _, t := range n.offers[id].tools {
			if !names[t.Name] {
				names[t.Name] = true
				list = append(list, offeredTool{id, t})
			}
		}
	}
	return list
}

// mayAnswer reports whether capabilities could allow mcp.response. It may
// report true for a participant that cannot respond, but never false for one
// that can.
func mayAnswer(capabilities []json.RawMessage) bool {
	return slices.ContainsFunc(capabilities, func(c json.RawMessage) bool {
		pattern, ok := kindPattern(c)
		return ok && pattern.Match(protocol.KindMCPResponse)
	})
}

// kindPattern parses the kind pattern of a capability; a denial has none.
func kindPattern(capability json.RawMessage) (protocol.KindPattern, bool) {
	kind := kindOf(capability)
	if kind == "" {
		return protocol.KindPattern{}, false
	}
	pattern, err := protocol.ParseKindPattern(kind)
	return pattern, err == nil
}

// onJoin queries the participants that have joined for their tools.
func (a *Agent) onJoin() {
	if a.opts.OwnToolsOnly || a.queriesOff.Load() {
		return
	}
	for _, id := range a.peers.update(a.you, a.opts.Space.Welcome().Participants, a.opts.Now()) {
		a.runtime.Group.Go(func() { a.pollTools(id) })
	}
}

// pollTools queries a participant for its tools, and repeats the query after
// relistPause if the participant announced a change in the meantime.
func (a *Agent) pollTools(id protocol.ParticipantID) {
	for {
		a.listTools(id)
		if !waitFor(a.runtime.Work, relistPause) || !a.peers.finish(id, a.opts.Now()) {
			return
		}
	}
}

func waitFor(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (a *Agent) listTools(id protocol.ParticipantID) {
	ctx, cancel := context.WithTimeout(a.runtime.Work, listTime)
	defer cancel()
	var tools []mcptools.Tool
	cursor := ""
	silent := false
	for range maxListPages {
		page, next, err := a.listPage(ctx, id, cursor)
		if err != nil {
			a.log.Debug("no tools listed", "by", id, "err", err)
			silent = ctx.Err() != nil
			if errors.Is(err, &protocol.Error{Code: protocol.CodeCapabilityViolation}) {
				a.stopQueries(id, err)
				return
			}
			break
		}
		tools = append(tools, page...)
		if some := bounded(tools); len(some) < len(tools) {
			a.log.Warn("a participant offers more tools than are kept", "participant", id, "kept", len(some))
			tools = some
			break
		}
		if cursor = next; cursor == "" {
			break
		}
	}
	if len(tools) > 0 {
		a.log.Info("tools found in the space", "participant", id, "tools", len(tools))
	}
	a.peers.store(id, tools, silent)
}

// stopQueries stops the queries until the rights change.
func (a *Agent) stopQueries(id protocol.ParticipantID, err error) {
	if a.queriesOff.CompareAndSwap(false, true) {
		a.log.Info("the others are not asked for their tools", "err", err)
	}
	a.peers.store(id, nil, false)
	a.peers.markAbsent(id)
}

func (a *Agent) listPage(ctx context.Context, id protocol.ParticipantID, cursor string) ([]mcptools.Tool, string, error) {
	params := map[string]string{}
	if cursor != "" {
		params["cursor"] = cursor
	}
	request := protocol.Envelope{ID: a.opts.NewID(), Kind: protocol.KindMCPRequest, To: []protocol.ParticipantID{id}}
	request.Payload = object(field{"jsonrpc", "2.0"}, field{"id", request.ID}, field{"method", "tools/list"}, field{"params", params})
	answer := a.inbox.expect(request.ID)
	defer a.inbox.release(request.ID)
	if err := a.publish(ctx, request); err != nil {
		return nil, "", err
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
