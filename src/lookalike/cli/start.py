"""The first step of the command line: ready for Ctrl-C before anything else is loaded.

Loading Typer and Arrow takes a good part of a second. Ctrl-C in the middle of it would show a traceback of theirs, or
be taken for a library that is not there. Nothing has begun by then, so the process just ends.
"""

from __future__ import annotations

import gc
import signal

from lookalike.cli.interrupts import leave

__all__ = ["main"]


def main() -> None:
    """Load the command line and run it."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not where it is ignored, as under nohup
        signal.signal(signal.SIGINT, leave)
    gc.disable()  # what is being loaded leaves no garbage to look for; see `job.py`
    from lookalike.cli.main import main as run

    run()
