"""What is written goes to the disk while more is being made, and not all at the end, when somebody waits for it."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

__all__ = ["begin_sync"]

_WRITE = 2  # SYNC_FILE_RANGE_WRITE


def begin_sync(out: Any) -> None:
    """Have the system begin to bring what was written to an open file to the disk.

    Where it cannot be asked to (another system than Linux, a pipe, a file in memory) nothing happens.
    """
    call = _sync_file_range()
    with contextlib.suppress(OSError, AttributeError):
        if call is not None:
            call(out.fileno(), 0, 0, _WRITE)  # from the beginning to the end


@cache
def _sync_file_range() -> Callable[[int, int, int, int], int] | None:
    try:
        call: Any = ctypes.CDLL(None).sync_file_range
    except (OSError, AttributeError, TypeError):
        return None
    call.argtypes = (ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint)
    return call  # type: ignore[no-any-return]
