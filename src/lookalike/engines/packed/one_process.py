"""A carrier without a cluster: parts are lists of record batches, tasks are threads, and what is saved is files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from lookalike.engines.packed.blobs import PLACE, Arrays1D, blobs, table_schema, widened
from lookalike.engines.packed.carrier import StageWork
from lookalike.io.writing.atomic import replacing
from lookalike.threads.ordered import ordered_map

__all__ = ["HeldArrays", "OneProcess", "Parts"]


@dataclass(frozen=True)
class Parts:
    """A table: its parts, each some record batches, and the kinds of blobs in it."""

    parts: list[list[pa.RecordBatch]]
    kinds: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class HeldArrays:
    """Arrays in memory, where all tasks are."""

    arrays: Arrays1D

    def read(self) -> Arrays1D:
        return self.arrays


class OneProcess:
    """Carries tables in one process; what is saved goes to a folder."""

    def __init__(self, folder: Path, threads: int = 1) -> None:
        self._folder, self._threads = folder, threads

    def map(self, table: Parts, work: StageWork, kinds: Sequence[str]) -> Parts:
        def worked(part: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
            return list(work(iter(part)))

        return Parts(list(ordered_map(worked, table.parts, self._threads)), tuple(kinds))

    def exchange(self, table: Parts, parts: int) -> Parts:
        found: list[list[pa.RecordBatch]] = [[] for _ in range(parts)]
        for batch in (batch for part in table.parts for batch in part):
            for row, place in enumerate(batch.column(0).to_pylist()):
                found[place % parts].append(batch.slice(row, 1))
        return Parts(found, table.kinds)

    def gather(self, table: Parts) -> Parts:
        return Parts([[batch for part in table.parts for batch in part]], table.kinds)

    def meet(self, many: Parts, few: Parts, *, every: bool) -> Parts:
        kinds = (*many.kinds, *few.kinds)
        small = pa.Table.from_batches((b for part in few.parts for b in part), schema=table_schema(few.kinds))
        found = []
        for part in many.parts:
            large = pa.Table.from_batches(part, schema=table_schema(many.kinds))
            both = _joined(large, small, every=every).select([PLACE, *kinds])
            found.append(both.combine_chunks().to_batches())
        return Parts(found, kinds)

    def together(self, *tables: Parts) -> Parts:
        kinds = tuple(dict.fromkeys(kind for table in tables for kind in table.kinds))
        return Parts([[widened(batch, kinds) for batch in part] for table in tables for part in table.parts], kinds)

    def only(self, table: Parts, *kinds: str) -> Parts:
        found = []
        for part in table.parts:
            whole = pa.Table.from_batches(part, schema=table_schema(table.kinds)).select([PLACE, *kinds])
            some = pa.array(
                [any(row) for row in zip(*(whole[kind].is_valid().to_pylist() for kind in kinds), strict=True)]
            )
            found.append(whole.filter(some).to_batches() if len(some) else [])
        return Parts(found, kinds)

    def save(self, name: str, table: Parts) -> Parts:
        """Each part as a file; a part of a table that is there is not written again."""
        found = []
        for number, part in enumerate(table.parts):
            path = self._folder / f"{name}-{number:05}.parquet"
            whole = pa.Table.from_batches(part, schema=table_schema(table.kinds))
            with replacing(path) as file:
                pq.write_table(whole, file, compression="none")
            found.append(pq.read_table(path).to_batches())
        return Parts(found, table.kinds)

    def collect(self, table: Parts, *kinds: str) -> tuple[list[Arrays1D], ...]:
        return tuple([arrays for part in table.parts for _, arrays in blobs(iter(part), kind)] for kind in kinds)

    def made(self, rows: Sequence[pa.RecordBatch], kinds: Sequence[str]) -> Parts:
        return Parts([list(rows)], tuple(kinds))

    def share(self, name: str, arrays: Arrays1D) -> HeldArrays:
        return HeldArrays(arrays)


def _joined(large: pa.Table, small: pa.Table, *, every: bool) -> pa.Table:
    """Rows of one beside those of another, in the order of the first; there is one row of the other at most."""
    at = {place: row for row, place in enumerate(small.column(PLACE).to_pylist())}
    found = [at.get(place) for place in large.column(PLACE).to_pylist()]
    beside = small.drop_columns([PLACE]).take(pa.array(found, pa.int64()))
    for name in beside.column_names:
        large = large.append_column(name, beside.column(name))
    return large if every else large.filter(pa.array([row is not None for row in found], pa.bool_()))
