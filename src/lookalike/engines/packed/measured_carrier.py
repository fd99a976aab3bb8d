"""A carrier that tells what each stage took: how many tasks it had, how long each worked, and what it was brought.

Each task of a stage that is saved leaves one more blob, a clock, beside what it made. So what is told is that of the
tasks whose results count, however often some were begun, and a run that is taken up tells of the stages before, too.
The clocks are read all at once, when somebody asks.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.engines.packed.blobs import Arrays1D, BatchWriter, widened
from lookalike.engines.packed.carrier import Carrier, Shared, StageWork, Table

__all__ = ["MeasuredCarrier", "StageFigures"]

_CLOCK = "clock"


@dataclass(frozen=True)
class StageFigures:
    """What a stage took: seconds of one core in all tasks and in the longest one, bytes they were brought."""

    tasks: int
    cpu_seconds: float
    longest_task: float
    bytes: int
    most_bytes: int

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class _Clocked:
    """A stage that leaves a clock."""

    work: StageWork
    name: str
    kinds: tuple[str, ...]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        begun, brought = time.thread_time(), 0

        def counted() -> Iterator[pa.RecordBatch]:
            nonlocal brought
            for batch in batches:
                brought += batch.nbytes
                yield batch

        for batch in self.work(counted()):
            yield widened(batch, self.kinds)
        out = BatchWriter(self.kinds)
        seconds = time.thread_time() - begun
        name = np.frombuffer(self.name.encode(), np.uint8)
        out.add(_CLOCK, 0, {"name": name, "seconds": np.array([seconds]), "bytes": np.array([brought], np.int64)})
        yield from out.rest()


@dataclass(frozen=True)
class _Unsaved:
    """What a stage will make: with a clock if it is saved, and otherwise without."""

    table: Table
    work: StageWork
    kinds: tuple[str, ...]


class MeasuredCarrier:
    """Another carrier, with a clock in each stage that is saved."""

    def __init__(self, carrier: Carrier) -> None:
        self._carrier = carrier
        self._saved: list[Table] = []

    def _made(self, table: Table) -> Table:
        return self._carrier.map(table.table, table.work, table.kinds) if isinstance(table, _Unsaved) else table

    def map(self, table: Table, work: StageWork, kinds: Sequence[str]) -> Table:
        return _Unsaved(self._made(table), work, tuple(kinds))

    def exchange(self, table: Table, parts: int) -> Table:
        return self._carrier.exchange(self._made(table), parts)

    def gather(self, table: Table) -> Table:
        return self._carrier.gather(self._made(table))

    def meet(self, many: Table, few: Table, *, every: bool) -> Table:
        return self._carrier.meet(self._made(many), self._made(few), every=every)

    def together(self, *tables: Table) -> Table:
        return self._carrier.together(*map(self._made, tables))

    def only(self, table: Table, *kinds: str) -> Table:
        return self._carrier.only(self._made(table), *kinds)

    def save(self, name: str, table: Table) -> Table:
        carrier = self._carrier
        if not isinstance(table, _Unsaved):
            return carrier.save(name, table)
        kinds = (*table.kinds, _CLOCK)
        saved = carrier.save(name, carrier.map(table.table, _Clocked(table.work, name, kinds), kinds))
        self._saved.append(saved)
        return carrier.only(saved, *table.kinds)

    def collect(self, table: Table, *kinds: str) -> tuple[list[Arrays1D], ...]:
        return self._carrier.collect(self._made(table), *kinds)

    def made(self, rows: Sequence[pa.RecordBatch], kinds: Sequence[str]) -> Table:
        return self._carrier.made(rows, kinds)

    def share(self, name: str, arrays: Arrays1D) -> Shared:
        return self._carrier.share(name, arrays)

    def figures(self) -> dict[str, StageFigures]:
        """What each stage took, by its name."""
        carrier = self._carrier
        if not self._saved:
            return {}
        (clocks,) = carrier.collect(carrier.together(*(carrier.only(each, _CLOCK) for each in self._saved)), _CLOCK)
        seconds, brought = defaultdict[str, list[float]](list), defaultdict[str, list[int]](list)
        for clock in clocks:
            name = clock["name"].tobytes().decode()
            seconds[name].append(float(clock["seconds"][0]))
            brought[name].append(int(clock["bytes"][0]))
        return {
            name: StageFigures(
                len(each), round(sum(each), 3), round(max(each), 3), sum(brought[name]), max(brought[name])
            )
            for name, each in seconds.items()
        }
