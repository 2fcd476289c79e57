package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/protocol"
)

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

// write pins definitions, in entries of limited size.
func (p *Pins) write(ctx context.Context, list []Definition, accepted protocol.ID) error {
	var batch []entry
	size := 0
	for i, d := range list {
		e := entry{Name: d.Name, Sum: d.Sum(), shown: show(d, p.limit)}
		batch = append(batch, e)
		size += len(d.Name) + min(len(d.Description), maxDescription) + min(len(d.Schema), maxSchema) + 200
		if i < len(list)-1 && size < min(maxEntry, p.limit/4) {
			continue
		}
		if err := p.writeEntry(ctx, batch, accepted); err != nil || p.isOff() {
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

// over fills the parts that are absent from another definition.
func (s shown) over(other shown) shown {
	if s.Description == nil {
		s.Description = other.Description
	}
	if s.Schema == nil {
		s.Schema = other.Schema
	}
	return s
}
