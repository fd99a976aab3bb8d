"""What the certificate and the report of a run are made from, whichever engine found it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from lookalike.certify.recall import PairTally
from lookalike.engines.counts import Counts
from lookalike.measure_table import Complement
from lookalike.scale import Scale
from lookalike.theory import Plan
from lookalike.types import BoolArray, F64Array, I64Array

__all__ = ["ROW_SHARE", "Evidence", "chance_of", "histogram_bins", "histogram_steps"]

# An audit without an index compares every sampled item with every other: this much fewer of them take as long.
ROW_SHARE = 4
# Columns of the histogram: a hundredth of a similarity, or so many up to the largest distance that counts.
_BIN = 0.01
_STEPS = 50


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a run counted, and what became of the pairs of its audit.

    Attributes:
        counts: what was seen on the way.
        tally: of the found pairs, by similarity and the bands in which they met; None where there are no bands.
        own_pairs: how many pairs of items were found that were looked for among all of them.
        within: how many of these are of identical items.
        missed: which pairs of the audit were found by nothing else.
        different: which of them are of different items.
        stayed: which of them would be left without the audit: both items are kept, or the one was removed for the
            other; None where nothing is removed.
        kept_items: how many items are kept; None where nothing is removed.
        partners: of the sampled items with more matches than the audit takes up, how many later items are known to be
            like them.
        across: whether pairs of two collections were looked for, and no others.
    """

    counts: Counts
    tally: PairTally | None
    own_pairs: int
    within: int
    missed: BoolArray
    different: BoolArray
    stayed: BoolArray | None = None
    kept_items: int | None = None
    partners: Mapping[int, float] = field(default_factory=dict)
    across: bool = False


def chance_of(plan: Plan, scale: Scale) -> Callable[[F64Array], F64Array]:
    """The chance that a pair meets in one band, from its place on the scale of the tally."""

    def chance(shares: F64Array) -> F64Array:
        return plan.band_chance(scale.from_share(shares))

    return chance


def histogram_steps(scale: Scale) -> int:
    """How many bins the histogram of similarities or distances has, but for that of identical items."""
    if scale.traits.complement is Complement.PARTS and scale.is_distance:
        # Each count has a bin, as long as there are not too many.
        return int(min(_STEPS, max(1.0, scale.told_limit)))
    return _STEPS if scale.is_distance else round(1 / _BIN)


def histogram_bins(scale: Scale, scores: F64Array) -> I64Array:
    """The bin of each score: those at 1, or at the distance 0, in one of their own, the last."""
    steps = histogram_steps(scale)
    # 0.8 in bins of 0.01 is 80, not 80.00000000000001.
    places = np.floor(scale.share(scores) * steps + 1e-9).astype(np.int64)
    return np.clip(places, 0, steps)
