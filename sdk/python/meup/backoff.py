"""Delays between attempts."""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Backoff:
    """The bound of the delay doubles from min to max, in seconds.

    The delay is uniformly random below the bound, so that the clients of a
    restarted gateway do not all connect at the same moment.
    """

    min: float = 0.25
    max: float = 15.0

    def delay(self, attempt: int) -> float:
        """Return the delay before an attempt, counted from 1."""
        return random.random() * min(self.min * float(2 ** min(attempt - 1, 32)), self.max)
