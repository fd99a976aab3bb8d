"""Leaders: how the items of a giant list are clustered without comparing every pair.

The problem. Where a million pages differ in a word or two, every pair is a match, and to list them all is quadratic
however they are found. To choose which pages stay it is enough that each meets the one it is removed for.

The idea. The first few items of the list in keep order lead; every other item is compared with the leaders before it.
One that matches is attached to its best leader and done; leaders are done too, for the whole list has met them. The
rest goes into the next round. Where nearly all are alike, one round attaches nearly all of them.
"""

from __future__ import annotations

from lookalike.jit import kernel
from lookalike.verify.jaccard import jaccard

__all__ = ["attach_rows"]


@kernel(
    "void(Array(int64,1,'C',readonly=True), Array(uint64,1,'C',readonly=True), Array(int64,1,'C',readonly=True), "
    "Array(int64,1,'C',readonly=True), Array(uint64,1,'C',readonly=True), Array(int64,1,'C',readonly=True), "
    "float64, int64[::1], float64[::1])"
)
def attach_rows(offsets, values, rank, lead_offsets, lead_values, lead_rank, threshold, best, similarity):
    """Compare each row with the leaders that come before it in keep order, and keep the best match.

    Row i of (offsets, values) has the place rank[i] in keep order, leader t of (lead_offsets, lead_values) the place
    lead_rank[t]. best[i] = the leader of highest similarity, the earliest in keep order if several are equal, or -1.
    """
    for i in range(len(rank)):
        best[i] = -1
        similarity[i] = -1.0
        for t in range(len(lead_rank)):
            if lead_rank[t] >= rank[i]:
                continue
            j = jaccard(
                values, offsets[i], offsets[i + 1], lead_values, lead_offsets[t], lead_offsets[t + 1], threshold
            )
            if j < 0.0:
                continue
            if j > similarity[i] or (j == similarity[i] and lead_rank[t] < lead_rank[best[i]]):
                similarity[i] = j
                best[i] = t
