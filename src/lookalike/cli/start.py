"""The first step of the command line: ready for Ctrl-C before anything else is loaded.

Loading Typer, Arrow and Numba takes most of a second. Ctrl-C in the middle of it would show a traceback of theirs, or
be taken for a library that is not there. Nothing has begun by then, so the process just ends.
"""

from __future__ import annotations

import os
import signal
from types import FrameType

__all__ = ["leave", "main"]

INTERRUPTED = 130


def leave(number: int, frame: FrameType | None) -> None:
    """End the process."""
    os.write(2, b"lookalike: interrupted; nothing was begun\n")
    os._exit(INTERRUPTED)


def main() -> None:
    """Load the command line and run it."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not where it is ignored, as under nohup
        signal.signal(signal.SIGINT, leave)
    from lookalike.cli.main import main as run

    run()
