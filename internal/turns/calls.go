package turns

import (
	"slices"

	"github.com/meup-protocol/meup/protocol"
)

// The outcomes of a call. The last three are a proposal's alone; a request
// can be rejected too.
const (
	Pending   = "pending" // not ended, or the end is not visible
	Success   = "success"
	Failure   = "error"
	Rejected  = "rejected"
	Fulfilled = "fulfilled" // the proposed call was made; has_error reports a failure
	Withdrawn = "withdrawn"
	Expired   = "expired" // withdrawn for lack of a decision
)

// call is a decision for a tool: a request, or a proposal and its outcome.
type call struct {
	it       *item
	strand   *strand
	why      *thought
	group    int // -1: none
	grouped  bool
	fulfils  *item  // the request that fulfills the proposal
	outcome  string // "": none yet
	end      *item
	proposal bool
}

// request adds an mcp.request: a call, the fulfillment of a proposal, or the
// cancellation of a call.
func (b *builder) request(it *item) (ended *strand) {
	for _, id := range it.env().Correlation.IDs {
		c := b.byID[id]
		switch {
		case c == nil:
		case it.cancels:
			if asked := c.asked(); asked.ID == id && asked.From == it.env().From {
				return b.endCall(c, c.answered(true), it)
			}
		case it.call && c.proposal && c.it.env().ID == id:
			if c.fulfils == nil && c.outcome == "" {
				c.fulfils = it
				b.byID[it.env().ID] = c
			}
			return nil
		}
	}
	return b.begin(it)
}

// begin adds a new call. A call that is in no context, correlates to no thought in
// one, and answers no other participant's chat, belongs to no reasoning.
func (b *builder) begin(it *item) (ended *strand) {
	env := it.env()
	if !it.call || b.byID[env.ID] != nil {
		return nil
	}
	c := &call{it: it, group: -1, proposal: env.Kind == protocol.KindMCPProposal, why: b.explained(env)}
	path := env.Context
	if path == "" && c.why != nil {
		path = c.why.strand.path
	}
	if path == "" {
		if !b.decides(env) {
			return nil
		}
		b.addAgent(env.From)
	}
	c.strand = b.strand(path, env.From)
	if c.why == nil {
		c.why = c.strand.explanation(it.tool.text)
	}
	c.strand.open++
	b.open++
	if c.why != nil {
		c.why.claimed = true
		ended = c.why.callBegan()
	}
	b.number(c)
	b.calls = append(b.calls, c)
	b.byID[env.ID] = c
	return ended
}

// decides reports whether a call is made for another participant's chat.
func (b *builder) decides(env *protocol.Envelope) bool {
	if b.chat == nil || env.From == b.chat.env().From {
		return false
	}
	return env.Correlation.Names(b.chat.env().ID) ||
		slices.ContainsFunc(b.answers, func(it *item) bool { return it.env().From != env.From && env.Correlation.Names(it.env().ID) })
}

// explained returns the caller's own thought that a call correlates to.
func (b *builder) explained(env *protocol.Envelope) *thought {
	for _, id := range env.Correlation.IDs {
		if t := b.thoughts[id]; t != nil && t.it.env().From == env.From && !t.it.raw {
			return t
		}
	}
	return nil
}

// respond adds an mcp.response to a call, or to the request that fulfills a
// proposal.
func (b *builder) respond(it *item) (ended *strand) {
	for _, id := range it.env().Correlation.IDs {
		c := b.byID[id]
		if c == nil || !c.awaits(id, it.env().From) {
			continue
		}
		return b.endCall(c, c.answered(it.failed), it)
	}
	return nil
}

// asked is the request to be answered; of a proposal that is not fulfilled, the
// proposal.
func (c *call) asked() *protocol.Envelope {
	if c.fulfils != nil {
		return c.fulfils.env()
	}
	return c.it.env()
}

// answered is the outcome of a call that was made.
func (c *call) answered(failed bool) string {
	switch {
	case c.proposal:
		return Fulfilled
	case failed:
		return Failure
	}
	return Success
}

// awaits reports whether a response to the envelope id, from this participant,
// is one to the call: from whom the request was addressed to, or from one of
// those whose call it is.
func (c *call) awaits(id protocol.ID, from protocol.ParticipantID) bool {
	asked := c.asked()
	if asked.ID != id || c.proposal && c.fulfils == nil {
		return false
	}
	return len(asked.To) == 0 || asked.AddressedTo(from) || from == asked.From || from == c.it.env().From
}

// decide adds a rejection or a withdrawal. One after the fulfillment of the
// proposal has no effect.
func (b *builder) decide(it *item) (ended *strand) {
	env := it.env()
	for _, id := range env.Correlation.IDs {
		c := b.byID[id]
		if c == nil || c.fulfils != nil || c.it.env().ID != id {
			continue
		}
		own := env.From == c.it.env().From
		switch {
		case env.Kind == protocol.KindMCPReject && !own:
			return b.endCall(c, Rejected, it)
		case env.Kind == protocol.KindMCPWithdraw && own && c.proposal && it.text.text == "timeout":
			return b.endCall(c, Expired, it)
		case env.Kind == protocol.KindMCPWithdraw && own && c.proposal:
			return b.endCall(c, Withdrawn, it)
		}
	}
	return nil
}

// endCall ends a call; later envelopes do not change it. It returns the strand
// whose step is over by it.
func (b *builder) endCall(c *call, outcome string, it *item) *strand {
	if c.outcome != "" {
		return nil
	}
	c.outcome, c.end = outcome, it
	s := c.strand
	b.open--
	s.open--
	s.due = true
	if !c.grouped {
		if s.running--; s.running == 0 {
			s.loose = nil
		}
	}
	return s.closeStep()
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

// number gives a call its group: that of its thought, or that of the calls
// that it overlaps with.
func (b *builder) number(c *call) {
	n := b.numbering[c.strand.from]
	if n == nil {
		n = &numbering{used: make(map[int]bool), given: make(map[givenGroup]int)}
		b.numbering[c.strand.from] = n
	}
	if c.why != nil && c.why.it.group >= 0 {
		c.grouped = true
		c.group = n.take(givenGroup{root(c.strand.path), c.why.it.group})
		return
	}
	s := c.strand
	s.loose = append(s.loose, c)
	s.running++
	if len(s.loose) < 2 {
		return
	}
	group := s.loose[0].group
	if group < 0 {
		group = n.free()
		s.loose[0].group = group
	}
	c.group = group
}

func (n *numbering) take(g givenGroup) int {
	if number, ok := n.given[g]; ok {
		return number
	}
	number := g.value
	if n.used[number] {
		number = n.free()
	}
	n.used[number], n.given[g] = true, number
	return number
}

// free takes the lowest number that is not used.
func (n *numbering) free() int {
	for n.used[n.low] {
		n.low++
	}
	n.used[n.low] = true
	return n.low
}

func root(p protocol.ContextPath) protocol.ContextPath {
	for i := range len(p) {
		if p[i] == '/' {
			return p[:i]
		}
	}
	return p
}
