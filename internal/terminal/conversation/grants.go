package conversation

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/protocol"
)

// GrantLog reads the log of a space, as api.Client does.
type GrantLog interface {
	Envelopes(ctx context.Context, space string, q api.EnvelopeQuery) (*api.Envelopes, error)
}

// Grant is a grant that has neither been revoked nor ended.
type Grant struct {
	ID        protocol.ID
	Recipient protocol.ParticipantID
}

// FetchGrants returns the newest grants and revocations of a space, newest first.
func FetchGrants(ctx context.Context, log GrantLog, space string) ([]protocol.Envelope, error) {
	kinds := []string{string(protocol.KindCapabilityGrant), string(protocol.KindCapabilityRevoke)}
	page, err := log.Envelopes(ctx, space, api.EnvelopeQuery{Kinds: kinds, Limit: 1000, Descending: true})
	if err != nil {
		return nil, err
	}
	return page.Envelopes, nil
}

// ActiveGrants returns the active grants to a participant, or the one with this id ("": all), of
// the envelopes that FetchGrants returned.
func ActiveGrants(list []protocol.Envelope, of string, now time.Time) (active []Grant) {
	gone := make(map[protocol.ID]bool)
	for i := range list { // newest first: a revocation comes before its grant
		e := &list[i]
		var p struct {
			Recipient protocol.ParticipantID `json:"recipient"`
			GrantID   protocol.ID            `json:"grant_id"`
			TTL       float64                `json:"ttl_seconds"`
		}
		_ = json.Unmarshal(e.Payload, &p) // the gateway has checked it
		if e.Kind == protocol.KindCapabilityRevoke {
			gone[p.GrantID] = true
			continue
		}
		over := p.TTL > 0 && now.After(e.TS.Add(time.Duration(p.TTL*float64(time.Second))))
		if !gone[e.ID] && !over && (of == "" || string(p.Recipient) == of || string(e.ID) == of) {
			active = append(active, Grant{e.ID, p.Recipient})
		}
	}
	return active
}

// GrantReceived reports whether a grant to the participant, or a revocation, is in the list.
func GrantReceived(list []protocol.Envelope, who protocol.ParticipantID) bool {
	return slices.ContainsFunc(list, func(e protocol.Envelope) bool {
		return protocol.ParticipantIn(e.ParsePayload(), "recipient") == who
	})
}

// InvitedBy returns the newest invitation of a participant; nil: there is none, or it was
// kicked since.
func InvitedBy(ctx context.Context, log GrantLog, space string, who protocol.ParticipantID) (*protocol.Envelope, error) {
	kinds := []string{string(protocol.KindSpaceInvite), string(protocol.KindSpaceKick)}
	page, err := log.Envelopes(ctx, space, api.EnvelopeQuery{Kinds: kinds, Limit: 1000, Descending: true})
	if err != nil {
		return nil, err
	}
	for i := range page.Envelopes {
		e := &page.Envelopes[i]
		if protocol.ParticipantIn(e.ParsePayload(), "participant_id") != who {
			continue
		}
		if e.Kind == protocol.KindSpaceInvite {
			return e, nil
		}
		break
	}
	return nil, nil //nolint:nilnil // documented
}
