"""The work folder: where a run spills, and what it has finished, so that a killed run can go on.

`run.json` says which run it is (options, input fingerprints, versions) and which stages are whole, with what they
counted. It is replaced in one step after the files of a stage are synced, so whatever it names is there. Everything
else in the folder is left over from a stage that was not finished, and is written anew.

A run without a folder of its own spills into a temporary one, which is removed at the end whatever happens.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lookalike.errors import OptionError, OutputError
from lookalike.store.arrays import replacing
from lookalike.store.words import Words

__all__ = ["Work", "disk_free", "spilling"]

_RUN = "run.json"


class Work:
    """Where a run keeps what it may need again. With a folder it can be resumed; without one it only spills."""

    def __init__(self, folder: Path | None = None, *, spill_to: Path | None = None) -> None:
        self._folder = folder
        self._spill_to = spill_to
        self._temporary: Path | None = None
        self._run: dict[str, Any] = {}

    @property
    def resumable(self) -> bool:
        return self._folder is not None

    @property
    def folder(self) -> Path:
        """The folder, made when it is first asked for."""
        if self._folder is not None:
            return self._folder
        if self._temporary is None:
            with spilling(str(self._spill_to or tempfile.gettempdir())):
                self._temporary = Path(tempfile.mkdtemp(prefix="lookalike-", dir=self._spill_to))
        return self._temporary

    @property
    def place(self) -> Path:
        """Where files without a name lie."""
        return self._folder or self._spill_to or Path(tempfile.gettempdir())

    def scratch(self) -> Words:
        """A file without a name, for what only this process needs; also after `close`."""
        return Words.nameless(self.place)

    def begin(self, what: dict[str, Any], *, resume: bool) -> None:
        """Start the run that `what` describes, or go on with it; another run in the folder is refused."""
        if self._folder is None:
            return
        with spilling(str(self._folder)):
            self._folder.mkdir(parents=True, exist_ok=True)
        file = self._folder / _RUN
        if file.exists() and not resume:
            raise OutputError(
                f"{self._folder} holds an unfinished run: go on with --resume, or --overwrite to start again"
            )
        if not file.exists():
            # Whatever else is there is of no run that we know.
            for path in (*self._folder.glob("*.bin"), *self._folder.glob(".*.part")):
                path.unlink()
            self._run = {"run": what, "stages": {}}
            self._save()
            return
        try:
            before = json.loads(file.read_text(encoding="utf-8"))
            changed = _difference(before["run"], json.loads(json.dumps(what)))
        except (ValueError, KeyError, TypeError) as error:
            raise OutputError(f"{file} cannot be read ({error}): start again with --overwrite") from error
        if changed:
            raise OptionError(f"the run in {self._folder} cannot be resumed: {changed}; start again with --overwrite")
        self._run = before

    @property
    def begun(self) -> bool:
        """Whether there is anything that a restart could take over."""
        return self._folder is not None and any(path.suffix == ".bin" for path in self._folder.glob("*"))

    def finished(self, stage: str) -> Any:
        """What a finished stage counted; None if it is not finished."""
        return self._run.get("stages", {}).get(stage)

    def finish(self, stage: str, data: Any) -> None:
        """Note that the files of a stage are whole."""
        if self._folder is not None:
            self._run["stages"][stage] = data
            self._save()

    def remove(self) -> None:
        """Remove the folder and everything in it."""
        for folder in (self._folder, self._temporary):
            if folder is not None:
                shutil.rmtree(folder, ignore_errors=True)
        self._temporary = None

    def close(self) -> None:
        """Remove what only this process needed."""
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)
            self._temporary = None

    def _save(self) -> None:
        assert self._folder is not None
        with spilling(str(self._folder)), replacing(self._folder / _RUN) as part:
            part.write_text(json.dumps(self._run, indent=1), encoding="utf-8")


@contextlib.contextmanager
def spilling(where: str, needed: int | None = None) -> Iterator[None]:
    """Turn what the system refuses while spilling into one line that says what to do."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            more = f"about {needed / 1e9:,.1f} GB are needed there" if needed else "more is needed there"
            raise OutputError(
                f"no space left on the disk while writing to the work folder {where}: {more}; "
                "free some, or move the folder (--workdir), then go on with --resume"
            ) from error
        if error.errno == errno.EFBIG:
            raise OutputError(
                f"the file became larger than the system allows while writing to the work folder {where}"
            ) from error
        raise OutputError(f"cannot write to the work folder {where}: {error.strerror or error}") from error


def _difference(before: dict[str, Any], now: dict[str, Any]) -> str:
    """The first thing in which two runs differ, in words; nothing if they are the same."""
    for name in [*before, *now]:
        if before.get(name) != now.get(name):
            if name == "inputs":
                return _changed_input(before.get(name) or [], now.get(name) or [])
            return f"{name} was {before.get(name)!r} and is {now.get(name)!r} now"
    return ""


def _changed_input(before: list[Any], now: list[Any]) -> str:
    names_before, names_now = [each["name"] for each in before], [each["name"] for each in now]
    if names_before != names_now:
        return f"the inputs were {', '.join(names_before[:3])} and are {', '.join(names_now[:3])} now"
    changed = next(old["name"] for old, new in zip(before, now, strict=True) if old != new)
    return f"{changed} has changed since"


def disk_free(folder: Path) -> int:
    """Bytes that are free where a folder is, or will be."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    stat = os.statvfs(folder)
    return stat.f_bavail * stat.f_frsize
