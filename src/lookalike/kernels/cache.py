"""Where the object code of kernels is kept: a file each, read by every later process.

Beside the source file, in `__pycache__`; or where that cannot be written, in the folder of this user for such things;
or where NUMBA_CACHE_DIR says. Where none of these can be written, as in a hardened container, in a folder of this user
below the temporary one, or not at all. What is loaded is run, so that folder must be ours and nobody else's to write.

An installation goes: an upgrade takes its `__pycache__` along, another environment has none. So what is compiled for an
installed package is written a second time, to the folder of this user, where any installation of the same source finds
it: its name there says the source as well, and of each kernel the latest few stay.

The name of a file says for which machine and libraries the code was made: one home folder may serve many machines. Its
head says of what source it was made (`taken_in.py`); a file of another source is written over. It appears under its
name when it is whole, so that processes which compile at the same time do not disturb each other, and it is checked by
a hash: what is broken is compiled anew.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from importlib.util import find_spec
from itertools import chain
from pathlib import Path

__all__ = ["KernelFile", "note", "on_note"]

_MAGIC = b"lookalike kernel 1\n"
_DIGEST = 32  # bytes
# How many sources of one kernel are kept where they outlive their installations.
_LASTING = 4
# Settings of Numba that change nothing of what it compiles.
_OF_NO_CODE = {
    "NUMBA_CACHE_DIR", "NUMBA_NUM_THREADS", "NUMBA_THREADING_LAYER", "NUMBA_THREADING_LAYER_PRIORITY",
    "NUMBA_DISABLE_PERFORMANCE_WARNINGS", "NUMBA_FULL_TRACEBACKS", "NUMBA_CAPTURED_ERRORS", "NUMBA_WARNINGS",
    "NUMBA_COLOR_SCHEME", "NUMBA_SHOW_HELP",
}  # fmt: skip
_WHY = ": no other place can be written; NUMBA_CACHE_DIR names one"

_noted: list[str] = []
_listeners: list[Callable[[str], None]] = []


def on_note(listener: Callable[[str], None]) -> None:
    """Call `listener` with each line that says how kernels are kept where that is not as usual, once."""
    for line in _noted:
        listener(line)
    _listeners.append(listener)


def note(line: str) -> None:
    """Tell the listeners, now and later, unless they know already."""
    if line not in _noted:
        _noted.append(line)
        for listener in _listeners:
            listener(line)


class KernelFile:
    """Where the object code of one kernel is kept."""

    def __init__(self, source: str, name: str, digest: bytes) -> None:
        self._source, self._digest = Path(source), digest
        self._stem = f"{name}-{_machine()}"
        self._name = f"{self._stem}.kernel"

    def read(self) -> bytes | None:
        """The object code of this source for this machine, if it is there and whole."""
        usual = (folder / self._name for folder in self._usual_folders())
        last = (folder / self._name for folder in filter(_is_ours, _temporary()))
        for path in chain(usual, self._lasting(), last):
            try:
                found = path.read_bytes()
            except OSError:
                continue
            size = len(_MAGIC) + 2 * _DIGEST
            head, code = found[:size], found[size:]
            if head == _MAGIC + self._digest + _hash(self._digest + code):
                return code
        return None

    def write(self, code: bytes) -> None:
        """Keep object code where it can be kept; a line says so if that is not where one would look for it."""
        content = _MAGIC + self._digest + _hash(self._digest + code) + code
        for path in self._lasting():
            with contextlib.suppress(OSError):
                path.parent.mkdir(parents=True, exist_ok=True)
                _write_whole(path.parent, path.name, content)
                self._forget_old(path.parent)
        for folder in self._usual_folders():
            with contextlib.suppress(OSError):
                folder.mkdir(parents=True, exist_ok=True)
                _write_whole(folder, self._name, content)
                return
        for folder in _temporary():
            with contextlib.suppress(OSError):
                folder.mkdir(mode=0o700, exist_ok=True)
                if _is_ours(folder):
                    _write_whole(folder, self._name, content)
                    note(f"compiled kernels are kept in {folder}{_WHY}")
                    return
        note(f"compiled kernels are not kept, every run compiles them anew{_WHY}")

    def _usual_folders(self) -> Iterator[Path]:
        """The best first."""
        chosen = os.environ.get("NUMBA_CACHE_DIR")
        # Two installations of other versions do not take turns in writing one file.
        apart = hashlib.blake2b(os.fsencode(self._source.parent), digest_size=8).hexdigest()
        if chosen:
            yield Path(chosen) / f"lookalike-{apart}"
        else:
            yield self._source.parent / "__pycache__"
            for home in _home():
                yield home / apart

    def _lasting(self) -> Iterator[Path]:
        """Where kernels of an installed package outlive their installation."""
        installed = not {"site-packages", "dist-packages"}.isdisjoint(self._source.parts)
        if installed and not os.environ.get("NUMBA_CACHE_DIR"):
            for home in _home():
                yield home / "kernels" / f"{self._stem}-{self._digest[:8].hex()}.kernel"

    def _forget_old(self, folder: Path) -> None:
        """Leave the latest few of this kernel."""
        mine = sorted(folder.glob(f"{self._stem}-*.kernel"), key=lambda path: path.stat().st_mtime_ns)
        for path in mine[:-_LASTING]:
            path.unlink(missing_ok=True)


def _home() -> Iterator[Path]:
    """The folder of this user for such things, if there is a home."""
    with contextlib.suppress(RuntimeError):
        yield Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lookalike"


def _hash(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=_DIGEST).digest()


def _write_whole(folder: Path, name: str, content: bytes) -> None:
    part = folder / f".{name}.{os.urandom(8).hex()}"
    try:
        with part.open("xb") as file:
            file.write(content)
        part.replace(folder / name)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _temporary() -> Iterator[Path]:
    """The folder of this user below the temporary one, if there are such things."""
    with contextlib.suppress(OSError, AttributeError):
        yield Path(tempfile.gettempdir()) / f"lookalike-kernels-{os.getuid()}"


def _is_ours(folder: Path) -> bool:
    """Whether nobody else could have put something there."""
    try:
        found = folder.lstat()
        return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077
    except OSError:
        return False


@cache
def _machine() -> str:
    """All that decides what a source is compiled to: processor, compiler, interpreter, NumPy, Numba's settings.

    Of NumPy that is the first number of its version: kernels know the layout of its arrays and nothing else, that stays
    as long, and it is looked at before it is relied on. An extra that brings a newer NumPy compiles nothing anew.
    """
    import llvmlite
    import llvmlite.binding as llvm
    import numpy as np

    settings = {key: value for key, value in os.environ.items() if key.startswith("NUMBA_") and key not in _OF_NO_CODE}
    about = [
        llvm.get_process_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten(),
        llvmlite.__version__, _numba_version(), np.__version__.partition(".")[0],
        sys.implementation.cache_tag, getattr(sys, "abiflags", ""), object.__basicsize__, sorted(settings.items()),
    ]  # fmt: skip
    return hashlib.blake2b(repr(about).encode(), digest_size=8).hexdigest()


def _numba_version() -> bytes:
    """The file that says which version it is; Numba itself is not loaded for that."""
    found = find_spec("numba")
    assert found is not None and found.origin is not None
    return Path(found.origin).with_name("_version.py").read_bytes()
