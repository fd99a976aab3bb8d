"""The run folder of a run on Spark: that of the local engine, whose tables are folders of Parquet files.

RUN/kept/part-….parquet             the kept rows, or all of them with what is added, with all their columns
RUN/removed.parquet/part-….parquet  and so on for `pairs` and `clusters`; what is in them is as in `run_folder.py`
RUN/report.html, report.json, run.json, .lookalike.json   as there

Spark writes the tables to the work folder, as stages, so a run that is killed does not make them again. From there
their files are linked (copied, where that cannot be) into the run folder, under names that its mark has before they are
there, and everything appears at once.

An address (s3://…) knows no links and no renaming in one step. There Spark writes the tables to their places, each of
which appears when it is whole, and `report.json` comes last. The address must be new, or that of the same run, which
its mark tells.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lookalike.config import Config
from lookalike.engines.local.store.work_folder import difference
from lookalike.engines.spark.spark_files import SparkFiles, one_line_errors
from lookalike.errors import OptionError, OutputError
from lookalike.io.checksums import seal, unseal
from lookalike.io.writing.atomic import writing
from lookalike.io.writing.owned import MARK
from lookalike.report.page import page
from lookalike.runs.opened_run import PAGE, REPORT, RUN
from lookalike.runs.run_description import decisive_options, describe_options
from lookalike.runs.run_folder import RunFolder

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from lookalike.runs.spark_results import SparkClusters, SparkDedup, SparkPairs

__all__ = ["AddressedRun", "check_spark_output", "describe_spark_run", "is_address", "write_spark_run"]

_KEPT = "kept"


def is_address(place: str) -> bool:
    """Whether this is an address, and not a path of this machine."""
    return "://" in place


def check_spark_output(output: str, work: str | None) -> None:
    """Refuse what cannot be the folder of a run on Spark."""
    if output == "-" or (not is_address(output) and Path(output).suffix and not Path(output).is_dir()):
        raise OptionError(f"{output}: a run on Spark writes a folder; give its name, without an ending")
    if work is not None and is_address(work) and not work.startswith("file:") and not is_address(output):
        raise OptionError(f"the work folder is at {work}: -o must be an address, too, which all machines reach")


def describe_spark_run(
    config: Config, files: SparkFiles, against: SparkFiles | None, *, verb: str, annotate: bool
) -> dict[str, Any]:
    """What a run is, for telling it from another one."""
    return {
        **describe_options(config),
        "engine": "spark",
        "verb": verb,
        "annotate": annotate,
        "limit": None,
        "recipe": None,
        "inputs": [_as_found(each) for each in files.fingerprints],
        "against": None if against is None else [_as_found(each) for each in against.fingerprints],
    }


def _as_found(file: dict[str, Any]) -> dict[str, Any]:
    """A file of this machine with the time that this machine tells, which is finer than Spark's."""
    path = Path(file["name"])
    return file | {"time": path.stat().st_mtime_ns} if path.is_file() else file


class AddressedRun:
    """A run folder at an address, which fsspec writes the small files of."""

    def __init__(self, address: str, *, resume: bool) -> None:
        import fsspec

        self.address, self._resume = address.rstrip("/"), resume
        try:
            self._system, self._path = fsspec.core.url_to_fs(self.address)
        except (ImportError, ValueError) as error:
            raise OutputError(f"{address} cannot be written: {error}") from error

    def check(self) -> None:
        """Refuse an address where something is, unless it is a run of ours to go on with."""
        if not self._system.exists(self._path) or not self._system.ls(self._path):
            return
        if not self._system.exists(f"{self._path}/{MARK}"):
            raise OutputError(f"{self.address} is not empty and was not made by lookalike: choose another folder")
        if not self._resume:
            raise OutputError(
                f"{self.address} exists: continue it with --resume if it is unfinished, or choose another"
            )

    def begin(self, what: dict[str, Any]) -> bool:
        """Mark the folder; whether the run in it is finished. A folder of another run is refused."""
        self.check()
        if self._system.exists(f"{self._path}/{MARK}"):
            try:
                before = unseal(self._system.cat_file(f"{self._path}/{MARK}").decode())
            except ValueError as error:
                raise OutputError(f"{self.address}/{MARK} cannot be read ({error}): choose another folder") from error
            changed = difference(before, json.loads(json.dumps(what)))
            if changed:
                raise OptionError(f"the run in {self.address} is another one: {changed}; choose another folder")
            return bool(self._system.exists(f"{self._path}/{REPORT}"))
        self._system.makedirs(self._path, exist_ok=True)
        self.write(MARK, seal(what))
        return False

    def report(self) -> dict[str, Any]:
        """The report of a finished run."""
        return dict(json.loads(self._system.cat_file(f"{self._path}/{REPORT}")))

    def save(self, name: str, frame: DataFrame) -> None:
        """Write a table; what a killed run left of it is ours."""
        with one_line_errors():
            frame.write.mode("overwrite" if self._resume else "error").parquet(f"{self.address}/{name}")

    def write(self, name: str, text: str) -> None:
        """Write a small file."""
        self._system.pipe_file(f"{self._path}/{name}", text.encode())


def write_spark_run(
    result: SparkPairs | SparkClusters | SparkDedup, run: RunFolder | AddressedRun, what: dict[str, Any],
    *, annotate: bool, closing: Callable[[], dict[str, Any]] = dict,
) -> dict[str, Any]:  # fmt: skip
    """All tables and the report of a run to its folder; the report is given back."""
    report = result.report
    tables = _tables(result, what["verb"], annotate=annotate, pairs=not report.get("pairs_left_out"))
    place = Path(run.address if isinstance(run, AddressedRun) else run.path)
    listed = [name for name in tables if name != _KEPT]
    if isinstance(run, AddressedRun):
        for name, frame in tables.items():
            run.save(_KEPT if name == _KEPT else f"{name}.parquet", frame)
        report = report | closing()
        described = what | {"finished": _finished(result, place, what, report, listed, [])}
        run.write(PAGE, page(report))
        run.write(RUN, seal(described))
        run.write(REPORT, json.dumps(report, indent=2, ensure_ascii=False) + "\n")
        return report
    carrier, files = result.found.carrier, dict[str, Path]()
    for name, frame in tables.items():
        saved = f"table {'annotated' if name == _KEPT and annotate else name}"
        carrier.save_frame(saved, frame)
        folder = _KEPT if name == _KEPT else f"{name}.parquet"
        parts = sorted(_local(carrier.path(saved)).glob("part-*.parquet"))
        files |= {f"{folder}/part-{number:05}.parquet": path for number, path in enumerate(parts)}
    names = [*files, PAGE, REPORT, RUN]
    run.open(what, names)
    with run.going():
        run.stage(names)
        with writing(str(run.path)):
            for name, path in files.items():
                _link(path, run.partial / name)
        report = report | closing()
        kept = [name.removeprefix(f"{_KEPT}/") for name in files if name.startswith(f"{_KEPT}/")]
        run.finish(_finished(result, place, what, report, listed, kept), report)
    return report


def _tables(
    result: SparkPairs | SparkClusters | SparkDedup, verb: str, *, annotate: bool, pairs: bool
) -> dict[str, DataFrame]:
    """The tables of a run by their names, sorted; kept rows are many, and stay in the order that Spark has them in."""
    found: Any = result
    if verb == "pairs":
        return {"pairs": found.table.orderBy("a", "b")}
    if verb == "clusters":
        return {"clusters": found.table.orderBy("cluster", "id")}
    tables = {"removed": found.removed.orderBy("id"), "clusters": found.clusters.orderBy("cluster", "id")}
    if pairs:
        tables["pairs"] = found.pairs.orderBy("a", "b")
    return tables | {_KEPT: found.annotated if annotate else found.table}


def _finished(
    result: SparkPairs | SparkClusters | SparkDedup,
    place: Path,
    what: dict[str, Any],
    report: dict[str, Any],
    tables: list[str],
    kept: list[str],
) -> dict[str, Any]:
    """What it takes to open the run again, see `opened_run.py`."""
    items, source = result.items_read, result.found.source
    more = ("pairs", "pairs_left_out", "clusters", "kept", "removed")
    relative = any(not os.path.isabs(name) and not re.match(r"\w+:/", name) for name in source.files)  # noqa: PTH117
    return {
        "kind": what["verb"],
        "engine": "spark",
        "options": decisive_options(result.config),
        "items": {"columns": list(items.columns), "id": items.id, "form": items.form},
        "source": {
            "kind": "rows",
            "recipe": None,
            "skip_bad": False,
            "first_rows": list(map(int, source.first_rows())),
            "folder": os.path.relpath(os.path.realpath(Path.cwd()), os.path.realpath(place)) if relative else None,
            "archives": {},
        },
        "plan": None if result.plan is None else asdict(result.plan),
        "counts": asdict(result.counts) | {name: report[name] for name in more if name in report},
        "tables": tables,
        "kept": kept,
        "emptied": None,
    }


def _local(path: str) -> Path:
    """A folder that Spark wrote, on this machine."""
    return Path(re.sub(r"^file:/*/", "/", path))


def _link(path: Path, target: Path) -> None:
    """The same file under another name; the work folder keeps it, for a run that is killed now."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(path, target)
    except OSError:
        shutil.copyfile(path, target)
