"""A space as a whole program."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys

from .client import Space
from .errors import MeupError

log = logging.getLogger("meup")


def run(space: Space, *, catch_up: str = "auto") -> None:
    """Run a space as a program: answer questions and tool calls until it ends.

    It ends as Space.run does, with a line on standard error instead of a
    traceback: with the exit status 1 if the gateway is not reached, or rejects
    or ends the connection, and 130 after Ctrl-C. It returns after SIGTERM and a
    shutdown by another participant. Open contexts and proposals are closed.

    The logger "meup" writes to standard error from INFO on, unless the program
    has configured it.
    """
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("meup: %(message)s"))
    if not log.hasHandlers():
        log.addHandler(handler)
        if log.level == logging.NOTSET:
            log.setLevel(logging.INFO)
    try:
        asyncio.run(space.run(catch_up=catch_up))
    except KeyboardInterrupt:  # before run handles signals, or the second one
        sys.exit(128 + signal.SIGINT)
    except (MeupError, OSError, ValueError) as err:
        sys.exit(f"meup: {err}")
    finally:
        log.removeHandler(handler)
    if space._signal == signal.SIGINT:
        sys.exit(128 + signal.SIGINT)
