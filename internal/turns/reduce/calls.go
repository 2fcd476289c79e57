package reduce

import (
	"slices"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/exchange"
	"github.com/meup-protocol/meup/protocol"
)

// call is a decision for a tool: a request, or a proposal and its outcome.
type call struct {
	it          *Item
	state       *contextState
	explainedBy *thought
	group       int    // -1: none
	lead        *call  // the first one of the batch; nil: a thought gave the group
	fulfillment *Item  // the request that fulfills the proposal
	outcome     string // "": none yet
	end         *Item
	assumed     bool    // the asker did not name the answer
	offers      []*Item // answers that may be accepted, the first of each participant
	proposal    bool
}

// request adds an mcp.request: a call, the fulfillment of a proposal, or the
// cancellation of a call.
func (b *Builder) request(it *Item) {
	for _, id := range it.Env().Correlation.IDs {
		c := b.byID[id]
		switch {
		case c == nil:
		case it.cancels:
			if asked := c.asked(); asked.ID == id && asked.From == it.Env().From {
				b.endCall(c, c.outcomeOf(it), it)
				return
			}
		case c.it.Env().ID == id && c.fulfills(it):
			if c.fulfillment == nil && c.outcome == "" {
				c.fulfillment = it
				b.byID[it.Env().ID] = c
			}
			return
		}
	}
	b.begin(it)
}

// begin adds a new call. A call that is in no context, correlates to no thought in
// one, and answers no other participant's chat, belongs to no reasoning.
func (b *Builder) begin(it *Item) {
	env := it.Env()
	if !it.call || b.byID[env.ID] != nil {
		return
	}
	c := &call{it: it, group: -1, proposal: env.Kind == protocol.KindMCPProposal}
	for _, id := range env.Correlation.IDs {
		if t := b.thoughts[id]; t != nil && t.it.Env().From == env.From && !t.it.raw {
			c.explainedBy = t
			break
		}
	}
	path := env.Context
	if path == "" && c.explainedBy != nil {
		path = c.explainedBy.state.path
	}
	if path == "" {
		if !b.decides(env) {
			return
		}
		b.addAgent(env.From)
	}
	c.state = b.state(path, env.From)
	if c.explainedBy == nil {
		c.explainedBy = c.state.explanation(it.tool.text)
	}
	c.state.calls = append(c.state.calls, c)
	if c.explainedBy != nil {
		c.explainedBy.claimed = true
		b.callBegan(c.explainedBy)
	}
	b.number(c)
	b.calls = append(b.calls, c)
	b.byID[env.ID] = c
}

// decides reports whether a call is made for another participant's chat.
func (b *Builder) decides(env *protocol.Envelope) bool {
	if b.chat == nil || env.From == b.chat.Env().From {
		return false
	}
	return env.Correlation.Names(b.chat.Env().ID) ||
		slices.ContainsFunc(b.answers, func(it *Item) bool { return it.Env().From != env.From && env.Correlation.Names(it.Env().ID) })
}

// The three functions below decide which envelopes count for a call: fulfills,
// roleOf and decide. The page has the same rules (web/src/core/reduce), held to
// the same cases in testdata.

// fulfills reports whether a request fulfills the proposal of a call.
func (c *call) fulfills(request *Item) bool {
	return request.call && c.proposal && request.Env().Correlation.Names(c.it.Env().ID) &&
		exchange.CallMismatch(c.it.Env(), c.it.asks, request.Env(), request.asks) == ""
}

// answerRole says whether the answer of a participant to a call counts.
type answerRole uint8

const (
	ineligible answerRole = iota // its answer does not count
	mayOffer                     // counts if the asker accepts it
	mayAnswer                    // counts
)

// roleOf returns the role of a participant that answers a call. Addressees can
// answer a request; any participant can offer an answer to a request without
// addressees. The asker can always answer. Only its addressee answers the request
// that fulfills a proposal.
func (c *call) roleOf(from protocol.ParticipantID) answerRole {
	asked := c.asked()
	switch {
	case c.proposal:
		if asked.AddressedTo(from) {
			return mayAnswer
		}
		return ineligible
	case from == asked.From, from == c.state.from, asked.AddressedTo(from):
		return mayAnswer
	case len(asked.To) == 0:
		return mayOffer
	}
	return ineligible
}

// decide adds a rejection or a withdrawal. One after the fulfillment of the
// proposal has no effect.
func (b *Builder) decide(it *Item) {
	env := it.Env()
	for _, id := range env.Correlation.IDs {
		c := b.byID[id]
		if c == nil || c.fulfillment != nil || c.it.Env().ID != id {
			continue
		}
		own := env.From == c.it.Env().From
		switch {
		case env.Kind == protocol.KindMCPReject && c.proposal:
			b.endCall(c, api.OutcomeRejected, it)
			return
		case env.Kind == protocol.KindMCPReject && own:
		case env.Kind == protocol.KindMCPReject:
			b.answer(c, it)
			return
		case own && c.proposal: // withdrawn
			b.endCall(c, string(exchange.Decision(env.From, env.From, env.Kind, it.text.text)), it)
			return
		}
	}
}

// respond adds an mcp.response to a call, or to the request that fulfills a
// proposal.
func (b *Builder) respond(it *Item) {
	for _, id := range it.Env().Correlation.IDs {
		c := b.byID[id]
		if c == nil || c.asked().ID != id || c.proposal && c.fulfillment == nil || c.roleOf(it.Env().From) == ineligible {
			continue
		}
		b.answer(c, it)
		return
	}
}

// answer adds a response to a call, or the rejection of a request. An offer waits
// until the asker accepts it: it correlates to the offer, or it continues after
// one participant alone has offered an answer.
func (b *Builder) answer(c *call, it *Item) {
	switch c.roleOf(it.Env().From) {
	case mayAnswer:
		b.endCall(c, c.outcomeOf(it), it)
	case mayOffer:
		if c.outcome != "" && !c.assumed {
			return
		}
		b.offers[it.Env().ID] = offer{c, it}
		c.answered()
		if c.outcome == "" && len(c.offers) < maxOfferers && !slices.ContainsFunc(c.offers, func(o *Item) bool { return o.Env().From == it.Env().From }) {
			c.offers = append(c.offers, it)
		}
	}
}

// maxOfferers bounds the participants whose offers are compared: a second one
// makes the answer ambiguous already.
const maxOfferers = 2

// offer is an answer that the asker has not accepted.
type offer struct {
	call *call
	it   *Item
}

// acceptNamed accepts the offers that an envelope of the asker correlates to.
func (b *Builder) acceptNamed(env *protocol.Envelope) {
	if len(b.offers) == 0 {
		return
	}
	for _, id := range env.Correlation.IDs {
		o, ok := b.offers[id]
		if !ok || env.From != o.call.state.from && env.From != o.call.asked().From {
			continue
		}
		delete(b.offers, id)
		b.endCall(o.call, o.call.outcomeOf(o.it), o.it)
	}
}

// assumeAccepted ends the calls of a strand that have offers: its participant has
// continued. If one participant alone has offered an answer, that answer is
// assumed to be the accepted one, else the outcome stays pending. An answer that
// counts by itself, or that the asker names later, replaces it. Calls in the
// batch of the thought by which it continues (group; -1: none) still wait.
func (b *Builder) assumeAccepted(s *contextState, group int) {
	if len(b.offers) == 0 {
		return
	}
	for _, c := range slices.Clone(s.calls) {
		t := c.explainedBy
		inBatch := group >= 0 && t != nil && t.it.tool.text != "" && t.it.group == group
		switch {
		case len(c.offers) == 0 || inBatch:
		case len(c.offers) == 1:
			b.end(c, c.outcomeOf(c.offers[0]), c.offers[0], true)
		default:
			b.end(c, api.OutcomePending, nil, true)
		}
	}
}

// asked is the request to be answered; of a proposal that is not fulfilled, the
// proposal.
func (c *call) asked() *protocol.Envelope {
	if c.fulfillment != nil {
		return c.fulfillment.Env()
	}
	return c.it.Env()
}

// isUndecided reports whether a call is a proposal without a decision.
func (c *call) isUndecided() bool { return c.proposal && c.fulfillment == nil && c.outcome == "" }

// outcomeOf is the outcome of a call by its answer.
func (c *call) outcomeOf(it *Item) string {
	switch {
	case it.Env().Kind == protocol.KindMCPReject:
		return api.OutcomeRejected
	case c.proposal:
		return api.OutcomeFulfilled
	case it.failed:
		return api.OutcomeError
	}
	return api.OutcomeSuccess
}

// endCall ends a call; later envelopes do not change it.
func (b *Builder) endCall(c *call, outcome string, it *Item) {
	if b.end(c, outcome, it, false) {
		b.closeStep(c.state)
	}
}

// end ends a call and reports whether it was open. An assumed end may be replaced
// by one that is not.
func (b *Builder) end(c *call, outcome string, it *Item, assumed bool) bool {
	if c.outcome != "" && (assumed || !c.assumed) {
		return false
	}
	wasOpen := c.outcome == ""
	c.outcome, c.end, c.assumed, c.offers = outcome, it, assumed, nil
	if !wasOpen {
		return false
	}
	s := c.state
	s.calls = slices.DeleteFunc(s.calls, func(other *call) bool { return other == c })
	s.due = true
	c.answered()
	return true
}

// answered ends the batch of a call: calls after it were made with its answer.
func (c *call) answered() {
	if c.lead != nil && c.state.lead == c.lead {
		c.state.lead = nil
	}
}

// numbering numbers the batches of one agent in a turn.
type numbering struct {
	used  map[int]bool
	given map[givenGroup]int
	low   int // all below are used
}

// givenGroup is a number as thoughts give it, in one outermost context.
type givenGroup struct {
	root  protocol.ContextPath
	value int
}

// number sets the group of a call: the group of its thought, or that of the calls
// which its participant made before it, with no step and no answer between them.
func (b *Builder) number(c *call) {
	n := b.numbering[c.state.from]
	if n == nil {
		n = &numbering{used: make(map[int]bool), given: make(map[givenGroup]int)}
		b.numbering[c.state.from] = n
	}
	if c.explainedBy != nil && c.explainedBy.it.group >= 0 {
		given := givenGroup{c.state.path.Root(), c.explainedBy.it.group}
		number, known := n.given[given]
		if !known {
			number = given.value
			if n.used[number] {
				number = n.free()
			}
			n.used[number], n.given[given] = true, number
		}
		c.group = number
		return
	}
	if c.state.lead == nil {
		c.state.lead, c.lead = c, c
		return
	}
	c.lead = c.state.lead
	if c.lead.group < 0 {
		c.lead.group = n.free()
	}
	c.group = c.lead.group
}

// free takes the lowest number that is not used.
func (n *numbering) free() int {
	for n.used[n.low] {
		n.low++
	}
	n.used[n.low] = true
	return n.low
}
