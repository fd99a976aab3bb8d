"""A finished run: what was asked for, what was found, how sure that is, and the rows themselves.

`Run.open("run/")` reads it from its folder; a run that is being finished makes the same object of what it has in
memory. Either way the page to look at is made of it, so it can be made again from the folder alone.

Two files tell all that is not a table. `report.json` is what the page shows. `run.json` says which run it is (options,
fingerprints of the inputs, versions: `runs/run_folder.py`) and, under `finished`, what it takes to open it again:

    kind      what was run: dedup, clusters or pairs
    engine    what ran it, if that was not the local engine: spark, whose tables are folders of Parquet files
    options   every option that decides what comes out, under its name in Python
    items     the columns that were compared, the column of ids, and their form
    source    how the inputs were read (`run_inputs.py`)
    plan      bands and rows, and why; null for identical items
    counts    every count
    tables    the tables of the folder, and the files that hold the kept rows
    emptied   with a unit smaller than documents, the rows of which nothing is left
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lookalike.errors import InputError
from lookalike.io.checksums import unseal
from lookalike.io.reading.places import reading
from lookalike.io.writing.atomic import atomic_file
from lookalike.report.page import page
from lookalike.runs.run_inputs import RunInputs, open_made
from lookalike.scale import Scale
from lookalike.spec import VERSION as SPEC_VERSION
from lookalike.theory import Alternative, Cost, Plan
from lookalike.types import I64Array
from lookalike.wording.phrases import counted
from lookalike.wording.printable import printable

__all__ = ["PAGE", "REPORT", "RUN", "TABLES", "Run"]

REPORT, PAGE, RUN = "report.json", "report.html", "run.json"
# The tables that a run of each kind leaves.
TABLES = {"dedup": ("removed", "pairs", "clusters"), "clusters": ("clusters",), "pairs": ("pairs",)}
_MARK, _WORK = ".lookalike.json", "work"
_KEPT = "kept"


@dataclass(frozen=True, repr=False)
class Run:
    """A finished run. `Run.open(path)` opens one; nothing but its description is read until it is asked for.

    Attributes:
        path: the folder.
        description: what `run.json` says.
        report: what `report.json` says: every count, the certificate, the time of each stage, examples.
    """

    path: Path
    description: dict[str, Any]
    report: dict[str, Any]

    @classmethod
    def open(cls, path: str | Path) -> Run:
        """Open the folder of a finished run; raises `InputError` for anything else."""
        folder = Path(path).expanduser()
        if not folder.is_dir():
            raise InputError(
                f"{folder}: no such folder" if not folder.exists() else f"{folder} is a file, not a run folder"
            )
        if not (folder / RUN).is_file() or not (folder / REPORT).is_file():
            if (folder / _MARK).is_file():
                raise InputError(f"{folder} holds an unfinished run: finish it with --resume first")
            raise InputError(f"{folder} is not a run folder: it has no {RUN}; -o FOLDER creates one")
        if (folder / _WORK / RUN).is_file():
            raise InputError(f"{folder} holds an unfinished run: finish it with --resume first")
        description = _read(folder / RUN, sealed=True)
        made, spec = description.get("lookalike"), description.get("hash_spec")
        if spec != SPEC_VERSION:
            raise InputError(
                f"{folder} was made with version {spec} of the hash specification, and this is version {SPEC_VERSION}: "
                f"open it with lookalike {made}"
            )
        if "finished" not in description:
            raise InputError(f"{folder} was made by lookalike {made}, whose runs cannot be opened again")
        return cls(folder, description, _read(folder / REPORT, sealed=False))

    @property
    def _finished(self) -> dict[str, Any]:
        found: dict[str, Any] = self.description["finished"]
        return found

    @property
    def kind(self) -> str:
        """What was run: dedup, clusters or pairs."""
        return str(self._finished["kind"])

    @property
    def options(self) -> dict[str, Any]:
        """Every option that decided what came out; a secret seed is not told, and functions by their names."""
        return dict(self._finished["options"])

    @property
    def counts(self) -> dict[str, int]:
        """Every count: items, pairs, kept, removed, and all that was skipped or replaced."""
        return dict(self._finished["counts"])

    @property
    def certificate(self) -> dict[str, Any] | None:
        """How much of what there is was found; None where only identical items were looked for."""
        return self.report.get("certificate")

    @property
    def plan(self) -> Plan | None:
        """The plan that ran; None for identical items, which need none."""
        data = self._finished["plan"]
        if data is None:
            return None
        others = (Alternative(**each | {"cost": Cost(**each["cost"])}) for each in data["alternatives"])
        return Plan(**data | {"cost": Cost(**data["cost"]), "alternatives": tuple(others)})

    @property
    def inputs(self) -> list[str]:
        """The names of the input files, as they were given; none where the items were in memory."""
        return [str(file["name"]) for file in self._files]

    @property
    def columns(self) -> list[str]:
        """The columns whose items were compared."""
        return list(self._finished["items"]["columns"])

    @property
    def id(self) -> str | None:
        """The column with the ids; None where they are row numbers."""
        name: str | None = self._finished["items"]["id"]
        return name

    @property
    def tables(self) -> list[str]:
        """The names of the tables that the run left, for `batches`."""
        return [*self._finished["tables"], *([_KEPT] if self.kind == "dedup" else [])]

    @cached_property
    def removed(self) -> pa.Table:
        """Each removed item: `id`, `kept` (the id that stays in its place), and how alike they are; or each span."""
        return pq.read_table(self._table("removed"))

    @cached_property
    def pairs(self) -> pa.Table:
        """Every pair of similar items: `a`, `b`, and how alike they are."""
        return pq.read_table(self._table("pairs"))

    @cached_property
    def clusters(self) -> pa.Table:
        """The items of every cluster: `cluster`, `size`, `id`, `kept`, and how alike they are."""
        return pq.read_table(self._table("clusters"))

    @property
    def kept(self) -> pa.Table:
        """The kept rows with all their columns, from the run folder; `batches("kept")` gives some at a time."""
        parts = [pa.Table.from_batches([batch]) for batch in self.batches(_KEPT)]
        return pa.concat_tables(parts, promote_options="permissive") if parts else pa.table({})

    def batches(self, table: str) -> Iterator[pa.RecordBatch]:
        """The rows of a table (`removed`, `pairs`, `clusters` or `kept`), some at a time."""
        if table == _KEPT:
            yield from self._kept_batches()
            return
        for path in _files_of(self._table(table)):
            with reading(str(path)), pq.ParquetFile(path) as file:
                yield from file.iter_batches()

    @cached_property
    def kept_rows(self) -> I64Array:
        """The numbers of the rows that stay, in rising order; of smaller units, those of which anything is left."""
        kept = np.ones(self.counts["rows"], np.bool_)
        gone = self._finished["emptied"]
        kept[self.rows_of(self.removed["id"]) if gone is None else np.array(gone, np.int64)] = False
        return np.flatnonzero(kept)

    def rows_of(self, ids: Any) -> I64Array:
        """The row numbers of ids, as they stand in the tables; where there is an id column, it is read for that."""
        values = ids if isinstance(ids, pa.Array | pa.ChunkedArray) else pa.array(ids)
        values = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
        if self.id is not None and len(values):
            return self._items.find(self.id, values)
        if len(values) and not pa.types.is_integer(values.type):
            raise InputError(f"{self.path} has no id column: its ids are row numbers")
        rows: I64Array = values.cast(pa.int64()).to_numpy(zero_copy_only=False)
        return rows

    def take(self, rows: Sequence[int] | I64Array) -> pa.Table:
        """Rows of the input with all their columns, by their numbers, in the order in which they are asked for.

        Only what holds these rows is read. Raises `InputError` if the input has changed since the run, or is gone.
        """
        return self._items.take(rows)

    @cached_property
    def _items(self) -> RunInputs:
        return RunInputs(self.path, self._files, self._finished["source"], self.counts["rows"])

    def _table(self, name: str) -> Path:
        if name not in self.tables:
            if name == "pairs" and self.counts.get("pairs_left_out"):
                most = f"{self.options['max_pairs']:,}"
                raise InputError(f"{self.path} has no table of pairs: there were more than max_pairs = {most}")
            raise InputError(f"{self.path} has no table {name!r}; it has {', '.join(self.tables)}")
        file = self.path / f"{name}.parquet"
        if not _files_of(file):
            raise InputError(f"{file} no longer exists")
        return file

    def _told(self, name: str) -> str:
        """A table with the number of its rows, as far as it is there."""
        if name == _KEPT:
            return name
        files = _files_of(self.path / f"{name}.parquet")
        rows = sum(pq.read_metadata(file).num_rows for file in files)
        return f"{name} ({rows:,} rows)" if files else f"{name} (gone)"

    def _kept_batches(self) -> Iterator[pa.RecordBatch]:
        files, source = [self.path / _KEPT / name for name in self._finished["kept"]], self._finished["source"]
        if not files:
            return
        gone = next((file for file in files if not file.is_file()), None)
        if gone is not None:
            raise InputError(f"{gone} no longer exists")
        made = source if source["kind"] == "pictures" else source | {"kind": "rows", "skip_bad": False}
        formats = set() if source["kind"] in ("memory", "edges") else {each["format"] for each in self._files}
        formats = {"parquet"} if self._finished.get("engine") == "spark" else formats
        for batch in open_made([str(file) for file in files], made, formats).batches():
            yield batch.rows

    @property
    def _files(self) -> list[dict[str, Any]]:
        files: list[dict[str, Any]] = self.description["inputs"]
        return files

    @property
    def report_html(self) -> Path:
        """The page to look at."""
        return self.path / PAGE

    def page(self) -> str:
        """The page to look at, made of this run."""
        return page(self.report)

    def write_report(self, path: str | Path | None = None, *, overwrite: bool = False) -> Path:
        """Make the page again, in the run folder or elsewhere; tells where it is."""
        target = self.report_html if path is None else Path(path).expanduser()
        with atomic_file(target, overwrite=overwrite or path is None) as part:
            part.write_text(self.page(), encoding="utf-8")
        return target

    def __repr__(self) -> str:
        counts, report, planned = self.counts, self.report, self.plan
        how = "identical"
        if planned is not None:
            shape = planned.shape if planned.exhaustive else f"b = {planned.bands}, r = {planned.rows}"
            how = f"{Scale(planned.measure, planned.threshold, report.get('whole'))} on {report['compared']}, {shape}"
        noun = report.get("unit", "item")
        names = self.inputs
        told = f"{counted(counts.get('pairs', 0), 'pair')} of {counted(counts['items'], noun)}"
        if "spans" in counts:
            how = f"unit {self.options['unit']}"
            told = f"{counted(counts['spans'], 'span')} cut out of {counted(counts['items'], noun)}"
        elif self.kind == "dedup":
            told = f"{counts['kept']:,} of {counted(counts['items'], noun)} kept, {counts['removed']:,} removed"
        elif self.kind == "clusters":
            told = f"{counted(counts['clusters'], 'cluster')} among {counted(counts['items'], noun)}"
        lines = [
            f"{self.path}: {told} ({how})",
            "  from " + (", ".join(names[:3]) + (", …" if len(names) > 3 else "") if names else "items in memory"),
            f"  tables: {', '.join(map(self._told, self.tables))}",
        ]
        if self.certificate is not None:
            lines.append(f"  {self.certificate['statement']}")
        return "\n".join(map(printable, lines))


def _files_of(table: Path) -> list[Path]:
    """The files that hold a table, in order: itself, or those of its folder."""
    return [table] if table.is_file() else sorted(table.glob("part-*.parquet"))


def _read(file: Path, *, sealed: bool) -> dict[str, Any]:
    try:
        text = file.read_text(encoding="utf-8")
        data = unseal(text) if sealed else json.loads(text)
        if not isinstance(data, dict):
            raise ValueError("it is no object")
    except (OSError, ValueError) as error:
        raise InputError(f"{file} cannot be read ({error}): it is not as the run left it") from error
    return data
