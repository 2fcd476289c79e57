"""Joining, sending, receiving, resuming and calling, at a real gateway."""

from __future__ import annotations

import asyncio
import logging
import os
import unittest
from unittest import mock

import meup
from meup.connection import socket_url
from meup.filters import kind_pattern
from support import URL, Cutter, SpaceTest, next_of, until


class ConfigurationTest(unittest.TestCase):
    def test_socket_url(self) -> None:
        for address, want in {
            "http://host:8080": "ws://host:8080/ws",
            "https://host/": "wss://host/ws",
            "https://host/base/": "wss://host/base/ws",
            "http://host/ws": "ws://host/ws",
            "ws://host/ws?space=lab": "ws://host/ws?space=lab",
            "wss://host/other": "wss://host/other",
        }.items():
            with self.subTest(address):
                self.assertEqual(socket_url(address), want)
        for address in ("host:8080", "ftp://host", ""):
            with self.subTest(address), self.assertRaises(ValueError):
                socket_url(address)

    def test_environment(self) -> None:
        with mock.patch.dict(os.environ, {"MEUP_URL": "http://host", "MEUP_TOKEN": "secret", "MEUP_SPACE": "lab"}):
            space = meup.connect()
            self.assertEqual((space.name, space._o.token), ("lab", "secret"))
            self.assertEqual(meup.connect("ws://host/ws?space=other").name, "other")
        with mock.patch.dict(os.environ, {}, clear=True):
            for arguments in ((), ("http://host",)):
                with self.subTest(arguments), self.assertRaises(ValueError):
                    meup.connect(*arguments)

    def test_kind_patterns(self) -> None:
        for pattern, kind, want in (
            ("chat", "chat", True), ("mcp/request", "mcp.request", True), ("reasoning/*", "reasoning.start", True),
            ("reasoning/step", "reasoning.thought", True), ("reasoning/step", "reasoning.start", False), ("*", "x.y", True),
            ("!chat", "chat", False), ("!chat", "mcp.request", True), ("/^x[./]/", "x.y", True), ("/^x//", "x.y", True),
            ("mcp/re*", "mcp.response", True), ("mcp/re*", "mcp.proposal", False), ("m*", "mcp.request", False),
        ):
            with self.subTest(pattern, kind=kind):
                self.assertEqual(kind_pattern(pattern)(kind), want)
        for pattern in ("", "a b", "/(/"):
            with self.subTest(pattern), self.assertRaises(ValueError):
                meup.Filter(kinds=[pattern])


class ClientTest(SpaceTest):
    async def test_order_and_positions(self) -> None:
        alice, bob = await self.join("alice"), await self.join("bob")
        receipts = [await alice.chat(f"message {i}") for i in range(5)]
        got = [await next_of(bob, "chat") for _ in receipts]
        self.assertEqual([(e.id, e.seq) for e in got], [(r.id, r.seq) for r in receipts])
        self.assertEqual([e.id for e in got], [(await next_of(alice, "chat")).id for _ in got])
        self.assertEqual(got[0].payload, {"message": "message 0"})
        self.assertEqual({p.id for p in alice.participants}, {"alice", "bob"})

    async def test_retry_is_recognized(self) -> None:
        alice, bob = await self.join("alice"), await self.join("bob")
        first = await alice.send("chat", {"message": "x"}, id="one")
        self.assertEqual((await alice.send("chat", {"message": "y"}, id="one")).seq, first.seq)
        await alice.chat("end")
        self.assertEqual([(await next_of(bob, "chat")).text for _ in range(2)], ["x", "end"])

    async def test_refusals(self) -> None:
        alice, planner = await self.join("alice"), await self.join("planner")
        await alice.send("chat", {"message": "x"}, id="taken")
        for work, code in (
            (planner.send("mcp.request", {"method": "tools/call", "params": {"name": "write"}}, to=["alice"]), "capability_violation"),
            (planner.send("chat", {"message": "x"}, id="taken"), "duplicate_id"),
            (alice.send("chat", {"message": "x"}, to=["nobody"]), "unknown_participant"),
            (alice.send("chat", {"message": 1}), "invalid_payload"),
            (alice.send("chat", {"message": "x"}, context="a//b"), "invalid_context"),
            (alice.send("chat", {"message": "x" * (2 << 20)}), "message_too_large"),
            (alice.send("chat", {"message": "x", "deep": nested(70)}), "invalid_json"),
            (alice.send("system.ack", {}), "reserved_kind"),
        ):
            with self.subTest(code), self.assertRaises(meup.Refused) as caught:
                await work
            self.assertEqual(caught.exception.code, code)
        with self.assertRaises(ValueError):
            await alice.send("chat", {"message": "\ud800"})
        with self.assertRaises(ValueError):
            await alice.send("chat", {"message": "x", "n": float("nan")})
        with self.assertRaises(TypeError):
            await alice.send("chat", {"message": "x"}, to="bob")
        self.assertGreater((await alice.chat("still connected")).seq, 0)

    async def test_rate_limited_is_retried_in_order(self) -> None:
        slow, bob = await self.join("slow"), await self.join("bob")
        await asyncio.gather(*(slow.chat(str(i)) for i in range(12)))
        got = [int((await next_of(bob, "chat")).text) for _ in range(12)]
        self.assertEqual(sorted(got), list(range(12)))

    async def test_rate_limited_is_not_refused_again_and_again(self) -> None:
        slow = await self.join("slow")
        with self.assertLogs("meup", "DEBUG") as logs:
            logging.getLogger("meup").debug("begin")
            await asyncio.gather(*(slow.chat(f"n {i}") for i in range(30)))
        refused = sum("refused for the moment" in line for line in logs.output)
        self.assertLess(refused, 60, f"of 30 envelopes at 20 per second, {refused} refusals")

    async def test_rate_limited_without_retry(self) -> None:
        slow = await self.join("slow", retry=False)
        results = await asyncio.gather(*(slow.chat("x") for _ in range(12)), return_exceptions=True)
        limited = [r for r in results if isinstance(r, meup.Refused)]
        self.assertTrue(limited and all(r.code == "rate_limited" and r.retry_after > 0 for r in limited), limited)

    async def test_rejected_connections(self) -> None:
        for who, space, status in (("nobody", self.name, 401), ("alice", "unknown", 404)):
            with self.subTest(status), self.assertRaises(meup.ConnectError) as caught:
                await self.join(who, space=space)
            self.assertEqual(caught.exception.status, status)
            self.assertTrue(caught.exception.code and caught.exception.message)
        with self.assertRaises(meup.NotReached):
            await self.join("alice", url="http://127.0.0.1:9", connect_timeout=0.01)

    async def test_kick_is_final(self) -> None:
        alice, bob = await self.join("alice"), await self.join("bob")
        await alice.send("space.kick", {"participant_id": "bob", "reason": "enough"})
        with self.assertRaises(meup.ConnectionClosed) as caught:
            while True:
                await bob.receive()
        self.assertEqual(caught.exception.code, 4003)
        with self.assertRaises(meup.ConnectionClosed):
            await bob.chat("x")
        with self.assertRaises(meup.ConnectError) as refused:
            await self.join("bob")
        self.assertEqual(refused.exception.code, "kicked")

    async def test_resume_by_position(self) -> None:
        alice, bob = await self.join("alice"), await self.join("bob")
        await alice.chat("one")
        await next_of(bob, "chat")
        position = bob.position
        await bob.close()
        await alice.chat("two")
        again = await self.join("bob", since=position)
        self.assertEqual((await next_of(again, "chat")).text, "two")
        everything = await self.join("bob", since=0)
        self.assertEqual([(await next_of(everything, "chat")).text for _ in range(2)], ["one", "two"])

    async def test_send_from_the_receive_loop_with_a_small_buffer(self) -> None:
        count = 120
        alice = await self.join("alice")
        for i in range(count):
            await alice.submit("chat", {"message": str(i)})
        bob = await self.join("bob", since=0, buffer=8, echo=False)
        for i in range(count):
            env = await next_of(bob, "chat")
            self.assertEqual(env.text, str(i))
            await bob.send("chat", {"message": "x" * 2000}, correlation=env.id)

    async def test_a_full_buffer_stops_the_reader(self) -> None:
        alice = await self.join("alice")
        for i in range(200):
            await alice.submit("chat", {"message": "x" * 2000})
        bob = await self.join("bob", since=0, buffer=4)
        await until(lambda: bob._pauses)
        self.assertLessEqual(len(bob._inbox), 4)
        sockets = bob._stop
        for _ in range(200):
            await next_of(bob, "chat")
        self.assertIs(bob._stop, sockets, "it connected again")

    async def test_filters(self) -> None:
        alice = await self.join("alice")
        bob = await self.join("bob", filter=meup.Filter(kinds=["chat"]), echo=False)
        await alice.send("x.note", {"n": 1})
        await alice.send("x.note", {"n": 2}, to=["bob"])
        await alice.send("mcp.request", {"method": "notifications/x"})
        await alice.chat("seen")
        kinds = [(await bob.receive()).kind for _ in range(3)]
        self.assertEqual(kinds, ["x.note", "mcp.request", "chat"])
        await bob.subscribe(meup.Filter(contexts=["c"]))
        await alice.chat("hidden")
        await alice.send("reasoning.thought", {"message": "in it"}, context="c/d")
        self.assertEqual((await bob.receive()).kind, "reasoning.thought")
        with self.assertRaises(meup.Refused):
            await bob.subscribe(meup.Filter(contexts=["a//b"]))
        await alice.chat("hidden too")
        await alice.send("reasoning.thought", {"message": "again"}, context="c")
        self.assertEqual((await bob.receive()).text, "again")

    async def test_observe(self) -> None:
        alice = await self.join("alice")
        bob = await self.join("bob", observe=True, filter=meup.Filter(kinds=["chat"]))
        await alice.send("mcp.request", {"method": "notifications/x"}, to=["bob"])
        await alice.chat("seen")
        # Until the gateway applies the filter, the client does.
        self.assertEqual((await bob.receive()).text, "seen")
        with self.assertRaises(RuntimeError):
            await bob.chat("x")
        with self.assertRaises(ValueError):
            bob.on_question(lambda question: None)

    async def test_pause(self) -> None:
        alice, bob = await self.join("alice"), await self.join("bob")
        strict = await self.join("bob", retry=False)
        await alice.send("participant.pause", {}, to=["bob"])
        await until(lambda: bob.paused and strict.paused)
        waiting = asyncio.create_task(bob.chat("later"))
        await bob.send("participant.status", {"status": "paused"})
        with self.assertRaises(meup.Refused) as caught:
            await strict.chat("now")
        self.assertEqual(caught.exception.code, "paused")
        self.assertFalse(waiting.done())
        await alice.send("participant.resume", {}, to=["bob"])
        await waiting
        with mock.patch.object(bob._gate, "close", wraps=bob._gate.close) as close:
            await alice.send("participant.pause", {"timeout_seconds": 0.05}, to=["bob"])
            await until(lambda: close.called)  # it may be over before alice has the acknowledgement
        close.assert_called_once_with(0.05)
        await bob.chat("after the time")

    async def test_pause_that_is_noticed_by_a_refusal(self) -> None:
        alice, bob = await self.join("alice"), await self.join("bob")
        await alice.send("participant.pause", {}, to=["bob"])
        bob._gate.open()  # as if the pause were not received yet
        waiting = asyncio.create_task(bob.chat("later"))
        await until(lambda: bob.paused)
        await alice.send("participant.resume", {}, to=["bob"])
        await waiting

    async def test_close(self) -> None:
        alice, bob = await self.join("alice"), await self.join("bob")
        await bob.chat("kept")
        await until(lambda: len(alice._inbox) >= 2)
        await alice.close()
        await alice.close()
        self.assertEqual((await next_of(alice, "chat")).text, "kept")
        with self.assertRaises(meup.Closed):
            await alice.receive()
        with self.assertRaises(meup.Closed):
            await alice.chat("x")
        self.assertEqual([e async for e in alice], [])

    async def test_outbox_is_bounded_and_survives_the_gateway_being_away(self) -> None:
        async with Cutter(seed=1, least=1 << 30, most=1 << 31) as proxy:
            alice = await self.join("alice", url=proxy.url, in_flight=4, backoff=meup.Backoff(0.01, 0.02))
            bob = await self.join("bob")
            proxy._server.close()
            for task in list(proxy._tasks):
                task.cancel()
            sends = [asyncio.create_task(alice.send("chat", {"message": str(i)}, id=f"m-{i}")) for i in range(8)]
            await until(lambda: len(alice._outbox) == 4)
            sends[0].cancel()
            await until(lambda: sends[0].done() and "m-4" in alice._outbox._queue)
            self.assertEqual(len(alice._outbox), 4)
            port = int(proxy.url.rsplit(":", 1)[1])
            proxy._server = await asyncio.start_server(proxy._serve, "127.0.0.1", port)
            await asyncio.gather(*sends[1:])
            self.assertEqual([(await next_of(bob, "chat")).id for _ in range(7)], [f"m-{i}" for i in range(1, 8)])

    async def test_numbers_of_any_size(self) -> None:
        alice, bob = await self.join("alice"), await self.join("bob")
        digits = "9" * 5000
        alice_frame = '{"id":"big","kind":"chat","payload":{"message":"x","n":%s,"m":1.10}}' % digits
        await alice._submit("big", "chat", alice_frame)
        env = await next_of(bob, "chat")
        self.assertEqual(str(env.payload["n"]), digits)
        self.assertIn('"m":1.10', env.raw)

    async def test_participants(self) -> None:
        alice = await self.join("alice")
        tools = self.space("weather")
        tools.serve_tools(lambda: "x", name="x")
        await tools.join()
        await until(lambda: any(p.id == "weather" and p.serves_tools for p in alice.participants))
        await tools.close()
        await until(lambda: all(p.id != "weather" for p in alice.participants))

    async def test_connections(self) -> None:
        self.assertEqual((await self.join("alice")).connections, 1)
        self.assertEqual((await self.join("alice")).connections, 2)

    async def test_descriptions(self) -> None:
        alice = await self.join("alice")
        planner = await self.join("planner")
        await until(lambda: any(p.id == "planner" for p in alice.participants))
        for space in (alice, planner):  # of a presence, and of a welcome
            self.assertEqual({p.id: p.description for p in space.participants}, {"alice": "", "planner": "Answers questions."})


class RequestTest(SpaceTest):
    async def test_result_and_error(self) -> None:
        alice, bob = await self.join("alice"), await self.join("bob")

        async def answer() -> None:
            for response in ({"result": {"n": 1}}, {"error": {"code": -32000, "message": "no", "data": 7}}):
                env = await next_of(bob, "mcp.request")
                await bob.send("mcp.response", {"id": env.payload["id"], **response}, to=["alice"], correlation=env.id)

        answering = asyncio.create_task(answer())
        self.assertEqual(await alice.request("bob", "x/get", {"a": 1}), {"n": 1})
        with self.assertRaises(meup.RPCError) as caught:
            await alice.request(["bob"], "x/get")
        self.assertEqual((caught.exception.code, caught.exception.message, caught.exception.data), (-32000, "no", 7))
        await answering
        with self.assertRaises(ValueError):
            await alice.request([], "x/get")

    async def test_response_of_another_participant_does_not_count(self) -> None:
        alice, bob, carol = await self.join("alice"), await self.join("bob"), await self.join("carol")
        asking = asyncio.create_task(alice.request("bob", "x/get"))
        env = await next_of(bob, "mcp.request")
        await carol.send("mcp.response", {"result": "wrong"}, to=["alice"], correlation=env.id)
        await bob.send("mcp.response", {"result": "right"}, to=["alice"], correlation=env.id)
        self.assertEqual(await asking, "right")

    async def test_timeout_and_cancel_notify_the_addressee(self) -> None:
        alice, bob = await self.join("alice"), await self.join("bob")
        with self.assertRaises(TimeoutError):
            await alice.request("bob", "x/slow", timeout=0.05)
        request, notice = await next_of(bob, "mcp.request"), await next_of(bob, "mcp.request")
        self.assertEqual(notice.payload["method"], "notifications/cancelled")
        self.assertEqual(notice.payload["params"]["requestId"], request.id)
        task = asyncio.create_task(alice.request("bob", "x/slow"))
        request = await next_of(bob, "mcp.request")
        task.cancel()
        self.assertEqual((await next_of(bob, "mcp.request")).payload["params"]["requestId"], request.id)
        self.assertFalse(alice._calls.active)

    async def test_addressee_that_leaves(self) -> None:
        alice, bob = await self.join("alice"), await self.join("bob")
        with mock.patch("meup.calls.AWAY_TIMEOUT", 0.02):
            asking = asyncio.create_task(alice.request("bob", "x/get"))
            await next_of(bob, "mcp.request")
            await bob.close()
            with self.assertRaises(meup.ParticipantLeft):
                await asking

    async def test_closed_space_fails_requests(self) -> None:
        alice, _ = await self.join("alice"), await self.join("bob")
        asking = asyncio.create_task(alice.request("bob", "x/get"))
        await until(lambda: alice._calls.active)
        await alice.close()
        with self.assertRaises(meup.Closed):
            await asking


def nested(depth: int) -> object:
    value: object = 0
    for _ in range(depth):
        value = [value]
    return value


if __name__ == "__main__":
    assert URL, "MEUP_TEST_URL names no gateway"
    unittest.main()
