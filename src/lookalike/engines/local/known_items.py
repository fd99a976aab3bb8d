"""Items that are known from before and kept prepared, such as those of an index: probed, never read as a whole.

While a new item passes by in the first pass, what knows the others is asked for the one that it is most like. Only the
best match matters: whether an item is removed does not depend on the others, and it is removed for the best one.

    first pass       place and score of the best known item, beside the sketch of each item that has one
    clustering       items that have one are removed for it, unless a new item that is kept is more like them
    afterwards       the known items that were met become references, as those of another collection are

During the run there are no references. They are numbered when all of them are known, before the run's own items, as
those of a collection are: so what comes after, tables and reports, need not tell the two apart.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from lookalike.certify.audit import Audited
from lookalike.certify.sampled import SampledPairs
from lookalike.collide.fold import Folds
from lookalike.config import Config
from lookalike.engines.local.store.matches import Matches
from lookalike.measures.sketch_batch import ItemSketches
from lookalike.recipe import Recipe
from lookalike.types import F64Array, I64Array, U32Array

if TYPE_CHECKING:
    from lookalike.engines.local.cluster_matches import Clustering

__all__ = [
    "KnownAudit",
    "KnownItems",
    "MetItems",
    "Probed",
    "audited_after",
    "met_items",
    "own_folds",
    "with_references",
]

_LEVEL = 0.95


class Probed(NamedTuple):
    """The best known item of each new one: places, and scores, NaN for one that is like none.

    `audited` has a row for each item that was compared with all known ones: its number, how many match, and how many
    of those were found.
    """

    places: I64Array
    scores: F64Array
    audited: I64Array


class KnownItems(Protocol):
    """What an engine needs of items that are known from before."""

    @property
    def name(self) -> str:
        """What people call it."""
        ...

    @property
    def grows(self) -> bool:
        """Whether the new items that are kept will be among them."""
        ...

    @property
    def replaced(self) -> int | None:
        """How many of its items are replaced by new ones of the same id; None where none may be."""
        ...

    @property
    def recipe(self) -> Recipe:
        """How its items became sketches."""
        ...

    def __len__(self) -> int:
        """How many items it has."""
        ...

    def prepare(self, config: Config, rows: int) -> None:
        """Be ready for about so many items that are compared by these options."""
        ...

    def probe(self, found: ItemSketches, numbers: I64Array) -> Probed:
        """The best match of each item of a batch; `numbers` tell the items of all batches apart."""
        ...

    def ids(self, places: I64Array) -> pa.Array:
        """The ids of the items at some places."""
        ...

    def sizes(self, places: I64Array) -> I64Array:
        """How many elements they have."""
        ...

    def describe(self) -> dict[str, Any]:
        """What tells whether it is as it was."""
        ...


@dataclass(frozen=True, slots=True)
class KnownAudit:
    """New items that were compared with all known ones: number, matches, and how many of these the look-up found."""

    rows: I64Array
    # How many items there were to choose from.
    items: int

    def as_dict(self) -> dict[str, Any]:
        """What it says of the recall."""
        totals, found = self.rows[:, 1], self.rows[:, 2]
        having = totals > 0
        rate = len(self.rows) / max(1, self.items)
        pairs = SampledPairs(totals[having].astype(np.float64), (totals - found)[having].astype(np.float64), rate)
        low, high = pairs.limits(_LEVEL)
        return {
            "sampled": len(self.rows),
            "of": self.items,
            "pairs": int(totals.sum()),
            "found": int(found.sum()),
            "recall": None if pairs.share is None else 1.0 - pairs.share,
            "low": 1.0 - high,
            "high": 1.0 - low,
        }


@dataclass(frozen=True, slots=True)
class MetItems:
    """The known items that a run met: their places, ascending; and the leaders of folds that each is the best of.

    `leaders[i]` matches the known item number `numbers[i]` with `scores[i]`.
    """

    places: I64Array
    leaders: I64Array
    numbers: I64Array
    scores: F64Array

    def __len__(self) -> int:
        return len(self.places)

    def outside(self, items: int) -> tuple[I64Array, U32Array, F64Array]:
        """For clustering: known items have the numbers from `items` on."""
        return self.leaders, (self.numbers + items).astype(np.uint32), self.scores


def met_items(folds: Folds, places: I64Array, scores: F64Array) -> MetItems:
    """From the best known item of each item to that of each leader: copies are the same, whichever was audited."""
    hit = np.flatnonzero(~np.isnan(scores))
    leaders = folds.leader[hit].astype(np.int64)
    order = np.lexsort((places[hit], -scores[hit], leaders))
    leaders = leaders[order]
    first = np.ones(len(leaders), np.bool_)
    first[1:] = leaders[1:] != leaders[:-1]
    best = hit[order[first]]
    met, numbers = np.unique(places[best], return_inverse=True)
    return MetItems(met, leaders[first], numbers.astype(np.int64), scores[best])


def own_folds(folds: Folds) -> Folds:
    """The folds of the run's own items, under the numbers that they had during the run."""
    return Folds((folds.leader[folds.references :] - np.uint32(folds.references)).astype(np.uint32))


class Numbered(NamedTuple):
    """What a run found, under numbers that begin with those of the references."""

    folds: Folds
    matches: Matches
    clustering: Clustering
    # Pairs of a new item and a known one.
    pairs: int


def with_references(
    met: MetItems, folds: Folds, matches: Matches, clustering: Clustering, identical: float
) -> Numbered:
    """Put the known items before the run's own, and the matches with them among the others."""
    more, items = len(met), len(folds.leader)
    leader = np.concatenate([np.arange(more), folds.leader.astype(np.int64) + more]).astype(np.uint32)
    moved = matches.another()
    moved.add(met.numbers, met.leaders + more, met.scores)
    for left, right, scores in matches.stretches():
        moved.add(left + more, right + more, scores)
    own = clustering.keeper.astype(np.int64)
    own = np.where(own >= items, own - items, own + more)
    keeper = np.concatenate([np.arange(more), own]).astype(np.uint32)
    similarity = np.concatenate([np.full(more, identical), clustering.similarity])
    return Numbered(
        Folds(leader, more), moved, replace(clustering, keeper=keeper, similarity=similarity),
        int(folds.sizes[met.leaders].sum()),
    )  # fmt: skip


def audited_after(audited: Audited | None, references: int) -> Audited | None:
    """The same under numbers that begin after those of the references."""
    if audited is None or not references:
        return audited
    return replace(
        audited, items=audited.items + references, left=audited.left + references, right=audited.right + references
    )
