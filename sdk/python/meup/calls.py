"""Requests to other participants: calls of their tools, and proposals."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import logging
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, Awaitable, Callable, Iterable, Iterator, Literal, Mapping

from .envelope import Envelope, new_id
from .errors import MeupError, ParticipantLeft, ProposalError, Refused, RPCError, ToolError, ToolNotFound, public_message, set_public_message

if TYPE_CHECKING:
    from .client import Space

log = logging.getLogger("meup")

# AWAY_TIMEOUT is how long a participant may be disconnected before a request to
# it, or a call of PARTICIPANT/TOOL, fails: a lost connection may be restored.
AWAY_TIMEOUT = 2.0
# Bounds of the lists of tools that are kept.
MAX_PAGES = 10
MAX_TOOLS = 500
MAX_LISTS = 64
# SETTLED_TIMEOUT bounds the wait for the decision that came before a withdrawal.
SETTLED_TIMEOUT = 5.0

# MAX_ELICITATIONS bounds the questions of a host about one call.
MAX_ELICITATIONS = 20
# ELICITATION_TIMEOUT bounds the wait for the answer to a question that does not name its end, and
# MAX_ELICITATION_TIMEOUT to any.
ELICITATION_TIMEOUT = 600.0
MAX_ELICITATION_TIMEOUT = 86_400.0
FAILED = -32000
NO_SUCH_METHOD = -32601
ELICITATION = "elicitation/create"

ProgressHandler = Callable[[float, float | None, str], Awaitable[None] | None]


@dataclass(frozen=True, slots=True)
class Elicitation:
    """A question that the host of a tool asks about a call in progress (MCP's elicitation/create)."""

    host: str
    """The participant that runs the tool."""
    call: str
    """The id of the call."""
    params: dict[str, Any]
    """The question as MCP defines it: `message` with `requestedSchema`, or with `url`."""

    @property
    def message(self) -> str:
        """The text of the question."""
        return str(self.params.get("message", ""))

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of the form; empty if a page is to be opened."""
        schema = self.params.get("requestedSchema")
        return schema if isinstance(schema, dict) else {}

    @property
    def url(self) -> str:
        """The page to open; "": the question is a form."""
        return str(self.params.get("url", ""))


ElicitationHandler = Callable[[Elicitation], Awaitable[Mapping[str, Any] | None]]


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a tool. `is_error`: the tool ran and failed; `text` has the reason."""

    content: tuple[dict[str, Any], ...] = ()
    structured: Any = None
    is_error: bool = False

    @property
    def text(self) -> str:
        """The text parts of the content."""
        return "\n".join(str(part.get("text", "")) for part in self.content if part.get("type") == "text")

    @staticmethod
    def of(result: Any) -> "ToolResult":
        doc = result if isinstance(result, dict) else {}
        content = doc.get("content")
        parts = tuple(p for p in content if isinstance(p, dict)) if isinstance(content, list) else ()
        return ToolResult(parts, doc.get("structuredContent"), doc.get("isError") is True)

    def checked(self) -> "ToolResult":
        """Return the result of a tool that did not fail, or raise ToolError."""
        if self.is_error:
            err = ToolError(self.text or "the tool failed")
            err.result = self
            raise err
        return self

    def payload(self) -> dict[str, Any]:
        """Return the result of a tools/call."""
        out: dict[str, Any] = {"content": list(self.content)}
        if self.structured is not None:
            out["structuredContent"] = self.structured
        if self.is_error:
            out["isError"] = True
        return out


@dataclass(frozen=True, slots=True)
class ProposalOutcome:
    """How a proposal ended.

    `by` is the participant that decided, `result` the result of the approved
    call, and `error` the reason why it has none.
    """

    outcome: Literal["fulfilled", "rejected", "withdrawn", "expired"]
    proposal: str
    by: str = ""
    reason: str = ""
    result: ToolResult | None = None
    error: MeupError | TimeoutError | None = None


class _Call:
    """A request that waits for the response of one of its addressees."""

    __slots__ = ("to", "future", "on_progress", "seen", "timer", "timeout", "limit", "questions", "elicited")

    def __init__(self, to: Iterable[str], on_progress: ProgressHandler | None = None) -> None:
        self.to = frozenset(to)
        self.future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.on_progress = on_progress
        self.seen = False  # the addressee was connected since the request
        self.timer: asyncio.TimerHandle | None = None
        self.timeout: asyncio.Timeout | None = None  # of the wait for the response
        self.limit: float | None = None
        self.questions: dict[str, asyncio.Task[None]] = {}  # of the host, which are being answered
        self.elicited = 0  # questions of the host

    def hold(self) -> None:
        """Stop the time limit while a question of the host is answered, or begin it anew."""
        if self.timeout is not None and self.limit is not None and not self.timeout.expired():
            self.timeout.reschedule(None if self.questions else asyncio.get_running_loop().time() + self.limit)

    def settle(self, result: Any) -> None:
        if self.future.done():
            return
        if isinstance(result, BaseException):
            self.future.set_exception(result)
            self.future.exception()  # not logged if no caller waits
        else:
            self.future.set_result(result)


class _Proposal:
    """A proposal that waits for a decision."""

    __slots__ = ("decision", "call")

    def __init__(self) -> None:
        self.decision: asyncio.Future[Envelope] = asyncio.get_running_loop().create_future()
        self.call: _Call | None = None  # the approved call


class Calls:
    """The requests and proposals of a space that are not settled."""

    def __init__(self, space: "Space") -> None:
        self._space = space
        self._calls: dict[str, _Call] = {}
        self._proposals: dict[str, _Proposal] = {}
        self._lists: dict[str, asyncio.Task[list[dict[str, Any]]]] = {}
        self._presence = asyncio.Event()  # set when the connected participants change
        self.on_elicitation: ElicitationHandler | None = None

    @property
    def active(self) -> bool:
        return bool(self._calls or self._proposals)

    def close(self, err: MeupError) -> None:
        for call in self._calls.values():
            call.settle(err)
        for proposal in self._proposals.values():
            if not proposal.decision.done():
                proposal.decision.set_exception(err)
                proposal.decision.exception()

    async def request(
        self, to: list[str], method: str, params: Any, timeout: float | None, context: str,
        correlation: str | Iterable[str], on_progress: ProgressHandler | None = None,
    ) -> Any:
        if not to:
            raise ValueError("name the participants whose response counts")
        id = new_id()
        payload: dict[str, Any] = {"jsonrpc": "2.0", "id": id, "method": method}
        if on_progress is not None:
            params = {**(params or {}), "_meta": {**(params or {}).get("_meta", {}), "progressToken": id}}
        if params is not None:
            payload["params"] = params
        call = self._calls[id] = _Call(to, on_progress)
        self.presence_changed(*to)
        try:
            # Not asyncio.wait_for, which can swallow a cancellation in Python 3.11.
            async with asyncio.timeout(timeout) as call.timeout:
                call.limit = timeout
                await self._space.send("mcp.request", payload, to=to, context=context, correlation=correlation, id=id)
                return await call.future
        except TimeoutError:
            call.timeout = None  # it has ended: the answer to a question does not begin it anew
            await self._cancel(id, to, context, "no response in time")
            away = f" ({to[0]} is not connected)" if len(to) == 1 and not self._connected(to[0]) else ""
            late = TimeoutError(f"no response to {method} of {', '.join(to)} within {timeout:g} s{away}")
            set_public_message(late, f"no answer within {timeout:g}s{away}")
            raise late from None
        except (asyncio.CancelledError, ParticipantLeft):
            call.timeout = None
            await self._cancel(id, to, context, "the result is no longer needed")
            raise
        finally:
            self._forget(id)

    async def _cancel(self, id: str, to: list[str], context: str, reason: str) -> None:
        """Notify the addressees that no response is needed; best effort."""
        params = {"requestId": id, "reason": reason}
        payload = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
        await self._space.send_now("mcp.request", payload, to, context, id)

    def _forget(self, id: str) -> None:
        call = self._calls.pop(id, None)
        if call is None:
            return
        call.timeout = None
        if call.timer is not None:
            call.timer.cancel()
        for question in call.questions.values():
            question.cancel()

    # Tools.

    async def call_tool(
        self, host: str, tool: str, arguments: Mapping[str, Any] | None, timeout: float | None, context: str,
        correlation: str | Iterable[str], on_progress: ProgressHandler | None, propose: bool, proposal_timeout: float,
        audience: list[str],
    ) -> ToolResult:
        """Call a tool of a participant, or propose the call if it is not allowed.

        The audience sees the proposal and the response of an own tool; empty: all.
        """
        params = {"name": tool, "arguments": dict(arguments or {})}
        space = self._space
        with self._named(host, tool):
            try:
                if host == space.id:
                    result = await space._tools.call_own(params, timeout, context, correlation, audience)
                else:
                    result = ToolResult.of(await self.request([host], "tools/call", params, timeout, context, correlation, on_progress))
                return result.checked()
            except Refused as refusal:
                if refusal.code == "invalid_payload" and str(refusal.details.get("path", "")).startswith("/payload/params/arguments"):
                    # The gateway knows the schema of the tool; the host would have answered this.
                    raise RPCError(-32602, refusal.message, refusal.details) from refusal
                if not propose or refusal.code != "capability_violation":
                    raise
                refused = refusal
            try:
                done = await self.propose(host, tool, arguments, proposal_timeout, timeout, audience, context, correlation)
            except Refused as refusal:
                if refusal.code != "capability_violation":
                    raise
                raise refused from None  # it may not propose calls either
            if done.result is not None:
                return done.result.checked()
            raise done.error or ProposalError(done.proposal, done.outcome, done.by, done.reason)

    @contextlib.contextmanager
    def _named(self, host: str, tool: str) -> Iterator[None]:
        """Give the errors of a call the sentence that the participants of a question get."""
        try:
            yield
        except (MeupError, TimeoutError) as err:
            name = f"the tool {tool}" + (f" of {host}" if host != self._space.id else "")
            if isinstance(err, Refused) and err.code == "capability_violation":
                set_public_message(err, f"{name} was not called: it is not allowed")
            elif isinstance(err, ProposalError):
                set_public_message(err, f"{name} was not called: {_decided(err)}")
            elif isinstance(err, (RPCError, ToolError, TimeoutError, ParticipantLeft)):
                message = err.message if isinstance(err, RPCError) else public_message(err) or str(err) or "no answer in time"
                set_public_message(err, f"{name} failed: {message.strip()[:300].rstrip('. ')}")
            raise

    def _connected(self, id: str) -> bool:
        return any(p.id == id for p in self._space.participants)

    async def _returns(self, id: str) -> bool:
        """Wait a little for a participant that is not connected, and report whether it is."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(AWAY_TIMEOUT):
                while not self._connected(id):
                    self._presence.clear()
                    await self._presence.wait()
        return self._connected(id)

    async def resolve(self, name: str, to: str | None, among: Iterable[str] = ()) -> tuple[str, str]:
        """Return the participant that serves a tool, and the tool's own name.

        A name without a participant is looked up among some participants; empty: all.
        """
        space = self._space
        if to is not None:
            return to, name
        host, slash, tool = name.partition("/")
        if slash and tool and self._connected(host):
            return host, tool
        if space._tools.serves(name):
            return space.id, name
        hosts = [p.id for p in space.participants if p.serves_tools and p.id != space.id and (not among or p.id in among)]
        lists = await asyncio.gather(*(self.list_tools(id, 10.0) for id in hosts), return_exceptions=True)
        found = [id for id, tools in zip(hosts, lists) if isinstance(tools, list) and any(t.get("name") == name for t in tools)]
        if len(found) == 1:
            return found[0], name
        if found:
            several = ToolNotFound(f"{', '.join(found)} have a tool {name!r}: pass participant, or write {found[0]}/{name}")
            set_public_message(several, f"the tool {name} was not called: several participants offer it")
            raise several
        if slash and tool and await self._returns(host):
            return host, tool
        away = f" ({host} is not connected)" if slash and tool else ""
        private = "; the question is private, so name another one with participant=" if among else ""
        missing = ToolNotFound(f"no connected participant offers the tool {name}{away}{private}")
        why = f"{tool} of {host} was not called: {host} is not connected" if away else f"{name} was not called: no connected participant offers it"
        set_public_message(missing, f"the tool {why}")
        raise missing

    async def list_tools(self, participant: str, timeout: float) -> list[dict[str, Any]]:
        task = self._lists.get(participant)
        if task is None or task.done() and (task.cancelled() or task.exception() is not None):
            if len(self._lists) >= MAX_LISTS:
                self._lists.pop(next(iter(self._lists)))
            task = self._lists[participant] = asyncio.ensure_future(self._list(participant, timeout))
            task.add_done_callback(lambda t: t.cancelled() or t.exception())
        return list(await asyncio.shield(task))

    async def _list(self, participant: str, timeout: float) -> list[dict[str, Any]]:
        tools: list[dict[str, Any]] = []
        params: dict[str, Any] = {}
        async with asyncio.timeout(timeout):
            for _ in range(MAX_PAGES):
                page = await self.request([participant], "tools/list", params, None, "", ())
                page = page if isinstance(page, dict) else {}
                listed = page.get("tools")
                tools += [t for t in listed if isinstance(t, dict)] if isinstance(listed, list) else []
                cursor = page.get("nextCursor")
                if not cursor or len(tools) >= MAX_TOOLS:
                    break
                params = {"cursor": cursor}
        return tools[:MAX_TOOLS]

    # Proposals.

    async def propose(
        self, host: str, tool: str, arguments: Mapping[str, Any] | None, timeout: float, call_timeout: float | None,
        to: list[str], context: str, correlation: str | Iterable[str],
    ) -> ProposalOutcome:
        id = new_id()
        if self._space._o.retry:
            await self._space._gate.wait()  # a pause does not count
        begun = asyncio.get_running_loop().time()
        payload = {
            "method": "tools/call", "params": {"name": tool, "arguments": dict(arguments or {})}, "participant_id": host,
            **self._space._expires_at(timeout),
        }
        proposal = self._proposals[id] = _Proposal()
        try:
            await self._space.send("mcp.proposal", payload, to=to, context=context, correlation=correlation, id=id)
            left = timeout and max(0.0, begun + timeout - asyncio.get_running_loop().time())
            decision = await self._decision(id, proposal, left, to, context)
            if decision is None:
                return ProposalOutcome("expired", id, reason="timeout")
            return await self._outcome(id, proposal, decision, call_timeout)
        except asyncio.CancelledError:
            if not proposal.decision.done():
                self._space.send_final("mcp.withdraw", {"reason": "no_longer_needed"}, to=to, context=context, correlation=id)
            raise
        finally:
            self._proposals.pop(id, None)

    async def _decision(
        self, id: str, proposal: _Proposal, timeout: float, to: list[str], context: str
    ) -> Envelope | None:
        """Wait for the decision, and withdraw the proposal if there is none in time."""
        try:
            async with asyncio.timeout(timeout):
                return await asyncio.shield(proposal.decision)
        except TimeoutError:
            pass
        try:
            await self._space.send("mcp.withdraw", {"reason": "timeout"}, to=to, context=context, correlation=id)
            return None
        except Refused as refusal:
            if refusal.code != "proposal_settled":
                return None
        try:  # the decision is in the log, before the withdrawal
            async with asyncio.timeout(SETTLED_TIMEOUT):
                return await asyncio.shield(proposal.decision)
        except TimeoutError:
            raise TimeoutError("the proposal was decided, and the decision did not arrive in time") from None

    async def _outcome(self, id: str, proposal: _Proposal, decision: Envelope, timeout: float | None) -> ProposalOutcome:
        reason = str(decision.payload.get("reason", ""))
        if decision.kind == "mcp.reject":
            return ProposalOutcome("rejected", id, decision.from_, reason)
        if decision.kind != "mcp.request":
            return ProposalOutcome("expired" if reason == "timeout" else "withdrawn", id, decision.from_, reason)
        call = proposal.call
        assert call is not None  # _decide sets both
        try:
            async with asyncio.timeout(timeout):
                return ProposalOutcome("fulfilled", id, decision.from_, "", ToolResult.of(await call.future))
        except (MeupError, TimeoutError) as err:
            return ProposalOutcome("fulfilled", id, decision.from_, str(err) or "no response in time", None, err)
        finally:
            self._forget(decision.id)

    # Received envelopes.

    def route(self, env: Envelope) -> None:
        if env.kind == "mcp.response":
            for id in env.correlation:
                call = self._calls.get(id)
                if call is not None and env.from_ in call.to:
                    call.settle(_result(env))
        elif env.kind == "mcp.request":
            self._decide(env)
            self._notified(env)
        elif env.kind in ("mcp.reject", "mcp.withdraw"):
            self._decide(env)
        elif env.kind == "participant.status" and "tools" in (env.payload.get("offers") or ()):
            self._lists.pop(env.from_, None)

    def _decide(self, env: Envelope) -> None:
        """Note the first decision about a proposal. The gateway admits no second one."""
        for id in env.correlation:
            proposal = self._proposals.get(id)
            if proposal is None or proposal.decision.done():
                continue
            if env.kind == "mcp.request":
                if env.from_ == self._space.id:
                    continue
                proposal.call = self._calls[env.id] = _Call(env.to)
            if env.kind == "mcp.withdraw" and env.from_ != self._space.id:
                continue
            proposal.decision.set_result(env)

    def _notified(self, env: Envelope) -> None:
        method = env.payload.get("method")
        if method == "notifications/tools/list_changed":
            self._lists.pop(env.from_, None)
        elif method == "notifications/progress":
            params = env.payload.get("params")
            params = params if isinstance(params, dict) else {}
            call = self._calls.get(str(params.get("progressToken", "")))
            if call is None or call.on_progress is None or env.from_ not in call.to:
                return
            done, total = params.get("progress"), params.get("total")
            if isinstance(done, (int, float)):
                waiting = call.on_progress(done, total if isinstance(total, (int, float)) else None, str(params.get("message", "")))
                if inspect.isawaitable(waiting):
                    self._space._spawn(waiting)

    # Questions of hosts about calls.

    def route_elicitation(self, env: Envelope) -> None:
        """Answer a question of a host about a call in progress, or drop one that the host withdraws.

        Questions about other calls are left alone: another process of this participant may have made the call.
        """
        if env.kind != "mcp.request" or self._space.id not in env.to:
            return
        method = env.payload.get("method")
        for id in env.correlation if method == ELICITATION else ():
            call = self._calls.get(id)
            if call is not None and env.from_ in call.to and not call.future.done():
                if call.elicited == MAX_ELICITATIONS:
                    self._space._spawn(self._respond(env, {"error": {"code": FAILED, "message": "too many questions about one call"}}))
                    return
                call.elicited += 1
                task = call.questions[env.id] = self._space._spawn(self._elicit(id, env))
                call.hold()
                task.add_done_callback(lambda _: (call.questions.pop(env.id, None), call.hold()))
                return
        if method == "notifications/cancelled":
            for call in self._calls.values():
                for id in env.correlation:
                    if id in call.questions and env.from_ in call.to:
                        call.questions[id].cancel()

    async def _elicit(self, call: str, env: Envelope) -> None:
        if self.on_elicitation is None:
            return await self._respond(env, {"error": {"code": NO_SUCH_METHOD, "message": "this participant answers no questions of tool servers"}})
        params = env.payload.get("params")
        params = params if isinstance(params, dict) else {}
        handling = asyncio.ensure_future(self.on_elicitation(Elicitation(env.from_, call, params)))
        self._space._tasks.add(handling)  # it may go on after it is cancelled
        handling.add_done_callback(self._space._tasks.discard)
        try:
            await asyncio.wait({handling}, timeout=self._elicitation_timeout(params))
            if not handling.done():
                raise TimeoutError
            content = handling.result()
            await self._respond(env, {"result": {"action": "decline"} if content is None else {"action": "accept", "content": dict(content)}})
        except Exception:  # its text may have secrets: it is only logged
            log.exception("the question %s of %s is canceled: its handler failed or took too long, or the answer cannot be sent", env.id, env.from_)
            await self._respond(env, {"result": {"action": "cancel"}})
        finally:
            handling.cancel()

    async def _respond(self, env: Envelope, answer: dict[str, Any]) -> None:
        payload = {"jsonrpc": "2.0", "id": env.payload.get("id", env.id), **answer}
        await self._space.send("mcp.response", payload, to=[env.from_], context=env.context, correlation=env.id)

    def _elicitation_timeout(self, params: dict[str, Any]) -> float:
        """Return how long an answer is waited for: until the time at which the host stops waiting, if it names one."""
        meta = params.get("_meta")
        try:
            end = datetime.fromisoformat(meta["meup/expires_at"])
            left = (end - datetime.now(timezone.utc) - self._space._clock).total_seconds()
        except (TypeError, KeyError, ValueError):
            return ELICITATION_TIMEOUT
        return min(left, MAX_ELICITATION_TIMEOUT)

    def presence_changed(self, *changed: str) -> None:
        """Start or stop the timers of calls to one participant that is away."""
        self._presence.set()
        present = {p.id for p in self._space.participants}
        for id in set(self._lists) - present:
            self._lists.pop(id)
        for call in self._calls.values():
            if len(call.to) != 1 or changed and not call.to & set(changed):
                continue
            (who,) = call.to
            if who in present:
                call.seen = True
                if call.timer is not None:
                    call.timer.cancel()
                    call.timer = None
            elif call.seen and call.timer is None:
                call.timer = asyncio.get_running_loop().call_later(AWAY_TIMEOUT, self._gone, call, who)

    def _gone(self, call: _Call, who: str) -> None:
        if all(p.id != who for p in self._space.participants):
            call.settle(ParticipantLeft(f"{who} left the space"))


def _decided(err: ProposalError) -> str:
    """Describe how a proposal ended that was not fulfilled."""
    if err.outcome == "rejected":
        return str(err).rstrip(". ")
    return "no participant decided in time" if err.outcome == "expired" else "the proposal was withdrawn"


def _result(env: Envelope) -> Any:
    """Return the result of a response, or its error."""
    error = env.payload.get("error")
    if not isinstance(error, dict):
        return env.payload.get("result")
    code = error.get("code")
    return RPCError(code if isinstance(code, int) else -32000, str(error.get("message", "")), error.get("data"))
