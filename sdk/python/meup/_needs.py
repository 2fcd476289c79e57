"""The capabilities that the handlers of a participant need."""

from __future__ import annotations

from typing import Any, Iterable, Iterator

from .filters import kind_pattern

# A Need is a capability, the kinds that it has to allow, and the effect without it.
Need = tuple[str, tuple[str, ...], str]

QUESTIONS: tuple[Need, ...] = (
    ("chat", ("chat",), "questions are not answered"),
    ("reasoning/*", ("reasoning.start", "reasoning.thought", "reasoning.conclusion", "reasoning.cancel"), "reasoning is refused"),
    ("mcp.response", ("mcp.response",), "requests to this participant are not answered"),
    (
        "participant.status", ("participant.status",),
        "the questions of a process that ended wait for the next start, and requests for the status are not answered",
    ),
)
PROPOSALS: tuple[Need, ...] = (("mcp.withdraw", ("mcp.withdraw",), "proposals that are given up stay open"),)
TOOLS: tuple[Need, ...] = (
    ("mcp.response", ("mcp.response",), "calls are not answered"),
    ("mcp.request", ("mcp.request",), "progress and changes of the tools are not sent"),
    ("participant.status", ("participant.status",), "calls that were sent while no process ran are not made by the next one"),
)


def missing(held: Iterable[Any], questions: bool, tools: bool) -> Iterator[tuple[str, str]]:
    """Return each needed capability that a participant lacks, and the effect.

    A capability with conditions counts as held.
    """
    held = list(held)
    needs = TOOLS if tools else ()
    if questions:
        needs += QUESTIONS + (PROPOSALS if may_allow(held, "mcp.proposal") else ())
    reported: set[str] = set()
    for capability, kinds, effect in needs:
        if capability not in reported and not all(may_allow(held, kind) for kind in kinds):
            reported.add(capability)
            yield capability, effect


def may_allow(held: Iterable[Any], kind: str) -> bool:
    """Report whether capabilities could allow an envelope of a kind.

    Regular expressions are not evaluated: they could allow any kind, and deny none for certain.
    """
    allowed = False
    for capability in held:
        rule = capability if isinstance(capability, dict) else {"kind": capability}
        text = rule.get("kind")
        if not isinstance(text, str):
            continue
        deny = bool(rule.get("deny"))
        if text.lstrip("!").startswith("/"):
            allowed = allowed or not deny
            continue
        try:
            matches = kind_pattern(text)(kind)
        except ValueError:
            continue
        if matches and deny and not any(rule.get(field) for field in ("payload", "to", "context")):
            return False
        allowed = allowed or matches and not deny
    return allowed
