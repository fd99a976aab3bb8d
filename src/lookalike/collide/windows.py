"""Which windows of k tokens may stand somewhere twice, and their hashes.

The problem. A text of n tokens has about n windows of k, and to look for equal ones all of their hashes must be brought
together: 16 bytes for each token, three times the text.

The idea is winnowing (Schleimer, Wilkerson and Aiken 2003). A window of k tokens has w = k - g + 1 runs of g tokens;
the one with the smallest hash, the first of these, stands for the window. Equal windows have equal runs, so the same
one stands for both, at the same place in them. Neighbouring windows mostly share theirs: among random hashes a new one
comes every (w + 1) / 2 windows, so 2 / (w + 1) of an entry is left for each token. With k = 50 and g = 25 that is one
for 13.5 tokens. Only windows whose entry is there a second time need a hash of their own.

    tokens   a b c d e f …      k = 4, g = 2, w = 3
    runs     7 3 9 4 8 …        hashes of ab, bc, cd, de, ef
    windows  abcd: 3            of 7 3 9
             bcde: 3            of 3 9 4, the same run at the same place: no new entry
             cdef: 4            of 9 4 8

Where a text repeats one word for ever every run has the same hash, and each would be an entry. So there is a new one
only where the hash differs from that of the window before; a second entry with the same hash follows, once, when the
same hash comes from another place, since then two of these windows may be equal.

The smallest of the last w hashes is kept by the queue of those that may still become it, in a ring: each is put in and
taken out once, so the work does not depend on k.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lookalike.kernels.jit import kernel
from lookalike.key import TOKEN
from lookalike.spec import GOLDEN, mix
from lookalike.types import BoolArray, I64Array, U64Array

__all__ = ["Windows", "find_windows", "run_length", "scan_windows"]

_ZERO = np.uint64(0)
_ONE = np.uint64(1)


@kernel(
    "int64(Array(uint64,1,'C',readonly=True), Array(int64,1,'C',readonly=True), int64, int64, uint64, "
    "Array(bool,1,'C',readonly=True), uint64[::1], int64[::1], uint64[::1], int64[::1], int64[::1], uint64[::1])"
)
def scan_windows(
    tokens, offsets, k, g, multiplier, repeated, ring_hashes, ring_places, entries, entry_ends, starts, codes
):
    """The entries of the rows tokens[offsets[i] : offsets[i + 1]], and the windows whose entry is `repeated`; how many.

    entries[entry_ends[i] : entry_ends[i + 1]] are those of row i. repeated[e] says whether the windows of entry e are
    wanted; window j of these begins at token starts[j] and has the hash codes[j]. Without `repeated` none is wanted.
    The rings have room for more than k - g + 1, a power of two.

    A hash is mix(Σ token·multiplier^(length - 1 - j) + length·G), as that of a shingle (`docs/hash-spec.md`).
    """
    mask = np.int64(len(ring_hashes) - 1)
    width = k - g + 1
    first_of_run, first_of_window = _ONE, _ONE
    for _ in range(g):
        first_of_run *= multiplier
    for _ in range(k):
        first_of_window *= multiplier
    run_salt, window_salt = np.uint64(g) * GOLDEN, np.uint64(k) * GOLDEN
    count = found = np.int64(0)
    entry_ends[0] = 0
    for row in range(len(offsets) - 1):
        begin, end = offsets[row], offsets[row + 1]
        head = tail = np.int64(0)
        run = window = last = _ZERO
        place = np.int64(-1)
        twice = wanted = False
        for t in range(begin, end if end - begin >= k else begin):
            run = run * multiplier + tokens[t]
            window = window * multiplier + tokens[t]
            if t - begin >= g:
                run -= tokens[t - g] * first_of_run
            if t - begin >= k:
                window -= tokens[t - k] * first_of_window
            if t - begin < g - 1:
                continue
            code = mix(run + run_salt)
            # Of equal ones the first stays in front: it is at the same place in equal windows.
            while tail > head and ring_hashes[(tail - 1) & mask] > code:
                tail -= 1
            ring_hashes[tail & mask] = code
            ring_places[tail & mask] = t - g + 1
            tail += 1
            if ring_places[head & mask] <= t - g + 1 - width:
                head += 1
            if t - begin < k - 1:
                continue
            least = ring_hashes[head & mask]
            if place < 0 or least != last:
                wanted = len(repeated) > 0 and repeated[count]
                twice = False
                entries[count] = least
                count += 1
            elif ring_places[head & mask] != place and not twice:
                twice = True
                entries[count] = least
                count += 1
            last, place = least, ring_places[head & mask]
            if wanted:
                starts[found] = t - k + 1
                codes[found] = mix(window + window_salt)
                found += 1
        entry_ends[row + 1] = count
    return found


class Windows(NamedTuple):
    """The entries of some rows, where those of each end, and the windows that are wanted: first token and hash."""

    entries: U64Array
    entry_ends: I64Array
    starts: I64Array
    codes: U64Array


def run_length(k: int) -> int:
    """The tokens of the runs that stand for windows of k.

    Half of them: shorter runs would be there twice in texts that have no window in common, longer ones leave more
    entries.
    """
    return (k + 1) // 2


def find_windows(
    tokens: U64Array, offsets: I64Array, k: int, key: U64Array, repeated: BoolArray | None = None
) -> Windows:
    """`scan_windows` of rows of token hashes; `repeated` flags the entries of these rows whose windows are wanted."""
    g = run_length(k)
    size = 1 << (k - g + 1).bit_length()
    flags = np.empty(0, np.bool_) if repeated is None else repeated
    most = len(tokens) if len(flags) else 0
    entries, ends = np.empty(len(tokens), np.uint64), np.empty(len(offsets), np.int64)
    starts, codes = np.empty(most, np.int64), np.empty(most, np.uint64)
    found = scan_windows(
        tokens, offsets, k, g, key[TOKEN], flags, np.empty(size, np.uint64), np.empty(size, np.int64),
        entries, ends, starts, codes,
    )  # fmt: skip
    return Windows(entries[: ends[-1]].copy(), ends, starts[:found].copy(), codes[:found].copy())
