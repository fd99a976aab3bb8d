"""A sample of the pairs that giant buckets joined: those that tell what was missed beside them (see `missed.py`).

There can be hundreds of millions of them, and to tell in which bands a pair collided its band keys are made anew. So
some are drawn, by priority (Duffield, Lund and Thorup 2007): a pair of weight w that drew the number u out of (0, 1]
has the priority w/u. The MOST highest stay, and each stands for max(w, the highest priority that did not stay), which
is right on average. u is a hash of the two items, so the sample depends on nothing but the pairs.

Only pairs count that collided in one or two bands, and then only if their items would hardly both be giant without
them. So a pair both of whose items are in giant buckets of more than LOW bands need not be offered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookalike.certify.ranks import ranks_of
from lookalike.types import F64Array, I64Array

__all__ = ["LOW", "JoinedSample"]

MOST = 8192
# Two bands in which a pair collided, and one that alone makes an item giant without them.
LOW = 3


@dataclass(slots=True)
class JoinedSample:
    """Keeps the pairs of highest priority of all that are offered, in any order and any chunks."""

    left: I64Array
    right: I64Array
    similarities: F64Array
    weights: F64Array
    _priorities: F64Array
    _highest_lost: float = 0.0

    @classmethod
    def empty(cls) -> JoinedSample:
        none = np.empty(0, np.int64)
        return cls(none, none, np.empty(0), np.empty(0), np.empty(0))

    @classmethod
    def merged(cls, parts: Sequence[JoinedSample]) -> tuple[JoinedSample, I64Array]:
        """The sample of all that was offered to several, no pair to two of them; and where its pairs stand in theirs.

        Those of one sample stand behind those of the one before.
        """
        whole = cls.empty()
        whole._highest_lost = max((part._highest_lost for part in parts), default=0.0)
        left, right, similarities, weights, priorities = (
            np.concatenate([getattr(whole, name), *(getattr(part, name) for part in parts)])
            for name in ("left", "right", "similarities", "weights", "_priorities")
        )
        return whole, whole._cut(left, right, similarities, weights, priorities)

    def as_arrays(self) -> dict[str, NDArray[Any]]:
        """The same as plain arrays."""
        return {name: np.atleast_1d(getattr(self, name)) for name in self.__slots__}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> JoinedSample:
        """The sample whose `as_arrays` this is."""
        return cls(
            **{name: arrays[name] for name in cls.__slots__[:-1]}, _highest_lost=float(arrays["_highest_lost"][0])
        )

    def offer(self, left: I64Array, right: I64Array, similarities: F64Array, weights: F64Array) -> None:
        """Draw from more pairs of items."""
        # Two seeds, so that the order of a pair matters and no pair draws the hash of nothing.
        drawn = (ranks_of(left, 1) ^ ranks_of(right, 2)).astype(np.float64) / 2.0**64
        priorities = weights / np.maximum(drawn, 2.0**-64)
        self._cut(
            np.concatenate([self.left, left]),
            np.concatenate([self.right, right]),
            np.concatenate([self.similarities, similarities]),
            np.concatenate([self.weights, weights]),
            np.concatenate([self._priorities, priorities]),
        )

    def _cut(
        self, left: I64Array, right: I64Array, similarities: F64Array, weights: F64Array, highest: F64Array
    ) -> I64Array:
        """Keep the pairs of highest priority of these: which they are."""
        order = np.lexsort((right, left, -highest))
        if len(order) > MOST:
            self._highest_lost = max(self._highest_lost, float(highest[order[MOST]]))
        stay = order[:MOST]
        self.left, self.right, self.similarities = left[stay], right[stay], similarities[stay]
        self.weights, self._priorities = weights[stay], highest[stay]
        return stay

    def expanded(self) -> F64Array:
        """How many pairs of items each of the sampled pairs stands for."""
        return np.maximum(self.weights, self._highest_lost)
