"""Which chats of a space are questions for this participant.

The protocol does not mark agents. A participant counts as an agent if its
capabilities name reasoning (`*` does not count), or, until it leaves, if it was
seen to start reasoning about the chat of another participant.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Iterable, NamedTuple

from .envelope import GATEWAY, Envelope

if TYPE_CHECKING:
    from .client import Space

MODES = ("auto", "any", "mentioned", "addressed")
# MAX_HOPS bounds a chain of answers of agents that follow one another.
MAX_HOPS = 4
# MAX_AGENT_QUESTIONS bounds the questions of one agent that are answered before
# a participant that is no agent sends a chat: the chats of some agents do not
# correlate to one another.
MAX_AGENT_QUESTIONS = 16
MAX_AGENTS = 10_000
MAX_CHATS = 2048
# LEADING_MENTION is a name after the @ with which a text begins; not a path (@types/node).
LEADING_MENTION = re.compile(r"\s*@(?=[.:+|@-]*\w)[\w.:+|@-]+(?![\w.:+|@/\\-])")


class Seen(NamedTuple):
    """A recent chat, or a context of this participant."""

    from_: str
    depth: int = 0  # answers of agents that led to the chat
    opens: bool = False  # a reasoning.start
    asks: tuple[str, ...] | None = None  # who is asked, by a chat that answers none of another participant, or a start


UNSEEN = Seen("")


class Classifier:
    """Decides which chats are questions."""

    def __init__(self, space: "Space", mode: str, name: str) -> None:
        if mode not in MODES:
            raise ValueError(f"answer is one of {', '.join(MODES)}, not {mode!r}")
        self._space = space
        self._mode = mode
        self._name = name.removeprefix("@")
        self._agents: set[str] = set()
        self._asked: dict[str, int] = {}  # questions of an agent since the last chat of a person
        # By the id, two generations, of which the older is dropped.
        self._young: dict[str, Seen] = {}
        self._old: dict[str, Seen] = {}

    def observe(self, env: Envelope) -> None:
        """Note which participants are agents, and which chat answers which."""
        you = self._space.id
        if env.kind == "system.presence" and env.payload.get("event") == "leave":
            self._agents.discard(str((env.payload.get("participant") or {}).get("id")))
        elif env.kind == "reasoning.start" and env.from_ == you:
            who = env.payload.get("participant_id")  # that is asked to reason there
            self._put(env.id, Seen(you, opens=True, asks=(who,) if isinstance(who, str) else None))
        elif env.kind == "reasoning.start" and len(self._agents) < MAX_AGENTS:
            known = [self._seen(id) for id in env.correlation]
            if any(of.from_ not in ("", env.from_) and not of.opens for of in known):
                self._agents.add(env.from_)
        elif env.kind == "chat":
            by_agent = env.from_ == you or self._is_agent(env.from_)
            if not by_agent:
                self._asked.clear()
            depth = 1 + max((self._seen(id).depth for id in env.correlation), default=0) if by_agent else 0
            self._put(env.id, Seen(env.from_, depth, asks=None if self._answers(env) else env.to))

    def _put(self, id: str, seen: Seen) -> None:
        if len(self._young) >= MAX_CHATS:
            self._young, self._old = {}, self._young
        self._young[id] = seen

    def _seen(self, id: str) -> Seen:
        return self._young.get(id) or self._old.get(id) or UNSEEN

    def _answers(self, env: Envelope) -> bool:
        """Report whether a chat outside of contexts correlates to one of another participant that receives it.

        An envelope that is not known counts as such a chat.
        """
        askers = [self._seen(id).from_ for id in env.correlation]
        return not env.context and any(not who or who != env.from_ and (not env.to or who in env.to) for who in askers)

    def _answers_me(self, env: Envelope) -> bool:
        """Report whether a chat answers one that this participant sent to ask.

        That is the chat of an agent that correlates to it, or of a participant that it was
        addressed to. A chat about an answer of this participant is none, nor is what a person
        says about a chat of this participant to all.
        """
        own = [of for of in map(self._seen, env.correlation) if of.from_ == self._space.id and of.asks is not None]
        return any(env.from_ in (of.asks or ()) or self._is_agent(env.from_) for of in own)

    def is_question(self, env: Envelope) -> bool:
        """Report whether a chat is a question for this participant."""
        you = self._space.id
        if env.from_ in (you, GATEWAY) or not env.text.strip():
            return False
        if env.to and you not in env.to or self._answers_me(env):
            return False
        if self.names_me(env):
            return not self._is_agent(env.from_) or self._allows(env)
        if env.context or self._is_agent(env.from_) or LEADING_MENTION.match(env.text):
            return False  # a remark, the answer of an agent, or for another name
        others = [p.id for p in self._space.participants if p.id != you and self._is_agent(p.id)]
        if self._mode == "any":
            return not mentions(env.text, others)
        return self._mode == "auto" and not others

    def names_me(self, env: Envelope) -> bool:
        """Report whether a chat is addressed to this participant, or mentions it where that counts."""
        you = self._space.id
        return you in env.to or self._mode != "addressed" and mentions(env.text, (you, self._name))

    def allows_part(self, who: str) -> bool:
        """Report whether to reason about another part for a participant, and count it. People are not bounded."""
        if not self._is_agent(who):
            return True
        count = self._asked[who] = self._asked.get(who, 0) + 1
        return count <= MAX_AGENT_QUESTIONS

    def _allows(self, env: Envelope) -> bool:
        """Report whether to answer another question of an agent, and count it."""
        if self._seen(env.id).depth >= MAX_HOPS or self._asked.get(env.from_, 0) >= MAX_AGENT_QUESTIONS:
            return False
        self._asked[env.from_] = self._asked.get(env.from_, 0) + 1
        return True

    def _is_agent(self, id: str) -> bool:
        if id in self._agents:
            return True
        return any(p.id == id and any(map(names_reasoning, p.capabilities)) for p in self._space.participants)


def names_reasoning(capability: Any) -> bool:
    """Report whether a capability names reasoning. The right to cancel alone is for people."""
    if isinstance(capability, dict):
        capability = "" if capability.get("deny") else capability.get("kind")
    return isinstance(capability, str) and capability.startswith("reasoning") and capability[9:] not in (".cancel", "/cancel")


def mentions(text: str, names: Iterable[str]) -> bool:
    """Report whether a text has @ and one of the names, as a word, in any case.

    The characters . : + | belong to the word only if more of it follows.
    """
    word = r"[\w@-]"
    for name in filter(None, names):
        if re.search(rf"(?<!{word})@{re.escape(name)}(?!{word})(?![.:+|](?!@){word})", text, re.IGNORECASE):
            return True
    return False
