"""The connection of a participant, and its position in the log.

One task, `_supervise`, owns the connection. Each socket has three tasks: the
reader, the writer and the one that pings. All of them end with the socket, and
`_supervise` waits for them.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import time
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any, Callable, Mapping, cast
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from . import _socket
from ._gate import Gate
from ._inbox import Inbox
from ._outbox import Outbox
from ._socket import InvalidHandshake, Socket, SocketClosed, gateway_url
from .backoff import Backoff
from .envelope import GATEWAY, Envelope, encode, new_id, parse
from .errors import Closed, ConnectError, ConnectionClosed, Gap, MeupError, NotReached, Refused
from .filters import Filter

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
# MAX_BEHIND is the number of consecutive connects at which the log of a gateway
# ends before the position, until the log counts as lost.
MAX_BEHIND = 3
FINAL_CODES = (1008, 4001, 4003)
RETRYABLE = ("rate_limited", "unavailable", "outcome_unknown")

@dataclass(frozen=True, slots=True)
class Position:
    """A position in the log with the id `log`: after the envelope `seq`."""

    seq: int
    log: str = ""


@dataclass(frozen=True, slots=True)
class Participant:
    """A connected participant. `serves_tools`: it declared that it serves tools; `description`: what it does, from the gateway's configuration."""

    id: str
    capabilities: tuple[Any, ...] = ()
    serves_tools: bool = False
    description: str = ""

    @staticmethod
    def of(doc: Mapping[str, Any]) -> "Participant":
        return Participant(str(doc.get("id", "")), tuple(doc.get("capabilities") or ()), "tools" in (doc.get("serves") or ()), str(doc.get("description") or ""))


class _Resume(Exception):
    """Ends a connection whose program has emptied a buffer that was full."""


class _Behind(Exception):
    """The log of the gateway ends before the position."""


@dataclass(frozen=True, slots=True)
class Options:
    """The settings of a connection; see connect."""

    target: str  # the address of the socket
    token: str
    name: str  # of the space
    since: "int | Position | None"
    filter: Filter
    echo: bool
    observe: bool
    retry: bool
    connect_timeout: float
    in_flight: int
    buffer: int
    buffer_bytes: int
    backoff: Backoff
    headers: Mapping[str, str]


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


def _text(cause: BaseException) -> str:
    if isinstance(cause, OSError) and f"[Errno {errno.ECONNREFUSED}]" in str(cause):
        return "connection refused: is it running?"
    return str(cause) or type(cause).__name__


class Connection:
    """The connection of one participant to a space, across any number of sockets.

    A subclass handles the envelopes of the log, and tells whether it has handlers.
    """

    def __init__(self, options: Options) -> None:
        self._o = options
        # The position: envelopes up to _routed went to the handlers, and those
        # up to _kept went to the buffer too.
        since = options.since
        start, self._log_id = (since.seq, since.log) if isinstance(since, Position) else (since or 0, "")
        self._positioned = since is not None
        self._kept = self._routed = start
        self._behind = 0
        self._reset_reported = False
        # Entries up to _joined were there before this program; entries up to _old
        # are not for the handlers: those, and the ones of a log that replaced
        # another one, a copy of which has requests that were answered before. What
        # is newer than _last was sent to that log before this program joined it.
        self._joined = self._old = 0
        self._last = ""  # the ts of the last entry before the log was replaced

        self._filter = options.filter  # of receive
        self._matcher = options.filter.matcher()
        self._at_gateway = options.filter.payload()
        self._unfiltered = False  # the gateway filters nothing: handlers get all envelopes
        self._subscribing: dict[str, Filter] = {}
        self._discard = False
        self._welcome: dict[str, Any] = {}
        self._clock = timedelta()  # the gateway's time minus the local one, when the welcome arrived
        self._participants: dict[str, Participant] = {}
        self._supervisor: asyncio.Task[None] | None = None
        self._error: MeupError | None = None
        self._closing = False
        self._stop: asyncio.Future[BaseException] | None = None
        self._pauses = 0  # how often the reader stopped because the buffer was full

    def _start(self) -> None:
        self._outbox = Outbox(self._o.in_flight)
        self._inbox = Inbox(self._o.buffer, self._o.buffer_bytes)
        self._gate = Gate()
        self._wake = asyncio.Event()  # wakes the reader that waits for room
        self._ended = asyncio.Event()

    # Of the subclass.

    @property
    def _serving(self) -> bool:
        """Whether to declare tools."""
        raise NotImplementedError

    @property
    def _reading(self) -> bool:
        """Whether to read on while the buffer is full: a handler or a caller waits for envelopes."""
        raise NotImplementedError

    def _route(self, env: Envelope) -> None:
        """Give an envelope to its handlers. It must not block."""
        raise NotImplementedError

    def _welcomed(self, env: Envelope) -> None:
        """Note a welcome, after the participants were updated."""
        raise NotImplementedError

    def _lost(self, err: MeupError) -> None:
        """Fail the callers that wait: the connection ended for good."""
        raise NotImplementedError

    # Opening.

    async def _join(self) -> None:
        if self._supervisor is not None or self._error is not None:
            raise RuntimeError("the space was joined already")
        self._start()
        socket = await self._first_connect()
        self._joined = self._old = int(self._welcome.get("space", {}).get("seq", 0))
        self._supervisor = asyncio.create_task(self._supervise(socket), name="meup supervise")
        log.info("joined %s as %s at %s", self._o.name, self._you, gateway_url(self._o.target))

    async def _first_connect(self) -> Socket:
        """Connect, and wait for a gateway that is away."""
        self._cause: BaseException | None = None  # of the last attempt that failed
        try:
            async with asyncio.timeout(self._o.connect_timeout or None):
                return await self._attempts()
        except TimeoutError:
            gateway, cause = gateway_url(self._o.target), _text(self._cause) if self._cause else "no answer"
            text = f"the gateway at {gateway} was not reached within {self._o.connect_timeout:g} s ({cause}): start it, or check the address"
            raise NotReached(text) from None

    async def _attempts(self) -> Socket:
        attempt = 0
        while True:
            attempt += 1
            try:
                socket = await self._open()
                if attempt > 1:
                    log.warning("the gateway at %s is reached", gateway_url(self._o.target))
                return socket
            except ConnectError as err:
                cause: Exception = err
                if err.final:
                    raise
            except (OSError, _Behind, SocketClosed, InvalidHandshake, ValueError) as err:
                cause = err
                if isinstance(err, SocketClosed) and _socket.close_code(err)[0] in FINAL_CODES:
                    raise ConnectionClosed(*_socket.close_code(err)) from None
            self._cause = cause
            level = logging.WARNING if attempt == 1 else logging.DEBUG  # one warning, however long it takes
            log.log(level, "waiting for the gateway at %s: %s", gateway_url(self._o.target), _text(cause))
            await asyncio.sleep(self._delay(attempt, cause))

    @property
    def _you(self) -> str:
        return str(self._welcome.get("you", {}).get("id", ""))

    def _delay(self, attempt: int, cause: BaseException) -> float:
        delay = self._o.backoff.delay(attempt)
        return max(delay, cause.retry_after) if isinstance(cause, ConnectError) else delay

    def _url(self) -> str:
        parts = urlsplit(self._o.target)
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        query["space"] = self._o.name
        query["observe" if self._o.observe else "ack"] = "true"
        if not self._o.echo:
            query["echo"] = "false"
        if self._serving:
            query["serves"] = "tools"
        if self._positioned:
            query["since"] = str(self._kept)
            if self._log_id:
                query["log"] = self._log_id
        return urlunsplit(parts._replace(query=urlencode(query)))

    def _headers(self) -> dict[str, str]:
        headers = dict(self._o.headers)
        if self._o.token:
            headers["Authorization"] = "Bearer " + self._o.token
        return headers

    async def _open(self) -> Socket:
        """Open a connection at the position, and read its welcome."""
        async with asyncio.timeout(CONNECT_TIMEOUT):
            socket = await _socket.open_socket(self._url(), self._headers())
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

    def _expires_at(self, timeout: float | None) -> dict[str, str]:
        """Return the field of a proposal with the end of its timeout, by the gateway's clock; {}: it has no end."""
        if timeout is None:
            return {}
        try:
            end = datetime.now(timezone.utc) + self._clock + timedelta(seconds=timeout)
        except OverflowError:
            return {}
        return {"expires_at": end.isoformat().replace("+00:00", "Z")}

    def _apply_welcome(self, env: Envelope) -> None:
        self._welcome = env.payload
        self._clock = env.time - datetime.now(timezone.utc) if env.time.timestamp() > 0 else timedelta()
        self._participants = {p.id: p for p in map(Participant.of, env.payload.get("participants") or ())}
        self._welcomed(env)

    def _is_old(self, env: Envelope) -> bool:
        """Report whether an envelope is not for the handlers."""
        if env.seq > self._old:
            self._last = max(self._last, env.ts)
        return 0 < env.seq <= self._old and not "" < self._last < env.ts

    # Keeping it.

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
            lost = False
            while next_socket is None:
                final = self._final_cause(cause)
                if final is not None:
                    self._end(final)
                    return
                if not isinstance(cause, _Resume):
                    attempt += 1
                    delay = self._delay(attempt, cause)
                    # one warning, however long it takes
                    level = logging.DEBUG if lost else logging.WARNING
                    log.log(level, "the connection to the gateway at %s is lost, trying again: %s", gateway_url(self._o.target), _text(cause))
                    lost = True
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
            if lost:
                log.warning("the gateway at %s is reached again", gateway_url(self._o.target))
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
        self._lost(err)
        self._inbox.available.set()
        self._gate.open()
        self._ended.set()
        if not isinstance(err, Closed) and not self._discard:  # run raises it
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
            if len(self._outbox) or self._reading:
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
                if not self._unfiltered:
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
        elif id and self._o.retry and refusal.code in RETRYABLE and self._outbox.retry(id, self._retry_at(refusal), self._interval()):
            log.debug("envelope %s refused for the moment: %s", id, refusal)
        elif id and self._outbox.answer(id, refusal):
            pass
        elif refusal.code == "message_too_large":
            self._outbox.refuse_largest(refusal)
        else:
            log.warning("the gateway reports an error: %s", refusal)

    def _interval(self) -> float:
        """The interval of envelopes at the rate of this participant, in seconds."""
        rate = (self._welcome.get("you", {}).get("limits") or {}).get("rate") or 0
        return 1 / rate if rate > 0 else 0.0

    def _retry_at(self, refusal: Refused) -> Callable[[int], float]:
        return lambda attempt: time.monotonic() + (refusal.retry_after or self._o.backoff.delay(attempt))

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
        return self._matcher(env) or not self._o.observe and (env.is_work or self._you in env.to)
