"""Where to put the threshold, by nothing but how alike items are to their neighbours.

Two things tell. Where a text has near-duplicates and everything else is far from it, there is a gap between the two,
and a threshold is good where it lies deep in the gaps of most texts. For a neighbour list with the similarities

    1   0.93   0.81   |   0.22   0.20   0.19 …

0.5 is in a gap from 0.22 to 0.81. How deep: the harmonic mean of the ways to both ends, which is 0 at an end.

Where groups of texts run into one another, as with many versions of one record, there is no gap. But "is the same as"
is a relation that closes: what is alike to one text is alike among itself. Of true matches that holds nearly always;
as soon as a threshold lets chance matches in, it fails. So the lowest threshold is taken at which it holds about as
often as at somewhat higher ones. (At the very lowest everything matches, and it holds again.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lookalike.types import F64Array, I64Array

__all__ = ["STEPS", "Proposal", "Wedges", "closing", "gap_depth", "propose"]

# The thresholds that are looked at.
STEPS = np.round(np.arange(5, 100) / 100, 2)

# A gap is clear from this depth on, on average; in a gap from 0 to 1 the deepest point has 0.5.
_CLEAR = 0.15
# A share of closed wedges is as good as any if none of so many steps above has more than a little more; and from how
# many wedges a share is taken seriously.
_NEARLY, _AHEAD, _SERIOUS = 0.97, 15, 30


class Wedges(NamedTuple):
    """Pairs of neighbours: whose they are, and how alike the less similar one is to it, and the two to each other.

    Each was drawn from the first `among` neighbours of its item, a power of two.
    """

    item: I64Array
    among: I64Array
    least: F64Array
    across: F64Array


@dataclass(frozen=True)
class Proposal:
    """A threshold, and why.

    `why` is `gap`, `chains` or `nothing`. Of the items with a match, `above` is how alike the last match is on average;
    `below`, how alike the first item is that is none. `closed` is the share of an item's matches that match each other.
    """

    threshold: float
    why: str
    above: float
    below: float
    closed: float

    @property
    def reason(self) -> str:
        """A sentence for people."""
        if self.why == "gap":
            return (
                f"there is a clear gap around {self.threshold:.2f}: on average the last match of an item has "
                f"similarity {self.above:.2f}, and the next item {self.below:.2f}"
            )
        if self.why == "chains":
            return (
                f"there is no clear gap; down to {self.threshold:.2f} two matches of an item also match each other "
                f"({self.closed:.0%} of such pairs), and below that less and less often"
            )
        return "no item has near neighbours to judge by; 0.8 is the default"


def gap_depth(lists: F64Array) -> F64Array:
    """How deep each of STEPS lies in the gaps of the items, on average.

    `lists` has the similarities of the nearest of each item, falling; 0 where there are no more. Below the last one of
    a full list nothing is known, and the depth there is 0.
    """
    items, k = lists.shape
    edges = np.concatenate([np.ones((items, 1)), lists, np.zeros((items, 1))], axis=1)
    rows = np.arange(items)
    depths = np.zeros(len(STEPS))
    for number, step in enumerate(STEPS):
        last = (edges >= step).sum(axis=1) - 1
        above, below = edges[rows, last], edges[rows, np.minimum(last + 1, k + 1)]
        depth = 2.0 * (above - step) * (step - below) / np.maximum(above - below, 1e-12)
        depths[number] = np.where(last < k, depth, 0.0).mean()
    return depths


def closing(lists: F64Array, wedges: Wedges) -> tuple[F64Array, I64Array]:
    """At each of STEPS which share of all pairs of matches of one item match each other; and of how many that is told.

    Of m matches it is told by pairs from the first power of two that is no less, so that all of the m count alike.
    """
    shares, told = np.zeros(len(STEPS)), np.zeros(len(STEPS), np.int64)
    for number, step in enumerate(STEPS):
        matches = (lists >= step).sum(axis=1)
        among = 1 << np.ceil(np.log2(np.maximum(matches, 1))).astype(np.int64)
        there = (wedges.least >= step) & (wedges.among == among[wedges.item])
        told[number] = there.sum()
        if told[number]:
            item = wedges.item[there]
            drawn = np.bincount(item, minlength=len(lists))
            closed = np.bincount(item, weights=wedges.across[there] >= step, minlength=len(lists))
            weights = np.where(drawn > 0, matches * (matches - 1.0), 0.0)
            shares[number] = (weights * closed / np.maximum(drawn, 1)).sum() / weights.sum()
    return shares, told


def _lowest_closing(shares: F64Array, counts: I64Array) -> tuple[str, int]:
    """The lowest step at which matches match each other as often as at any somewhat higher one; 0.8 if none tells."""
    serious = np.flatnonzero(counts >= _SERIOUS)
    if not len(serious):
        return "nothing", int(np.searchsorted(STEPS, 0.8))
    # At the very lowest nearly everything matches, and closes again: up from there to where it no longer falls.
    low = next(at for at in range(len(serious)) if shares[serious[at]] <= shares[serious[at : at + _AHEAD]].min())
    serious = serious[low:]
    good = [step for step in serious if shares[step] >= _NEARLY * shares[serious[serious >= step][: _AHEAD + 1]].max()]
    return "chains", int(good[0])


def propose(lists: F64Array, wedges: Wedges | None = None) -> Proposal:
    """The threshold that suits these neighbours best; without wedges by gaps alone."""
    depths = gap_depth(lists)
    best = int(np.argmax(depths))
    shares, counts = np.zeros(len(STEPS)), np.zeros(len(STEPS), np.int64)
    if wedges is not None:
        shares, counts = closing(lists, wedges)
    why = "gap"
    if depths[best] < _CLEAR:
        why, best = _lowest_closing(shares, counts)
    threshold = float(STEPS[best])
    matched = lists[:, 0] >= threshold
    number = (lists >= threshold).sum(axis=1)
    rows = np.arange(len(lists))
    last = lists[rows, np.maximum(number - 1, 0)][matched]
    first = lists[rows, np.minimum(number, lists.shape[1] - 1)][number < lists.shape[1]]
    return Proposal(
        threshold, why, float(last.mean()) if len(last) else 1.0, float(first.mean()) if len(first) else 0.0,
        float(shares[best]),
    )  # fmt: skip
