"""An answer that is sent while it is generated."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, AsyncIterable, AsyncIterator, Iterable

from .envelope import new_id
from .errors import Interrupted, Refused

if TYPE_CHECKING:
    from .questions import Question

# PAUSE is the time between two chunks. A text that is complete before the first one is not streamed.
PAUSE = 0.1
# MAX_STREAM bounds the streamed bytes; the complete answer has the rest.
MAX_STREAM = 64 << 10

Deltas = AsyncIterable[str] | Iterable[str]


class AnswerStream:
    """The stream of an answer. A gateway that refuses it, or a lost connection, ends the stream and not the answer."""

    def __init__(self, question: "Question") -> None:
        self._question = question
        self._id = ""  # "": it is not open
        self._unsent = ""
        self._size = 0
        self._off = False  # nothing more is sent
        self._sending: asyncio.Task[None] | None = None
        self._ending = asyncio.Event()

    def add(self, text: str) -> None:
        """Add a piece of the answer, which is sent within PAUSE."""
        self._size += len(text.encode())
        if self._size > MAX_STREAM:  # a later piece would leave a gap
            return
        self._unsent += text
        if self._sending is None and not self._off:
            self._sending = asyncio.ensure_future(self._send())

    async def _send(self) -> None:
        """Send the text that is not sent, at most once in PAUSE, until there is none."""
        try:
            await self._pause()
            while self._unsent and not self._off and not self._ending.is_set():
                await self._flush()
                await self._pause()
        finally:
            self._sending = None

    async def _pause(self) -> None:
        try:
            async with asyncio.timeout(PAUSE):
                await self._ending.wait()
        except TimeoutError:
            pass

    async def _flush(self) -> None:
        text, self._unsent = self._unsent, ""
        try:
            if not self._id:
                id = new_id()
                await self._put("stream.open", {"stream_id": id, "content_type": "text/markdown", "description": "the answer"})
                self._id = id
            await self._put("stream.data", {"stream_id": self._id, "data": text})
        except (Refused, Interrupted):
            self._off = True

    async def _put(self, kind: str, payload: dict[str, Any]) -> None:
        question = self._question
        await question._desk.space.send(kind, payload, to=question.private, correlation=question.id)

    async def end(self, withdraw: bool = False) -> str:
        """Close the stream, or withdraw it. Return its id, "" if it did not carry the answer.

        If the caller is cancelled before the stream is closed, it can be withdrawn afterwards.
        """
        self._ending.set()
        if self._sending is not None:  # it waits for an acknowledgement: without it, a stream might stay open
            await asyncio.wait({self._sending})
        if self._id and self._unsent and not withdraw and not self._off:
            await self._flush()
        id, self._id = self._id, ""  # it is closed once
        if not id:
            return ""
        taken_back = withdraw or self._off
        payload = {"stream_id": id, **({"reason": "withdrawn"} if taken_back else {})}
        closing = self._question._desk.space.send_final("stream.close", payload, to=self._question.private, correlation=self._question.id)
        await asyncio.wait({closing})
        return "" if taken_back else id


async def each(deltas: Deltas) -> AsyncIterator[str]:
    """Yield the pieces of either kind of iterator."""
    if isinstance(deltas, AsyncIterable):
        async for text in deltas:
            yield text
        return
    for text in deltas:
        yield text
        await asyncio.sleep(0)
