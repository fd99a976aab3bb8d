"""Matches held against what else is known: pairs of buckets that are compared again, and the pairs of the audit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from lookalike.certify.audit import Audited
from lookalike.certify.step_checks import BucketPairs
from lookalike.collide.fold import Folds
from lookalike.engines.local.run_context import RunContext
from lookalike.engines.local.store.matches import Matches
from lookalike.types import BoolArray, I64Array

__all__ = ["check_matches"]


def check_matches(
    run: RunContext,
    audited: Audited | None,
    drawn: BucketPairs,
    match_again: Callable[[I64Array, I64Array], BoolArray],
    folds: Folds,
    matches: Matches,
) -> BoolArray:
    """Count what is not among the matches; which pairs of the audit are not, before they are put there."""
    config, counts = run.config, run.counts
    whole = not counts.led_items and not config.verify_text
    if whole and config.audit and run.rows_tell:
        counts.checked_pairs, counts.lost_pairs = _lost(drawn, match_again, matches, folds)
    missed = _missed(audited, folds, matches)
    if whole and config.verify == "exact":
        counts.audit_pairs = _add_missed(audited, missed, folds, matches)
    return missed


def _lost(
    drawn: BucketPairs, match_again: Callable[[I64Array, I64Array], BoolArray], matches: Matches, folds: Folds
) -> tuple[int, int]:
    """Compare some pairs that share a bucket again: how many match, and how many of those are not among the matches."""

    def contains(left: I64Array, right: I64Array) -> BoolArray:
        return ~folds.count(left, right) | matches.contains(left, right)

    return drawn.lost(match_again, contains)


def _missed(audited: Audited | None, folds: Folds, matches: Matches) -> BoolArray:
    """Which pairs of the audit are of different items, and not among the matches."""
    if audited is None:
        return np.zeros(0, np.bool_)
    a, b = (folds.leader[each].astype(np.int64) for each in (audited.left, audited.right))
    # Items that are identical to those compared against are removed as such, and not compared with one another.
    same = (a == b) | ~folds.count(a, b)
    found: BoolArray = same | matches.contains(np.minimum(a, b), np.maximum(a, b))
    return ~found


def _add_missed(audited: Audited | None, missed: BoolArray, folds: Folds, matches: Matches) -> int:
    """Put the pairs that only the audit found among the matches; for how many pairs of items they stand."""
    if audited is None or not missed.any():
        return 0
    ends = folds.leader[np.stack([audited.left[missed], audited.right[missed]])].astype(np.int64)
    (left, right), at = np.unique(np.sort(ends, axis=0), axis=1, return_index=True)
    matches.add(left, right, audited.similarities[missed][at])
    return folds.unfolded(left, right)
