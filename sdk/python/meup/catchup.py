"""The work that an earlier process of this participant left open in the log."""

from __future__ import annotations

import asyncio
import urllib.error
import urllib.request
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any, Iterator
from urllib.parse import quote, urlencode, urlsplit, urlunsplit

from .addressing import Classifier
from .calls import ToolResult
from .envelope import Envelope, loads, of_document, within

if TYPE_CHECKING:
    from .client import Space

# Bounds of the part of the log that is read: the newest entries, and those up to
# this participant's last envelope.
RECENT_ENTRIES = 2000
OWN_ENTRIES = 1000
PAGE = 1000
SEARCH_PAGES = 5
READ_TIMEOUT = 30.0
ATTEMPTS = 3
AWAY_ATTEMPTS = 8
# Bounds of the old questions that are answered.
MAX_QUESTIONS = 64
MAX_AGE = timedelta(hours=1)
# MISSED_AGE bounds the age of the calls that no process received and that are made now.
MISSED_AGE = timedelta(minutes=1)
# MAX_CALLS bounds the earlier calls of a question, the newest of which are kept.
MAX_CALLS = 32
MAX_WAITING = 1024

RESTARTED = "the agent was restarted"


@dataclass(frozen=True, slots=True)
class EarlierCall:
    """A tool call of an attempt to answer a question before a restart.

    `result` is None if the outcome is not known: the call may have taken effect.
    """

    id: str
    host: str
    tool: str
    arguments: dict[str, Any]
    result: ToolResult | None = None


class Backlog:
    """The open work in a part of the log. Without a classifier, no chat is a question."""

    def __init__(self, you: str, classifier: Classifier | None) -> None:
        self._you = you
        self._classifier = classifier
        self._spoken = False  # this participant has sent an envelope before
        self._chats: dict[str, tuple[Envelope, bool]] = {}
        self._contexts: dict[str, Envelope] = {}  # the starts, by path
        self._proposals: dict[str, Envelope] = {}
        self._waiting: dict[str, Envelope] = {}  # requests to this participant without a response
        self._cancelled: list[Envelope] = []  # the cancellations of requests
        self._through: int | None = 0  # later requests were received by no process; None: it is not known
        self._attempts: dict[str, tuple[str, ...]] = {}  # the chats that an outermost start correlates to
        self._ended: set[str] = set()  # attempts with an end that is not of a later process
        self._calls: dict[str, tuple[str, EarlierCall]] = {}  # by the request, with its outermost context
        self.settled: set[str] = set()  # chats that are answered or withdrawn

    @staticmethod
    async def read(
        space: "Space", *, since: int | None = None, whole: bool = False, classifier: Classifier | None = None
    ) -> "Backlog":
        """Read a part of the log up to the last welcome, or everything after since.

        Errors: OSError, ValueError.
        """
        work = Backlog(space.id, classifier)
        history = _History(space)
        async with asyncio.timeout(READ_TIMEOUT):
            if since is not None or whole:
                async for env in history.entries(since or 0, None if since is not None else space._joined):
                    work.note(env)
                return work
            last = await history.last_own(space._joined)
            recent, begin = await history.newest(RECENT_ENTRIES, space._joined)
            missing = OWN_ENTRIES - sum(env.seq <= last for env in recent)
            if last > 0 and begin and missing > 0:
                own, _ = await history.newest(missing, min(last, begin))
                recent = own + recent
        if last < 0:
            work._through = None
        for env in recent:
            work.note(env)
        return work

    def note(self, env: Envelope) -> None:
        """Record one entry."""
        if env.from_ == self._you:
            self._spoken = True
            self._through = _stopped(env)
            self._note_own(env)
        if self._classifier is not None:
            self._note_question(self._classifier, env)
        if env.kind == "chat.cancel":
            self._settle(env.correlation)
        elif env.kind == "reasoning.conclusion":
            self._contexts.pop(env.context, None)
            self._ended.add(env.context)
        elif env.kind == "reasoning.cancel":
            if env.from_ != self._you or env.payload.get("reason") != RESTARTED:
                self._ended.update((env.context, *env.correlation))
            for path, start in list(self._contexts.items()):
                if path == env.context or not env.context and start.id in env.correlation:
                    del self._contexts[path]
        elif env.kind in ("mcp.request", "mcp.response", "mcp.reject", "mcp.withdraw"):
            self._note_call(env)

    def _note_question(self, classifier: Classifier, env: Envelope) -> None:
        """Record a question, or that another participant has begun to answer one, or has answered it.

        Such a question is left to that participant, unless it names this one or
        this one began with it earlier.
        """
        classifier.observe(env)
        asked = env.kind == "reasoning.start" and env.context and env.payload.get("participant_id") == self._you
        if asked and env.from_ != self._you and (not env.to or self._you in env.to):
            self._contexts[env.opens] = replace(env, to=(env.from_,) if env.to else ())  # an earlier process may have taken the part
        if env.kind in ("reasoning.start", "chat") and not env.context and env.from_ != self._you:
            for id in env.correlation:
                if id in self._chats and id not in self._begun() and self._chats[id][0].from_ != env.from_ and not classifier.names_me(self._chats[id][0]):
                    del self._chats[id]
        if env.kind == "chat" and classifier.is_question(env):
            self._chats[env.id] = (env, self._spoken)
            if len(self._chats) > MAX_QUESTIONS:
                del self._chats[next(iter(self._chats))]

    def _begun(self) -> set[str]:
        """Return the chats that this participant has begun to reason about."""
        return {id for ids in self._attempts.values() for id in ids}

    def _note_own(self, env: Envelope) -> None:
        if env.kind == "chat":
            askers = {id: self._chats[id][0].from_ for id in env.correlation if id in self._chats}
            # What is said to another participant about a question does not answer it.
            self._settle(tuple(id for id in env.correlation if not env.to or askers.get(id, env.to[0]) in env.to))
        elif env.kind == "reasoning.start":
            self._contexts[env.opens] = env
            if not env.context:
                self._attempts[env.id] = env.correlation
        elif env.kind == "mcp.request":
            self._sent(env, env.context)
            if self._you in env.to and "id" in env.payload:  # a call of an own tool
                self._waiting[env.id] = env
        elif env.kind == "mcp.proposal":
            self._proposals[env.id] = env

    def _settle(self, chats: tuple[str, ...]) -> None:
        for id in chats:
            self.settled.add(id)
            self._chats.pop(id, None)

    def _note_call(self, env: Envelope) -> None:
        for id in env.correlation:
            proposal = self._proposals.get(id)
            if proposal is not None and (env.kind in ("mcp.reject", "mcp.withdraw") or env.kind == "mcp.request" and env.from_ != self._you):
                del self._proposals[id]
                if env.kind == "mcp.request":
                    self._sent(env, proposal.context)
            if env.kind == "mcp.response":
                if env.from_ == self._you:
                    self._waiting.pop(id, None)
                known = self._calls.get(id)
                if known is not None and env.from_ == known[1].host and "result" in env.payload:
                    call = known[1]
                    result = ToolResult.of(env.payload["result"])
                    self._calls[id] = (known[0], EarlierCall(call.id, call.host, call.tool, call.arguments, result))
        to_me = env.kind == "mcp.request" and env.from_ != self._you and self._you in env.to
        if to_me and "id" in env.payload and len(self._waiting) < MAX_WAITING:
            self._waiting[env.id] = env
        elif to_me and env.payload.get("method") == "notifications/cancelled":
            self._cancelled.append(env)

    def missed(self, marks: bool) -> list[Envelope]:
        """Return the requests of the last minute to handle now, with the cancellations. They are no leftovers then.

        Calls that an earlier process may have made are left over; older requests
        get no response. marks: an earlier process could mark its start (ADR 0041).
        """
        oldest = datetime.now(timezone.utc) - MISSED_AGE
        found: list[Envelope] = []
        for env in [env for env in self._waiting.values() if env.from_ != self._you]:
            received = not marks or self._through is None or env.seq <= self._through
            recent = env.time > oldest
            if recent and received and env.payload.get("method") == "tools/call" and not self._is_withdrawn(env):
                continue
            del self._waiting[env.id]
            if recent:
                found.append(env)
        return sorted(found + self._cancelled, key=lambda env: env.seq)

    def _is_withdrawn(self, request: Envelope) -> bool:
        ids = (request.id, request.payload.get("id"))
        return any(
            env.from_ == request.from_ and env.seq > request.seq and isinstance(env.payload.get("params"), dict)
            and env.payload["params"].get("requestId") in ids
            for env in self._cancelled
        )

    def _sent(self, env: Envelope, context: str) -> None:
        """Record a tool call that was made for this participant."""
        params = env.payload.get("params")
        if env.payload.get("method") == "tools/call" and isinstance(params, dict) and context and len(env.to) == 1:
            given = params.get("arguments")
            call = EarlierCall(env.id, env.to[0], str(params.get("name")), given if isinstance(given, dict) else {})
            self._calls[env.id] = (context.partition("/")[0], call)

    def interrupted(self, question: str) -> int:
        """Return the number of attempts at a question that had no end when their process ended."""
        return sum(question in ids and root not in self._ended for root, ids in self._attempts.items())

    def calls(self, question: str) -> tuple[EarlierCall, ...]:
        """Return the tool calls of earlier attempts at a question."""
        found = [call for root, call in self._calls.values() if question in self._attempts.get(root, ())]
        return tuple(found[-MAX_CALLS:])

    def questions(self, all: bool) -> list[Envelope]:
        """Return the questions without an answer, oldest first."""
        begun = self._begun()
        oldest = datetime.now(timezone.utc) - MAX_AGE
        return [env for env, spoken in self._chats.values() if all or (spoken or env.id in begun) and env.time > oldest]

    def leftovers(self, question: str = "") -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
        """Return the envelopes that close the open work, or the work on one question.

        Contexts are closed innermost first.
        """
        roots = {root for root, ids in self._attempts.items() if question in ids}

        def counts(path: str) -> bool:
            return not question or any(within(path, root) for root in roots)

        for id, env in self._waiting.items():
            own = env.from_ == self._you
            if question and not (own and counts(env.context)):
                continue
            to = self._contexts[env.context].to if env.context in self._contexts else ()
            error = {"code": -32000, "message": "restarted: whether the call took effect is not known", "data": {"reason": "restarted"}}
            payload = {"jsonrpc": "2.0", "id": env.payload.get("id", id), "error": error}
            yield "mcp.response", payload, {"to": to if own else [env.from_], "context": env.context, "correlation": id}
        for id, env in self._proposals.items():
            if counts(env.context):
                yield "mcp.withdraw", {"reason": "no_longer_needed"}, {"to": env.to, "context": env.context, "correlation": id}
        for path, env in reversed(self._contexts.items()):
            if counts(path):
                yield "reasoning.cancel", {"reason": RESTARTED}, {"to": env.to, "context": path, "correlation": env.id}


def _stopped(env: Envelope) -> int | None:
    """Return the position in the mark of the end; None if an envelope is none."""
    through = env.payload.get("through")
    return through if env.kind == "participant.status" and env.payload.get("status") == "stopped" and isinstance(through, int) else None


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: the token is for the gateway alone."""

    def redirect_request(self, *_: Any) -> None:
        return None


class _History:
    """Reads the log of a space over HTTP, in a thread."""

    def __init__(self, space: "Space") -> None:
        self._space = space
        parts = urlsplit(space._o.target)
        if not parts.path.endswith("/ws"):
            raise ValueError("the address of the socket does not end with /ws: the address of the API is not known")
        scheme = "https" if parts.scheme == "wss" else "http"
        path = f"{parts.path.removesuffix('/ws')}/api/spaces/{quote(space.name, safe='')}/envelopes"
        self._address = urlunsplit((scheme, parts.netloc, path, "", ""))
        self._opener = urllib.request.build_opener(_NoRedirect)

    async def page(self, **query: Any) -> dict[str, Any]:
        query["log"] = self._space._log_id
        text = urlencode({k: v for k, v in query.items() if v not in (None, "")})
        doc = await self._retried(f"{self._address}?{text}")
        if not isinstance(doc, dict):
            raise ValueError("the history is not an object")
        return doc

    async def _retried(self, address: str) -> Any:
        """Read a page, again after the time that a busy gateway requests, or while there is none."""
        busy = away = 0
        while True:
            try:
                return await asyncio.to_thread(self._get, address)
            except urllib.error.HTTPError as err:
                err.close()
                busy += 1
                after = err.headers.get("Retry-After", "")
                if busy == ATTEMPTS or err.code not in (429, 503) or not after.isdecimal():
                    raise
                wait = float(after)
            except OSError:  # no connection
                away += 1
                if away == AWAY_ATTEMPTS:
                    raise
                wait = self._space._o.backoff.delay(away)
            await asyncio.sleep(wait)

    def _get(self, address: str) -> Any:
        request = urllib.request.Request(address, headers=dict(self._space._o.headers))
        if self._space._o.token:
            request.add_header("Authorization", "Bearer " + self._space._o.token)
        with self._opener.open(request, timeout=READ_TIMEOUT) as response:
            return loads(response.read())

    async def entries(self, since: int, up_to: int | None) -> Any:
        while True:
            page = await self.page(since=since, before=None if up_to is None else up_to + 1, limit=PAGE)
            for doc in page.get("envelopes") or ():
                yield of_document(doc)
            if not page.get("has_more"):
                return
            since = int(page["next"])

    async def newest(self, count: int, up_to: int) -> tuple[list[Envelope], int]:
        """Return the newest entries, oldest first, and the position before them.

        Positions are not consecutive: in a log on NATS they are a thousand apart.
        """
        found: list[Envelope] = []
        before = up_to + 1
        for _ in range(SEARCH_PAGES):
            page = await self.page(order="desc", before=before, limit=min(count - len(found), PAGE))
            found += map(of_document, page.get("envelopes") or ())
            more = bool(page.get("has_more"))
            before = int(page["next"]) if more else 1
            if not more or len(found) >= count:
                break
        return found[::-1], before - 1

    async def last_own(self, head: int) -> int:
        """Return the position of this participant's last envelope; 0 if there is none, -1 if it was not found."""
        query: dict[str, Any] = {"from": self._space.id, "order": "desc", "limit": 1, "before": head + 1}
        for _ in range(SEARCH_PAGES):
            page = await self.page(**query)
            if page.get("envelopes"):
                return int(page["envelopes"][0]["seq"])
            if not page.get("has_more"):
                return 0
            query["before"] = page["next"]
        return -1
