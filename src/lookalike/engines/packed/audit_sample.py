"""The audit where many tasks see the items: the sample goes to all of them, and what they find is put together.

Which items are in the sample depends on their places among all items and on how many have elements, as in the local
engine (`certify/audit.py`): so it is known before any of them is looked at, and so small that every task can have it.

Of a sampled item with many matches only the first count, and a task looks for no more once it has so many. That is
sound as long as its items come in order; where they do not, it begins anew (`RunningAudit`), as if it was another task.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from lookalike.certify.audit import LONGEST, Audit, Audited, auditable
from lookalike.certify.overlap_audit import OverlapAudit
from lookalike.certify.ranks import ranks_of
from lookalike.certify.row_audit import RowAudit
from lookalike.config import Config
from lookalike.engines.evidence import ROW_SHARE
from lookalike.engines.packed.blobs import Arrays1D
from lookalike.engines.packed.numbering import Numbering
from lookalike.key import sketch_seed
from lookalike.measure_table import AuditKind
from lookalike.measures import measure_of
from lookalike.recipe import Recipe
from lookalike.types import BoolArray, I64Array, Sets, U64Array
from lookalike.verify.verifier import HeldRows

__all__ = ["Draw", "RunningAudit", "audited_of", "sample_state"]

_MOST = 250
_BLOCK = 1 << 22
# Items that are looked at for each that may be in the sample, so that one look is enough.
_SPARE = 2


@dataclass(frozen=True)
class Draw:
    """Which items may be in the sample, as far as that is known before their elements are: those of small ranks."""

    numbering: Numbering
    seed: int
    halvings: int

    @classmethod
    def of(cls, config: Config, recipe: Recipe, numbering: Numbering) -> Draw:
        """Items without elements make the sample larger, and are not known yet: then more are looked up later."""
        return cls(numbering, sketch_seed(config.seed), _halvings(numbering.total, _sample_size(config, recipe)))

    def drawn(self, numbers: I64Array) -> BoolArray:
        """Which of these items."""
        drawn: BoolArray = ranks_of(self.numbering.places(numbers), self.seed) <= _limit(self.halvings)
        return drawn

    def covers(self, places: I64Array) -> bool:
        """Whether the items in all of these places were drawn."""
        return bool((ranks_of(places, self.seed) <= _limit(self.halvings)).all())


def _sample_size(config: Config, recipe: Recipe) -> int:
    indexed = recipe.traits.audit is AuditKind.INDEX
    return config.audit if indexed else max(1, config.audit // ROW_SHARE)


def _halvings(items: int, sample: int) -> int:
    """How often so many items are halved before the sample is drawn from them."""
    return max(0, int(np.floor(np.log2(max(1, items) / (_SPARE * 2 * sample)))))


def _limit(halvings: int) -> np.uint64:
    return np.uint64((2**64 - 1) >> halvings)


def _ranked(total: int, seed: int, limit: np.uint64) -> Iterator[tuple[I64Array, U64Array]]:
    """(places, ranks) of the items whose rank is not above the limit, some at a time."""
    for begin in range(0, total, _BLOCK):
        places = np.arange(begin, min(total, begin + _BLOCK), dtype=np.int64)
        ranks = ranks_of(places, seed)
        inside = ranks <= limit
        yield places[inside], ranks[inside]


def sample_state(
    config: Config,
    recipe: Recipe,
    total: int,
    full: int,
    rows_of: Callable[[I64Array], tuple[I64Array, HeldRows, U64Array]],
    references: int = 0,
    compared: int | None = None,
) -> Arrays1D:
    """The sample of so many items, of which so many have elements, as `RunningAudit` takes it.

    The first so many are references, and of the others so many have elements.

    `rows_of` gives the rows of the items in some places: those of them that there are, ascending, their rows, and
    their groups.
    """
    indexed, compared = recipe.traits.audit is AuditKind.INDEX, full if compared is None else compared
    sample = _sample_size(config, recipe)
    seed, most, halvings = sketch_seed(config.seed), 2 * sample, _halvings(full, sample)
    while True:
        found = list(_ranked(total, seed, _limit(halvings)))
        places = np.concatenate([np.empty(0, np.int64), *(each[0] for each in found)])
        ranks = np.concatenate([np.empty(0, np.uint64), *(each[1] for each in found)])
        items, rows, groups = rows_of(places)
        sizes = np.diff(rows.offsets)
        audited = (sizes > 0) & (sizes <= LONGEST) if indexed else sizes > 0
        inside = ranks[np.searchsorted(places, items)]
        if halvings and int(audited.sum()) <= most:
            # Rarer ranks than there should be: the sample is larger.
            halvings -= 1
            continue
        while int((audited & (inside <= _limit(halvings))).sum()) > most:
            halvings += 1
        chosen = np.flatnonzero(audited & (inside <= _limit(halvings)))
        offsets, values = rows.gather(chosen)
        longest = int(np.diff(offsets).max(initial=0))
        return {
            "halvings": np.array([halvings], np.int64),
            "seed": np.array([seed], np.uint64),
            "seen": np.array([full, total - full, compared], np.int64),
            "items": items[chosen],
            "ranks": inside[chosen],
            "groups": groups[chosen],
            "matches": np.zeros(len(chosen), np.int64),
            "offsets": offsets,
            "left": np.empty(0, np.int64),
            "right": np.empty(0, np.int64),
            # By their index, sets are found in another way than rows are.
            "threshold": np.array([config.threshold]),
            "settings": np.array([sample, references, _MOST, total, halvings, longest], np.int64),
            "values": values,
            "similarities": np.empty(0, np.float64),
            "numbers": np.array([sample, references, _MOST, halvings, full, compared, total - full], np.int64),
            "words": values,
            "scores": np.empty(0, np.float64),
        }


class RunningAudit:
    """The sample as one task has it."""

    def __init__(self, state: Arrays1D, numbering: Numbering, recipe: Recipe, config: Config) -> None:
        self._state, self._numbering = state, numbering
        self._kind = recipe.traits.audit
        self._judge = measure_of(recipe).judge(config)
        self._audit = self._made()
        self._last = -1
        self._found: list[Arrays1D] = []

    def _made(self) -> Audit | RowAudit:
        if self._kind is AuditKind.INDEX:
            return Audit.from_state(self._state)
        assert self._judge is not None
        kind = OverlapAudit if self._kind is AuditKind.OVERLAP else RowAudit
        return kind.from_state(self._judge, self._state)

    def look_at(self, items: I64Array, rows: HeldRows, groups: U64Array | None = None) -> None:
        """Compare the rows of consecutive items with the sample, as far as they are of the same groups."""
        first = int(self._numbering.places(items[:1])[0])
        if first <= self._last:
            self._end()
            self._audit = self._made()
        self._last = first
        if isinstance(self._audit, RowAudit):
            self._audit.probe(first, rows.offsets, rows.words, groups)
            return
        sets, _ = auditable(Sets(rows.offsets, rows.words, np.zeros((len(items), 2), np.uint64)))
        self._audit.note([self._audit.probe([(first, sets)])])

    def _end(self) -> None:
        state = self._audit.state()
        found = {name: state[name] for name in ("matches", "left", "right")}
        self._found.append(found | {"similarities": state["similarities" if "similarities" in state else "scores"]})

    def found(self) -> list[Arrays1D]:
        """What was found, for `audited_of`."""
        self._end()
        found, self._found = self._found, []
        return found


def audited_of(state: Arrays1D, found: Sequence[Arrays1D]) -> Audited:
    """What all tasks found together: of each sampled item the first matches."""
    sample, matches = state["items"], np.sum([state["matches"], *(each["matches"] for each in found)], axis=0)
    left, right, similarities = (
        np.concatenate([state[name], *(each[name] for each in found)]) for name in ("left", "right", "similarities")
    )
    order = np.lexsort((right, left))
    left, right, similarities = left[order], right[order], similarities[order]
    first = np.arange(len(left)) - np.searchsorted(left, left) < _MOST
    seen, empty, compared = state["seen"].tolist()
    return Audited(
        items=sample,
        left=left[first],
        right=right[first],
        similarities=similarities[first],
        full=int((matches > _MOST).sum()),
        rate=0.5 ** int(state["halvings"][0]),
        seen=seen,
        compared=compared,
        empty=empty,
    )
