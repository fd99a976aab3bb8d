"""From UTF-8 bytes to sets of 64-bit shingle hashes, in one kernel over Arrow's string buffers.

A row goes through short passes over scratch memory that stays in the cache:

    decode    bytes → code points, mapped through a frozen Unicode table        (decode.py)
    tokens    normalised UTF-8 and where each token begins and ends            (tokens.py)
    shingles  a hash for each token, then for each run of k tokens
    distinct  each hash once, through a small hash table

A token of up to eight bytes is hashed by one load, one mask and two products with the key of the run. The
specification is docs/hash-spec.md; the slow twin is twin/text.py.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lookalike.kernels.chosen_hashes import count_before, steps_allowed
from lookalike.kernels.jit import device, fold, kernel, load_u64, peek, poke
from lookalike.kernels.kinds import array_of, int64, tuple_of, void
from lookalike.key import TOKEN
from lookalike.represent.decode import ACCENTS, LOWER
from lookalike.represent.tokens import CHAR, DIGITS, PAD, PUNCTUATION, WHITESPACE, full_row, quick_row
from lookalike.represent.unicode import UnicodeTables
from lookalike.spec import C1, C2, GOLDEN, hash_bytes, hash_span, mix, span_key

__all__ = [
    "ACCENTS",
    "BAG",
    "CHAR",
    "DIGITS",
    "EVERY",
    "LOWER",
    "PAD",
    "PUNCTUATION",
    "WHITESPACE",
    "TextScratch",
    "append_all",
    "key_parts",
    "scratch_sizes",
    "shingle_rows",
    "shingle_tokens",
    "shingle_words",
    "word_shingles",
]

BAG = 64
EVERY = 128

_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_ONES = np.uint64(2**64 - 1)
# Tokens of a shingle beyond which a rolling sum is faster, and shingles whose sums are made together, in the cache.
_LONG_SHINGLE, _BLOCK = 16, 1024


class TextScratch(NamedTuple):
    """The memory that one row is worked on in; `scratch_sizes` says how much."""

    out: NDArray[np.uint8]
    marks: NDArray[np.uint8]
    cps: NDArray[np.uint32]
    kinds: NDArray[np.uint8]
    spare: NDArray[np.uint32]
    places: NDArray[np.int32]
    ends: NDArray[np.int32]
    hashes: NDArray[np.uint64]
    codes: NDArray[np.uint64]
    table: NDArray[np.uint64]
    counts: NDArray[np.int32]


def scratch_sizes(longest: int) -> tuple[int, int, int, int]:
    """Sizes for a row of `longest` bytes: normalised bytes, code points, tokens, slots of the hash table.

    Bounds over all code points, checked by tests/represent/test_unicode_table.py: one input byte becomes at most 3
    bytes of normalised text (an invalid byte becomes U+FFFD), 2 code points on the way, and 1 token. There is room
    for some more, since tokens are read off several at a time.
    """
    slots = 16
    while slots < 2 * longest:
        slots *= 2
    return 3 * longest + PAD, 2 * longest + PAD, longest + PAD, slots


@device
def key_parts(key):
    """The key of spans, and the factor of tokens."""
    return span_key(key), key[TOKEN]


@device
def word_shingles(s, count, k, key):
    """s.codes[i] = the hash of the i-th run of k words; how many.

    All words are hashed as if they had up to eight bytes, and then the longer ones again: which of them are long nobody
    can foresee, neither can the processor.
    """
    length, factor, last = key[0]
    longer = 0
    for t in range(count):
        start = np.int64(peek(s.places, t))
        size = np.int64(peek(s.ends, t)) - start
        lane = load_u64(s.out, start) & (_ONES >> np.uint64(64 - 8 * min(size, 8)))
        poke(s.hashes, t, fold(fold((np.uint64(size + 1) * length) ^ lane, factor), last))
        poke(s.counts, longer, t)
        longer += np.int64(size > 8)
    for i in range(longer):
        t = np.int64(peek(s.counts, i))
        start = np.int64(peek(s.places, t))
        poke(s.hashes, t, hash_span(s.out, start, np.int64(peek(s.ends, t)) - start, _ZERO, key[0]))
    return _token_shingles(s.hashes, count, k, key[1], s.codes)


@device
def _char_shingles(s, count, k, key):
    """The same for runs of k characters, which lie together in the normalised text: each is one span of bytes."""
    k = min(k, count)
    if k == 0:
        return 0
    for i in range(count - k + 1):
        start = np.int64(peek(s.places, i))
        poke(s.codes, i, hash_span(s.out, start, np.int64(peek(s.ends, i + k - 1)) - start, _ZERO, key[0]))
    return count - k + 1


@device
def _token_shingles(hashes, count, k, multiplier, codes):
    """codes[i] = the hash of the tokens i … i + k - 1, or of all if there are fewer than k; how many.

    Σ hash·multiplier^(k - 1 - j) by Horner, one token after another for a block of shingles: no sum waits for another
    one, so that LLVM makes vector instructions of it.
    """
    k = min(k, count)
    if k == 0:
        return 0
    if k > _LONG_SHINGLE:
        return _rolling_shingles(hashes, count, k, multiplier, codes)
    n, salt = count - k + 1, np.uint64(k) * GOLDEN
    for begin in range(0, n, _BLOCK):
        end = min(begin + _BLOCK, n)
        for i in range(begin, end):
            poke(codes, i, peek(hashes, i))
        for j in range(1, k):
            for i in range(begin, end):
                poke(codes, i, peek(codes, i) * multiplier + peek(hashes, i + j))
        for i in range(begin, end):
            poke(codes, i, mix(peek(codes, i) + salt))
    return n


@device
def _rolling_shingles(hashes, count, k, multiplier, codes):
    """The same by a rolling sum, which takes in one token and drops the one k back: as fast for every k."""
    factor, rolling = _ONE, _ZERO
    for _ in range(k):
        factor *= multiplier
    salt = np.uint64(k) * GOLDEN
    for t in range(k):
        rolling = rolling * multiplier + peek(hashes, t)
    poke(codes, 0, mix(rolling + salt))
    for t in range(k, count):
        rolling = rolling * multiplier + peek(hashes, t) - peek(hashes, t - k) * factor
        poke(codes, t - k + 1, mix(rolling + salt))
    return count - k + 1


@device
def _emptied(n, table):
    """The mask of a hash table of at least 2n slots, emptied."""
    capacity = 16
    while capacity < 2 * n:
        capacity *= 2
    for i in range(capacity):
        poke(table, i, _ZERO)
    return np.uint64(capacity - 1)


@device
def _find(x, table, mask, left):
    """The slot of x in the table, or the empty one (0) where it belongs, by linear probing; and the steps still left.

    With no steps left it is any slot: the caller notices at the end, and does without the table.
    """
    slot = np.int64(x & mask)
    there = peek(table, slot)
    while there != _ZERO and there != x and left > 0:
        slot = (slot + 1) & np.int64(mask)
        there = peek(table, slot)
        left -= 1
    return slot, there, left


@device
def append_all(codes, n, values, v):
    """Append all codes, repeated ones too; how many."""
    for i in range(n):
        x = peek(codes, i)
        poke(values, v + i, x if x != _ZERO else GOLDEN)
    return n


@device
def _distinct(codes, n, table, counts, values, v):
    """Append each code once to values[v:]; how many."""
    mask = _emptied(n, table)
    begun, left = v, steps_allowed(n)
    for i in range(n):
        x = peek(codes, i)
        # 0 marks an empty slot, so the specification has G for a hash of 0.
        x = x if x != _ZERO else GOLDEN
        slot, there, left = _find(x, table, mask, left)
        poke(table, slot, x)
        poke(values, v, x)
        v += np.int64(there == _ZERO)
    if left == 0:
        append_all(codes, n, values, begun)
        count_before(values, begun, n, table, counts)
        v = begun
        for i in range(n):
            poke(values, v, peek(values, begun + i))
            v += np.int64(peek(counts, n + i) == 0)
    return v - begun


@device
def _counted(codes, n, table, counts, values, v):
    """Append each code once and its j-th further occurrence as mix(x + j·G), so that a bag is a set; how many."""
    mask = _emptied(n, table)
    left = steps_allowed(n)
    for i in range(n):
        x = peek(codes, i)
        x = x if x != _ZERO else GOLDEN
        slot, there, left = _find(x, table, mask, left)
        if there == _ZERO:
            poke(table, slot, x)
            poke(counts, slot, 0)
        else:
            times = peek(counts, slot) + 1
            poke(counts, slot, times)
            x = mix(x + np.uint64(times) * GOLDEN)
        poke(values, v + i, x)
    if left == 0:
        append_all(codes, n, values, v)
        count_before(values, v, n, table, counts)
        for i in range(n):
            times = peek(counts, n + i)
            if times > 0:
                poke(values, v + i, mix(peek(values, v + i) + np.uint64(times) * GOLDEN))
    return n


@device
def _fingerprint(values, start, size):
    first, second = _ZERO, _ZERO
    for i in range(size):
        x = peek(values, start + i)
        first += mix(x ^ C1)
        second += mix(x + C2)
    return first, second


@device
def _raw_fingerprint(data, start, end, key):
    return hash_bytes(data, start, end - start, C1, key), hash_bytes(data, start, end - start, C2, key)


_BYTES = array_of(np.uint8, readonly=True)
_OFFSETS = array_of(np.int64, readonly=True)
_TABLES = tuple_of(UnicodeTables, readonly=True)
_SCRATCH = tuple_of(TextScratch)
_VALUES = array_of(np.uint64)
_NUMBERS = array_of(np.int64)
_TWO_BY_N = array_of(np.uint64, 2)


_KEY = array_of(np.uint64, readonly=True)
_ROWS = int64(
    *(_BYTES, _OFFSETS, int64, int64, int64, _KEY, _TABLES, _SCRATCH),
    *(_VALUES, _NUMBERS, _TWO_BY_N, _NUMBERS),
)


@kernel(_ROWS)
def shingle_words(data, offsets, row, k, flags, key, tables, s, values, row_ends, fingerprints, tally):
    """Shingle the rows data[offsets[i] : offsets[i+1]] from `row` on: sets of words, no option but LOWER and EVERY.

    values[row_ends[i] : row_ends[i+1]] are the row's distinct elements in order of first occurrence (with EVERY, all
    elements as they occur); fingerprints[i] are the 128 bits of its set. tally counts the rows with invalid UTF-8 and
    those with fewer than k tokens; tally[2] is the number of tokens of the last row. Stops in front of a row that needs
    `shingle_rows` and returns it; otherwise returns the number of rows.
    """
    parts = key_parts(key)
    while row < len(offsets) - 1:
        start, end = offsets[row], offsets[row + 1]
        count, invalid = quick_row(data, start, end, flags & LOWER != 0, tables, s)
        if count < 0:
            break
        n = word_shingles(s, count, k, parts)
        v = row_ends[row]
        if flags & EVERY:
            size = append_all(s.codes, n, values, v)
        else:
            size = _distinct(s.codes, n, s.table, s.counts, values, v)
        row_ends[row + 1] = v + size
        if size > 0:
            fingerprints[row, 0], fingerprints[row, 1] = _fingerprint(values, v, size)
        else:
            fingerprints[row, 0], fingerprints[row, 1] = _raw_fingerprint(data, start, end, parts[0])
        tally[0] += np.int64(invalid > 0)
        tally[1] += np.int64(0 < count < k)
        tally[2] = count
        row += 1
    return row


@kernel(int64(*_ROWS.args, _NUMBERS, _NUMBERS, array_of(np.int64, 2), array_of(np.int64, 2)))
def shingle_rows(
    data, offsets, row, k, flags, key, tables, s, values, row_ends, fingerprints, tally, origin, reach, span, spans
):
    """Shingle under any options, as `shingle_words`: one row if that can go on after it, else all from `row` on.

    Apart from it because most runs never need this one, and compiling it takes as long again.

    If `spans` has room, it is also told where each shingle of a row stands: the i-th, s.codes[i], at
    data[spans[i,0] : spans[i,1]], repeated ones each time. Those bytes, shingled alone, have
    the shingle among theirs (where a character became several, or a run of digits one, the span takes all of it).
    """
    want_spans = len(spans) > 0
    parts = key_parts(key)
    last = row + 1 if flags & ~(LOWER | EVERY) == 0 else len(offsets) - 1
    while row < last:
        start, end = offsets[row], offsets[row + 1]
        count, invalid = full_row(data, start, end, flags, tables, s, origin, reach, span, want_spans)
        n = _char_shingles(s, count, k, parts) if flags & CHAR else word_shingles(s, count, k, parts)
        tally[2] = count
        if want_spans:
            for i in range(n):
                spans[i, 0] = span[s.places[i], 0]
                spans[i, 1] = span[s.ends[min(i + k, count) - 1] - 1, 1]
        v = row_ends[row]
        if flags & EVERY:
            size = append_all(s.codes, n, values, v)
        elif flags & BAG:
            size = _counted(s.codes, n, s.table, s.counts, values, v)
        else:
            size = _distinct(s.codes, n, s.table, s.counts, values, v)
        row_ends[row + 1] = v + size
        if size > 0:
            fingerprints[row, 0], fingerprints[row, 1] = _fingerprint(values, v, size)
        else:
            fingerprints[row, 0], fingerprints[row, 1] = _raw_fingerprint(data, start, end, parts[0])
        tally[0] += np.int64(invalid > 0)
        tally[1] += np.int64(0 < count < k)
        row += 1
    return row


@kernel(
    void(
        *(array_of(np.uint64, readonly=True), _OFFSETS, int64, int64, _KEY, _SCRATCH),
        *(_VALUES, _NUMBERS, _TWO_BY_N),
    )
)
def shingle_tokens(hashes, offsets, k, flags, key, s, values, row_ends, fingerprints):
    """Shingle rows whose tokens were cut and hashed elsewhere (a callable's tokens); as `shingle_words`.

    With k = 0 the hashes are the elements themselves (sets that the user brought). A row without tokens gets the
    fingerprint (0, 0): the caller knows its raw bytes.
    """
    row_ends[0] = 0
    for row in range(len(offsets) - 1):
        start, end = offsets[row], offsets[row + 1]
        if k > 0:
            n = _token_shingles(hashes[start:end], end - start, k, key[TOKEN], s.codes)
        else:
            n = end - start
            for i in range(n):
                s.codes[i] = hashes[start + i]
        v = row_ends[row]
        if flags & EVERY:
            size = append_all(s.codes, n, values, v)
        elif flags & BAG:
            size = _counted(s.codes, n, s.table, s.counts, values, v)
        else:
            size = _distinct(s.codes, n, s.table, s.counts, values, v)
        row_ends[row + 1] = v + size
        fingerprints[row, 0], fingerprints[row, 1] = _fingerprint(values, v, size)
