package tui

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/meup-protocol/meup/internal/reasontext"
	"github.com/meup-protocol/meup/internal/termtext"
	"github.com/meup-protocol/meup/protocol"
)

// maxProposals bounds those that wait for a decision.
const maxProposals = 256

// proposal is a call that somebody asks others to make.
type proposal struct {
	number  int // ours; it never means another one
	id      protocol.ID
	from    protocol.ParticipantID
	owner   protocol.ParticipantID   // whose tool it is; "": the proposer's own
	private []protocol.ParticipantID // between whom it is; nil: everybody
	method  string
	tool    string
	params  json.RawMessage // as they came
	context protocol.ContextPath
	at      time.Time

	decided  string // what became of it, in words; "": it waits
	deciding bool   // my own decision is on its way
}

// proposals are those that wait, in the order of their numbers.
type proposals struct {
	pending []*block
	count   int
}

func newProposals() proposals { return proposals{} }

// decide takes in a proposal, or what becomes of one.
func (m *model) decide(env *protocol.Envelope) {
	if env.Kind == protocol.KindMCPProposal {
		m.propose(env)
		return
	}
	for _, id := range env.Correlation.IDs {
		b := m.work.byID(id)
		if b == nil {
			continue
		}
		switch {
		case env.Kind == protocol.KindMCPReject:
			m.settleProposal(b, "rejected "+reasonFor(env, ""))
		case env.Kind == protocol.KindMCPWithdraw && env.From == b.proposal.from:
			m.settleProposal(b, "withdrawn: "+reasonFor(env, env.From))
		case env.Kind == protocol.KindMCPRequest && env.From != b.proposal.from && toolOf(env.Payload) != "":
			m.settleProposal(b, "approved by "+string(env.From))
		}
	}
}

func (m *model) propose(env *protocol.Envelope) {
	if env.From == m.you || m.work.byID(env.ID) != nil {
		return
	}
	p := payload[struct {
		Method string                 `json:"method"`
		Params json.RawMessage        `json:"params"`
		Owner  protocol.ParticipantID `json:"participant_id"`
	}](env)
	m.work.count++
	b := &block{kind: proposalBlock, context: env.Context, proposal: &proposal{
		number: m.work.count, id: env.ID, from: env.From, owner: p.Owner, private: env.To,
		method: p.Method, tool: toolOf(env.Payload), params: p.Params, context: env.Context, at: env.TS,
	}}
	m.work.pending = append(m.work.pending, b)
	if len(m.work.pending) > maxProposals {
		m.settleProposal(m.work.pending[0], "not followed any more: too many wait")
	}
	m.show(b)
}

func (m *model) settleProposal(b *block, how string) {
	b.proposal.decided = how
	m.work.pending = slices.DeleteFunc(m.work.pending, func(x *block) bool { return x == b })
	m.changed(b)
}

func (p *proposals) byID(id protocol.ID) *block {
	for _, b := range p.pending {
		if b.proposal.id == id {
			return b
		}
	}
	return nil
}

// choose finds the proposal that a person means by its number or its id; with
// nothing, the only one. The sentence says why there is none.
func (p *proposals) choose(which string) (b *block, sentence string) {
	switch {
	case len(p.pending) == 0:
		return nil, "No proposal waits for a decision."
	case which == "" && len(p.pending) == 1:
		return p.pending[0], ""
	case which == "":
		return nil, fmt.Sprintf("%d proposals wait: say which one. /proposals lists them.", len(p.pending))
	}
	if b := p.byID(protocol.ID(which)); b != nil {
		return b, ""
	}
	for _, b := range p.pending {
		if strconv.Itoa(b.proposal.number) == which {
			return b, ""
		}
	}
	return nil, "No proposal " + which + " waits for a decision. /proposals lists those that do."
}

// call writes what is proposed, with hidden characters spelled out, cut at n
// characters; 0: as a whole.
func (p *proposal) call(n int) string {
	text := termtext.Exact(reasontext.JSON(p.params))
	if len(p.params) == 0 {
		text = "without parameters"
	}
	if r := []rune(text); n > 0 && len(r) > n {
		text = fmt.Sprintf("%s… (%d more characters: /proposals %d)", string(r[:n]), len(r)-n, p.number)
	}
	return termtext.Exact(p.method) + " " + text
}

// approval is the request that fulfils a proposal: exactly its method and its
// parameters.
func (p *proposal) approval(id protocol.ID) protocol.Envelope {
	payload := []byte(`{"jsonrpc":"2.0","id":`)
	payload = protocol.AppendString(payload, string(id))
	payload = append(payload, `,"method":`...)
	payload = protocol.AppendString(payload, p.method)
	if len(p.params) > 0 {
		payload = append(payload, `,"params":`...)
		payload = append(payload, p.params...)
	}
	env := protocol.Envelope{
		Kind: protocol.KindMCPRequest, Context: p.context, Correlation: protocol.CorrelateTo(p.id), Payload: append(payload, '}'),
	}
	switch {
	case p.owner != "":
		env.To = []protocol.ParticipantID{p.owner}
	case len(p.private) > 0:
		env.To = []protocol.ParticipantID{p.from}
	}
	return env
}

// rejection says no to a proposal.
func (p *proposal) rejection(reason string) protocol.Envelope {
	payload := append([]byte(`{"reason":`), protocol.AppendString(nil, reason)...)
	env := protocol.Envelope{
		Kind: protocol.KindMCPReject, Context: p.context, Correlation: protocol.CorrelateTo(p.id), Payload: append(payload, '}'),
	}
	if len(p.private) > 0 {
		env.To = []protocol.ParticipantID{p.from}
	}
	return env
}
