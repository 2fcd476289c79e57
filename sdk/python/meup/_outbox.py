"""Envelopes that the gateway has not acknowledged."""

from __future__ import annotations

import asyncio
from typing import Callable

from .errors import Interrupted, MeupError, Refused


class Pending:
    """An envelope that is not acknowledged yet.

    `future` gets its position in the log, or the error.
    """

    __slots__ = ("id", "kind", "frame", "future", "written", "sent", "attempts")

    def __init__(self, id: str, kind: str, frame: str) -> None:
        self.id = id
        self.kind = kind
        self.frame = frame
        self.future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self.written = False  # on the current connection
        self.sent = False  # on any connection
        self.attempts = 0

    @property
    def is_live(self) -> bool:
        return self.kind == "stream.data"


# PACED is how long envelopes are sent one at a time after a refusal for the moment, in seconds.
PACED = 2.0


class Outbox:
    """Holds the envelopes in the order in which they were sent.

    A connection writes them from the front, and a new connection starts at the
    front again: the gateway recognizes the retry by the id. The number of
    envelopes is bounded; add waits for a free place.
    """

    def __init__(self, size: int) -> None:
        self._slots = asyncio.Semaphore(size)
        self._queue: dict[str, Pending] = {}  # by id, in order
        self._error: MeupError | None = None
        self.hold_until = 0.0  # the gateway requested a pause until then
        self._pace = 0.0  # between two envelopes, until _pace_until
        self._pace_until = 0.0
        self.ready = asyncio.Event()

    def __len__(self) -> int:
        return len(self._queue)

    async def add(self, pending: Pending) -> None:
        """Queue an envelope. Errors: the one that close was called with, ValueError."""
        await self._slots.acquire()
        self._place(pending)

    async def try_add(self, pending: Pending) -> bool:
        """Queue an envelope if a place is free. It does not wait."""
        if self._slots.locked() or self._error is not None:
            return False
        await self._slots.acquire()
        self._place(pending)
        return True

    def _place(self, pending: Pending) -> None:
        if self._error is not None:
            self._slots.release()
            raise self._error
        if pending.id in self._queue:
            self._slots.release()
            raise ValueError(f"an envelope with the id {pending.id} is being sent")
        self._queue[pending.id] = pending
        self.ready.set()

    def next(self, now: float) -> tuple[Pending | None, float | None]:
        """Return the next envelope to write, or how long to wait for one; None: until ready."""
        for pending in self._queue.values():
            if pending.written:
                continue
            if self.hold_until > now:
                return None, self.hold_until - now
            if now < self._pace_until:
                self.hold_until = now + self._pace
            pending.written = pending.sent = True
            return pending, None
        return None, None

    def rewind(self) -> None:
        """Prepare for a new connection. Live data, which must not arrive twice, is interrupted."""
        for pending in list(self._queue.values()):
            if pending.written and pending.is_live:
                self._settle(pending, Interrupted("the connection was lost"))
            pending.written = False
        self.ready.set()

    def answer(self, id: str, result: int | MeupError) -> bool:
        """Settle the envelope with this id, if it is queued."""
        pending = self._queue.get(id)
        if pending is None:
            return False
        self._settle(pending, result)
        return True

    def withdraw(self, pending: Pending) -> None:
        """Release the place of an envelope that no caller waits for."""
        if self._queue.get(pending.id) is pending:
            pending.future.cancel()
            self._settle(pending, 0)

    def retry(self, id: str, at: Callable[[int], float], pace: float) -> bool:
        """Write the envelope again later, and hold later ones back until then.

        For a while, envelopes are written at intervals of pace: everything in flight at
        once would be refused again.
        """
        pending = self._queue.get(id)
        if pending is None:
            return False
        pending.attempts += 1
        pending.written = False
        self.hold_until = max(self.hold_until, at(pending.attempts))
        self._pace, self._pace_until = pace, self.hold_until + PACED
        self.ready.set()
        return True

    def refuse_largest(self, err: Refused) -> None:
        """Settle the largest envelope in flight: a refusal as too large names none."""
        written = [p for p in self._queue.values() if p.written]
        if written:
            self._settle(max(written, key=lambda p: len(p.frame)), err)

    def close(self, err: MeupError) -> None:
        """Fail all queued envelopes, and all later ones."""
        self._error = err
        for pending in list(self._queue.values()):
            self._settle(pending, err)

    def _settle(self, pending: Pending, result: int | MeupError) -> None:
        del self._queue[pending.id]
        self._slots.release()
        if pending.future.done():
            return
        if isinstance(result, MeupError):
            pending.future.set_exception(result)
            pending.future.exception()  # not logged if no caller waits
        else:
            # A gateway may answer live envelopes with the head of its log.
            pending.future.set_result(0 if pending.is_live else result)
