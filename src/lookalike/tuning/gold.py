"""What people say is the same, and how well a threshold agrees with them.

    precision    of the pairs that are found, the share that is true
    recall       of the true pairs, the share that is found
    F1           twice the true ones that are found, of the found and the true together

Intervals of precision and recall are exact ones of shares. That of F1 goes by how much each item adds to it (the delta
method): pairs of one item are not independent.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.certify.intervals import clopper_pearson
from lookalike.errors import InputError
from lookalike.tuning.proposals import STEPS
from lookalike.types import BoolArray, F64Array, I64Array
from lookalike.wording.messages import reason

__all__ = ["Agreement", "Gold", "agreements", "gold_of_labels", "read_gold"]

# Pairs of items with one label, all of which are held.
_MOST_PAIRS = 50_000_000


@dataclass(frozen=True)
class Gold:
    """True pairs: items of the input by number, on the right those of what it is compared with; each once, sorted."""

    left: I64Array
    right: I64Array
    # Pairs of the truth of which an id is not in the input.
    unknown: int

    def __len__(self) -> int:
        return len(self.left)

    def most(self) -> int:
        """How many matches the item with the most has."""
        ends = np.concatenate([self.left, self.right])
        return int(np.unique(ends, return_counts=True)[1].max(initial=0))


@dataclass(frozen=True)
class Agreement:
    """How well one threshold agrees with the truth; intervals are at 95%."""

    threshold: float
    pairs: int
    precision: float
    recall: float
    f1: float
    precision_interval: tuple[float, float]
    recall_interval: tuple[float, float]
    f1_interval: tuple[float, float]


def read_gold(truth: Any, ids: Sequence[Any], others: Sequence[Any] | None) -> Gold:
    """The pairs of a file (two ids a line, parted by a tab, comma or blank) or of a list; `others` where there are two
    collections, of which a pair may name either first."""
    rows = _rows(truth)
    place = {str(name): number for number, name in enumerate(ids)}
    there = place if others is None else {str(name): number for number, name in enumerate(others)}
    found: set[tuple[int, int]] = set()
    unknown = 0
    for a, b in rows:
        for one, other in ((a, b), (b, a)):
            if one in place and other in there:
                left, right = place[one], there[other]
                if others is not None:
                    found.add((left, right))
                elif left != right:
                    found.add((min(left, right), max(left, right)))
                break
        else:
            unknown += 1
    if not found:
        raise InputError(
            f"none of the {len(rows):,} known matches has both ids in the input: name the column of ids with id (--id)"
        )
    pairs = np.array(sorted(found), np.int64)
    return Gold(pairs[:, 0].copy(), pairs[:, 1].copy(), unknown)


def gold_of_labels(labels: pa.Array, others: pa.Array | None) -> Gold:
    """The pairs of items with the same label; one without a label is the same as nothing."""
    both = labels if others is None else pa.concat_arrays([labels, others])
    codes = pc.fill_null(pc.dictionary_encode(both).indices, -1).to_numpy(zero_copy_only=False).astype(np.int64)
    own = codes[: len(labels)]
    there = own if others is None else codes[len(labels) :]
    order = np.argsort(there, kind="stable")
    first = np.searchsorted(there[order], own, side="left")
    count = np.where(own >= 0, np.searchsorted(there[order], own, side="right") - first, 0)
    if count.sum() > _MOST_PAIRS:
        raise InputError(f"{count.sum():,} pairs have the same label: {_MOST_PAIRS:,} can be held, so read fewer rows")
    left = np.repeat(np.arange(len(own)), count)
    right = order[np.repeat(first, count) + np.arange(len(left)) - np.repeat(np.cumsum(count) - count, count)]
    wanted = left < right if others is None else np.ones(len(left), np.bool_)
    if not wanted.any():
        raise InputError("no two items have the same label")
    return Gold(left[wanted], right[wanted], 0)


def _rows(truth: Any) -> list[tuple[str, str]]:
    """The pairs as they are written."""
    if not isinstance(truth, str | Path):
        return [(str(a), str(b)) for a, b in _two(truth)]
    path = Path(truth)
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: {reason(error)}") from None
    out = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        cells = line.split("\t") if "\t" in line else line.split(",") if "," in line else line.split()
        if len(cells) < 2:
            raise InputError(f"{path} line {number}: expected two ids, separated by a tab, a comma or a space")
        out.append((cells[0].strip().strip('"'), cells[1].strip().strip('"')))
    if not out:
        raise InputError(f"{path} holds no pairs")
    return out


def _two(truth: Iterable[Any]) -> Iterable[tuple[Any, Any]]:
    for pair in truth:
        if isinstance(pair, str) or len(pair) != 2:
            raise InputError(f"truth holds {pair!r}: pairs of two ids are needed")
        yield pair[0], pair[1]


def agreements(
    gold: Gold, left: I64Array, right: I64Array, scores: F64Array, items: int, steps: F64Array = STEPS
) -> list[Agreement]:
    """How well thresholds agree with the truth, of pairs that are given as those of the truth, each once."""
    keys = (gold.left << 32) | gold.right
    true: BoolArray = np.isin((left << 32) | right, keys)
    ends = np.zeros(items)
    np.add.at(ends, gold.left, 1.0)
    return [_agreement(float(step), scores >= step, true, left, ends) for step in steps]


def _agreement(step: float, found: BoolArray, true: BoolArray, left: I64Array, ends: F64Array) -> Agreement:
    both, pairs, truth = int((found & true).sum()), int(found.sum()), int(ends.sum())
    f1 = 2.0 * both / (pairs + truth)
    # What each item adds to both sides of the quotient, its pairs being counted where they begin.
    hits = np.bincount(left[found & true], minlength=len(ends))
    taken = np.bincount(left[found], minlength=len(ends))
    error = 1.96 * math.sqrt(float(np.square(2.0 * hits - f1 * (taken + ends)).sum())) / (pairs + truth)
    return Agreement(
        step, pairs, both / pairs if pairs else 1.0, both / truth, f1,
        clopper_pearson(both, pairs) if pairs else (0.0, 1.0), clopper_pearson(both, truth),
        (max(0.0, f1 - error), min(1.0, f1 + error)),
    )  # fmt: skip
