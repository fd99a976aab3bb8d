"""The fourth stage: stored rows that are compared go to the tasks that need them; the audit looks at all of them.

    rows, requests ──┬─▶ rows        (item, its row, whether it is of a giant bucket) to each task that asked for it
                     ├─▶ giant_rows  the same of the items of giant buckets, to the task of their block
                     └─▶ audited     (sampled item, item that matches it)

The rows of a chunk stand beside the requests for it, so nothing but what is compared is moved.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from lookalike.config import Config
from lookalike.engines.packed.audit_sample import RunningAudit
from lookalike.engines.packed.blobs import Arrays1D, BatchWriter, by_number, read_kinds
from lookalike.engines.packed.block_stage import block_of
from lookalike.engines.packed.numbering import Numbering
from lookalike.recipe import Recipe
from lookalike.types import I64Array, U64Array
from lookalike.verify.verifier import HeldRows

__all__ = ["KINDS", "ShipStage", "read_groups", "read_rows", "unpack_rows"]

KINDS = ("rows", "giant_rows", "audited")
# Bytes of rows that are collected before they are sent.
_COLLECTED = 1 << 22


@dataclass(slots=True)
class _Outgoing:
    """Rows that wait to be sent, by kind and task."""

    waiting: dict[tuple[str, int], list[Arrays1D]] = field(default_factory=dict)
    size: int = 0

    def add(self, kind: str, task: int, arrays: Arrays1D) -> None:
        self.waiting.setdefault((kind, task), []).append(arrays)
        self.size += arrays["words"].nbytes + arrays["items"].nbytes

    def send(self, out: BatchWriter) -> None:
        """Everything that waits, one blob for each task."""
        for (kind, task), parts in self.waiting.items():
            out.add(kind, task, {name: np.concatenate([part[name] for part in parts]) for name in parts[0]})
        self.waiting, self.size = {}, 0


@dataclass(frozen=True)
class ShipStage:
    """What a task does with chunks and the requests for them; `audit` is the state of the sample, if there is one.

    Giants, which task `parts` asked for, are in so many `blocks`.
    """

    recipe: Recipe
    config: Config
    parts: int
    blocks: int
    numbering: Numbering
    audit: Arrays1D | None = None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        out, outgoing = BatchWriter(KINDS), _Outgoing()
        audit = None if self.audit is None else RunningAudit(self.audit, self.numbering, self.recipe, self.config)
        for _, found in read_kinds(batches, ["rows", "requests"]):
            if "rows" not in found:
                continue
            items, rows = unpack_rows(found["rows"])
            groups = found["rows"].get("groups")
            if "requests" in found:
                self._take(items, rows, groups, found["requests"], outgoing)
            if audit is not None:
                audit.look_at(items, rows, groups)
            if outgoing.size >= _COLLECTED:
                outgoing.send(out)
            yield from out.full()
        outgoing.send(out)
        for arrays in audit.found() if audit is not None else ():
            out.add("audited", 0, arrays)
        yield from out.rest()

    def _take(
        self, items: I64Array, rows: HeldRows, groups: U64Array | None, asked: Arrays1D, outgoing: _Outgoing
    ) -> None:
        """The rows that were asked for, by task."""
        inside = (asked["items"] >= items[0]) & (asked["items"] <= items[-1])
        wanted, tasks = asked["items"][inside], asked["tasks"][inside].astype(np.int64)
        of_giants = tasks == self.parts
        giants = wanted[of_giants]
        tasks = np.where(of_giants, self.parts + block_of(wanted, self.numbering, self.blocks), tasks)
        for task, some in by_number(tasks):
            mine = wanted[some]
            offsets, words = rows.gather(mine - items[0])
            sizes = np.diff(offsets).astype(np.uint32)
            giant = np.isin(mine, giants).astype(np.uint8)
            arrays: Arrays1D = {"items": mine, "sizes": sizes, "words": words, "giant": giant}
            arrays = arrays if groups is None else arrays | {"groups": groups[mine - items[0]]}
            if task < self.parts:
                outgoing.add("rows", task, arrays)
            else:
                outgoing.add("giant_rows", task - self.parts, arrays)


def unpack_rows(blob: Arrays1D) -> tuple[I64Array, HeldRows]:
    """(items, their rows) of a blob of the first stage."""
    sizes = blob["sizes"].astype(np.int64)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return blob["base"][0] + np.arange(len(sizes)), HeldRows(offsets, blob["words"])


def read_groups(found: list[Arrays1D], items: I64Array) -> U64Array:
    """The groups of items, which ascend, where the blobs that were sent have any; else all are of one."""
    groups = np.zeros(len(items), np.uint64)
    for blob in found:
        if "groups" in blob:
            groups[np.searchsorted(items, blob["items"])] = blob["groups"]
    return groups


def read_rows(found: list[Arrays1D]) -> tuple[I64Array, HeldRows, I64Array]:
    """(items, their rows, which are of giant buckets) of the blobs that a task was sent; items ascend, each once."""
    items = np.concatenate([np.empty(0, np.int64), *(blob["items"] for blob in found)])
    sizes = np.concatenate([np.empty(0, np.int64), *(blob["sizes"].astype(np.int64) for blob in found)])
    words = np.concatenate([np.empty(0, np.uint64), *(blob["words"] for blob in found)])
    giant = np.concatenate([np.empty(0, np.uint8), *(blob["giant"] for blob in found)])
    found.clear()
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    items, first = np.unique(items, return_index=True)
    lengths = sizes[first]
    ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    words = words[np.repeat(offsets[first] - ends[:-1], lengths) + np.arange(ends[-1])]
    return items, HeldRows(ends, words), giant[first]
