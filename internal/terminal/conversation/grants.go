package conversation

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/kit/termsafe"
	"github.com/meup-protocol/meup/internal/kit/textutil"
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

// grant grants a capability: /grant WHO CAPABILITY [TTL].
func (m *Model) grant(args string) {
	who, rest, _ := strings.Cut(args, " ")
	who = strings.TrimPrefix(who, "@")
	capability, ttl := strings.TrimSpace(rest), time.Duration(0)
	if i := strings.LastIndexByte(capability, ' '); i >= 0 {
		if d, ok := lifetime(capability[i+1:]); ok {
			capability, ttl = strings.TrimSpace(capability[:i]), d
		}
	}
	if !protocol.ValidParticipantID(who) || capability == "" {
		m.printLines(ErrorBlock, "Usage: /grant WHO CAPABILITY [TTL], for example /grant guide mcp.request 10m.")
		return
	}
	raw, err := json.RawMessage(capability), error(nil)
	if !strings.HasPrefix(capability, "{") {
		raw, err = json.Marshal(capability)
	}
	if err != nil || !json.Valid(raw) {
		m.printLines(ErrorBlock, "The capability is not valid JSON.")
		return
	}
	m.ask("Granting", protocol.Envelope{
		// Clients of MEW treat a grant without addressees as a grant to
		// themselves.
		Kind: protocol.KindCapabilityGrant, To: []protocol.ParticipantID{protocol.ParticipantID(who)},
		Payload: encode(grantPayload{
			Recipient: protocol.ParticipantID(who), Capabilities: []json.RawMessage{raw}, TTL: float64(ttl / time.Second),
		}),
	}, nil)
}

// ScopeOf returns the first of some scopes that is offered for an approval; nil: none of them is.
func ScopeOf(offered []api.Scope, ids ...string) *api.Scope {
	for _, id := range ids {
		i := slices.IndexFunc(offered, func(s api.Scope) bool { return s.ID == id })
		if i >= 0 {
			return &offered[i]
		}
	}
	return nil
}

// GrantFor returns the grant that goes with the approval of a proposal, and what it allows in words.
func GrantFor(p *protocol.Envelope, scope *api.Scope, length time.Duration) (grant protocol.Envelope, words string) {
	grant = protocol.Envelope{
		Kind: protocol.KindCapabilityGrant, To: []protocol.ParticipantID{p.From}, Correlation: protocol.CorrelateTo(p.ID),
		Payload: encode(grantPayload{Recipient: p.From, Capabilities: []json.RawMessage{scope.Capability}, TTL: length.Seconds(), Reason: "with the approval of " + string(p.ID)}),
	}
	return grant, fmt.Sprintf("%s needs no approval for this, for %s: %s", termsafe.Words(string(p.From)), textutil.Duration(length), termsafe.Exact(scope.Title))
}

// grantPayload is the payload of a grant or of a revocation.
type grantPayload struct {
	Recipient    protocol.ParticipantID `json:"recipient"`
	Capabilities []json.RawMessage      `json:"capabilities,omitempty"`
	TTL          float64                `json:"ttl_seconds,omitempty"`
	Reason       string                 `json:"reason,omitempty"`
	GrantID      protocol.ID            `json:"grant_id,omitempty"`
}

// encode encodes a payload of strings, numbers and valid JSON.
func encode(payload any) json.RawMessage {
	raw, err := json.Marshal(payload)
	if err != nil {
		return json.RawMessage("{}")
	}
	return raw
}

// lifetime parses a duration such as 90s, 10m, 2h, or a number of seconds.
func lifetime(s string) (time.Duration, bool) {
	if n, err := strconv.Atoi(s); err == nil && n > 0 && n < 1<<30 {
		return time.Duration(n) * time.Second, true
	}
	d, err := time.ParseDuration(s)
	return d, err == nil && d >= time.Second
}

// revoke revokes a grant, or all grants to a participant.
func (m *Model) revoke(who string) {
	who = strings.TrimPrefix(who, "@")
	if who == "" || strings.Contains(who, " ") {
		m.printLines(ErrorBlock, "Usage: /revoke WHO or /revoke GRANT.")
		return
	}
	m.do(ReadGrants{protocol.ParticipantID(who)})
}

// revokeAll revokes the known grants that match the command.
func (m *Model) revokeAll(e GrantsRead) {
	if e.Err != nil {
		m.printLines(ErrorBlock, "Could not read the grants: "+errorText(e.Err))
		return
	}
	active := ActiveGrants(e.Envelopes, string(e.Request.Of), m.GatewayTime())
	for _, g := range active {
		m.ask("Revoking "+string(g.ID), protocol.Envelope{
			Kind: protocol.KindCapabilityRevoke, Payload: encode(grantPayload{Recipient: g.Recipient, GrantID: g.ID}),
		}, nil)
	}
	if len(active) == 0 {
		m.printLines(ErrorBlock, "No active grant matches "+termsafe.Exact(string(e.Request.Of))+".")
	}
}
