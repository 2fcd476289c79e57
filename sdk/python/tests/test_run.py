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


class RunTest(BoundedTest):
    async def start(self, url: str, token: str = "x", **options: float) -> asyncio.subprocess.Process:
        program = f"import meup; meup.run(meup.connect({url!r}, {token!r}, 'lab', **{options!r}))"
        return await asyncio.create_subprocess_exec(
            sys.executable, "-c", program, stderr=asyncio.subprocess.PIPE, env={**os.environ, "PYTHONPATH": PACKAGE}
        )

    async def lines(self, program: asyncio.subprocess.Process) -> list[str]:
        """Return the lines until the end."""
        _, text = await program.communicate()
        return text.decode().splitlines()

    async def test_a_gateway_that_stays_away(self) -> None:
        program = await self.start(AWAY, connect_timeout=0.01)
        *_, last = lines = await self.lines(program)
        self.assertLessEqual(len(lines), 2)
        self.assertTrue(last.startswith("meup: the gateway ws://127.0.0.1:1 was not reached within 0.01 s ("), last)
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
        self.assertIn("is not reached, trying again for 30 s", (await program.stderr.readline()).decode())
        program.send_signal(signal.SIGINT)
        self.assertEqual(await self.lines(program), [])
        self.assertEqual(program.returncode, 130)

    async def test_signals(self) -> None:
        async with FakeGateway() as gateway:
            for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, 0)):
                program = await self.start(gateway.url)
                assert program.stderr is not None
                origin = gateway.url.replace("http", "ws")
                self.assertEqual((await program.stderr.readline()).decode(), f"meup: joined lab as you at {origin}\n")
                while not gateway.log and len(gateway.open) == 0:
                    await asyncio.sleep(0.002)
                program.send_signal(number)
                self.assertEqual(await self.lines(program), [])
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
