package httpapi

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/exchange"
	"github.com/meup-protocol/meup/internal/gateway/access"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/internal/space/authority"
	"github.com/meup-protocol/meup/internal/space/ring"
	"github.com/meup-protocol/meup/protocol"
)

// Bounds of a page of decisions.
const (
	defaultDecisions = 20
	maxDecisions     = 100
	// maxDecisionText bounds the name of a tool, its arguments and the reason of a rejection, in bytes.
	maxDecisionText = 512
	// lookupEntries is as how many read entries the lookup of a proposal counts.
	lookupEntries = 8
	// decidedBytes is about the memory for a proposal that was found to be decided.
	decidedBytes = 128
	// undoneBytes is about the memory for a decision that was called wrong.
	undoneBytes = 1 << 10
)

type decisionQuery struct {
	since, before protocol.Seq
	from          time.Time
	limit         int
	participant   protocol.ParticipantID
	tool          string
	proposal      protocol.ID
}

// decisions lists the decisions about calls, newest first.
func (s *Server) decisions(w http.ResponseWriter, r *http.Request, v caller) {
	q := decisionQuery{limit: defaultDecisions}
	for name, values := range r.URL.Query() {
		value, ok := values[0], true
		switch name {
		case "since":
			var h space.HistoryQuery
			if refused := setSince(&h, values, time.Now()); refused != nil {
				access.WriteError(w, refused)
				return
			}
			q.since, q.from = h.Since, h.From
		case "before":
			q.before, ok = seq(value)
		case "limit":
			n, err := strconv.Atoi(value)
			q.limit, ok = min(n, maxDecisions), err == nil && n > 0
		case "participant":
			q.participant = protocol.ParticipantID(value)
		case "tool":
			q.tool = value
		case "proposal":
			q.proposal = protocol.ID(value)
		}
		if !ok {
			access.WriteError(w, badParameter(name, value))
			return
		}
	}
	charge, err := v.beginWork(maxProposalBytes + maxOutcomeBytes)
	if err != nil {
		access.WriteError(w, err)
		return
	}
	d := decisionScan{caller: v, visibility: v.space.VisibilityOf(v.viewer()), seesRights: v.space.SeesRights(v.id), now: time.Now(), decisionQuery: q,
		outcomes: exchange.NewProposalScan(), decided: make(map[protocol.ID]struct{}), undone: make(map[protocol.ID]*api.Undoing)}
	page, err := d.read(r.Context())
	charge(d.scanned * proposalWork)
	if err != nil {
		access.WriteError(w, protocol.Errorf(protocol.CodeUnavailable, "The log of the space cannot be read now; try again."))
		return
	}
	writeJSON(w, http.StatusOK, page)
}

// decisionScan reads the log backwards for the decisions that a query selects, as far as
// its caller may see them.
type decisionScan struct {
	caller
	decisionQuery
	visibility ring.Visibility
	seesRights bool // of all participants
	now        time.Time

	scanned  int
	outcomes *exchange.ProposalScan
	decided  map[protocol.ID]struct{} // the proposals that an envelope decided on, until they are read
	undone   map[protocol.ID]*api.Undoing
}

func (d *decisionScan) read(ctx context.Context) (*api.Decisions, error) {
	page := &api.Decisions{Decisions: []api.CallDecision{}, Policy: d.space.Policy()}
	since, err := d.space.After(ctx, d.from)
	if err != nil {
		return nil, err
	}
	since = max(since, d.since)
	for e, err := range d.space.Backwards(ctx) {
		if err != nil {
			return nil, err
		}
		env := e.Envelope
		if env.Seq <= since {
			break
		}
		if d.scanned >= maxProposalScan || d.outcomes.Size()+decidedBytes*len(d.decided)+undoneBytes*len(d.undone) > maxOutcomeBytes {
			page.Partial = true
			break
		}
		d.scanned++
		if env.Kind == protocol.KindReviewerDemote && e.VisibleTo(d.visibility) {
			for _, id := range env.Correlation.IDs { // the decisions that were called wrong
				d.undone[id] = &api.Undoing{ID: env.ID, By: env.From, At: env.TS, Reason: textutil.Shorten(e.Payload().Get("reason").Text(), maxDecisionText)}
			}
		}
		if !slices.Contains(exchange.DecisionKinds, env.Kind) || !e.VisibleTo(d.visibility) {
			continue
		}
		found, err := d.decision(ctx, e)
		if err != nil {
			return nil, err
		}
		if found == nil || d.tool != "" && found.Tool != d.tool {
			continue
		}
		if d.participant != "" && !slices.Contains([]protocol.ParticipantID{found.Caller, found.Host, found.Decided.Participant}, d.participant) {
			continue
		}
		found.Undone = d.undone[found.ID]
		if len(page.Decisions) == d.limit {
			page.HasMore, page.Next = true, page.Decisions[d.limit-1].Seq
			break
		}
		page.Decisions = append(page.Decisions, *found)
	}
	return page, nil
}

// decision returns the decision that an entry is, or the end of a proposal that nobody decided
// on; nil: none, or none of the page.
func (d *decisionScan) decision(ctx context.Context, e *ring.Entry) (*api.CallDecision, error) {
	env := e.Envelope
	ofPage := (d.before == 0 || env.Seq < d.before) && !env.TS.Before(d.from)
	if env.Kind == protocol.KindMCPProposal {
		_, decided := d.decided[env.ID]
		delete(d.decided, env.ID)
		if decided || !ofPage || d.proposal != "" && d.proposal != env.ID {
			return nil, nil //nolint:nilnil // documented
		}
		how, by := d.outcomes.Outcome(env, d.now)
		if how != exchange.Expired {
			return nil, nil //nolint:nilnil // it is pending
		}
		out := d.proposed(e)
		out.Outcome, out.Decided.By = string(how), "nobody"
		out.At = exchange.ReadCall(e.Payload()).ExpiresAt
		if by != nil {
			out.At = by.TS
		}
		return out, nil
	}
	d.outcomes.Add(env)
	id := e.Settles()
	if id != "" {
		d.decided[id] = struct{}{}
	}
	if !ofPage || !exchange.IsDecision(env.Kind) || d.proposal != "" && d.proposal != id {
		return nil, nil //nolint:nilnil // documented
	}
	if id == "" && (env.Kind != protocol.KindMCPRequest || strings.HasPrefix(e.Payload().Get("method").Text(), "notifications/")) {
		return nil, nil //nolint:nilnil // of no proposal, or no call
	}
	var proposal *ring.Entry
	if id != "" {
		var err error
		d.scanned += lookupEntries
		proposal, err = d.space.Envelope(ctx, d.viewer(), id)
		if err != nil && !errors.Is(err, &protocol.Error{Code: protocol.CodeNotFound}) {
			return nil, err
		}
	}
	switch {
	case env.Kind == protocol.KindMCPRequest:
		return d.made(e, proposal), nil
	case proposal == nil: // it is not for the caller to see
		return nil, nil //nolint:nilnil // documented
	}
	return d.dropped(e, proposal), nil
}

// made returns the decision that a request is: at once, or on a proposal. proposal is nil if
// there is none, or none that the caller may see.
func (d *decisionScan) made(e, proposal *ring.Entry) *api.CallDecision {
	env, payload, reason := e.Envelope, e.Payload(), ring.ReadReason(e.Private())
	out := newCallDecision(e, payload)
	out.Proposal, out.Caller, out.Outcome = e.Settles(), env.From, "made"
	if len(env.To) == 1 {
		out.Host = env.To[0]
	}
	d.explain(out, env.From, reason)
	if e.Settles() == "" {
		out.Decided.When = "at_once"
		d.judge(out, env.To, env.Context, payload)
		return out
	}
	out.Edited = payload.Get("edited").Bool()
	out.Decided.By, out.Decided.Participant, out.Decided.When = "participant", env.From, "in_time"
	if proposal == nil {
		return out
	}
	proposed := proposal.Payload()
	out.Caller = proposal.Envelope.From
	if isLate(reason, proposed, env) {
		out.Decided.When = "late"
	}
	to, call := env.To, payload
	if !out.Edited {
		to, call = authority.HostOf(proposed), proposed // with the working directory of the proposer
		if len(to) == 0 {
			to = env.To
		}
	}
	d.judge(out, to, proposal.Envelope.Context, call)
	return out
}

// dropped returns the decision that a rejection or a withdrawal is.
func (d *decisionScan) dropped(e, proposal *ring.Entry) *api.CallDecision {
	env, reason := e.Envelope, ring.ReadReason(e.Private())
	out := d.proposed(proposal)
	out.ID, out.Seq, out.At = env.ID, env.Seq, env.TS
	why := e.Payload().Get("reason").Text()
	out.Reason = textutil.Shorten(why, maxDecisionText)
	d.explain(out, env.From, reason)
	out.Decided.By, out.Decided.Participant, out.Decided.When = "participant", env.From, "in_time"
	out.Outcome = string(exchange.Decision(proposal.Envelope.From, env.From, env.Kind, why))
	switch {
	case out.Outcome == string(exchange.Expired): // its proposer gave up
		out.Decided = api.DecidedBy{By: "nobody"}
	case isLate(reason, proposal.Payload(), env):
		out.Decided.When = "late"
	}
	return out
}

// proposed returns a decision about a proposed call, without the decision.
func (d *decisionScan) proposed(proposal *ring.Entry) *api.CallDecision {
	env, payload := proposal.Envelope, proposal.Payload()
	out := newCallDecision(proposal, payload)
	out.Caller, out.Proposal = env.From, env.ID
	to := authority.HostOf(payload)
	if len(to) == 1 {
		out.Host = to[0]
	}
	d.judge(out, to, env.Context, payload)
	return out
}

func newCallDecision(e *ring.Entry, payload protocol.Value) *api.CallDecision {
	tool, arguments := exchange.ShownCall(payload)
	return &api.CallDecision{
		ID: e.Envelope.ID, Seq: e.Envelope.Seq, At: e.Envelope.TS, Tool: textutil.Shorten(tool, maxDecisionText),
		Arguments: textutil.Shorten(string(arguments), maxDecisionText), Call: exchange.ReadCall(payload).Digest(),
	}
}

// isLate reports whether the decision on a proposal came after its end.
func isLate(reason *ring.Reason, proposed protocol.Value, by *protocol.Envelope) bool {
	return reason != nil && reason.Late || exchange.ReadCall(proposed).Expired(by.TS)
}

// explain adds what was recorded with an envelope. The capabilities of a participant are for
// itself and for those who see the policy.
func (d *decisionScan) explain(out *api.CallDecision, from protocol.ParticipantID, reason *ring.Reason) {
	if reason == nil { // of an older gateway
		out.Decided.By = "unknown"
		return
	}
	out.Decided.By, out.Decided.Policy, out.Decided.Decider = "rule", reason.Policy, string(reason.Decider)
	if reason.Grant != "" {
		out.Decided.By = "grant"
	}
	if d.reads(from) {
		out.Decided.Rule, out.Decided.Grant = reason.Rule, reason.Grant
	}
}

// judge adds what the policy in force says about the call.
func (d *decisionScan) judge(out *api.CallDecision, to []protocol.ParticipantID, at protocol.ContextPath, call protocol.Value) {
	if !d.reads(out.Caller) {
		return
	}
	verdict, by := d.space.Judge(out.Caller, to, at, call)
	out.Today = &api.Verdict{Verdict: string(verdict)}
	if by != nil {
		out.Today.Rule = textutil.Shorten(by.String(), maxDecisionText)
	}
}

// reads reports whether the caller may read the capabilities of a participant.
func (d *decisionScan) reads(id protocol.ParticipantID) bool {
	return d.seesRights || d.id == id
}
