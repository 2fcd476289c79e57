package space

import (
	"context"
	"time"

	"github.com/meup-protocol/meup/internal/capability"
	"github.com/meup-protocol/meup/internal/capability/argument"
	"github.com/meup-protocol/meup/internal/exchange"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/internal/space/authority"
	"github.com/meup-protocol/meup/internal/space/ring"
	"github.com/meup-protocol/meup/protocol"
)

// Bounds of a scorecard.
const (
	MaxScoredEntries  = 100_000 // that are read
	MaxScorecardBytes = 4 << 20 // that it holds
	maxScoredKind     = 100     // of the name of a kind, in bytes
)

// Deciders returns who decides on the proposals, by the configuration.
func (s *Space) Deciders() *authority.Deciders { return &s.config().Deciders }

// Mode reports whether a reviewer decides, and returns its last promotion or demotion; nil:
// none.
func (s *Space) Mode(id protocol.ParticipantID) (decides bool, last *authority.ModeChange) {
	return s.state.Load().Mode(id)
}

// IsDecider reports whether a participant is a reviewer, or one of the people who decide.
func (s *Space) IsDecider(id protocol.ParticipantID) bool { return s.state.Load().IsDecider(id) }

// MayPromote reports whether a participant may promote a reviewer once that has shown enough.
func (s *Space) MayPromote(id, reviewer protocol.ParticipantID) bool {
	st := s.state.Load()
	e := &protocol.Envelope{
		From: id, Kind: protocol.KindReviewerPromote, TS: s.now(),
		Payload: append(protocol.AppendString([]byte(`{"participant_id":`), string(reviewer)), '}'),
	}
	allowed, _ := st.Rights(id, e, e.TS)
	return allowed && st.CheckReviewer(e) == nil && st.CheckModeChange(e, e.ParsePayload()) == nil
}

// Scorecard reads how deciders have done on the proposals from a time on, and what reviewers in
// shadow have shown since their last demotion. It returns how many entries it has read;
// partial: at its bounds, before it reached the time.
func (s *Space) Scorecard(ctx context.Context, d *authority.Deciders, since time.Time) (card *Scorecard, scanned int, partial bool, err error) {
	var shadow []protocol.ParticipantID
	for _, v := range d.Reviewers {
		if decides, _ := s.Mode(v.ID); !decides {
			shadow = append(shadow, v.ID)
		}
	}
	after, err := s.After(ctx, since)
	if err != nil {
		return nil, 0, false, err
	}
	return s.score(ctx, d, since, after, shadow)
}

// proof reads what a reviewer has shown since its last demotion, as [Scorecard.Proof] says.
func (s *Space) proof(ctx context.Context, reviewer protocol.ParticipantID) (compared, sinceMiss, scanned int, err error) {
	card, scanned, _, err := s.score(ctx, s.Deciders(), s.now(), s.Head(), []protocol.ParticipantID{reviewer})
	if err == nil {
		compared, sinceMiss = card.Proof(reviewer)
	}
	return compared, sinceMiss, scanned, err
}

// score reads the log back to a position, after which all proposals from a time on are, and to the
// last demotions of reviewers.
func (s *Space) score(ctx context.Context, d *authority.Deciders, since time.Time, after protocol.Seq, demoted []protocol.ParticipantID) (card *Scorecard, scanned int, partial bool, err error) {
	card = newScorecard(s.panel(d), since)
	for e, err := range s.Backwards(ctx) {
		if err != nil {
			return nil, scanned, false, err
		}
		for len(demoted) > 0 && card.reviewer(demoted[0]).demoted > 0 {
			demoted = demoted[1:]
		}
		counts := e.Envelope.Seq > after
		if !counts && len(demoted) == 0 {
			break
		}
		if scanned == MaxScoredEntries || card.Size() > MaxScorecardBytes {
			partial = counts
			break
		}
		scanned++
		card.add(e)
	}
	return card, scanned, partial, nil
}

// panel returns who is scored.
func (s *Space) panel(d *authority.Deciders) panel {
	st := s.state.Load()
	p := panel{
		kind: kindOfCall,
		isPerson: func(id protocol.ParticipantID) bool {
			return len(d.People) == 0 || d.PeoplePattern(id) != "" && !st.IsInvited(id)
		},
	}
	visibility := make(map[protocol.ParticipantID]ring.Visibility)
	for _, v := range d.Reviewers {
		p.reviewers = append(p.reviewers, v.ID)
		visibility[v.ID] = s.VisibilityOf(ring.Viewer{ID: v.ID})
	}
	p.judges = func(reviewer protocol.ParticipantID, entry *ring.Entry, payload protocol.Value) bool {
		e := entry.Envelope
		if reviewer != "" && !entry.VisibleTo(visibility[reviewer]) {
			return false
		}
		if reason := ring.ReadReason(entry.Private()); reason != nil && reason.Limit != "" {
			return false // people alone answer what a budget or a loop asks
		}
		call := st.Config.ProposedCall(e.From, e, payload, authority.HostOf(payload))
		return d.Judges(reviewer, &call)
	}
	return p
}

// kindOfCall names the kind of a call: its tool, and the program of a command.
func kindOfCall(call protocol.Value) string {
	tool, _ := exchange.ShownCall(call)
	for key, v := range call.Get("params").Get("arguments").Members {
		if capability.ArgumentMatcher(key.Text()) != "$shell" {
			continue
		}
		if name, ok := argument.Family(argument.Parse(v.Text())); ok {
			tool += ": " + name
		}
		break
	}
	return textutil.Shorten(tool, maxScoredKind)
}
