"""The events of a thread: what happens to its questions, as server-sent events over HTTP."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field
from typing import Any, AsyncGenerator, Mapping
from urllib.parse import quote, urlsplit

from .envelope import Envelope, loads, of_document
from .errors import ConnectError

# MAX_LINE bounds the data of an event, in bytes.
MAX_LINE = 4 << 20


@dataclass(frozen=True, slots=True)
class ThreadEvent:
    """A step of a turn of a thread.

    type: asked, opened, thought, called, returned, proposed, settled, closed, stream-opened, delta,
    stream-closed, answering, retracted, said, answered, ended ("Events of a thread" in section 8 of the
    protocol). `id` is the position, with which a later call goes on; "": the event is not in the log.
    `question` is the chat that began the turn, `ref` the call, the proposal or the stream, `state` the
    outcome of a proposal or of the turn.
    """

    id: str
    type: str
    question: str
    turn: int
    from_: str = ""
    text: str = ""
    steps: list[str] = field(default_factory=list)
    ref: str = ""
    state: str = ""
    may_decide: bool = False
    envelope: Envelope | None = None


async def read(gateway: str, headers: Mapping[str, str], space: str, thread: str, after: str) -> AsyncGenerator[ThreadEvent, None]:
    """Yield the events of a thread. Errors: ConnectError, OSError."""
    parts = urlsplit(gateway)
    path = f"{parts.path}/api/spaces/{quote(space, '')}/threads/{quote(thread, '')}/events?after={quote(after, '')}"
    fields = {"Host": parts.netloc, "Accept": "text/event-stream", **headers}
    # HTTP/1.0: the response ends with the connection, and has no chunks.
    request = f"GET {path} HTTP/1.0\r\n" + "".join(f"{name}: {value}\r\n" for name, value in fields.items()) + "\r\n"
    tls = parts.scheme == "https"
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port or (443 if tls else 80), ssl=tls or None, limit=MAX_LINE)
    try:
        writer.write(request.encode())
        await writer.drain()
        status = int(((await reader.readline()).split() + [b"0", b"0"])[1])
        while (await reader.readline()).strip():
            pass  # the headers
        if status != 200:
            raise _refusal(status, await reader.read(4096), gateway)
        name = id = ""
        while line := await reader.readline():
            label, _, value = line.decode().rstrip("\n").partition(": ")
            if label == "event":
                name, id = value, ""
            elif label == "id":
                id = value
            elif label == "data" and name != "system":
                yield _event(id, loads(value.encode()))
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


def _event(id: str, doc: dict[str, Any]) -> ThreadEvent:
    envelope = doc.get("envelope")
    return ThreadEvent(
        id, doc["type"], doc["question"], doc["turn"], doc.get("from", ""), doc.get("text", ""), doc.get("steps", []),
        doc.get("ref", ""), doc.get("state", ""), doc.get("may_decide", False), None if envelope is None else of_document(envelope),
    )


def _refusal(status: int, body: bytes, gateway: str) -> ConnectError:
    try:
        doc = loads(body)
    except ValueError:
        doc = None
    fields = doc if isinstance(doc, dict) else {}
    return ConnectError(status, str(fields.get("error", "")), str(fields.get("message", "")), gateway=gateway)
