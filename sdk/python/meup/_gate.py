"""The gate that is closed while this participant is paused (section 2 of the protocol)."""

from __future__ import annotations

import asyncio

# RECHECK is the time after which an envelope that was refused because of a pause
# is sent again: a pause may end in ways that the participant is not notified of.
RECHECK = 5.0


def passes_pause(kind: str) -> bool:
    """Report whether a paused participant may send the kind."""
    return kind in ("participant.status", "mcp.response", "chat.acknowledge") or kind.endswith(".cancel")


class Gate:
    """Closed during a pause. Each end of a pause counts up the generation."""

    def __init__(self) -> None:
        self._open = asyncio.Event()
        self._open.set()
        self._timer: asyncio.TimerHandle | None = None
        self.generation = 0

    @property
    def closed(self) -> bool:
        return not self._open.is_set()

    def close(self, seconds: float = 0) -> None:
        """Close the gate, for some seconds or until open is called."""
        self._stop()
        self._open.clear()
        if seconds > 0:
            self._timer = asyncio.get_running_loop().call_later(seconds, self.open)

    def open(self) -> None:
        self._stop()
        self.generation += 1
        self._open.set()

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def wait(self) -> None:
        await self._open.wait()

    async def wait_refused(self, generation: int) -> None:
        """Wait for the end of a pause that an envelope was refused for.

        If a pause has ended since the generation was read, the refusal is
        outdated.
        """
        if self.generation != generation:
            return
        self._open.clear()
        try:
            async with asyncio.timeout(RECHECK):
                await self._open.wait()
        except TimeoutError:
            self.open()
