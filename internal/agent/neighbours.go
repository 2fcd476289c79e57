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

// Bounds of what is found out about the tools of others.
const (
	maxNeighbours = 64               // participants that are asked
	maxListPages  = 10               // of one participant's tools
	maxOffered    = 256              // tools of one participant
	maxToolBytes  = 1 << 20          // of their names, descriptions and schemas
	listTime      = 10 * time.Second // for one participant to list its tools
	// listPatience bounds how long a question waits for the lists of participants
	// that serve tools. It does not wait for the others, most of which are people
	// and never answer.
	listPatience = time.Second
	// relistPause is the least time between two requests for the tools of one
	// participant, however often it announces that they have changed.
	relistPause = 5 * time.Second
	// absence is how long somebody who was asked for something may be away.
	absence = 2 * time.Second
)

// neighbours knows the tools that the other participants offer.
type neighbours struct {
	mu     sync.Mutex
	offers map[protocol.ParticipantID]*offer
}

// offer is what one participant has said about its tools.
type offer struct {
	since   time.Time // asked
	settled chan struct{}
	tools   []mcptools.Tool // of before, until settled
	here    bool
	serves  bool // it has declared that it serves tools
	asking  bool // a goroutine asks it, or pauses before it may ask again
	changed bool // it came or announced a change while asking
	silent  int  // times it has not answered
}

// maxSilent is how often somebody who does not answer is asked again when he
// comes back: people have no tools, and need not be reminded of it.
const maxSilent = 2

// meet takes note of who is here, and returns those who are to be asked: who
// might answer, and has just come.
func (n *neighbours) meet(you protocol.ParticipantID, here []protocol.Participant, now time.Time) []protocol.ParticipantID {
	n.mu.Lock()
	defer n.mu.Unlock()
	present, serves := make(map[protocol.ParticipantID]bool, len(here)), make(map[protocol.ParticipantID]bool)
	for _, p := range here {
		present[p.ID], serves[p.ID] = true, servesTools(p)
	}
	before := make(map[protocol.ParticipantID]bool, len(n.offers))
	for id, o := range n.offers {
		before[id], o.here, o.serves = o.here, present[id], serves[id]
	}
	var ask []protocol.ParticipantID
	for _, declared := range []bool{true, false} { // hosts first: there is room for maxNeighbours
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

// renew reports whether a participant that says so itself is to be asked again.
func (n *neighbours) renew(id protocol.ParticipantID, now time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	serves := false
	if o := n.offers[id]; o != nil {
		o.silent, serves = 0, o.serves
	}
	return n.beginLocked(id, serves, now)
}

// beginLocked begins to ask a participant, unless that is under way or of no
// use.
func (n *neighbours) beginLocked(id protocol.ParticipantID, serves bool, now time.Time) bool {
	o := n.offers[id]
	switch {
	case o == nil && len(n.offers) >= maxNeighbours && !n.evictLocked(serves):
		return false
	case o == nil:
		o = &offer{here: true}
	case o.asking:
		o.changed = true
		return false
	case !serves && o.silent >= maxSilent:
		return false
	}
	if n.offers == nil {
		n.offers = make(map[protocol.ParticipantID]*offer)
	}
	n.offers[id] = &offer{since: now, settled: make(chan struct{}), tools: o.tools, here: o.here, serves: serves, asking: true, silent: o.silent}
	return true
}

// evictLocked makes room: of the participants that have left it removes the one
// that was asked longest ago. A participant that serves tools also displaces one
// that does not. It reports whether there was one.
func (n *neighbours) evictLocked(serves bool) bool {
	var oldest protocol.ParticipantID
	for id, o := range n.offers {
		if (!o.here || serves && !o.known()) && !o.asking && (oldest == "" || o.since.Before(n.offers[oldest].since)) {
			oldest = id
		}
	}
	delete(n.offers, oldest)
	return oldest != ""
}

// known reports whether the participant is known to serve tools: it has declared
// so, or has listed some before.
func (o *offer) known() bool { return o.serves || len(o.tools) > 0 }

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// again ends the asking of a participant, unless it has to be asked once more:
// it is present, and came or announced a change in the meantime.
func (n *neighbours) again(id protocol.ParticipantID, now time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	o := n.offers[id]
	o.asking = false
	return o.here && o.changed && n.beginLocked(id, o.serves, now)
}

// settle ends the asking. Silent: there was no answer.
func (n *neighbours) settle(id protocol.ParticipantID, tools []mcptools.Tool, silent bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	o := n.offers[id]
	if o == nil || isClosed(o.settled) {
		return
	}
	o.tools = tools
	if silent {
		o.silent++
	} else {
		o.silent = 0
	}
	close(o.settled)
}

// bounded are the first of the tools, as many as a neighbour may offer.
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

// forget makes a participant one that has just come.
func (n *neighbours) forget(id protocol.ParticipantID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if o := n.offers[id]; o != nil {
		o.here = false
	}
}

// wait returns when the participants that are known to serve tools, and were
// asked less than listPatience ago, have answered or listPatience is over.
func (n *neighbours) wait(ctx context.Context, now time.Time) {
	n.mu.Lock()
	var open []chan struct{}
	patience := time.Duration(0)
	for _, o := range n.offers {
		if left := listPatience - now.Sub(o.since); left > 0 && o.here && o.known() {
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

// offered returns the tools of the participants that are present, ordered by
// owner; of the tools of one owner with the same name, the first.
func (n *neighbours) offered() []offeredTool {
	n.mu.Lock()
	defer n.mu.Unlock()
	var owners []protocol.ParticipantID
	for id, o := range n.offers {
		if o.here && len(o.tools) > 0 {
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

// mayAnswer reports whether capabilities could allow mcp.response. It errs on
// the generous side.
func mayAnswer(capabilities []json.RawMessage) bool {
	return slices.ContainsFunc(capabilities, func(c json.RawMessage) bool {
		pattern, ok := kindPattern(c)
		return ok && pattern.Match(protocol.KindMCPResponse)
	})
}

// kindPattern reads which kinds a capability is about; a denial is about none.
func kindPattern(capability json.RawMessage) (protocol.KindPattern, bool) {
	kind := kindOf(capability)
	if kind == "" {
		return protocol.KindPattern{}, false
	}
	pattern, err := protocol.ParseKindPattern(kind)
	return pattern, err == nil
}

// meet asks whoever has come for their tools.
func (a *Agent) meet(work context.Context) {
	if a.opts.OwnToolsOnly || a.unasked.Load() {
		return
	}
	for _, id := range a.neighbours.meet(a.you, a.opts.Space.Welcome().Participants, a.opts.Now()) {
		a.group.Go(func() { a.interview(work, id) })
	}
}

// interview asks a participant for its tools, and asks again after relistPause
// when it has announced a change meanwhile.
func (a *Agent) interview(work context.Context, id protocol.ParticipantID) {
	for {
		a.listTools(work, id)
		if !waitFor(work, relistPause) || !a.neighbours.again(id, a.opts.Now()) {
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

func (a *Agent) listTools(work context.Context, id protocol.ParticipantID) {
	ctx, cancel := context.WithTimeout(work, listTime)
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
				a.notAsking(id, err)
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
	a.neighbours.settle(id, tools, silent)
}

// notAsking leaves the others alone until the rights have changed.
func (a *Agent) notAsking(id protocol.ParticipantID, err error) {
	if a.unasked.CompareAndSwap(false, true) {
		a.log.Info("the others are not asked for their tools", "err", err)
	}
	a.neighbours.settle(id, nil, false)
	a.neighbours.forget(id)
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
	if err := a.say(ctx, request); err != nil {
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
