"""How many of its rarest elements a row that is compared column by column shares one of with every match.

An element of column f adds at most w_f / |A_f| to the sum of a pair, since J(A_f, B_f) <= |A_f∩B_f| / |A_f|; and the
sum is divided by the weight of the columns of A at least. Order all elements by rarity, and take a match of A: what it
shares reaches t times that weight, so it cannot lie within the last elements of A whose sum is below that. Hence
one of the elements before these, the prefix of A, is shared; and the rarest that is shared is in the prefixes of both.

Which elements come last is not asked, only how many: as if they were the heaviest ones.
"""

from __future__ import annotations

import numpy as np

from lookalike.compared_fields import FIELD_SHIFT, MOST_FIELDS
from lookalike.kernels.jit import kernel
from lookalike.types import F64Array, I64Array, U64Array

__all__ = ["field_prefix"]

_SHIFT = np.uint64(FIELD_SHIFT)
# Far more than the rounding of these sums, as a share of them, and far less than an element.
_SLACK = 1e-9


@kernel(
    "void(Array(int64,1,'C',readonly=True), Array(uint64,1,'C',readonly=True), Array(float64,1,'C',readonly=True), "
    "float64, int64[::1])"
)
def _prefix_lengths(offsets, values, weights, threshold, out):
    sizes = np.empty(MOST_FIELDS, np.int64)
    for row in range(len(out)):
        sizes[:] = 0
        left = 0.0
        for i in range(offsets[row], offsets[row + 1]):
            field = np.int64(values[i] >> _SHIFT)
            left += weights[field] if sizes[field] == 0 else 0.0
            sizes[field] += 1
        left *= threshold * (1.0 - _SLACK)
        prefix = offsets[row + 1] - offsets[row]
        while prefix > 0:
            # The column with the heaviest elements that are left.
            best = -1
            for field in range(len(weights)):
                heavier = sizes[field] > 0 and (best < 0 or weights[field] * sizes[best] > weights[best] * sizes[field])
                best = field if heavier else best
            each = weights[best] / sizes[best]
            fitting = np.int64(np.ceil(left / each)) - 1
            if fitting < sizes[best]:
                prefix -= max(fitting, np.int64(0))
                break
            prefix -= sizes[best]
            left -= weights[best]
            sizes[best] = 0
        out[row] = prefix


def field_prefix(offsets: I64Array, values: U64Array, weights: F64Array, threshold: float) -> I64Array:
    """The length of the prefix of each row, its columns in the top bits of its elements."""
    out = np.empty(len(offsets) - 1, np.int64)
    _prefix_lengths(offsets, values, weights, threshold, out)
    return out
