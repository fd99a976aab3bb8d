"""Near misses: pairs that were compared and are just below the threshold, to look at in the report.

They tell whether the threshold is where it should be. Which pairs of a run come closest nobody notes: a judge stops as
soon as a pair cannot match any more. So some pairs are compared once more, to the end: those that share a bucket and
were drawn for the checks, and those that were caught as specimens, of which is known what they hold even where a
collection is too large to be read again. Where all pairs are compared, specimens are held against others.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from lookalike.collide.fold import Folds
from lookalike.engines.local.parts import Grouped
from lookalike.engines.local.run_context import RunContext
from lookalike.engines.local.specimens import Specimens, evenly
from lookalike.types import F64Array, I64Array

__all__ = ["NearMiss", "near_misses"]

# Two items, and their score.
NearMiss = tuple[int, int, float]

# From this share of the limit on: 0.68 for a threshold of 0.8.
_NEAR = 0.85
# Pairs of buckets that are compared once more, and how many near misses are noted: the report chooses from them.
_DRAWN, _NOTED = 4_000, 60
# Where all pairs are compared: of so many items, each with so many others.
_PROBES, _OTHERS = 24, 1_000


def near_misses(
    run: RunContext,
    grouped: Grouped,
    specimens: Specimens,
    folds: Folds,
    similarity: Callable[[I64Array, I64Array], F64Array],
) -> list[NearMiss]:
    """Some pairs of leaders just below the threshold, by `similarity`, from the least alike on."""
    if run.plan is None or run.config.verify == "none":
        return []
    caught = specimens.candidates
    drawn = _crossed(grouped, specimens) if run.plan.exhaustive else grouped.drawn.some(_DRAWN)
    pairs = np.unique(np.concatenate([caught, drawn]), axis=0)
    left, right = np.ascontiguousarray(pairs.T)
    asked = folds.count(left, right) & (left != right)
    left, right = left[asked], right[asked]
    if not len(left):
        return []
    scores, scale = similarity(left, right), run.config.scale
    told = scale.told(scores)
    near = _NEAR * told <= scale.limit if scale.is_distance else told >= _NEAR * scale.limit
    near &= ~scale.meets(told)
    mine = np.isin(left, specimens.items) & np.isin(right, specimens.items)
    chosen = [np.flatnonzero(near & of)[evenly(scores[near & of], _NOTED)] for of in (mine, ~mine)]
    order = np.concatenate(chosen)
    order = order[np.lexsort((right[order], left[order], scores[order]))]
    return list(zip(left[order].tolist(), right[order].tolist(), scores[order].tolist(), strict=True))


def _crossed(grouped: Grouped, specimens: Specimens) -> I64Array:
    """Specimens with other items, two columns, the smaller item first."""
    items = np.flatnonzero(grouped.giant)
    probes = specimens.items[np.isin(specimens.items, items)]
    probes = probes[np.linspace(0, max(0, len(probes) - 1), min(len(probes), _PROBES)).astype(np.int64)]
    others = items[np.linspace(0, max(0, len(items) - 1), min(len(items), _OTHERS)).astype(np.int64)]
    others = np.union1d(others, specimens.items)
    others = others[np.isin(others, items)]
    pairs = np.column_stack([np.repeat(probes, len(others)), np.tile(others, len(probes))])
    return np.sort(pairs, axis=1)
