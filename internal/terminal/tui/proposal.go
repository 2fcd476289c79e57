package tui

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/meup-protocol/meup/internal/proposal"
	"github.com/meup-protocol/meup/internal/terminal/blockrender"
	"github.com/meup-protocol/meup/internal/terminal/termsafe"
	"github.com/meup-protocol/meup/protocol"
)

// maxProposals bounds the open proposals.
const maxProposals = 256

// pendingProposal is a call that a participant proposes to others.
type pendingProposal struct {
	number int // assigned by the terminal, never reused
	env    protocol.Envelope
	owner  protocol.ParticipantID // the participant that runs the tool; "": not known
	method string
	tool   string
	params json.RawMessage // unmodified

	decided  string // what became of it, in words; "": it waits
	deciding bool   // a decision of this participant is in flight
}

// proposals holds the open proposals, in the order of their numbers, and the
// last settled ones.
type proposals struct {
	pending []*block
	past    []*block
	count   int
}

func newProposals() proposals { return proposals{} }

// decide handles a proposal, or an envelope that settles one.
func (m *model) decide(env *protocol.Envelope) {
	if env.Kind == protocol.KindMCPProposal {
		m.propose(env)
		return
	}
	for _, b := range slices.Clone(m.work.pending) {
		if how := proposal.Settles(&b.proposal.env, env); how != proposal.Pending {
			m.settleProposal(b, settledText(how, env))
		}
	}
}

// settledText describes how an envelope settled a proposal.
func settledText(how proposal.Outcome, env *protocol.Envelope) string {
	switch {
	case how == proposal.Fulfilled:
		return "approved by " + string(env.From)
	case how == proposal.Rejected:
		return "rejected " + reasonFor(env, "")
	case how == proposal.Expired && env.Kind.ClosesContext():
		return "expired: the reasoning that it belongs to has ended"
	}
	return string(how) + ": " + reasonFor(env, env.From)
}

func (m *model) propose(env *protocol.Envelope) {
	if env.From == m.you || m.work.byID(env.ID) != nil {
		return
	}
	m.work.count++
	p := &pendingProposal{number: m.work.count, env: *env}
	if doc, err := protocol.ParseJSON(env.Payload, protocol.MaxDepth); err == nil {
		p.read(doc.Root())
	}
	b := &block{kind: proposalBlock, context: env.Context, proposal: p}
	m.work.pending = append(m.work.pending, b)
	if len(m.work.pending) > maxProposals {
		m.settleProposal(m.work.pending[0], "not followed any more: too many wait")
	}
	m.show(b)
}

// read fills the displayed fields from the same payload that an approval sends.
func (p *pendingProposal) read(payload protocol.Value) {
	params := payload.Get("params")
	p.owner = proposal.ReadCall(payload).Host
	p.method, p.params = payload.Get("method").Text(), params.Raw()
	p.tool = p.method
	if name := params.Get("name").Text(); p.method == "tools/call" && name != "" {
		p.tool = name
	}
}

func (m *model) settleProposal(b *block, how string) {
	b.proposal.decided = how
	m.work.pending = slices.DeleteFunc(m.work.pending, func(x *block) bool { return x == b })
	m.work.past = append(m.work.past, b)
	if len(m.work.past) > maxProposals {
		m.work.past = slices.Delete(m.work.past, 0, 1)
	}
	m.changed(b)
}

func (p *proposals) byID(id protocol.ID) *block {
	for _, b := range p.pending {
		if b.proposal.env.ID == id {
			return b
		}
	}
	return nil
}

// choose finds a proposal by its number or its id; with "", the only open one.
// The sentence explains why none was found.
func (p *proposals) choose(which string) (b *block, sentence string) {
	meant := func(b *block) bool {
		return strconv.Itoa(b.proposal.number) == which || b.proposal.env.ID == protocol.ID(which)
	}
	if i := slices.IndexFunc(p.past, meant); i >= 0 {
		q := p.past[i].proposal
		return nil, fmt.Sprintf("Proposal %d does not wait any more: %s.", q.number, strings.TrimSuffix(q.decided, "."))
	}
	switch {
	case len(p.pending) == 0:
		return nil, "No proposal waits for a decision."
	case which == "" && len(p.pending) == 1:
		return p.pending[0], ""
	case which == "":
		return nil, fmt.Sprintf("%d proposals wait: say which one. /proposals lists them.", len(p.pending))
	}
	if i := slices.IndexFunc(p.pending, meant); i >= 0 {
		return p.pending[i], ""
	}
	return nil, "No proposal " + which + " waits for a decision. /proposals lists those that do."
}

// call formats the proposed call with hidden characters escaped, cut at n
// characters; 0: complete.
func (p *pendingProposal) call(n int) string {
	text := termsafe.Exact(blockrender.JSON(p.params))
	if len(p.params) == 0 {
		text = "without parameters"
	}
	if r := []rune(text); n > 0 && len(r) > n {
		text = fmt.Sprintf("%s… (%d more characters: /proposals %d)", string(r[:n]), len(r)-n, p.number)
	}
	return termsafe.Exact(p.method) + " " + text
}
