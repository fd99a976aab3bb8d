"""The work folder: where a run spills, and what it has finished, so that a killed run can go on.

`run.json` says which run it is (options, input fingerprints, versions) and which stages are whole, with what they
counted. It is replaced in one step after the files of a stage are synced, so whatever it names is there. Everything
else in the folder is left over from a stage that was not finished, and is written anew. All files are named in the
folder's mark (`io/writing/owned.py`); nothing else that may be there is touched.

Between two processes anything may happen to files. So each that is read back carries a checksum, its own name and the
run's `token`; one that is not as it was left is told of and made again from the stage before it. The mark carries the
token, too, and gets it before there is a `run.json`: of two that differ one is of another run, and since nobody knows
which, nothing is resumed or removed.

A run without a folder of its own spills into a temporary one, which is removed at the end whatever happens.
"""

from __future__ import annotations

import contextlib
import errno
import json
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from lookalike.engines.local.store.words import Words
from lookalike.errors import OptionError, OutputError
from lookalike.io.checksums import seal, unseal
from lookalike.io.writing.atomic import replacing
from lookalike.io.writing.owned import MARK, OwnedFolder, other_run

__all__ = ["Work", "difference", "spilling"]

_RUN = "run.json"
# What of the description of a run tells of files.
_FILES = {"inputs": "inputs", "against": "files to compare with"}


class Work:
    """Where a run keeps what it may need again. With a folder it can be resumed; without one it only spills.

    `tell` gets a line for people where something must be done again.
    """

    def __init__(
        self, folder: Path | None = None, *, spill_to: Path | None = None, tell: Callable[[str], None] | None = None
    ) -> None:
        self._owned = None if folder is None else OwnedFolder(folder, "work")
        self._spill_to = spill_to
        self._tell = tell
        self._temporary: Path | None = None
        self._run: dict[str, Any] = {}

    @property
    def resumable(self) -> bool:
        return self._owned is not None

    @property
    def folder(self) -> Path:
        """The folder, made when it is first asked for."""
        if self._owned is not None:
            return self._owned.path
        if self._temporary is None:
            with spilling(str(self._spill_to or tempfile.gettempdir())):
                self._temporary = Path(tempfile.mkdtemp(prefix="lookalike-", dir=self._spill_to))
        return self._temporary

    @property
    def place(self) -> Path:
        """Where files without a name lie."""
        return self._owned.path if self._owned is not None else self._spill_to or Path(tempfile.gettempdir())

    @property
    def token(self) -> str:
        """What tells the files of this run from those of another."""
        return str(self._run.get("token", ""))

    def scratch(self) -> Words:
        """A file without a name, for what only this process needs; also after `close`."""
        return Words.nameless(self.place)

    def files(self, names: Iterable[str]) -> list[Path]:
        """Where files are going to be written that are ours from now on."""
        chosen = list(names)
        if self._owned is not None:
            with spilling(str(self._owned.path)):
                self._owned.begin()
                self._owned.claim(chosen)
        return [self.folder / name for name in chosen]

    def begin(self, what: dict[str, Any], *, resume: bool) -> None:
        """Start the run that `what` describes, or go on with it; another run in the folder is refused."""
        if self._owned is None:
            return
        folder = self._owned.path
        with spilling(str(folder)):
            self._owned.begin()
        file = folder / _RUN
        if file.exists() and not resume:
            raise OutputError(
                f"{folder} holds an unfinished run: continue it with --resume, or start again with --overwrite"
            )
        if not file.exists():
            # Whatever else is ours there is of no run that we know.
            self._run = {"run": what, "token": secrets.token_hex(8), "stages": {}}
            with spilling(str(folder)):
                self._owned.remove(self._owned.names)
                self._owned.note(run=self.token)
                self._owned.claim([_RUN])
            self._save()
            return
        self._check_mark()
        try:
            before = unseal(file.read_text(encoding="utf-8"))
            changed = difference(before["run"], what)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise OutputError(f"{file} cannot be read ({error}): start again with --overwrite") from error
        if changed:
            raise OptionError(f"the run in {folder} cannot be resumed: {changed}; start again with --overwrite")
        self._run = before

    @property
    def unfinished(self) -> bool:
        """Whether the folder holds a run that can be gone on with."""
        return self._look() and self._owned is not None and self._owned.has(_RUN)

    @property
    def stored(self) -> dict[str, Any]:
        """What `run.json` says, if it is there and can be read: `run`, `token` and `stages`; else nothing."""
        if self._owned is None:
            return {}
        try:
            found = unseal((self._owned.path / _RUN).read_text(encoding="utf-8"))
            return {name: found[name] for name in ("run", "token", "stages")}
        except (OSError, ValueError, KeyError, TypeError):
            return {}

    def _look(self) -> bool:
        """Read the mark; whether there is one. It must be of the run that is there."""
        if self._owned is None or not self._owned.look():
            return False
        self._check_mark()
        return True

    def _check_mark(self) -> None:
        assert self._owned is not None
        stored = self.stored
        if stored and stored["token"] != self._owned.notes.get("run"):
            raise other_run(self._owned.path / MARK, self._owned.path / _RUN)

    @property
    def begun(self) -> bool:
        """Whether there is anything that a restart could take over."""
        return self._owned is not None and any(name != _RUN and self._owned.has(name) for name in self._owned.names)

    def finished(self, stage: str) -> Any:
        """What a finished stage counted; None if it is not finished."""
        return self._run.get("stages", {}).get(stage)

    def finish(self, stage: str, data: Any) -> None:
        """Note that the files of a stage are whole."""
        if self._owned is not None:
            self._run.setdefault("stages", {})[stage] = data
            self._save()

    def redo(self, stage: str, why: str) -> None:
        """Say that files of a stage are not as they were left, and note that it is to be done again."""
        if self._tell is not None:
            self._tell(f"{why}: made again")
        if self._run.get("stages", {}).pop(stage, None) is not None:
            self._save()

    def discard(self, prefix: str, wanted: Callable[[str], bool] = lambda name: False) -> None:
        """Remove the files of ours that begin so, but for those that are wanted."""
        if self._owned is not None:
            names = [name for name in self._owned.names if name.startswith(prefix) and not wanted(name)]
            self._owned.remove(names)

    def remove(self) -> None:
        """Remove the folder and everything in it that is ours."""
        if self._look() and self._owned is not None:
            # The last to go says that there is a run: until then it can be gone on with.
            self._owned.remove([name for name in self._owned.names if name != _RUN])
            self._owned.remove()
        self.close()

    def close(self) -> None:
        """Remove what only this process needed."""
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)
            self._temporary = None

    def _save(self) -> None:
        assert self._owned is not None
        with spilling(str(self._owned.path)), replacing(self._owned.path / _RUN) as part:
            part.write_text(seal(self._run), encoding="utf-8")


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
                "free some, or move the folder (--workdir), then continue with --resume"
            ) from error
        if error.errno == errno.EFBIG:
            raise OutputError(
                f"the file became larger than the system allows while writing to the work folder {where}"
            ) from error
        raise OutputError(f"cannot write to the work folder {where}: {error.strerror or error}") from error


def difference(before: dict[str, Any], now: dict[str, Any]) -> str:
    """The first thing in which two descriptions of runs differ, in words; nothing if they are the same."""
    now = json.loads(json.dumps(now))  # a tuple is a list once it was written
    for name in [*before, *now]:
        if before.get(name) != now.get(name):
            if name in _FILES:
                return _changed_input(name, before.get(name) or [], now.get(name) or [])
            return f"{name} was {before.get(name)!r} and is {now.get(name)!r} now"
    return ""


def _changed_input(name: str, before: list[Any], now: list[Any]) -> str:
    names_before, names_now = [each["name"] for each in before], [each["name"] for each in now]
    if names_before != names_now:
        shown = (", ".join(names[:3]) or "none" for names in (names_before, names_now))
        return "the {} were {} and are {} now".format(_FILES[name], *shown)
    changed = next(old["name"] for old, new in zip(before, now, strict=True) if old != new)
    return f"{changed} has changed since"
