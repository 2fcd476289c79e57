"""A participant of a space: sending, receiving, and its handlers."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import logging
import os
import signal
from dataclasses import dataclass
from typing import Any, AsyncGenerator, AsyncIterator, Awaitable, Coroutine, Generator, Iterable, Iterator, Mapping
from urllib.parse import parse_qsl, urlsplit

from ._desk import Handler, Questions
from ._gate import passes_pause
from ._needs import missing
from ._outbox import Pending
from ._socket import gateway_url
from ._thread import ThreadEvent, read
from .backoff import Backoff
from .calls import Calls, ElicitationHandler, ProgressHandler, ProposalOutcome, ToolResult
from .connection import Connection, Options, Participant, Position, _Resume, socket_url
from .envelope import Envelope, derived_id, encode, new_id
from .errors import Closed, Gap, MeupError, NotConfigured, Refused
from .filters import Filter
from .tools import ServedTools, ToolFunction

log = logging.getLogger("meup")

# CLOSING_TIME bounds the envelopes that end the work of a participant.
CLOSING_TIME = 3.0


@dataclass(frozen=True, slots=True)
class Receipt:
    """The position of an envelope in the log; `seq` is 0 if it is not stored."""

    id: str
    seq: int


def connect(
    url: str | None = None,
    token: str | None = None,
    space: str | None = None,
    *,
    since: int | Position | None = None,
    filter: Filter | None = None,
    echo: bool = True,
    observe: bool = False,
    retry: bool = True,
    connect_timeout: float = 0.0,
    in_flight: int = 64,
    buffer: int = 256,
    buffer_bytes: int = 8 << 20,
    backoff: Backoff = Backoff(),
    headers: Mapping[str, str] | None = None,
) -> "Space":
    """Return a space to join: `async with connect() as space`, or `await space.run()`.

    The defaults of url, token and space are in MEUP_URL, MEUP_TOKEN and
    MEUP_SPACE. The URL names the gateway (http, https) or its socket
    (ws, wss); the space may be in its query.

    since: where to start; 0 is the beginning of the log, None its head.
    filter: the envelopes that receive returns.
    echo: whether receive returns this participant's own envelopes.
    observe: only observe: nothing can be sent, and the filter has no exceptions.
    retry: send temporarily refused envelopes again (rate_limited, unavailable,
        outcome_unknown, and paused at the end of the pause); False raises Refused.
    connect_timeout: seconds to wait for a gateway that is away at the start; 0:
        without end. The logger "meup" warns of it once.
    in_flight: bound of the envelopes that are not acknowledged; send waits.
    buffer, buffer_bytes: bounds of the received envelopes that wait for receive.
    """
    url = url or os.environ.get("MEUP_URL", "")
    if not url:
        raise ValueError("no gateway: pass url, or set MEUP_URL")
    target = socket_url(url)
    query = dict(parse_qsl(urlsplit(target).query, keep_blank_values=True))
    name = space or query.get("space") or os.environ.get("MEUP_SPACE", "")
    if not name:
        raise ValueError("no space: pass space, or set MEUP_SPACE")
    if min(in_flight, buffer, buffer_bytes) < 1:
        raise ValueError("in_flight, buffer and buffer_bytes must be positive")
    return Space(
        Options(
            target, token if token is not None else os.environ.get("MEUP_TOKEN", ""), name, since, filter or Filter(),
            echo, observe, retry, connect_timeout, in_flight, buffer, buffer_bytes, backoff, dict(headers or {}),
        )
    )


class Space(Connection):
    """A space that this program joins as a participant. Use it from one event loop."""

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self.name = options.name
        self._tasks: set[asyncio.Task[Any]] = set()
        self._finals: set[asyncio.Task[Any]] = set()  # of _tasks
        self._shutdown = asyncio.Event()  # another participant, or a signal, shut this one down
        self._signal = 0  # the number of the signal
        self._calls = Calls(self)
        self._tools = ServedTools(self)
        self._questions = Questions(self)

    # Joining and leaving.

    async def join(self) -> "Space":
        """Join the space. Returns after the gateway's welcome.

        Errors: ConnectError if the gateway rejects the connection, NotReached
        after connect_timeout, NotConfigured without a token.
        """
        if not self._o.token and "authorization" not in map(str.lower, self._o.headers):
            raise NotConfigured("the token is empty: pass connect(token=…) or set MEUP_TOKEN; a variable that it is read from may not be set")
        await self._join()
        self._tools.begin()
        return self

    def __await__(self) -> Generator[Any, None, "Space"]:
        return self.join().__await__()

    async def __aenter__(self) -> "Space":
        return await self.join()

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Leave the space. Questions and tool calls in progress are cancelled.

        Sends that are not acknowledged fail with Closed. Envelopes that were
        received remain available to receive.
        """
        if self._supervisor is None:
            self._error = self._error or Closed()
            return
        if not self._closing and self._error is None:
            await self._questions.shutdown(CLOSING_TIME)
            await self._tools.shutdown(CLOSING_TIME)
            finals = self._finals - {asyncio.current_task()}
            if finals:
                await asyncio.wait(finals, timeout=CLOSING_TIME)
            await self._tools.end(CLOSING_TIME)
        self._closing = True
        self._interrupt(Closed())
        await asyncio.shield(self._supervisor)
        tasks = self._tasks - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def run(self, *, catch_up: str = "auto") -> None:
        """Answer questions and tool calls until the space ends.

        Joins the space if it is not joined. Received envelopes are not kept for
        receive. Returns after close, SIGTERM, SIGINT, or when an authorized participant
        shuts this one down; raises ConnectionClosed if the gateway ended the
        connection for good. meup.run is the same as a whole program.

        catch_up: the questions of before the start that are answered: "auto"
        those of the last hour that were asked after this participant's first
        envelope, "all", or "off". Unless it is "off", work that an earlier
        process of this participant left open is closed. A question that another
        agent has begun to reason about first is left to it, unless the question
        is addressed to this participant or mentions it.
        """
        if catch_up not in ("auto", "all", "off"):
            raise ValueError('catch_up is "auto", "all" or "off"')
        self._discard = True
        with self._terminated():
            try:
                if self._supervisor is None and not await self._unless_shut_down(self.join()):
                    return
                self._inbox.clear()
                self._kept = self._routed
                self._wake.set()
                for capability, effect in missing(self.capabilities, self._questions.active, self._tools.active):
                    log.warning("capability missing: %s: %s", capability, effect)
                await self._questions.start(catch_up)
                await self._unless_shut_down(self._ended.wait())
            finally:
                await self.close()
        if self._error is not None and not isinstance(self._error, Closed):
            raise self._error

    async def _unless_shut_down(self, work: Coroutine[Any, Any, Any]) -> bool:
        """Wait for some work, or until a signal or another participant ends it. Return whether it is done."""
        tasks = asyncio.ensure_future(work), asyncio.ensure_future(self._shutdown.wait())
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if tasks[0].done():
                await tasks[0]
            return tasks[0].done()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    @contextlib.contextmanager
    def _terminated(self) -> Iterator[None]:
        """Let SIGTERM and SIGINT end run, where the platform and the thread allow it."""
        loop = asyncio.get_running_loop()
        with contextlib.ExitStack() as handlers:
            with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
                for number in (signal.SIGTERM, signal.SIGINT):
                    loop.add_signal_handler(number, self._signalled, number, handlers)
                    handlers.callback(loop.remove_signal_handler, number)
            yield

    def _signalled(self, number: int, handlers: contextlib.ExitStack) -> None:
        """End run. A second signal ends the program at once."""
        self._signal = number
        log.info("stopping%s", self._questions.closing())
        self._shutdown.set()
        handlers.close()

    # State.

    @property
    def id(self) -> str:
        """The id of this participant; "" before the space is joined."""
        return self._you

    @property
    def capabilities(self) -> list[Any]:
        """The rights of this participant, from the newest welcome."""
        return list(self._welcome.get("you", {}).get("capabilities") or ())

    @property
    def connections(self) -> int:
        """How many connections this participant had at the newest welcome, with this one; 0: not known."""
        return int(self._welcome.get("you", {}).get("connections") or 0)

    @property
    def limits(self) -> dict[str, Any]:
        """The limits of this participant, from the newest welcome."""
        return dict(self._welcome.get("you", {}).get("limits") or {})

    @property
    def participants(self) -> list[Participant]:
        """The connected participants, with this one."""
        return list(self._participants.values())

    @property
    def position(self) -> Position:
        """The position after the last envelope that was kept, for a later connect."""
        return Position(self._kept, self._log_id)

    @property
    def paused(self) -> bool:
        """Whether another participant has paused this one."""
        return self._gate.closed

    # Sending.

    async def send(
        self,
        kind: str,
        payload: Mapping[str, Any] | None = None,
        *,
        to: Iterable[str] = (),
        context: str = "",
        correlation: str | Iterable[str] = (),
        id: str | None = None,
    ) -> Receipt:
        """Publish an envelope. Returns when it is durable in the log.

        A lost connection neither loses nor duplicates it. During a pause of this
        participant it waits, unless the kind may be sent. Errors: Refused, and
        Closed or ConnectionClosed. If the caller is cancelled, the envelope may
        or may not be in the log; sending it again with the same id is safe.
        """
        id = id or new_id()
        frame = encode(id, kind, payload, to, context, correlation)
        while True:
            if self._o.retry and not passes_pause(kind):
                await self._gate.wait()
            generation = self._gate.generation
            pending = await self._submit(id, kind, frame)
            try:
                return Receipt(id, await pending.future)
            except Refused as refusal:
                if refusal.code != "paused" or not self._o.retry:
                    raise
                await self._gate.wait_refused(generation)
            except asyncio.CancelledError:
                self._outbox.withdraw(pending)
                raise

    async def submit(
        self,
        kind: str,
        payload: Mapping[str, Any] | None = None,
        *,
        to: Iterable[str] = (),
        context: str = "",
        correlation: str | Iterable[str] = (),
        id: str | None = None,
    ) -> "asyncio.Future[int]":
        """Queue an envelope, and return a future of its position in the log.

        It waits only while `in_flight` others are not acknowledged.
        """
        id = id or new_id()
        return (await self._submit(id, kind, encode(id, kind, payload, to, context, correlation))).future

    async def _submit(self, id: str, kind: str, frame: str) -> Pending:
        self._check_sendable(frame)
        pending = Pending(id, kind, frame)
        self._questions.sent(id)
        await self._outbox.add(pending)
        self._wake.set()
        return pending

    def _check_sendable(self, frame: str) -> None:
        if self._supervisor is None:
            raise self._error or RuntimeError("join the space first: async with connect(), or await space.join()")
        if self._o.observe:
            raise RuntimeError("a space that is only observed (observe=True) takes no envelopes")
        limit = self.limits.get("message_bytes")
        if isinstance(limit, int) and limit > 0 and len(frame) * 4 > limit and len(frame.encode()) > limit:
            text = f"The envelope has {len(frame.encode())} bytes; the gateway takes at most {limit}."
            raise Refused("message_too_large", text, {"limit": limit})

    async def send_now(self, kind: str, payload: Mapping[str, Any], to: Iterable[str], context: str, correlation: str) -> None:
        """Queue an envelope without waiting, if a place is free: best effort."""
        id = new_id()
        if self._supervisor is not None and self._error is None:
            if await self._outbox.try_add(Pending(id, kind, encode(id, kind, payload, to, context, correlation))):
                self._wake.set()

    def send_last(self, work: Awaitable[Any]) -> "asyncio.Task[Any]":
        """Start to send an envelope that ends a part of the work. close waits for it, for a bounded time."""
        task = self._spawn(work)
        self._finals.add(task)
        task.add_done_callback(self._finals.discard)
        return task

    def send_final(self, kind: str, payload: Mapping[str, Any], **fields: Any) -> "asyncio.Task[Any]":
        return self.send_last(self.send(kind, payload, **fields))

    def send_final_derived(self, purpose: str, of: str, kind: str, payload: Mapping[str, Any], **fields: Any) -> None:
        self.send_last(self.send_derived(purpose, of, kind, payload, **fields))

    async def send_derived(self, purpose: str, of: str, kind: str, payload: Mapping[str, Any], **fields: Any) -> Receipt:
        """Send an envelope whose id all processes derive alike from another one.

        If another participant has used that id first, the envelope gets a random one.
        """
        try:
            return await self.send(kind, payload, id=derived_id(purpose, of), **fields)
        except Refused as refusal:
            if refusal.code != "duplicate_id":
                raise
            return await self.send(kind, payload, **fields)

    async def chat(self, message: str, *, to: Iterable[str] = (), correlation: str | Iterable[str] = ()) -> Receipt:
        """Send a chat message to all participants, or to some."""
        return await self.send("chat", {"message": message}, to=to, correlation=correlation)

    # Receiving.

    def thread_events(self, thread: str, *, after: str = "") -> AsyncGenerator[ThreadEvent, None]:
        """Return what happens to the questions of a thread: all events after the one with an id, and then live ones.

        For it, the space need not be joined. It ends when the gateway ends the stream: to go on, call it
        again with the last id that is not empty. Errors: ConnectError, OSError.
        """
        return read(gateway_url(self._o.target), self._headers(), self._o.name, thread, after)

    async def receive(self) -> Envelope:
        """Return the next envelope. Envelopes of the log are in order, each once.

        Welcomes, presence and stream.data have no seq; they are dropped when the
        buffer is full. Errors: Gap, after which the next call continues; at the
        end, after all received envelopes, Closed or ConnectionClosed.
        """
        if self._discard:
            raise RuntimeError("run() keeps no envelopes for receive()")
        while True:
            item = self._inbox.take()
            if item is not None:
                self._wake.set()
                if self._inbox.must_resume:
                    self._interrupt(_Resume())
                if isinstance(item, Gap):
                    raise item
                return item
            if self._error is not None:
                raise self._error
            if self._supervisor is None:
                raise RuntimeError("join the space first")
            await self._inbox.available.wait()

    async def envelopes(self) -> AsyncIterator[Envelope]:
        """Yield received envelopes until the space is closed. Errors: Gap, ConnectionClosed."""
        while True:
            try:
                env = await self.receive()
            except Closed:
                return
            yield env

    def __aiter__(self) -> AsyncIterator[Envelope]:
        return self.envelopes()

    async def subscribe(self, filter: Filter) -> None:
        """Change the filter of receive. It stays in effect across reconnects.

        If the gateway rejects the filter, it raises Refused and the old filter remains.
        """
        id = new_id()
        self._subscribing[id] = filter
        # It is not known which of the next envelopes passed the old filter and
        # which the new one: all are kept until the gateway responds.
        self._matcher = None
        payload = {} if self._unfiltered else filter.payload()
        try:
            pending = Pending(id, "system.subscribe", encode(id, "system.subscribe", payload))
            await self._outbox.add(pending)
            self._wake.set()
            await pending.future
        except MeupError:
            self._drop_subscription(id)
            raise

    def _drop_subscription(self, id: str) -> None:
        self._subscribing.pop(id, None)
        if not self._subscribing:
            self._matcher = self._filter.matcher()

    # Calls, tools and questions.

    async def request(
        self, to: str | Iterable[str], method: str, params: Any = None, *, timeout: float | None = 30.0, context: str = "",
        correlation: str | Iterable[str] = (), on_progress: ProgressHandler | None = None,
    ) -> Any:
        """Send an mcp.request, and return the result of the first response of an addressee.

        If the caller is cancelled, or the time is over (TimeoutError), the
        addressees are notified. Errors: RPCError, Refused, ParticipantLeft.
        """
        recipients = [to] if isinstance(to, str) else list(to)
        return await self._calls.request(recipients, method, params, timeout, context, correlation, on_progress)

    async def call_tool(
        self, name: str, arguments: Mapping[str, Any] | None = None, *, participant: str | None = None,
        timeout: float | None = 30.0, context: str = "", correlation: str | Iterable[str] = (), on_progress: ProgressHandler | None = None,
        propose: bool = True, proposal_timeout: float = 300.0,
    ) -> ToolResult:
        """Call a tool: "files/read" of a connected participant, or "read" with participant="files".

        A name without a participant is that of an own tool, or is looked up among
        the connected ones that declare tools (ToolNotFound if none or several have
        it). A call that the capabilities do not allow is proposed to the others,
        and the result is the one of the approved call; propose=False raises Refused
        instead. Errors: ToolError if the tool failed, ProposalError, and those of request.

        timeout: seconds for the response. proposal_timeout: seconds for a decision.
        """
        host, tool = await self._calls.resolve(name, participant)
        return await self._calls.call_tool(
            host, tool, arguments, timeout, context, correlation, on_progress, propose, proposal_timeout, []
        )

    async def propose(
        self, name: str, arguments: Mapping[str, Any] | None = None, *, participant: str | None = None, timeout: float = 300.0,
        call_timeout: float | None = 30.0, to: Iterable[str] = (), context: str = "", correlation: str | Iterable[str] = (),
    ) -> ProposalOutcome:
        """Propose a tool call to the other participants, and wait for the outcome.

        Without a decision within `timeout` seconds the proposal is withdrawn.
        """
        host, tool = await self._calls.resolve(name, participant)
        return await self._calls.propose(host, tool, arguments, timeout, call_timeout, list(to), context, correlation)

    async def list_tools(self, participant: str, *, timeout: float = 10.0) -> list[dict[str, Any]]:
        """Return the tools of a participant. The list is kept until it changes."""
        return await self._calls.list_tools(participant, timeout)

    def on_question(
        self, handler: Handler | None = None, *, answer: str = "auto", name: str = "", parallel: int = 4, waiting: int = 32
    ) -> Any:
        """Decorate the coroutine function that answers questions.

        answer: the chats that are questions. "addressed": chats that name this
        participant in `to`. "mentioned": also chats with @id or @name in their
        text. "any": also every chat to all of a participant that is no agent.
        "auto": like "any" while no other agent is connected, otherwise like
        "mentioned".
        parallel, waiting: how many are answered at a time, and how many wait; a
        further one is refused with a chat.
        """
        if not self._o.echo or self._o.observe:
            raise ValueError("on_question needs echo=True and observe=False: the first reasoning.start in the log answers")

        def register(function: Handler) -> Handler:
            self._questions.register(function, answer, name, parallel, waiting)
            if self._at_gateway and self._supervisor is not None:
                self._spawn(self._widen())
            self._at_gateway, self._unfiltered = {}, True
            return function

        return register if handler is None else register(handler)

    def on_elicitation(self, handler: ElicitationHandler) -> ElicitationHandler:
        """Decorate the coroutine function that answers questions of hosts about calls of this participant.

        It returns the content of the form, {} to accept a page, or None to decline; an exception is logged, and cancels
        the question. The timeout of the call does not pass meanwhile. The handler is cancelled if the call ends, the host
        no longer needs the answer, or it took too long: the host says how long it waits, otherwise 10 minutes. Without a
        handler the host is told at once that nobody answers.
        """
        if not inspect.iscoroutinefunction(handler):
            raise TypeError("the handler of elicitations is a coroutine function: async def")
        self._calls.on_elicitation = handler
        return handler

    async def _widen(self) -> None:
        """Receive all envelopes: questions and their control must not be hidden."""
        id = new_id()
        await self._outbox.add(Pending(id, "system.subscribe", encode(id, "system.subscribe", {})))
        self._wake.set()

    def serve_tools(
        self, *functions: ToolFunction, name: str | None = None, description: str | None = None
    ) -> Any:
        """Serve functions as tools to the other participants; also a decorator.

        The input schema follows from the type hints, the description from the
        docstring. A parameter of type ToolCall gets the call, for its progress.
        """
        if not functions:

            def register(function: ToolFunction) -> ToolFunction:
                self._tools.add(function, name, description)
                return function

            return register
        if len(functions) > 1 and (name or description):
            raise ValueError("name and description are for one function")
        for function in functions:
            self._tools.add(function, name, description)
        return functions[0]

    def _spawn(self, work: Awaitable[Any]) -> "asyncio.Task[Any]":
        """Start a task that ends with the space at the latest."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._reap)
        return task

    def _reap(self, task: "asyncio.Task[Any]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            level = logging.DEBUG if isinstance(task.exception(), MeupError) else logging.ERROR
            log.log(level, "background work failed", exc_info=task.exception())

    # Received envelopes.

    @property
    def _serving(self) -> bool:
        return self._tools.active

    @property
    def _reading(self) -> bool:
        return self._calls.active or self._questions.active or self._tools.active

    def _welcomed(self, env: Envelope) -> None:
        self._calls.presence_changed()
        self._questions.observe(env)

    def _lost(self, err: MeupError) -> None:
        self._calls.close(err)
        if not isinstance(err, Closed):
            self._questions.abort()

    def _route(self, env: Envelope) -> None:
        """Give an envelope to the parts that handle it. None of them blocks."""
        if env.kind == "system.presence":
            participant = Participant.of(env.payload.get("participant") or {})
            self._participants.pop(participant.id, None)
            if env.payload.get("event") == "join":
                self._participants[participant.id] = participant
            self._calls.presence_changed(participant.id)
        self._calls.route(env)
        if self._is_old(env):
            return
        if env.from_ != self.id and self.id in env.to:
            self._controlled(env)
        self._calls.route_elicitation(env)
        self._questions.route(env)
        self._tools.route(env)

    def _controlled(self, env: Envelope) -> None:
        """Honor a pause, its end, and a shutdown by an authorized participant."""
        if env.kind == "participant.pause":
            seconds = env.payload.get("timeout_seconds")
            self._gate.close(seconds if isinstance(seconds, (int, float)) and not isinstance(seconds, bool) else 0)
        elif env.kind == "participant.resume":
            self._gate.open()
        elif env.kind == "participant.shutdown":
            self._shutdown.set()
