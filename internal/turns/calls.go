package turns

import (
	"slices"

	"github.com/meup-protocol/meup/protocol"
)

// The outcomes of a call. The last three are a proposal's alone; a request
// can be rejected too.
const (
	Pending   = "pending" // neither ended nor given up, or the end was not seen
	Success   = "success"
	Failure   = "error"
	Rejected  = "rejected"
	Fulfilled = "fulfilled" // somebody made the call; how it went, has_error says
	Withdrawn = "withdrawn"
	Expired   = "expired" // withdrawn since nobody decided in time
)

// call is a decision for a tool: a request, or a proposal and what came of it.
type call struct {
	it       *item
	strand   *strand
	why      *thought
	group    int // -1: none
	grouped  bool
	fulfils  *item  // the request by which somebody fulfils the proposal
	outcome  string // "": none yet
	end      *item
	proposal bool
}

// request reads an mcp.request: a call, the fulfilment of a proposal, or a
// call taken back.
func (r *reading) request(it *item) (ended *strand) {
	for _, id := range it.env().Correlation.IDs {
		c := r.byID[id]
		switch {
		case c == nil:
		case it.cancels:
			if asked := c.asked(); asked.ID == id && asked.From == it.env().From {
				return c.settle(c.answered(true), it)
			}
		case it.call && c.proposal && c.it.env().ID == id:
			if c.fulfils == nil && c.outcome == "" {
				c.fulfils = it
				r.byID[it.env().ID] = c
			}
			return nil
		}
	}
	return r.begin(it)
}

// begin reads a new call. One that stands in no context, explains itself by no
// thought that does, and answers no chat of somebody else's, belongs to no
// reasoning.
func (r *reading) begin(it *item) (ended *strand) {
	env := it.env()
	if !it.call || r.byID[env.ID] != nil {
		return nil
	}
	c := &call{it: it, group: -1, proposal: env.Kind == protocol.KindMCPProposal, why: r.explained(env)}
	path := env.Context
	if path == "" && c.why != nil {
		path = c.why.strand.path
	}
	if path == "" {
		if !r.decides(env) {
			return nil
		}
		r.meet(env.From)
	}
	c.strand = r.strand(path, env.From)
	if c.why == nil {
		c.why = c.strand.before(it.tool)
	}
	c.strand.open++
	if c.why != nil {
		c.why.claimed = true
		ended = c.why.begun()
	}
	r.number(c)
	r.calls = append(r.calls, c)
	r.byID[env.ID] = c
	return ended
}

// decides reports whether a call is made for a chat of others.
func (r *reading) decides(env *protocol.Envelope) bool {
	if r.chat == nil || env.From == r.chat.env().From {
		return false
	}
	return env.Correlation.Names(r.chat.env().ID) ||
		slices.ContainsFunc(r.answers, func(it *item) bool { return it.env().From != env.From && env.Correlation.Names(it.env().ID) })
}

// explained returns the caller's own thought that a call correlates to.
func (r *reading) explained(env *protocol.Envelope) *thought {
	for _, id := range env.Correlation.IDs {
		if t := r.thoughts[id]; t != nil && t.it.env().From == env.From && !t.it.raw {
			return t
		}
	}
	return nil
}

// respond reads an mcp.response to a call, or to what fulfils a proposal.
func (r *reading) respond(it *item) (ended *strand) {
	for _, id := range it.env().Correlation.IDs {
		c := r.byID[id]
		if c == nil || !c.awaits(id, it.env().From) {
			continue
		}
		return c.settle(c.answered(it.failed), it)
	}
	return nil
}

// asked is the request that is to be answered; of a proposal that nobody has
// fulfilled, the proposal.
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

// decide reads a rejection or a withdrawal. One that comes when somebody has
// fulfilled the proposal comes too late.
func (r *reading) decide(it *item) (ended *strand) {
	env := it.env()
	for _, id := range env.Correlation.IDs {
		c := r.byID[id]
		if c == nil || c.fulfils != nil || c.it.env().ID != id {
			continue
		}
		own := env.From == c.it.env().From
		switch {
		case env.Kind == protocol.KindMCPReject && !own:
			return c.settle(Rejected, it)
		case env.Kind == protocol.KindMCPWithdraw && own && c.proposal && it.text == "timeout":
			return c.settle(Expired, it)
		case env.Kind == protocol.KindMCPWithdraw && own && c.proposal:
			return c.settle(Withdrawn, it)
		}
	}
	return nil
}

// settle ends a call; what comes later changes nothing. It returns the strand
// whose step is over by it.
func (c *call) settle(outcome string, it *item) *strand {
	if c.outcome != "" {
		return nil
	}
	c.outcome, c.end = outcome, it
	s := c.strand
	s.open--
	s.due = true
	if !c.grouped {
		if s.running--; s.running == 0 {
			s.loose = nil
		}
	}
	return s.over()
}

// numbering gives the batches of one agent in a turn their numbers.
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
func (r *reading) number(c *call) {
	n := r.numbering[c.strand.from]
	if n == nil {
		n = &numbering{used: make(map[int]bool), given: make(map[givenGroup]int)}
		r.numbering[c.strand.from] = n
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

// going reports whether more is to be expected: a call or a context is open,
// or nothing has come yet.
func (r *reading) going() bool {
	for _, c := range r.contexts {
		if c.closed == nil {
			return true
		}
	}
	return len(r.answers) == 0 && r.calledOff == nil
}
