"""Sets of numbers as they are, for what does not care where elements come from."""

from __future__ import annotations

from collections.abc import Sequence, Set

import numpy as np

from lookalike.types import Sets


def plain_sets(documents: Sequence[Set[int]]) -> Sets:
    offsets = np.zeros(len(documents) + 1, np.int64)
    offsets[1:] = np.cumsum([len(document) for document in documents])
    values = np.array([x for document in documents for x in document], np.uint64)
    return Sets(offsets, values, np.zeros((len(documents), 2), np.uint64))
