"""Where compiled kernels are kept when neither the installation nor the home folder can be written.

Numba keeps them beside the source files, or else in the home folder, or where NUMBA_CACHE_DIR says, and refuses to go
on where none of these can be written, as in a hardened container. Then they are kept in a folder of this user below the
temporary one, or not at all. What is loaded from there is run, so the folder must be ours and nobody else's to write.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path

import numba

__all__ = ["on_move", "use_another_folder"]

_moved: list[str] = []
_listeners: list[Callable[[str], None]] = []


def on_move(listener: Callable[[str], None]) -> None:
    """Call `listener` with a line that says where kernels are kept, once, if that is not where Numba would."""
    if _moved:
        listener(_moved[0])
    else:
        _listeners.append(listener)


def use_another_folder() -> bool:
    """Keep kernels in a temporary folder from now on; False if there is none, so that they cannot be kept."""
    folder = _folder()
    if folder is not None:
        numba.config.CACHE_DIR = str(folder)
        # For processes that this one starts, and because Numba reads it again when the environment changes.
        os.environ["NUMBA_CACHE_DIR"] = str(folder)
        said = f"compiled kernels are kept in {folder}"
    else:
        said = "compiled kernels are not kept, every run compiles them anew"
    if not _moved:
        _moved.append(f"{said}: no other place can be written; NUMBA_CACHE_DIR names one")
        while _listeners:
            _listeners.pop()(_moved[0])
    return folder is not None


def _folder() -> Path | None:
    try:
        folder = Path(tempfile.gettempdir()) / f"lookalike-kernels-{os.getuid()}"
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
        ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077
        if not ours:
            return None
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except (OSError, AttributeError):
        return None
