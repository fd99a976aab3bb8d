"""How long a command has taken so far, start-up and writing included."""

from __future__ import annotations

import time

__all__ = ["elapsed"]

_begun = time.perf_counter()  # the first module of the command line imports this


def elapsed() -> float:
    """Seconds since the command began."""
    return time.perf_counter() - _begun
