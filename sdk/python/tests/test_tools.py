"""Serving and calling tools, and proposals."""

from __future__ import annotations

import asyncio
import enum
import unittest
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from typing import Annotated, Any, Literal, NotRequired, Optional, TypedDict
from unittest import mock

import meup
from meup.questions import explain
from meup.schema import convert, schema_of
from support import SpaceTest, next_of, until


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Point:
    x: int
    y: float = 0


class Options(TypedDict):
    name: str
    deep: NotRequired[bool]


class SchemaTest(unittest.TestCase):
    def test_schema_and_values(self) -> None:
        object_of = {"type": "object", "additionalProperties": False}
        for hint, schema, good, bad in (
            (str, {"type": "string"}, ["x"], [1, None]),
            (int, {"type": "integer"}, [1, 2.0], [True, 1.5, "1"]),
            (float, {"type": "number"}, [1, 1.5], [False, "1"]),
            (bool, {"type": "boolean"}, [True], [1, "true"]),
            (Any, {}, [None, {}], []),
            (Optional[int], {"anyOf": [{"type": "integer"}, {"type": "null"}]}, [1, None], ["x"]),
            (str | None, {"anyOf": [{"type": "string"}, {"type": "null"}]}, ["x", None], [1]),
            (list[int], {"type": "array", "items": {"type": "integer"}}, [[], [1]], [["x"], {}, 1]),
            (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}, [{"a": 1}], [{"a": "x"}, []]),
            (dict, {"type": "object"}, [{"a": 1}], [[]]),
            (Literal["a", 1], {"enum": ["a", 1]}, ["a", 1], ["b", True]),
            (Color, {"enum": ["red", "blue"]}, ["red"], ["green"]),
            (Annotated[int, "how many"], {"type": "integer", "description": "how many"}, [1], ["x"]),
            (Point, {**object_of, "properties": {"x": {"type": "integer"}, "y": {"type": "number"}}, "required": ["x"]}, [{"x": 1}], [{}, {"x": 1, "z": 1}]),
            (Options, {**object_of, "properties": {"name": {"type": "string"}, "deep": {"type": "boolean"}}, "required": ["name"]}, [{"name": "x"}], [{"deep": True}]),
        ):
            with self.subTest(str(hint)):
                self.assertEqual(schema_of(hint), schema)
                for value in good:
                    convert(value, hint)
                for value in bad:
                    with self.assertRaises(ValueError):
                        convert(value, hint)
        self.assertEqual(convert({"x": 1}, Point), Point(1, 0))
        self.assertEqual(convert("blue", Color), Color.BLUE)
        for hint in (object, set[int]):
            with self.subTest(str(hint)), self.assertRaises(TypeError):
                schema_of(hint)


class ToolsTest(SpaceTest):
    async def serving(self, *functions: Any) -> meup.Space:
        space = self.space("weather")
        space.serve_tools(*functions)
        await self.serve(space, catch_up="off")
        return space

    async def test_list_and_call(self) -> None:
        async def temperature(city: Annotated[str, "its name"], unit: Literal["C", "F"] = "C") -> dict[str, Any]:
            """Returns the temperature."""
            return {"city": city, "degrees": -3, "unit": unit}

        def plain(n: int) -> str:
            if n > 1:
                raise meup.ToolError("too many")
            if n < 0:
                raise RuntimeError("secret")
            return "n" * n

        await self.serving(temperature, plain)
        alice = await self.join("alice")
        listed = await alice.list_tools("weather")
        self.assertEqual([t["name"] for t in listed], ["temperature", "plain"])
        self.assertEqual(listed[0]["description"], "Returns the temperature.")
        self.assertEqual(listed[0]["inputSchema"]["properties"]["unit"], {"enum": ["C", "F"], "default": "C"})
        self.assertEqual(listed[0]["inputSchema"]["required"], ["city"])

        result = await alice.call_tool("weather/temperature", {"city": "Oslo"})
        self.assertEqual(result.structured, {"city": "Oslo", "degrees": -3, "unit": "C"})
        self.assertFalse(result.is_error)
        self.assertEqual((await alice.call_tool("plain", {"n": 1})).text, "n")
        for n, text in ((2, "too many"), (-1, "the tool failed; its log has the reason")):
            with self.assertRaises(meup.ToolError) as failed:
                await alice.call_tool("plain", {"n": n}, participant="weather")
            self.assertEqual((failed.exception.result.is_error, str(failed.exception)), (True, text))
            self.assertEqual(explain(failed.exception), f"the tool plain of weather failed: {text}")
        for name, arguments, code in (("plain", {"n": "x"}, -32602), ("plain", {}, -32602), ("none", {}, -32602)):
            with self.subTest(name=name, arguments=arguments), self.assertRaises(meup.RPCError) as caught:
                await alice.call_tool(name, arguments, participant="weather")
            self.assertEqual(caught.exception.code, code)
        self.assertEqual((await alice.request("weather", "initialize", {"protocolVersion": "2025-06-18"}))["protocolVersion"], "2025-06-18")
        self.assertEqual(await alice.request("weather", "ping"), {})
        with self.assertRaises(meup.RPCError) as caught:
            await alice.request("weather", "resources/list")
        self.assertEqual(caught.exception.code, -32601)
        for name, away in (("unknown", ""), ("bob/plain", " (bob is not connected)")):
            with self.assertRaises(meup.ToolNotFound) as missing, mock.patch("meup.calls.AWAY_TIMEOUT", 0.02):
                await alice.call_tool(name)
            self.assertEqual(str(missing.exception), f"no connected participant offers the tool {name}{away}")
            why = "plain of bob was not called: bob is not connected" if away else "unknown was not called: no connected participant offers it"
            self.assertEqual(explain(missing.exception), f"the tool {why}")
        with self.assertRaises(TimeoutError) as late:
            await alice.call_tool("plain", participant="bob", timeout=0.02)
        self.assertEqual(str(late.exception), "no response to tools/call of bob within 0.02 s (bob is not connected)")
        self.assertEqual(explain(late.exception), "the tool plain of bob failed: no answer within 0.02s (bob is not connected)")

    async def test_question_of_a_host(self) -> None:
        """The time limit of a call does not pass while a question about it is answered."""
        alice, bob = await self.join("alice"), await self.join("bob")
        limits: list[float | None] = []

        @alice.on_elicitation
        async def fill_in(question: meup.Elicitation) -> dict[str, Any]:
            self.assertEqual((question.host, question.message, question.schema, question.url), ("bob", "Which?", {"type": "object"}, ""))
            limits.append(alice._calls._calls[question.call].timeout.when())
            return {"n": 1, "bad": object()} if len(limits) == 2 else {"n": 1}

        calling = asyncio.create_task(alice.call_tool("slow", participant="bob", timeout=1000.0))
        call = await next_of(bob, "mcp.request")
        for answer in ({"action": "accept", "content": {"n": 1}}, {"action": "cancel"}):  # of the second, JSON has no value
            params = {"message": "Which?", "requestedSchema": {"type": "object"}}
            asked = await bob.send("mcp.request", {"jsonrpc": "2.0", "id": 1, "method": "elicitation/create", "params": params}, to=["alice"], correlation=call.id)
            reply = await next_of(bob, "mcp.response")
            self.assertEqual((reply.correlation, reply.payload["id"], reply.payload["result"]), ((asked.id,), 1, answer))
        self.assertEqual(limits, [None, None])
        await until(lambda: alice._calls._calls[call.id].timeout.when() is not None)
        await bob.send("mcp.response", {"jsonrpc": "2.0", "id": call.id, "result": {"content": []}}, to=["alice"], correlation=call.id)
        await calling

    async def test_a_question_has_an_end(self) -> None:
        """A question without an answer in time is canceled, also if its handler goes on, and one too many is declined."""
        alice, bob = await self.join("alice"), await self.join("bob")

        @alice.on_elicitation
        async def wait(question: meup.Elicitation) -> dict[str, Any]:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                if "again" in question.params:
                    await asyncio.Event().wait()
            return {"late": 1}

        async def ask(**params: Any) -> dict[str, Any]:
            payload = {"jsonrpc": "2.0", "id": 1, "method": "elicitation/create", "params": params}
            await bob.send("mcp.request", payload, to=["alice"], correlation=call.id)
            return (await next_of(bob, "mcp.response")).payload

        calling = asyncio.create_task(alice.call_tool("slow", participant="bob"))
        call = await next_of(bob, "mcp.request")
        now = datetime.now(timezone.utc)
        later = [(now + timedelta(seconds=s)).isoformat() for s in (300, 1e9)]
        for end, least, most in ((None, 600, 600), ("soon", 600, 600), (later[0], 1, 301), (later[1], 86_400, 86_400)):
            timeout = alice._calls._elicitation_timeout({"_meta": {"meup/expires_at": end}})
            self.assertTrue(least <= timeout <= most, f"{timeout} s for the end {end} at {now}")
        for i in range(20):
            given: dict[str, Any] = {"again": True} if i == 0 else {}
            self.assertEqual((await ask(_meta={"meup/expires_at": now.isoformat()}, **given))["result"], {"action": "cancel"})
        self.assertEqual((await ask())["error"]["code"], -32000)
        await bob.send("mcp.response", {"jsonrpc": "2.0", "id": call.id, "result": {"content": []}}, to=["alice"], correlation=call.id)
        await calling

    async def test_an_answer_after_the_end_of_the_call(self) -> None:
        """The answer to a question does not begin a time limit anew that has ended."""
        alice, bob = await self.join("alice"), await self.join("bob")
        asked, given_up, notify, faults = asyncio.Event(), asyncio.Event(), alice.send_now, []
        asyncio.get_running_loop().set_exception_handler(lambda _, fault: faults.append(fault))

        @alice.on_elicitation
        async def answer(question: meup.Elicitation) -> None:
            asked.set()
            await given_up.wait()

        async def notified(*args: Any) -> None:
            given_up.set()
            (call,) = alice._calls._calls.values()
            await until(lambda: not call.questions)
            await notify(*args)

        calling = asyncio.create_task(alice.call_tool("slow", participant="bob"))
        call = await next_of(bob, "mcp.request")
        await bob.send("mcp.request", {"jsonrpc": "2.0", "id": 1, "method": "elicitation/create"}, to=["alice"], correlation=call.id)
        await asked.wait()
        with mock.patch.object(alice, "send_now", notified):
            calling.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await calling
        self.assertEqual(faults, [])

    async def test_a_host_that_connects_again(self) -> None:
        """A call of a participant whose connection was lost waits for the next one."""
        alice = await self.join("alice")
        calling = asyncio.create_task(alice.call_tool("weather/back"))
        await until(lambda: alice._calls._presence._waiters)
        await self.serving(lambda_named("back"))
        self.assertEqual((await calling).text, "back")

    async def test_two_participants_with_one_name(self) -> None:
        def same() -> str:
            return "weather"

        await self.serving(same)
        bob = self.space("bob")
        bob.serve_tools(lambda: "bob", name="same")
        await self.serve(bob, catch_up="off")
        alice = await self.join("alice")
        with self.assertRaises(meup.ToolNotFound) as several:
            await alice.call_tool("same")
        self.assertEqual(explain(several.exception), "the tool same was not called: several participants offer it")
        self.assertEqual((await alice.call_tool("bob/same")).text, "bob")

    async def test_list_that_changes(self) -> None:
        space = await self.serving(lambda_named("one"))
        alice = await self.join("alice")
        self.assertEqual(len(await alice.list_tools("weather")), 1)
        space.serve_tools(lambda_named("two"))
        await next_of(alice, "mcp.request", "weather")
        self.assertEqual(len(await alice.list_tools("weather")), 2)

    async def test_progress_and_cancel(self) -> None:
        begun, ended = asyncio.Event(), asyncio.Event()

        async def slow(call: meup.ToolCall, steps: int) -> str:
            for i in range(steps):
                await call.progress(i + 1, steps, "step")
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()
            return ""

        await self.serving(slow)
        alice = await self.join("alice")
        seen: list[tuple[float, float | None, str]] = []
        calling = asyncio.create_task(alice.call_tool("weather/slow", {"steps": 2}, on_progress=lambda *p: seen.append(p)))
        await begun.wait()
        await until(lambda: len(seen) == 2)
        self.assertEqual(seen, [(1, 2, "step"), (2, 2, "step")])
        calling.cancel()
        await ended.wait()
        while True:
            response = await next_of(alice, "mcp.response", "weather")
            if response.payload.get("error"):
                break
        self.assertEqual(response.payload["error"]["code"], -32002)

    async def test_cancel_of_another_participant_has_no_effect(self) -> None:
        release = asyncio.Event()

        async def slow() -> str:
            await release.wait()
            return "done"

        space = await self.serving(slow)
        alice, bob = await self.join("alice"), await self.join("bob")
        calling = asyncio.create_task(alice.call_tool("weather/slow"))
        await until(lambda: space._tools._running)
        (id,) = space._tools._running
        await bob.send("mcp.request", {"method": "notifications/cancelled", "params": {"requestId": id}}, to=["weather"])
        await bob.request("weather", "ping")
        request, _ = space._tools._running[id]
        older = {"method": "notifications/cancelled", "params": {"requestId": id}}
        space._tools.route(replace(request, seq=request.seq - 1, payload=older))  # of an earlier request with this id
        release.set()
        self.assertEqual((await calling).text, "done")

    async def test_too_many_calls(self) -> None:
        release = asyncio.Event()

        async def slow() -> str:
            await release.wait()
            return "done"

        await self.serving(slow)
        alice = await self.join("alice")
        with mock.patch("meup.tools.MAX_CALLS", 2), mock.patch("meup.tools.MAX_WAITING", 6):
            calls = [asyncio.create_task(alice.call_tool("weather/slow")) for _ in range(3)]
            done, _ = await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
            self.assertEqual([t.exception().data for t in done], [{"reason": "busy"}])  # type: ignore[union-attr]
            release.set()
            await asyncio.wait(calls)
        self.assertEqual(sum(t.exception() is None for t in calls), 2)

    async def test_results_that_cannot_be_sent(self) -> None:
        async def bad(kind: str) -> Any:
            return {"large": "x" * (3 << 20), "nan": float("nan"), "object": object(), "surrogate": "\ud800"}[kind]

        await self.serving(bad)
        alice = await self.join("alice")
        for kind in ("nan", "object"):
            with self.subTest(kind):
                with self.assertRaises(meup.ToolError):
                    await alice.call_tool("weather/bad", {"kind": kind})
        for kind in ("large", "surrogate"):
            with self.subTest(kind), self.assertRaises(meup.RPCError) as caught:
                await alice.call_tool("weather/bad", {"kind": kind})
            self.assertEqual(caught.exception.code, -32000)

    async def test_shutdown_cancels_calls(self) -> None:
        async def slow() -> None:
            await asyncio.Event().wait()

        space = await self.serving(slow)
        alice = await self.join("alice")
        calling = asyncio.create_task(alice.call_tool("weather/slow"))
        await until(lambda: space._tools._running)
        await space.close()
        with self.assertRaises(meup.RPCError) as caught:
            await calling
        self.assertEqual(caught.exception.code, -32002)

    async def test_calls_of_a_process_that_was_killed(self) -> None:
        def fine() -> str:
            return "fine"

        alice, killed = await self.join("alice"), await self.join("weather")
        await killed.send("participant.status", {"status": "started"}, to=["weather"])
        calling = asyncio.create_task(alice.call_tool("weather/fine"))
        await next_of(alice, "mcp.request")
        space = self.space("weather")
        space.serve_tools(fine)
        await self.serve(space)
        with self.assertRaises(meup.RPCError) as caught:
            await calling
        self.assertEqual(caught.exception.data, {"reason": "restarted"})
        self.assertEqual((await alice.call_tool("weather/fine")).text, "fine")

    async def test_calls_that_no_process_received(self) -> None:
        """They are made by the next process, once, without those that were cancelled."""
        made: list[str] = []

        async def note(text: str) -> str:
            made.append(text)
            return text

        async def ask(text: str, id: str) -> None:
            call = {"name": "note", "arguments": {"text": text}}
            await alice.send("mcp.request", {"id": 1, "method": "tools/call", "params": call}, to=["weather"], id=id)

        alice = await self.join("alice")
        codes: list[Any] = []
        for round in ("never ran", "stopped"):
            await ask(round, f"missed {round}".replace(" ", "-"))
            await ask("cancelled", f"cancelled {round}".replace(" ", "-"))
            cancelled = {"method": "notifications/cancelled", "params": {"requestId": f"cancelled {round}".replace(" ", "-")}}
            await alice.send("mcp.request", cancelled, to=["weather"])
            space = self.space("weather")
            space.serve_tools(note)
            await self.serve(space)
            for _ in range(2):
                response = await next_of(alice, "mcp.response", "weather")
                codes.append(response.payload.get("error", {}).get("code"))
            await space.close()
        self.assertEqual(made, ["never ran", "stopped"])
        self.assertEqual(sorted(codes, key=str), [-32002, -32002, None, None])

    async def test_marks(self) -> None:
        """The start is marked before the first call, and the end after the last envelope."""
        handled = asyncio.Event()

        async def note() -> str:
            marks.append("called")
            return "x"

        space = self.space("weather", since=0)
        marks: list[Any] = []
        space.serve_tools(note)
        send = space.send

        async def slow(kind: str, payload: Any = None, **fields: Any) -> meup.Receipt:
            if kind == "participant.status":
                if payload["status"] == "started":
                    await handled.wait()
                marks.append(payload)
            return await send(kind, payload, **fields)

        with mock.patch.object(space, "send", slow):
            await space.join()
            alice = await self.join("alice")
            calling = asyncio.create_task(alice.call_tool("weather/note"))
            await until(lambda: space._tools._running)
            handled.set()
            await calling
            through = space._routed
            await space.close()
        self.assertEqual(marks, [{"status": "started"}, "called", {"status": "stopped", "through": marks[-1]["through"]}])
        self.assertGreaterEqual(marks[-1]["through"], through)

    async def test_bad_functions(self) -> None:
        space = self.space("weather")

        def positional(*args: int) -> None: ...

        def unknown(x: object) -> None: ...

        for function in (positional, unknown):
            with self.subTest(function.__name__), self.assertRaises(TypeError):
                space.serve_tools(function)
        with self.assertRaises(ValueError):
            space.serve_tools(lambda: None)  # a lambda has no name for a tool
        space.serve_tools(lambda_named("x"))
        with self.assertRaises(ValueError):
            space.serve_tools(lambda_named("x"))


class ProposalTest(SpaceTest):
    async def asyncSetUp(self) -> None:
        space = self.space("weather")
        self.written: list[str] = []

        @space.serve_tools
        async def write(text: str) -> str:
            self.written.append(text)
            return "wrote " + text

        await self.serve(space, catch_up="off")
        self.alice = await self.join("alice")
        self.planner = await self.join("planner")

    async def approve(self, **edited: Any) -> meup.Envelope:
        env = await next_of(self.alice, "mcp.proposal")
        self.assertEqual(env.payload["participant_id"], "weather")
        payload = {"id": 1, "method": env.payload["method"], "params": env.payload["params"], **edited}
        await self.alice.send("mcp.request", payload, to=["weather"], correlation=env.id)
        return env

    async def test_fulfilled(self) -> None:
        proposing = asyncio.create_task(self.planner.propose("weather/write", {"text": "a"}))
        env = await self.approve()
        outcome = await proposing
        assert outcome.result is not None
        self.assertEqual((outcome.outcome, outcome.by, outcome.result.text, outcome.proposal), ("fulfilled", "alice", "wrote a", env.id))

    async def test_edited(self) -> None:
        proposing = asyncio.create_task(self.planner.propose("weather/write", {"text": "a"}))
        await self.approve(edited=True, params={"name": "write", "arguments": {"text": "b"}})
        self.assertEqual((await proposing).outcome, "fulfilled")
        self.assertEqual(self.written, ["b"])

    async def test_fulfilled_and_failed(self) -> None:
        proposing = asyncio.create_task(self.planner.propose("weather/write", {"text": "a"}))
        await self.approve(edited=True, params={"name": "write", "arguments": {}})
        outcome = await proposing
        self.assertEqual((outcome.outcome, outcome.result), ("fulfilled", None))
        self.assertIsInstance(outcome.error, meup.RPCError)

    async def test_call_that_is_not_allowed(self) -> None:
        calling = asyncio.create_task(self.planner.call_tool("weather/write", {"text": "a"}))
        await self.approve()
        self.assertEqual((await calling).text, "wrote a")
        calling = asyncio.create_task(self.planner.call_tool("weather/write", {"text": "a"}))
        env = await next_of(self.alice, "mcp.proposal")
        await self.alice.send("mcp.reject", {"reason": "unsafe"}, correlation=env.id)
        with self.assertRaises(meup.ProposalError) as caught:
            await calling
        err = caught.exception
        self.assertEqual((err.proposal, err.outcome, err.by, err.reason), (env.id, "rejected", "alice", "unsafe"))
        self.assertEqual(str(err), "rejected by alice: unsafe")
        with self.assertRaises(meup.ProposalError) as caught:
            await self.planner.call_tool("weather/write", {"text": "a"}, proposal_timeout=0.02)
        self.assertEqual((caught.exception.outcome, caught.exception.by), ("expired", ""))

    async def test_call_that_is_not_proposed(self) -> None:
        with self.assertRaises(meup.Refused) as caught:
            await self.planner.call_tool("weather/write", {"text": "a"}, propose=False)
        self.assertEqual(caught.exception.details["attempted_kind"], "mcp.request")
        slow = await self.join("slow")  # may neither call nor propose
        with self.assertRaises(meup.Refused) as caught:
            await slow.call_tool("weather/write", {"text": "a"})
        self.assertEqual(caught.exception.details["attempted_kind"], "mcp.request")

    async def test_rejected(self) -> None:
        proposing = asyncio.create_task(self.planner.propose("weather/write", {"text": "a"}))
        env = await next_of(self.alice, "mcp.proposal")
        await self.alice.send("mcp.reject", {"reason": "unsafe"}, correlation=env.id)
        outcome = await proposing
        self.assertEqual((outcome.outcome, outcome.by, outcome.reason), ("rejected", "alice", "unsafe"))

    async def test_expired(self) -> None:
        outcome = await self.planner.propose("weather/write", {"text": "a"}, timeout=0.02)
        self.assertEqual(outcome.outcome, "expired")
        self.assertEqual((await next_of(self.alice, "mcp.withdraw")).payload, {"reason": "timeout"})

    def over_with(self, decided: asyncio.Event) -> Any:
        """Let the time for a decision end with an event: the gateway takes an approval only before the end."""
        wait = self.planner._calls._decision

        async def waiting(id: str, proposal: Any, timeout: float, to: list[str], context: str) -> meup.Envelope | None:
            await decided.wait()
            return await wait(id, proposal, 0, to, context)

        return mock.patch.object(self.planner._calls, "_decision", waiting)

    async def test_decision_before_the_withdrawal(self) -> None:
        """The decision was admitted before the time was over, and arrives after it."""
        decide, decided = self.planner._calls._decide, asyncio.Event()
        held: list[meup.Envelope] = []
        with mock.patch.object(self.planner._calls, "_decide", held.append), self.over_with(decided):
            proposing = asyncio.create_task(self.planner.propose("weather/write", {"text": "a"}))
            await self.approve()
            await until(lambda: held)
            await next_of(self.alice, "mcp.response")
            error = self.planner._refused
            refused = asyncio.Event()
            with mock.patch.object(self.planner, "_refused", lambda *a: (error(*a), refused.set())):
                decided.set()
                await refused.wait()
        for env in held:
            decide(env)
        call = next(iter(self.planner._calls._calls.values()))
        call.settle({"content": [{"type": "text", "text": "late"}]})
        outcome = await proposing
        self.assertEqual((outcome.outcome, outcome.by), ("fulfilled", "alice"))

    async def test_decision_that_does_not_arrive(self) -> None:
        """A proposal that was decided has not expired."""
        decided = asyncio.Event()
        with mock.patch.object(self.planner._calls, "_decide", lambda env: None), mock.patch("meup.calls.SETTLED_TIMEOUT", 0.02), self.over_with(decided):
            proposing = asyncio.create_task(self.planner.propose("weather/write", {"text": "a"}))
            env = await next_of(self.alice, "mcp.proposal")
            await self.alice.send("mcp.reject", {"reason": "unsafe"}, correlation=env.id)
            decided.set()
            with self.assertRaisesRegex(TimeoutError, "was decided"):
                await proposing

    async def test_cancelled(self) -> None:
        proposing = asyncio.create_task(self.planner.propose("weather/write", {"text": "a"}))
        env = await next_of(self.alice, "mcp.proposal")
        proposing.cancel()
        withdrawal = await next_of(self.alice, "mcp.withdraw")
        self.assertEqual((withdrawal.payload, withdrawal.correlation), ({"reason": "no_longer_needed"}, (env.id,)))
        self.assertFalse(self.planner._calls.active)


def lambda_named(name: str) -> Any:
    def function() -> str:
        return name

    function.__name__ = name
    return function
