"""Types of the payloads. Written by generate.py from schemas/: do not edit.

Unless a description says otherwise, a payload may have more fields.
"""

from __future__ import annotations

from typing import Any, Literal, Required, TypedDict, Union


class AdminParticipantPutLimits(TypedDict, total=False):
    """limits that override those of the level above: rate, burst, bytes_per_second, message_bytes, connections,
    open_contexts, context_depth; 0 is no limit"""

    # envelopes per second
    rate: float
    # envelopes at once
    burst: int
    # bytes of admitted envelopes per second
    bytes_per_second: int
    # bytes of one frame
    message_bytes: int
    # connections at the same time
    connections: int
    # contexts that are opened and not closed
    open_contexts: int
    # segments of a context path
    context_depth: int


class AdminParticipantPut(TypedDict, total=False):
    """Adds a participant to a space, or replaces its capabilities and limits. Its tokens stay. Only the
    administrative space accepts it."""

    # the name of a space, without stars
    space: Required[str]
    # the id of the participant; it does not begin with system:
    participant_id: Required[str]
    # true: rejected if it exists
    if_absent: bool
    # a list of what the participant may send
    capabilities: list[Union[str, dict[str, Any]]]
    # limits that override those of the level above: rate, burst, bytes_per_second, message_bytes, connections,
    # open_contexts, context_depth; 0 is no limit
    limits: AdminParticipantPutLimits


class AdminParticipantRemove(TypedDict, total=False):
    """Removes a participant that administration has added, with its tokens. Only the administrative space accepts
    it."""

    # the name of a space, without stars
    space: Required[str]
    # the id of the participant; it does not begin with system:
    participant_id: Required[str]


class AdminSpacePutLimits(TypedDict, total=False):
    """limits that override those of the level above: rate, burst, bytes_per_second, message_bytes, connections,
    open_contexts, context_depth; 0 is no limit"""

    # envelopes per second
    rate: float
    # envelopes at once
    burst: int
    # bytes of admitted envelopes per second
    bytes_per_second: int
    # bytes of one frame
    message_bytes: int
    # connections at the same time
    connections: int
    # contexts that are opened and not closed
    open_contexts: int
    # segments of a context path
    context_depth: int


class AdminSpacePut(TypedDict, total=False):
    """Makes a space, or replaces its settings. Its participants stay. Only the administrative space accepts it."""

    # the name of a space, without stars
    space: Required[str]
    # true: rejected if it exists
    if_absent: bool
    # the dialect of connections that name none
    dialect: Literal["meup/v0.1", "meup/v0.2", "mew/v0.4", "mew/v0.3"]
    # who sees an envelope with `to`
    visibility: Literal["addressed", "everyone"]
    # who may decide on proposals
    decide: Literal["callers", "explicit"]
    # limits that override those of the level above: rate, burst, bytes_per_second, message_bytes, connections,
    # open_contexts, context_depth; 0 is no limit
    limits: AdminSpacePutLimits


class AdminSpaceRemove(TypedDict, total=False):
    """Removes a space that administration has made, with its participants and tokens. Its log stays. Only the
    administrative space accepts it."""

    # the name of a space, without stars
    space: Required[str]


class AdminTokenIssue(TypedDict, total=False):
    """Accepts a token for a participant that administration has added. The id of the envelope is the token's id.
    Only the administrative space accepts it."""

    # the name of a space, without stars
    space: Required[str]
    # the id of the participant; it does not begin with system:
    participant_id: Required[str]
    # the SHA-256 of the token: 64 hex digits
    token_sha256: Required[str]
    # after how many seconds the token expires; a number greater than 0
    ttl_seconds: float
    # after how many seconds the other tokens of the participant expire; without it they stay
    overlap_seconds: float


class AdminTokenRevoke(TypedDict, total=False):
    """Ends a token, or with all: true every token of a participant. Only the administrative space accepts it."""

    # the name of a space, without stars
    space: Required[str]
    # the id of the participant; it does not begin with system:
    participant_id: Required[str]
    # the id of the token
    token_id: str
    # true: every token
    all: bool


class BudgetExtend(TypedDict, total=False):
    """For the rest of the day by UTC, a budget is larger by these amounts."""

    # whose budget; absent: that of the space
    participant_id: str
    tokens: int
    calls: int
    cost: float
    # of the cost, and of the budget: three capital letters
    currency: str
    # why, for people to read
    reason: str


class CapabilityGrantAck(TypedDict, total=False):
    """The recipient has seen the grant named in correlationId."""

    # what became of the grant, such as accepted
    status: str


class CapabilityGrant(TypedDict, total=False):
    """Gives capabilities to a participant. One cannot grant what one does not hold. The envelope's id is the
    grant_id."""

    # the id of the participant who gets the capabilities
    recipient: Required[str]
    # a list of at least one capability
    capabilities: Required[list[Union[str, dict[str, Any]]]]
    # why, for people to read
    reason: str
    # after how many seconds the grant ends by itself; a number greater than 0
    ttl_seconds: float


class CapabilityRevoke(TypedDict, total=False):
    """Takes back one grant, or all capabilities that match."""

    # the id of the participant who loses the capabilities
    recipient: Required[str]
    # the id of the grant's envelope
    grant_id: str
    # a list of at least one capability
    capabilities: list[Union[str, dict[str, Any]]]
    # why, for people to read
    reason: str


class ChatAcknowledge(TypedDict, total=False):
    """The chat named in correlationId has been seen and needs nobody else."""

    # why, for people to read
    reason: str


class ChatCancel(TypedDict, total=False):
    """The chat named in correlationId needs no answer any more."""

    # why, for people to read
    reason: str


class Chat(TypedDict, total=False):
    """Something said to everybody, or to those named in `to`."""

    # the text that is said
    message: str
    # the text that is said; another name for message
    text: str
    # the session of the thread that this chat begins: an id that the sender chooses; any other value names none
    session_id: Any
    # how to show the text: plain (the default) or markdown
    format: Literal["plain", "markdown"]


class Claim(TypedDict, total=False):
    """The sender works on these files, folders or other things, and nobody else should until it releases them."""

    # absolute paths of files, or of folders with everything in them
    paths: list[str]
    # names of other things, as the participants agree on them
    names: list[str]
    # a number of seconds above 0; 600 if absent, and at most 86400
    ttl_seconds: float
    # why, for people to read; at most 512 characters
    reason: str


class Feedback(TypedDict, total=False):
    """What the sender thinks of the envelope named in correlationId: an answer, a step of reasoning, or a call. Of
    several by one participant about one envelope, the last one counts."""

    # up: it was good; down: it was not; none: the earlier feedback of the sender no longer counts
    value: Required[Literal["up", "down", "none"]]
    # why, for people to read; at most 2,048 characters
    note: str


class McpOpinion(TypedDict, total=False):
    """What a reviewer says of the proposal named in correlationId. It decides nothing."""

    # approve: the call can be made; reject: it should not be; abstain: the reviewer cannot tell
    verdict: Required[Literal["approve", "reject", "abstain"]]
    # the digest of the call that was judged: the SHA-256 of its method and parameters, in hex
    call: Required[str]
    # the grounds, for people to read; at most 2,048 characters
    reason: str


class McpProposal(TypedDict, total=False):
    """A request that its sender may not make itself. Whoever may fulfils it with an mcp.request that names it in
    correlationId."""

    # the name of an MCP method, such as tools/call
    method: Required[str]
    # the method's parameters, an object or an array
    params: Union[dict[str, Any], list[Any]]
    # an id of the proposer's own
    id: Union[str, float]
    # the participant that runs the tool
    participant_id: str
    # a time of RFC 3339 from which the call can no longer be made
    expires_at: str


class McpReject(TypedDict, total=False):
    """The proposal named in correlationId will not be fulfilled by the sender."""

    # one of disagree, inappropriate, unsafe, busy, incapable, policy, duplicate, invalid, timeout, resource_limit,
    # no_longer_needed, other; other words pass
    reason: Required[str]


class McpRequest(TypedDict, total=False):
    """A JSON-RPC request of the Model Context Protocol; without an id it is a notification. To fulfil a proposal,
    name it in correlationId."""

    # the name of an MCP method, such as tools/call
    method: Required[str]
    # the method's parameters, an object or an array
    params: Union[dict[str, Any], list[Any]]
    # the id that the response will repeat; a notification has none
    id: Union[str, float]
    # true for a request that fulfils a proposal with another call than the proposed one
    edited: bool


class McpResponseError(TypedDict, total=False):
    """why there is no result, a JSON-RPC error"""

    # a JSON-RPC error code, an integer
    code: Required[int]
    # the error in one sentence
    message: Required[str]
    # anything else about the error
    data: Any


class McpResponse(TypedDict, total=False):
    """The answer to the request named in correlationId: a result or an error, never both."""

    # what the method returned, of any type
    result: Any
    # why there is no result, a JSON-RPC error
    error: McpResponseError
    # the id of the request, or null if it could not be read
    id: Union[str, float, None]


class McpWithdraw(TypedDict, total=False):
    """The proposer takes back the proposal named in correlationId."""

    # one of disagree, inappropriate, unsafe, busy, incapable, policy, duplicate, invalid, timeout, resource_limit,
    # no_longer_needed, other; other words pass
    reason: Required[str]


class ParticipantClear(TypedDict, total=False):
    """Asks a participant to forget its conversation. The payload is free."""


class ParticipantCompactDone(TypedDict, total=False):
    """A participant has summarised its conversation. The payload is free."""


class ParticipantCompact(TypedDict, total=False):
    """Asks a participant to summarise its conversation, to make room. The payload is free."""


class ParticipantForget(TypedDict, total=False):
    """Asks a participant to forget a part of its conversation. The payload is free."""


class ParticipantPause(TypedDict, total=False):
    """Asks a participant to stop. Until it is resumed, only participant.status and mcp.response are admitted from
    it. The payload is free."""


class ParticipantRequestStatus(TypedDict, total=False):
    """Asks a participant for its status. The payload is free."""


class ParticipantRestart(TypedDict, total=False):
    """Asks a participant to begin anew. The payload is free."""


class ParticipantResume(TypedDict, total=False):
    """Lets a paused participant go on. The payload is free."""


class ParticipantShutdown(TypedDict, total=False):
    """Asks a participant to end. The payload is free."""


class ParticipantStatus(TypedDict, total=False):
    """A participant says how it is: what it does, how full its context is. The payload is free."""


class PolicyDismiss(TypedDict, total=False):
    """Says that a suggested rule is not wanted. It changes no rights. The rule is suggested again once as many
    further decisions support it."""

    # the participant for whose calls the rule would be
    recipient: Required[str]
    # the capabilities of the suggestion
    capabilities: Required[list[Union[str, dict[str, Any]]]]
    # how many decisions supported it; as many further ones are needed before it is suggested again
    decisions: Required[int]
    # why, for people to read; at most 2,048 characters
    reason: str


class ReasoningCancel(TypedDict, total=False):
    """Closes a context without a conclusion, or asks its owner to do so."""

    # why, for people to read
    reason: str


class ReasoningConclusion(TypedDict, total=False):
    """Closes the context that it stands in. The payload may be empty."""

    # the conclusion
    message: str
    # what was decided
    decision: Any
    # a number from 0 (a guess) to 1 (certain)
    confidence: float
    # a list of what decided the matter
    key_factors: list[Any]
    # what should be done now
    recommendation: str
    # the ids of envelopes that this builds on, as an array
    references: Any


class ReasoningHypothesis(TypedDict, total=False):
    """A step of reasoning: an explanation that may be true."""

    # the hypothesis
    message: str
    # the hypothesis; another name for message
    content: str
    # an explanation that may be true
    hypothesis: str
    # a list of questions that need an answer
    questions: list[str]
    # a number from 0 (a guess) to 1 (certain)
    confidence: float
    # how much it matters, such as low, high or critical
    severity: str
    # what it rests on: text, or a list of texts, ids or objects
    evidence: Any
    # the ids of envelopes that this builds on, as an array
    references: Any
    # what speaks against it, in the forms of evidence
    evidence_against: Any


class ReasoningObservation(TypedDict, total=False):
    """A step of reasoning: something seen in data or in the result of a tool."""

    # what was observed
    message: str
    # what was observed; another name for message
    content: str
    # an explanation that may be true
    hypothesis: str
    # a list of questions that need an answer
    questions: list[str]
    # a number from 0 (a guess) to 1 (certain)
    confidence: float
    # how much it matters, such as low, high or critical
    severity: str
    # what it rests on: text, or a list of texts, ids or objects
    evidence: Any
    # the ids of envelopes that this builds on, as an array
    references: Any


class ReasoningQuestion(TypedDict, total=False):
    """A step of reasoning: what has to be found out."""

    # the question
    message: str
    # the question; another name for message
    content: str
    # an explanation that may be true
    hypothesis: str
    # a list of questions that need an answer
    questions: list[str]
    # a number from 0 (a guess) to 1 (certain)
    confidence: float
    # how much it matters, such as low, high or critical
    severity: str
    # what it rests on: text, or a list of texts, ids or objects
    evidence: Any
    # the ids of envelopes that this builds on, as an array
    references: Any


class ReasoningStartMetadata(TypedDict, total=False):
    """more about the reasoning; any further keys are welcome"""

    # how the question is gone about
    approach: str
    # how long it may take: text such as 30s, or a number of seconds
    estimated_duration: Union[str, float]
    # a number from 0 (a guess) to 1 (certain)
    confidence: float


class ReasoningStart(TypedDict, total=False):
    """Opens a context: the envelope's id is its name, and what belongs to it carries that id in `context`. The
    payload may be empty."""

    # what the reasoning is about
    message: str
    # the session of the job, if no chat asked for the reasoning: an id that the sender chooses; any other value
    # names none
    session_id: Any
    # the ids of envelopes that the reasoning builds on
    references: list[str]
    # more about the reasoning; any further keys are welcome
    metadata: ReasoningStartMetadata
    # the participant that is asked to reason in the context, and to close it
    participant_id: str


class ReasoningThought(TypedDict, total=False):
    """A step of reasoning. A thought that explains a tool call stands before it: the mcp.request names the thought
    in correlationId."""

    # the thought
    message: str
    # the thought; another name for message
    content: str
    # the tool that the thought decides to call
    tool_name: str
    # an integer from 0; tool calls of one group run at the same time
    parallel_group: int
    # the ids of envelopes that this builds on, as an array
    references: Any


class Release(TypedDict, total=False):
    """The sender no longer claims what the claim in correlationId or the payload names."""

    # absolute paths, with everything below them
    paths: list[str]
    # names of other things
    names: list[str]
    # why, for people to read; at most 512 characters
    reason: str


class ReviewerDemote(TypedDict, total=False):
    """From now on the reviewer decides nothing. A demotion that names a decision of the reviewer in correlationId
    says that this decision was wrong."""

    # the reviewer
    participant_id: Required[str]
    # why, for people to read
    reason: str


class ReviewerPromote(TypedDict, total=False):
    """From now on the decisions of the reviewer count."""

    # the reviewer
    participant_id: Required[str]
    # why, for people to read
    reason: str


class SpaceInvite(TypedDict, total=False):
    """Makes a token for a participant. The inviter alone gets it, in space.invite-ack."""

    # the id of the participant who is invited
    participant_id: Required[str]
    # a list of the capabilities that the invited one begins with
    initial_capabilities: list[Union[str, dict[str, Any]]]
    # after how many seconds the token ends; a number greater than 0
    ttl_seconds: float
    # why, for people to read
    reason: str


class SpaceKick(TypedDict, total=False):
    """Disconnects a participant, whose token is refused until invited again."""

    # the id of the participant who has to leave
    participant_id: Required[str]
    # why, for people to read
    reason: str


class StreamClose(TypedDict, total=False):
    """A stream ends."""

    # the id of the stream
    stream_id: Required[str]
    # why, for people to read; withdrawn takes the text of the stream back
    reason: str


class StreamData(TypedDict, total=False):
    """A piece of a stream. It is delivered live and not kept in the log."""

    # the id of the stream
    stream_id: Required[str]
    # the piece of data, as text
    data: Required[str]
    # the media type of the data, such as text/plain
    content_type: str


class StreamGrantWrite(TypedDict, total=False):
    """The owner of a stream lets a participant write into it."""

    # the id of the stream
    stream_id: Required[str]
    # the participant that may write from now on
    participant_id: Required[str]
    # why, for people to read
    reason: str


class StreamOpen(TypedDict, total=False):
    """A stream begins; its stream_id names it from now on."""

    # the id of the stream
    stream_id: str
    # what the stream carries
    description: str
    # the text may turn out to be the beginning of the answer; the stream is then closed with the reason withdrawn
    provisional: bool
    # the media type of the data, such as text/plain
    content_type: str
    # the participant, or a list of participants, that the stream is for
    target: Union[str, list[str]]


class StreamRequest(TypedDict, total=False):
    """Asks for a stream to be opened."""

    # the id of the stream
    stream_id: str
    # what the stream carries
    description: str
    # the media type of the data, such as text/plain
    content_type: str
    # the participant, or a list of participants, that the stream is for
    target: Union[str, list[str]]


class StreamRevokeWrite(TypedDict, total=False):
    """The owner of a stream takes back the right to write into it."""

    # the id of the stream
    stream_id: Required[str]
    # the participant that may no longer write
    participant_id: Required[str]
    # why, for people to read
    reason: str


class StreamTransferOwnership(TypedDict, total=False):
    """The owner of a stream makes another participant its owner."""

    # the id of the stream
    stream_id: Required[str]
    # the participant that owns the stream from now on
    new_owner: Required[str]
    # why, for people to read
    reason: str


# PAYLOADS are the types of the payloads by kind.
PAYLOADS: dict[str, Any] = {
    "admin.participant.put": AdminParticipantPut,
    "admin.participant.remove": AdminParticipantRemove,
    "admin.space.put": AdminSpacePut,
    "admin.space.remove": AdminSpaceRemove,
    "admin.token.issue": AdminTokenIssue,
    "admin.token.revoke": AdminTokenRevoke,
    "budget.extend": BudgetExtend,
    "capability.grant-ack": CapabilityGrantAck,
    "capability.grant": CapabilityGrant,
    "capability.revoke": CapabilityRevoke,
    "chat.acknowledge": ChatAcknowledge,
    "chat.cancel": ChatCancel,
    "chat": Chat,
    "claim": Claim,
    "feedback": Feedback,
    "mcp.opinion": McpOpinion,
    "mcp.proposal": McpProposal,
    "mcp.reject": McpReject,
    "mcp.request": McpRequest,
    "mcp.response": McpResponse,
    "mcp.withdraw": McpWithdraw,
    "participant.clear": ParticipantClear,
    "participant.compact-done": ParticipantCompactDone,
    "participant.compact": ParticipantCompact,
    "participant.forget": ParticipantForget,
    "participant.pause": ParticipantPause,
    "participant.request-status": ParticipantRequestStatus,
    "participant.restart": ParticipantRestart,
    "participant.resume": ParticipantResume,
    "participant.shutdown": ParticipantShutdown,
    "participant.status": ParticipantStatus,
    "policy.dismiss": PolicyDismiss,
    "reasoning.cancel": ReasoningCancel,
    "reasoning.conclusion": ReasoningConclusion,
    "reasoning.hypothesis": ReasoningHypothesis,
    "reasoning.observation": ReasoningObservation,
    "reasoning.question": ReasoningQuestion,
    "reasoning.start": ReasoningStart,
    "reasoning.thought": ReasoningThought,
    "release": Release,
    "reviewer.demote": ReviewerDemote,
    "reviewer.promote": ReviewerPromote,
    "space.invite": SpaceInvite,
    "space.kick": SpaceKick,
    "stream.close": StreamClose,
    "stream.data": StreamData,
    "stream.grant-write": StreamGrantWrite,
    "stream.open": StreamOpen,
    "stream.request": StreamRequest,
    "stream.revoke-write": StreamRevokeWrite,
    "stream.transfer-ownership": StreamTransferOwnership,
}
