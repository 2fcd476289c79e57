package suggest

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/capability"
	"github.com/meup-protocol/meup/internal/capability/argument"
	"github.com/meup-protocol/meup/internal/exchange"
	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/kit/termsafe"
	"github.com/meup-protocol/meup/internal/space/authority"
	"github.com/meup-protocol/meup/internal/space/ring"
	"github.com/meup-protocol/meup/protocol"
)

// What became of a proposal that counts.
const (
	approved = "approved" // as it was proposed
	rejected = "rejected"
	edited   = "edited" // another call was made instead, so this one was not approved
)

// call is a proposal and how it was decided.
type call struct {
	proposal *protocol.Envelope
	payload  protocol.Value
	request  capability.Request // that makes the call
	dir      string             // working directory of a call to the proposer itself; "": unknown
	masked   bool               // the log does not have it as it was sent

	outcome  string
	by       protocol.ParticipantID
	decision protocol.ID
	seq      protocol.Seq // of the decision
	decided  time.Time
	reason   string

	scopes map[string]*rule            // by level; nil: not derived yet
	known  map[string]map[string]*rule // those of other calls, by their text; shared
}

// host is the participant that runs the tool; "": not known.
func (c *call) host() protocol.ParticipantID {
	if len(c.request.To) == 1 {
		return c.request.To[0]
	}
	return ""
}

// tool is the tool, or another method.
func (c *call) tool() string {
	method := c.payload.Get("method").Text()
	name := c.payload.Get("params").Get("name").Text()
	if method == "tools/call" && name != "" {
		return name
	}
	return method
}

// arguments are the arguments of the tool, or the parameters of another method.
func (c *call) arguments() protocol.Value {
	params := c.payload.Get("params")
	if c.payload.Get("method").EqualText("tools/call") {
		return params.Get("arguments")
	}
	return params
}

// command returns the command among the arguments; false: there is none.
func (c *call) command() (text string, ok bool) {
	for key, v := range c.arguments().Members {
		if capability.ArgumentMatcher(key.Text()) == "$shell" {
			return v.Text(), true
		}
	}
	return "", false
}

// typed reports whether an argument is a command, a path or a URL.
func (c *call) typed() bool {
	for key := range c.arguments().Members {
		if capability.ArgumentMatcher(key.Text()) != "" {
			return true
		}
	}
	return false
}

// family returns the program of the command, with its subcommand; "": it is not known, or there
// is no command.
func (c *call) family() string {
	text, _ := c.command()
	name, _ := argument.Family(argument.Parse(text))
	return name
}

// namesSecret reports whether a path among the arguments has the name of a file with keys.
func (c *call) namesSecret() bool {
	for key, v := range c.arguments().Members {
		if capability.ArgumentMatcher(key.Text()) == "$path" && argument.NamesSecret(v.Text()) {
			return true
		}
	}
	return false
}

// read collects the decided calls.
func (r *run) read(ctx context.Context) error {
	after, _, err := journal.Between(ctx, r.Log, r.Space, r.Since, time.Time{})
	if err != nil {
		return err
	}
	after = max(after, r.After)
	open := map[protocol.ID]*journal.Entry{}
	for e, err := range r.Log.Range(ctx, r.Space, journal.Query{After: after}) {
		if err != nil {
			return err
		}
		switch {
		case e.Hidden:
		case e.Envelope.Kind == protocol.KindMCPProposal:
			open[e.Envelope.ID] = e
		case exchange.IsDecision(e.Envelope.Kind) && !e.Envelope.TS.Before(r.Since):
			decided := []protocol.ID{e.Settles}
			if r.Partial { // it does not say which proposals an entry decides
				decided = e.Envelope.Correlation.IDs
			}
			for _, id := range decided {
				p := open[id]
				delete(open, id)
				if p == nil && after > 0 && id != "" {
					p, err = r.lookup(ctx, id)
				}
				if err != nil {
					return err
				}
				if p != nil {
					r.settle(p, e)
				}
			}
		}
	}
	return nil
}

// lookup returns a proposal from before the first decision that counts; nil: there is none.
func (r *run) lookup(ctx context.Context, id protocol.ID) (*journal.Entry, error) {
	e, err := r.Log.Lookup(ctx, r.Space, id)
	if errors.Is(err, journal.ErrNotFound) {
		return nil, nil //nolint:nilnil // there is none
	}
	if err != nil || e.Envelope.Kind != protocol.KindMCPProposal {
		return nil, err
	}
	return e, nil
}

// settle notes a decision.
func (r *run) settle(p, e *journal.Entry) {
	// If a budget or a loop asked about the call, the decision is about that. A part of a log does not say it, so
	// the rights of the proposer do.
	reason := ring.ReadReason(p.Private)
	asked := reason != nil && reason.Limit != ""
	if r.Partial {
		asked = r.effective.Counts() && r.state.NeedsNoQuestion(&p.Envelope, p.Payload(), p.Envelope.TS)
	}
	if asked {
		return
	}
	if r.report.Proposals == 0 {
		r.report.From = e.Envelope.TS
	}
	r.report.To = e.Envelope.TS
	r.report.Proposals++
	env, payload := &e.Envelope, e.Payload()
	c := &call{
		proposal: &p.Envelope, payload: p.Payload(), known: r.known, by: env.From, decision: env.ID, seq: env.Seq, decided: env.TS.UTC(),
		reason: exchange.OutcomeReason(payload.Get("reason").Text()),
	}
	undoneBy, undone := r.undone[env.ID]
	if undone {
		c.by = undoneBy
	}
	switch {
	case env.Kind == protocol.KindMCPReject && undone:
		return // of a reviewer, and wrong
	case env.Kind == protocol.KindMCPReject || undone:
		c.outcome = rejected
		r.report.Rejected++
	case env.Kind != protocol.KindMCPRequest || env.From == p.Envelope.From:
		return // withdrawn, or decided by the proposer itself
	case payload.Get("edited").Bool():
		c.outcome = edited
	default:
		c.outcome = approved
		r.report.Approved++
	}
	to := authority.HostOf(c.payload)
	if to == nil && c.outcome == approved {
		to = env.To
	}
	c.masked = c.payload.Get("redacted").Type() == protocol.TypeArray
	c.request = r.effective.ProposedCall(p.Envelope.From, &p.Envelope, c.payload, to)
	if c.host() == p.Envelope.From {
		c.dir = capability.WorkingDirectory(c.payload)
	}
	r.calls = append(r.calls, c)
}

// counts reports whether an approval counts.
func (r *run) counts(c *call) bool {
	counts := slices.Contains(r.Approvers, c.by) || len(r.Approvers) == 0 && r.effective.Deciders.Reviewer(c.by) == nil
	return c.outcome == approved && !c.masked && counts
}

// examples describes the newest calls first.
func (r *run) examples(calls []*call) []api.DecidedCall {
	out := []api.DecidedCall{}
	for _, c := range slices.Backward(calls) {
		if len(out) == r.Examples {
			break
		}
		out = append(out, api.DecidedCall{
			ID: c.proposal.ID, Seq: c.proposal.Seq, TS: c.proposal.TS, What: r.describe(c), Outcome: c.outcome, By: c.by, Decision: c.decision,
			Reason: r.Policy.Safety.Text(c.reason),
		})
	}
	return out
}

// maxWhat bounds the description of a call, in characters.
const maxWhat = 120

// describe describes a call in a line, without secrets that the safety rules know.
func (r *run) describe(c *call) string {
	name, params := exchange.ShownCall(c.payload)
	return termsafe.Cut(termsafe.Words(r.Policy.Safety.Text(name+" "+string(params))), maxWhat)
}
