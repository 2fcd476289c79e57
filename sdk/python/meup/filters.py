"""Filters of a connection (section 6 of the protocol)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Callable, Sequence

from .envelope import Envelope, kind_of, within


@dataclass(frozen=True, slots=True)
class Filter:
    """Selects the envelopes to receive. All given fields must match.

    The context "" is the main conversation. `depth` counts segments below a
    prefix. A filter never hides `mcp.*` work and envelopes addressed to this
    participant.
    """

    contexts: Sequence[str] = ()
    exclude_contexts: Sequence[str] = ()
    kinds: Sequence[str] = ()
    from_: Sequence[str] = ()
    depth: int | None = None
    conclusions_only: bool = False

    def __post_init__(self) -> None:
        for name in ("contexts", "exclude_contexts", "kinds", "from_"):
            if isinstance(getattr(self, name), str):
                raise TypeError(f"{name} is a list")
        for pattern in self.kinds:
            kind_pattern(pattern)

    def payload(self) -> dict[str, Any]:
        """Return the payload of system.subscribe."""
        out: dict[str, Any] = {}
        for name in ("contexts", "exclude_contexts", "kinds"):
            if getattr(self, name):
                out[name] = list(getattr(self, name))
        if self.from_:
            out["from"] = list(self.from_)
        if self.depth is not None:
            out["depth"] = self.depth
        if self.conclusions_only:
            out["conclusions_only"] = True
        return out

    def matcher(self) -> Callable[[Envelope], bool] | None:
        """Return the function that matches an envelope; None matches all."""
        if not self.payload():
            return None
        kinds = [kind_pattern(p) for p in self.kinds]

        def match(env: Envelope) -> bool:
            return (
                self._in_contexts(env.context)
                and (not kinds or any(k(env.kind) for k in kinds))
                and (not self.from_ or env.from_ in self.from_)
                and not (self.conclusions_only and env.context and env.kind not in ("reasoning.start", "reasoning.conclusion"))
            )

        return match

    def _in_contexts(self, path: str) -> bool:
        if any(path == "" if p == "" else within(path, p) for p in self.exclude_contexts):
            return False
        if not self.contexts:
            return self.depth is None or _depth(path) <= self.depth
        return any(self._included(path, p) for p in self.contexts)

    def _included(self, path: str, prefix: str) -> bool:
        if prefix and not within(path, prefix):
            return False
        if self.depth is not None:
            return _depth(path) - _depth(prefix) <= self.depth
        return prefix != "" or path == ""


def _depth(path: str) -> int:
    return path.count("/") + 1 if path else 0


def kind_pattern(text: str) -> Callable[[str], bool]:
    """Compile a kind pattern. Errors: ValueError."""
    negate = text.startswith("!")
    match = _positive(text[1:] if negate else text)
    return (lambda kind: not match(kind)) if negate else match


def _positive(body: str) -> Callable[[str], bool]:
    if len(body) >= 3 and body[0] == body[-1] == "/":
        try:
            expression = re.compile(body[1:-1])
        except re.error as err:
            raise ValueError(f"kind pattern {body!r}: {err}") from None
        return lambda kind: bool(expression.search(kind) or expression.search(kind.replace(".", "/", 1)))
    if not re.fullmatch(r"[A-Za-z0-9._:/*-]{1,128}", body):
        raise ValueError(f"kind pattern {body!r}: a kind is 1 to 128 of A-Z a-z 0-9 . _ : - and /")
    if body in ("*", "**"):
        return lambda kind: True
    body = kind_of(body)
    if body == "reasoning.step":
        closing = ("reasoning.start", "reasoning.conclusion", "reasoning.cancel")
        return lambda kind: kind.startswith("reasoning.") and kind not in closing
    if "*" not in body:
        return lambda kind: kind == body
    namespace, dot, name = body.partition(".")
    glob = re.compile(_glob(namespace, r"[^.]*") + (re.escape(dot) + _glob(name, ".*") if dot else ""))
    return lambda kind: glob.fullmatch(kind) is not None


def _glob(text: str, star: str) -> str:
    return star.join(re.escape(part) for part in re.split(r"\*+", text))
