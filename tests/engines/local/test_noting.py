"""Matches are confirmed, tallied, counted and stored in one place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lookalike.budget import Limits
from lookalike.certify.recall import PairTally
from lookalike.collide.fold import Folds
from lookalike.engines.counts import Counts
from lookalike.engines.local.noting import Noting
from lookalike.engines.local.pair_limit import PairLimit
from lookalike.engines.local.store.matches import Matches
from lookalike.engines.local.store.work_folder import Work
from lookalike.errors import OptionError
from lookalike.scale import Scale
from lookalike.types import BoolArray, F64Array, I64Array
from lookalike.wording.progress import SILENT

LEFT, RIGHT = np.array([0, 4, 2]), np.array([3, 1, 5])
SIMILARITY = np.array([0.9, 0.8, 0.7])
# Items 6 and 7 are copies of item 0: a pair with it stands for three, and the copies are three pairs themselves.
FOLDS = Folds(np.array([0, 1, 2, 3, 4, 5, 0, 0], np.uint32))


class Confirms:
    """Takes the pairs with an even item on the left, and knows their real similarity."""

    def confirmed(self, left: I64Array, right: I64Array) -> tuple[BoolArray, F64Array]:
        return (left % 4 == 0), np.full(len(left), 0.75)


def noting(**more: Any) -> Noting:
    return Noting(Matches(Work(), 1 << 20), FOLDS, Counts(), Scale("jaccard", 0.6), **more)


def stored(notes: Noting) -> list[tuple[int, int, float]]:
    return [
        match
        for stretch in notes.matches.stretches()
        for match in zip(*(each.tolist() for each in stretch), strict=True)
    ]


def test_matches_are_stored_by_their_smaller_item() -> None:
    notes = noting()
    assert notes.note(LEFT, RIGHT, SIMILARITY) == 3
    assert stored(notes) == [(0, 3, 0.9), (1, 4, 0.8), (2, 5, 0.7)]


def test_what_is_not_confirmed_is_counted_and_nothing_else() -> None:
    notes = noting(literals=Confirms())
    assert notes.note(LEFT, RIGHT, SIMILARITY, of=np.array([True, False, True])) == 1
    assert stored(notes) == [(0, 3, 0.75), (1, 4, 0.75)]
    assert notes.counts.refused_matches == 1


@pytest.mark.parametrize(("most", "refused"), [(8, None), (7, "there are at least 8 pairs"), (4, "at least 8 pairs")])
def test_copies_count_against_the_limit_of_pairs(most: int, refused: str | None) -> None:
    """Three pairs of copies, three of item 0 and its copies with item 3, and two others."""
    notes = noting(limit=PairLimit(Limits(most), FOLDS, SILENT))
    if refused is None:
        notes.note(LEFT, RIGHT, SIMILARITY)
    else:
        with pytest.raises(OptionError, match=refused):
            notes.note(LEFT, RIGHT, SIMILARITY)


def test_only_what_is_surely_found_or_met_in_bands_is_tallied() -> None:
    tally = PairTally(lambda shares: shares**4, 5)
    notes = noting(tally=tally)
    before = tally.state()
    notes.note(LEFT, RIGHT, SIMILARITY, tallied=False)
    assert tally.state() == before
    notes.note_giants()
    assert tally.giants
    hits = np.array([0, 2, 3, 4]), np.array([0, 3, 1, 4], np.uint16)
    notes.note(LEFT, RIGHT, SIMILARITY, hits)
    assert tally.state() != before
