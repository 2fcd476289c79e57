package tui

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/meup-protocol/meup/internal/textutil"

	"github.com/meup-protocol/meup/internal/proposal"
	"github.com/meup-protocol/meup/internal/terminal/termsafe"
	"github.com/meup-protocol/meup/protocol"
)

// maxListed bounds the parameters of one proposal in a list, in characters.
const maxListed = 200

// listProposals lists the open proposals, or shows one completely.
func (m *model) listProposals(which string) {
	if which != "" {
		b, sentence := m.work.choose(which)
		if b == nil {
			m.printLines(errorBlock, sentence)
			return
		}
		m.printLines(noticeBlock, b.proposal.title(), "  "+b.proposal.call(0))
		return
	}
	if len(m.work.pending) == 0 {
		m.printLines(noticeBlock, "No proposal waits for a decision.")
		return
	}
	lines := []string{"Waiting for a decision:"}
	for _, b := range m.work.pending {
		lines = append(lines, "  "+b.proposal.title(), "    "+b.proposal.call(maxListed))
	}
	m.printLines(noticeBlock, append(lines, "/approve N makes the call, /reject N REASON says no.")...)
}

// title names a proposal: its number, its author, and the host of the tool.
func (p *pendingProposal) title() string {
	host := "; its host is not known"
	switch p.owner {
	case "":
	case p.env.From:
		host = " and runs it itself"
	default:
		host = " of " + shortName(p.owner)
	}
	return fmt.Sprintf("%d. %s proposes %s%s", p.number, shortName(p.env.From), termsafe.Line(textutil.Shorten(p.tool, 100)), host)
}

// hint names the commands that decide on a proposal.
func (p *pendingProposal) hint() string {
	host := ""
	if p.owner == "" {
		host = " HOST"
	}
	return fmt.Sprintf("/approve %d%s makes the call, /reject %d REASON says no.", p.number, host, p.number)
}

// approve makes a proposed call, at the host that the proposal or the person
// names.
func (m *model) approve(args string) {
	which, host, _ := strings.Cut(args, " ")
	b, sentence := m.work.choose(which)
	if b == nil {
		m.printLines(errorBlock, sentence)
		return
	}
	p := b.proposal
	if p.deciding {
		m.printLines(errorBlock, "Your decision on proposal "+strconv.Itoa(p.number)+" is on its way.")
		return
	}
	id := m.newID()
	env, err := proposal.Approval(&p.env, id, protocol.ParticipantID(strings.TrimSpace(host)))
	if errors.Is(err, proposal.ErrNoHost) {
		m.printLines(errorBlock, fmt.Sprintf("Proposal %d does not name the participant that runs the tool; name it: /approve %d HOST.", p.number, p.number))
		return
	}
	if err != nil {
		m.printLines(errorBlock, fmt.Sprintf("Proposal %d cannot be approved: %s.", p.number, err))
		return
	}
	p.deciding = true
	m.askAs(id, request{what: fmt.Sprintf("Approving proposal %d", p.number), failed: m.decisionRefused(b)}, env)
}

// reject rejects a proposed call.
func (m *model) reject(args string) {
	which, reason, _ := strings.Cut(args, " ")
	if b, _ := m.work.choose(which); b == nil || which == "" {
		which, reason = "", args // no number: the only one
		if _, err := strconv.Atoi(strings.TrimSpace(args)); err == nil {
			which = strings.TrimSpace(args)
		}
	}
	b, sentence := m.work.choose(which)
	reason = strings.TrimSpace(reason)
	switch {
	case b == nil:
		m.printLines(errorBlock, sentence)
		return
	case reason == "":
		m.printLines(errorBlock, "Say why: /reject N REASON, such as disagree, unsafe or no_longer_needed.")
		return
	case b.proposal.deciding:
		m.printLines(errorBlock, "Your decision on proposal "+strconv.Itoa(b.proposal.number)+" is on its way.")
		return
	}
	p := b.proposal
	p.deciding = true
	m.askAs(m.newID(), request{what: fmt.Sprintf("Rejecting proposal %d", p.number), failed: m.decisionRefused(b)}, proposal.Rejection(&p.env, reason))
}

// decisionRefused handles the refusal of a decision. If another participant has
// decided before and this one may not receive that decision, the proposal is
// settled.
func (m *model) decisionRefused(b *block) func(error) bool {
	return func(err error) bool {
		b.proposal.deciding = false
		if !errors.Is(err, &protocol.Error{Code: protocol.CodeProposalSettled}) {
			return false
		}
		if slices.Contains(m.work.pending, b) {
			m.settleProposal(b, "too late: "+errorText(err))
		}
		return true
	}
}
