package review

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/exchange"
	"github.com/meup-protocol/meup/internal/kit/recent"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/protocol"
)

// Bounds of what is read for one judgment by a model.
const (
	readDecisions = 100
	readProposals = 100
	readLists     = 50 // responses of a host, the newest first
	maxHosts      = 64
	hintsAge      = 10 * time.Minute
)

// question returns the chat that the context of a proposal answers, unless the proposer wrote it.
func (r *Reviewer) question(ctx context.Context, w *work) string {
	if w.proposal.Context == "" {
		return ""
	}
	start, err := r.read(ctx, protocol.ID(w.proposal.Context.Root()))
	if err != nil {
		return ""
	}
	for _, id := range start.Correlation.IDs {
		asked, err := r.read(ctx, id)
		if err == nil && asked.Kind == protocol.KindChat && asked.From != w.proposal.From {
			payload := asked.ParsePayload()
			return textutil.ShortenChars(cmp.Or(payload.Get("message").Text(), payload.Get("text").Text()), maxQuestion)
		}
	}
	return ""
}

// read returns an envelope of the log.
func (r *Reviewer) read(ctx context.Context, id protocol.ID) (protocol.Envelope, error) {
	text, err := inTurn(ctx, r, func() ([]byte, error) { return r.opts.Log.Envelope(ctx, r.joined.Name, id) })
	if err != nil {
		return protocol.Envelope{}, err
	}
	return protocol.DecodeDelivered(text)
}

// precedents returns decisions of people on calls that are like this one, newest first.
func (r *Reviewer) precedents(ctx context.Context, d *dossier, w *work) (out []precedent) {
	made, err := inTurn(ctx, r, func() (*api.Decisions, error) {
		return r.opts.Log.Decisions(ctx, r.joined.Name, api.DecisionQuery{Tool: d.Call.Tool, Limit: readDecisions})
	})
	if err != nil {
		return nil
	}
	proposed := make(map[protocol.ID]*protocol.Envelope)
	for _, state := range []string{string(exchange.Fulfilled), string(exchange.Rejected)} {
		page, err := inTurn(ctx, r, func() (*api.Proposals, error) {
			return r.opts.Log.Proposals(ctx, r.joined.Name, state, readProposals, w.proposal.Seq)
		})
		if err != nil {
			return nil
		}
		for i := range page.Proposals {
			proposed[page.Proposals[i].Envelope.ID] = &page.Proposals[i].Envelope.Envelope
		}
	}
	room := map[string]int{"approved": precedentsOf, "rejected": precedentsOf}
	for _, x := range made.Decisions {
		p := proposed[x.Proposal]
		verdict := map[string]string{"made": "approved", "rejected": "rejected"}[x.Outcome]
		// A person decided on a proposal of somebody else. Without deciders in the configuration the gateway does not know who is one.
		by := x.Decided
		byPerson := by.By == "participant" && (by.Decider == "" || by.Decider == "person") && by.Participant != r.you && by.Participant != x.Caller
		if p == nil || verdict == "" || room[verdict] == 0 || x.Edited || !byPerson {
			continue
		}
		request := requestOf(p, r.opts.Root)
		e := newDossier(&request)
		// It is like this one: of the same tool of the same host and, if it is a command, of the same program and subcommand.
		if d.Call.Tool != e.Call.Tool || d.Call.Host != e.Call.Host || !slices.Equal(d.Labels.Programs, e.Labels.Programs) {
			continue
		}
		room[verdict]--
		one := precedent{Verdict: verdict, Params: e.Call.Params, Reason: textutil.ShortenChars(x.Reason, maxWhy)}
		if len(one.Params) > maxShown {
			one.Params, one.Cut = nil, textutil.Shorten(string(one.Params), maxShown)
		}
		out = append(out, one)
	}
	return out
}

// hints are the annotations of tools by their hosts' lists, so far as this participant may see them.
type hints struct {
	mu    sync.Mutex
	hosts *recent.Map[protocol.ParticipantID, hostHints]
}

type hostHints struct {
	read  time.Time
	tools map[string]json.RawMessage
}

// of returns the annotations of the tools of a host by their names.
func (h *hints) of(ctx context.Context, r *Reviewer, host protocol.ParticipantID) map[string]json.RawMessage {
	h.mu.Lock()
	if h.hosts == nil {
		h.hosts = recent.New[protocol.ParticipantID, hostHints](maxHosts)
	}
	known, ok := h.hosts.Get(host)
	h.mu.Unlock()
	if ok && time.Since(known.read) < hintsAge {
		return known.tools
	}
	page, err := inTurn(ctx, r, func() (*api.Envelopes, error) {
		return r.opts.Log.Envelopes(ctx, r.joined.Name, api.EnvelopeQuery{
			Kinds: []string{string(protocol.KindMCPResponse)}, From: []protocol.ParticipantID{host}, Descending: true, Limit: readLists,
		})
	})
	if err != nil {
		return nil
	}
	found := hostHints{time.Now(), make(map[string]json.RawMessage)}
	for i := range page.Envelopes {
		for tool := range page.Envelopes[i].ParsePayload().Get("result").Get("tools").Elements {
			name, says := tool.Get("name").Text(), tool.Get("annotations").Raw()
			if _, newer := found.tools[name]; !newer && len(says) > 0 && len(says) < maxShown {
				found.tools[name] = says
			}
		}
	}
	h.mu.Lock()
	h.hosts.Put(host, found)
	h.mu.Unlock()
	return found.tools
}
