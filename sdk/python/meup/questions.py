"""A question, and the reasoning that this participant shares about it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Mapping

from ._ask import Answer, ThoughtHandler
from ._stream import AnswerStream, Deltas, each
from .calls import ProgressHandler, ProposalOutcome, ToolResult
from .catchup import EarlierCall
from .envelope import Envelope, new_id
from .errors import ProposalError, ReasoningCancelled, Refused, public_message

if TYPE_CHECKING:
    from ._desk import Questions

# ECHO_TIME bounds the wait for an own envelope that is in the log.
ECHO_TIME = 30.0
# OUTCOME_TIME bounds the wait for the outcome of an envelope of a cancelled task.
OUTCOME_TIME = 3.0
# CANCEL_TIME bounds the work on a question that is cancelled: then it ends without its handler.
CANCEL_TIME = 10.0


class Question:
    """A chat that this participant is asked to answer, or a part that another agent asks it to take.

    The answer to a part is the conclusion of its context, which the other agent has opened.
    """

    def __init__(self, desk: "Questions", envelope: Envelope, earlier: tuple[EarlierCall, ...] = ()) -> None:
        self.envelope = envelope
        self.earlier = earlier
        """Tool calls of an attempt to answer before this process began."""
        self._desk = desk
        self._task: asyncio.Task[None] | None = None
        self._began = 0.0  # when the handler was called, by the monotonic clock; 0: it was not
        self._why = ""  # why the work on the question ended without an answer
        self._failure: BaseException | None = None  # of the handler
        self._withdrawn = False
        self._first: asyncio.Future[None] | None = None  # done: the own start is the first
        self._answered = False
        self._ended = False  # its handler went on after it was cancelled
        self._part = envelope.opens  # the context of a part; "": the question is a chat

    @property
    def id(self) -> str:
        """The id of the chat, or of the reasoning.start of a part."""
        return self.envelope.id

    @property
    def text(self) -> str:
        """The text of the chat as it was sent: a mention of this participant is part of it."""
        return self.envelope.text

    @property
    def from_(self) -> str:
        """The participant that asks."""
        return self.envelope.from_

    @property
    def private(self) -> list[str]:
        """The participants of a private question, without this one; empty: a question to all.

        Everything about a private question is addressed to them.
        """
        if not self.envelope.to:
            return []
        you = self._desk.space.id
        return [id for id in dict.fromkeys((self.envelope.from_, *self.envelope.to)) if id != you]

    def reasoning(self, message: str = "", *, approach: str = "program", **metadata: Any) -> "Reasoning":
        """Return the context of the reasoning, for `async with`."""
        text = message or "Looking into: " + self.text[:200]
        return Reasoning(self, None, text, {"approach": approach, **metadata})

    async def answer(self, text: str, *, format: str = "markdown", **fields: Any) -> None:
        """Send the answer. There is one answer to a question.

        Its id follows from the question: of two processes that answer, the second sends a retry.
        """
        if self._answered:
            raise RuntimeError("the question has an answer")
        self._check_going()
        self._answered = True
        send = self._desk.space.send_derived
        if self._part:
            payload = {"message": text, **fields}
            answer = send("answer", self.id, "reasoning.conclusion", payload, to=self.private, context=self._part, correlation=self.id)
        else:
            answer = send("answer", self.id, "chat", {"message": text, "format": format, **fields}, to=self.private, correlation=self.id)
        await self._desk.settle(answer)

    async def stream_answer(self, deltas: Deltas, **fields: Any) -> str:
        """Send an answer while it is generated: its pieces, as a stream, and then the whole, as answer does. Return it.

        Chunks are sent about ten times a second, of at most 64 KiB of the text. If the iterator
        raises, or the caller is cancelled, the stream is withdrawn, and there is no answer. The
        conclusion of a part is not streamed.
        """
        stream, text = AnswerStream(self), ""
        try:
            async for delta in each(deltas):
                text += delta
                if not self._part:
                    stream.add(delta)
            id = await stream.end()
        except BaseException:
            await stream.end(withdraw=True)
            raise
        await self.answer(text, **({"stream_id": id} if id else {}), **fields)
        return text

    async def ask(self, participant: str, text: str, *, timeout: float | None = 120.0, on_thought: ThoughtHandler | None = None) -> Answer:
        """Ask another agent, in the open context of the question, or in one for this alone; see Reasoning.ask."""
        inside = [r for r in self._desk.open.values() if r.question is self and not r.closed]
        if inside:
            return await inside[-1].ask(participant, text, timeout=timeout, on_thought=on_thought)
        async with self.reasoning() as r:
            return await r.ask(participant, text, timeout=timeout, on_thought=on_thought)

    async def _await_first(self) -> None:
        """Wait until the own start, or the claim of a part, is known to be the first one of this participant."""
        if self._first is None:
            return
        try:
            async with asyncio.timeout(ECHO_TIME):
                await asyncio.shield(self._first)
        except TimeoutError:  # the connection did not deliver it: there is nothing to wait for
            pass

    def _cancel(self, why: str) -> None:
        """Cancel the work; the first reason counts."""
        if not self._why and self._task is not None and not self._task.done():
            self._why = why
            self._task.cancel()
            asyncio.get_running_loop().call_later(CANCEL_TIME, self._desk.end, self)

    def _check_going(self) -> None:
        if self._ended:
            raise RuntimeError("the question was cancelled")


class Reasoning:
    """An open context: thoughts and calls in it are part of the log.

    If another participant closes the context, the block gets CancelledError, and
    leaves with ReasoningCancelled. At the end of the block, a context that has
    no conclusion is closed: with the conclusion "Done.", or with reasoning.cancel
    after an exception.
    """

    def __init__(self, question: Question, parent: "Reasoning | None", message: str, metadata: Mapping[str, Any]) -> None:
        self.question = question
        self._part = question._part if parent is None else ""  # opened by the other agent, and closed by the answer
        self.id = question.id if self._part else new_id()
        self.path: str = self._part or (f"{parent.path}/{self.id}" if parent is not None else self.id)
        self._parent = parent
        self._message = message
        self._metadata = dict(metadata)
        self._desk = question._desk
        self._task: asyncio.Task[Any] | None = None
        self._cancelling = 0
        self._by: tuple[str, str] | None = None  # who closed the context, and why
        self._open = False
        self._thought = ""

    @property
    def closed(self) -> bool:
        """Whether the context is closed, or not opened yet."""
        return not self._open

    async def __aenter__(self) -> "Reasoning":
        if self._task is not None:
            raise RuntimeError("a reasoning block is entered once")
        self.question._check_going()
        task = self._task = asyncio.current_task()
        assert task is not None
        self._cancelling = task.cancelling()
        question, parent = self.question, self._parent
        payload: dict[str, Any] = {"message": self._message, "metadata": self._metadata}
        if parent is None and question.earlier:
            payload["references"] = [call.id for call in question.earlier]
        self._desk.open[self.path] = self
        if self._part:
            self._open = True
            return self
        try:
            self._open = True
            await self._desk.settle(
                self._desk.space.send(
                    "reasoning.start", payload, to=question.private, context=parent.path if parent else "",
                    correlation=(parent._thought or parent.id) if parent else question.id, id=self.id,
                ),
                self._not_sent,
            )
            if parent is None:
                await question._await_first()
        except BaseException as err:
            await self.__aexit__(type(err), err, None)
            raise
        return self

    def _not_sent(self) -> None:
        self._open = False

    async def __aexit__(self, kind: type[BaseException] | None, err: BaseException | None, _: object) -> None:
        try:
            if kind is None and self._open and self._by is None and not self.question._why:
                await self.conclude("Done.")
        except asyncio.CancelledError as cancelled:
            kind, err = asyncio.CancelledError, cancelled
        finally:
            self._desk.open.pop(self.path, None)
        if self._by is not None:
            self._open = False
            assert self._task is not None
            if self._task.uncancel() <= self._cancelling and (kind is None or kind is asyncio.CancelledError):
                raise ReasoningCancelled(*self._by) from err
        final = self._abandon(err)
        if final is not None:
            await asyncio.wait({final}, timeout=OUTCOME_TIME)
        if isinstance(err, asyncio.CancelledError):
            raise err

    def _abandon(self, err: BaseException | None = None) -> "asyncio.Task[Any] | None":
        """Close the context without a conclusion, unless it is closed; return the sending. A part is closed by its question."""
        was_open, self._open = self._open, False
        if not was_open or self._part:
            return None
        reason = self.question._why or explain(err)
        return self._desk.space.send_final("reasoning.cancel", {"reason": reason[:500]}, **self._place())

    def _place(self) -> dict[str, Any]:
        """Return the fields of an envelope in the context."""
        return {"to": self.question.private, "context": self.path, "correlation": self.id}

    async def step(self, kind: str, payload: Mapping[str, Any], *, correlation: str = "") -> str:
        """Send a step, such as reasoning.observation, and return its id."""
        self._check_open()
        place = self._place()
        if correlation:
            place["correlation"] = correlation
        return (await self._desk.space.send(kind, payload, **place)).id

    async def thought(self, message: str, **fields: Any) -> str:
        """Send a thought. The next call is explained by it. Returns its id."""
        self._thought = await self.step("reasoning.thought", {"message": message, **fields})
        return self._thought

    async def observation(self, message: str, **fields: Any) -> str:
        """Send an observation, with fields such as severity or evidence."""
        return await self.step("reasoning.observation", {"message": message, **fields})

    async def hypothesis(self, hypothesis: str, **fields: Any) -> str:
        """Send a hypothesis, with fields such as confidence or evidence."""
        return await self.step("reasoning.hypothesis", {"hypothesis": hypothesis, **fields})

    async def call_tool(
        self, name: str, arguments: Mapping[str, Any] | None = None, *, reason: str = "", participant: str | None = None,
        timeout: float | None = 30.0, on_progress: ProgressHandler | None = None, propose: bool = True,
        proposal_timeout: float = 300.0,
    ) -> ToolResult:
        """Call a tool in the context; see Space.call_tool.

        `reason` is sent as a thought; without it, the last thought explains the call. A result with
        isError raises ToolError.
        For a private question, a name without a participant is looked up among the
        participants of the question, since the arguments may disclose it.
        """
        calls, private = self._desk.space._calls, self.question.private
        host, tool = await calls.resolve(name, participant, private)
        correlation = await self._explain(tool, reason)
        return await calls.call_tool(
            host, tool, arguments, timeout, self.path, correlation, on_progress, propose, proposal_timeout, private
        )

    async def propose(
        self, name: str, arguments: Mapping[str, Any] | None = None, *, reason: str = "", participant: str | None = None,
        timeout: float = 300.0,
    ) -> ProposalOutcome:
        """Propose a call in the context, and wait for the outcome; see Space.propose."""
        host, tool = await self._desk.space._calls.resolve(name, participant, self.question.private)
        correlation = await self._explain(tool, reason)
        return await self._desk.space.propose(
            tool, arguments, participant=host, timeout=timeout, to=self.question.private, context=self.path, correlation=correlation
        )

    async def ask(self, participant: str, text: str, *, timeout: float | None = 120.0, on_thought: ThoughtHandler | None = None) -> Answer:
        """Ask another agent, and wait for its answer.

        It reasons in a nested context, as a part of this question, which everybody sees who sees
        the question; the latest thought explains it. Its answer is no chat, and no question to
        this participant. If the caller is cancelled, as with the question, the other one stops.
        An agent that is asked may ask a further one, as deep as contexts may be nested; one that
        is in this chain already declines. `on_thought` gets the texts of its steps.
        """
        self._check_open()
        return await self._desk.ask(self, participant, text, timeout, on_thought)

    async def _explain(self, name: str, reason: str) -> str:
        """Return the id of the thought that explains a call."""
        self._check_open()
        if reason:
            return await self.step("reasoning.thought", {"message": reason, "tool_name": name})
        return self._thought or self.id

    def reasoning(self, message: str, *, approach: str = "program", **metadata: Any) -> "Reasoning":
        """Return a nested context, for `async with`."""
        self._check_open()
        return Reasoning(self.question, self, message, {"approach": approach, **metadata})

    async def conclude(self, message: str = "", **fields: Any) -> None:
        """Close the context with a conclusion: confidence, decision, key_factors, recommendation.

        The conclusion of a part is its answer; this one is not sent.
        """
        self._check_open()
        payload = {"message": message, **fields} if message else dict(fields)
        self._open = False
        if self._part:
            return
        await self._desk.settle(self._desk.space.send("reasoning.conclusion", payload, **self._place()), self._reopen)

    def _reopen(self) -> None:
        self._open = True  # the conclusion is not in the log

    def _check_open(self) -> None:
        if not self._open:
            raise RuntimeError("the context is closed")

    def _closed_by(self, env: Envelope) -> None:
        """Cancel the block: another participant has closed the context."""
        if self._by is None and self._open and self._task is not None and not self._task.done():
            self._by = (env.from_, str(env.payload.get("reason") or "")[:500])
            self._task.cancel()


def explain(err: BaseException | None) -> str:
    """Describe an exception for the space. The texts of unknown ones are only logged."""
    if isinstance(err, asyncio.CancelledError) or err is None:
        return "the work was cancelled"
    if public_message(err):
        return public_message(err)
    if isinstance(err, Refused):
        return f"the gateway refused it ({err.code}: {err.message.rstrip('. ')})"
    if isinstance(err, (ProposalError, ReasoningCancelled)):
        return str(err)
    if isinstance(err, TimeoutError):
        return "it took too long"
    return "internal error; see the log of the agent"

