package authority

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/meup-protocol/meup/internal/capability"
	"github.com/meup-protocol/meup/protocol"
)

// The checks apply to one state: the journal rejects an envelope that was checked
// against an outdated one.

// CheckGrant checks a capability.grant. The errors of all checks have the codes of
// section 5.
func (st *State) CheckGrant(e *protocol.Envelope, payload protocol.Value) error {
	g, err := capability.ReadGrant(e.ID, e.From, payload, e.TS)
	if err != nil {
		return inPayload(err)
	}
	if err := st.checkKnown(g.Recipient); err != nil {
		return err
	}
	return st.Ledger.CheckGrant(g)
}

// CheckRevoke checks a capability.revoke.
func (st *State) CheckRevoke(e *protocol.Envelope, payload protocol.Value) error {
	r, err := capability.ReadRevocation(payload, e.TS)
	if err != nil {
		return inPayload(err)
	}
	if err := st.checkKnown(r.Recipient); err != nil {
		return err
	}
	return inPayload(st.Ledger.CheckRevocation(r))
}

// CheckDismissal checks a policy.dismiss.
func CheckDismissal(payload protocol.Value) error {
	_, err := capability.ReadList(payload, "capabilities")
	return inPayload(err)
}

// CheckKick checks a space.kick.
func (st *State) CheckKick(payload protocol.Value) error {
	return st.checkKnown(protocol.ParticipantIn(payload, "participant_id"))
}

// CheckModeChange checks a promotion or a demotion of a reviewer, without the proof that a
// promotion needs.
func (st *State) CheckModeChange(e *protocol.Envelope, payload protocol.Value) error {
	id, d := protocol.ParticipantIn(payload, "participant_id"), &st.Config.Deciders
	if st.reviewer(id) == nil {
		return &protocol.Error{Code: protocol.CodeInvalidPayload, Path: "/payload/participant_id", Detail: "it is no reviewer",
			Message: fmt.Sprintf("%s is no reviewer of this space; the configuration names its reviewers.", id)}
	}
	if !st.isOfPeople(e.From) {
		return protocol.Errorf(protocol.CodeCapabilityViolation, "Only people who decide here promote and demote reviewers: %s.", d.who(e.TS, e.TS))
	}
	return nil
}

// CheckReviewer rejects envelopes of reviewers that change the state: a reviewer must not change
// what it judges by, nor its own rights.
func (st *State) CheckReviewer(e *protocol.Envelope) error {
	if e.Kind.ChangesState() && st.Config.Deciders.Reviewer(e.From) != nil {
		return protocol.Errorf(protocol.CodeCapabilityViolation, "You are a reviewer, and reviewers send no %s; ask a person to send it.", e.Kind)
	}
	return nil
}

// CheckKind rejects administrative kinds outside of the administrative space, and
// misspelled ones in it.
func (st *State) CheckKind(k protocol.Kind) error {
	namespace, _ := k.Split()
	switch {
	case k.IsAdministrative() && st.Config.Administers == nil:
		return protocol.Errorf(protocol.CodeReservedKind, "Only the administrative space of the gateway accepts %s.", k)
	case !k.IsAdministrative() && namespace == "admin" && st.Config.Administers != nil:
		return protocol.Errorf(protocol.CodeReservedKind, "There is no administrative kind %s.", k)
	}
	return nil
}

// CheckChange checks an administrative envelope.
func (st *State) CheckChange(e *protocol.Envelope, payload protocol.Value) error {
	if len(e.To) > 0 {
		return &protocol.Error{Code: protocol.CodeInvalidEnvelope, Path: "/to", Detail: "expected no recipients",
			Message: "All participants of the administrative space see every change; leave the field to out."}
	}
	if st.Config.Administers == nil { // a reload has changed it since CheckKind
		return st.CheckKind(e.Kind)
	}
	change, err := ReadDirectoryChange(e, payload)
	if err == nil {
		made := st.Directory.Space(change.Space)
		err = st.Config.Administers(change, made != nil && made.Made)
	}
	if err == nil {
		_, err = st.Directory.Apply(change)
	}
	if err == nil {
		err = st.checkIdentityTaken(e, &change)
	}
	return inPayload(err)
}

// checkIdentityTaken rejects a token for a participant, and new capabilities of it, if
// the sender may not give it the capabilities that it has in the directory and in its
// space: a bearer of the token acts with all of them, and one who may lower them first
// would act under its name.
func (st *State) checkIdentityTaken(e *protocol.Envelope, c *DirectoryChange) error {
	if c.Kind != protocol.KindAdminTokenIssue && c.Kind != protocol.KindAdminParticipantPut {
		return nil
	}
	put := map[string]any{"space": c.Space, "participant_id": c.Participant, "capabilities": []string{"*"}}
	if all, err := st.mayPut(e, put); all || err != nil { // it can give everything
		return err
	}
	list, err := st.Config.Held(c.Space, c.Participant)
	if err != nil {
		return protocol.Errorf(protocol.CodeUnavailable, "What %s may do in %s cannot be read now.", c.Participant, c.Space)
	}
	if p := st.Directory.Space(c.Space).Participant(c.Participant); p != nil {
		for _, has := range p.Capabilities {
			list = append(list, json.RawMessage(has.String()))
		}
		put["limits"] = p.Limits
	}
	if len(list) == 0 {
		return nil
	}
	put["capabilities"] = list
	if allowed, err := st.mayPut(e, put); allowed || err != nil {
		return err
	}
	return protocol.Errorf(protocol.CodeCannotDelegate, "%s in %s has capabilities that you may not give: your own would have to allow an %s with all of them.",
		c.Participant, c.Space, protocol.KindAdminParticipantPut)
}

// mayPut reports whether the sender of an envelope may send an admin.participant.put.
func (st *State) mayPut(e *protocol.Envelope, put map[string]any) (bool, error) {
	payload, err := json.Marshal(put)
	if err != nil {
		return false, fmt.Errorf("encode %s: %w", protocol.KindAdminParticipantPut, err)
	}
	allowed, _ := st.Rights(e.From, &protocol.Envelope{Kind: protocol.KindAdminParticipantPut, Payload: payload}, e.TS)
	return allowed, nil
}

func (st *State) checkKnown(id protocol.ParticipantID) error {
	if st.IsKnown(id) {
		return nil
	}
	return protocol.Errorf(protocol.CodeUnknownParticipant, "This space knows no participant %q.", id)
}

// CheckInvite checks a space.invite. hasToken: the invitation gives a token to its
// bearer, unlike one that readmits a guest, who has a token of the issuer.
func (st *State) CheckInvite(e *protocol.Envelope, payload protocol.Value) (g capability.Grant, hasToken bool, err error) {
	g, err = capability.ReadInvite(e.ID, e.From, payload, e.TS)
	if err != nil {
		return g, false, inPayload(err)
	}
	if g.Recipient.IsReserved() {
		return g, false, &protocol.Error{Code: protocol.CodeInvalidPayload, Path: "/payload/participant_id", Detail: "system: is the gateway's",
			Message: "Ids that begin with system: are the gateway's own; choose another one."}
	}
	if err := st.Ledger.CheckGrant(g); err != nil {
		return g, false, err
	}
	if err := st.checkIdentityGiven(g); err != nil {
		return g, false, err
	}
	return g, st.Member(g.Recipient).Origin != guest, nil
}

// checkIdentityGiven checks an invitation against the identity that its token
// gives to the bearer. The inviter must be able to delegate everything that the
// participant holds, and must not take over an identity with another owner.
func (st *State) checkIdentityGiven(g capability.Grant) error {
	id := g.Recipient
	_, configured := st.Config.Participants[id]
	m := st.Member(id)
	switch {
	case configured && !st.IsKicked(id):
		return protocol.Errorf(protocol.CodeCannotDelegate, "%s is a participant already and has a token; grant capabilities instead.", id)
	case configured:
	case m.Origin == guest && !st.IsKicked(id):
		return protocol.Errorf(protocol.CodeCannotDelegate, "%s is a participant already and has a token of the issuer; grant capabilities instead.", id)
	case m.Origin == invited && m.Inviter != g.Grantor && !st.Observes(g.Grantor, g.At):
		return protocol.Errorf(protocol.CodeCannotDelegate, "%s was invited by %s; only %s or a participant with the capability observe can invite it again.", id, m.Inviter, m.Inviter)
	case m.Origin == 0 && st.Config.Guests != nil && !strings.HasPrefix(string(id), protocol.InvitedPrefix):
		return &protocol.Error{Code: protocol.CodeInvalidPayload, Path: "/payload/participant_id", Detail: "it must begin with " + protocol.InvitedPrefix,
			Message: "In this space other names belong to users of its token issuer; choose an id that begins with " + protocol.InvitedPrefix + "."}
	case m.Origin == 0 && !st.Ledger.HasGrants(id): // else they were made while it was configured
		return nil
	}
	g.Capabilities = st.Ledger.Effective(id, g.At).Capabilities()
	return st.Ledger.CheckGrant(g)
}

// inPayload completes the JSON pointer of an error in a payload.
func inPayload(err error) error {
	var refused *protocol.Error
	if errors.As(err, &refused) && refused.Code == protocol.CodeInvalidPayload {
		refused.Path = "/payload" + refused.Path
	}
	return err
}
