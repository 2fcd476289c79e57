package conversation

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/meup-protocol/meup/internal/exchange"
	"github.com/meup-protocol/meup/internal/kit/termsafe"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/internal/terminal/block"
	"github.com/meup-protocol/meup/protocol"
)

// maxProposals bounds the open proposals.
const maxProposals = 256

// Proposal is a call that a participant proposes to others.
type Proposal struct {
	Number  int // assigned by the terminal, never reused
	env     protocol.Envelope
	owner   protocol.ParticipantID // the participant that runs the tool; "": not known
	method  string
	tool    string
	params  json.RawMessage // unmodified
	expires time.Time       // zero: never

	mayDecide bool      // this participant may, as far as is known
	from      time.Time // when it may, if it may not yet; zero: it may now, or never

	Decided  string // its outcome, in words; "": it waits
	deciding bool   // a decision of this participant is in flight
}

// proposals holds the open proposals, in the order of their numbers, and the
// last settled ones.
type proposals struct {
	pending []*Block
	past    []*Block
	count   int
	gone    time.Time // when another participant settled one, or it expired
}

// ambiguous is the time after the end of a proposal during which a decision has to name the
// one that it is about: it may be meant for the one that is gone.
const ambiguous = 10 * time.Second

// decide handles a proposal, or an envelope that settles one.
func (m *Model) decide(env *protocol.Envelope) {
	if env.Kind == protocol.KindMCPProposal {
		m.propose(env)
		return
	}
	for _, b := range slices.Clone(m.proposals.pending) {
		if how := exchange.Settles(&b.Proposal.env, env); how != exchange.Pending {
			m.settleProposal(b, settledText(how, env, m.You))
		}
	}
}

// settledText describes how an envelope settled a proposal.
func settledText(how exchange.Outcome, env *protocol.Envelope, you protocol.ParticipantID) string {
	by := string(env.From)
	if env.From == you {
		by = "you"
	}
	switch {
	case how == exchange.Fulfilled:
		return "approved by " + by
	case how == exchange.Rejected:
		return strings.TrimSuffix("rejected by "+by+": "+block.ReasonFor(env, env.From), ": ")
	case how == exchange.Expired && env.Kind.ClosesContext():
		return "expired: its reasoning ended"
	}
	return string(how) + ": " + block.ReasonFor(env, env.From)
}

func (m *Model) propose(env *protocol.Envelope) {
	known := slices.ContainsFunc(m.proposals.pending, func(b *Block) bool { return b.Proposal.env.ID == env.ID })
	if env.From == m.You || known {
		return
	}
	m.proposals.count++
	p := &Proposal{Number: m.proposals.count, env: *env}
	if payload := env.ParsePayload(); payload.Exists() {
		params, call := payload.Get("params"), exchange.ReadCall(payload)
		p.owner, p.expires = call.Host, call.ExpiresAt
		p.method, p.params = payload.Get("method").Text(), exchange.WithoutMeta(params) // as an approval sends them
		p.tool = p.method
		if name := params.Get("name").Text(); p.method == "tools/call" && name != "" {
			p.tool = name
		}
	}
	b := &Block{Kind: ProposalBlock, Context: env.Context, Proposal: p}
	m.proposals.pending = append(m.proposals.pending, b)
	if len(m.proposals.pending) > maxProposals {
		m.settleProposal(m.proposals.pending[0], "dropped: too many proposals are pending")
	}
	m.show(b)
	m.do(ReadProposal{env.ID, env.Seq})
}

// learn handles the answer whether this participant may decide on a proposal. Without one, the
// gateway refuses what it may not.
func (m *Model) learn(e ProposalRead) {
	for _, b := range m.proposals.pending {
		p := b.Proposal
		if p.env.ID != e.Request.ID {
			continue
		}
		p.mayDecide = e.Err != nil || e.Proposal.MayDecide
		if e.Err == nil && e.Proposal.DecidesFrom != nil {
			p.from = *e.Proposal.DecidesFrom
		}
		m.changed(b)
	}
}

func (m *Model) settleProposal(b *Block, how string) {
	if !b.Proposal.deciding {
		m.proposals.gone = m.now()
	}
	b.Proposal.Decided = how
	m.proposals.pending = slices.DeleteFunc(m.proposals.pending, func(x *Block) bool { return x == b })
	m.proposals.past = append(m.proposals.past, b)
	if len(m.proposals.past) > maxProposals {
		m.proposals.past = slices.Delete(m.proposals.past, 0, 1)
	}
	m.changed(b)
}

// choose finds a proposal by its number or its id; with "", the only open one, unless
// another one ended a moment ago. The sentence explains why none was found.
func (p *proposals) choose(which string, now time.Time) (b *Block, sentence string) {
	meant := func(b *Block) bool {
		return strconv.Itoa(b.Proposal.Number) == which || b.Proposal.env.ID == protocol.ID(which)
	}
	if i := slices.IndexFunc(p.past, meant); i >= 0 {
		q := p.past[i].Proposal
		return nil, fmt.Sprintf("Proposal %d is not pending: %s.", q.Number, strings.TrimSuffix(q.Decided, "."))
	}
	switch {
	case len(p.pending) == 0:
		return nil, "No proposals awaiting approval."
	case which == "" && len(p.pending) == 1 && now.Sub(p.gone) < ambiguous:
		return nil, fmt.Sprintf("Another proposal ended a moment ago: name the one that you mean, %d.", p.pending[0].Proposal.Number)
	case which == "" && len(p.pending) == 1:
		return p.pending[0], ""
	case which == "":
		return nil, fmt.Sprintf("%d proposals are pending: name one. /proposals lists them.", len(p.pending))
	}
	if i := slices.IndexFunc(p.pending, meant); i >= 0 {
		return p.pending[i], ""
	}
	return nil, "No proposal " + which + " is pending. /proposals lists the pending ones."
}

// Brief formats the proposed call on one line of bounded length.
func (p *Proposal) Brief() string { return p.call(maxListed) }

// call formats the proposed call with hidden characters escaped, cut at n
// characters; 0: complete.
func (p *Proposal) call(n int) string {
	text := termsafe.Exact(block.JSON(p.params))
	if len(p.params) == 0 {
		text = "without parameters"
	}
	if r := []rune(text); n > 0 && len(r) > n {
		text = fmt.Sprintf("%s… (%d more characters: /proposals %d)", string(r[:n]), len(r)-n, p.Number)
	}
	return termsafe.Exact(p.method) + " " + text
}

// maxListed bounds the parameters of one proposal in a list, in characters.
const maxListed = 200

// listProposals lists the open proposals, or shows one completely.
func (m *Model) listProposals(which string) {
	if which != "" {
		b, sentence := m.proposals.choose(which, m.now())
		if b == nil {
			m.printLines(ErrorBlock, sentence)
			return
		}
		m.printLines(NoticeBlock, b.Proposal.Title(), "  "+b.Proposal.call(0))
		return
	}
	if len(m.proposals.pending) == 0 {
		m.printLines(NoticeBlock, "No proposals awaiting approval.")
		return
	}
	lines := []string{"Awaiting approval:"}
	mine := false
	for _, b := range m.proposals.pending {
		p := b.Proposal
		lines = append(lines, "  "+p.Title(), "    "+p.Brief())
		if !p.from.IsZero() {
			lines = append(lines, "    "+p.Hint())
		}
		mine = mine || p.mayDecide
	}
	if mine {
		lines = append(lines, "/approve N approves, /reject N REASON rejects.")
	}
	m.printLines(NoticeBlock, lines...)
}

// Title names a proposal: its number, its author, and the host of the tool.
func (p *Proposal) Title() string {
	host, end := " (host unknown)", ""
	if p.owner != "" {
		host = " on " + termsafe.Name(p.owner)
	}
	if !p.expires.IsZero() {
		end = ", expires at " + p.expires.Local().Format(time.TimeOnly)
	}
	return fmt.Sprintf("%d. %s proposes %s%s%s", p.Number, termsafe.Name(p.env.From), termsafe.Line(textutil.Shorten(p.tool, 100)), host, end)
}

// Hint names the commands that decide on a proposal, or says when this participant may; "": it
// may not, or that is not known yet.
func (p *Proposal) Hint() string {
	switch {
	case !p.from.IsZero():
		return fmt.Sprintf("You may decide on proposal %d from %s on.", p.Number, p.from.Local().Format(time.DateTime))
	case !p.mayDecide:
		return ""
	}
	host := ""
	if p.owner == "" {
		host = " HOST"
	}
	return fmt.Sprintf("/approve %d%s approves, /reject %d REASON rejects.", p.Number, host, p.Number)
}

// approve makes a proposed call, at the host that the proposal or the person
// names.
func (m *Model) approve(args string) {
	length := time.Duration(0)
	if words := strings.Fields(args); len(words) > 1 && words[len(words)-2] == "for" {
		var ok bool
		length, ok = lifetime(words[len(words)-1])
		if !ok {
			m.printLines(ErrorBlock, "Usage: /approve [N|ID] [HOST] [for TIME], for example /approve 1 for 10m.")
			return
		}
		args = strings.Join(words[:len(words)-2], " ")
	}
	which, host, _ := strings.Cut(args, " ")
	b, sentence := m.proposals.choose(which, m.now())
	if b == nil {
		m.printLines(ErrorBlock, sentence)
		return
	}
	p := b.Proposal
	if p.deciding {
		m.printLines(ErrorBlock, "Your decision on proposal "+strconv.Itoa(p.Number)+" is being sent.")
		return
	}
	id := m.newID()
	env, err := exchange.Approval(&p.env, id, protocol.ParticipantID(strings.TrimSpace(host)))
	if errors.Is(err, exchange.ErrNoHost) {
		m.printLines(ErrorBlock, fmt.Sprintf("Proposal %d does not name the participant that runs the tool; name it: /approve %d HOST.", p.Number, p.Number))
		return
	}
	if err != nil {
		m.printLines(ErrorBlock, fmt.Sprintf("Proposal %d cannot be approved: %s.", p.Number, err))
		return
	}
	if host := env.To[0]; !m.participants.isConnected(host) {
		m.printLines(NoticeBlock, string(host)+" is not connected, and runs the tool only if it connects soon.")
	}
	p.deciding = true
	env.ID = id
	if length > 0 {
		m.do(ReadScopes{p.env.ID, env, length})
		return
	}
	m.makeCall(b, env, nil)
}

// makeCall sends an approval. admitted is called if it was admitted; nil: nothing follows.
func (m *Model) makeCall(b *Block, env protocol.Envelope, admitted func()) {
	m.askAs(env.ID, request{what: fmt.Sprintf("Approving proposal %d", b.Proposal.Number), failed: m.decisionRefused(b), admitted: admitted}, env)
}

// approveFor makes a proposed call, and then grants calls like it for a time.
func (m *Model) approveFor(e ScopesRead) {
	b, sentence := m.proposals.choose(string(e.Request.Proposal), m.now())
	if b == nil {
		m.printLines(ErrorBlock, sentence)
		return
	}
	p := b.Proposal
	p.deciding = false
	if e.Err != nil {
		m.printLines(ErrorBlock, "Could not read what may be granted: "+errorText(e.Err))
		return
	}
	scope := ScopeOf(e.Scopes, "similar", "same")
	if scope == nil {
		m.printLines(ErrorBlock, fmt.Sprintf("You cannot grant calls like this one. /approve %d approves it alone.", p.Number))
		return
	}
	p.deciding = true
	grant, words := GrantFor(&p.env, scope, e.Request.Length)
	m.makeCall(b, e.Request.Approval, func() {
		m.askAs(m.newID(), request{what: "Approved once: the grant", admitted: func() {
			m.printLines(NoticeBlock, words+". /revoke "+termsafe.Name(p.env.From)+" ends it.")
		}}, grant)
	})
}

// reject rejects a proposed call.
func (m *Model) reject(args string) {
	which, reason, _ := strings.Cut(args, " ")
	if b, _ := m.proposals.choose(which, m.now()); b == nil || which == "" {
		which, reason = "", args // no number: the only one
		if _, err := strconv.Atoi(strings.TrimSpace(args)); err == nil {
			which = strings.TrimSpace(args)
		}
	}
	b, sentence := m.proposals.choose(which, m.now())
	reason = strings.TrimSpace(reason)
	switch {
	case b == nil:
		m.printLines(ErrorBlock, sentence)
		return
	case reason == "":
		m.printLines(ErrorBlock, "A reason is required: /reject N REASON, for example unsafe.")
		return
	case b.Proposal.deciding:
		m.printLines(ErrorBlock, "Your decision on proposal "+strconv.Itoa(b.Proposal.Number)+" is being sent.")
		return
	}
	p := b.Proposal
	p.deciding = true
	m.askAs(m.newID(), request{what: fmt.Sprintf("Rejecting proposal %d", p.Number), failed: m.decisionRefused(b)}, exchange.Rejection(&p.env, reason))
}

// decisionRefused handles the refusal of a decision. If another participant has
// decided before and this one may not receive that decision, the proposal is
// settled.
func (m *Model) decisionRefused(b *Block) func(error) bool {
	return func(err error) bool {
		b.Proposal.deciding = false
		if !errors.Is(err, &protocol.Error{Code: protocol.CodeProposalSettled}) {
			return false
		}
		if slices.Contains(m.proposals.pending, b) {
			m.settleProposal(b, "too late: "+errorText(err))
		}
		return true
	}
}
