"""How many of its rarest elements a row that is compared column by column shares one of with every match.

An element of column f adds at most w_f / |A_f| to the sum of a pair, since J(A_f, B_f) <= |A_f∩B_f| / |A_f|. Order all
elements by rarity, and take a match of A: what it shares reaches the threshold, so it can not lie within the last
elements of A whose sum is below that. Hence the elements before these, the prefix of A, have one that is shared; and
the rarest that is shared is in the prefix of either row.

Which elements come last is not asked, only how many: as if they were the heaviest ones. What the sum must reach depends
on the columns that the other row has, so it is asked of every choice of columns, and the longest prefix is taken.
"""

from __future__ import annotations

import numpy as np

from lookalike.compared_fields import MOST_FIELDS
from lookalike.kernels.jit import kernel
from lookalike.types import F64Array, I64Array, U64Array

__all__ = ["field_prefix"]

_SHIFT = np.uint64(61)
# Far more than the rounding of these sums, as a share of them, and far less than an element.
_SLACK = 1e-9


@kernel(
    "void(Array(int64,1,'C',readonly=True), Array(uint64,1,'C',readonly=True), Array(float64,1,'C',readonly=True), "
    "float64, float64, int64[::1])"
)
def _prefix_lengths(offsets, values, weights, least, threshold, out):
    sizes, order = np.empty(MOST_FIELDS, np.int64), np.empty(MOST_FIELDS, np.int64)
    for row in range(len(out)):
        begin, end = offsets[row], offsets[row + 1]
        sizes[:] = 0
        for i in range(begin, end):
            sizes[np.int64(values[i] >> _SHIFT)] += 1
        # The columns that are there, those with the heaviest elements first.
        there = 0
        for field in range(len(weights)):
            if sizes[field] == 0:
                continue
            weight, place = weights[field] / sizes[field], there
            while place > 0 and weights[order[place - 1]] / sizes[order[place - 1]] < weight:
                order[place] = order[place - 1]
                place -= 1
            order[place] = field
            there += 1
        # How many elements may come last; the whole row, where it matches nothing.
        spare = end - begin
        for chosen in range(1, 1 << there):
            present = 0.0
            for place in range(there):
                if chosen >> place & 1:
                    present += weights[order[place]]
            needed = threshold * max(present, least) * (1.0 - _SLACK)
            total, count, reached = 0.0, 0, False
            for place in range(there):
                if not (chosen >> place & 1) or reached:
                    continue
                field = order[place]
                each = weights[field] / sizes[field]
                fitting = np.int64(np.ceil((needed - total) / each)) - 1
                if fitting < sizes[field]:
                    count += max(fitting, np.int64(0))
                    reached = True
                else:
                    count += sizes[field]
                    total += weights[field]
            if reached:
                spare = min(spare, count)
        out[row] = end - begin - spare


def field_prefix(offsets: I64Array, values: U64Array, weights: F64Array, threshold: float) -> I64Array:
    """The length of the prefix of each row, its fields in the top bits of its elements."""
    out = np.empty(len(offsets) - 1, np.int64)
    _prefix_lengths(offsets, values, weights, 0.5 * float(weights.sum()), threshold, out)
    return out
