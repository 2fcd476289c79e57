package httpapi

import (
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/capability"
	"github.com/meup-protocol/meup/internal/gateway/access"
	"github.com/meup-protocol/meup/internal/kit/glob"
	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/internal/space/authority"
	"github.com/meup-protocol/meup/protocol"
)

// deciders returns who decides on the proposals of the space, with their scores. These are of the
// whole space: those who may read them would otherwise see different ones of the same reviewer,
// and miss its misses. They have counts, and names of tools and programs, and no call.
func (s *Server) deciders(w http.ResponseWriter, r *http.Request, v caller) {
	d := v.space.Deciders()
	if !v.space.SeesRights(v.id) && !v.space.IsDecider(v.id) {
		access.WriteError(w, protocol.Errorf(protocol.CodeCapabilityViolation, "The deciders of a space are for participants that observe it, may change rights, or are deciders."))
		return
	}
	from, refused := beginOf(r, time.Now())
	if refused != nil {
		access.WriteError(w, refused)
		return
	}
	charge, err := v.beginWork(3 * space.MaxScorecardBytes) // the scorecard, and twice what is made of it
	if err != nil {
		access.WriteError(w, err)
		return
	}
	card, scanned, partial, err := v.space.Scorecard(r.Context(), d, from)
	charge(scanned * proposalWork)
	if err != nil {
		access.WriteError(w, protocol.Errorf(protocol.CodeUnavailable, "The log of the space cannot be read now; try again."))
		return
	}
	writeJSON(w, http.StatusOK, &api.Deciders{
		Configured: d.Configured(), HumanOnly: capability.Texts(d.HumanOnly), Deciders: v.scored(d, card), Since: from.UTC(), Partial: partial,
	})
}

// scored returns the deciders in the order in which they are asked: with their scores and, of a
// reviewer in shadow, what its promotion needs.
func (v caller) scored(d *authority.Deciders, card *space.Scorecard) []api.Decider {
	list := []api.Decider{}
	if len(d.Rules) > 0 {
		list = append(list, api.Decider{Type: "rules", Score: card.Rules()})
	}
	for i := range d.Reviewers {
		r := &d.Reviewers[i]
		x := api.Decider{Type: "reviewer", ID: r.ID, For: capability.Texts(r.For), Score: card.Reviewer(r.ID)}
		decides, last := v.space.Mode(r.ID)
		x.Mode = modeOf(decides)
		if last != nil {
			x.Changed = &api.ModeChange{ID: last.ID, Seq: last.Seq, At: last.At, By: last.By, Mode: modeOf(last.Decides), Reason: last.Reason, Undone: last.Undone}
		}
		if !decides {
			compared, sinceMiss := card.Proof(r.ID)
			x.Promotion = &api.Promotion{
				Decisions: r.Decisions, WithoutMiss: r.WithoutMiss, Compared: compared, SinceMiss: sinceMiss,
				Missing: r.Missing(compared, sinceMiss, last), MayPromote: v.space.MayPromote(v.id, r.ID),
			}
		}
		list = append(list, x)
	}
	people := card.People()
	add := func(x api.Decider) {
		x.Score = people[x.ID]
		delete(people, x.ID)
		list = append(list, x)
	}
	for _, stage := range d.People {
		for _, name := range stage.People {
			x := api.Decider{Type: "person", AfterSeconds: stage.After.Seconds()}
			if !glob.HasStar(name) {
				x.ID = protocol.ParticipantID(name)
				add(x)
				continue
			}
			x.Pattern = name
			list = append(list, x)
			for _, id := range slices.Sorted(maps.Keys(people)) {
				if glob.Match(glob.CompileFlat(name), string(id)) {
					x.ID = id
					add(x)
				}
			}
		}
	}
	if len(d.People) == 0 {
		for _, id := range slices.Sorted(maps.Keys(people)) {
			add(api.Decider{Type: "person", ID: id})
		}
	}
	return list
}

func modeOf(decides bool) string {
	if decides {
		return api.ModeDecide
	}
	return api.ModeShadow
}
