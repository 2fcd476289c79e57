"""Parts that the tests share: joining a space of the gateway, a proxy that cuts, and a gateway with faults."""

from __future__ import annotations

import asyncio
import contextlib
import http
import importlib
import json
import logging
import os
import random
import sys
import unittest
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, Awaitable, Callable
from urllib.parse import parse_qs, urlsplit

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import meup  # noqa: E402

for name in ("meup", "asyncio", "websockets.server", "websockets.client"):  # the tests cause their reports
    logging.getLogger(name).setLevel(logging.CRITICAL + 1)

URL = os.environ.get("MEUP_TEST_URL", "")
# PATIENCE bounds each test.
PATIENCE = 300.0


class BoundedTest(unittest.IsolatedAsyncioTestCase):
    """A test that PATIENCE bounds, and that leaves no task of a space."""

    def run(self, result: Any = None) -> Any:
        method = getattr(self, self._testMethodName)

        async def bounded() -> None:
            asyncio.get_running_loop().set_debug(False)  # it makes a loop several times slower
            async with asyncio.timeout(PATIENCE):
                await method()

        setattr(self, self._testMethodName, bounded)
        return super().run(result)

    def setUp(self) -> None:
        self.left: list[meup.Space] = []

    async def asyncTearDown(self) -> None:
        for space in self.left:
            await space.close()
        await asyncio.sleep(0)
        rest = [t.get_name() for t in asyncio.all_tasks() if t.get_name().startswith("meup ")]
        self.assertEqual(rest, [], "tasks were left")


class SpaceTest(BoundedTest):
    """A test with a space of its own."""

    def setUp(self) -> None:
        if not URL:
            raise unittest.SkipTest("MEUP_TEST_URL names no gateway")
        super().setUp()
        self.name = "t-" + meup.new_id()

    def space(self, who: str, **options: Any) -> meup.Space:
        """Return a space that is not joined, and is closed with the test."""
        url = options.pop("url", URL)
        options.setdefault("backoff", meup.Backoff(0.005, 0.02))
        space = meup.connect(url, who + "-token", options.pop("space", self.name), **options)
        self.left.append(space)
        return space

    async def join(self, who: str, **options: Any) -> meup.Space:
        return await self.space(who, **options).join()

    async def serve(self, space: meup.Space, **options: Any) -> "asyncio.Task[None]":
        """Run a space in the background until the test ends."""
        task = asyncio.create_task(space.run(**options))
        await until(lambda: bool(space.id) and space._supervisor is not None or task.done())
        if task.done():
            task.result()
        return task


async def until(condition: Callable[[], Any]) -> None:
    """Wait until a condition is true."""
    while not condition():
        await asyncio.sleep(0.002)


async def next_of(space: meup.Space, kind: str, from_: str = "") -> meup.Envelope:
    """Return the next envelope of a kind, without the ones before it."""
    while True:
        env = await space.receive()
        if env.kind == kind and (not from_ or env.from_ == from_):
            return env


class Cutter:
    """A proxy that cuts each connection after a random number of bytes, anywhere in a frame."""

    def __init__(self, seed: int, least: int = 1500, most: int = 9000) -> None:
        self.connections = 0
        self._random = random.Random(seed)
        self._bytes = (least, most)
        self._tasks: set[asyncio.Task[Any]] = set()
        self.cutting = True

    async def __aenter__(self) -> "Cutter":
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = "http://127.0.0.1:%d" % self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self.connections += 1
        target = urlsplit(URL)
        back: asyncio.StreamWriter | None = None
        pumps: list[asyncio.Task[None]] = []
        try:
            from_gateway, back = await asyncio.open_connection(target.hostname, target.port)
            up, down = (self._random.randint(*self._bytes) if self.cutting else 1 << 40 for _ in range(2))
            pumps = [asyncio.create_task(self._pump(reader, back, up)), asyncio.create_task(self._pump(from_gateway, writer, down))]
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            for pump in pumps:
                pump.cancel()
            for end in (writer, back):
                if end is not None:
                    end.transport.abort()

    @staticmethod
    async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, left: int) -> None:
        with contextlib.suppress(OSError):
            while left > 0 and (data := await reader.read(min(left, 4096))):
                left -= len(data)
                writer.write(data)
                await writer.drain()


Respond = Callable[["FakeConnection", dict[str, Any]], Awaitable[bool] | bool]


class FakeConnection:
    """One connection of the gateway with faults."""

    def __init__(self, gateway: "FakeGateway", socket: Any, query: dict[str, str]) -> None:
        self.gateway = gateway
        self.socket = socket
        self.query = query

    async def send(self, kind: str, payload: dict[str, Any], **fields: Any) -> None:
        ts = (datetime.now(timezone.utc) + self.gateway.ahead).isoformat()
        doc = {"protocol": "meup/v0.1", "id": meup.new_id(), "ts": ts, "from": "system:gateway", "kind": kind, "payload": payload, **fields}
        await self.socket.send(json.dumps(doc))

    async def refuse(self, about: str | None, code: str, **fields: Any) -> None:
        correlation = {} if about is None else {"correlationId": about}
        await self.send("system.error", {"error": code, "message": "Refused.", **fields}, **correlation)


class FakeGateway:
    """A log with one participant, you, and faults that a test adds."""

    def __init__(self) -> None:
        self.log: list[dict[str, Any]] = []
        self.log_id = "log-1"
        self.ahead = timedelta()  # of its clock
        self.queries: list[dict[str, str]] = []
        self.headers: list[Any] = []
        self.status: list[tuple[int, dict[str, str], bytes]] = []  # for the next upgrades
        self.on_frame: Respond = lambda conn, doc: False  # True: it was handled
        self.on_open: Callable[[FakeConnection], Awaitable[None]] | None = None
        self.open: set[FakeConnection] = set()

    async def __aenter__(self) -> "FakeGateway":
        try:
            serve: Any = importlib.import_module("websockets.asyncio.server").serve
            self._modern = True
        except ImportError:
            serve = importlib.import_module("websockets.legacy.server").serve
            self._modern = False
        self._server = await serve(self._serve, "127.0.0.1", 0, process_request=self._upgrade, ping_interval=None, close_timeout=1)
        self.url = "http://127.0.0.1:%d" % next(iter(self._server.sockets)).getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        await self._server.wait_closed()

    def _upgrade(self, *args: Any) -> Any:
        path, headers = (args[1].path, args[1].headers) if self._modern else args
        self.queries.append({k: v[0] for k, v in parse_qs(urlsplit(path).query, keep_blank_values=True).items()})
        self.headers.append(headers)
        return self._refusal(args) if self.status else (None if self._modern else _nothing())

    def _refusal(self, args: Any) -> Any:
        status, headers, body = self.status.pop(0)
        headers = {"Content-Length": str(len(body)), **headers}
        if not self._modern:
            return _result((http.HTTPStatus(status), list(headers.items()), body))
        response = args[0].respond(status, body.decode())
        for name, value in headers.items():
            if name != "Content-Length":
                response.headers[name] = value
        return response

    async def _serve(self, socket: Any) -> None:
        conn = FakeConnection(self, socket, self.queries[-1])
        head = len(self.log)
        you = {"id": "you", "capabilities": ["*"], "limits": {"message_bytes": 1 << 20}}
        info = {"name": "lab", "seq": head, "log": self.log_id}
        await conn.send("system.welcome", {"you": you, "participants": [you], "space": info, "protocol": "meup/v0.1"})
        self.open.add(conn)
        try:
            if self.on_open is not None:
                await self.on_open(conn)
            for doc in self.log[int(conn.query.get("since", head)) : head]:
                await socket.send(json.dumps(doc))
            async for text in socket:
                await self._handle(conn, json.loads(text))
        except Exception as err:
            if type(err).__name__ not in ("ConnectionClosedError", "ConnectionClosedOK"):
                raise
        finally:
            self.open.discard(conn)

    async def _handle(self, conn: FakeConnection, doc: dict[str, Any]) -> None:
        handled = self.on_frame(conn, doc)
        if handled is True or handled is not False and await handled:  # type: ignore[misc]
            return
        if doc["kind"] == "system.subscribe":
            await conn.send("system.subscribed", doc["payload"], correlationId=doc["id"])
            return
        await conn.send("system.ack", {"seq": await self.admit(doc)}, correlationId=doc["id"])

    async def admit(self, doc: dict[str, Any]) -> int:
        """Append an envelope, and deliver it; a retry returns the position of the first."""
        for known in self.log:
            if known["id"] == doc["id"]:
                return int(known["seq"])
        entry = {"from": "you", **doc, "seq": len(self.log) + 1}
        self.log.append(entry)
        for conn in list(self.open):
            with contextlib.suppress(Exception):
                await conn.socket.send(json.dumps(entry))
        return len(self.log)


async def _nothing() -> None:
    return None


async def _result(value: Any) -> Any:
    return value
