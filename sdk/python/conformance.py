"""The program under test of sdk/conformance: see the README there."""

from __future__ import annotations

import asyncio
import os
from typing import AsyncIterator

import meup

space = meup.connect()


@space.serve_tools
async def echo(text: str) -> str:
    """Returns its argument."""
    if text == "fail":
        raise RuntimeError("asked to fail")
    if text == "wait":
        await asyncio.Event().wait()
    return text


async def work(r: meup.Reasoning, text: str) -> str:
    verb, _, rest = text.removeprefix("@bot ").partition(" ")
    if verb == "call":
        try:
            return (await r.call_tool("echo", {"text": rest}, participant="tools")).text
        except (meup.MeupError, TimeoutError):
            return "call failed"
    if verb == "ask":
        heard: list[str] = []
        answer = await r.ask("planner", rest, on_thought=heard.append)
        return f"answered: {', '.join([*heard, answer.text])}" if answer.outcome == "answered" else answer.outcome
    if verb == "propose":
        done = await r.propose("echo", {"text": rest}, participant="tools")
        if done.outcome == "rejected":
            return f"rejected: {done.reason}"
        return "call failed" if done.result is None or done.result.is_error else done.result.text
    if verb == "count":
        for number in range(int(rest)):
            await space.chat(str(number + 1))
        return "counted"
    if verb == "wait":
        await asyncio.Event().wait()
    if verb == "fail":
        raise RuntimeError("asked to fail")
    return f"you said: {text}"


async def pieces(text: str) -> AsyncIterator[str]:
    for word in text.split(" "):
        if word == "fail":
            raise RuntimeError("asked to fail")
        yield word + " "
        await asyncio.sleep(0.3)


async def answer(question: meup.Question) -> None:
    async with question.reasoning() as r:
        await r.thought("thinking")
        verb, _, rest = question.text.removeprefix("@bot ").partition(" ")
        if verb == "plain":
            text = (await r.call_tool("tools/echo", {"text": rest})).text
        elif verb == "stream":
            await r.conclude("done")
        else:
            text = await work(r, question.text)
            await r.conclude("done")
    if verb == "stream":
        await question.stream_answer(pieces(rest))
    else:
        await question.answer(text)


async def fill_in(question: meup.Elicitation) -> dict[str, str] | None:
    if question.message == "fail":
        raise RuntimeError("asked to fail")
    if question.message == "wait":
        await asyncio.Event().wait()
    return None if question.message == "decline" else {"text": question.message}


if os.environ.get("MEUP_ROLE") != "tools":
    space.on_question(answer)
if os.environ.get("MEUP_ROLE") != "no forms":
    space.on_elicitation(fill_in)
meup.run(space)
