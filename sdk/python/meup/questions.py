"""Questions, and the reasoning that this participant shares about them."""

from __future__ import annotations

import asyncio
import inspect
import logging
from typing import TYPE_CHECKING, Any, Awaitable, Callable, Coroutine, Mapping, TypeVar

from .addressing import Classifier
from .calls import Outcome, ProgressHandler, ToolResult
from .catchup import Backlog, EarlierCall
from .envelope import Envelope, new_id
from .errors import MeupError, ReasoningCancelled, Refused

if TYPE_CHECKING:
    from .client import Space

log = logging.getLogger("meup")

Handler = TypeVar("Handler", bound="Callable[[Question], Awaitable[Any]]")

# ECHO_TIME bounds the wait for an own envelope that is in the log.
ECHO_TIME = 30.0
# PROBE_EVERY is the time between two questions to the other processes whether
# one works on a question; PROBE_TIME is how long they have to reply.
PROBE_EVERY = 15.0
PROBE_TIME = 10.0
MAX_WATCHED = 256
# OUTCOME_TIME bounds the wait for the outcome of an envelope of a cancelled task.
OUTCOME_TIME = 3.0

SHUTDOWN = "the agent is shutting down"
RESTARTED = "the agent was restarted"
BEHIND = "another process of this agent began first"
TAKEN = "another process of this agent continues it"
# SILENT are the reasons after which no participant expects an answer.
SILENT = (SHUTDOWN, BEHIND, TAKEN)


class Question:
    """A chat that this participant is asked to answer."""

    def __init__(self, desk: "Questions", envelope: Envelope, earlier: tuple[EarlierCall, ...] = ()) -> None:
        self.envelope = envelope
        self.earlier = earlier
        """Tool calls of an attempt to answer before this process began."""
        self._desk = desk
        self._task: asyncio.Task[None] | None = None
        self._why = ""  # why the work on the question was cancelled
        self._withdrawn = False
        self._first: asyncio.Future[None] | None = None  # done: the own start is the first
        self._answered = False

    @property
    def id(self) -> str:
        """The id of the chat."""
        return self.envelope.id

    @property
    def text(self) -> str:
        """The text of the chat."""
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

    def reasoning(self, message: str = "", *, approach: str = "python", **metadata: Any) -> "Reasoning":
        """Return the context of the reasoning, for `async with`."""
        text = message or "Looking into: " + self.text[:200]
        return Reasoning(self, None, text, {"approach": approach, **metadata})

    async def answer(self, text: str, *, format: str = "markdown", **fields: Any) -> None:
        """Send the answer. There is one answer to a question.

        Its id follows from the question: of two processes that answer, the second sends a retry.
        """
        if self._answered:
            raise RuntimeError("the question has an answer")
        self._answered = True
        payload = {"message": text, "format": format, **fields}
        await self._desk.settle(
            self._desk.space.send_derived("answer", self.id, "chat", payload, to=self.private, correlation=self.id)
        )

    def _cancel(self, why: str) -> None:
        """Cancel the work; the first reason counts."""
        if not self._why and self._task is not None and not self._task.done():
            self._why = why
            self._task.cancel()


class Reasoning:
    """An open context: thoughts and calls in it are part of the log.

    If another participant closes the context, the block gets CancelledError, and
    leaves with ReasoningCancelled. At the end of the block, a context that has
    no conclusion is closed: with an empty one, or with reasoning.cancel after an
    exception.
    """

    def __init__(self, question: Question, parent: "Reasoning | None", message: str, metadata: Mapping[str, Any]) -> None:
        self.question = question
        self.id = new_id()
        self.path: str = f"{parent.path}/{self.id}" if parent is not None else self.id
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
        task = self._task = asyncio.current_task()
        assert task is not None
        self._cancelling = task.cancelling()
        question, parent = self.question, self._parent
        payload: dict[str, Any] = {"message": self._message, "metadata": self._metadata}
        if parent is None and question.earlier:
            payload["references"] = [call.id for call in question.earlier]
        self._desk.open[self.path] = self
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
                await self._claim()
        except BaseException as err:
            await self.__aexit__(type(err), err, None)
            raise
        return self

    def _not_sent(self) -> None:
        self._open = False

    async def _claim(self) -> None:
        """Wait until the own start is known to be the first one of this participant."""
        first = self.question._first
        if first is None:
            return
        try:
            async with asyncio.timeout(ECHO_TIME):
                await asyncio.shield(first)
        except TimeoutError:  # the connection did not deliver it: there is nothing to wait for
            pass

    async def __aexit__(self, kind: type[BaseException] | None, err: BaseException | None, _: object) -> None:
        try:
            if kind is None and self._open and self._by is None:
                await self.conclude()
        except asyncio.CancelledError as cancelled:
            kind, err = asyncio.CancelledError, cancelled
        finally:
            self._desk.open.pop(self.path, None)
        if self._by is not None:
            self._open = False
            assert self._task is not None
            if self._task.uncancel() <= self._cancelling and (kind is None or kind is asyncio.CancelledError):
                raise ReasoningCancelled(*self._by) from err
        if self._open:
            self._open = False
            reason = self.question._why or explain(err)
            final = self._desk.space.send_final("reasoning.cancel", {"reason": reason[:500]}, **self._place())
            await asyncio.wait({final}, timeout=OUTCOME_TIME)
        if isinstance(err, asyncio.CancelledError):
            raise err

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
        timeout: float | None = 30.0, on_progress: ProgressHandler | None = None, propose: bool = False,
    ) -> ToolResult:
        """Call a tool of another participant in the context; see Space.call_tool.

        `reason` is sent as a thought; without it, the last thought explains the call.
        """
        host, tool = await self._desk.space._calls.resolve(name, participant)
        correlation = await self._explain(tool, reason)
        return await self._desk.space.call_tool(
            tool, arguments, participant=host, timeout=timeout, context=self.path, correlation=correlation,
            on_progress=on_progress, propose=propose,
        )

    async def propose(
        self, name: str, arguments: Mapping[str, Any] | None = None, *, reason: str = "", participant: str | None = None,
        timeout: float = 300.0,
    ) -> Outcome:
        """Propose a call in the context, and wait for the outcome; see Space.propose."""
        host, tool = await self._desk.space._calls.resolve(name, participant)
        correlation = await self._explain(tool, reason)
        return await self._desk.space.propose(
            tool, arguments, participant=host, timeout=timeout, to=self.question.private, context=self.path, correlation=correlation
        )

    async def _explain(self, name: str, reason: str) -> str:
        """Return the id of the thought that explains a call."""
        self._check_open()
        if reason:
            return await self.step("reasoning.thought", {"message": reason, "tool_name": name})
        return self._thought or self.id

    def reasoning(self, message: str, *, approach: str = "python", **metadata: Any) -> "Reasoning":
        """Return a nested context, for `async with`."""
        self._check_open()
        return Reasoning(self.question, self, message, {"approach": approach, **metadata})

    async def conclude(self, message: str = "", **fields: Any) -> None:
        """Close the context with a conclusion: confidence, decision, key_factors, recommendation."""
        self._check_open()
        payload = {"message": message, **fields} if message else dict(fields)
        self._open = False
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


class Questions:
    """The questions that this participant answers."""

    def __init__(self, space: "Space") -> None:
        self.space = space
        self.open: dict[str, Reasoning] = {}  # by the path of the context
        self._handler: Callable[[Question], Awaitable[Any]] | None = None
        self._classifier: Classifier | None = None
        self._held: dict[str, Question] = {}  # by the id of the chat
        self._own: dict[str, None] = {}  # ids that this process sent and has not received back
        self._probes: dict[str, asyncio.Future[None]] = {}
        self._watched: dict[str, asyncio.Event] = {}  # set when the question is settled
        self._catch_up = "off"
        self._warned = False

    @property
    def active(self) -> bool:
        return self._handler is not None

    def register(self, handler: Callable[[Question], Awaitable[Any]], mode: str, name: str, parallel: int, waiting: int) -> None:
        if self._handler is not None:
            raise ValueError("there is a handler of questions already")
        if not inspect.iscoroutinefunction(handler):
            raise TypeError("the handler of questions is a coroutine function: async def")
        if parallel < 1 or waiting < 0:
            raise ValueError("parallel must be positive, and waiting not negative")
        self._classifier = Classifier(self.space, mode, name)
        self._handler = handler
        self._places = parallel + waiting
        self._slots = asyncio.Semaphore(parallel)

    def sent(self, id: str) -> None:
        """Note an envelope of this process: others of the same participant come from another one."""
        if self.active:
            self._own[id] = None
            if len(self._own) > 1 << 16:
                del self._own[next(iter(self._own))]

    def observe(self, env: Envelope) -> None:
        if self._classifier is not None:
            self._classifier.observe(env)

    def route(self, env: Envelope) -> None:
        if self._classifier is None:
            return
        space = self.space
        own = env.from_ == space.id
        mine = own and env.id in self._own
        if mine:
            del self._own[env.id]
        self._classifier.observe(env)
        if env.kind == "reasoning.start" and own:
            self._own_start(env, mine)
        elif env.kind == "chat" and own and not mine:
            self._taken_over(env)
        elif env.kind == "chat" and not own:
            if self._classifier.is_question(env):
                self._admit(env)
        elif env.kind in ("chat.cancel", "reasoning.cancel") and not mine:
            self._stop(env)
        elif env.kind == "participant.status" and own and not mine:
            self._probed(env)
        elif space.id in env.to and not own:
            self._control(env)

    # Admission.

    def _admit(self, env: Envelope, earlier: tuple[EarlierCall, ...] = (), bounded: bool = True) -> None:
        if env.id in self._held:
            return
        asked = sum(q.from_ == env.from_ for q in self._held.values())
        if bounded and (len(self._held) >= self._places or asked >= max(1, self._places // 4)):
            log.warning("question %s refused: too many are waiting", env.id)
            question = Question(self, env)
            payload = {"message": "I have too many questions before me. Please ask again in a moment.", "format": "markdown"}
            work = self.space.send_derived("refusal", env.id, "chat", payload, to=question.private, correlation=env.id)
            self.space._spawn(work)
            return
        question = self._held[env.id] = Question(self, env, earlier)
        question._first = asyncio.get_running_loop().create_future()
        question._task = self.space._spawn(self._work(question))
        question._task.add_done_callback(lambda task: self._finish(question, task))

    async def _work(self, question: Question) -> None:
        """Run the handler, and note the reason if it gives up."""
        try:
            async with self._slots:
                assert self._handler is not None
                await self._handler(question)
        except MeupError as err:
            question._why = question._why or explain(err)
            log.warning("question %s was not answered: %s", question.id, err)
        except Exception as err:
            question._why = question._why or explain(err)
            log.exception("question %s was not answered", question.id)

    def _finish(self, question: Question, task: "asyncio.Task[None]") -> None:
        """Handle the end of the work, also of work that was cancelled before it began."""
        if self._held.get(question.id) is question:
            del self._held[question.id]
        why = question._why or ("the work was cancelled" if task.cancelled() else "")
        if why in (BEHIND, TAKEN):
            self._watch_later(question)
        silent = question._withdrawn or question._answered or why in SILENT
        if not why or silent or self.space._error is not None:
            return
        question._answered = True
        payload = {"message": f"I have stopped looking into this: {why}.", "format": "markdown"}
        self.space.send_final_derived("answer", question.id, "chat", payload, to=question.private, correlation=question.id)

    async def settle(self, work: Coroutine[Any, Any, Any], refused: Callable[[], None] = lambda: None) -> None:
        """Send an envelope. If the caller is cancelled, wait a little for its outcome.

        `refused` is called if the envelope is not in the log.
        """
        sending = self.space.send_last(work)
        try:
            await asyncio.shield(sending)
        except asyncio.CancelledError:
            if self.space.paused:
                sending.cancel()
            await asyncio.wait({sending}, timeout=OUTCOME_TIME)
            if sending.done() and (sending.cancelled() or sending.exception() is not None):
                refused()
            raise
        except BaseException:
            refused()
            raise

    # The end of the work.

    def _stop(self, env: Envelope) -> None:
        """Cancel the work that an envelope ends."""
        reason = str(env.payload.get("reason") or "")[:500]
        if env.kind == "chat.cancel":
            for id in env.correlation:
                if id in self._held:
                    self._held[id]._withdrawn = True
                    self._held[id]._cancel(f"cancelled by {env.from_}" + (f": {reason}" if reason else ""))
                if id in self._watched:
                    self._watched[id].set()
            return
        for path, reasoning in list(self.open.items()):
            if env.context == path or not env.context and reasoning.id in env.correlation:
                if env.from_ == self.space.id:
                    reasoning._open = False
                    reasoning.question._cancel(TAKEN)
                else:
                    reasoning._closed_by(env)

    async def shutdown(self, timeout: float) -> None:
        """Cancel all questions, and wait until their contexts are closed."""
        current = asyncio.current_task()
        tasks = [q._task for q in self._held.values() if q._task is not None and q._task is not current]
        for question in self._held.values():
            if question._task is not current:
                question._cancel(SHUTDOWN)
        if tasks:
            await asyncio.wait(tasks, timeout=timeout)

    def abort(self) -> None:
        """Cancel all questions: the connection ended for good."""
        for question in self._held.values():
            question._cancel(SHUTDOWN)

    def _control(self, env: Envelope) -> None:
        """Answer a control envelope; see Space for pause, resume and shutdown."""
        if env.kind == "participant.request-status":
            self._report(env, "")
        elif env.kind == "participant.restart":
            for question in self._held.values():
                question._cancel(RESTARTED)
            self._report(env, "restarted")

    def _report(self, env: Envelope, state: str) -> None:
        contexts = list(self.open)
        status = state or ("reasoning" if self._held else "idle")
        payload = {"status": status, "contexts": contexts, "paused": self.space.paused}
        self.space._spawn(self.space.send("participant.status", payload, to=[env.from_], correlation=env.id))

    # Several processes of one participant: the first reasoning.start answers.

    def _own_start(self, env: Envelope, mine: bool) -> None:
        for id in env.correlation:
            question = self._held.get(id)
            if question is None or question._first is None or question._first.done():
                continue
            if mine:
                question._first.set_result(None)
                continue
            if not self._warned:
                self._warned = True
                log.warning("another process of this participant answers questions too: the one that begins first answers")
            question._cancel(BEHIND)

    def _taken_over(self, env: Envelope) -> None:
        """Cancel a question that another process of this participant has answered."""
        for id in env.correlation:
            if id in self._held:
                self._held[id]._cancel(TAKEN)
            if id in self._watched:
                self._watched[id].set()

    def _probed(self, env: Envelope) -> None:
        """Reply to another process that asks whether this one works on a question."""
        for id in env.correlation:
            probe = self._probes.get(id)
            if probe is not None and not probe.done():
                probe.set_result(None)
        if env.payload.get("status") == "waiting" and env.payload.get("question") in self._held:
            self._report(env, "")

    def _watch_later(self, question: Question) -> None:
        if self._catch_up != "off" and len(self._watched) < MAX_WATCHED and question.id not in self._watched:
            self.space._spawn(self._watch(question))

    async def _watch(self, question: Question) -> None:
        """Wait for the answer of another process; if that process is gone, take the question over."""
        settled = self._watched[question.id] = asyncio.Event()
        try:
            while True:
                try:
                    async with asyncio.timeout(PROBE_EVERY):
                        await settled.wait()
                    return
                except TimeoutError:
                    pass
                if not await self._alive(question):
                    try:
                        work = await Backlog.read(self.space, since=question.envelope.seq - 1)
                        break
                    except (OSError, ValueError) as err:
                        log.warning("the log cannot be read: question %s is not taken over yet: %s", question.id, err)
        finally:
            self._watched.pop(question.id, None)
        if question.id in work.settled:
            return
        log.warning("the other process is gone: question %s is taken over", question.id)
        await self._close_leftovers(work, question.id)
        self._admit(question.envelope, work.calls(question.id), bounded=False)

    async def _alive(self, question: Question) -> bool:
        """Ask the other processes whether one works on a question."""
        id = new_id()
        reply = self._probes[id] = asyncio.get_running_loop().create_future()
        try:
            payload = {"status": "waiting", "question": question.id}
            await self.space.send("participant.status", payload, to=[self.space.id], id=id)
            async with asyncio.timeout(PROBE_TIME):
                await reply
        except TimeoutError:
            return False
        except Refused:  # not allowed: nothing is known of the other process
            pass
        finally:
            del self._probes[id]
        return True

    # After a restart.

    async def start(self, catch_up: str) -> None:
        """Close the work of an earlier process, and answer the questions that it left."""
        self._catch_up = catch_up
        if catch_up == "off" or not self.active and not self.space._tools.active:
            return
        try:
            work = await Backlog.read(self.space, whole=catch_up == "all", classifier=self._classifier)
        except (OSError, ValueError) as err:
            log.warning("the log cannot be read: old questions are not answered: %s", err)
            return
        missed = work.missed() if self.space._tools.active else ()
        await self._close_leftovers(work)
        for env in missed:
            self.space._tools.route(env)
        for env in work.questions(catch_up == "all") if self.active else ():
            self._admit(env, work.calls(env.id), bounded=False)

    async def _close_leftovers(self, work: Backlog, question: str = "") -> None:
        for kind, payload, fields in work.leftovers(question):
            try:
                await self.space.send(kind, payload, **fields)
            except Refused as refusal:
                log.warning("left open: %s in %r: %s", kind, fields.get("context", ""), refusal)


def explain(err: BaseException | None) -> str:
    """Describe an exception for the space. The texts of unknown ones are only logged."""
    if isinstance(err, asyncio.CancelledError) or err is None:
        return "the work was cancelled"
    if isinstance(err, Refused):
        return f"the gateway refused it ({err.code}: {err.message.rstrip('. ')})"
    if isinstance(err, ReasoningCancelled):
        return str(err)
    if isinstance(err, TimeoutError):
        return "it took too long"
    return "internal error; see the log of the agent"

