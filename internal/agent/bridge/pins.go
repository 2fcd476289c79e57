package bridge

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/agent/participant"
	"github.com/meup-protocol/meup/protocol"
)

// methodAccept is the method of the request that accepts a definition. Its
// params have the name of the tool and the hash: {"name", "sha256"}.
const methodAccept = "tools/accept"

// Bounds. A server that makes up new tools or definitions cannot fill the log.
const (
	maxTools     = 4096 // pinned; further ones have to be accepted
	maxSums      = 256  // accepted definitions of a tool
	maxProposals = 16   // for one tool, of one process
	maxEntry     = 32 << 10
	pageSize     = 200
	maxPages     = 1000
)

// PinOptions configures Pins. All but Required and Logger are required.
type PinOptions struct {
	Space   participant.Space
	History participant.History
	// Required: without the right to write pins, tools are held back. If it is
	// false, they are not pinned then.
	Required bool
	Logger   *slog.Logger // nil discards
}

// Pins are the accepted definitions of a server's tools. They are recorded in the log of
// the space when the tools are first seen. A tool whose definition has changed is held back
// until another participant accepts it. Its methods are safe for concurrent use.
//
// A pin is an entry of the kind capability.grant that the participant sends to
// itself: the log keeps these entries for ever. It gives a part of a right that
// the participant has, for a second, so it changes nothing else. Its payload has
// the definitions in "pinned".
type Pins struct {
	opts PinOptions
	log  *slog.Logger
	you  protocol.ParticipantID
	name string // of the space
	// limit is the size of the largest envelope that the gateway accepts, in bytes.
	limit int
	lock  chan struct{}

	mu       sync.Mutex
	off      bool            // the participant may not write pins
	tools    map[string]*pin // by name
	current  map[string]bool // tools of the last lists, and whether they are accepted
	since    protocol.Seq    // pins up to here were read
	logID    string
	proposed map[string]bool // names and hashes that were proposed
	readAll  bool            // the proposals of earlier processes were read
}

// pin is the state of one tool.
type pin struct {
	sums      map[string]bool
	last      shown // the definition that was accepted last
	proposals int
}

// NewPins returns the pins of a participant. They are read from the log when the
// first tools are checked.
func NewPins(o PinOptions) *Pins {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	w := o.Space.Welcome()
	limit := 1 << 20
	if most := w.You.Limits.MessageBytes; most > 0 {
		limit = int(most)
	}
	return &Pins{
		opts: o, log: o.Logger, you: w.You.ID, name: w.Space.Name, logID: w.Space.Log, limit: limit, lock: make(chan struct{}, 1),
		tools: make(map[string]*pin), current: make(map[string]bool), proposed: make(map[string]bool),
	}
}

// heldBackError reports that a tool may not be used.
type heldBackError struct{ Tool string }

func (e *heldBackError) Error() string {
	return fmt.Sprintf("the definition of the tool %s has changed and was not accepted yet; a participant has to fulfill the proposal of tools/accept", e.Tool)
}

// Check returns which of the definitions are accepted. New tools are pinned, and
// changed ones are proposed. After an error none may be used.
func (p *Pins) Check(ctx context.Context, list []Definition) ([]bool, error) {
	select {
	case p.lock <- struct{}{}: // one check at a time
		defer func() { <-p.lock }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	_, fresh, changed := p.sort(list)
	if len(fresh)+len(changed) > 0 || p.unread() {
		if err := p.read(ctx); err != nil { // another process may have pinned or accepted them
			return nil, err
		}
		_, fresh, _ = p.sort(list)
	}
	if len(fresh) > 0 {
		if err := p.write(ctx, fresh); err != nil {
			return nil, err
		}
		if err := p.read(ctx); err != nil { // the first process to pin a tool decides
			return nil, err
		}
	}
	accepted, _, changed := p.sort(list)
	p.record(list, accepted)
	for _, d := range changed {
		if err := p.propose(ctx, d); err != nil {
			p.log.Warn("a changed tool was not proposed; send the request tools/accept to accept it", "tool", d.Name, "sha256", d.Sum(), "err", err)
		}
	}
	return accepted, nil
}

func (p *Pins) unread() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.readAll && !p.off
}

// sort returns which definitions are accepted, and the ones that are not: of
// tools without a pin, and of tools that had another definition.
func (p *Pins) sort(list []Definition) (accepted []bool, fresh, changed []Definition) {
	p.mu.Lock()
	defer p.mu.Unlock()
	accepted = make([]bool, len(list))
	for i, d := range list {
		switch known := p.tools[d.Name]; {
		case p.off || known != nil && known.sums[d.Sum()]:
			accepted[i] = true
		case known == nil && len(p.tools)+len(fresh) < maxTools:
			fresh = append(fresh, d)
		default:
			changed = append(changed, d)
		}
	}
	return accepted, fresh, changed
}

// record stores which tools of a list are accepted.
func (p *Pins) record(list []Definition, accepted []bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.current)+len(list) > 2*maxTools {
		clear(p.current)
	}
	for i, d := range list {
		p.current[d.Name] = accepted[i]
	}
}

// Callable reports whether a tool was accepted; known is false if it was in no
// list since the last change.
func (p *Pins) Callable(name string) (accepted, known bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	accepted, known = p.current[name]
	return accepted, known
}

// Changed drops the results of earlier checks: the server's tools may have changed.
func (p *Pins) Changed() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.current)
}

// errAcceptParams: the params of a request name no definition.
var errAcceptParams = errors.New("invalid params: expected name and sha256, the hash in the proposal")

// Accept pins the definition that the params of a request name. request is the id
// of its envelope.
func (p *Pins) Accept(ctx context.Context, params protocol.Value, request protocol.ID) error {
	name, sum := params.Get("name").Text(), params.Get("sha256").Text()
	if name == "" || len(sum) != 64 {
		return errAcceptParams
	}
	var s shown
	if after := params.Get("after"); after.Exists() {
		s.read(after)
	}
	p.mu.Lock()
	if known := p.tools[name]; known != nil { // the proposal has the changed parts only
		s.Description = cmp.Or(s.Description, known.last.Description)
		if s.Schema == nil {
			s.Schema = known.last.Schema
		}
	}
	p.mu.Unlock()
	if err := p.writeEntry(ctx, []entry{{Name: name, Sum: sum, shown: s}}, request); err != nil {
		return err
	}
	if err := p.read(ctx); err != nil {
		return err
	}
	p.Changed()
	return nil
}

// propose asks the other participants to accept a definition, once.
func (p *Pins) propose(ctx context.Context, d Definition) error {
	key := d.Name + "\n" + d.Sum()
	p.mu.Lock()
	known := p.tools[d.Name]
	if known == nil {
		p.mu.Unlock()
		return errTools
	}
	done, before := p.proposed[key] || known.proposals >= maxProposals, known.last
	if !done {
		p.proposed[key] = true
		known.proposals++
	}
	p.mu.Unlock()
	if done {
		return nil
	}
	after, changed := show(d, p.limit).without(before)
	before, _ = before.without(show(d, p.limit))
	p.log.Warn("the definition of a tool has changed; it is held back until it is accepted", "tool", d.Name, "changed", changed)
	err := p.sendProposal(ctx, acceptParams{d.Name, changed, before, after, d.Sum()})
	var refused *protocol.Error
	if errors.As(err, &refused) && refused.Code != protocol.CodeCapabilityViolation { // such as names in a schema that differ only by case
		err = p.sendProposal(ctx, acceptParams{d.Name, changed, before.hidden(), after.hidden(), d.Sum()})
	}
	if err != nil {
		p.mu.Lock()
		delete(p.proposed, key)
		p.mu.Unlock()
	}
	return err
}

var errTools = fmt.Errorf("%d tools are pinned, which is the limit", maxTools)

func (p *Pins) sendProposal(ctx context.Context, params acceptParams) error {
	_, err := p.opts.Space.Send(ctx, protocol.Envelope{Kind: protocol.KindMCPProposal, Payload: mustMarshal(map[string]any{
		"method": methodAccept, "participant_id": p.you, "params": params,
	})})
	return err
}

// acceptParams are the params of a proposal, in the order in which they are read.
type acceptParams struct {
	Name    string   `json:"name"`
	Changed []string `json:"changed"`
	Before  shown    `json:"before"`
	After   shown    `json:"after"`
	Sum     string   `json:"sha256"`
}

// entry is one definition in a pin.
type entry struct {
	Name string `json:"name"`
	Sum  string `json:"sha256"`
	shown
}

// payload is the payload of a pin.
type payload struct {
	Recipient    protocol.ParticipantID `json:"recipient"`
	Capabilities json.RawMessage        `json:"capabilities"`
	TTL          int                    `json:"ttl_seconds"`
	Reason       string                 `json:"reason"`
	// Accepted is the request that accepted the definitions; "": the tools were
	// seen for the first time, and a pin that a tool has already is kept.
	Accepted protocol.ID `json:"accepted,omitempty"`
	Pinned   []entry     `json:"pinned"`
}

// nothing is a right that the participant has, with a condition that no response
// fulfills.
var nothing = json.RawMessage(`[{"kind":"mcp.response","payload":{"pinned":true}}]`)

// write pins definitions that are seen for the first time, in entries of limited size.
func (p *Pins) write(ctx context.Context, list []Definition) error {
	var batch []entry
	size := 0
	for i, d := range list {
		e := entry{Name: d.Name, Sum: d.Sum(), shown: show(d, p.limit)}
		batch = append(batch, e)
		size += len(d.Name) + min(len(d.Description), maxDescription) + min(len(d.Schema), maxSchema) + 200
		if i < len(list)-1 && size < min(maxEntry, p.limit/4) {
			continue
		}
		if err := p.writeEntry(ctx, batch, ""); err != nil || p.isOff() {
			return err
		}
		batch, size = nil, 0
	}
	return nil
}

func (p *Pins) isOff() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.off
}

// writeEntry writes one pin. Without the right to do so, pins are off unless they
// are required.
func (p *Pins) writeEntry(ctx context.Context, batch []entry, accepted protocol.ID) error {
	reason := "tools seen for the first time"
	if accepted != "" {
		reason = "a changed tool was accepted"
	}
	_, err := p.opts.Space.Send(ctx, protocol.Envelope{Kind: protocol.KindCapabilityGrant, Payload: mustMarshal(payload{
		Recipient: p.you, Capabilities: nothing, TTL: 1, Reason: reason, Accepted: accepted, Pinned: batch,
	})})
	var refused *protocol.Error
	if !errors.As(err, &refused) || refused.Code != protocol.CodeCapabilityViolation && refused.Code != protocol.CodeCannotDelegate {
		return err
	}
	needed := fmt.Sprintf("%s needs the capability {kind: capability.grant, payload: {recipient: %s}}", p.you, p.you)
	if p.opts.Required || accepted != "" {
		return fmt.Errorf("pin tools: %s: %w", needed, err)
	}
	p.log.Warn("tools are not pinned, so a tool that changes is not held back: "+needed, "err", err)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.off = true
	return nil
}

// read reads the pins that were written since the last read, and once the
// proposals of earlier processes.
func (p *Pins) read(ctx context.Context) error {
	p.mu.Lock()
	q := api.EnvelopeQuery{
		Kinds: []string{string(protocol.KindCapabilityGrant)}, From: []protocol.ParticipantID{p.you}, Since: p.since, Log: p.logID, Limit: pageSize,
	}
	readAll := p.readAll
	p.mu.Unlock()
	if !readAll {
		q.Kinds = append(q.Kinds, string(protocol.KindMCPProposal))
	}
	for range maxPages {
		page, err := p.opts.History.Envelopes(ctx, p.name, q)
		if errors.Is(err, &protocol.Error{Code: protocol.CodeCursorExpired}) { // another log took the place of this one
			p.mu.Lock()
			p.since, p.logID, q.Since, q.Log = 0, "", 0, ""
			clear(p.tools)
			clear(p.proposed)
			p.mu.Unlock()
			continue
		}
		if err != nil {
			return fmt.Errorf("read the pins of tools: %w", err)
		}
		for i := range page.Envelopes {
			p.note(&page.Envelopes[i])
		}
		q.Since, q.Log = max(q.Since, page.Next), page.Log
		p.mu.Lock()
		p.since, p.logID = q.Since, q.Log
		p.mu.Unlock()
		if !page.HasMore {
			p.mu.Lock()
			p.readAll = true
			p.mu.Unlock()
			return nil
		}
	}
	return errTooMany
}

var errTooMany = errors.New("read the pins of tools: there are too many")

// note applies an entry of the log.
func (p *Pins) note(e *protocol.Envelope) {
	if e.From != p.you {
		return
	}
	v := e.ParsePayload()
	p.mu.Lock()
	defer p.mu.Unlock()
	if e.Kind == protocol.KindMCPProposal {
		if params := v.Get("params"); v.Get("method").EqualText(methodAccept) {
			p.proposed[params.Get("name").Text()+"\n"+params.Get("sha256").Text()] = true
		}
		return
	}
	accepted := v.Get("accepted").Text() != ""
	for item := range v.Get("pinned").Elements {
		name, sum := item.Get("name").Text(), item.Get("sha256").Text()
		known := p.tools[name]
		if name == "" || len(sum) != 64 || !accepted && known != nil && len(known.sums) > 0 {
			continue
		}
		if known == nil {
			known = &pin{sums: make(map[string]bool)}
			p.tools[name] = known
		}
		if len(known.sums) >= maxSums {
			clear(known.sums)
		}
		known.sums[sum] = true
		known.last = shown{}
		known.last.read(item)
	}
}

// read reads the shown parts of a definition.
func (s *shown) read(v protocol.Value) {
	if d := v.Get("description"); d.Type() == protocol.TypeString {
		text := d.Text()
		s.Description = &text
	}
	if schema := v.Get("inputSchema"); schema.Exists() {
		s.Schema = compact(schema.Raw())
	}
	for name := range v.Get("left_out").Elements {
		s.LeftOut = append(s.LeftOut, name.Text())
	}
}
