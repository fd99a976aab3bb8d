"""What the library gives back: an Arrow table with a short face."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa

from lookalike.engines.local.pipeline import Found
from lookalike.engines.local.removed_rows import removed_rows
from lookalike.engines.local.result_tables import (
    annotation,
    cluster_batches,
    clustering_of,
    clusters_table,
    pairs_table,
    removed_batches,
    removed_table,
    save_pairs,
)
from lookalike.engines.local.room import Ceiling
from lookalike.errors import InputError, OptionError
from lookalike.io.column_types import without_views
from lookalike.io.copying.apart import Inputs, check_apart
from lookalike.io.copying.changes import Extra
from lookalike.io.copying.copy import Copied, copy_rows, goes_to_file
from lookalike.io.source import Batch
from lookalike.io.writing.tabular import Tabular, beginning
from lookalike.items.units import rewritten
from lookalike.report.examples import examples
from lookalike.report.plain_data import CLUSTERS_ALONE, cluster_report, compared, report, warnings
from lookalike.theory import Plan
from lookalike.types import BoolArray, I64Array
from lookalike.wording.phrases import counted
from lookalike.wording.progress import SILENT, Progress

__all__ = ["Clusters", "Dedup", "Pairs"]


_BATCHES: dict[str, Callable[[Found], Iterator[pa.RecordBatch]]] = {
    "removed": removed_batches,
    "clusters": cluster_batches,
}


class _Result(Tabular):
    """What a run of the pipeline found. `kind` is the verb that made it."""

    kind = ""

    def __init__(self, found: Found) -> None:
        self._found = found

    @property
    def found(self) -> Found:
        """Everything that the run found."""
        return self._found

    @property
    def plan(self) -> Plan | None:
        """The plan that ran; None for identical items, which need none."""
        return self._found.plan

    @cached_property
    def report(self) -> dict[str, Any]:
        """What went in, what was found and how: every count, cap, skip and replacement."""
        out = report(self._found)
        return out | {"warnings": warnings(out)}

    def full_report(self) -> dict[str, Any]:
        """The report with examples to look at."""
        return self.report | examples(self._found)

    @property
    def left_out(self) -> tuple[str, ...]:
        """Tables that a run folder does not get."""
        return ()

    def batches_of(self, table: str) -> Iterator[pa.RecordBatch]:
        """The rows of a table of the run folder, some at a time."""
        return _BATCHES[table](self._found)

    def _save_run(self, path: str | Path, *, overwrite: bool, progress: Progress, annotate: bool = False) -> None:
        """Leave a run folder with all that was found."""
        from lookalike.runs.run_description import describe_run
        from lookalike.runs.run_folder import RunFolder, results_of, write_run

        collection, config = self._found.collection, self._found.config
        source, other = collection.items.source, collection.against.source if collection.against else None
        read = Inputs(files=[*source.files, *(other.files if other else ())])
        check_apart(read, Inputs(), Path(path), None, is_folder=True)
        run = RunFolder(path, overwrite=overwrite)
        what = describe_run(self.kind, config, source, other, annotate=annotate, known=self._found.known)
        run.open(what, results_of(source, self.kind))
        with run.going():
            write_run(cast("Pairs | Clusters | Dedup", self), run, annotate=annotate, progress=progress)

    def __len__(self) -> int:
        return int(self.table.num_rows)


class Pairs(_Result):
    """Similar pairs: the columns `a`, `b` and `similarity` (or `distance`), each pair once, sorted."""

    kind = "pairs"

    @cached_property
    def table(self) -> pa.Table:
        return pairs_table(self._found)

    def __len__(self) -> int:
        return self._found.matched.pairs

    def save(self, path: str | Path, *, overwrite: bool = False, progress: Progress = SILENT) -> None:
        """Write the table, some rows at a time; without a file ending a run folder, with the report."""
        from lookalike.runs.run_folder import is_one_file

        if not is_one_file(path):
            self._save_run(path, overwrite=overwrite, progress=progress)
            return
        save_pairs(self._found, path, overwrite=overwrite, progress=progress)

    def __iter__(self) -> Iterator[tuple[Any, Any, float]]:
        """The pairs as tuples (a, b, similarity), or (a, b, distance)."""
        columns = (self.table.column(name).to_pylist() for name in ("a", "b", self._found.config.scale.column))
        return zip(*columns, strict=True)

    def __repr__(self) -> str:
        return _face(counted(len(self), "pair"), self._found, self.table)


class Clusters(_Result):
    """Clusters of two or more items: `cluster`, `size`, `id`, `kept` (the id that stands for it), `similarity`."""

    kind = "clusters"

    @cached_property
    def table(self) -> pa.Table:
        return clusters_table(self._found)

    @cached_property
    def report(self) -> dict[str, Any]:
        # Nothing is removed, so it is not told by source.
        of_clusters = cluster_report(self._found)
        out = report(self._found) | {name: of_clusters[name] for name in CLUSTERS_ALONE}
        return out | {"warnings": warnings(out)}

    def save(self, path: str | Path, *, overwrite: bool = False, progress: Progress = SILENT) -> None:
        """Write the table; without a file ending a run folder, with the report."""
        from lookalike.runs.run_folder import is_one_file

        if is_one_file(path):
            super().save(path, overwrite=overwrite)
        else:
            self._save_run(path, overwrite=overwrite, progress=progress)

    def __iter__(self) -> Iterator[list[Any]]:
        """The clusters as lists of ids."""
        ids = self.table.column("id").to_pylist()
        numbers = self.table.column("cluster").to_numpy()
        borders = np.flatnonzero(np.diff(numbers)) + 1
        for start, end in zip([0, *borders], [*borders, len(ids)], strict=True):
            if end > start:
                yield ids[start:end]

    def __len__(self) -> int:
        """The number of clusters."""
        return len(np.unique(self.table.column("cluster").to_numpy()))

    def __repr__(self) -> str:
        return _face(
            f"{counted(len(self), 'cluster')} of {counted(self.table.num_rows, 'item')}", self._found, self.table
        )


class Dedup(_Result):
    """What stays and what goes.

    `table` has the kept rows with all their columns; `removed` the columns `id`, `kept`, `similarity`, and those of the
    rows if `with_rows` is given; `pairs` and `clusters` are what they were decided from. `annotated` has all rows, with
    `cluster`, `cluster_size`, `duplicate_of` and `similarity` beside their columns.
    """

    kind = "dedup"

    @cached_property
    def _kept_items(self) -> BoolArray:
        """For each of the run's own items whether it stays."""
        return clustering_of(self._found).kept[self._found.collection.references :]

    @cached_property
    def _rows(self) -> I64Array:
        """The row of each of the run's own items."""
        return self._found.sketched.rows()[self._found.collection.references :]

    @cached_property
    def kept(self) -> BoolArray:
        """For each row of the input whether it stays. With a smaller unit: whether anything is left of it."""
        found = self._found
        kept = self._kept_items
        if found.config.unit == "document":
            return kept
        # A row goes when it had units and none of them stays; a row that was blank from the start is left alone.
        rows = self._rows
        had, has = np.zeros(found.counts.rows, np.bool_), np.zeros(found.counts.rows, np.bool_)
        had[rows] = True
        has[rows[kept]] = True
        return has | ~had

    @cached_property
    def table(self) -> pa.Table:
        batches = (self._edit(batch) for batch in self._found.items.source.batches())
        # Arrow does not filter views.
        parts = [
            without_views(batch.rows).filter(pa.array(self.kept[batch.first : batch.first + batch.rows.num_rows]))
            for batch in batches
        ]
        return pa.concat_tables([pa.Table.from_batches([part]) for part in parts], promote_options="permissive")

    @cached_property
    def annotated(self) -> pa.Table:
        """All rows, each with its cluster, how large that is, and what it is a duplicate of."""
        added = self._annotation()
        parts = []
        for batch in self._found.items.source.batches():
            there = set(batch.rows.schema.names) & set(added.schema.names)
            if there:
                raise InputError(f"the rows already have a column {min(there)!r}: rename it before annotating")
            more = added.rows(batch.first, batch.rows.num_rows)
            fields = [*batch.rows.schema, *more.schema]
            parts.append(pa.Table.from_arrays([*batch.rows.columns, *more.columns], schema=pa.schema(fields)))
        return pa.concat_tables(parts, promote_options="permissive")

    def _annotation(self) -> Extra:
        """What is added to each row where all rows stay."""
        unit = self._found.config.unit
        if unit != "document":
            raise OptionError(f"annotate works on whole documents and cannot be combined with unit={unit!r}")
        return annotation(self._found)

    def _edit(self, batch: Batch) -> Batch:
        """The rows of a batch with the text that is left, where units smaller than documents were removed."""
        found = self._found
        if found.config.unit == "document":
            return batch
        name = found.items.columns[0]
        place = batch.rows.schema.get_field_index(name)
        first, end = np.searchsorted(self._rows, [batch.first, batch.first + batch.rows.num_rows])
        text_of = self._rows[first:end] - batch.first
        texts = rewritten(
            batch.rows.column(place), found.config.unit, self._kept_items[first:end], text_of, found.config.min_words
        )
        texts = texts.cast(batch.rows.schema.field(place).type)
        return replace(batch, rows=batch.rows.set_column(place, batch.rows.schema.field(place), texts))

    def goes_to_file(self, path: str | Path) -> bool:
        """Whether the kept rows would go to one file there."""
        return goes_to_file(self._found.items.source, path)

    def write_kept(
        self, path: str | Path, *, overwrite: bool = False, annotate: bool = False, progress: Progress = SILENT,
        half_read: Callable[[], None] | None = None, **how: Any,
    ) -> Copied:  # fmt: skip
        """The kept rows with all their columns: to one file, or to a folder that mirrors the input files.

        With `annotate` all rows stay, and `cluster`, `cluster_size`, `duplicate_of` and `similarity` are added.
        `half_read` is called when half of the input has been read, if that is to be known.
        """
        source, config = self._found.items.source, self._found.config
        smaller, added = config.unit != "document", self._annotation() if annotate else None
        ceiling, left = Ceiling(config.memory), (source.size() or 0) // 2
        with progress.stage("writing", source.size(), "B") as stage:

            def on_read(amount: int) -> None:
                nonlocal left
                stage.advance(amount)
                ceiling.check()
                left -= amount
                if half_read is not None and left <= 0:
                    half_read()

            return copy_rows(
                source,
                None if annotate else self.kept,
                path,
                overwrite=overwrite,
                edit=self._edit if smaller else None,
                edit_columns=self._found.items.columns if smaller else (),
                add=added,
                on_read=on_read,
                threads=config.threads,
                memory=config.memory,
                **how,
            )

    @cached_property
    def removed(self) -> pa.Table:
        return removed_rows(self._found) if self._found.config.with_rows else removed_table(self._found)

    @cached_property
    def pairs(self) -> pa.Table:
        return pairs_table(self._found)

    @cached_property
    def clusters(self) -> pa.Table:
        return clusters_table(self._found)

    @cached_property
    def report(self) -> dict[str, Any]:
        found = self._found
        out = report(found) | cluster_report(found)
        # Many copies of one item are quickly more pairs than anybody reads; what is removed is told without them.
        out["pairs_left_out"] = out["pairs"] if out["pairs"] > found.config.max_pairs else 0
        if found.config.unit != "document":
            out["documents_emptied"] = int(found.counts.rows - self.kept.sum())
        out["warnings"] = warnings(out)
        return out

    @property
    def left_out(self) -> tuple[str, ...]:
        return ("pairs",) if self.report["pairs_left_out"] else ()

    def save(
        self, path: str | Path, *, overwrite: bool = False, annotate: bool = False, progress: Progress = SILENT
    ) -> None:
        """Write the kept rows: to a file, or, without a file ending, as a run folder with all that was decided."""
        from lookalike.runs.run_folder import is_one_file

        if self.goes_to_file(path) or is_one_file(path):
            self.write_kept(path, overwrite=overwrite, annotate=annotate, progress=progress)
        else:
            self._save_run(path, overwrite=overwrite, annotate=annotate, progress=progress)

    def __repr__(self) -> str:
        kept, items = int(self._kept_items.sum()), self._found.counts.items
        called = "item" if self._found.config.unit == "document" else self._found.config.unit
        return _face(f"{kept:,} of {counted(items, called)} kept, {items - kept:,} removed", self._found, self.removed)


def _face(headline: str, found: Found, table: pa.Table) -> str:
    """A few lines that say what this is, how it was found, and how it begins."""
    config, planned = found.config, found.plan
    how = "identical"
    if planned is not None:
        shape = planned.shape if planned.exhaustive else f"b = {planned.bands}, r = {planned.rows}"
        how = f"{config.scale} on {compared(found.items)}, {shape}"
    return "\n".join([f"{headline} ({how})", *beginning(table)])
