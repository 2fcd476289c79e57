"""Envelopes that were received and not taken by the program."""

from __future__ import annotations

import asyncio
from collections import deque

from .envelope import Envelope
from .errors import Gap

# MAX_LIVE bounds the buffered envelopes without a position: welcomes, presence
# and stream.data. They do not use up the places of the others, or a buffer for
# one envelope would be filled by the welcome of every reconnect.
MAX_LIVE = 64


class Inbox:
    """A buffer with bounds for the number and the bytes of envelopes.

    An empty buffer accepts one envelope of any size. `skipping` is set after an
    envelope did not fit: that one and the ones after it are requested again as
    soon as the buffer is empty.
    """

    def __init__(self, count: int, size: int) -> None:
        self._items: deque[Envelope | Gap] = deque()
        self._count = count
        self._size = size
        self._live = 0
        self._bytes = 0
        self.skipping = False
        self.available = asyncio.Event()

    def __len__(self) -> int:
        return len(self._items)

    @property
    def has_room(self) -> bool:
        return len(self._items) - self._live < self._count and self._bytes < self._size

    @property
    def must_resume(self) -> bool:
        """Whether all kept envelopes were taken and later ones were dropped."""
        return self.skipping and not self._items

    def put(self, item: Envelope | Gap) -> bool:
        """Add an envelope of the log or a gap; False: there is no room."""
        if not self.has_room:
            return False
        if isinstance(item, Envelope):
            self._bytes += len(item.raw)
        self._items.append(item)
        self.available.set()
        return True

    def put_live(self, env: Envelope) -> None:
        """Add an envelope without a position. It is dropped if there is no room."""
        if self._live < MAX_LIVE and self._bytes < self._size:
            self._live += 1
            self._bytes += len(env.raw)
            self._items.append(env)
            self.available.set()

    def take(self) -> Envelope | Gap | None:
        """Return the next item, or None."""
        if not self._items:
            self.available.clear()
            return None
        item = self._items.popleft()
        if isinstance(item, Envelope):
            self._bytes -= len(item.raw)
            self._live -= not item.seq
        return item

    def clear(self) -> None:
        self._items.clear()
        self._bytes = self._live = 0
        self.skipping = False
