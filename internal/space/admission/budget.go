package admission

import (
	"github.com/meup-protocol/meup/internal/space/authority"
	"github.com/meup-protocol/meup/protocol"
)

// checkBudget rejects a call that the capabilities of its sender allow, if a budget is used up
// or the call is part of a loop: it has to be proposed.
func (b *batch) checkBudget(c *Case) error {
	if c.Envelope.Kind != protocol.KindMCPRequest || len(c.Proposals) > 0 {
		return nil
	}
	ask := b.ask(c)
	if ask == nil {
		return nil
	}
	err := b.violation(c.State, c.Envelope.Kind)
	err.Limit = ask.Limit
	err.Message = "The call has to be proposed, because " + ask.Text + "; send it as an mcp.proposal, on which another participant decides."
	return err
}

// ask returns why a call has to be proposed that capabilities allow; nil: it may be made.
func (b *batch) ask(c *Case) *authority.Ask {
	if c.Usage == nil || !authority.IsToolCall(c.Payload) {
		return nil
	}
	waiting := 0
	for _, w := range b.waiting {
		if w.In.Envelope.Kind == protocol.KindMCPRequest && len(w.proposals) == 0 && authority.IsToolCall(w.In.Payload) {
			waiting++
		}
	}
	return c.State.Ask(c.Usage, c.Envelope, c.Payload, waiting, c.Now)
}
