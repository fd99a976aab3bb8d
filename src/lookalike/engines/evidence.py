"""What the certificate of a run is made from, whichever engine found it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from lookalike.certify.recall import PairTally
from lookalike.engines.counts import Counts
from lookalike.scale import Scale
from lookalike.theory import Plan
from lookalike.types import BoolArray, F64Array

__all__ = ["Evidence", "chance_of"]


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


def chance_of(plan: Plan, scale: Scale) -> Callable[[F64Array], F64Array]:
    """The chance that a pair meets in one band, from its place on the scale of the tally."""

    def chance(shares: F64Array) -> F64Array:
        return plan.band_chance(scale.from_share(shares))

    return chance
