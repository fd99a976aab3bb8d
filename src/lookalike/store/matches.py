"""Verified matches: pairs of items and their similarity, as they are found."""

from __future__ import annotations

import numpy as np

from lookalike.types import F64Array, I64Array, U32Array

__all__ = ["Matches"]


class Matches:
    """left < right, each match once; 16 bytes each. `pairs` counts the pairs of items that they stand for."""

    def __init__(self) -> None:
        self._left: list[U32Array] = []
        self._right: list[U32Array] = []
        self._similarity: list[F64Array] = []
        self._count = 0
        self.pairs = 0

    def __len__(self) -> int:
        return self._count

    def add(self, left: I64Array, right: I64Array, similarity: F64Array) -> None:
        if len(left):
            self._left.append(left.astype(np.uint32))
            self._right.append(right.astype(np.uint32))
            self._similarity.append(similarity)
            self._count += len(left)

    def arrays(self) -> tuple[I64Array, I64Array, F64Array]:
        """(left, right, similarity) of all, by left and right.

        A pair may have been found twice: in a list that all compare and in one that has leaders.
        """
        if not self._left:
            return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float64)
        packed = (np.concatenate(self._left).astype(np.int64) << 32) | np.concatenate(self._right)
        packed, first = np.unique(packed, return_index=True)
        left, right = packed >> 32, packed & 0xFFFFFFFF
        similarity = np.concatenate(self._similarity)[first]
        self._left, self._right, self._similarity = [left.astype(np.uint32)], [right.astype(np.uint32)], [similarity]
        self._count = len(left)
        return left, right, similarity
