"""One text to its keys in one call, and to its elements only where somebody needs them.

The keys of a text need neither the set of its shingles nor their order: the smallest of some numbers is the same where
some of them stand twice. So what a look-up that finds nothing takes is words, their hashes and those of the shingles,
the sketch, and its bands. Where there is a candidate, or the text is stored, the shingles are sorted, and each stays
once (`finish_row`).
"""

from __future__ import annotations

import numpy as np

from lookalike.collide.band import band_row
from lookalike.index.packed_sets import ELEMENT_BITS
from lookalike.kernels.jit import device, kernel, peek, poke
from lookalike.kernels.kinds import array_of, int64, tuple_of
from lookalike.represent.decode import LOWER
from lookalike.represent.shingle_kernels import TextScratch, append_all, key_parts, word_shingles
from lookalike.represent.tokens import quick_row
from lookalike.represent.unicode import UnicodeTables
from lookalike.sketch.minhash import minhash_row
from lookalike.verify.jaccard import sort_row

__all__ = ["finish_row", "finish_text", "sketch_text"]

_CUT = np.uint64(64 - ELEMENT_BITS)
_ZERO, _ONE = np.uint64(0), np.uint64(1)
_WORD, _BIT, _SIX_BITS = np.uint64(62), np.uint64(56), np.uint64(63)
_WORDS, _NUMBERS, _SLOTS = array_of(np.uint64), array_of(np.int64), array_of(np.uint32, readonly=True)


@kernel(
    int64(
        *(array_of(np.uint8, readonly=True), int64, int64, int64, int64, int64, _SLOTS, _SLOTS),
        *(array_of(np.uint64, readonly=True), tuple_of(UnicodeTables, readonly=True), tuple_of(TextScratch)),
        *(_WORDS, _NUMBERS, array_of(np.uint32, 2), array_of(np.uint64, 2)),
    )
)
def sketch_text(data, shingled, k, flags, bands, rows, a, b, key, tables, s, values, ends, sketch, keys):
    """Make the sketch and the keys of a text: how many elements it has, repeated ones too, or -1.

    values[: ends[1]] are its elements: if it is not `shingled`, the hashes of its runs of k words. With -1 it has to
    be, by `shingle_rows`, and then to be given again.
    """
    if not shingled:
        count, _ = quick_row(data, 0, len(data), flags & LOWER != 0, tables, s)
        if count < 0:
            return -1
        n = word_shingles(s, count, k, key_parts(key))
        ends[1] = append_all(s.codes, n, values, 0)
    minhash_row(values, 0, ends[1], a, b, sketch, 0)
    band_row(sketch, 0, bands, rows, keys)
    return ends[1]


@device
def finish_row(values, n, spare, counts, elements, signature):
    """Sort the elements values[:n], leave each once, cut them and make their odd signature; how many they are.

    elements[:m] are the cut ones. signature[0, :4] is the odd signature of 256 bits: an element turns over that of the
    number that its upper eight bits are.
    """
    sort_row(values, 0, n, spare, counts)
    m = 0
    before = ~peek(values, 0) if n > 0 else _ZERO
    for i in range(n):
        x = peek(values, i)
        poke(values, m, x)
        m += np.int64(x != before)
        before = x
    # Four words that stay in registers: a bit in memory would be waited for by the next one.
    first, second, third, fourth = _ZERO, _ZERO, _ZERO, _ZERO
    for i in range(m):
        x = peek(values, i)
        poke(elements, i, x >> _CUT)
        bit, word = _ONE << ((x >> _BIT) & _SIX_BITS), x >> _WORD
        first ^= bit if word == 0 else _ZERO
        second ^= bit if word == 1 else _ZERO
        third ^= bit if word == 2 else _ZERO
        fourth ^= bit if word == 3 else _ZERO
    signature[0, 0], signature[0, 1], signature[0, 2], signature[0, 3] = first, second, third, fourth
    return m


@kernel(int64(_WORDS, _NUMBERS, _WORDS, _NUMBERS, _WORDS, array_of(np.uint64, 2)))
def finish_text(values, ends, spare, counts, elements, signature):
    """What `finish_row` does with the elements values[: ends[1]], which are ends[1] after that."""
    ends[1] = finish_row(values, ends[1], spare, counts, elements, signature)
    return ends[1]
