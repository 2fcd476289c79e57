"""Functions that this participant serves as tools to the others."""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import re
from typing import TYPE_CHECKING, Any, Callable, Iterable

from .calls import ELICITATION, FAILED, NO_SUCH_METHOD, ToolResult
from .envelope import Envelope, new_id
from .errors import MeupError, Refused, RPCError, ToolError
from .schema import arguments, input_schema, parameters

if TYPE_CHECKING:
    from .client import Space

log = logging.getLogger("meup")

ToolFunction = Callable[..., Any]

# Codes of JSON-RPC errors.
INVALID_PARAMS = -32602
TIMEOUT = -32001
CANCELLED = -32002

# MAX_CALLS bounds the calls in progress and MAX_WAITING the ones that wait; one
# caller has at most a quarter of both together.
MAX_CALLS = 16
MAX_WAITING = 64
MCP_VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")


class ToolCall:
    """A call of a served tool; a parameter with this type gets it."""

    def __init__(self, space: "Space", request: Envelope) -> None:
        self.request = request
        self._space = space
        params = request.payload.get("params")
        meta = params.get("_meta") if isinstance(params, dict) else None
        self._token = meta.get("progressToken") if isinstance(meta, dict) else None

    @property
    def caller(self) -> str:
        """The participant that called."""
        return self.request.from_

    async def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        """Report progress, if the caller asked for it."""
        if self._token is None:
            return
        params: dict[str, Any] = {"progressToken": self._token, "progress": done}
        if total is not None:
            params["total"] = total
        if message:
            params["message"] = message
        payload = {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}
        await self._space.send(
            "mcp.request", payload, to=[self.caller], context=self.request.context, correlation=self.request.id
        )


class _Tool:
    """A served function."""

    def __init__(self, function: ToolFunction, name: str | None, description: str | None) -> None:
        self.function = function
        self.name = name or function.__name__
        if not re.fullmatch(r"[A-Za-z0-9_./-]{1,128}", self.name):
            raise ValueError(f"the name {self.name!r} of a tool is 1 to 128 of A-Z a-z 0-9 _ . / -")
        self.description = description or inspect.getdoc(function) or ""
        self.fields, self.required, self.context = parameters(function, ToolCall)
        self.schema = input_schema(function, self.fields, self.required)

    def listed(self) -> dict[str, Any]:
        out: dict[str, Any] = {"name": self.name, "inputSchema": self.schema}
        if self.description:
            out["description"] = self.description
        return out

    async def call(self, call: ToolCall, given: dict[str, Any]) -> ToolResult:
        """Call the function. A function that is no coroutine function runs in a thread."""
        try:
            values = arguments(given, self.fields, self.required)
        except ValueError as err:
            raise RPCError(INVALID_PARAMS, f"invalid arguments: {err}") from None
        if self.context:
            values[self.context] = call
        try:
            if inspect.iscoroutinefunction(self.function):
                result = await self.function(**values)
            else:
                result = await asyncio.to_thread(self.function, **values)
            return _result(result)
        except ToolError as err:
            text = str(err)
        except Exception:  # its text may have secrets: it is only logged
            log.exception("the tool %s failed", self.name)
            text = "the tool failed; its log has the reason"
        return ToolResult(({"type": "text", "text": text},), is_error=True)


def _result(value: Any) -> ToolResult:
    """Return the result for a value that a function returned."""
    if isinstance(value, ToolResult):
        return value
    if isinstance(value, str):
        return ToolResult(({"type": "text", "text": value},))
    if value is None:
        return ToolResult()
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return ToolResult(({"type": "text", "text": text},), value if isinstance(value, dict) else None)


def _cancelled() -> RPCError:
    return RPCError(CANCELLED, "cancelled by the requester", {"reason": "cancelled"})


class ServedTools:
    """Answers the MCP requests that are addressed to this participant.

    Two marks in the log, a participant.status to itself, let the next process
    distinguish the calls that no process received from those that one may have made:
    `started` precedes the first call, and `stopped`, with the position up to
    which requests were accepted, follows the last envelope (ADR 0041).
    """

    def __init__(self, space: "Space") -> None:
        self._space = space
        self._tools: dict[str, _Tool] = {}
        self._running: dict[str, tuple[Envelope, asyncio.Task[Any]]] = {}
        self._slots = asyncio.Semaphore(MAX_CALLS)
        self._started: asyncio.Task[None] | None = None  # sends the mark of the start
        self._through: int | None = None  # no later request is accepted; None: all are

    @property
    def active(self) -> bool:
        return bool(self._tools)

    def serves(self, name: str) -> bool:
        return name in self._tools

    def add(self, function: ToolFunction, name: str | None, description: str | None) -> None:
        tool = _Tool(function, name, description)
        if tool.name in self._tools:
            raise ValueError(f"there is a tool {tool.name!r} already")
        self._tools[tool.name] = tool
        if self._space._supervisor is not None:
            payload = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
            self._space._spawn(self._space.send("mcp.request", payload))
            self.begin()

    def begin(self) -> None:
        """Mark the start, if the space is joined and there are tools."""
        if self.active and self._started is None and not self._space._o.observe:
            self._started = self._space._spawn(self._mark({"status": "started"}))

    async def end(self, timeout: float) -> None:
        """Mark the end, after all other envelopes."""
        if self._started is not None:
            await asyncio.wait({self._space._spawn(self._mark({"status": "stopped", "through": self._through}))}, timeout=timeout)

    async def _mark(self, payload: dict[str, Any]) -> None:
        try:
            await self._space.send("participant.status", payload, to=[self._space.id])
        except MeupError as err:
            log.info("mark %s not written: calls that are missed may not be made at the next start: %s", payload["status"], err)

    def route(self, env: Envelope) -> None:
        space = self._space
        if env.kind != "mcp.request" or env.from_ == space.id or space.id not in env.to or self._through is not None:
            return
        if not self.active and not space._questions.active:
            return  # the program answers
        method = env.payload.get("method")
        if method == "notifications/cancelled":
            self._cancel(env)
        elif method == ELICITATION:
            pass  # Calls.route_elicitation
        elif isinstance(method, str) and not method.startswith("notifications/"):
            self._accept(env, method)

    def _accept(self, env: Envelope, method: str) -> None:
        if env.id in self._running:
            return
        held = [request.from_ for request, _ in self._running.values()]
        if len(held) >= MAX_CALLS + MAX_WAITING or held.count(env.from_) >= (MAX_CALLS + MAX_WAITING) // 4:
            err = RPCError(FAILED, "busy: too many calls are in progress or waiting; retry later", {"reason": "busy"})
            self._space._spawn(self._respond(env, err))
            return
        task = self._space._spawn(self._serve(env, method))
        self._running[env.id] = (env, task)
        task.add_done_callback(lambda done: self._finish(env, done))

    def _cancel(self, env: Envelope) -> None:
        params = env.payload.get("params")
        about = params.get("requestId") if isinstance(params, dict) else None
        for request, task in list(self._running.values()):
            if request.from_ == env.from_ and request.seq < env.seq and about is not None and about in (request.id, request.payload.get("id")):
                task.cancel()

    async def _serve(self, env: Envelope, method: str) -> Any:
        """Return the result of a request, or an RPCError."""
        if self._started is not None and method == "tools/call":
            await asyncio.wait({self._started})
        try:
            async with self._slots:
                return await self._handle(env, method)
        except RPCError as err:
            return err
        except Exception:
            log.exception("request %s failed", env.id)
            return RPCError(FAILED, "internal error")

    async def call_own(
        self, params: dict[str, Any], timeout: float | None, context: str, correlation: str | Iterable[str], audience: list[str]
    ) -> ToolResult:
        """Call an own tool, with a request and a response in the log. The audience sees the response; empty: all."""
        space, id = self._space, new_id()
        payload = {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}
        request = Envelope(id, "mcp.request", space.id, payload, context=context)
        response: Any = _cancelled()
        refused: list[bool] = []
        try:
            # Addressed to itself, so that no other host makes the call.
            sending = space.send("mcp.request", payload, to=[space.id], context=context, correlation=correlation, id=id)
            await space._questions.settle(sending, lambda: refused.append(True))
            async with asyncio.timeout(timeout):
                response = await self._handle(request, "tools/call")
        except TimeoutError:
            response = RPCError(TIMEOUT, "the tool did not return in time", {"reason": "timeout"})
        except RPCError as err:
            response = err
        finally:
            if not refused:
                responding = space.send_last(self._respond(request, response, audience))
        await asyncio.shield(responding)
        if isinstance(response, RPCError):
            raise response
        return ToolResult.of(response)

    def _finish(self, env: Envelope, task: "asyncio.Task[Any]") -> None:
        """Send the response, also to a request that was cancelled before its task began."""
        if self._space._error is not None:
            return
        response = _cancelled() if task.cancelled() else task.result()
        sending = self._space.send_last(self._respond(env, response))
        sending.add_done_callback(lambda _: self._running.pop(env.id, None))

    async def _handle(self, env: Envelope, method: str) -> Any:
        params = env.payload.get("params", {})
        params = params if isinstance(params, dict) else {}
        if method == "ping":
            return {}
        if not self.active:
            raise RPCError(NO_SUCH_METHOD, "this participant offers no tools")
        if method == "initialize":
            asked = params.get("protocolVersion")
            return {
                "protocolVersion": asked if asked in MCP_VERSIONS else MCP_VERSIONS[0],
                "capabilities": {"tools": {"listChanged": True}},
                "serverInfo": {"name": self._space.id, "version": "0.1.0"},
            }
        if method == "tools/list":
            return {"tools": [tool.listed() for tool in self._tools.values()]}
        if method != "tools/call":
            raise RPCError(NO_SUCH_METHOD, f"there is no method {method[:100]}")
        tool = self._tools.get(str(params.get("name")))
        if tool is None:
            raise RPCError(INVALID_PARAMS, "no such tool")
        given = params.get("arguments", {})
        if not isinstance(given, dict):
            raise RPCError(INVALID_PARAMS, "arguments must be an object")
        return (await tool.call(ToolCall(self._space, env), given)).payload()

    async def _respond(self, env: Envelope, response: Any, to: list[str] | None = None) -> None:
        """Send the response, to the caller without `to`; if it cannot be sent, an error in its place.

        Its id follows from the request: of two processes of this participant,
        the first one responds.
        """
        try:
            await self._send(env, response, to)
        except (Refused, ValueError, TypeError, RecursionError) as err:
            if isinstance(err, Refused) and err.code not in ("message_too_large", "invalid_json"):
                log.warning("response to %s not sent: %s", env.id, err)
                return
            await self._send(env, RPCError(FAILED, f"the result cannot be sent: {err}"), to)
        except MeupError as err:
            log.debug("response to %s not sent: %s", env.id, err)

    async def _send(self, env: Envelope, response: Any, to: list[str] | None) -> None:
        payload: dict[str, Any] = {"jsonrpc": "2.0", "id": env.payload.get("id", env.id)}
        if isinstance(response, RPCError):
            payload["error"] = {"code": response.code, "message": response.message}
            if response.data is not None:
                payload["error"]["data"] = response.data
        else:
            payload["result"] = response
        await self._space.send_derived(
            "response", env.id, "mcp.response", payload, to=[env.from_] if to is None else to, context=env.context, correlation=env.id
        )

    async def shutdown(self, timeout: float) -> None:
        """Accept no further requests, cancel the calls in progress, and wait for their responses."""
        if self._through is None:
            self._through = self._space._routed
        current = asyncio.current_task()
        tasks = [task for _, task in self._running.values() if task is not current]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=timeout)
