"""A participant of a space: the connection, its position in the log, and sending.

One task, `_supervise`, owns the connection. Each connection has three tasks:
the reader, the writer and the one that pings. All of them end with the
connection, and `_supervise` waits for them.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import time
from dataclasses import dataclass
from typing import Any, AsyncIterator, Awaitable, Callable, Generator, Iterable, Iterator, Mapping, cast
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from websockets.exceptions import InvalidHandshake

from . import _socket
from ._gate import Gate, passes_pause
from ._inbox import Inbox
from ._outbox import Outbox, Pending
from ._socket import Socket, SocketClosed
from .backoff import Backoff
from .calls import Calls, Outcome, ProgressHandler, ToolResult
from .envelope import GATEWAY, Envelope, derived_id, encode, new_id, parse
from .errors import Closed, ConnectError, ConnectionClosed, Gap, MeupError, Refused
from .filters import Filter
from .questions import Handler, Questions
from .tools import ServedTools, ToolFunction

log = logging.getLogger("meup")

# CONNECT_TIMEOUT bounds one attempt, from the dial to the welcome, in seconds.
CONNECT_TIMEOUT = 15.0
# WRITE_TIMEOUT bounds the write of one frame.
WRITE_TIMEOUT = 30.0
# PING_EVERY and PING_TIMEOUT detect a dead connection.
PING_EVERY = 30.0
PING_TIMEOUT = 20.0
# STABLE_AFTER is how long a connection must have lasted so that its loss
# restarts the backoff.
STABLE_AFTER = 10.0
# CLOSING_TIME bounds the envelopes that end the work of a participant.
CLOSING_TIME = 3.0
# MAX_BEHIND is the number of consecutive connects at which the log of a gateway
# ends before the position, until the log counts as lost.
MAX_BEHIND = 3
FINAL_CODES = (1008, 4001, 4003)
RETRYABLE = ("rate_limited", "unavailable", "outcome_unknown")


@dataclass(frozen=True, slots=True)
class Receipt:
    """The position of an envelope in the log; `seq` is 0 if it is not stored."""

    id: str
    seq: int


@dataclass(frozen=True, slots=True)
class Position:
    """A position in the log with the id `log`: after the envelope `seq`."""

    seq: int
    log: str = ""


@dataclass(frozen=True, slots=True)
class Participant:
    """A connected participant. `serves_tools`: it declared that it serves tools."""

    id: str
    capabilities: tuple[Any, ...] = ()
    serves_tools: bool = False

    @staticmethod
    def of(doc: Mapping[str, Any]) -> "Participant":
        return Participant(str(doc.get("id", "")), tuple(doc.get("capabilities") or ()), "tools" in (doc.get("serves") or ()))


class _Resume(Exception):
    """Ends a connection whose program has emptied a buffer that was full."""


class _Behind(Exception):
    """The log of the gateway ends before the position."""


def socket_url(address: str) -> str:
    """Return the address of the socket: the given one, or the one below an http address."""
    parts = urlsplit(address)
    scheme = {"http": "ws", "https": "wss"}.get(parts.scheme, parts.scheme)
    if scheme not in ("ws", "wss") or not parts.netloc:
        raise ValueError(f"the gateway's URL {address!r} must begin with http://, https://, ws:// or wss://")
    path = parts.path
    if scheme != parts.scheme:
        path = path.rstrip("/")
        if not path.endswith("/ws"):
            path += "/ws"
    return urlunsplit((scheme, parts.netloc, path, parts.query, ""))


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
    connect_timeout: float = 30.0,
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
    connect_timeout: seconds in which the first connection is retried while the
        gateway is away; 0: one attempt.
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
        target, token if token is not None else os.environ.get("MEUP_TOKEN", ""), name, since, filter or Filter(),
        echo, observe, retry, connect_timeout, in_flight, buffer, buffer_bytes, backoff, dict(headers or {}),
    )


class Space:
    """A space that this program joins as a participant. Use it from one event loop."""

    def __init__(
        self, target: str, token: str, name: str, since: int | Position | None, filter: Filter, echo: bool, observe: bool,
        retry: bool, connect_timeout: float, in_flight: int, buffer: int, buffer_bytes: int, backoff: Backoff,
        headers: dict[str, str],
    ) -> None:
        self.name = name
        self._target = target
        self._token = token
        self._echo = echo
        self._observe = observe
        self._retry = retry
        self._connect_timeout = connect_timeout
        self._bounds = (in_flight, buffer, buffer_bytes)
        self._backoff = backoff
        self._headers = headers

        # The position: envelopes up to _routed went to the handlers, and those
        # up to _kept went to the buffer too.
        if isinstance(since, Position):
            start, self._log_id = since.seq, since.log
        else:
            start, self._log_id = since or 0, ""
        self._positioned = since is not None
        self._kept = self._routed = start
        self._behind = 0
        self._reset_reported = False
        # Entries up to _joined were there before this program; entries up to _old
        # are not for the handlers: those, and the ones of a log that replaced
        # another one, a copy of which has requests that were answered before.
        self._joined = self._old = 0

        self._filter = filter  # of receive
        self._matcher = filter.matcher()
        self._at_gateway = filter.payload()
        self._subscribing: dict[str, Filter] = {}
        self._discard = False
        self._welcome: dict[str, Any] = {}
        self._participants: dict[str, Participant] = {}
        self._supervisor: asyncio.Task[None] | None = None
        self._error: MeupError | None = None
        self._closing = False
        self._stop: asyncio.Future[BaseException] | None = None
        self._pauses = 0  # how often the reader stopped because the buffer was full
        self._tasks: set[asyncio.Task[Any]] = set()
        self._finals: set[asyncio.Task[Any]] = set()  # of _tasks
        self._calls = Calls(self)
        self._tools = ServedTools(self)
        self._questions = Questions(self)

    def _start(self) -> None:
        in_flight, buffer, buffer_bytes = self._bounds
        self._outbox = Outbox(in_flight)
        self._inbox = Inbox(buffer, buffer_bytes)
        self._gate = Gate()
        self._wake = asyncio.Event()  # wakes the reader that waits for room
        self._ended = asyncio.Event()
        self._shutdown = asyncio.Event()  # another participant shut this one down

    # Joining and leaving.

    async def join(self) -> "Space":
        """Join the space. Returns after the gateway's welcome.

        Errors: ConnectError if the gateway rejects the connection, OSError or
        TimeoutError if it cannot be reached.
        """
        if self._supervisor is not None or self._error is not None:
            raise RuntimeError("the space was joined already")
        self._start()
        socket = await self._first_connect()
        self._joined = self._old = int(self._welcome.get("space", {}).get("seq", 0))
        self._supervisor = asyncio.create_task(self._supervise(socket), name="meup supervise")
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
        receive. Returns after close, SIGTERM, or when an authorized participant
        shuts this one down; raises ConnectionClosed if the gateway ended the
        connection for good.

        catch_up: the questions of before the start that are answered: "auto"
        those of the last hour that were asked after this participant's first
        envelope, "all", or "off". Unless it is "off", work that an earlier
        process of this participant left open is closed.
        """
        if catch_up not in ("auto", "all", "off"):
            raise ValueError('catch_up is "auto", "all" or "off"')
        self._discard = True
        if self._supervisor is None:
            await self.join()
        self._inbox.clear()
        self._kept = self._routed
        self._wake.set()
        with self._terminated():
            try:
                await self._questions.start(catch_up)
                ended = asyncio.create_task(self._ended.wait())
                shutdown = asyncio.create_task(self._shutdown.wait())
                try:
                    await asyncio.wait({ended, shutdown}, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    ended.cancel()
                    shutdown.cancel()
            finally:
                await self.close()
        if self._error is not None and not isinstance(self._error, Closed):
            raise self._error

    @contextlib.contextmanager
    def _terminated(self) -> Iterator[None]:
        """Let SIGTERM end run, where the platform and the thread allow it."""
        loop = asyncio.get_running_loop()
        try:
            loop.add_signal_handler(signal.SIGTERM, self._shutdown.set)
        except (NotImplementedError, RuntimeError, ValueError):
            yield
            return
        try:
            yield
        finally:
            loop.remove_signal_handler(signal.SIGTERM)

    # State.

    @property
    def id(self) -> str:
        """The id of this participant; "" before the space is joined."""
        return str(self._welcome.get("you", {}).get("id", ""))

    @property
    def capabilities(self) -> list[Any]:
        """The rights of this participant, from the newest welcome."""
        return list(self._welcome.get("you", {}).get("capabilities") or ())

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
            if self._retry and not passes_pause(kind):
                await self._gate.wait()
            generation = self._gate.generation
            pending = await self._submit(id, kind, frame)
            try:
                return Receipt(id, await pending.future)
            except Refused as refusal:
                if refusal.code != "paused" or not self._retry:
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
        if self._observe:
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
        payload = {} if self._questions.active else filter.payload()
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
        propose: bool = False,
    ) -> ToolResult:
        """Call a tool of another participant: "files/read", or "read" with participant="files".

        A name without a participant is looked up among the connected ones that
        serve tools (ToolNotFound if none or several have it). With `propose`, a
        call that the capabilities do not allow is proposed, and the result is
        the one of the approved call. Errors: the same as of request.
        """
        return await self._calls.call_tool(name, arguments, participant, timeout, context, correlation, on_progress, propose)

    async def propose(
        self, name: str, arguments: Mapping[str, Any] | None = None, *, participant: str | None = None, timeout: float = 300.0,
        call_timeout: float | None = 30.0, to: Iterable[str] = (), context: str = "", correlation: str | Iterable[str] = (),
    ) -> Outcome:
        """Propose a tool call to the other participants, and wait for the outcome.

        Without a decision within `timeout` seconds the proposal is withdrawn.
        """
        return await self._calls.propose(name, arguments, participant, timeout, call_timeout, list(to), context, correlation)

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
        if not self._echo or self._observe:
            raise ValueError("on_question needs echo=True and observe=False: the first reasoning.start in the log answers")

        def register(function: Handler) -> Handler:
            self._questions.register(function, answer, name, parallel, waiting)
            if self._at_gateway and self._supervisor is not None:
                self._spawn(self._widen())
            self._at_gateway = {}
            return function

        return register if handler is None else register(handler)

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

    # The connection.

    async def _first_connect(self) -> Socket:
        deadline = time.monotonic() + self._connect_timeout
        attempt = 0
        while True:
            attempt += 1
            try:
                return await self._open()
            except ConnectError as err:
                cause: Exception = err
                if err.final:
                    raise
            except (OSError, _Behind, SocketClosed, ValueError) as err:
                cause = err
                if isinstance(err, SocketClosed) and _socket.close_code(err)[0] in FINAL_CODES:
                    raise ConnectionClosed(*_socket.close_code(err)) from None
            except InvalidHandshake as err:
                cause = err
            delay = self._delay(attempt, cause)
            if time.monotonic() + delay > deadline and not (isinstance(cause, _Behind) and attempt <= MAX_BEHIND):
                raise cause
            log.warning("gateway not reached, next attempt in %.1f s: %s", delay, cause)
            await asyncio.sleep(delay)

    def _delay(self, attempt: int, cause: BaseException) -> float:
        delay = self._backoff.delay(attempt)
        return max(delay, cause.retry_after) if isinstance(cause, ConnectError) else delay

    def _url(self) -> str:
        parts = urlsplit(self._target)
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        query["space"] = self.name
        query["observe" if self._observe else "ack"] = "true"
        if not self._echo:
            query["echo"] = "false"
        if self._tools.active:
            query["serves"] = "tools"
        if self._positioned:
            query["since"] = str(self._kept)
            if self._log_id:
                query["log"] = self._log_id
        return urlunsplit(parts._replace(query=urlencode(query)))

    async def _open(self) -> Socket:
        """Open a connection at the position, and read its welcome."""
        async with asyncio.timeout(CONNECT_TIMEOUT):
            headers = dict(self._headers)
            if self._token:
                headers["Authorization"] = "Bearer " + self._token
            socket = await _socket.open_socket(self._url(), headers)
            try:
                env = parse(await socket.recv())
                if env.kind != "system.welcome":
                    raise ValueError(f"the first frame is a {env.kind}, not the welcome")
                self._apply_position(env.payload)
                if self._at_gateway:
                    await socket.send(encode(new_id(), "system.subscribe", self._at_gateway))
            except BaseException:
                await _socket.close(socket)
                raise
        self._apply_welcome(env)
        if self._supervisor is not None and not self._discard:
            self._inbox.put_live(env)
        return socket

    def _apply_position(self, welcome: Mapping[str, Any]) -> None:
        """Compare the position with the log of the welcome."""
        info = welcome.get("space") or {}
        head, log_id = int(info.get("seq", 0)), str(info.get("log", ""))
        self._reset_reported = False
        if not self._positioned:
            self._kept = self._routed = head
            self._positioned, self._log_id = True, log_id
        elif self._log_id and log_id and log_id != self._log_id:
            self._reset_position(log_id, head)
            self._reset_reported = True  # the gateway reports it too, and starts at the oldest entry
        elif head >= self._kept:
            self._log_id, self._behind = log_id, 0
        elif (self._log_id and self._log_id == log_id) or self._behind + 1 < MAX_BEHIND:
            self._behind += 1
            raise _Behind("the log of the gateway ends before the last received envelope")
        else:
            self._reset_position(log_id, head)
            raise _Behind("the log of the space was replaced")

    def _reset_position(self, log_id: str, head: int) -> None:
        log.warning("the space has another log now: it is read from its beginning")
        if not self._discard and not self._inbox.put(Gap(self._kept, 0, True)):
            raise _Behind("there is no room to report that the log was replaced")
        self._kept = self._routed = self._behind = 0
        self._log_id, self._old = log_id, head

    def _apply_welcome(self, env: Envelope) -> None:
        self._welcome = env.payload
        self._participants = {p.id: p for p in map(Participant.of, env.payload.get("participants") or ())}
        self._calls.presence_changed()
        self._questions.observe(env)

    async def _supervise(self, socket: Socket) -> None:
        attempt = 0
        while True:
            started = time.monotonic()
            try:
                cause = await self._session(socket)
            except Exception as err:  # a defect must not leave callers waiting
                log.exception("the connection failed")
                cause = err
            if time.monotonic() - started > STABLE_AFTER:
                attempt = 0
            next_socket: Socket | None = None
            while next_socket is None:
                final = self._final_cause(cause)
                if final is not None:
                    self._end(final)
                    return
                if not isinstance(cause, _Resume):
                    attempt += 1
                    delay = self._delay(attempt, cause)
                    log.info("connection lost, attempt %d in %.1f s: %s", attempt, delay, cause)
                    await asyncio.wait([self._new_stop()], timeout=delay)
                opening = asyncio.ensure_future(self._open())
                stop = self._new_stop()
                await asyncio.wait(cast("list[asyncio.Future[Any]]", [opening, stop]), return_when=asyncio.FIRST_COMPLETED)
                if not opening.done():
                    opening.cancel()
                try:
                    next_socket = await opening
                except asyncio.CancelledError:
                    if not stop.done():
                        raise
                    cause = stop.result()
                except Exception as err:
                    cause = err
            socket = next_socket

    def _new_stop(self) -> "asyncio.Future[BaseException]":
        self._stop = asyncio.get_running_loop().create_future()
        if self._closing:
            self._stop.set_result(Closed())
        return self._stop

    def _interrupt(self, cause: BaseException) -> None:
        """End the current connection, or the wait for the next one."""
        if self._stop is not None and not self._stop.done():
            self._stop.set_result(cause)

    def _final_cause(self, cause: BaseException) -> MeupError | None:
        if self._closing:
            return Closed()
        if isinstance(cause, ConnectError) and cause.final:
            return cause
        if isinstance(cause, SocketClosed):
            code, reason = _socket.close_code(cause)
            if code in FINAL_CODES:
                return ConnectionClosed(code, reason)
        return None

    def _end(self, err: MeupError) -> None:
        self._error = err
        self._outbox.close(err)
        self._calls.close(err)
        self._inbox.available.set()
        self._gate.open()
        self._ended.set()
        if not isinstance(err, Closed):
            self._questions.abort()
            log.error("%s", err)

    async def _session(self, socket: Socket) -> BaseException:
        """Use a connection until it ends, and return the reason."""
        self._outbox.rewind()
        self._inbox.skipping = False
        stop = self._new_stop()
        reader = asyncio.create_task(self._read(socket), name="meup read")
        others = [
            asyncio.create_task(self._write(socket), name="meup write"),
            asyncio.create_task(self._keep_alive(socket), name="meup ping"),
        ]
        try:
            await asyncio.wait(cast("list[asyncio.Future[Any]]", [reader, stop]), return_when=asyncio.FIRST_COMPLETED)
            if stop.done():
                return stop.result()
            return reader.exception() or ConnectionError("the connection ended")
        finally:
            for task in (reader, *others):
                task.cancel()
            await asyncio.gather(reader, *others, return_exceptions=True)
            await _socket.close(socket, gracefully=self._closing)

    async def _read(self, socket: Socket) -> None:
        while True:
            await self._await_room()
            frame = await socket.recv()
            try:
                env = parse(frame)
            except ValueError as err:  # a retry would receive the same
                log.warning("frame not understood: %s", err)
                continue
            try:
                self._dispatch(env)
            except Exception:  # a frame of another form than the gateway's must not end the connection again and again
                log.exception("frame not handled")

    async def _await_room(self) -> None:
        """Wait until the next envelope can be kept, or must be read anyway.

        While a caller waits for an answer of the gateway, or handlers are
        registered, reading goes on: envelopes that do not fit are requested
        again when the buffer is empty.
        """
        while True:
            if self._inbox.must_resume:
                raise _Resume
            if self._discard or (self._inbox.has_room and not self._inbox.skipping):
                return
            if len(self._outbox) or self._calls.active or self._questions.active or self._tools.active:
                return
            self._pauses += 1
            self._wake.clear()
            await self._wake.wait()

    async def _write(self, socket: Socket) -> None:
        """Send the envelopes of the outbox. Only the reader reports the end of the connection."""
        while True:
            self._outbox.ready.clear()
            pending, wait = self._outbox.next(time.monotonic())
            if pending is None:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(wait):
                        await self._outbox.ready.wait()
                continue
            try:
                async with asyncio.timeout(WRITE_TIMEOUT):
                    await socket.send(pending.frame)
            except TimeoutError as err:
                self._interrupt(err)
                return
            except (SocketClosed, OSError):
                return

    async def _keep_alive(self, socket: Socket) -> None:
        while True:
            await asyncio.sleep(PING_EVERY)
            pauses = self._pauses
            try:
                async with asyncio.timeout(PING_TIMEOUT):
                    await (await socket.ping())
            except TimeoutError as err:
                if pauses == self._pauses and (self._discard or self._inbox.has_room):
                    self._interrupt(err)  # otherwise the pong may be unread because the buffer is full
                    return
            except (SocketClosed, OSError):
                return

    # Received frames.

    def _dispatch(self, env: Envelope) -> None:
        """Handle one received frame. It does not block."""
        if env.from_ == GATEWAY and self._control(env):
            return
        if env.seq and env.seq <= self._kept:
            return
        if not env.seq or env.seq > self._routed:
            if env.seq:
                self._routed = env.seq
            try:
                self._route(env)
            except Exception:  # a defect in a handler must not end the connection
                log.exception("envelope %s was not handled", env.id)
        if self._discard:
            self._kept = self._routed
            return
        if not env.seq:
            if not self._inbox.skipping and self._passes(env):
                self._inbox.put_live(env)
            return
        if self._inbox.skipping:
            return
        if self._passes(env) and not self._inbox.put(env):
            self._inbox.skipping = True
            return
        self._kept = env.seq

    def _control(self, env: Envelope) -> bool:
        """Handle a frame of the gateway that is for this connection alone."""
        id = env.correlation[0] if env.correlation else ""
        if env.kind == "system.ack":
            seq = env.payload.get("seq", 0)
            self._outbox.answer(id, seq if isinstance(seq, int) else 0)
        elif env.kind == "system.error":
            self._refused(id, env.payload)
        elif env.kind == "system.subscribed":
            if id in self._subscribing:
                self._filter = self._subscribing.pop(id)
                if not self._questions.active:
                    self._at_gateway = self._filter.payload()
                if not self._subscribing:
                    self._matcher = self._filter.matcher()
            self._outbox.answer(id, 0)
        elif env.kind == "system.welcome":
            self._apply_welcome(env)
            if not self._discard:
                self._inbox.put_live(env)
        else:
            return False
        return True

    def _refused(self, id: str, payload: Mapping[str, Any]) -> None:
        details = {k: v for k, v in payload.items() if k not in ("error", "message")}
        refusal = Refused(str(payload.get("error", "")), str(payload.get("message", "")), details)
        if refusal.code == "cursor_expired":
            self._gap(refusal)
        elif id and self._retry and refusal.code in RETRYABLE and self._outbox.retry(id, self._retry_at(refusal)):
            log.debug("envelope %s refused for the moment: %s", id, refusal)
        elif id and self._outbox.answer(id, refusal):
            pass
        elif refusal.code == "message_too_large":
            self._outbox.refuse_largest(refusal)
        else:
            log.warning("the gateway reports an error: %s", refusal)

    def _retry_at(self, refusal: Refused) -> Callable[[int], float]:
        return lambda attempt: time.monotonic() + (refusal.retry_after or self._backoff.delay(attempt))

    def _gap(self, refusal: Refused) -> None:
        reported, self._reset_reported = self._reset_reported, False
        oldest = refusal.details.get("oldest_seq", 0)
        if reported or self._inbox.skipping:
            return  # reported before, or requested again soon
        gap = Gap(self._kept, oldest if isinstance(oldest, int) else 0, False)
        log.warning("%s", gap)
        if not self._discard and not self._inbox.put(gap):
            self._inbox.skipping = True

    def _passes(self, env: Envelope) -> bool:
        """Apply the filter as the gateway does: work and envelopes to this participant pass."""
        if self._matcher is None or env.from_ == GATEWAY and not env.seq:
            return True
        return self._matcher(env) or not self._observe and (env.is_work or self.id in env.to)

    def _route(self, env: Envelope) -> None:
        """Give an envelope to the parts that handle it. None of them blocks."""
        if env.kind == "system.presence":
            participant = Participant.of(env.payload.get("participant") or {})
            self._participants.pop(participant.id, None)
            if env.payload.get("event") == "join":
                self._participants[participant.id] = participant
            self._calls.presence_changed(participant.id)
        self._calls.route(env)
        if env.seq and env.seq <= self._old:
            return
        if env.from_ != self.id and self.id in env.to:
            self._controlled(env)
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
