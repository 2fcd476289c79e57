package space

import (
	"context"
	"encoding/hex"
	"errors"
	"strings"
	"time"

	"github.com/meup-protocol/meup/internal/capability"
	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/protocol"
)

// authorize checks an envelope against the current state of the space and records
// the Seq of that state in the draft. When the log has a later state entry at the
// time of the append, the journal rejects the draft as stale and it is authorized
// again.
func (b *batch) authorize(ctx context.Context, p *Pending) *protocol.Error {
	st := b.space.state.Load()
	p.draft.CheckedAtStateSeq = st.seq
	e := &p.In.Envelope
	if !b.allowed(ctx, st, p) {
		return b.violation(st, e.Kind)
	}
	if st.isKicked(b.from.ID) {
		return protocol.Errorf(protocol.CodeKicked, "You were removed from this space and have to be invited again.")
	}
	if st.paused(b.from.ID, b.now) && !passesPause(e.Kind) {
		return protocol.Errorf(protocol.CodePaused, "You are paused; until you are resumed you can send participant.status, mcp.response, chat.acknowledge and cancellations alone.")
	}
	if err := b.checkStream(p); err != nil {
		return err
	}
	switch e.Kind {
	case protocol.KindReasoningStart:
		return b.checkStart(p)
	case protocol.KindMCPRequest, protocol.KindMCPReject, protocol.KindMCPWithdraw:
		return b.checkDecision(st, p)
	case protocol.KindCapabilityGrant:
		return b.checkGrant(st, p)
	case protocol.KindCapabilityRevoke:
		return b.checkRevoke(st, p)
	case protocol.KindSpaceInvite:
		return b.checkInvite(st, p)
	case protocol.KindSpaceKick:
		return b.checkKnown(participantIn(p.In.Payload, "participant_id"))
	}
	return nil
}

// passesPause reports whether a paused participant may send the kind.
func passesPause(k protocol.Kind) bool {
	switch k {
	case protocol.KindParticipantStatus, protocol.KindMCPResponse, protocol.KindChatAcknowledge:
		return true
	}
	_, name := k.Split()
	return name == "cancel"
}

// request returns the envelope in the form that capabilities match.
func (p *Pending) request() *capability.Request {
	e := &p.In.Envelope
	return &capability.Request{Kind: e.Kind, Payload: p.In.Payload, To: e.To, Context: e.Context}
}

// allowed reports whether the sender's capabilities allow the envelope. Unless a
// deny rule matches, three more cases are allowed: the capability decide covers
// the decision on a proposal, and clients of MEW may answer a request that
// another participant addressed to them or to all, and write into streams whose
// owner permits it (section 9).
func (b *batch) allowed(ctx context.Context, st *State, p *Pending) bool {
	rights := st.ledger.Effective(b.from.ID, b.now)
	d := rights.Decide(p.request())
	if d.Allowed || d.By != nil && d.By.Deny() {
		return d.Allowed
	}
	return b.grantsDecision(rights, p) || b.allowedForMEW(ctx, p)
}

func (b *batch) allowedForMEW(ctx context.Context, p *Pending) bool {
	e := &p.In.Envelope
	if b.from.Dialect == protocol.DialectMEW04 && e.Kind == protocol.KindStreamData {
		return true // checkStream checks the writers of the stream
	}
	if b.from.Dialect != protocol.DialectMEW04 || e.Kind != protocol.KindMCPResponse {
		return false
	}
	for _, id := range e.Correlation.IDs {
		x, err := b.parent(ctx, id)
		if err != nil || x.envelope.Kind != protocol.KindMCPRequest || x.envelope.From == b.from.ID || len(x.envelope.To) > 0 && !x.envelope.AddressedTo(b.from.ID) {
			return false
		}
	}
	return true
}

func (b *batch) violation(st *State, kind protocol.Kind) *protocol.Error {
	err := protocol.Errorf(protocol.CodeCapabilityViolation, "Your capabilities do not allow this %s.", b.from.Dialect.SpellKind(kind))
	if b.from.Observe {
		err.Message = "This connection observes; it may send system.subscribe alone."
	}
	err.AttemptedKind = b.from.Dialect.SpellKind(kind)
	err.YourCapabilities = st.capabilitiesOf(b.from.ID, b.from.Dialect, b.now)
	return err
}

// checkStart checks the context that a reasoning.start opens against the limits
// of contexts.
func (b *batch) checkStart(p *Pending) *protocol.Error {
	limits := b.space.settings(b.from.ID).Limits
	depth := limits.ContextDepth
	if depth <= 0 {
		depth = protocol.DefaultContextDepth
	}
	path, _ := p.draft.Envelope.Opens()
	if _, ok := protocol.ParseContextPath(string(path), depth); !ok {
		return protocol.Errorf(protocol.CodeInvalidContext, "The context %s would be deeper than %d segments or longer than %d bytes.", path, depth, protocol.MaxContextBytes)
	}
	open := b.space.contexts.openOf(b.from.ID) + b.starting()
	if limits.OpenContexts > 0 && open >= limits.OpenContexts {
		err := protocol.Errorf(protocol.CodeRateLimited, "You have %d contexts open; conclude or cancel one first.", open)
		err.Limit, err.RetryAfterMS = "open_contexts", 1000
		return err
	}
	return nil
}

// starting returns how many contexts the pending envelopes will open.
func (b *batch) starting() int {
	n := 0
	for _, p := range b.waiting {
		if p.In.Envelope.Kind == protocol.KindReasoningStart {
			n++
		}
	}
	return n
}

func (b *batch) checkKnown(id protocol.ParticipantID) *protocol.Error {
	if b.space.IsKnown(id) {
		return nil
	}
	return protocol.Errorf(protocol.CodeUnknownParticipant, "This space knows no participant %q.", id)
}

func (b *batch) checkGrant(st *State, p *Pending) *protocol.Error {
	e := &p.draft.Envelope
	g, err := capability.ReadGrant(e.ID, e.From, p.In.Payload, e.TS)
	if err != nil {
		return inPayload(err)
	}
	if err := b.checkKnown(g.Recipient); err != nil {
		return err
	}
	return st.ledger.CheckGrant(g)
}

func (b *batch) checkRevoke(st *State, p *Pending) *protocol.Error {
	r, err := capability.ReadRevocation(p.In.Payload, p.draft.Envelope.TS)
	if err != nil {
		return inPayload(err)
	}
	if err := b.checkKnown(r.Recipient); err != nil {
		return err
	}
	return inPayload(st.ledger.CheckRevocation(r))
}

// checkInvite creates the invitation's token. Only its hash is stored.
func (b *batch) checkInvite(st *State, p *Pending) *protocol.Error {
	e := &p.draft.Envelope
	g, err := capability.ReadInvite(e.ID, e.From, p.In.Payload, e.TS)
	if err != nil {
		return inPayload(err)
	}
	if g.Recipient.IsReserved() {
		return &protocol.Error{Code: protocol.CodeInvalidPayload, Path: "/payload/participant_id", Detail: "system: is the gateway's",
			Message: "Ids that begin with system: are the gateway's own; choose another one."}
	}
	if err := st.ledger.CheckGrant(g); err != nil {
		return err
	}
	if err := b.checkIdentityGiven(st, g); err != nil {
		return err
	}
	p.Invite = &protocol.InviteAck{ParticipantID: g.Recipient}
	if st.member(g.Recipient).origin == originGuest {
		return nil // its token is from the issuer
	}
	token, hash := b.space.hub.services.NewToken()
	p.tokenHash = []byte(hex.EncodeToString(hash[:]))
	p.draft.Private = p.note()
	p.Invite.Token = token
	if !g.ExpiresAt.IsZero() {
		p.Invite.ExpiresAt = g.ExpiresAt.Format(time.RFC3339)
	}
	return nil
}

// checkIdentityGiven checks an invitation against the identity that its token
// gives to the bearer. The inviter must be able to delegate everything that the
// participant holds, and must not take over an identity with another owner.
func (b *batch) checkIdentityGiven(st *State, g capability.Grant) *protocol.Error {
	id := g.Recipient
	_, configured := b.space.config().Participants[id]
	m := st.member(id)
	switch {
	case configured && !st.isKicked(id):
		return protocol.Errorf(protocol.CodeCannotDelegate, "%s is a participant already and has a token; grant capabilities instead.", id)
	case configured:
	case m.origin == originGuest && !st.isKicked(id):
		return protocol.Errorf(protocol.CodeCannotDelegate, "%s is a participant already and has a token of the issuer; grant capabilities instead.", id)
	case m.origin == originInvited && m.inviter != b.from.ID && !st.observes(b.from.ID, b.now):
		return protocol.Errorf(protocol.CodeCannotDelegate, "%s was invited by %s; only %s or a participant with the capability observe can invite it again.", id, m.inviter, m.inviter)
	case m.origin == 0 && b.space.config().Guests != nil && !strings.HasPrefix(string(id), protocol.InvitedPrefix):
		return &protocol.Error{Code: protocol.CodeInvalidPayload, Path: "/payload/participant_id", Detail: "it must begin with " + protocol.InvitedPrefix,
			Message: "In this space other names belong to users of its token issuer; choose an id that begins with " + protocol.InvitedPrefix + "."}
	case m.origin == 0:
		return nil
	}
	g.Capabilities = st.ledger.Effective(id, b.now).Capabilities()
	return st.ledger.CheckGrant(g)
}

// inPayload completes the JSON pointer of an error in a payload.
func inPayload(err *protocol.Error) *protocol.Error {
	if err != nil && err.Code == protocol.CodeInvalidPayload {
		err.Path = "/payload" + err.Path
	}
	return err
}

// admitGuest records a participant that the configuration does not name, so that
// every gateway accepts it as an addressee while it is disconnected.
func (s *Space) admitGuest(ctx context.Context, id protocol.ParticipantID) *protocol.Error {
	if s.IsKnown(id) {
		return nil
	}
	e, err := protocol.FromGateway(s.hub.newID(), KindSystemMember, s.now(), map[string]any{"participant_id": id})
	if err == nil {
		err = s.record(ctx, journal.Draft{Envelope: e, State: true, Hidden: true})
	}
	if err != nil {
		s.log.Warn("note a guest", "participant", id, "error", err)
		return protocol.Errorf(protocol.CodeUnavailable, "The log of the space cannot take anything now; try again.")
	}
	return nil
}

// record appends drafts of the gateway itself, in order, one burst at a time.
func (s *Space) record(ctx context.Context, drafts ...journal.Draft) error {
	for len(drafts) > 0 {
		burst := drafts[:min(len(drafts), deliveryEntries)]
		basis := s.state.Load().seq
		for i := range burst {
			burst[i].CheckedAtStateSeq = basis
		}
		for _, r := range s.journal().Append(ctx, s.name, burst) {
			if errors.Is(r.Err, journal.ErrStale) && !s.retired.Load() && ctx.Err() == nil {
				break // the rest is stale too: check against the current state
			}
			if r.Err != nil {
				return r.Err
			}
			drafts = drafts[1:]
		}
	}
	return nil
}
