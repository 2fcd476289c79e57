package protocol

import "strings"

// Kind is the type of an envelope, in the canonical spelling: the first
// separator is a dot ("reasoning.start"), independent of the sender's spelling.
// Section 2.
type Kind string

// The kinds of section 2. Kinds of other namespaces are routed in the same way.
const (
	KindChat            Kind = "chat"
	KindChatAcknowledge Kind = "chat.acknowledge"
	KindChatCancel      Kind = "chat.cancel"

	KindFeedback Kind = "feedback"

	KindMCPRequest  Kind = "mcp.request"
	KindMCPResponse Kind = "mcp.response"
	KindMCPProposal Kind = "mcp.proposal"
	KindMCPWithdraw Kind = "mcp.withdraw"
	KindMCPReject   Kind = "mcp.reject"
	KindMCPOpinion  Kind = "mcp.opinion"

	KindReasoningStart       Kind = "reasoning.start"
	KindReasoningThought     Kind = "reasoning.thought"
	KindReasoningObservation Kind = "reasoning.observation"
	KindReasoningHypothesis  Kind = "reasoning.hypothesis"
	KindReasoningQuestion    Kind = "reasoning.question"
	KindReasoningConclusion  Kind = "reasoning.conclusion"
	KindReasoningCancel      Kind = "reasoning.cancel"

	KindReviewerPromote Kind = "reviewer.promote"
	KindReviewerDemote  Kind = "reviewer.demote"

	KindPolicyDismiss Kind = "policy.dismiss"
	KindBudgetExtend  Kind = "budget.extend"
	KindClaim         Kind = "claim"
	KindRelease       Kind = "release"

	KindCapabilityGrant    Kind = "capability.grant"
	KindCapabilityRevoke   Kind = "capability.revoke"
	KindCapabilityGrantAck Kind = "capability.grant-ack"

	KindSpaceInvite    Kind = "space.invite"
	KindSpaceInviteAck Kind = "space.invite-ack"
	KindSpaceKick      Kind = "space.kick"

	KindParticipantPause         Kind = "participant.pause"
	KindParticipantResume        Kind = "participant.resume"
	KindParticipantStatus        Kind = "participant.status"
	KindParticipantRequestStatus Kind = "participant.request-status"
	KindParticipantForget        Kind = "participant.forget"
	KindParticipantCompact       Kind = "participant.compact"
	KindParticipantCompactDone   Kind = "participant.compact-done"
	KindParticipantClear         Kind = "participant.clear"
	KindParticipantRestart       Kind = "participant.restart"
	KindParticipantShutdown      Kind = "participant.shutdown"

	KindStreamRequest Kind = "stream.request"
	KindStreamOpen    Kind = "stream.open"
	KindStreamData    Kind = "stream.data"
	KindStreamClose   Kind = "stream.close"

	// Of mew/v0.4: requests by a stream's owner, and the gateway's responses.
	KindStreamGrantWrite   Kind = "stream.grant-write"
	KindStreamRevokeWrite  Kind = "stream.revoke-write"
	KindStreamTransfer     Kind = "stream.transfer-ownership"
	KindStreamWriteGranted Kind = "stream.write-granted"
	KindStreamWriteRevoked Kind = "stream.write-revoked"
	KindStreamTransferred  Kind = "stream.ownership-transferred"

	// Of the administrative space: changes of spaces, participants and tokens.
	KindAdminSpacePut          Kind = "admin.space.put"
	KindAdminSpaceRemove       Kind = "admin.space.remove"
	KindAdminParticipantPut    Kind = "admin.participant.put"
	KindAdminParticipantRemove Kind = "admin.participant.remove"
	KindAdminTokenIssue        Kind = "admin.token.issue"
	KindAdminTokenRevoke       Kind = "admin.token.revoke" //nolint:gosec // a name

	KindSystemWelcome    Kind = "system.welcome"
	KindSystemPresence   Kind = "system.presence"
	KindSystemAck        Kind = "system.ack"
	KindSystemError      Kind = "system.error"
	KindSystemSubscribe  Kind = "system.subscribe"
	KindSystemSubscribed Kind = "system.subscribed"
	KindSystemJoin       Kind = "system.join"
	KindSystemHeartbeat  Kind = "system.heartbeat" // sent by MEW clients
)

// The values of a feedback: the envelope was good, it was not, and the sender takes its
// earlier feedback back.
const (
	FeedbackUp   = "up"
	FeedbackDown = "down"
	FeedbackNone = "none"
)

// The verdicts of an opinion: the reviewer would approve the proposal, would reject it,
// or cannot tell.
const (
	OpinionApprove = "approve"
	OpinionReject  = "reject"
	OpinionAbstain = "abstain"
)

// StreamWithdrawn is the reason of a stream.close that takes back the text of the stream:
// another stream has it from its beginning on, or it is not what it seemed to be.
const StreamWithdrawn = "withdrawn"

// MaxKindBytes bounds the length of a kind.
const MaxKindBytes = 128

// ParseKind checks a kind and converts it to the canonical spelling. It reports
// false for an empty or overlong kind, for characters outside A-Z a-z 0-9 . _ :
// - and the slash, and for an empty namespace or name.
func ParseKind(s string) (Kind, bool) {
	if s == "" || len(s) > MaxKindBytes {
		return "", false
	}
	for i := 0; i < len(s); i++ {
		if !isIDByte(s[i]) && s[i] != '/' {
			return "", false
		}
	}
	k := canonicalSeparator(s)
	if i := strings.IndexByte(k, '.'); i == 0 || i > 0 && i == len(k)-1 {
		return "", false // a separator needs a name on both sides
	}
	return Kind(k), true
}

// readKind is ParseKind for a JSON string. Well-known kinds are not copied.
func readKind(v Value) (Kind, bool) {
	plain, _ := v.Plain()
	if k, ok := wellKnown[string(plain)]; ok {
		return k, true
	}
	return ParseKind(v.Text())
}

// Kinds returns the kinds of section 2 that a participant may send.
func Kinds() []Kind {
	return []Kind{
		KindChat, KindChatAcknowledge, KindChatCancel, KindFeedback,
		KindMCPRequest, KindMCPResponse, KindMCPProposal, KindMCPWithdraw, KindMCPReject, KindMCPOpinion,
		KindReviewerPromote, KindReviewerDemote, KindPolicyDismiss, KindBudgetExtend, KindClaim, KindRelease,
		KindReasoningStart, KindReasoningThought, KindReasoningObservation, KindReasoningHypothesis,
		KindReasoningQuestion, KindReasoningConclusion, KindReasoningCancel,
		KindCapabilityGrant, KindCapabilityRevoke, KindCapabilityGrantAck,
		KindSpaceInvite, KindSpaceKick,
		KindParticipantPause, KindParticipantResume, KindParticipantStatus,
		KindParticipantRequestStatus, KindParticipantForget, KindParticipantCompact,
		KindParticipantCompactDone, KindParticipantClear, KindParticipantRestart, KindParticipantShutdown,
		KindStreamRequest, KindStreamOpen, KindStreamData, KindStreamClose,
		KindStreamGrantWrite, KindStreamRevokeWrite, KindStreamTransfer,
		KindAdminSpacePut, KindAdminSpaceRemove, KindAdminParticipantPut,
		KindAdminParticipantRemove, KindAdminTokenIssue, KindAdminTokenRevoke,
	}
}

// wellKnown has these kinds, in both spellings.
var wellKnown = func() map[string]Kind {
	m := make(map[string]Kind)
	for _, k := range Kinds() {
		m[string(k)], m[k.Slash()] = k, k
	}
	return m
}()

// canonicalSeparator replaces the first '.' or '/' of s by a dot. It returns s
// itself, without a copy, if nothing changes.
func canonicalSeparator(s string) string {
	i := strings.IndexAny(s, "./")
	if i < 0 || s[i] == '.' {
		return s
	}
	return s[:i] + "." + s[i+1:]
}

// Slash returns the kind with a slash as its first separator, the spelling of
// the dialects meup/v0.2 and mew/v0.4.
func (k Kind) Slash() string {
	s := string(k)
	if i := strings.IndexByte(s, '.'); i >= 0 {
		return s[:i] + "/" + s[i+1:]
	}
	return s
}

// Split returns the kind's namespace and name: "mcp" and "request". The name
// of a kind without a separator is empty.
func (k Kind) Split() (namespace, name string) {
	namespace, name, _ = strings.Cut(string(k), ".")
	return namespace, name
}

// IsWork reports whether the kind requests an action or responds to such a
// request; every participant's filter passes these kinds (section 6).
func (k Kind) IsWork() bool {
	switch k {
	case KindMCPRequest, KindMCPResponse, KindMCPProposal, KindMCPWithdraw, KindMCPReject:
		return true
	}
	return false
}

// IsReasoning reports whether the kind is in the reasoning namespace.
func (k Kind) IsReasoning() bool { return strings.HasPrefix(string(k), "reasoning.") }

// IsStep reports whether the kind is a step of reasoning: any reasoning kind
// except start, conclusion and cancel (section 7).
func (k Kind) IsStep() bool {
	return k.IsReasoning() && k != KindReasoningStart && k != KindReasoningConclusion && k != KindReasoningCancel
}

// ClosesContext reports whether the kind closes the context of its envelope.
func (k Kind) ClosesContext() bool {
	return k == KindReasoningConclusion || k == KindReasoningCancel
}

// NeedsCorrelation reports whether section 2 requires a correlationId.
func (k Kind) NeedsCorrelation() bool {
	switch k {
	case KindChatAcknowledge, KindChatCancel, KindFeedback, KindMCPResponse, KindMCPWithdraw, KindMCPReject, KindMCPOpinion:
		return true
	}
	return false
}

// IsReserved reports whether only the gateway may send the kind, in any upper
// or lower case.
func (k Kind) IsReserved() bool {
	namespace, _, _ := strings.Cut(string(k), ".")
	if strings.EqualFold(namespace, "system") {
		return true
	}
	for _, reserved := range []Kind{KindSpaceInviteAck, KindStreamWriteGranted, KindStreamWriteRevoked, KindStreamTransferred} {
		if strings.EqualFold(string(k), string(reserved)) {
			return true
		}
	}
	return false
}

// IsLive reports whether the kind is delivered only to connected members and
// not stored.
func (k Kind) IsLive() bool { return k == KindStreamData || k == KindSystemPresence }

// ChangesState reports whether the kind belongs to the state of the space: it takes
// effect before any later envelope, and retention keeps it. All but a dismissal change
// who may do what.
func (k Kind) ChangesState() bool {
	switch k {
	case KindCapabilityGrant, KindCapabilityRevoke, KindSpaceInvite, KindSpaceKick,
		KindParticipantPause, KindParticipantResume, KindReviewerPromote, KindReviewerDemote, KindPolicyDismiss, KindBudgetExtend,
		KindClaim, KindRelease:
		return true
	}
	return k.IsAdministrative()
}

// IsAdministrative reports whether the kind changes spaces, participants or
// tokens. Only the administrative space accepts it.
func (k Kind) IsAdministrative() bool {
	switch k {
	case KindAdminSpacePut, KindAdminSpaceRemove, KindAdminParticipantPut,
		KindAdminParticipantRemove, KindAdminTokenIssue, KindAdminTokenRevoke:
		return true
	}
	return false
}
