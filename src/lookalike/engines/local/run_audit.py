"""The audit of a run, whatever its measure: by an index where items are sets, row by row where they are not."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from typing import Any

from numpy.typing import NDArray

from lookalike.certify.audit import Audit, Audited
from lookalike.certify.overlap_audit import OverlapAudit
from lookalike.certify.row_audit import RowAudit
from lookalike.config import Config
from lookalike.engines.evidence import ROW_SHARE
from lookalike.key import sketch_seed
from lookalike.measure_table import AuditKind
from lookalike.measures import Judge, Measure
from lookalike.types import Dense, Sets

__all__ = ["Auditing"]

# To audit a text takes a sixth of what it takes to read and sketch it, so one thread for so many batches is enough.
_BATCHES_EACH = 4


class Auditing:
    """A random sample of items, compared exactly with all later ones while they pass by.

    They are compared in rounds of some batches, by threads of its own, so that all else that passes by need not wait.
    Of sets those that belong to the sample join it first, while no thread looks into it; then several do, the more the
    more items have come to wait.
    """

    def __init__(self, config: Config, measure: Measure, probe_from: int) -> None:
        self._threads, self._most_late = config.threads, config.budget.audited_late
        self._pool: ThreadPoolExecutor | None = None
        self._waiting: list[tuple[int, Sets | Dense]] = []
        self._round: Future[None] | None = None
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
            self._audit = self._rows(judge, max(1, config.audit // ROW_SHARE), sketch_seed(config.seed), probe_from)

    def add(self, first: int, items: Sets | Dense) -> None:
        """Let the items first, first + 1, … pass by, as `auditable` gives them."""
        self._waiting.append((first, items))
        # While a round goes on more items wait, and so the next one has more threads: to wait for it would hold up all
        # that passes by, and is done only where they would take too much memory.
        many = len(self._waiting)
        if self._round is None or self._round.done():
            if many >= (self._threads + 1) // 2:
                self._next_round()
        elif many >= self._threads:
            late = sum(each.values.nbytes for _, each in self._waiting[self._threads :])
            if late >= self._most_late:
                self._next_round()

    def _next_round(self) -> None:
        """Begin to compare those that wait; raises what went wrong in the round before."""
        self._end_round()
        waiting, self._waiting = self._waiting, []
        if self._threads == 1:
            self._compare(waiting, None, 1)
            return
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="lookalike-audit")
        shares = min(self._threads, 1 + len(waiting) // _BATCHES_EACH)
        self._round = self._pool.submit(self._compare, waiting, self._pool, shares)

    def _compare(self, waiting: list[tuple[int, Sets | Dense]], pool: ThreadPoolExecutor | None, shares: int) -> None:
        """A round: items join the sample as far as they belong to it, and are compared with it, sets in some shares."""
        if isinstance(self._audit, Audit):
            sets = [(first, items) for first, items in waiting if isinstance(items, Sets)]
            self._audit.make_ready(sets)
            for first, each in sets:
                self._audit.enter(first, each)
            cuts = [len(sets) * share // shares for share in range(shares + 1)]
            mine, *others = [sets[begin:end] for begin, end in pairwise(cuts) if begin < end] or [[]]
            asked = [pool.submit(self._audit.probe, each) for each in others] if pool else []
            self._audit.note([self._audit.probe(mine), *(each.result() for each in asked)])
            return
        for first, items in waiting:
            groups = items.groups if isinstance(items, Dense) else None
            self._audit.add(first, *self._judge.rows(items), groups)

    def _end_round(self) -> None:
        if self._round is not None:
            ending, self._round = self._round, None
            ending.result()

    def _catch_up(self) -> None:
        """Compare all that passed by."""
        if self._waiting:
            self._next_round()
        self._end_round()

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
