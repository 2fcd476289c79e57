"""A space as a whole program: its lines on standard error, and its exit status."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

from support import BoundedTest, FakeGateway

PACKAGE = str(Path(__file__).resolve().parent.parent)
# AWAY is an address at which no program listens.
AWAY = "http://127.0.0.1:1"

# ANSWERS is a program that answers questions.
ANSWERS = """
import asyncio, meup
connect, run = meup.connect, meup.run

async def answer(question):
    if question.text == "raise":
        raise ValueError("a defect")
    if question.text == "fail":
        raise meup.ToolError("out of\\npaper \\x1b[2J")
    if question.text == "wait":
        await asyncio.Event().wait()
    if question.text != "silent":
        await question.answer("yes")

def connected(*args, **options):
    space = connect(*args, **options)
    space.on_question(answer)
    return space

meup.connect, meup.run = connected, lambda space: run(space, catch_up="off")
"""
ENDS = {
    "q1": r"answered in \d\.\d s",
    "q2": r"not answered after \d\.\d s: internal error; see the log of the agent",
    "q3": r"not answered after \d\.\d s: internal error; see the log of the agent \(out of paper  \[2J\)",
    "q4": r"not answered after \d\.\d s: the handler has sent no answer",
}


class RunTest(BoundedTest):
    async def start(self, url: str, token: str = "x", before: str = "", **options: float) -> asyncio.subprocess.Process:
        program = f"{before}\nimport meup\nmeup.run(meup.connect({url!r}, {token!r}, 'lab', **{options!r}))"
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", program, stderr=asyncio.subprocess.PIPE, env={**os.environ, "PYTHONPATH": PACKAGE}
        )
        self.addCleanup(lambda: process.returncode is None and process.kill())
        return process

    async def lines(self, program: asyncio.subprocess.Process) -> list[str]:
        """Return the lines until the end."""
        _, text = await program.communicate()
        return text.decode().splitlines()

    async def test_a_gateway_that_stays_away(self) -> None:
        program = await self.start(AWAY, connect_timeout=0.01)
        *_, last = lines = await self.lines(program)
        self.assertLessEqual(len(lines), 2)
        self.assertTrue(last.startswith("meup: the gateway at http://127.0.0.1:1 was not reached within 0.01 s ("), last)
        self.assertTrue(last.endswith("): start it, or check the address"), last)
        self.assertEqual(program.returncode, 1)

    async def test_no_token(self) -> None:
        program = await self.start(AWAY, "")
        (line,) = await self.lines(program)
        self.assertTrue(line.startswith("meup: the token is empty: pass connect(token=…) or set MEUP_TOKEN"), line)
        self.assertEqual(program.returncode, 1)

    async def test_ctrl_c_while_the_gateway_is_away(self) -> None:
        program = await self.start(AWAY)
        assert program.stderr is not None
        line = (await program.stderr.readline()).decode()
        self.assertEqual(line, "meup: waiting for the gateway at http://127.0.0.1:1: connection refused: is it running?\n")
        program.send_signal(signal.SIGINT)
        self.assertEqual(await self.lines(program), ["meup: stopping"])
        self.assertEqual(program.returncode, 130)

    async def test_signals(self) -> None:
        async with FakeGateway() as gateway:
            for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, 0)):
                program = await self.start(gateway.url)
                assert program.stderr is not None
                self.assertEqual((await program.stderr.readline()).decode(), f"meup: joined lab as you at {gateway.url}\n")
                while not gateway.log and len(gateway.open) == 0:
                    await asyncio.sleep(0.002)
                program.send_signal(number)
                self.assertEqual(await self.lines(program), ["meup: stopping"])
                self.assertEqual(program.returncode, status)

    async def test_the_end_by_the_gateway(self) -> None:
        async with FakeGateway() as gateway:
            program = await self.start(gateway.url)
            assert program.stderr is not None
            await program.stderr.readline()
            while not gateway.open:
                await asyncio.sleep(0.002)
            await next(iter(gateway.open)).socket.close(4003, "not here")
            self.assertEqual(await self.lines(program), ["meup: the gateway closed the connection: kicked (4003): not here"])
            self.assertEqual(program.returncode, 1)

    async def test_without_websockets(self) -> None:
        program = await self.start(AWAY, before="import sys\nsys.modules['websockets'] = sys.modules['websockets.exceptions'] = None")
        (line,) = await self.lines(program)
        self.assertEqual(line, "meup: the Python package websockets is missing: pip install websockets, or apt install python3-websockets")
        self.assertEqual(program.returncode, 1)

    async def test_a_defect_has_a_traceback(self) -> None:
        """An error of the user's code that is also one of joining is no line of its own."""
        for name in ("ValueError", "OSError"):
            with self.subTest(name):
                defect = f"import meup\nasync def run(*_, **__):\n    raise {name}('a defect')\nmeup.Space.run = run"
                program = await self.start(AWAY, before=defect)
                first, *_, last = await self.lines(program)
                self.assertEqual((first, last, program.returncode), ("Traceback (most recent call last):", f"{name}: a defect", 1))

    async def test_lines_of_questions(self) -> None:
        """They have neither the text of a question nor control characters of another participant."""
        async with FakeGateway() as gateway:
            program = await self.start(gateway.url, before=ANSWERS)
            assert program.stderr is not None
            await program.stderr.readline()
            while not gateway.open:
                await asyncio.sleep(0.002)
            for id, text in (("q1", "secret"), ("q2", "raise"), ("q3", "fail"), ("q4", "silent"), ("q5", "wait")):
                await gateway.admit({"id": id, "from": "alice", "kind": "chat", "to": ["you"], "payload": {"message": text}, "ts": "2026-01-01T00:00:00Z"})
                self.assertEqual((await program.stderr.readline()).decode(), f"meup: question {id} of alice begins\n")
                lines = [(await program.stderr.readline()).decode()] if id != "q5" else []
                while id == "q2" and lines[-1] != "ValueError: a defect\n":
                    lines.append((await program.stderr.readline()).decode())
                if id != "q5":
                    begin, want = f"meup: question {id} of alice: ", ENDS[id]
                    self.assertRegex(lines[0], f"^{begin}{want}\n$")
            program.send_signal(signal.SIGTERM)
            first, *rest = await self.lines(program)
            self.assertEqual(first, "meup: stopping: 1 question stays open until the next start")
            self.assertRegex("\n".join(rest), r"^meup: question q5 of alice: not answered after \d\.\d s: the agent is shutting down$")
