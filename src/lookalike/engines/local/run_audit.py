"""The audit of a run, whatever its measure: by an index where items are sets, row by row where they are not."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookalike.certify.audit import Audit, Audited, ProbeMatches
from lookalike.certify.overlap_audit import OverlapAudit
from lookalike.certify.row_audit import RowAudit
from lookalike.config import Config
from lookalike.key import sketch_seed
from lookalike.measure_table import AuditKind
from lookalike.measures import Judge, Measure
from lookalike.types import Dense, Sets

__all__ = ["Auditing"]

# A set of more elements would fill the sample alone.
_LONGEST = 1 << 20
# Without an index every sampled item is compared with every other: this much fewer of them take as long.
_ROW_SHARE = 4


class Auditing:
    """A random sample of items, compared exactly with all later ones while they pass by.

    Sets are compared by several threads, some batches at a time: those of them that belong to the sample join it first,
    while no thread looks into it.
    """

    def __init__(self, config: Config, measure: Measure, probe_from: int) -> None:
        self._threads = config.threads
        self._pool: ThreadPoolExecutor | None = None
        self._waiting: list[tuple[int, Sets]] = []
        self._probing: list[Future[ProbeMatches]] = []
        judge = measure.judge(replace(config, verify="exact"))
        assert judge is not None
        judge = judge.plain()
        self._judge: Judge = judge
        self._audit: Audit | RowAudit
        kind = measure.recipe.traits.audit
        self._rows = OverlapAudit if kind is AuditKind.OVERLAP else RowAudit
        if kind is AuditKind.INDEX:
            self._audit = Audit(
                config.threshold, sample=config.audit, seed=sketch_seed(config.seed), probe_from=probe_from
            )
        else:
            self._audit = self._rows(judge, max(1, config.audit // _ROW_SHARE), sketch_seed(config.seed), probe_from)

    def add(self, first: int, items: Sets | Dense) -> int:
        """Let the items first, first + 1, … pass by; how many of them are too large to be looked at."""
        if isinstance(self._audit, Audit):
            assert isinstance(items, Sets)
            items, left_out = _auditable(items)
            self._waiting.append((first, items))
            # Half a round is begun if the one before is through: to wait for that would hold up all that passes by.
            through = all(probing.done() for probing in self._probing)
            if len(self._waiting) >= ((self._threads + 1) // 2 if through else self._threads):
                self._next_round(self._audit)
            return left_out
        left_out = 0
        if isinstance(items, Sets) and items.weights is None:
            items, left_out = _auditable(items)
        groups = items.groups if isinstance(items, Dense) else None
        self._audit.add(first, *self._judge.rows(items), groups)
        return left_out

    def _next_round(self, audit: Audit) -> None:
        """Note what was found, let those that wait join the sample, and begin to compare them with it."""
        if self._probing:
            audit.note([probing.result() for probing in self._probing])
        waiting, self._waiting, self._probing = self._waiting, [], []
        if self._threads == 1:
            for first, sets in waiting:
                audit.add(first, sets)
            return
        if waiting:
            audit.make_ready(waiting)
        for first, sets in waiting:
            audit.enter(first, sets)
        if waiting and self._pool is None:
            self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="lookalike-audit")
        if self._pool is not None:
            self._probing = [self._pool.submit(audit.probe, first, sets) for first, sets in waiting]

    def _catch_up(self) -> None:
        """Compare all that passed by."""
        while isinstance(self._audit, Audit) and (self._waiting or self._probing):
            self._next_round(self._audit)

    def close(self) -> None:
        """Let the threads go."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None

    def probe_from(self, item: int) -> None:
        """From this item on, items are compared with the sample."""
        self._catch_up()
        self._audit.probe_from = item

    def finish(self) -> Audited:
        """What was found so far."""
        self._catch_up()
        self.close()
        return self._audit.finish()

    def state(self) -> dict[str, NDArray[Any]]:
        """Everything that `restore` needs to go on from here."""
        self._catch_up()
        return self._audit.state()

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Be as when the state was taken."""
        if isinstance(self._audit, Audit):
            self._audit = Audit.from_state(state)
        else:
            self._audit = self._rows.from_state(self._judge, state)


def _auditable(sets: Sets) -> tuple[Sets, int]:
    """The sets that the audit sees, and how many are left out: one of millions of elements would fill it."""
    long = sets.sizes > _LONGEST
    if not long.any():
        return sets, 0
    sizes = np.where(long, 0, sets.sizes)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    values = sets.values[np.repeat(~long, sets.sizes)]
    return replace(sets, offsets=offsets, values=values), int(long.sum())
