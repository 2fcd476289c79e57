"""The WebSocket of a connection, over websockets from 10.4 on.

websockets has two clients. The one in websockets.asyncio exists from version 13
on; older versions have the other, which is called legacy. They differ in the
name of the headers, in the errors, and in redirects. This module hides that.
Redirects are not followed, since the token is for the gateway alone.
"""

from __future__ import annotations

import asyncio
import functools
import importlib
from typing import Any, Callable, Protocol
from urllib.parse import urlsplit, urlunsplit

from .envelope import loads
from .errors import ConnectError, MeupError

try:
    from websockets.exceptions import ConnectionClosed as SocketClosed
    from websockets.exceptions import InvalidHandshake

    _missing = False
except ModuleNotFoundError:  # open_socket reports it, so that a program ends with one line
    _missing = True

    class SocketClosed(Exception):  # type: ignore[no-redef]
        """Never raised."""

    class InvalidHandshake(Exception):  # type: ignore[no-redef]
        """Never raised."""

__all__ = ["InvalidHandshake", "Socket", "SocketClosed", "close_code", "gateway_url", "open_socket"]

# MAX_FRAME bounds one frame. The limit of a gateway is far lower; this one only
# protects the memory from a faulty gateway.
MAX_FRAME = 64 << 20
# QUEUE bounds the frames that the library reads ahead.
QUEUE = 16
CLOSE_TIMEOUT = 1.0


class Socket(Protocol):
    """The part of a connection of websockets that this package uses."""

    async def recv(self) -> Any: ...

    async def send(self, message: str) -> None: ...

    async def ping(self) -> Any: ...

    async def close(self, code: int = ..., reason: str = ...) -> None: ...

    @property
    def transport(self) -> Any: ...


def close_code(err: SocketClosed) -> tuple[int, str]:
    """Return the code and the reason that the gateway sent; 1006 if it sent none."""
    return (err.rcvd.code, err.rcvd.reason) if err.rcvd is not None else (1006, "")


def gateway_url(target: str) -> str:
    """Return the address of the gateway of a socket for messages, without a user and the query."""
    parts = urlsplit(target)
    return urlunsplit((parts.scheme.replace("ws", "http"), parts.netloc.rpartition("@")[2], parts.path.removesuffix("/ws"), "", ""))


async def open_socket(url: str, headers: dict[str, str]) -> Socket:
    """Open a connection. Errors: ConnectError, OSError, InvalidHandshake; MeupError without websockets."""
    if _missing:
        raise MeupError("the Python package websockets is missing: pip install websockets, or apt install python3-websockets")
    try:
        return await _connect(url, headers)
    except InvalidHandshake as err:
        refused = _refusal(err, gateway_url(url))
        if refused is None:
            raise
        raise refused from None


async def _connect(url: str, headers: dict[str, str]) -> Socket:
    common = {"open_timeout": None, "close_timeout": CLOSE_TIMEOUT, "ping_interval": None, "max_size": MAX_FRAME, "max_queue": QUEUE}
    socket: Socket = await _opener()(url, headers, common)
    return socket


@functools.cache
def _opener() -> Callable[[str, dict[str, str], dict[str, Any]], Any]:
    """Return the function that opens a connection with the installed version.

    The two clients have types that depend on it, which a check of the types cannot know: hence Any.
    """
    try:
        client: Any = importlib.import_module("websockets.asyncio.client")
    except ImportError:
        return _legacy(importlib.import_module("websockets.legacy.client"))

    class NoRedirect(client.connect):  # type: ignore[misc]
        def process_redirect(self, exc: Exception) -> Exception:
            return exc

    return lambda url, headers, common: NoRedirect(url, additional_headers=headers, **common)


def _legacy(client: Any) -> Callable[[str, dict[str, str], dict[str, Any]], Any]:
    class OneAttempt(client.connect):  # type: ignore[misc]
        def handle_redirect(self, uri: str) -> None:
            raise ConnectError(302, "", f"redirected to {uri}")  # the library does not give the status

    class WithBody(client.WebSocketClientProtocol):  # type: ignore[misc]
        """Reads the body of a rejected request, which the library leaves unread."""

        async def handshake(self, *args: Any, **keywords: Any) -> None:
            try:
                await super().handshake(*args, **keywords)
            except InvalidHandshake as err:
                length = getattr(err, "headers", {}).get("Content-Length", "0")
                if length.isdecimal():
                    setattr(err, "body", await self.reader.read(min(int(length), 4096)))
                raise

    return lambda url, headers, common: OneAttempt(url, create_protocol=WithBody, extra_headers=headers, **common)


def _refusal(err: Any, gateway: str) -> ConnectError | None:
    """Read the response of a gateway that rejected the connection (section 4)."""
    response = getattr(err, "response", None)
    status = getattr(response, "status_code", getattr(err, "status_code", 0))
    if not status:
        return None
    headers = getattr(response, "headers", getattr(err, "headers", {}))
    body = getattr(response, "body", getattr(err, "body", b"")) or b""
    try:
        doc = loads(bytes(body[:4096]))
    except ValueError:
        doc = None
    if not isinstance(doc, dict):
        doc = {}
    after = headers.get("Retry-After", "")
    return ConnectError(
        status, str(doc.get("error", "")), str(doc.get("message", "")), float(after) if after.isdecimal() else 0, gateway
    )


async def close(socket: Socket, *, gracefully: bool = False) -> None:
    """Close a connection; never longer than a little more than CLOSE_TIMEOUT."""
    try:
        if gracefully:
            async with asyncio.timeout(CLOSE_TIMEOUT):
                await socket.close(1000)
    except (OSError, SocketClosed):  # also TimeoutError
        pass
    finally:
        if socket.transport is not None:
            socket.transport.abort()
