"""An agent that tests kill: it calls a tool, proposes a call, and waits for the decision."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import meup  # noqa: E402

space = meup.connect()


@space.on_question(parallel=1, waiting=32)
async def answer(question: meup.Question) -> None:
    async with question.reasoning() as r:
        await r.call_tool("weather/temperature", {"city": "Oslo"}, reason="It has it.")
        await r.propose("write", {"text": "x"}, participant="weather")


asyncio.run(space.run(catch_up="off"))
