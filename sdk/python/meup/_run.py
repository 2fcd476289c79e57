"""A space as a whole program."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys

from .client import Space
from .errors import MeupError

log = logging.getLogger("meup")


class _Lines(logging.Formatter):
    """Writes a record as one line, and the traceback that it has below it."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        return f"meup: {_one_line(record.message)}"


def _one_line(text: str) -> str:
    """Replace control characters, which text of other participants may have."""
    return "".join(c if c.isprintable() else " " for c in text)


def run(space: Space, *, catch_up: str = "auto") -> None:
    """Run a space as a program: answer questions and tool calls until it ends.

    It ends as Space.run does, with a line on standard error instead of a
    traceback: with the exit status 1 if the gateway is not reached, or rejects
    or ends the connection, and 130 after Ctrl-C. It returns after SIGTERM and a
    shutdown by another participant. Open contexts and proposals are closed.

    The logger "meup" writes to standard error from INFO on, unless the program
    has configured it: one line for the connection and its loss, for each
    question that begins and that ends, and for the signal. They have ids and
    names, and no text of a question: it may be private, and logs are kept
    elsewhere and read by others than the space.
    """
    handler = logging.StreamHandler()
    handler.setFormatter(_Lines())
    if not log.hasHandlers():
        log.addHandler(handler)
        if log.level == logging.NOTSET:
            log.setLevel(logging.INFO)
    try:
        asyncio.run(space.run(catch_up=catch_up))
    except KeyboardInterrupt:  # before run handles signals, or the second one
        sys.exit(128 + signal.SIGINT)
    except MeupError as err:
        sys.exit(f"meup: {_one_line(str(err))}")
    finally:
        log.removeHandler(handler)
    if space._signal == signal.SIGINT:
        sys.exit(128 + signal.SIGINT)
