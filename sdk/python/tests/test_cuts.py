"""Envelopes and questions while a proxy cuts the connections."""

from __future__ import annotations

import asyncio
import os

import meup
from support import Cutter, SpaceTest

CUTS = int(os.environ.get("MEUP_TEST_CUTS", "100"))


class CutsTest(SpaceTest):
    async def test_nothing_lost_nothing_twice_in_order(self) -> None:
        """Chats flow both ways and questions are answered while each connection is cut again and again."""
        async with Cutter(seed=CUTS) as cutter:
            agent = self.space("planner", url=cutter.url)
            tools = self.space("weather", url=cutter.url)
            served: list[int] = []

            @tools.serve_tools
            async def temperature(number: int) -> str:
                served.append(number)
                return str(number)

            @agent.on_question(answer="addressed", parallel=16, waiting=128)
            async def answer(question: meup.Question) -> None:
                number = int(question.text)
                async with question.reasoning() as r:
                    result = await r.call_tool("weather/temperature", {"number": number}, reason="The service has it.")
                    await r.conclude(result.text)
                await question.answer(result.text)

            alice = await self.join("alice", url=cutter.url)
            bob = await self.join("bob", url=cutter.url, buffer=16)
            agents = [await self.serve(agent, catch_up="off"), await self.serve(tools, catch_up="off")]
            sent = {"alice": 0, "bob": 0}
            questions = 0

            async def chat(space: meup.Space) -> None:
                nonlocal questions
                while cutter.connections < CUTS + 4:
                    sent[space.id] += 1
                    await space.submit("chat", {"message": f"{space.id} {sent[space.id]}"}, id=f"{space.id}-{sent[space.id]}", to=["alice", "bob"])
                    if space is alice and sent["alice"] % 8 == 0 and questions < 200:
                        questions += 1
                        await space.submit("chat", {"message": str(questions)}, to=["planner"])
                    await asyncio.sleep(0)

            senders = asyncio.gather(chat(alice), chat(bob))
            received: dict[str, list[str]] = {"alice": [], "bob": []}
            answers: list[int] = []
            last = {"alice": 0, "bob": 0}

            async def read(space: meup.Space) -> None:
                while not (senders.done() and len(received[space.id]) >= sum(sent.values()) and (space is bob or len(answers) >= questions)):
                    env = await space.receive()
                    if env.seq:
                        self.assertGreater(env.seq, last[space.id])
                        last[space.id] = env.seq
                    if env.kind == "chat" and env.from_ in ("alice", "bob") and set(env.to) == {"alice", "bob"}:
                        received[space.id].append(env.id)
                    elif env.kind == "chat" and env.from_ == "planner":
                        answers.append(int(env.text))

            await asyncio.gather(senders, read(alice), read(bob))
            cutter.cutting = False
            self.assertEqual(received["alice"], received["bob"])
            for who in ("alice", "bob"):
                own = [id for id in received["bob"] if id.startswith(who)]
                self.assertEqual(own, [f"{who}-{i + 1}" for i in range(sent[who])])
            self.assertEqual(sorted(answers), list(range(1, questions + 1)))
            self.assertEqual(sorted(served), list(range(1, questions + 1)))
            self.assertGreaterEqual(cutter.connections, CUTS)
            for task in agents:
                self.assertFalse(task.done())
            print(f"{cutter.connections} connections, {sum(sent.values())} chats, {questions} questions")
