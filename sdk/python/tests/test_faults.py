"""Faults of the gateway and of the connection, played by a gateway of this test."""

from __future__ import annotations

import asyncio
import urllib.error
from datetime import datetime, timedelta, timezone
from typing import Any
from unittest import mock

import meup
from meup import catchup
from support import BoundedTest, FakeConnection, FakeGateway, until


class FaultsTest(BoundedTest):
    async def asyncSetUp(self) -> None:
        self.gateway = FakeGateway()
        await self.gateway.__aenter__()

    async def asyncTearDown(self) -> None:
        await super().asyncTearDown()
        await self.gateway.__aexit__()

    async def join(self, **options: Any) -> meup.Space:
        space = meup.connect(self.gateway.url, "token", "lab", backoff=meup.Backoff(0.002, 0.01), **options)
        self.left.append(space)
        return await space.join()

    async def test_connection_parameters(self) -> None:
        space = meup.connect(self.gateway.url, "secret", "lab", since=meup.Position(0, "log-1"), echo=False, headers={"X-Test": "1"})
        self.left.append(space)
        space.serve_tools(lambda: None, name="x")
        await space.join()
        want = {"space": "lab", "ack": "true", "echo": "false", "serves": "tools", "since": "0", "log": "log-1"}
        self.assertEqual(self.gateway.queries[0], want)
        self.assertEqual(self.gateway.headers[0]["Authorization"], "Bearer secret")
        self.assertEqual(self.gateway.headers[0]["X-Test"], "1")

    async def test_a_proposal_expires_by_the_clock_of_the_gateway(self) -> None:
        for ahead, least in ((timedelta(hours=1), 3800), (timedelta(), 200), (timedelta(hours=-1), -3400)):
            with self.subTest(ahead=ahead):
                self.gateway.ahead = ahead
                space = await self.join()
                proposing = asyncio.create_task(space.propose("rm", participant="tools"))
                await until(lambda: any(e["kind"] == "mcp.proposal" for e in self.gateway.log))
                proposal = next(e for e in self.gateway.log if e["kind"] == "mcp.proposal")
                left = datetime.fromisoformat(proposal["payload"]["expires_at"]) - datetime.now(timezone.utc)
                self.assertTrue(least < left.total_seconds() <= least + 101, left)
                proposing.cancel()
                await space.close()
                self.gateway.log.clear()

    async def test_a_pause_takes_no_time_from_a_proposal(self) -> None:
        space = await self.join()
        control: dict[str, Any] = {"from": "alice", "to": ["you"], "payload": {}}
        await self.gateway.admit({**control, "id": "p1", "kind": "participant.pause"})
        await until(lambda: space.paused)
        with mock.patch.object(space, "_expires_at", wraps=space._expires_at) as ends:
            proposing = asyncio.create_task(space.propose("rm", participant="tools"))
            await asyncio.sleep(0)
            ends.assert_not_called()
            await self.gateway.admit({**control, "id": "p2", "kind": "participant.resume"})
            await until(lambda: self.gateway.log[-1]["kind"] == "mcp.proposal")
        proposing.cancel()

    async def test_lost_acknowledgement(self) -> None:
        async def cut(conn: FakeConnection, doc: dict[str, Any]) -> bool:
            if len(self.gateway.queries) > 1:
                return False
            await self.gateway.admit(doc)
            conn.socket.transport.abort()
            return True

        self.gateway.on_frame = cut
        space = await self.join()
        self.assertEqual((await space.send("chat", {"message": "x"}, id="one")).seq, 1)
        self.assertEqual([e["id"] for e in self.gateway.log], ["one"])
        self.assertEqual(self.gateway.queries[1]["log"], "log-1")
        self.assertEqual((await space.receive()).kind, "system.welcome" if space.position.seq == 0 else "chat")

    async def test_outcome_unknown_is_sent_again_with_its_id(self) -> None:
        seen: list[str] = []

        async def unknown(conn: FakeConnection, doc: dict[str, Any]) -> bool:
            seen.append(doc["id"])
            if len(seen) > 2:
                return False
            code = "outcome_unknown" if len(seen) == 1 else "unavailable"
            if len(seen) == 1:
                await self.gateway.admit(doc)
            await conn.refuse(doc["id"], code, id=doc["id"])
            return True

        self.gateway.on_frame = unknown
        space = await self.join()
        receipt = await space.chat("x")
        self.assertEqual((receipt.seq, seen), (1, [receipt.id] * 3))
        strict = await self.join(retry=False)
        seen.clear()
        with self.assertRaises(meup.Refused) as caught:
            await strict.chat("y")
        self.assertEqual(caught.exception.code, "outcome_unknown")

    async def test_live_data_is_not_sent_again(self) -> None:
        def cut(conn: FakeConnection, doc: dict[str, Any]) -> bool:
            if doc["kind"] != "stream.data":
                return False
            conn.socket.transport.abort()
            return True

        self.gateway.on_frame = cut
        space = await self.join()
        with self.assertRaises(meup.Interrupted):
            await space.send("stream.data", {"stream_id": "s", "data": "x"})
        await space.chat("x")

    async def test_too_large_without_id(self) -> None:
        async def large(conn: FakeConnection, doc: dict[str, Any]) -> bool:
            if len(str(doc["payload"])) < 1000:
                return False
            await conn.refuse(None, "message_too_large", limit=1000)
            await conn.socket.close(1009)
            return True

        self.gateway.on_frame = large
        space = await self.join()
        big, small = await space.submit("chat", {"message": "x" * 2000}), await space.submit("chat", {"message": "y"})
        with self.assertRaises(meup.Refused):
            await big
        await small

    async def test_arguments_that_do_not_fit(self) -> None:
        """What the gateway refuses by the schema of a tool is what the host would have answered, and is not proposed."""
        paths = iter(("/payload/params/arguments/path", "/payload/params/arguments", "/payload/params/name", None))

        async def refuse(conn: FakeConnection, doc: dict[str, Any]) -> bool:
            if doc["kind"] == "mcp.request":
                await conn.refuse(doc["id"], "invalid_payload", path=next(paths))
            return doc["kind"] == "mcp.request"

        self.gateway.on_frame = refuse
        space = await self.join()
        for path in ("/payload/params/arguments/path", "/payload/params/arguments"):
            with self.subTest(path=path), self.assertRaises(meup.RPCError) as caught:
                await space.call_tool("rm", {"path": 7}, participant="tools")
            self.assertEqual((caught.exception.code, caught.exception.data["path"]), (-32602, path))
        for path in ("/payload/params/name", None):
            with self.subTest(path=path), self.assertRaises(meup.Refused) as refused:
                await space.call_tool("rm", {"path": 7}, participant="tools")
            self.assertEqual(refused.exception.code, "invalid_payload")
        self.assertEqual(self.gateway.log, [])

    async def test_frames_that_are_not_understood(self) -> None:
        async def noise(conn: FakeConnection) -> None:
            for frame in ("{", "[]", "{}", '{"kind":5}', "[" * 200_000):
                await conn.socket.send(frame)
            await conn.send("system.ack", {"seq": "x"}, correlationId="unknown")
            await conn.send("system.error", {}, correlationId="unknown")
            await conn.send("system.presence", {"participant": None})
            await conn.send("mcp.response", {"error": 7}, correlationId=[1, None], seq=-1)

        self.gateway.on_open = noise
        space = await self.join()
        self.assertEqual((await space.chat("x")).seq, 1)
        while (await space.receive()).kind != "chat":
            pass
        self.assertEqual(len(self.gateway.queries), 1)

    async def test_gap(self) -> None:
        self.gateway.log = [{"from": "you", "id": f"m-{i}", "kind": "chat", "payload": {}, "seq": i + 1} for i in range(5)]

        async def expired(conn: FakeConnection) -> None:
            await conn.refuse(None, "cursor_expired", oldest_seq=3)
            conn.query["since"] = "2"

        self.gateway.on_open = expired
        space = await self.join(since=1)
        with self.assertRaises(meup.Gap) as caught:
            await space.receive()
        self.assertEqual((caught.exception.after, caught.exception.oldest, caught.exception.reset), (1, 3, False))
        self.assertEqual([(await space.receive()).seq for _ in range(3)], [3, 4, 5])

    async def test_log_that_was_replaced(self) -> None:
        space = await self.join()
        await space.chat("x")
        self.gateway.log, self.gateway.log_id = [{"from": "bob", "id": "new", "kind": "chat", "payload": {}, "seq": 1}], "log-2"

        async def expired(conn: FakeConnection) -> None:
            await conn.refuse(None, "cursor_expired", oldest_seq=1)
            conn.query["since"] = "0"

        self.gateway.on_open = expired
        for conn in list(self.gateway.open):
            await conn.socket.close(1001)
        self.assertEqual((await space.receive()).seq, 1)
        with self.assertRaises(meup.Gap) as caught:
            while True:
                self.assertFalse((await space.receive()).seq)
        self.assertTrue(caught.exception.reset)
        while (env := await space.receive()).kind != "chat":
            pass
        self.assertEqual(env.id, "new")
        self.assertEqual(space.position, meup.Position(1, "log-2"))

    async def test_work_of_a_log_that_was_replaced(self) -> None:
        """Only what was sent after the last entry of the lost log is for the handlers."""
        seen: list[str] = []
        space = meup.connect(self.gateway.url, "token", "lab", backoff=meup.Backoff(0.002, 0.01))
        self.left.append(space)

        @space.on_question
        async def answer(question: meup.Question) -> None:
            seen.append(question.id)

        def chat(id: str, second: int) -> dict[str, Any]:
            return {"from": "bob", "id": id, "kind": "chat", "payload": {"message": id}, "ts": f"2026-01-01T00:00:{second:02}.000000Z"}

        running = asyncio.create_task(space.run(catch_up="off"))
        await until(lambda: self.gateway.open)
        for second in range(1, 9):
            await self.gateway.admit({**chat(f"m-{second}", second), "correlationId": "x", "context": "c"})
        await self.gateway.admit(chat("first", 10))
        await until(lambda: seen == ["first"])
        self.gateway.log_id = "log-2"
        self.gateway.log = [{**chat("first", 10), "seq": 1}, {**chat("lost", 5), "seq": 2}, {**chat("meanwhile", 11), "seq": 3}]

        async def expired(conn: FakeConnection) -> None:
            conn.query["since"] = "0"

        self.gateway.on_open = expired
        for conn in list(self.gateway.open):
            await conn.socket.close(1001)
        await until(lambda: len(seen) == 2)
        await self.gateway.admit(chat("after", 3))
        await until(lambda: len(seen) == 3)
        self.assertEqual(seen, ["first", "meanwhile", "after"])
        await space.close()
        await running

    async def test_gateway_that_is_away_at_the_start(self) -> None:
        """One warning, and one message when it is reached."""
        self.gateway.status = [(503, {}, b"")] * 3
        with self.assertLogs("meup", "WARNING") as logs:
            await self.join(connect_timeout=60)
        self.assertEqual(len(logs.records), 2, logs.output)
        self.assertIn(f"waiting for the gateway at {self.gateway.url}: ", logs.output[0])
        self.assertIn(f"the gateway at {self.gateway.url} is reached", logs.output[1])

    async def test_connection_that_is_lost(self) -> None:
        """One warning, and one message when the gateway is reached again."""
        with self.assertLogs("meup", "INFO") as logs:
            space = await self.join()
            self.gateway.status = [(503, {}, b"")] * 3
            await next(iter(self.gateway.open)).socket.close(1001)
            await space.send("chat", {"message": "x"})
        self.assertEqual(len(logs.records), 3, logs.output)
        self.assertIn(f"joined lab as you at {self.gateway.url}", logs.output[0])
        self.assertIn(f"WARNING:meup:the connection to the gateway at {self.gateway.url} is lost, trying again: ", logs.output[1])
        self.assertIn(f"WARNING:meup:the gateway at {self.gateway.url} is reached again", logs.output[2])

    async def test_gateway_that_is_behind(self) -> None:
        space = await self.join(since=meup.Position(0, "log-1"))
        await space.chat("x")
        entry = self.gateway.log.pop()

        async def catch_up(conn: FakeConnection) -> None:
            if len(self.gateway.queries) == 3:
                self.gateway.log.append(entry)

        self.gateway.on_open = catch_up
        for conn in list(self.gateway.open):
            await conn.socket.close(1001)
        await until(lambda: len(self.gateway.queries) >= 4)
        self.assertEqual((await space.chat("y")).seq, 2)

    async def test_close_codes(self) -> None:
        for code, final in ((1000, False), (1001, False), (1009, False), (1011, False), (4008, False), (1008, True), (4001, True), (4003, True)):
            with self.subTest(code):
                space = await self.join()
                before = len(self.gateway.queries)
                for conn in list(self.gateway.open):
                    await conn.socket.close(code, "why")
                if not final:
                    await space.chat("x")
                    await space.close()
                    continue
                with self.assertRaises(meup.ConnectionClosed) as caught:
                    while True:
                        await space.receive()
                self.assertEqual((caught.exception.code, caught.exception.reason), (code, "why"))
                self.assertEqual(len(self.gateway.queries), before)

    async def test_rejected_upgrades(self) -> None:
        busy = (503, {"Retry-After": "0"}, b'{"error":"unavailable","message":"Later."}')
        self.gateway.status = [busy, busy]
        space = await self.join()
        self.gateway.status = [busy, (401, {}, b'{"error":"unauthorized","message":"The token has expired."}')]
        for conn in list(self.gateway.open):
            await conn.socket.close(1001)
        with self.assertRaises(meup.ConnectError) as caught:
            while True:
                await space.receive()
        self.assertEqual((caught.exception.status, caught.exception.code), (401, "unauthorized"))
        self.assertIn("The token has expired.", str(caught.exception))

    async def test_the_log_is_read_again_while_the_gateway_is_away(self) -> None:
        history = catchup._History(await self.join())
        away: list[Any] = [urllib.error.URLError("connection refused"), ConnectionResetError(), TimeoutError()]
        with mock.patch.object(history, "_get", side_effect=[*away, {"envelopes": []}]):
            self.assertEqual(await history.page(limit=1), {"envelopes": []})
        with mock.patch.object(history, "_get", side_effect=away * 3) as get, self.assertRaises(OSError):
            await history.page(limit=1)
        self.assertEqual(get.call_count, catchup.AWAY_ATTEMPTS)

    async def test_redirects_are_not_followed(self) -> None:
        async with FakeGateway() as other:
            self.gateway.status = [(302, {"Location": other.url.replace("http", "ws") + "/ws"}, b"")] * 2
            with self.assertRaises(meup.ConnectError):
                await self.join()
            self.assertEqual(other.queries, [])

    async def test_dead_connection(self) -> None:
        with mock.patch("meup.connection.PING_EVERY", 0.01), mock.patch("meup.connection.PING_TIMEOUT", 0.05):
            space = await self.join()
            for conn in list(self.gateway.open):
                conn.socket.transport.pause_reading()
            await until(lambda: len(self.gateway.queries) >= 2)
        await space.chat("x")

    async def test_cancelled_join_and_close_while_away(self) -> None:
        self.gateway.status = [(503, {}, b"")] * 10_000
        joining = asyncio.create_task(self.join())
        await until(lambda: self.gateway.queries)
        joining.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await joining
        self.gateway.status = []
        space = await self.join()
        self.gateway.status = [(503, {}, b"")] * 10_000
        for conn in list(self.gateway.open):
            await conn.socket.close(1001)
        sending = asyncio.create_task(space.chat("x"))
        await until(lambda: len(self.gateway.queries) > 5)
        await space.close()
        with self.assertRaises(meup.Closed):
            await sending
