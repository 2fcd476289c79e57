package gateway

import "github.com/meup-protocol/meup/protocol"

// kinds are the kinds of the protocol; a test checks that they are complete.
var kinds = text(
	protocol.KindChat, protocol.KindChatAcknowledge, protocol.KindChatCancel, protocol.KindFeedback,
	protocol.KindMCPRequest, protocol.KindMCPResponse, protocol.KindMCPProposal,
	protocol.KindMCPWithdraw, protocol.KindMCPReject,
	protocol.KindReasoningStart, protocol.KindReasoningThought, protocol.KindReasoningObservation,
	protocol.KindReasoningHypothesis, protocol.KindReasoningQuestion,
	protocol.KindReasoningConclusion, protocol.KindReasoningCancel,
	protocol.KindCapabilityGrant, protocol.KindCapabilityRevoke, protocol.KindCapabilityGrantAck,
	protocol.KindSpaceInvite, protocol.KindSpaceInviteAck, protocol.KindSpaceKick,
	protocol.KindAdminSpacePut, protocol.KindAdminSpaceRemove, protocol.KindAdminParticipantPut,
	protocol.KindAdminParticipantRemove, protocol.KindAdminTokenIssue, protocol.KindAdminTokenRevoke,
	protocol.KindParticipantPause, protocol.KindParticipantResume, protocol.KindParticipantStatus,
	protocol.KindParticipantRequestStatus, protocol.KindParticipantForget, protocol.KindParticipantCompact,
	protocol.KindParticipantCompactDone, protocol.KindParticipantClear, protocol.KindParticipantRestart,
	protocol.KindParticipantShutdown,
	protocol.KindStreamRequest, protocol.KindStreamOpen, protocol.KindStreamData, protocol.KindStreamClose,
	protocol.KindStreamGrantWrite, protocol.KindStreamRevokeWrite, protocol.KindStreamTransfer,
	protocol.KindStreamWriteGranted, protocol.KindStreamWriteRevoked, protocol.KindStreamTransferred,
	protocol.KindSystemWelcome, protocol.KindSystemPresence, protocol.KindSystemAck, protocol.KindSystemError,
	protocol.KindSystemSubscribe, protocol.KindSystemSubscribed, protocol.KindSystemHeartbeat, protocol.KindSystemJoin,
)

// codes are the codes of sections 4 and 5; a test checks that they are
// complete.
var codes = text(
	protocol.CodeInvalidJSON, protocol.CodeInvalidEnvelope, protocol.CodeInvalidPayload,
	protocol.CodeMessageTooLarge, protocol.CodeUnsupportedProtocol, protocol.CodeInvalidContext,
	protocol.CodeIdentityMismatch, protocol.CodeReservedKind, protocol.CodeUnknownParticipant,
	protocol.CodeDuplicateID, protocol.CodeCapabilityViolation, protocol.CodeRateLimited,
	protocol.CodeCannotDelegate, protocol.CodeNotProposer, protocol.CodePaused,
	protocol.CodeOutcomeUnknown, protocol.CodeProposalMismatch, protocol.CodeProposalSettled,
	protocol.CodeCursorExpired, protocol.CodeUnavailable,
	protocol.CodeUnauthorizedStreamWrite, protocol.CodeStreamNotFound, protocol.CodeTargetNotFound,
	protocol.CodeParticipantNotFound, protocol.CodeInvalidOperation,
	protocol.CodeBadRequest, protocol.CodeUnauthorized, protocol.CodeForbidden, protocol.CodeKicked,
	protocol.CodeNotFound, protocol.CodeNotAllowed, protocol.CodeTooMany, protocol.CodeShuttingDown, protocol.CodeInternal,
)

func text[S ~string](list ...S) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = string(s)
	}
	return out
}
