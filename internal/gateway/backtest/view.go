package backtest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/meup-protocol/meup/internal/capability"
	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/space/admission"
	"github.com/meup-protocol/meup/internal/space/authority"
	"github.com/meup-protocol/meup/internal/space/ring"
	"github.com/meup-protocol/meup/protocol"
)

// Outcomes: what becomes of an envelope.
const (
	Allowed  = "allowed"
	Asked    = "asked"    // a proposal, or a call that its sender may only propose
	Refused  = "refused"  // by the capabilities or by the safety rules
	Masked   = "masked"   // in the log, with more text masked
	Unmasked = "unmasked" // a rule has masked text that would stay
	unknown  = ""
)

// question is an entry of the log, with what decides about it.
type question struct {
	entry     *journal.Entry
	payload   protocol.Value
	proposals []*admission.Proposal // that it decides on
	cut       bool                  // the proposal that it decides on is not in the log any more
}

// verdict is what a configuration says about an envelope.
type verdict struct {
	outcome string
	rule    string // the capability, as JSON, or the names of the safety rules; "": none
	why     string // if there is no rule, or more to say
}

// view is a configuration together with the state of the log.
type view struct {
	policy *Policy
	run    *run

	cfg     *authority.Config // in force at this place of the log
	state   *authority.State  // under cfg; nil: the log has changed it
	changes []change          // by the administrative space; the first next of them are in cfg
	next    int
	before  *authority.Config // before the last one
}

// change is a change of the configuration by the administrative space.
type change struct {
	at  time.Time
	cfg *authority.Config
}

// view returns the view of a policy at the beginning of the log; nil if it never has the
// space.
func (r *run) view(ctx context.Context, p *Policy) (*view, error) {
	v := &view{policy: p, run: r}
	v.cfg = p.Space(authority.Directory{})
	if p.Administration != "" && p.Administration != r.Space && !r.Partial {
		st := authority.NewState(&authority.Config{Name: p.Administration})
		var last *authority.DirectorySpace
		for e, err := range r.Log.Range(ctx, p.Administration, journal.Query{StateOnly: true}) {
			if err != nil {
				return nil, err
			}
			_ = st.Fold(e) // as at a gateway: an entry that cannot be applied changes nothing
			made := st.Directory.Space(r.Space)
			if made != last {
				last = made
				v.changes = append(v.changes, change{e.Envelope.TS, p.Space(st.Directory)})
			}
		}
	}
	if v.cfg == nil && !slices.ContainsFunc(v.changes, func(c change) bool { return c.cfg != nil }) {
		return nil, nil //nolint:nilnil // there is none
	}
	return v, nil
}

// clockSlack is how far an envelope of this space and a change in the administrative space
// can have the opposite order of their times: clocks differ, and a change is in effect
// some time after its own.
const clockSlack = 10 * time.Second

// at returns the state for an envelope of a time.
func (v *view) at(now time.Time) *authority.State {
	for v.next < len(v.changes) && !now.Before(v.changes[v.next].at) {
		v.before, v.cfg, v.state = v.cfg, v.changes[v.next].cfg, nil
		v.next++
	}
	if v.state == nil {
		v.state = v.run.st.WithConfig(orNone(v.cfg, v.run.Space))
	}
	return v.state
}

func orNone(cfg *authority.Config, space string) *authority.Config {
	if cfg == nil {
		return &authority.Config{Name: space}
	}
	return cfg
}

// nearby returns the states under the configurations that may have been in force instead.
func (v *view) nearby(now time.Time) (list []*authority.State) {
	if v.next > 0 && now.Sub(v.changes[v.next-1].at) < clockSlack {
		list = append(list, v.run.st.WithConfig(orNone(v.before, v.run.Space)))
	}
	if v.next < len(v.changes) && v.changes[v.next].at.Sub(now) < clockSlack {
		list = append(list, v.run.st.WithConfig(orNone(v.changes[v.next].cfg, v.run.Space)))
	}
	return list
}

// decide returns what the configuration says about an envelope.
func (v *view) decide(q *question) verdict {
	now := q.entry.Envelope.TS
	says := q.under(v.at(now))
	for _, st := range v.nearby(now) {
		if says.outcome != Refused {
			break
		}
		says = q.under(st)
	}
	return says
}

// under returns what a state says about an envelope.
func (q *question) under(st *authority.State) verdict {
	e := &q.entry.Envelope
	if err := st.CheckKind(e.Kind); err != nil {
		return verdict{Refused, "", "only the administrative space accepts it"}
	}
	if !st.Admits(e.From) {
		return verdict{Refused, "", "it is no participant"}
	}
	for _, id := range e.To {
		if !st.IsKnown(id) {
			return verdict{Refused, "", "there is no participant " + string(id)}
		}
	}
	sender := ring.Viewer{ID: e.From}
	_, configured := st.Config.Participants[e.From]
	if !configured {
		sender.VisibleAfter = st.Member(e.From).At
	}
	c := admission.Case{State: st, Sender: sender, Now: e.TS, Envelope: e, Payload: q.payload, Proposals: q.proposals}
	rights := st.Ledger.Effective(e.From, e.TS)
	var call capability.Decision // of a proposal
	if e.Kind == protocol.KindMCPProposal {
		call = st.MayCall(e, q.payload, e.TS)
		if call.Allowed {
			return verdict{Allowed, call.By.String(), ""}
		}
	}
	d := c.Decide()
	denied := d.By != nil && d.By.Deny()
	switch {
	// An answer from a client of an earlier dialect needs no capability for it in one of them.
	case !d.Allowed && !denied && (q.cut || e.Kind == protocol.KindMCPResponse && ring.ReadSpelling(q.entry.Private).Sum != ""):
		return verdict{outcome: unknown}
	case !d.Allowed && q.wasMasked() && rights.Possible(e.Kind):
		return verdict{outcome: unknown} // the capabilities were compared with the text before it was masked
	case !d.Allowed && e.Kind == protocol.KindMCPRequest && len(q.proposals) == 0:
		return q.proposed(st, rights, d)
	case !d.Allowed:
		return refusedBy(d)
	}
	if e.Kind == protocol.KindMCPProposal {
		r := st.Config.ProposedCall(e.From, e, q.payload, authority.HostOf(q.payload))
		rule := st.Config.Deciders.Rule(&r)
		switch {
		case rule == nil:
		case q.wasMasked():
			return verdict{outcome: unknown}
		case rule.Capability.Deny():
			return verdict{Refused, rule.Capability.String(), "a rule of the deciders rejects the call"}
		case call.By == nil || !call.By.Deny():
			return verdict{Allowed, rule.Capability.String(), "by a rule of the deciders"}
		}
	}
	if !q.cut {
		if err := c.CheckEffect(); err != nil {
			return verdict{Refused, "", reason(e.Kind, err)}
		}
	}
	if e.Kind == protocol.KindMCPProposal {
		return verdict{Asked, d.By.String(), ""}
	}
	return verdict{Allowed, d.By.String(), ""}
}

// proposed returns the verdict on a call that is not allowed: it is asked if the sender may
// propose it and no rule of the deciders rejects it.
func (q *question) proposed(st *authority.State, rights capability.Rights, refused capability.Decision) verdict {
	e := &q.entry.Envelope
	r := st.Request(e.From, e, q.payload, e.TS)
	switch says, by := st.Config.Ask(rights, r); {
	case by == nil:
		return refusedBy(refused)
	case says == authority.Refused:
		return verdict{Refused, by.String(), "a rule of the deciders rejects the call"}
	default:
		return verdict{Asked, by.String(), ""}
	}
}

func refusedBy(d capability.Decision) verdict {
	if d.By == nil {
		return verdict{Refused, "", "no capability allows it"}
	}
	return verdict{Refused, d.By.String(), ""}
}

// reason returns why an allowed envelope has no effect, without names that differ from
// envelope to envelope.
func reason(kind protocol.Kind, err error) string {
	var why authority.NotDecider
	switch {
	case errors.Is(err, authority.ErrNotDecider):
		return "no capability allows it to decide on the proposal"
	case errors.As(err, &why):
		return "the deciders do not let it decide on the proposal"
	case kind == protocol.KindReviewerPromote || kind == protocol.KindReviewerDemote:
		return "it may not change the mode of the reviewer"
	}
	switch code := protocol.AsError(err).Code; code {
	case protocol.CodeCannotDelegate:
		return "it may not give these capabilities, or this identity"
	case protocol.CodeProposalMismatch:
		return "the proposed call cannot be made"
	case protocol.CodeUnknownParticipant:
		return "there is no such participant"
	case protocol.CodeCapabilityViolation:
		return "it is a reviewer, which may not send this kind"
	default:
		return strings.ReplaceAll(string(code), "_", " ")
	}
}

// wasMasked reports whether the log does not have the payload as it was sent.
func (q *question) wasMasked() bool { return q.payload.Get("redacted").Type() == protocol.TypeArray }

// masks returns what the safety rules say about an envelope of the log.
func (v *view) masks(q *question) verdict {
	e := &q.entry.Envelope
	if !v.policy.Safety.Applies(e.Kind) || e.Kind.IsAdministrative() {
		return verdict{outcome: Allowed}
	}
	var extra protocol.Value
	if len(e.Extra) > 0 {
		doc, err := protocol.ParseJSON(slices.Concat([]byte{'{'}, e.Extra, []byte{'}'}), protocol.MaxDepth)
		if err == nil {
			extra = doc.Root()
		}
	}
	found, err := v.policy.Safety.Envelope(e.Kind, q.payload, extra)
	switch {
	case err != nil:
		return verdict{Refused, found.Refused, "a safety rule refuses the text"}
	case len(found.Redacted) > 0:
		return verdict{Masked, strings.Join(found.Redacted, ", "), ""}
	}
	return verdict{outcome: Allowed}
}

// unmasks returns the rules that have masked text of an envelope, that are in force now
// and would not be. A sender can name rules too, so the others do not count.
func (r *run) unmasks(q *question) verdict {
	kind := q.entry.Envelope.Kind
	var gone []string
	for x := range q.payload.Get("redacted").Elements {
		rule := x.Text()
		if r.current.policy.Masks(kind, rule) && !r.new.policy.Masks(kind, rule) {
			gone = append(gone, rule)
		}
	}
	if len(gone) == 0 {
		return verdict{outcome: Allowed}
	}
	return verdict{Unmasked, strings.Join(gone, ", "), "the log does not have the text"}
}
