"""The envelope (section 1 of the protocol), and its text."""

from __future__ import annotations

import json
import os
import time
import uuid
from dataclasses import dataclass, field
from datetime import datetime, timezone
from decimal import Decimal
from typing import Any, Iterable, Mapping

GATEWAY = "system:gateway"
# _WORK are the kinds that no filter hides (section 6).
_WORK = frozenset({"mcp.request", "mcp.response", "mcp.proposal", "mcp.withdraw", "mcp.reject"})


@dataclass(frozen=True, slots=True)
class Envelope:
    """A received envelope.

    `kind` has a dot after its namespace. `correlation` has the ids of
    correlationId, whether it is one id or an array. `extra` has the fields
    that this version does not define. `raw` is the frame as the gateway sent
    it, for programs that need the exact digits of a number.
    """

    id: str
    kind: str
    from_: str
    payload: dict[str, Any]
    to: tuple[str, ...] = ()
    correlation: tuple[str, ...] = ()
    context: str = ""
    ts: str = ""
    seq: int = 0
    extra: dict[str, Any] = field(default_factory=dict)
    raw: str = field(default="", repr=False, compare=False)

    @property
    def text(self) -> str:
        """The message of a chat or a step; "" if there is none."""
        for name in ("message", "text", "content"):
            value = self.payload.get(name)
            if isinstance(value, str) and value:
                return value
        return ""

    @property
    def time(self) -> datetime:
        """ts; the beginning of 1970 if it is no time."""
        try:
            time = datetime.fromisoformat(self.ts)
            return time if time.tzinfo else time.replace(tzinfo=timezone.utc)
        except ValueError:
            return datetime.fromtimestamp(0, timezone.utc)

    @property
    def is_work(self) -> bool:
        """Whether the kind passes every filter."""
        return self.kind in _WORK

    @property
    def opens(self) -> str:
        """The path of the context that a reasoning.start opens; "" for others."""
        if self.kind != "reasoning.start":
            return ""
        return f"{self.context}/{self.id}" if self.context else self.id


def new_id() -> str:
    """Return a UUIDv7: ids of one process sort by time."""
    value = (time.time_ns() // 1_000_000 & (1 << 48) - 1) << 80 | int.from_bytes(os.urandom(10))
    value = value & ~(0xF << 76) & ~(0x3 << 62) | 7 << 76 | 2 << 62
    return str(uuid.UUID(int=value))


def derived_id(purpose: str, of: str) -> str:
    """Return an id that all processes derive alike, so that the second is a retry."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{purpose} of {of}"))


def kind_of(text: str) -> str:
    """Return a kind with a dot after its namespace: the first . or / is the separator."""
    slash = text.find("/")
    dot = text.find(".")
    if slash >= 0 and (dot < 0 or slash < dot):
        return text[:slash] + "." + text[slash + 1 :]
    return text


def within(path: str, prefix: str) -> bool:
    """Report whether a context path is a prefix, or below it."""
    return path == prefix or path.startswith(prefix + "/")


def loads(text: str | bytes) -> Any:
    """Parse JSON. An integer that Python does not convert becomes a Decimal. Errors: ValueError."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        raise
    except RecursionError:
        raise ValueError("the text is nested too deeply") from None
    except ValueError:  # more digits than int accepts
        return json.loads(text, parse_int=_integer)


def _integer(digits: str) -> int | Decimal:
    try:
        return int(digits)
    except ValueError:
        return Decimal(digits)


def _texts(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    return tuple(x for x in value if isinstance(x, str)) if isinstance(value, list) else ()


_FIELDS = frozenset({"protocol", "id", "ts", "from", "to", "kind", "correlationId", "context", "payload", "seq"})


def parse(frame: str) -> Envelope:
    """Read a frame of the gateway. Errors: ValueError."""
    return of_document(loads(frame), frame)


def of_document(doc: Any, raw: str = "") -> Envelope:
    """Return the envelope of a parsed JSON value. Errors: ValueError."""
    if not isinstance(doc, dict) or not isinstance(doc.get("kind"), str):
        raise ValueError("an envelope is an object with a kind")
    payload = doc.get("payload", {})
    seq = doc.get("seq", 0)
    return Envelope(
        id=str(doc.get("id", "")),
        kind=kind_of(doc["kind"]),
        from_=str(doc.get("from", "")),
        payload=payload if isinstance(payload, dict) else {},
        to=_texts(doc.get("to", [])),
        correlation=_texts(doc.get("correlationId", [])),
        context=str(doc.get("context", "")),
        ts=str(doc.get("ts", "")),
        seq=seq if isinstance(seq, int) and seq > 0 else 0,
        extra={k: v for k, v in doc.items() if k not in _FIELDS},
        raw=raw,
    )


def encode(
    id: str,
    kind: str,
    payload: Mapping[str, Any] | None,
    to: Iterable[str] = (),
    context: str = "",
    correlation: str | Iterable[str] = (),
) -> str:
    """Return the frame of an envelope. The id comes first, so that a refusal names it."""
    doc: dict[str, Any] = {"id": id, "kind": kind}
    if isinstance(to, str):
        raise TypeError("to is a list of participant ids")
    recipients = list(to)
    if recipients:
        doc["to"] = recipients
    if isinstance(correlation, str):
        if correlation:
            doc["correlationId"] = correlation
    else:
        ids = list(correlation)
        if ids:
            doc["correlationId"] = ids
    if context:
        doc["context"] = context
    doc["payload"] = {} if payload is None else dict(payload)
    frame = json.dumps(doc, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    frame.encode()  # a lone surrogate cannot be sent
    return frame
