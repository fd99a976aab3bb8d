"""A run is a folder: what stays, what was decided, and, until it is finished, the work folder to resume from.

RUN/kept/…            the kept rows, one file for each input file, in its format and with all its columns
RUN/removed.parquet   id, kept (the id that stays in its place), similarity
RUN/pairs.parquet     a, b, similarity; left out, and said so in the report, where there are more than max_pairs
RUN/clusters.parquet  cluster, size, id, kept, similarity
RUN/report.html       all of it to look at
RUN/report.json       all of it as data

Everything is made in RUN/.partial, file by file, and moved to its place when all is there, `report.json` last: a folder
with a report and no work folder is a finished run. RUN/work holds the state of an unfinished one (or --workdir does).
A run that replaces another one moves the old one aside first and removes it at the very end.
"""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lookalike.config import Config
from lookalike.errors import InputError, OptionError, OutputError
from lookalike.io.atomic import check_folder, writing
from lookalike.io.copy import LINE_ENDINGS, CopiedFile
from lookalike.io.formats import endings
from lookalike.io.source import Source, fingerprints
from lookalike.io.write import is_file, save_table
from lookalike.key import seed_shown
from lookalike.outcome import save_pairs
from lookalike.page import page
from lookalike.progress import SILENT, Progress
from lookalike.spec import VERSION as SPEC_VERSION
from lookalike.store.work import Work

if TYPE_CHECKING:
    from lookalike.results import Dedup

__all__ = ["RunFolder", "describe_run", "is_one_file", "write_run"]

_WORK, _PARTIAL, _OLD, _REPORT = "work", ".partial", ".old", "report.json"
# Options that decide how a run is computed, not what comes out, or that stand in its description in another way.
_NOT_DECISIVE = ("threads", "memory", "shingle", "of_text")
_OUTPUTS = ("kept", "removed.parquet", "pairs.parquet", "clusters.parquet", "report.html", _REPORT)


def is_one_file(path: str | Path, *, lines: bool = False) -> bool:
    """Whether the kept rows go to one file (a text file if the input is `lines`), or to a run folder."""
    if (lines and endings(str(path))[0] in LINE_ENDINGS) or is_file(path):
        return True
    if Path(path).suffix and not Path(path).is_dir():
        raise OptionError(
            f"{path}: the ending is not one that can be written; use .parquet, .jsonl, .csv, .tsv or .arrow, "
            "or none for a run folder"
        )
    return False


class RunFolder:
    """The folder of one run, from its beginning to the moment everything is in its place."""

    def __init__(
        self, path: str | Path, *, overwrite: bool = False, resume: bool = False, workdir: Path | None = None
    ) -> None:
        self.path = Path(path).expanduser()
        self.partial = self.path / _PARTIAL
        self._overwrite = overwrite
        self._resume = resume
        self._workdir = workdir
        self.work = Work()

    @property
    def work_folder(self) -> Path:
        return self._workdir or self.path / _WORK

    @property
    def finished(self) -> bool:
        """Whether everything is in its place already."""
        return (self.path / _REPORT).exists() and not (self.work_folder / "run.json").exists()

    def check(self) -> None:
        """Refuse a folder that is in the way, before anything is read."""
        unfinished = (self.work_folder / "run.json").exists()
        if self._resume and self._overwrite:
            raise OptionError("resume goes on with a run, overwrite starts again: give one or the other")
        if self._resume:
            return
        if unfinished and not self._overwrite:
            raise OutputError(
                f"{self.work_folder} holds an unfinished run: go on with --resume, or start again with --overwrite"
            )
        if not unfinished:
            check_folder(self.path, self.path, self._overwrite, run=True)

    def begin(self, what: dict[str, Any]) -> Work:
        """Start the run that `what` describes, or go on with it."""
        self.check()
        self.work = Work(self.work_folder)
        with writing(str(self.path)):
            self.path.mkdir(parents=True, exist_ok=True)
            if not self._resume:
                self.work.remove()
                shutil.rmtree(self.partial, ignore_errors=True)
        self.work.begin(what, resume=self._resume)
        return self.work

    @contextlib.contextmanager
    def going(self) -> Iterator[None]:
        """While the run goes on. What cannot be resumed is removed: after a bad input or option it is another run."""
        try:
            yield
        except (InputError, OptionError):
            self.abandon()
            raise
        except BaseException:
            if not self.work.begun:
                self.abandon()
            raise

    def abandon(self) -> None:
        """Remove what was made so far."""
        self.work.remove()
        shutil.rmtree(self.partial, ignore_errors=True)
        with contextlib.suppress(OSError):
            self.path.rmdir()

    def publish(self) -> None:
        """Move everything to its place; what an interrupted move left is moved now."""
        with writing(str(self.path)):
            names = self.work.finished("publish")
            if names is None:
                names = [name for name in _OUTPUTS if (self.partial / name).exists()]
                self.work.finish("publish", names)
            old = self.path / _OLD
            # The old report goes first and the new one comes last: a folder with a report is all of one run.
            for name in reversed(_OUTPUTS):
                if (self.path / name).exists() and (name not in names or (self.partial / name).exists()):
                    old.mkdir(exist_ok=True)
                    (self.path / name).rename(old / name)
            for name in names:
                if (self.partial / name).exists():
                    (self.partial / name).rename(self.path / name)
            shutil.rmtree(old, ignore_errors=True)
            shutil.rmtree(self.partial, ignore_errors=True)
        self.work.remove()


def describe_run(config: Config, source: Source, against: Source | None, *, annotate: bool) -> dict[str, Any]:
    """What a run is, for telling whether an unfinished one can be gone on with."""
    options = {name: value for name, value in asdict(config).items() if name not in _NOT_DECISIVE}
    options["seed"] = seed_shown(config.seed)
    options["shingle"] = str(config.shingle)
    options["normalize"] = sorted(config.shingle.normalize)
    options["tokens"] = (
        None if config.shingle.tokens is None else getattr(config.shingle.tokens, "__name__", "callable")
    )
    return {
        "lookalike": version("lookalike"),
        "hash_spec": SPEC_VERSION,
        **options,
        "annotate": annotate,
        "limit": getattr(source, "limit", None),
        "recipe": getattr(source, "recipe", None),
        "inputs": [*fingerprints(source), *(fingerprints(against) if against is not None else [])],
    }


def write_run(
    result: Dedup,
    run: RunFolder,
    *,
    annotate: bool = False,
    closing: Callable[[], dict[str, Any]] = dict,
    progress: Progress = SILENT,
) -> dict[str, Any]:
    """Everything that was decided, to the run folder; files that are whole from an earlier process stay as they are.

    What `closing` tells at the end is put into the report, which is given back.
    """
    if run.work.finished("publish") is not None:
        run.publish()
        return dict(json.loads((run.path / _REPORT).read_text(encoding="utf-8")))
    finished = {each["name"]: CopiedFile(**each) for each in run.work.finished("kept") or []}

    def on_file(file: CopiedFile) -> None:
        finished[file.name] = file
        run.work.finish("kept", [asdict(each) for each in finished.values()])

    copied = result.write_kept(
        run.partial / "kept", annotate=annotate, progress=progress, into=True, finished=finished, on_file=on_file
    )
    for name in ("removed", "clusters"):
        file = run.partial / f"{name}.parquet"
        if not file.exists():
            save_table(getattr(result, name), file)
    file = run.partial / "pairs.parquet"
    if not file.exists() and not result.report["pairs_left_out"]:
        save_pairs(result.found, file, progress=progress)
    report = result.full_report() | {"recut": copied.recut, "replaced": copied.replaced} | closing()
    with writing(str(run.path)):
        (run.partial / "report.html").write_text(page(report), encoding="utf-8")
        text = json.dumps(report, indent=2, ensure_ascii=False)
        (run.partial / _REPORT).write_text(text + "\n", encoding="utf-8")
    run.publish()
    return report
