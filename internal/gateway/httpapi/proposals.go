package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/exchange"
	"github.com/meup-protocol/meup/internal/gateway/access"
	"github.com/meup-protocol/meup/protocol"
)

// Bounds of a page of proposals.
const (
	defaultProposals = 20
	maxProposals     = 100
	// maxProposalScan bounds the entries that are read, proposalWork is what each of
	// them is charged, in bytes.
	maxProposalScan = 100_000
	proposalWork    = 256
	// maxProposalBytes bounds the payloads of a page, maxOutcomeBytes what is kept of
	// the log to find outcomes.
	maxProposalBytes = 1 << 20
	maxOutcomeBytes  = 12 << 20
	// unseenBytes is about the memory for a settlement that the caller may not see.
	unseenBytes = 400
)

type proposalQuery struct {
	state         string
	since, before protocol.Seq
	limit         int
}

// settledUnseen is the state of a proposal that was settled by an envelope which the caller may not see.
const settledUnseen = "settled"

// proposals lists the proposals in a state, newest first.
func (s *Server) proposals(w http.ResponseWriter, r *http.Request, v caller) {
	q := proposalQuery{state: "pending", limit: defaultProposals}
	for name, values := range r.URL.Query() {
		value, ok := values[0], true
		switch name {
		case "state":
			q.state = value
			ok = slices.Contains([]string{"pending", "fulfilled", "rejected", "withdrawn", "expired", settledUnseen, "all"}, value)
		case "since":
			q.since, ok = seq(value)
		case "before":
			q.before, ok = seq(value)
		case "limit":
			n, err := strconv.Atoi(value)
			q.limit, ok = min(n, maxProposals), err == nil && n > 0
		}
		if !ok {
			access.WriteError(w, badParameter(name, value))
			return
		}
	}
	charge, err := v.beginWork(2*maxProposalBytes + maxOutcomeBytes)
	if err != nil {
		access.WriteError(w, err)
		return
	}
	page, scanned, err := v.proposals(r.Context(), q, time.Now())
	charge(scanned * proposalWork)
	if err != nil {
		access.WriteError(w, protocol.Errorf(protocol.CodeUnavailable, "The log of the space cannot be read now; try again."))
		return
	}
	writeJSON(w, http.StatusOK, page)
}

// proposals reads the log backwards, as far as the caller may see it, and returns how
// many entries it has read.
func (v caller) proposals(ctx context.Context, q proposalQuery, now time.Time) (page *api.Proposals, scanned int, err error) {
	page = &api.Proposals{Proposals: []api.Proposal{}}
	visibility := v.space.VisibilityOf(v.viewer())
	scan, size := exchange.NewProposalScan(), 0
	unseen := make(map[protocol.ID]*api.Settlement) // of proposals that are not read yet
	for e, err := range v.space.Backwards(ctx) {
		if err != nil {
			return nil, scanned, err
		}
		env := e.Envelope
		if env.Seq <= q.since {
			break
		}
		if scanned == maxProposalScan || scan.Size()+unseenBytes*len(unseen) > maxOutcomeBytes {
			page.Partial = true
			break
		}
		scanned++
		visible := e.VisibleTo(visibility)
		if id := e.Settles(); id != "" && !visible {
			unseen[id] = &api.Settlement{Seq: env.Seq, From: env.From}
		}
		if !visible || !slices.Contains(exchange.DecisionKinds, env.Kind) {
			continue
		}
		if env.Kind != protocol.KindMCPProposal {
			scan.Add(env)
			continue
		}
		if q.before > 0 && env.Seq >= q.before {
			continue
		}
		p := proposalOf(env, scan, now)
		by := unseen[env.ID]
		delete(unseen, env.ID)
		if by != nil && v.space.MayDecide(v.id, env) {
			p.State, p.SettledBy = settledUnseen, by // what a decision of the caller would be told
		}
		if p.State == "pending" && v.space.IsGone(env.From) {
			p.State = string(exchange.Expired)
		}
		p.MayDecide = p.State == "pending" && v.space.MayDecide(v.id, env)
		if q.state != "all" && p.State != q.state {
			continue
		}
		if len(page.Proposals) == q.limit || size+len(env.Payload) > maxProposalBytes && size > 0 {
			page.HasMore = true
			page.Next = page.Proposals[len(page.Proposals)-1].Envelope.Seq
			break
		}
		call := exchange.ReadCall(e.Payload())
		if p.State == "pending" {
			p.Because = v.space.AskedBecause(env)
			from := v.space.DecidesFrom(v.id, env)
			if !from.IsZero() && !call.Expired(from) {
				p.DecidesFrom = &from
			}
		}
		size += len(env.Payload)
		p.Call = call.Digest()
		page.Proposals = append(page.Proposals, p)
	}
	return page, scanned, nil
}

// scopes lists what a grant with the approval of a proposal may allow.
func (s *Server) scopes(w http.ResponseWriter, r *http.Request, v caller) {
	e, err := v.space.Envelope(r.Context(), v.viewer(), protocol.ID(r.PathValue("id")))
	if err != nil {
		access.WriteError(w, err)
		return
	}
	if e.Envelope.Kind != protocol.KindMCPProposal {
		access.WriteError(w, protocol.Errorf(protocol.CodeNotFound, "The envelope with this id is no proposal."))
		return
	}
	host := exchange.CallOf(e.Envelope).Host
	if to := r.URL.Query().Get("to"); to != "" {
		host = protocol.ParticipantID(to)
	}
	out := api.Scopes{Scopes: []api.Scope{}}
	if protocol.ValidParticipantID(string(host)) {
		for _, x := range v.space.Scopes(v.id, e.Envelope, host) {
			out.Scopes = append(out.Scopes, api.Scope{ID: x.ID, Title: x.Title, Capability: json.RawMessage(x.Capability.String())})
		}
	}
	v.writeJSON(w, out)
}

func proposalOf(env *protocol.Envelope, scan *exchange.ProposalScan, now time.Time) api.Proposal {
	how, by := scan.Outcome(env, now)
	p := api.Proposal{State: string(how), Envelope: api.RawEnvelope{Envelope: *env}}
	if how == exchange.Pending {
		p.State = "pending"
	}
	if by != nil {
		p.SettledBy = &api.Settlement{ID: by.ID, Seq: by.Seq, From: by.From, Reason: by.Reason}
	}
	return p
}
