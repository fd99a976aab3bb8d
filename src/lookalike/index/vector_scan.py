"""The vectors of stored items, rounded to bytes, beside that of a query: which of them may be near enough.

Segments and the table have each vector in a quarter of its bytes (`verify/byte_rows.py`), one after another. What they
rule out is out for certain; of a hundred thousand some ten to a hundred are left, whose records are compared.
"""

from __future__ import annotations

import numpy as np

from lookalike.index.store_view import View
from lookalike.kernels.addresses import address_of
from lookalike.types import F64Array, I64Array, U64Array
from lookalike.verify.byte_rows import ByteQuery

__all__ = ["MayReach", "VectorScan"]


class MayReach:
    """Items that may score as much as was asked for: their places, the addresses of signatures, what each may score."""

    def __init__(self, places: list[U64Array], signatures: list[I64Array], bounds: list[F64Array]) -> None:
        self.places = np.concatenate([np.empty(0, np.uint64), *places])
        self.signatures = np.concatenate([np.empty(0, np.int64), *signatures])
        self.bounds = np.concatenate([np.empty(0, np.float64), *bounds])

    def __len__(self) -> int:
        return len(self.places)

    def likeliest(self, count: int) -> tuple[I64Array, I64Array]:
        """So many of those that may score most, and the others."""
        if len(self) <= count:
            return np.arange(len(self)), np.empty(0, np.int64)
        order = np.argpartition(-self.bounds, count)
        return order[:count], order[count:]


class VectorScan:
    """The vectors of all items of a view, for one query."""

    def __init__(self, view: View, query: ByteQuery) -> None:
        self._query = query
        self._parts = list(zip(view.parts(), view.vectors(), strict=True))

    @staticmethod
    def can_scan(view: View) -> bool:
        """Whether all items have vectors in bytes; those of an index that was made before there were any have none."""
        return all(each.shape[1] for each in view.vectors())

    @property
    def items(self) -> list[int]:
        """How many items each part has."""
        return [len(places) for (places, _), _ in self._parts]

    def numbers_of(self, addresses: I64Array) -> list[I64Array]:
        """The numbers in each part of the items whose signatures are at some addresses."""
        found = []
        for (_, signatures), _ in self._parts:
            first, stride = address_of(signatures), signatures.itemsize * signatures.shape[1]
            inside = (addresses >= first) & (addresses < first + signatures.nbytes)
            found.append((addresses[inside] - first) // max(1, stride))
        return found

    def reaching(self, numbers: list[I64Array], score: float) -> MayReach:
        """Those of some items that may score at least so much; `numbers` are those of the items in each part."""
        places, addresses, bounds = [], [], []
        for ((stored, signatures), vectors), some in zip(self._parts, numbers, strict=True):
            which, most = self._query.reaching(vectors, some, score)
            places.append(stored[which])
            addresses.append(address_of(signatures) + 8 * signatures.shape[1] * which)
            bounds.append(most)
        return MayReach(places, addresses, bounds)

    def bound_of(self, score: float) -> float:
        """A score as it is bounded."""
        return self._query.bound_of(score)
