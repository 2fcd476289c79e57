"""The questions of a participant: admission, their end, several processes, and a restart."""

from __future__ import annotations

import asyncio
import inspect
import logging
import time
from typing import TYPE_CHECKING, Any, Awaitable, Callable, Coroutine, TypeVar

from ._ask import Answer, Part, ThoughtHandler
from .addressing import Classifier
from .catchup import Backlog, EarlierCall
from ._needs import may_allow
from .envelope import Envelope, new_id, within
from .errors import MeupError, Refused, public_message
from .questions import OUTCOME_TIME, Question, Reasoning, explain

if TYPE_CHECKING:
    from .client import Space

log = logging.getLogger("meup")

Handler = TypeVar("Handler", bound="Callable[[Question], Awaitable[Any]]")

# PROBE_EVERY is the time between two questions to the other processes whether
# one works on a question; PROBE_TIME is how long they have to reply.
PROBE_EVERY = 15.0
PROBE_TIME = 10.0
MAX_WATCHED = 256
# MAX_INTERRUPTED bounds the attempts to answer a question that end with their process.
MAX_INTERRUPTED = 3

SHUTDOWN = "the agent is shutting down"
RESTARTED = "the agent was restarted"
BEHIND = "another process of this agent began first"
TAKEN = "another process of this agent continues it"
GIVEN_UP = (
    "this agent ended three times while it worked on the question, and does not try again. "
    "Ask once more if something else was the cause"
)
# SILENT are the reasons after which no participant expects an answer.
SILENT = (SHUTDOWN, BEHIND, TAKEN)


class Questions:
    """The questions that this participant answers."""

    def __init__(self, space: "Space") -> None:
        self.space = space
        self.open: dict[str, Reasoning] = {}  # by the path of the context
        self._handler: Callable[[Question], Awaitable[Any]] | None = None
        self._classifier: Classifier | None = None
        self._held: dict[str, Question] = {}  # by the id of the chat
        self._own: dict[str, None] = {}  # ids that this process sent and has not received back
        self._parts: dict[str, Part] = {}  # that others were asked to take, by the path of the context
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
        for part in list(self._parts.values()):
            part.note(env)

    def route(self, env: Envelope) -> None:
        if self._classifier is None:
            return
        space = self.space
        own = env.from_ == space.id
        mine = own and env.id in self._own
        if mine:
            del self._own[env.id]
        self.observe(env)
        if env.kind == "reasoning.start" and own:
            self._own_start(env, mine)
        elif env.kind == "reasoning.start" and env.context and env.payload.get("participant_id") == space.id:
            if not env.to or space.id in env.to:
                self._admit_part(env)
        elif env.kind == "chat" and own and not mine:
            self._taken_over(env)
        elif env.kind == "chat" and not own:
            if self._classifier.is_question(env):
                self._admit(env)
        elif env.kind in ("chat.cancel", "reasoning.cancel") and not mine:
            self._stop(env)
        elif env.kind == "mcp.withdraw" and own and not mine and env.context in self.open:
            if env.payload.get("reason") == "no_longer_needed":  # by a process that takes the question over
                self.open[env.context].question._cancel(TAKEN)
        elif env.kind == "participant.status" and own and env.payload.get("status") == "taken":
            self._own_start(env, mine)
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
            log.warning("question %s of %s refused: too many are waiting", env.id, env.from_)
            question = Question(self, env)
            if question._part:
                self._decline(question, "too many questions are waiting")
                return
            payload = {"message": "I have too many questions before me. Please ask again in a moment.", "format": "markdown"}
            work = self.space.send_derived("refusal", env.id, "chat", payload, to=question.private, correlation=env.id)
            self.space._spawn(work)
            return
        question = self._held[env.id] = Question(self, env, earlier)
        question._first = asyncio.get_running_loop().create_future()
        question._task = self.space._spawn(self._work(question))
        question._task.add_done_callback(lambda task: self._finish(question, task))

    def _admit_part(self, env: Envelope) -> None:
        """Start to reason about a part of another agent's question, or decline it."""
        assert self._classifier is not None
        part = Question(self, env)
        if any(within(env.context, path) for path in self.open):
            self._decline(part, "this is a part of my own reasoning")
        elif not env.text.strip():
            self._decline(part, "there is no question")
        elif not self._classifier.allows_part(env.from_):
            self._decline(part, "too many parts in a row without a message of a person")
        else:
            self._admit(env)

    def _decline(self, part: Question, why: str) -> None:
        """Close the context of a part without a conclusion."""
        part._answered = True
        self.space.send_final("reasoning.cancel", {"reason": why[:500]}, to=part.private, context=part._part, correlation=part.id)

    async def _claim(self, part: Question) -> None:
        """Wait until this process is the first of the participant that takes a part."""
        if not may_allow(self.space.capabilities, "participant.status"):
            return  # nothing is known of other processes
        try:
            await self.space.send("participant.status", {"status": "taken", "question": part.id}, to=[self.space.id])
        except Refused:
            return
        await part._await_first()

    async def _work(self, question: Question) -> None:
        """Run the handler, and note the reason if it gives up."""
        try:
            async with self._slots:
                assert self._handler is not None
                if question._part:
                    await self._claim(question)
                question._began = time.monotonic()
                log.info("question %s of %s begins", question.id, question.from_)
                await self._handler(question)
        except Exception as err:
            question._failure = err
            question._why = question._why or explain(err)

    def end(self, question: Question) -> None:
        """End a question that was cancelled and whose handler goes on; it keeps its place."""
        assert question._task is not None
        if self._held.get(question.id) is not question:
            return
        question._ended = True
        log.warning("question %s of %s ends without its handler, which goes on although it was cancelled", question.id, question.from_)
        for path, reasoning in reversed(list(self.open.items())):
            if reasoning.question is question:
                del self.open[path]
                reasoning._abandon()
        self._finish(question, question._task)

    def _finish(self, question: Question, task: "asyncio.Task[None]") -> None:
        """Handle the end of the work, also of work that was cancelled before it began."""
        if self._held.get(question.id) is not question:
            return  # it has ended without its handler
        del self._held[question.id]
        why = question._why or ("the work was cancelled" if task.cancelled() else "")
        if question._began:
            self._report_end(question, why)
        if question._part:
            if not question._answered and not question._withdrawn and why not in (BEHIND, TAKEN) and self.space._error is None:
                self._decline(question, why or "ended without a conclusion")
            return
        if why in (BEHIND, TAKEN):
            self._watch_later(question)
        silent = question._withdrawn or question._answered or why in SILENT
        if not why or silent or self.space._error is not None:
            return
        question._answered = True
        payload = {"message": f"I have stopped looking into this: {why}.", "format": "markdown"}
        self.space.send_final_derived("answer", question.id, "chat", payload, to=question.private, correlation=question.id)

    @staticmethod
    def _report_end(question: Question, why: str) -> None:
        """Log how the work on a question ended; with the traceback if the handler has failed for a reason of its own."""
        err, known = question._failure, isinstance(question._failure, MeupError) or bool(public_message(question._failure))
        seconds = time.monotonic() - question._began
        if question._answered and not why:
            log.info("question %s of %s: answered in %.1f s", question.id, question.from_, seconds)
            return
        if isinstance(err, MeupError) and str(err).rstrip(". ") not in why:
            why = f"{why} ({err})"
        log.log(
            logging.INFO if err is None else logging.WARNING if known else logging.ERROR,
            "question %s of %s: not answered after %.1f s: %s", question.id, question.from_, seconds, why or "the handler has sent no answer",
            exc_info=None if known else err,
        )

    def closing(self) -> str:
        """Return the words for the questions that a signal ends; "" without any."""
        n = sum(q._began > 0 for q in self._held.values())
        return "" if n == 0 else ": 1 question stays open until the next start" if n == 1 else f": {n} questions stay open until the next start"

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

    # Questions to other agents.

    async def ask(self, reasoning: Reasoning, who: str, text: str, timeout: float | None, on_thought: ThoughtHandler | None) -> Answer:
        """Ask a participant to take a part of the reasoning, and wait for the end of the part."""
        space = self.space
        if who == space.id:
            return Answer("an agent cannot ask itself", "rejected")
        depth = space.limits.get("context_depth")
        if isinstance(depth, int) and 0 < depth <= reasoning.path.count("/") + 1:
            return Answer(f"the question is asked at depth {depth} already, the most that the space allows", "rejected")
        id, private = new_id(), reasoning.question.private
        path = f"{reasoning.path}/{id}"
        to = private if not private or who in private else [*private, who]
        part = self._parts[path] = Part(space, id, path, who, on_thought)
        why = "no longer needed"  # the part is cancelled; "": it is not open
        try:
            payload = {"message": text, "participant_id": who, "metadata": {"approach": "delegated"}}
            correlation = reasoning._thought or reasoning.id
            start = space.send("reasoning.start", payload, to=to, context=reasoning.path, correlation=correlation, id=id)
            try:
                await self.settle(start, part.close)
            except Refused as refusal:
                return Answer(f"not asked: {refusal}", "rejected")
            async with asyncio.timeout(timeout):
                answer = await asyncio.shield(part.done)
            why = "" if answer.envelope is not None else answer.text
            return answer
        except TimeoutError:
            why = f"no conclusion of {who} within {timeout:g} s"
            return Answer(why, "timeout")
        finally:
            if why and not part.done.cancelled():
                space.send_final("reasoning.cancel", {"reason": why}, to=to, context=path, correlation=id)
            part.close()
            del self._parts[path]

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
        for part in list(self._held.values()):
            if part._part and (within(part._part, env.context) if env.context else part.id in env.correlation):
                part._withdrawn = not env.context or env.context == part._part  # otherwise a context around it
                part._cancel(TAKEN if env.from_ == self.space.id else f"cancelled by {env.from_}" + (f": {reason}" if reason else ""))
        for path, reasoning in list(self.open.items()):
            if reasoning._part:
                continue
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
        """Handle an own reasoning.start about a question, or the claim of a part."""
        claims = env.kind == "participant.status"
        for id in (str(env.payload.get("question")),) if claims else env.correlation:
            question = self._held.get(id)
            if question is None or claims != bool(question._part) or question._first is None or question._first.done():
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
        self._resume(question.envelope, work)

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
        missed = work.missed(may_allow(self.space.capabilities, "participant.status")) if self.space._tools.active else ()
        await self._close_leftovers(work)
        for env in missed:
            self.space._tools.route(env)
        last = []
        for env in work.questions(catch_up == "all") if self.active else ():
            if work.interrupted(env.id) == MAX_INTERRUPTED - 1:
                last.append(env)
            else:
                self._resume(env, work)
        if last:
            self.space._spawn(self._resume_each(last, work))

    async def _resume_each(self, questions: list[Envelope], work: Backlog) -> None:
        """Answer questions one after another: only one of them may end this process."""
        for env in questions:
            self._resume(env, work)
            question = self._held.get(env.id)
            if question is not None and question._task is not None:
                await asyncio.wait({question._task})

    def _resume(self, env: Envelope, work: Backlog) -> None:
        """Answer a question of the log, or give it up if it may end each process that works on it."""
        if env.id in work.settled:
            return
        if work.interrupted(env.id) < MAX_INTERRUPTED:
            self._admit(env, work.calls(env.id), bounded=False)
            return
        log.error("question %s of %s is given up: the process ended during each of %d attempts to answer it", env.id, env.from_, MAX_INTERRUPTED)
        payload = {"message": f"I have stopped looking into this: {GIVEN_UP}.", "format": "markdown"}
        self.space.send_final_derived("answer", env.id, "chat", payload, to=Question(self, env).private, correlation=env.id)

    async def _close_leftovers(self, work: Backlog, question: str = "") -> None:
        for kind, payload, fields in work.leftovers(question):
            try:
                await self.space.send(kind, payload, **fields)
            except Refused as refusal:
                log.warning("left open: %s in %r: %s", kind, fields.get("context", ""), refusal)
