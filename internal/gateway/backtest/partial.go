package backtest

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/space/authority"
	"github.com/meup-protocol/meup/internal/space/ring"
	"github.com/meup-protocol/meup/protocol"
)

// complete adds to an entry of a partial log what only gateways read: an invitation brings
// a token, unless it readmits a user of the issuer, and a promotion is of the reviewer as the new
// configuration has it.
func (r *run) complete(e *journal.Entry) {
	id := protocol.ParticipantIn(e.Payload(), "participant_id")
	switch e.Envelope.Kind {
	case protocol.KindReviewerPromote:
		if r.new.cfg != nil {
			if v := r.new.cfg.Deciders.Reviewer(id); v != nil {
				e.Private = (&ring.Spelling{}).Note(nil, &ring.Reason{Reviewer: v.Entry()})
			}
		}
		return
	case protocol.KindSpaceInvite:
	default:
		return
	}
	issued := r.new.cfg != nil && r.new.cfg.Guests != nil && !strings.HasPrefix(string(id), protocol.InvitedPrefix)
	if !issued {
		token := sha256.Sum256([]byte(e.Envelope.ID))
		e.Private = []byte(hex.EncodeToString(token[:]))
	}
}

// meet makes the participants of an entry of a partial log known, as the hidden entries
// about guests do.
func (r *run) meet(e *journal.Entry) {
	ids := append([]protocol.ParticipantID{e.Envelope.From}, e.Envelope.To...)
	switch e.Envelope.Kind {
	case protocol.KindCapabilityGrant, protocol.KindCapabilityRevoke:
		ids = append(ids, protocol.ParticipantIn(e.Payload(), "recipient"))
	case protocol.KindSpaceKick:
		ids = append(ids, protocol.ParticipantIn(e.Payload(), "participant_id"))
	}
	for _, id := range ids {
		if id == "" || id == protocol.GatewayID || r.st.HasJoined(id) {
			continue
		}
		member, err := protocol.FromGateway("member", authority.KindSystemMember, e.Envelope.TS, map[string]any{"participant_id": id})
		if err == nil {
			r.fold(&journal.Entry{Envelope: member})
		}
	}
}

// countUnseen counts the entries of a partial log that the reader may not see: gaps
// between positions. Before the first envelope, retention leaves gaps.
func (r *run) countUnseen(e *journal.Entry) {
	seq := e.Envelope.Seq
	if r.last > 0 && seq > r.last+1 {
		r.report.Unseen += int(seq - r.last - 1)
	}
	if !e.State || r.last > 0 {
		r.last = seq
	}
	r.meet(e)
}
