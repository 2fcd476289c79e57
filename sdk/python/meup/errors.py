"""Errors of this package. All derive from MeupError."""

from __future__ import annotations

from typing import Any


class MeupError(Exception):
    """Base of the errors of this package."""


class Refused(MeupError):
    """The gateway refused an envelope (section 5 of the protocol).

    `details` has the further fields of the refusal, such as `path`, `limit` or
    `your_capabilities`.
    """

    def __init__(self, code: str, message: str, details: dict[str, Any] | None = None) -> None:
        super().__init__(f"{code}: {message}" if message else code)
        self.code = code
        self.message = message
        self.details = details or {}

    @property
    def retry_after(self) -> float:
        """Seconds after which the gateway accepts the envelope; 0: not given."""
        wait = self.details.get("retry_after_ms")
        return wait / 1000 if isinstance(wait, (int, float)) and wait > 0 else 0.0


class ConnectError(MeupError):
    """The gateway rejected the connection before the upgrade (section 4)."""

    def __init__(self, status: int, code: str, message: str, retry_after: float = 0, gateway: str = "") -> None:
        text = f"the gateway refused the connection: {code or 'HTTP status'} ({status})"
        if code == "unauthorized" and "expired" not in message:
            text = f"the gateway at {gateway} does not know this token ({code}): is it the participant's token of tokens.env?"
        elif message:
            text = f"{text}: {message}"
        super().__init__(text)
        self.status = status
        self.code = code
        self.message = message
        self.retry_after = retry_after

    @property
    def final(self) -> bool:
        """Whether another attempt with the same settings is pointless."""
        return 300 <= self.status < 500 and self.status not in (408, 429)


class NotReached(MeupError, ConnectionError):
    """The gateway was not reached within connect_timeout."""


class NotConfigured(MeupError, ValueError):
    """The token is missing."""


class ConnectionClosed(MeupError):
    """The gateway closed the connection for good: 1008, 4001 or 4003."""

    _texts = {1008: "policy violated", 4001: "token expired or revoked", 4003: "kicked"}

    def __init__(self, code: int, reason: str = "") -> None:
        text = f"the gateway closed the connection: {self._texts.get(code, 'closed')} ({code})"
        super().__init__(f"{text}: {reason}" if reason else text)
        self.code = code
        self.reason = reason


class Closed(MeupError):
    """The space was closed by this program."""

    def __init__(self) -> None:
        super().__init__("the space is closed")


class Interrupted(MeupError):
    """The connection was lost after an envelope that is not stored (stream.data).

    It cannot be sent again safely.
    """


class Gap(MeupError):
    """The log no longer has all envelopes after the last one that was received.

    Receiving continues with the oldest envelope of the log. `reset` means that
    the space has a new log, which counts from the beginning.
    """

    def __init__(self, after: int, oldest: int, reset: bool) -> None:
        if reset:
            text = f"the log of the space was replaced after envelope {after} was received"
        else:
            text = f"envelopes after {after} are no longer kept; the oldest is {oldest}"
        super().__init__(text)
        self.after = after
        self.oldest = oldest
        self.reset = reset


class RPCError(MeupError):
    """The error of a JSON-RPC response."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(f"{message} (JSON-RPC error {code})")
        self.code = code
        self.message = message
        self.data = data


class ToolNotFound(MeupError):
    """No connected participant offers the tool, or several do."""


class ProposalError(MeupError):
    """A call was proposed, since it is not allowed, and not fulfilled: `outcome` is rejected, withdrawn or expired.

    `by` is the participant that decided, "" if none did; `proposal` is the id.
    """

    def __init__(self, proposal: str, outcome: str, by: str, reason: str) -> None:
        super().__init__(outcome + (f" by {by}" if by else "") + (f": {reason}" if reason else ""))
        self.proposal = proposal
        self.outcome = outcome
        self.by = by
        self.reason = reason


class ParticipantLeft(MeupError):
    """The participant that was asked left the space before it responded."""


class ReasoningCancelled(MeupError):
    """Another participant closed the context of a reasoning block."""

    def __init__(self, by: str, reason: str = "") -> None:
        super().__init__(f"cancelled by {by}: {reason}" if reason else f"cancelled by {by}")
        self.by = by
        self.reason = reason


class ToolError(MeupError):
    """A result with isError. Raise it in a served tool: its text becomes the result.

    call_tool raises it for a tool that failed; `result` has the whole result.
    """

    result: Any = None  # a ToolResult


def set_public_message(err: BaseException, text: str) -> None:
    """Set the sentence about an error that the participants of a question get in place of its text."""
    setattr(err, "_meup_public", text)


def public_message(err: BaseException | None) -> str:
    """Return the sentence that set_public_message has set; "" without."""
    return str(getattr(err, "_meup_public", ""))
