"""The capabilities that a participant is warned about."""

from __future__ import annotations

import unittest
from typing import Any

import meup
from meup._needs import may_allow, missing
from support import SpaceTest, next_of, until


class MissingTest(unittest.TestCase):
    def test_may_allow(self) -> None:
        to = {"kind": "mcp.request", "to": ["weather"]}
        for held, kind, want in (
            ([], "chat", False), (["*"], "chat", True), (["chat"], "chat", True), (["chat"], "chat.cancel", False),
            (["reasoning/*"], "reasoning.start", True), (["reasoning/step"], "reasoning.start", False), (["!chat"], "chat", False),
            (["!chat"], "mcp.request", True), ([to], "mcp.request", True), (["*", {"kind": "chat", "deny": True}], "chat", False),
            (["*", {**to, "deny": True}], "mcp.request", True), ([{"kind": "chat", "deny": True}], "chat", False),
            (["/^ch/"], "chat", True), (["chat", {"kind": "/^ch/", "deny": True}], "chat", True), ([3, None, {}, "a b", {"kind": 1}], "chat", False),
        ):
            with self.subTest(held=held, kind=kind):
                self.assertIs(may_allow(held, kind), want)

    def test_missing(self) -> None:
        agent: list[Any] = ["chat", "reasoning/*", "mcp.response", "participant.status"]
        for held, questions, tools, want in (
            ([], False, False, []), (agent, True, False, []), ([*agent, "mcp.proposal"], True, False, ["mcp.withdraw"]),
            (agent, True, True, ["mcp.request"]), (["mcp.request"], False, True, ["mcp.response", "participant.status"]), (["*"], True, True, []),
            (["reasoning.start"], True, False, ["chat", "reasoning/*", "mcp.response", "participant.status"]),
            ([], False, True, ["mcp.response", "mcp.request", "participant.status"]),
            ([], True, True, ["mcp.response", "mcp.request", "participant.status", "chat", "reasoning/*"]),
        ):
            with self.subTest(held=held, questions=questions, tools=tools):
                self.assertEqual([capability for capability, _ in missing(held, questions, tools)], want)


class WarningTest(SpaceTest):
    async def test_a_start_without_capabilities(self) -> None:
        space = self.space("slow")
        space.on_question(self.nothing)
        with self.assertLogs("meup", "WARNING") as logs:
            await self.serve(space, catch_up="off")
            await until(lambda: len(logs.output) >= 3)
        self.assertEqual([line.split(":")[3].strip() for line in logs.output], ["reasoning/*", "mcp.response", "participant.status"])

    async def test_a_start_with_all_of_them(self) -> None:
        space = self.space("planner")
        space.on_question(answer)
        alice = await self.join("alice")
        with self.assertNoLogs("meup", "WARNING"):
            await self.serve(space, catch_up="off")
            await alice.chat("How?")
            self.assertEqual((await next_of(alice, "chat", "planner")).text, "yes")

    async def test_without_status_no_process_takes_over(self) -> None:
        space = self.space("slow")
        space.on_question(self.nothing)
        await self.serve(space, catch_up="off")
        question = meup.Question(space._questions, meup.Envelope("q", "chat", "alice", {"message": "How?"}))
        self.assertTrue(await space._questions._alive(question))  # the other process counts as present

    async def nothing(self, question: meup.Question) -> None: ...


async def answer(question: meup.Question) -> None:
    await question.answer("yes")
