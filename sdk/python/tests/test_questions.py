"""Answering questions: which chats are questions, the reasoning, and the ways in which it ends."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import unittest
from pathlib import Path
from typing import Any, AsyncIterator, Awaitable, Callable
from unittest import mock

import meup
from meup.addressing import Classifier, mentions
from meup.questions import explain
from support import PATIENCE, URL, SpaceTest, next_of, until

Body = Callable[[meup.Question], Awaitable[Any]]


class Stub:
    """The part of a space that a Classifier reads."""

    id = "planner"

    def __init__(self, *participants: tuple[str, list[Any]]) -> None:
        self.participants = [meup.Participant(id, tuple(capabilities)) for id, capabilities in participants]


def chat(id: str, from_: str, text: str, **fields: Any) -> meup.Envelope:
    return meup.Envelope(id=id, kind=fields.pop("kind", "chat"), from_=from_, payload={"message": text}, **fields)


class AddressingTest(unittest.TestCase):
    def test_modes(self) -> None:
        people: tuple[tuple[str, list[Any]], ...] = (("planner", []), ("alice", ["*"]))
        agents = (*people, ("critic", ["chat", "reasoning/*"]))
        to_me, to_all = {"to": ("planner",)}, {}
        for mode, present, text, fields, want in (
            ("auto", people, "hello", to_all, True), ("auto", agents, "hello", to_all, False), ("auto", agents, "@planner hello", to_all, True),
            ("any", agents, "hello", to_all, True), ("any", agents, "@critic hello", to_all, False), ("mentioned", people, "hello", to_all, False),
            ("mentioned", people, "hi @Planner, hello", to_all, True), ("addressed", people, "@planner hello", to_all, False),
            ("addressed", people, "hello", to_me, True), ("any", people, "hello", {"to": ("bob",)}, False), ("any", people, " ", to_me, False),
            ("any", people, "@bot, hello", to_all, False), ("auto", people, " @planer hello", to_all, False),
            ("auto", people, "@bot and @planner, hello", to_all, True), ("auto", people, "@types/node, what is it?", to_all, True),
            ("auto", people, "@a@b.example hello", to_all, False), ("auto", people, "@jürgen hello", to_all, False),
            ("auto", people, "@プランナー、hello", to_all, False), ("auto", people, "@... hello", to_all, True), ("auto", people, "@ hello", to_all, True),
            ("any", people, "hello", {"context": "c"}, False), ("any", people, "hello", {"context": "c", **to_me}, True),
        ):
            with self.subTest(mode=mode, text=text, fields=fields):
                classifier = Classifier(Stub(*present), mode, "")  # type: ignore[arg-type]
                self.assertEqual(classifier.is_question(chat("c", "alice", text, **fields)), want)
        with self.assertRaises(ValueError):
            Classifier(Stub(), "some", "")  # type: ignore[arg-type]

    def test_own_and_gateway_chats_are_none(self) -> None:
        classifier = Classifier(Stub(), "any", "")  # type: ignore[arg-type]
        for who in ("planner", "system:gateway"):
            self.assertFalse(classifier.is_question(chat("c", who, "hello")))

    def test_an_answer_to_an_own_chat_is_no_question(self) -> None:
        present: tuple[tuple[str, list[Any]], ...] = (("alice", ["*"]), ("bob", ["chat", "reasoning/*"]), ("carol", ["*"]))
        to_me, to_bob, to_alice = {"to": ("planner",)}, {"to": ("bob",)}, {"to": ("alice",)}
        for name, own, from_, reply, want in (
            ("an agent that was asked", to_bob, "bob", to_me, False),
            ("an agent that answers to all", to_bob, "bob", {}, False),
            ("an agent that a mention asked", {}, "bob", {}, False),
            ("asked within a context", {**to_bob, "context": "c-1", "correlation": ("c-1",)}, "bob", to_me, False),
            ("asked about the reasoning", {**to_bob, "correlation": ("c-1",)}, "bob", to_me, False),
            ("asked about the question of another", {**to_bob, "correlation": ("by-alice",)}, "bob", to_me, False),
            ("a person that was asked", to_alice, "alice", to_me, False),
            ("a person about an answer", {**to_alice, "correlation": ("by-alice",)}, "alice", to_me, True),
            ("a person about an answer to all", {"correlation": ("by-alice",)}, "carol", {}, True),
            ("a person about what was said to all", {}, "alice", {}, True),
            ("an agent about an answer", {**to_bob, "correlation": ("by-bob",)}, "bob", to_me, True),
            ("an agent with a question of its own", to_bob, "bob", {**to_me, "correlation": ()}, True),
            ("a person about an unknown question", {**to_alice, "correlation": ("dropped",)}, "alice", to_me, True),
            ("a person about a chat to another one", to_bob, "alice", to_me, True),
        ):
            with self.subTest(name):
                classifier = Classifier(Stub(*present), "mentioned", "")  # type: ignore[arg-type]
                classifier.observe(chat("by-alice", "alice", "@planner well?"))
                classifier.observe(chat("by-bob", "bob", "@planner well?"))
                classifier.observe(chat("c-1", "planner", "", kind="reasoning.start", correlation=("by-alice",)))
                classifier.observe(chat("own", "planner", "@bob is it safe?", **own))
                about = chat("reply", from_, "@planner it is", **{"correlation": ("own",), **reply})
                classifier.observe(about)
                self.assertEqual(classifier.is_question(about), want)

    def test_an_agent_is_recognized_by_its_reasoning(self) -> None:
        classifier = Classifier(Stub(("bob", ["*"])), "any", "")  # type: ignore[arg-type]
        classifier.observe(chat("q", "alice", "hello"))
        self.assertTrue(classifier.is_question(chat("c", "bob", "hello")))
        classifier.observe(chat("s", "bob", "x", kind="reasoning.start", correlation=("q",)))
        self.assertFalse(classifier.is_question(chat("d", "bob", "hello")))
        leave = {"event": "leave", "participant": {"id": "bob"}}
        classifier.observe(meup.Envelope("p", "system.presence", "system:gateway", leave))
        self.assertTrue(classifier.is_question(chat("e", "bob", "hello")))

    def test_agents_do_not_answer_one_another_for_ever(self) -> None:
        agent = ("critic", ["reasoning/*"])
        classifier = Classifier(Stub(agent), "auto", "")  # type: ignore[arg-type]
        last, answered = "", 0
        for i in range(20):
            env = chat(f"c{i}", "critic", "go on", to=("planner",), correlation=(last,) if last else ())
            classifier.observe(env)
            answered += classifier.is_question(env)
            last = f"a{i}"
            classifier.observe(chat(last, "planner", "done", correlation=(env.id,)))
        self.assertEqual(answered, 2)
        for i in range(30):
            env = chat(f"d{i}", "critic", "go on", to=("planner",))
            classifier.observe(env)
            answered += classifier.is_question(env)
        self.assertEqual(answered, 16)
        classifier.observe(chat("p", "alice", "hello"))
        self.assertTrue(classifier.is_question(chat("e", "critic", "go on", to=("planner",))))

    def test_mentions(self) -> None:
        for text, want in {
            "@planner": True, "hi @PLANNER!": True, "(@planner)": True, "@planner.": True, "@planner: x": True, "@planner+@bob": True,
            "planner": False, "@planner2": False, "x@planner": False, "@planner-b": False, "@planner.io": False, "@@planner": False,
            "@planner2 and @planner": True,
        }.items():
            with self.subTest(text):
                self.assertEqual(mentions(text, ["planner"]), want)


class QuestionsTest(SpaceTest):
    async def agent(self, body: Body, catch_up: str = "off", **options: Any) -> meup.Space:
        space = self.space("planner")
        space.on_question(body, **options)
        self.running = await self.serve(space, catch_up=catch_up)
        return space

    async def ask(self, text: str = "How?", **fields: Any) -> meup.Envelope:
        """Send a question, and return the reasoning.start about it."""
        receipt = await self.alice.send("chat", {"message": text}, **fields)
        while True:
            env = await next_of(self.alice, "reasoning.start", "planner")
            if receipt.id in env.correlation:
                return env

    async def asyncSetUp(self) -> None:
        self.alice = await self.join("alice", echo=False)

    async def test_envelopes_of_an_answer(self) -> None:
        async def answer(question: meup.Question) -> None:
            async with question.reasoning("Looking.", approach="test", confidence=0.5) as r:
                await r.thought("first")
                await r.observation("seen", severity="low")
                await r.hypothesis("it works", confidence=0.7)
                async with r.reasoning("a part") as part:
                    await part.conclude("part done")
                await r.conclude("done", confidence=0.9)
                with self.assertRaises(RuntimeError):
                    await r.thought("late")
            await question.answer("yes")
            with self.assertRaises(RuntimeError):
                await question.answer("again")

        await self.agent(answer)
        start = await self.ask()
        self.assertEqual(start.payload, {"message": "Looking.", "metadata": {"approach": "test", "confidence": 0.5}})
        got = []
        while not got or got[-1].kind != "chat":
            env = await self.alice.receive()
            if env.seq:
                got.append(env)
        nested = next(e for e in got if e.kind == "reasoning.start")
        self.assertEqual(
            [(e.kind, e.context) for e in got],
            [("reasoning.thought", start.id), ("reasoning.observation", start.id), ("reasoning.hypothesis", start.id),
             ("reasoning.start", start.id), ("reasoning.conclusion", nested.opens), ("reasoning.conclusion", start.id), ("chat", "")],
        )
        self.assertEqual(got[-1].correlation, start.correlation)
        self.assertEqual(nested.correlation, (got[0].id,))

    async def test_another_agent_is_asked(self) -> None:
        critic = self.space("carol")

        @critic.on_question(answer="addressed")
        async def criticize(question: meup.Question) -> None:
            if question.text == "fail":
                raise RuntimeError("asked to fail")
            if question.text == "say nothing":
                return
            async with question.reasoning() as r:
                await r.thought("I look.")
                if question.text == "wait":
                    await asyncio.Event().wait()
                await r.conclude("not sent")
            await question.answer(f"Yes: {question.text}")

        await self.serve(critic, catch_up="off")
        heard: list[str] = []
        got: list[meup.Answer] = []

        async def answer(question: meup.Question) -> None:
            got.append(await question.ask("carol", "in a context of its own", on_thought=heard.append))
            async with question.reasoning() as r:
                got.append(await question.ask("carol", "in the open one"))
                for text in ("fail", "say nothing"):
                    got.append(await r.ask("carol", text))
                got.append(await r.ask("carol", "wait", timeout=0.05))
                got.append(await r.ask("planner", "itself"))
                with mock.patch("meup._ask.AWAY_TIMEOUT", 0.01):
                    got.append(await r.ask("bob", "away"))
                with self.assertRaisesRegex(RuntimeError, "of the handler"):
                    await r.ask("carol", "thought", on_thought=mock.Mock(side_effect=RuntimeError("of the handler")))
            await question.answer("done")

        await self.agent(answer)
        await self.ask()
        chats = []
        while not chats or chats[-1] != "done":
            chats.append((await next_of(self.alice, "chat")).text)
        self.assertEqual(chats, ["done"])
        self.assertEqual(
            [(x.outcome, x.text) for x in got],
            [
                ("answered", "Yes: in a context of its own"), ("answered", "Yes: in the open one"),
                ("gave_up", "declined by carol: internal error; see the log of the agent"), ("gave_up", "declined by carol: ended without a conclusion"),
                ("timeout", "no conclusion of carol within 0.05 s"), ("rejected", "an agent cannot ask itself"),
                ("gave_up", "bob is not connected"),
            ],
        )
        self.assertEqual(heard, ["I look."])
        self.assertEqual([x.envelope.kind if x.envelope else "" for x in got[:5]], ["reasoning.conclusion"] * 2 + ["reasoning.cancel"] * 2 + [""])

    async def test_a_long_answer_is_streamed_up_to_a_bound(self) -> None:
        opened = asyncio.Event()

        async def pieces() -> AsyncIterator[str]:
            yield "begin "
            await opened.wait()
            for _ in range(100):
                yield "x" * 1024

        async def answer(question: meup.Question) -> None:
            self.assertEqual(len(await question.stream_answer(pieces())), 6 + 100 * 1024)

        space = self.space("carol")
        space.on_question(answer, answer="addressed")
        await self.serve(space, catch_up="off")
        await self.alice.chat("long", to=["carol"])
        stream, streamed = (await next_of(self.alice, "stream.open")).payload["stream_id"], ""
        while True:
            env = await self.alice.receive()
            if env.kind == "stream.data":
                streamed += env.payload["data"]
                opened.set()
            elif env.kind == "stream.close":
                self.assertEqual(env.payload, {"stream_id": stream})
            elif env.kind == "chat":
                break
        self.assertEqual((env.payload["stream_id"], env.text[: len(streamed)]), (stream, streamed))
        self.assertTrue(63 << 10 < len(streamed) <= 64 << 10, len(streamed))

    async def test_a_stream_that_is_opened_after_its_question_was_cancelled_is_withdrawn(self) -> None:
        opening, admitted, more = asyncio.Event(), asyncio.Event(), asyncio.Event()
        closed: list[str | None] = []

        async def send(kind: str, payload: dict[str, Any], **fields: Any) -> None:
            if kind == "stream.open":
                opening.set()
                await admitted.wait()

        async def close(payload: dict[str, Any]) -> None:
            closed.append(payload.get("reason"))

        space = mock.Mock(send=send, send_final=lambda kind, payload, **fields: asyncio.ensure_future(close(payload)))
        question = mock.Mock(_part="", _desk=mock.Mock(space=space))

        async def pieces() -> AsyncIterator[str]:
            yield "one"
            await opening.wait()
            more.set()

        answering = asyncio.ensure_future(meup.Question.stream_answer(question, pieces()))
        await more.wait()
        await asyncio.sleep(0)  # the text is complete
        answering.cancel()
        await asyncio.sleep(0)
        admitted.set()
        with self.assertRaises(asyncio.CancelledError):
            await answering
        self.assertEqual(closed, ["withdrawn"])

    async def test_calls_are_explained(self) -> None:
        tools = self.space("weather")
        tools.serve_tools(lambda: "-3", name="temperature")
        await self.serve(tools, catch_up="off")

        async def answer(question: meup.Question) -> None:
            async with question.reasoning() as r:
                result = await r.call_tool("weather/temperature", reason="It has it.")
            await question.answer(result.text)

        await self.agent(answer)
        start = await self.ask()
        thought = await next_of(self.alice, "reasoning.thought")
        request, response = await next_of(self.alice, "mcp.request"), await next_of(self.alice, "mcp.response")
        self.assertEqual((thought.payload, thought.correlation), ({"message": "It has it.", "tool_name": "temperature"}, (start.id,)))
        self.assertEqual((request.correlation, request.context, request.to), ((thought.id,), start.id, ("weather",)))
        self.assertEqual(response.correlation, (request.id,))
        self.assertEqual((await next_of(self.alice, "reasoning.conclusion")).payload, {"message": "Done."})
        self.assertEqual((await next_of(self.alice, "chat")).text, "-3")

    async def test_own_tools(self) -> None:
        """A tool of the agent itself is found by its bare name; the log has a request and a response."""
        planner = self.space("planner")

        async def temperature(city: str) -> str:
            if city == "Atlantis":
                raise meup.ToolError("no such city")
            return "-3"

        async def write() -> str:
            return "written"

        planner.serve_tools(temperature, write)

        @planner.on_question
        async def answer(question: meup.Question) -> None:
            async with question.reasoning() as r:
                with self.assertRaises(meup.ToolError) as failed:
                    await r.call_tool("temperature", {"city": "Atlantis"})
                self.assertEqual(explain(failed.exception), "the tool temperature failed: no such city")
                found = [await r.call_tool("temperature", {"city": "Oslo"}), await r.call_tool("planner/temperature", {"city": "Oslo"})]
                with self.assertRaises(meup.RPCError):
                    await r.call_tool("temperature", {"country": "Norway"})
                with self.assertRaises(meup.Refused):
                    await r.call_tool("write", propose=False)
                found.append(await r.call_tool("write"))  # it may propose it
            await question.answer(" ".join(x.text for x in found))

        await self.serve(planner, catch_up="off")
        start = await self.ask()
        request, response = await next_of(self.alice, "mcp.request"), await next_of(self.alice, "mcp.response")
        self.assertEqual((request.to, request.context, request.correlation), (("planner",), start.id, (start.id,)))
        self.assertEqual((response.from_, response.to, response.context, response.correlation), ("planner", (), start.id, (request.id,)))
        proposal = await next_of(self.alice, "mcp.proposal")
        self.assertEqual((proposal.payload["params"]["name"], proposal.payload["participant_id"]), ("write", "planner"))
        payload = {"id": 1, "method": "tools/call", "params": proposal.payload["params"]}
        await self.alice.send("mcp.request", payload, to=["planner"], correlation=proposal.id)
        self.assertEqual((await next_of(self.alice, "chat", "planner")).text, "-3 -3 written")

    async def test_an_own_tool_that_is_cancelled_has_a_response(self) -> None:
        planner = self.space("planner")

        async def temperature() -> str:
            await asyncio.Event().wait()
            return ""

        planner.serve_tools(temperature)

        @planner.on_question
        async def answer(question: meup.Question) -> None:
            async with question.reasoning() as r:
                with self.assertRaises(meup.RPCError) as late:
                    await r.call_tool("temperature", timeout=0.02)
                self.assertEqual(late.exception.code, -32001)
                await r.call_tool("temperature")

        await self.serve(planner, catch_up="off")
        start = await self.ask()
        for code in (-32001, -32002):
            request = await next_of(self.alice, "mcp.request", "planner")
            if code == -32002:
                await self.alice.send("chat.cancel", correlation=start.correlation)
            response = await next_of(self.alice, "mcp.response", "planner")
            self.assertEqual((response.correlation, response.payload["error"]["code"]), ((request.id,), code))

    async def test_calls_of_a_private_question(self) -> None:
        """The participants of the question see a proposed call, and only they are asked for a tool without a participant."""
        for who in ("bob", "weather"):
            tools = self.space(who)
            tools.serve_tools(lambda: who, name="write")
            await self.serve(tools, catch_up="off")

        async def answer(question: meup.Question) -> None:
            async with question.reasoning() as r:
                with self.assertRaises(meup.ToolNotFound) as missing:
                    await r.call_tool("nothing")
                self.assertIn("the question is private", str(missing.exception))
                await r.call_tool("write")

        await self.agent(answer)
        carol = await self.join("carol")
        await self.alice.chat("@planner why?", to=["planner", "weather"])
        proposal = await next_of(self.alice, "mcp.proposal")
        self.assertEqual((proposal.to, proposal.payload["participant_id"]), (("alice", "weather"), "weather"))
        await self.alice.send("mcp.reject", {"reason": "no"}, to=["planner"], correlation=proposal.id)
        self.assertEqual((await next_of(self.alice, "chat", "planner")).text, "I have stopped looking into this: the tool write of weather was not called: rejected by alice: no.")
        await self.alice.chat("end")
        while (env := await carol.receive()).text != "end":
            self.assertNotEqual(env.kind, "mcp.proposal")

    async def test_a_private_question_stays_private(self) -> None:
        async def answer(question: meup.Question) -> None:
            async with question.reasoning() as r:
                await r.thought("secret")
            await question.answer("secret")

        await self.agent(answer)
        carol = await self.join("carol")
        bob = await self.join("bob")
        start = await self.ask(to=["planner", "bob"])
        self.assertEqual(start.to, ("alice", "bob"))
        self.assertEqual((await next_of(bob, "chat", "planner")).text, "secret")
        await self.alice.chat("end")
        self.assertEqual((await next_of(carol, "chat")).text, "end")

    async def test_a_question_that_is_withdrawn(self) -> None:
        ended: list[str] = []

        async def answer(question: meup.Question) -> None:
            try:
                async with question.reasoning():
                    await asyncio.Event().wait()
            except asyncio.CancelledError:
                ended.append("cancelled")
                raise

        space = await self.agent(answer)
        start = await self.ask()
        await self.alice.send("chat.cancel", {"reason": "never mind"}, correlation=start.correlation)
        env = await next_of(self.alice, "reasoning.cancel")
        self.assertEqual((env.context, env.payload), (start.id, {"reason": "cancelled by alice: never mind"}))
        await until(lambda: not space._questions._held)
        self.assertEqual(ended, ["cancelled"])
        await self.ask("next")
        self.assertEqual(ended, ["cancelled"])

    async def test_a_handler_that_drops_its_cancellation(self) -> None:
        """The question ends once, without a conclusion, also if the handler goes on."""
        going_on, late = asyncio.Event(), []
        waiting: list[str] = []  # the texts of the questions whose handler can be cancelled

        async def answer(question: meup.Question) -> None:
            async with question.reasoning() as r:
                async with r.reasoning("a part") as part:
                    try:
                        waiting.append(question.text)
                        await asyncio.Event().wait()
                    except asyncio.CancelledError:
                        pass
                    if question.text == "goes on":
                        await going_on.wait()
                        for work in (part.thought("late"), question.reasoning().__aenter__(), question.answer("late")):
                            try:
                                await work
                            except RuntimeError as err:
                                late.append(str(err))

        space = await self.agent(answer, parallel=2)
        with mock.patch("meup.questions.CANCEL_TIME", 0.05):
            for text in ("returns", "goes on"):
                start = await self.ask(text)
                part = await next_of(self.alice, "reasoning.start", "planner")
                await until(lambda: text in waiting)
                await self.alice.send("participant.restart", {"mode": "clear"}, to=["planner"])
                for context in (part.opens, start.opens):
                    env = await self.alice.receive()
                    while env.kind == "participant.status" or env.from_ != "planner":
                        env = await self.alice.receive()
                    self.assertEqual((env.kind, env.context, env.payload), ("reasoning.cancel", context, {"reason": "the agent was restarted"}))
                env = await next_of(self.alice, "chat", "planner")
                self.assertEqual((env.text, env.correlation), ("I have stopped looking into this: the agent was restarted.", start.correlation))
                self.assertFalse(space._questions._held)
        going_on.set()
        await until(lambda: len(late) == 3)
        self.assertEqual(late, ["the context is closed", "the question was cancelled", "the question has an answer"])
        await self.alice.chat("next")
        self.assertEqual((await self.alice.receive()).kind, "reasoning.start")

    async def test_a_context_that_another_participant_closes(self) -> None:
        seen: list[BaseException] = []

        async def answer(question: meup.Question) -> None:
            try:
                async with question.reasoning() as r:
                    try:
                        await r.thought("in the block")
                        await asyncio.Event().wait()
                    except asyncio.CancelledError as err:
                        seen.append(err)
                        raise
            except meup.ReasoningCancelled as err:
                seen.append(err)
                if question.text == "answer":
                    await asyncio.sleep(0)  # the task is not cancelled any more
                    await question.answer("stopped")
                    return
                raise

        await self.agent(answer)
        start = await self.ask()
        await next_of(self.alice, "reasoning.thought")
        await self.alice.send("reasoning.cancel", {"reason": "enough"}, context=start.id)
        env = await self.after(start, "chat")
        self.assertEqual(env.text, "I have stopped looking into this: cancelled by alice: enough.")
        self.assertEqual([type(e).__name__ for e in seen], ["CancelledError", "ReasoningCancelled"])
        start = await self.ask("answer")
        await self.alice.send("reasoning.cancel", {}, correlation=start.id)
        self.assertEqual((await self.after(start, "chat")).text, "stopped")

    async def after(self, start: meup.Envelope, kind: str) -> meup.Envelope:
        """Return the next envelope of a kind; the context gets no second end before it."""
        while True:
            env = await self.alice.receive()
            self.assertFalse(env.kind == "reasoning.cancel" and env.from_ == "planner", env)
            if env.kind == kind:
                return env

    async def test_a_nested_context_that_another_participant_closes(self) -> None:
        async def answer(question: meup.Question) -> None:
            async with question.reasoning() as r:
                try:
                    async with r.reasoning("part"):
                        await asyncio.Event().wait()
                except meup.ReasoningCancelled as err:
                    await r.thought(str(err))
                await r.conclude("done")
            await question.answer("answered")

        await self.agent(answer)
        await self.ask()
        part = await next_of(self.alice, "reasoning.start")
        await self.alice.send("reasoning.cancel", {"reason": "no"}, context=part.opens)
        self.assertEqual((await next_of(self.alice, "reasoning.thought")).text, "cancelled by alice: no")
        self.assertEqual((await next_of(self.alice, "chat")).text, "answered")

    async def test_a_handler_that_fails(self) -> None:
        async def answer(question: meup.Question) -> None:
            async with question.reasoning():
                if question.text == "timeout":
                    raise TimeoutError
                raise ValueError("secret")

        await self.agent(answer)
        for text, reason in (("how", "internal error; see the log of the agent"), ("timeout", "it took too long")):
            start = await self.ask(text)
            env = await next_of(self.alice, "reasoning.cancel")
            self.assertEqual((env.context, env.payload), (start.id, {"reason": reason}))
            self.assertEqual((await next_of(self.alice, "chat")).text, f"I have stopped looking into this: {reason}.")

    async def test_too_many_questions(self) -> None:
        release = asyncio.Event()

        async def answer(question: meup.Question) -> None:
            await release.wait()
            await question.answer("answered " + question.text)

        await self.agent(answer, parallel=2, waiting=6)
        ids = [(await self.alice.chat(str(i))).id for i in range(3)]
        refusal = await next_of(self.alice, "chat")
        self.assertEqual((refusal.correlation, refusal.text[:11]), ((ids[2],), "I have too "))
        release.set()
        self.assertEqual({(await next_of(self.alice, "chat")).text for _ in range(2)}, {"answered 0", "answered 1"})

    async def test_pause(self) -> None:
        go = asyncio.Event()

        async def answer(question: meup.Question) -> None:
            async with question.reasoning() as r:
                await go.wait()
                await r.thought("after the pause")

        space = await self.agent(answer)
        await self.ask()
        await self.alice.send("participant.pause", {}, to=["planner"])
        await until(lambda: space.paused)
        go.set()
        await self.alice.send("participant.request-status", {}, to=["planner"])
        status = await next_of(self.alice, "participant.status")
        self.assertTrue(status.payload["paused"])
        self.assertEqual(status.payload["status"], "reasoning")
        resumed = await self.alice.send("participant.resume", {}, to=["planner"])
        self.assertGreater((await next_of(self.alice, "reasoning.thought")).seq, resumed.seq)

    async def test_restart_and_shutdown(self) -> None:
        async def answer(question: meup.Question) -> None:
            async with question.reasoning():
                await asyncio.Event().wait()

        await self.agent(answer)
        await self.ask()
        await self.alice.send("participant.restart", {}, to=["planner"])
        self.assertEqual((await next_of(self.alice, "reasoning.cancel")).payload["reason"], "the agent was restarted")
        self.assertEqual((await next_of(self.alice, "chat")).text, "I have stopped looking into this: the agent was restarted.")
        await self.ask()
        await self.alice.send("participant.shutdown", {}, to=["planner"])
        self.assertEqual((await next_of(self.alice, "reasoning.cancel")).payload["reason"], "the agent is shutting down")
        await self.running
        await until(lambda: all(p.id != "planner" for p in self.alice.participants))

    async def test_kick_ends_run(self) -> None:
        async def answer(question: meup.Question) -> None:
            async with question.reasoning():
                await asyncio.Event().wait()

        await self.agent(answer)
        await self.ask()
        await self.alice.send("space.kick", {"participant_id": "planner"})
        with self.assertRaises(meup.ConnectionClosed):
            await self.running

    async def test_filter_hides_no_question(self) -> None:
        async def answer(question: meup.Question) -> None:
            await question.answer("yes")

        bob = await self.join("bob", filter=meup.Filter(kinds=["x.*"]))
        bob.on_question(answer)
        await asyncio.sleep(0)
        await bob.send("x.mark", {})  # the wider filter is in effect when it is acknowledged
        await self.alice.chat("@bob how?")
        self.assertEqual((await next_of(self.alice, "chat")).text, "yes")
        await self.alice.send("x.note", {})
        self.assertEqual((await next_of(bob, "x.note")).kind, "x.note")

    async def test_wrong_use(self) -> None:
        space = self.space("bob")
        with self.assertRaises(TypeError):
            space.on_question(lambda question: None)
        with self.assertRaises(ValueError):
            space.on_question(answer="sometimes")(self.nothing)
        with self.assertRaises(ValueError):
            self.space("bob", echo=False).on_question(self.nothing)
        with self.assertRaises(ValueError):
            await space.run(catch_up="some")

    async def nothing(self, question: meup.Question) -> None: ...


class ProcessesTest(SpaceTest):
    """Several processes of one participant, and processes that are killed."""

    async def asyncSetUp(self) -> None:
        self.alice = await self.join("alice", echo=False)
        self.children: list[asyncio.subprocess.Process] = []

    async def asyncTearDown(self) -> None:
        for child in self.children:
            if child.returncode is None:
                child.kill()
            await child.wait()
        await super().asyncTearDown()

    async def child(self) -> asyncio.subprocess.Process:
        """Start an agent that opens a context, calls bob's tool, and waits."""
        env = {**os.environ, "MEUP_URL": URL, "MEUP_SPACE": self.name, "MEUP_TOKEN": "planner-token"}
        script = str(Path(__file__).parent / "child.py")
        child = await asyncio.create_subprocess_exec(sys.executable, script, env=env)
        self.children.append(child)
        await until(lambda: any(p.id == "planner" for p in self.alice.participants))
        return child

    async def test_the_first_start_answers(self) -> None:
        began: list[int] = []

        def agent(number: int) -> meup.Space:
            space = self.space("planner")

            @space.on_question(parallel=64)
            async def answer(question: meup.Question) -> None:
                async with question.reasoning() as r:
                    began.append(number)
                    await r.thought("mine")
                await question.answer(question.text)

            return space

        for number in range(2):
            await self.serve(agent(number), catch_up="off")
        ids = [(await self.alice.chat(f"question {i}")).id for i in range(8)]
        answers = [await next_of(self.alice, "chat") for _ in ids]
        self.assertEqual(sorted(e.correlation[0] for e in answers), sorted(ids))
        await self.alice.chat("last")
        self.assertEqual((await next_of(self.alice, "chat")).text, "last")
        self.assertEqual(len(began), 9)

    async def test_answers_without_reasoning_are_one(self) -> None:
        for _ in range(2):
            space = self.space("planner")

            @space.on_question
            async def answer(question: meup.Question) -> None:
                await question.answer("yes")

            await self.serve(space, catch_up="off")
        await self.alice.chat("one")
        await self.alice.chat("two")
        answers = [await next_of(self.alice, "chat") for _ in range(2)]
        self.assertEqual(len({e.correlation for e in answers}), 2)

    async def test_a_killed_process_is_replaced(self) -> None:
        tool = self.space("weather")

        @tool.serve_tools
        async def temperature(city: str) -> str:
            return "-3"

        await self.serve(tool, catch_up="off")
        child = await self.child()
        question = await self.alice.chat("first")
        await next_of(self.alice, "mcp.response")
        hanging = await next_of(self.alice, "mcp.proposal")
        await self.alice.chat("@planner second")  # it waits
        child.kill()
        await child.wait()
        seen: list[meup.Question] = []
        space = self.space("planner")

        @space.on_question
        async def answer(again: meup.Question) -> None:
            seen.append(again)
            async with again.reasoning():
                pass
            await again.answer("answer to " + again.text)

        await self.serve(space)
        withdrawal = await next_of(self.alice, "mcp.withdraw")
        self.assertEqual((withdrawal.correlation, withdrawal.payload), ((hanging.id,), {"reason": "no_longer_needed"}))
        closed = await next_of(self.alice, "reasoning.cancel")
        self.assertEqual(closed.payload, {"reason": "the agent was restarted"})
        answers = {(await next_of(self.alice, "chat")).text for _ in range(2)}
        self.assertEqual(answers, {"answer to first", "answer to @planner second"})
        first = next(q for q in seen if q.id == question.id)
        self.assertEqual([(c.host, c.tool, c.arguments) for c in first.earlier], [("weather", "temperature", {"city": "Oslo"})])
        assert first.earlier[0].result is not None
        self.assertEqual(first.earlier[0].result.text, "-3")

    async def test_a_call_of_an_own_tool_that_was_left_open(self) -> None:
        """It gets an error, for those who can see the reasoning; it is not made again."""
        killed = await self.join("planner")
        start = await killed.send("reasoning.start", {"message": "x"}, to=["alice"])
        call = {"id": 1, "method": "tools/call", "params": {"name": "temperature"}}
        request = await killed.send("mcp.request", call, to=["planner"], context=start.id)
        await killed.close()
        space = self.space("planner")
        space.serve_tools(lambda: self.fail("called"), name="temperature")

        @space.on_question
        async def answer(question: meup.Question) -> None:
            await question.answer("x")

        await self.serve(space)
        response = await next_of(self.alice, "mcp.response", "planner")
        self.assertEqual((response.correlation, response.to, response.context), ((request.id,), ("alice",), start.id))
        self.assertEqual(response.payload["error"]["data"], {"reason": "restarted"})
        self.assertEqual((await next_of(self.alice, "reasoning.cancel")).context, start.id)

    async def test_old_questions_are_not_answered_by_a_new_agent(self) -> None:
        await self.alice.chat("before")
        for catch_up, want in (("auto", "after"), ("all", "before")):
            space = self.space("planner")

            @space.on_question
            async def answer(question: meup.Question) -> None:
                await question.answer("answer to " + question.text)

            await self.serve(space, catch_up=catch_up)
            if catch_up == "auto":
                await self.alice.chat("after")
            self.assertEqual((await next_of(self.alice, "chat")).text, "answer to " + want)
            await space.close()

    async def test_a_question_that_another_agent_has_taken_is_not_answered_at_a_start(self) -> None:
        for catch_up in ("auto", "all"):
            with self.subTest(catch_up=catch_up):
                before = await self.join("planner")
                await before.chat("hello")
                begun = await self.alice.chat("begun")
                await before.send("reasoning.start", {"message": "x"}, correlation=begun.id)
                await before.close()
                ids = [
                    (await self.alice.chat(text, to=to)).id
                    for text, to in (("taken", ()), ("a part", ()), ("@planner taken", ()), ("to planner", ("planner", "bob")))
                ] + [begun.id]
                critic = await self.join("bob")
                for n in (0, 2, 3, 4):
                    private = ("alice", "planner") if n == 3 else ()
                    start = await critic.send("reasoning.start", {"message": "x"}, correlation=ids[n], to=private)
                    await critic.send("reasoning.start", {"message": "y"}, context=start.id, correlation=ids[1], to=private)
                await critic.close()
                await until(lambda: all(p.id != "bob" for p in self.alice.participants))
                space = self.space("planner")

                @space.on_question(parallel=1)  # oldest first: "taken" would be the second one
                async def answer(question: meup.Question) -> None:
                    await question.answer("answer to " + question.text)

                await self.serve(space, catch_up=catch_up)
                answers: list[str] = []
                while len(answers) < 4:
                    env = await next_of(self.alice, "chat", "planner")
                    if env.text.startswith("answer"):
                        answers.append(env.text)
                await space.close()
                self.assertEqual(answers, ["answer to begun", "answer to a part", "answer to @planner taken", "answer to to planner"])

    async def test_a_question_of_a_killed_process_is_taken_over(self) -> None:
        tool = self.space("weather")
        tool.serve_tools(lambda city: "-3", name="temperature")
        await self.serve(tool, catch_up="off")
        await self.child()
        seen: list[meup.Question] = []
        space = self.space("planner")

        @space.on_question
        async def answer(question: meup.Question) -> None:
            seen.append(question)
            async with question.reasoning():
                pass
            await question.answer("taken over")

        with mock.patch("meup._desk.PROBE_EVERY", 0.2), mock.patch("meup._desk.PROBE_TIME", PATIENCE):
            await self.serve(space)
            # The other process is made to be the first.
            with mock.patch.object(space._questions, "_admit", lambda env, *a, **k: delayed.append(env)):
                delayed: list[meup.Envelope] = []
                await self.alice.chat("first")
                await next_of(self.alice, "mcp.proposal")
                await until(lambda: delayed)
            question = meup.Question(space._questions, delayed[0])
            space._questions._watch_later(question)
            await until(lambda: space._questions._probes)
            await until(lambda: not space._questions._probes)  # the other process has replied
            self.assertEqual(seen, [])
            with mock.patch("meup._desk.PROBE_TIME", 0.5):  # before the next probe
                self.children[0].send_signal(signal.SIGKILL)
                await self.children[0].wait()
                self.assertEqual((await next_of(self.alice, "chat")).text, "taken over")
            self.assertEqual([c.tool for c in seen[0].earlier], ["temperature"])

    async def test_signals_close_the_contexts(self) -> None:
        tool = self.space("weather")
        tool.serve_tools(lambda city: "-3", name="temperature")
        await self.serve(tool, catch_up="off")
        for number in (signal.SIGTERM, signal.SIGINT):
            child = await self.child()
            await self.alice.chat("first")
            await next_of(self.alice, "mcp.proposal")
            child.send_signal(number)
            self.assertEqual((await next_of(self.alice, "mcp.withdraw")).payload, {"reason": "no_longer_needed"})
            self.assertEqual((await next_of(self.alice, "reasoning.cancel")).payload, {"reason": "the agent is shutting down"})
            self.assertEqual(await child.wait(), 0)

    async def test_explain_names_who_rejected(self) -> None:
        self.assertEqual(explain(meup.ProposalError("p", "rejected", "alice", "no")), "rejected by alice: no")
