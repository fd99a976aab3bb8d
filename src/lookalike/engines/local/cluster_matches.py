"""Which item stands for which, from verified matches, by the configured clustering and keep policy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from lookalike.cluster.components import components
from lookalike.cluster.keep import KeepPolicy, keep_order
from lookalike.cluster.representative import representatives
from lookalike.collide.fold import Folds
from lookalike.config import Config
from lookalike.engines.local.known_items import MetItems
from lookalike.engines.local.sketch_pass import Sketched
from lookalike.engines.local.store.matches import Matches
from lookalike.items.collection import Collection
from lookalike.scale import Scale
from lookalike.types import BoolArray, F64Array, I64Array, U32Array

__all__ = ["Clustering", "best_copies", "cluster", "in_keep_order", "keep_rank", "removed_across", "without_seldom"]


@dataclass(frozen=True, slots=True)
class Clustering:
    """keeper[i] is the item that stands for item i (itself if it is kept); similarity[i] how alike they are."""

    keeper: U32Array
    similarity: F64Array

    @property
    def kept(self) -> BoolArray:
        kept: BoolArray = self.keeper == np.arange(len(self.keeper), dtype=np.uint32)
        return kept

    @property
    def sizes(self) -> I64Array:
        """The number of items that each item stands for."""
        return np.bincount(self.keeper, minlength=len(self.keeper))


def cluster(
    config: Config,
    folds: Folds,
    rank: I64Array | None,
    matches: Matches,
    lead_again: Callable[[BoolArray], int],
    similarity_of: Callable[[I64Array, I64Array], F64Array],
    met: MetItems | None = None,
) -> Clustering:
    """Cluster the leaders of identical items, then everybody with them.

    The best copy of each item in keep order stands for it, and the items are walked in the order of their best copies.
    `lead_again` looks among the items that are kept for matches that were not looked for: how many there were. Known
    items that were `met` are kept in any case; as keepers they have the numbers after those of all items.
    """
    best = best_copies(folds, rank)
    order = rank if rank is None else rank[best]
    if config.cluster == "representative":
        keeper, similarity = _representative(folds, rank, order, matches, lead_again, met)
        if config.verify == "none":
            similarity = np.where(keeper == np.arange(len(keeper)), config.scale.identical, np.nan)
    else:
        keeper, similarity = _connected(len(best), order, matches, similarity_of)
    leader = folds.leader
    if met is not None:
        best = np.concatenate([best, len(best) + np.arange(len(met))])
    of_item = best[keeper[leader]]
    own = keeper[leader] == leader
    return Clustering(of_item.astype(np.uint32), np.where(own, config.scale.identical, similarity[leader]))


def without_seldom(clustering: Clustering, config: Config) -> tuple[Clustering, int]:
    """The same without clusters of fewer than `min_count` items, whose items all stay; how many would have gone."""
    sizes = clustering.sizes
    # Known items that are met stand behind all others: they count, though they do not stand for themselves.
    sizes[len(clustering.keeper) :] += 1
    few = sizes[clustering.keeper] < config.min_count
    seldom = few & ~clustering.kept
    if not seldom.any():
        return clustering, 0
    keeper = np.where(few, np.arange(len(few), dtype=np.uint32), clustering.keeper)
    similarity = np.where(few, config.scale.identical, clustering.similarity)
    return Clustering(keeper, similarity), int(seldom.sum())


def removed_across(config: Config, folds: Folds, matches: Matches) -> Clustering:
    """Own items go for the item of the other collection that they are most like, or stay; of equal ones the first."""
    references, items = folds.references, len(folds.leader)
    best, score = np.full(items, items, np.int64), np.full(items, -np.inf)
    for left, right, similarity in matches.stretches():
        # A leader that stands for references is one, since they come first.
        for other, mine in ((left, right), (right, left)):
            there = other < references
            item, new, told = mine[there], other[there], np.nan_to_num(similarity[there], nan=1.0)
            order = np.lexsort((new, -told, item))
            first = order[np.diff(item[order], prepend=-1) != 0]
            item, new, told = item[first], new[first], told[first]
            better = (told > score[item]) | ((told == score[item]) & (new < best[item]))
            best[item[better]], score[item[better]] = new[better], told[better]
    leader = folds.leader.astype(np.int64)
    same = leader < references
    keeper = np.where(same, leader, np.where(best[leader] < items, best[leader], np.arange(items)))
    unknown = config.verify == "none"
    similarity = np.where(same | (best[leader] == items), config.scale.identical, np.nan if unknown else score[leader])
    keeper[:references], similarity[:references] = np.arange(references), config.scale.identical
    return Clustering(keeper.astype(np.uint32), similarity)


def keep_rank(keep: KeepPolicy, collection: Collection, sketched: Sketched, scale: Scale) -> I64Array | None:
    """The place of every item in keep order, those that are compared against first; None is their own order.

    Where the smaller of two items is inside the larger one, it can only go for that: the larger ones come first, and
    keep decides among those of one size.
    """
    if keep.kind == "first" and not scale.is_directed:
        return None
    references = collection.references
    rank = np.arange(len(sketched.sketches))
    order = rank[: len(rank) - references]
    if keep.kind != "first":
        lengths = sketched.sketches.column("lengths")
        order = keep_order(keep, ties=sketched.item_rank(), lengths=lengths[references:], values=sketched.keep_values)
    if scale.is_directed:
        sizes = sketched.sketches.column("sizes")[references:].astype(np.int64)
        order = order[np.argsort(-sizes[order], kind="stable")]
    rank[order + references] = np.arange(references, len(rank))
    return rank


def best_copies(folds: Folds, rank: I64Array | None) -> I64Array:
    """For each leader the item among those it leads that comes first in keep order."""
    if rank is None:
        return np.arange(len(folds.leader))
    first = np.full(len(rank), len(rank), np.int64)
    np.minimum.at(first, folds.leader, rank)
    by_rank = np.empty(len(rank) + 1, np.int64)
    by_rank[rank] = np.arange(len(rank))
    # Items that are led by another lead nothing, and stand for themselves here.
    by_rank[len(rank)] = -1
    best = by_rank[first]
    return np.where(best < 0, np.arange(len(rank)), best)


def _representative(
    folds: Folds,
    rank: I64Array | None,
    order: I64Array | None,
    matches: Matches,
    lead_again: Callable[[BoolArray], int],
    met: MetItems | None,
) -> tuple[U32Array, F64Array]:
    """Greedy; the kept items of giant lists are examined again until none of them match.

    An item may have been attached to a leader that is itself removed, for another item, and is kept then although it
    was not compared with the rest of its list.
    """
    items, leader_at = len(folds.leader), None
    if rank is not None:
        leader_at = np.empty(items, np.uint32)
        leader_at[rank] = folds.leader
    outside = None if met is None else met.outside(items)
    while True:
        keeper, similarity = representatives(items, in_keep_order(matches, order, leader_at), outside)
        kept = keeper == np.arange(items, dtype=np.uint32)
        if not lead_again(kept):
            return keeper, similarity


def in_keep_order(
    matches: Matches, order: I64Array | None, item_at: U32Array | None
) -> Iterator[tuple[I64Array, I64Array, F64Array]]:
    """(earlier, later, score) of all matches, by later and earlier in keep order; what was not verified counts 1.

    `order` has the place of each item that matches, `item_at` the item of each such place; None is their own order.
    """
    walked = matches.another()
    for left, right, similarities in matches.stretches():
        first, second = (left, right) if order is None else (order[left], order[right])
        walked.add(np.maximum(first, second), np.minimum(first, second), np.nan_to_num(similarities, nan=1.0))
    for later, earlier, similarities in walked.stretches():
        if item_at is not None:
            later, earlier = item_at[later].astype(np.int64), item_at[earlier].astype(np.int64)
        yield earlier, later, similarities


def _connected(
    items: int, rank: I64Array | None, matches: Matches, similarity_of: Callable[[I64Array, I64Array], F64Array]
) -> tuple[U32Array, F64Array]:
    """Connected items; the best of each stays. Similarity to it is told even where it is below the threshold."""
    root = components(items, ((left, right) for left, right, _ in matches.stretches()))
    keeper = root
    if rank is not None:
        first = np.full(items, np.iinfo(np.int64).max, np.int64)
        np.minimum.at(first, root, rank)
        is_best = rank == first[root]
        by_root = np.zeros(items, np.uint32)
        by_root[root[is_best]] = np.flatnonzero(is_best)
        keeper = by_root[root]
    others = np.flatnonzero(keeper != np.arange(items, dtype=np.uint32))
    similarity = np.ones(items, np.float64)
    similarity[others] = similarity_of(others, keeper[others].astype(np.int64))
    return keeper, similarity
