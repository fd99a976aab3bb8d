"""What an index says about itself: whether it is whole, and how much of what it should find it finds.

A sample of the stored items is compared with all of them, without keys and buckets, and then looked up like any query.
Of a pair at similarity s the plan promises to find a share; this is what came of it, for these items, on this disk.
The interval is that of the audit of a batch run (`certify/sampled.py`): an item of the sample stands or falls with all
its pairs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lookalike.certify.sampled import SampledPairs
from lookalike.index.index_log import VolumeView
from lookalike.index.index_search import Searching
from lookalike.index.row_codec import RowCodec
from lookalike.scale import Scale
from lookalike.types import U64Array

__all__ = ["IndexCertificate", "certificate"]

_LEVEL = 0.95


class IndexCertificate(NamedTuple):
    """What was found when an index was checked.

    Attributes:
        items: how many there are.
        damaged: what is not as it was written, a line each.
        sampled: items that were compared with all.
        pairs: how many items these match, counted exactly.
        found: how many of those a query finds.
        recall: the share that is found; None where there are no pairs to find.
        low, high: its 95% interval.
        about: what is asked of a pair.
    """

    items: int
    damaged: list[str]
    sampled: int
    pairs: int
    found: int
    recall: float | None
    low: float | None
    high: float | None
    about: str = ""

    @property
    def sound(self) -> bool:
        """Whether everything is as it was written."""
        return not self.damaged

    def __str__(self) -> str:
        state = "sound" if self.sound else "DAMAGED: " + "; ".join(self.damaged)
        if self.recall is None or self.low is None or self.high is None:
            looked = (
                f"none of {self.sampled:,} sampled items is like another" if self.sampled else "no items were compared"
            )
            return f"{self.items:,} items, {state}; {looked}"
        return (
            f"{self.items:,} items, {state}; of {self.pairs:,} matches of {self.sampled:,} sampled items "
            f"({self.about}) {self.found:,} are found: recall {self.recall:.4f} (95% interval {self.low:.4f} to "
            f"{self.high:.4f}); precision 1, since scores are exact"
        )


def certificate(
    view: VolumeView,
    codec: RowCodec,
    searching: Searching,
    items: int,
    chosen: U64Array,
    damaged: list[str],
    scale: Scale,
) -> IndexCertificate:
    """Compare the chosen items with all, and look them up."""
    if codec.has_sketches_only:
        # There is nothing to compare sketches with.
        return IndexCertificate(items, damaged, 0, 0, 0, None, None, None, str(scale))
    every, signatures = searching.store.everything(view)
    threshold = searching.judge.threshold
    totals, missed = [], []
    for place in chosen:
        rows = view.rows(np.array([place], np.uint64))
        if not len(rows.which) or not rows.sizes[0]:
            continue
        found = codec.sketched(rows.addresses, rows.sizes)
        true = next(searching.against(view, found, every, signatures, threshold))
        looked_up = next(searching.hits(found, threshold, most=None, view=view))
        own = np.array([place], np.uint64)
        others = set(view.identities(true.places).tolist()) - set(view.identities(own).tolist())
        known = set(view.identities(looked_up.places).tolist())
        if others:
            totals.append(len(others))
            missed.append(len(others - known))
    pairs = SampledPairs(np.array(totals, np.float64), np.array(missed, np.float64), len(chosen) / max(1, items))
    share = pairs.share
    if share is None:
        return IndexCertificate(items, damaged, len(chosen), 0, 0, None, None, None, str(scale))
    low, high = pairs.limits(_LEVEL)
    matches = int(sum(totals))
    return IndexCertificate(
        items, damaged, len(chosen), matches, matches - int(sum(missed)), 1 - share, 1 - high, 1 - low, str(scale)
    )
