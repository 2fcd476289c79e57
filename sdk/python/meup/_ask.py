"""Questions to other agents: a part of the reasoning that another participant takes."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Callable, Literal

from .calls import AWAY_TIMEOUT
from .envelope import Envelope

if TYPE_CHECKING:
    from .client import Space

ThoughtHandler = Callable[[str], None]

STEPS = ("reasoning.thought", "reasoning.observation", "reasoning.hypothesis", "reasoning.question")


@dataclass(frozen=True, slots=True)
class Answer:
    """The outcome of a question to another agent.

    answered: `text` is its answer. Otherwise `text` says why there is none. gave_up: it
    declined or failed, or is not connected. rejected: it was not asked, by the gateway, at the
    greatest depth, or since it is this participant. cancelled: another participant cancelled
    it. timeout: there was no answer in time. `envelope` is the one that ended it, None without.
    """

    text: str
    outcome: Literal["answered", "gave_up", "rejected", "cancelled", "timeout"]
    envelope: Envelope | None = None


class Part:
    """A part that a participant was asked to take."""

    def __init__(self, space: "Space", start: str, path: str, who: str, on_thought: ThoughtHandler | None) -> None:
        self._space = space
        self._start = start
        self._path = path
        self._who = who
        self._on_thought = on_thought
        self._timer: asyncio.TimerHandle | None = None
        self.done: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._expect("is not connected")

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self.done.cancel()

    def note(self, env: Envelope) -> None:
        """Handle an envelope that may be about the part."""
        if env.kind in ("system.presence", "system.welcome"):
            self._expect("left the space")
        elif env.kind == "reasoning.cancel" and (env.context == self._path or not env.context and self._start in env.correlation):
            verb = "declined" if env.from_ == self._who else "cancelled"
            reason = str(env.payload.get("reason") or "no reason given")[:500]
            self._settle(Answer(f"{verb} by {env.from_}: {reason}", "gave_up" if verb == "declined" else "cancelled", env))
        elif env.context == self._path and env.from_ == self._who:
            self._step(env)

    def _step(self, env: Envelope) -> None:
        text = env.text or next((str(env.payload[name]) for name in ("hypothesis", "decision", "recommendation") if env.payload.get(name)), "")
        if env.kind == "reasoning.conclusion":
            empty = Answer(f"{self._who} closed the part without a conclusion", "gave_up", env)
            self._settle(Answer(text, "answered", env) if text else empty)
        elif env.kind in STEPS and text and self._on_thought is not None:
            try:
                self._on_thought(text)
            except Exception as err:
                if not self.done.done():
                    self.done.set_exception(err)

    def _settle(self, answer: Answer) -> None:
        if not self.done.done():
            self.done.set_result(answer)

    def _expect(self, absence: str) -> None:
        """Give the part up some time after the participant has left."""
        if any(p.id == self._who for p in self._space.participants):
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
        elif self._timer is None:
            gone = Answer(f"{self._who} {absence}", "gave_up")
            self._timer = asyncio.get_running_loop().call_later(AWAY_TIMEOUT, self._settle, gone)
