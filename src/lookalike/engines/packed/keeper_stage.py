"""Which item stands for which: a task has all edges of some components, and chooses keepers as the local engine does.

edges ── walk in keep order ──▶ keepers  (removed leader, kept leader, the best copy of that, similarity)
keepers, copies ──────────────▶ removed  (item, item that is kept in its place, similarity)
removed ── by kept item ──────▶ members  of clusters, by the first item of each
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lookalike.cluster.components import components
from lookalike.cluster.representative import representatives
from lookalike.engines.packed.blobs import Arrays1D, BatchWriter, blobs, by_number, of_one_task
from lookalike.engines.packed.numbering import Numbering, part_of_item
from lookalike.engines.packed.order_stage import in_keep_order
from lookalike.engines.packed.tallies import Tallies
from lookalike.types import I64Array

__all__ = [
    "KEEPERS",
    "MEMBERS",
    "REMOVED",
    "ClusterStage",
    "KeeperPairs",
    "KeeperStage",
    "NumberClusters",
    "RemovedStage",
    "SimilarStage",
]

KEEPERS = ("keepers",)
REMOVED = ("removed", "counts")
MEMBERS = ("members", "counts")


@dataclass(frozen=True)
class KeeperStage:
    """Chooses keepers; with `connected`, one for each component. Similarities of these are not known yet."""

    parts: int
    connected: bool

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        _, found = of_one_task(batches, ["edges"])
        out = BatchWriter(KEEPERS)
        if found["edges"]:
            edges = {name: np.concatenate([blob[name] for blob in found["edges"]]) for name in found["edges"][0]}
            leaders, best, sizes, one, other = _in_keep_order(edges)
            earlier, later = np.minimum(one, other), np.maximum(one, other)
            if self.connected:
                keeper = components(len(leaders), [(earlier, later)])
                similarity = np.full(len(leaders), np.nan)
            else:
                order = np.lexsort((earlier, later))
                walked = earlier[order], later[order], edges["similarity"][order]
                keeper, similarity = representatives(len(leaders), [walked])
            removed = np.flatnonzero(keeper != np.arange(len(leaders)))
            kept = keeper[removed]
            chosen: Arrays1D = {"leaders": leaders[removed], "kept": leaders[kept], "best": best[kept]}
            chosen |= {"similarity": similarity[removed]}
            if sizes is not None:
                chosen["contains"] = (sizes[removed] > sizes[kept]).astype(np.uint8)
            self._add(chosen, out)
        yield from out.rest()

    def _add(self, chosen: Arrays1D, out: BatchWriter) -> None:
        """To the task of the leader; where similarities are to be looked up, to that of the smaller of both."""
        by = np.minimum(chosen["leaders"], chosen["kept"]) if self.connected else chosen["leaders"]
        for each, mine in by_number(part_of_item(by, self.parts)):
            out.add("keepers", each, {name: array[mine] for name, array in chosen.items()})


def _in_keep_order(edges: Arrays1D) -> tuple[I64Array, I64Array, I64Array | None, I64Array, I64Array]:
    """(leaders in keep order, the best copy and size of each, both ends of each edge by their places in that order)."""
    both = np.concatenate([edges["left"], edges["right"]])
    leaders, first, back = np.unique(both, return_index=True, return_inverse=True)

    def of_leaders(name: str) -> I64Array | None:
        if f"left_{name}" not in edges:
            return None
        found: I64Array = np.concatenate([edges[f"left_{name}"], edges[f"right_{name}"]])[first]
        return found

    best, keys, sizes = of_leaders("best"), of_leaders("key"), of_leaders("size")
    best = leaders if best is None else best
    order = in_keep_order(best, keys, sizes)
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    one, other = place[back].reshape(2, -1)
    return leaders[order], best[order], None if sizes is None else sizes[order], one, other


@dataclass(frozen=True)
class KeeperPairs:
    """Removed leaders and their keepers as pairs to compare."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        out = BatchWriter(("pairs", "giants"))
        for task, blob in blobs(batches, "keepers"):
            left, right = np.minimum(blob["leaders"], blob["kept"]), np.maximum(blob["leaders"], blob["kept"])
            none = {"hits": np.zeros(len(left), np.uint16), "bands": np.empty(0, np.uint16)}
            out.add("pairs", task, {"left": left, "right": right, "first": left} | none)
            yield from out.full()
        yield from out.rest()


@dataclass(frozen=True)
class SimilarStage:
    """Puts the similarities of keepers beside them; matches of both are here."""

    parts: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        _, found = of_one_task(batches, ["keepers", "matches"])
        out = BatchWriter(KEEPERS)
        if found["keepers"]:
            pairs = {
                name: np.concatenate([blob[name] for blob in found["matches"]])
                for name in ("left", "right", "similarity")
            }
            known = {
                (left, right): similarity
                for left, right, similarity in zip(*(pairs[name].tolist() for name in pairs), strict=True)
            }
            for blob in found["keepers"]:
                a, b = np.minimum(blob["leaders"], blob["kept"]), np.maximum(blob["leaders"], blob["kept"])
                similarity = np.array([known[pair] for pair in zip(a.tolist(), b.tolist(), strict=True)])
                whole = blob | {"similarity": similarity}
                for each, mine in by_number(part_of_item(blob["leaders"], self.parts)):
                    out.add("keepers", each, {name: array[mine] for name, array in whole.items()})
        yield from out.rest()


@dataclass(frozen=True)
class RemovedStage:
    """All items that go, each with the one that stays for it: copies of what goes, and all copies but the best.

    Where a pair has a direction, it is told of each whether it contains what it goes for, as it can a reference.
    """

    parts: int
    identical: float
    directed: bool

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        _, found = of_one_task(batches, ["keepers", "copies"])
        out, tallies = BatchWriter(REMOVED), Tallies()
        none, zero = np.empty(0, np.int64), np.empty(0, np.float64)
        leaders = np.concatenate([none, *(blob["leaders"] for blob in found["keepers"])])
        kept = np.concatenate([none, *(blob["best"] for blob in found["keepers"])])
        similarity = np.concatenate([zero, *(blob["similarity"] for blob in found["keepers"])])
        # Nothing contains its keeper but where a pair has a direction.
        contains = np.concatenate(
            [
                np.empty(0, np.uint8),
                *(b.get("contains", np.zeros(len(b["leaders"]), np.uint8)) for b in found["keepers"]),
            ]
        )
        order = np.argsort(leaders)
        leaders, kept, similarity, contains = leaders[order], kept[order], similarity[order], contains[order]
        led, items, best = (
            np.concatenate([none, *(blob[name] for blob in found["copies"])]) for name in ("leaders", "items", "best")
        )
        alone = ~np.isin(leaders, led)
        at = np.minimum(np.searchsorted(leaders, led), max(0, len(leaders) - 1))
        goes = leaders[at] == led if len(leaders) else np.zeros(len(led), np.bool_)
        copies = np.flatnonzero(goes | (items != best))
        at, goes = at[copies], goes[copies]
        where = np.where(goes, kept[at], best[copies]) if len(leaders) else best[copies]
        alike = np.where(goes, similarity[at], self.identical) if len(leaders) else np.full(len(copies), self.identical)
        larger = np.where(goes, contains[at], 0) if len(leaders) else np.zeros(len(copies))
        larger = np.concatenate([contains[alone], larger]).astype(np.uint8)
        items = np.concatenate([leaders[alone], items[copies]])
        where = np.concatenate([kept[alone], where])
        alike = np.concatenate([similarity[alone], alike])
        own = items >= 0
        tallies.add("removed", int(own.sum()))
        tallies.add("removed_against", int((where[own] < 0).sum()))
        for each, mine in by_number(part_of_item(where, self.parts)):
            arrays: Arrays1D = {"items": items[mine], "kept": where[mine], "similarity": alike[mine]}
            out.add("removed", each, arrays | {"contains": larger[mine]} if self.directed else arrays)
            yield from out.full()
        out.add("counts", 0, tallies.packed())
        yield from out.rest()


@dataclass(frozen=True)
class ClusterStage:
    """The members of each cluster, with its size and its first item, to the task that has clusters about there."""

    parts: int
    numbering: Numbering
    identical: float

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        _, found = of_one_task(batches, ["removed"])
        out = BatchWriter(MEMBERS)
        if found["removed"]:
            items, kept, similarity = (
                np.concatenate([blob[name] for blob in found["removed"]]) for name in ("items", "kept", "similarity")
            )
            keepers = np.unique(kept)
            items, kept = np.concatenate([items, keepers]), np.concatenate([kept, keepers])
            similarity = np.concatenate([similarity, np.full(len(keepers), self.identical)])
            at = np.searchsorted(keepers, kept)
            first = keepers.copy()
            np.minimum.at(first, at, items)
            size = np.bincount(at, minlength=len(keepers))
            # Of clusters without an item of the run nobody asks.
            with_own = np.zeros(len(keepers), np.bool_)
            with_own[at[items >= 0]] = True
            asked = with_own[at]
            items, kept, similarity, at = items[asked], kept[asked], similarity[asked], at[asked]
            # By their first items, so that tasks, one after another, have clusters in that order.
            place = self.numbering.places(first) * self.parts // max(1, self.numbering.total)
            for each, mine in by_number(place[at]):
                arrays: Arrays1D = {"first": first[at[mine]], "size": size[at[mine]], "items": items[mine]}
                out.add("members", each, arrays | {"kept": kept[mine], "similarity": similarity[mine]})
        yield from out.rest()


@dataclass(frozen=True)
class NumberClusters:
    """Numbers the clusters of a task by their first items, from 0, and counts them."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        task, found = of_one_task(batches, ["members"])
        out, tallies = BatchWriter(MEMBERS), Tallies()
        if task is not None and found["members"]:
            names = list(found["members"][0])
            whole = {name: np.concatenate([blob[name] for blob in found["members"]]) for name in names}
            order = np.lexsort((whole["items"], whole["first"]))
            whole = {name: array[order] for name, array in whole.items()}
            clusters, number = np.unique(whole["first"], return_inverse=True)
            out.add("members", task, whole | {"cluster": number.reshape(-1).astype(np.int64)})
            tallies.add(f"clusters {task}", len(clusters))
            tallies.add("clusters", len(clusters))
            tallies.largest("cluster", int(whole["size"].max()))
            sizes = np.bincount(number.reshape(-1))
            for klass, mine in by_number(np.ceil(np.log2(sizes)).astype(np.int64)):
                tallies.add(f"class {klass}", len(mine))
                tallies.add(f"items of class {klass}", int(sizes[mine].sum()))
        out.add("counts", 0, tallies.packed())
        yield from out.rest()
