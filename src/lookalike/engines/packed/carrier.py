"""What carries tables of packed rows (`blobs.py`) from stage to stage: all that an engine of many machines must bring.

A stage is a function from the record batches of one task to record batches. A carrier calls it in its tasks, brings
rows to the task whose number they have, and keeps what a stage made, so that nothing is made twice. Spark is one; files
and one process are another (`one_process.py`), by which stages are tested.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, TypeAlias

import pyarrow as pa

from lookalike.engines.packed.blobs import Arrays1D

__all__ = ["Carrier", "Shared", "StageWork", "Table"]

StageWork: TypeAlias = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
# A table is what its carrier makes of it; nobody else looks inside.
Table: TypeAlias = Any


class Shared(Protocol):
    """Arrays that every task can read; what is sent to tasks is where they are."""

    def read(self) -> Arrays1D:
        """The arrays, in a task."""
        ...


class Carrier(Protocol):
    """Carries tables of packed rows."""

    def map(self, table: Table, work: StageWork, kinds: Sequence[str]) -> Table:
        """What a stage makes of each part of a table: blobs of these kinds."""
        ...

    def exchange(self, table: Table, parts: int) -> Table:
        """The same rows in so many parts: those with p = i in part i."""
        ...

    def gather(self, table: Table) -> Table:
        """The same rows in one part, for one task, which reads all of a table that was saved."""
        ...

    def meet(self, many: Table, few: Table, *, every: bool) -> Table:
        """Rows of one table beside those of another with the same p, without moving the first if that can be.

        With `every`, rows of the first stay that have none beside them.
        """
        ...

    def together(self, *tables: Table) -> Table:
        """The rows of all tables, with the kinds of all of them."""
        ...

    def only(self, table: Table, *kinds: str) -> Table:
        """The rows that have a blob of these kinds, without those of others."""
        ...

    def save(self, name: str, table: Table) -> Table:
        """The same table, made once and kept; where it is there from before, it is not made again."""
        ...

    def collect(self, table: Table, *kinds: str) -> tuple[list[Arrays1D], ...]:
        """The blobs of each kind, of which there must be few; one list for each kind."""
        ...

    def made(self, rows: Sequence[pa.RecordBatch], kinds: Sequence[str]) -> Table:
        """A small table of these rows."""
        ...

    def share(self, name: str, arrays: Arrays1D) -> Shared:
        """Arrays that are too large to be sent with every task; they are kept once on each machine."""
        ...
