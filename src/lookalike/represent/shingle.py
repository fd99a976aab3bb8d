"""From UTF-8 bytes to sets of 64-bit shingle hashes, in one kernel over Arrow's string buffers.

The idea. A row goes through four short passes over scratch memory that stays in the cache:

    decode    bytes → code points, mapped through a frozen Unicode table (full case folding and NFC in one look-up)
    emit      code points → normalised UTF-8, and beside each byte a mark: does a token start or continue here?
    tokens    the marks, 64 bytes a step → where each token begins and ends, and its hash
    shingles  k tokens → one hash; each hash once, through a small hash table

Three shortcuts carry the speed. For words, `decode` and `emit` are one pass that takes sixteen bytes of ASCII a step. Tokens come out of the marks as bits of a 64-bit word, so that no
branch waits for a word's length. And a token of up to eight bytes is one load, one mask and one `mix`. A row with code points that may need reordering or composing (combining marks, conjoining jamo) takes the long
way: decompose, order, fold, compose, as UAX #15 says.

Marks, one byte each: 0 no token, 1 in a token, 3 a token starts here whatever stands before.

    "Vu déjà!"   →  v u d é . j à .        (é and à are two bytes each; separators need not be written)
                    3 1 3 1 1 1 1 1

The specification is docs/hash-spec.md; the slow twin is tests/reference/text.py.
"""

from __future__ import annotations

import numpy as np

from lookalike.jit import device, kernel, load_u64, peek, poke, trailing_zeros
from lookalike.represent.unicode import (
    CLASS_SHIFT,
    DIGIT,
    IGNORED,
    LONE,
    MARK,
    MULTI,
    OTHER,
    POINT_MASK,
    SLOW,
    SPACE,
)  # fmt: skip
from lookalike.spec import C1, C2, GOLDEN, TOKEN_FACTOR, hash_bytes, hash_span, mix

__all__ = ["ACCENTS", "BAG", "CHAR", "DIGITS", "LOWER", "PAD", "PUNCTUATION", "WHITESPACE", "scratch_sizes",
           "shingle_rows", "shingle_spans", "shingle_tokens"]  # fmt: skip

LOWER, ACCENTS, DIGITS, PUNCTUATION, WHITESPACE, CHAR, BAG = (1 << i for i in range(7))

# Tokens are read off in blocks of 64 marks, the last one behind the text, and hashed by eight-byte loads.
PAD = 136

_HIGH_BITS = np.uint64(0x8080808080808080)
_LOW_BITS = np.uint64(0x0101010101010101)
_GATHER = np.uint64(0x0102040810204080)
_TOP_BYTE = np.uint64(56)
_IN_TOKEN = 1
_STARTS_TOKEN = 3
_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_REPLACEMENT = 0xFFFD

_L, _V, _T, _S = 0x1100, 0x1161, 0x11A7, 0xAC00
_V_COUNT, _T_COUNT, _L_COUNT = 21, 28, 19
_S_COUNT = _L_COUNT * _V_COUNT * _T_COUNT


def scratch_sizes(longest: int) -> tuple[int, int, int]:
    """Sizes of the scratch arrays for a row of `longest` bytes: normalised bytes, code points, tokens.

    Bounds over all code points, checked by tests/represent/test_unicode_table.py: one input byte becomes at most
    3 bytes of normalised text (an invalid byte becomes U+FFFD), 2 code points on the way, and 1 token.
    """
    return 3 * longest + PAD, 2 * longest + PAD, longest + 2


@device
def _decode_one(data, at, end):  # type: ignore[no-untyped-def]
    """The code point at `at` and how many bytes it takes; -1 for an ill-formed part, as Python's decoder cuts it."""
    lead = np.int64(peek(data, at))
    if lead < 0x80:
        return lead, 1
    if lead < 0xC2 or lead > 0xF4:
        return -1, 1
    low, high, more, cp = 0x80, 0xBF, 1, lead & 0x1F
    if lead >= 0xF0:
        more, cp = 3, lead & 0x07
        if lead == 0xF0:
            low = 0x90
        elif lead == 0xF4:
            high = 0x8F
    elif lead >= 0xE0:
        more, cp = 2, lead & 0x0F
        if lead == 0xE0:
            low = 0xA0
        elif lead == 0xED:
            high = 0x9F
    for i in range(1, more + 1):
        if at + i >= end:
            return -1, i
        byte = np.int64(peek(data, at + i))
        if byte < low or byte > high:
            return -1, i
        low, high = 0x80, 0xBF
        cp = (cp << 6) | (byte & 0x3F)
    return cp, more + 1


@device
def _place(index, cp):  # type: ignore[no-untyped-def]
    return np.int64(peek(index, cp >> 7)) * 128 + (cp & 127)


@device
def _decode_quick(data, start, end, index, table, cls, expansion, cps, kinds, origin, want_origin):  # type: ignore[no-untyped-def]
    """Decode and map a row; (code points, invalid parts), or (-1, 0) if the row needs the long way."""
    n, invalid, at = 0, 0, start
    while at < end:
        cp, size = _decode_one(data, at, end)
        if cp < 0:
            cp = _REPLACEMENT
            invalid += 1
        entry = np.int64(peek(table, _place(index, cp)))
        if entry & (SLOW | MULTI):
            if entry & SLOW:
                return -1, 0
            offset = entry & POINT_MASK
            for i in range(np.int64(expansion[offset])):
                target = np.int64(expansion[offset + 1 + i])
                poke(cps, n, target)
                poke(kinds, n, cls[_place(index, target)])
                if want_origin:
                    origin[n] = at
                n += 1
        else:
            kind = (entry >> CLASS_SHIFT) & 7
            poke(cps, n, (cp + entry) & POINT_MASK)
            poke(kinds, n, kind)
            if want_origin:
                origin[n] = at
            n += np.int64(kind != IGNORED)
        at += size
    return n, invalid


@device
def _append_decomposed(cp, from_, index, decompose, expansion, cps, origin, n, want_origin):  # type: ignore[no-untyped-def]
    """Append the canonical decomposition of `cp`; the new length."""
    if _S <= cp < _S + _S_COUNT:
        syllable = cp - _S
        cps[n] = _L + syllable // (_V_COUNT * _T_COUNT)
        cps[n + 1] = _V + syllable % (_V_COUNT * _T_COUNT) // _T_COUNT
        size = 2
        if syllable % _T_COUNT:
            cps[n + 2] = _T + syllable % _T_COUNT
            size = 3
    else:
        offset = np.int64(decompose[_place(index, cp)])
        if offset == 0:
            cps[n] = cp
            size = 1
        else:
            size = np.int64(expansion[offset])
            for i in range(size):
                cps[n + i] = expansion[offset + 1 + i]
    if want_origin:
        for i in range(size):
            origin[n + i] = from_
    return n + size


@device
def _order_marks(cps, origin, n, index, ccc, want_origin):  # type: ignore[no-untyped-def]
    """Canonical ordering: within a run of marks, a stable insertion sort by combining class."""
    for i in range(1, n):
        rank = ccc[_place(index, np.int64(cps[i]))]
        if rank == 0:
            continue
        cp = cps[i]
        place = origin[i] if want_origin else 0
        j = i
        while j > 0 and ccc[_place(index, np.int64(cps[j - 1]))] > rank:
            cps[j] = cps[j - 1]
            if want_origin:
                origin[j] = origin[j - 1]
            j -= 1
        cps[j] = cp
        if want_origin:
            origin[j] = place


@device
def _composition(first, second, pair, composed):  # type: ignore[no-untyped-def]
    """The primary composite of two code points, or -1."""
    if _L <= first < _L + _L_COUNT and _V <= second < _V + _V_COUNT:
        return _S + ((first - _L) * _V_COUNT + (second - _V)) * _T_COUNT
    if _S <= first < _S + _S_COUNT and (first - _S) % _T_COUNT == 0 and _T < second < _T + _T_COUNT:
        return first + second - _T
    key = np.uint64((first << 21) | second)
    low, high = 0, len(pair)
    while low < high:
        middle = (low + high) >> 1
        if pair[middle] < key:
            low = middle + 1
        else:
            high = middle
    if low < len(pair) and pair[low] == key:
        return np.int64(composed[low])
    return -1


@device
def _compose(cps, origin, reach, n, index, ccc, pair, composed, want_origin):  # type: ignore[no-untyped-def]
    """Canonical composition in place; the new length. reach[i] is the last place in the row of cps[i]."""
    out, starter, last = 0, -1, np.int64(0)
    for i in range(n):
        cp = np.int64(cps[i])
        rank = np.int64(ccc[_place(index, cp)])
        if starter >= 0 and (starter == out - 1 or (last != 0 and last < rank)):
            whole = _composition(np.int64(cps[starter]), cp, pair, composed)
            if whole >= 0:
                cps[starter] = whole
                if want_origin:
                    reach[starter] = max(reach[starter], origin[i])
                continue
        if rank == 0:
            starter = out
        cps[out] = cp
        if want_origin:
            origin[out] = origin[i]
            reach[out] = origin[i]
        last = rank
        out += 1
    return out


@device
def _decode_slow(
    data, start, end, flags, index, cls, ccc, strip, decompose, casefold, expansion, pair, composed,
    cps, kinds, origin, spare, spare_origin, want_origin,
):  # type: ignore[no-untyped-def]  # fmt: skip
    """Decode a row by the book: drop the ignorable, NFD, strip accents, fold, NFC; (code points, invalid parts)."""
    n, invalid, at = 0, 0, start
    while at < end:
        cp, size = _decode_one(data, at, end)
        if cp < 0:
            cp = _REPLACEMENT
            invalid += 1
        if cls[_place(index, cp)] != IGNORED:
            n = _append_decomposed(cp, at, index, decompose, expansion, spare, spare_origin, n, want_origin)
        at += size
    _order_marks(spare, spare_origin, n, index, ccc, want_origin)
    m = 0
    for i in range(n):
        cp = np.int64(spare[i])
        place = _place(index, cp)
        if flags & ACCENTS and strip[place]:
            continue
        from_ = spare_origin[i] if want_origin else 0
        offset = np.int64(casefold[place]) if flags & LOWER else 0
        if offset == 0:
            cps[m] = cp
            if want_origin:
                origin[m] = from_
            m += 1
        else:
            for j in range(np.int64(expansion[offset])):
                folded = np.int64(expansion[offset + 1 + j])
                m = _append_decomposed(
                    folded, from_, index, decompose, expansion, cps, origin, m, want_origin
                )
    _order_marks(cps, origin, m, index, ccc, want_origin)
    m = _compose(cps, origin, spare_origin, m, index, ccc, pair, composed, want_origin)
    for i in range(m):
        kinds[i] = cls[_place(index, np.int64(cps[i]))]
    return m, invalid


@device
def _widen(origin, reach, n, end):  # type: ignore[no-untyped-def]
    """Let origin[i] : reach[i] be the bytes of the row that code point i comes from.

    Code points that one place of the row gave (ß is two s), or that changed places (marks), cannot be told
    apart in the row: they share their bytes. A border is where all that stands before it came before all that
    stands after it.
    """
    for i in range(1, n):
        reach[i] = max(reach[i], reach[i - 1])
    first, stop, last = end, end, n - 1
    for i in range(n - 1, -1, -1):
        first = min(first, origin[i])
        if i == 0 or reach[i - 1] < first:
            for j in range(i, last + 1):
                origin[j] = first
                reach[j] = stop
            stop, last = first, i - 1


@device
def _put(cp, out, o):  # type: ignore[no-untyped-def]
    """Write `cp` as UTF-8 at out[o]; how many bytes."""
    if cp < 0x80:
        poke(out, o, cp)
        return 1
    if cp < 0x800:
        poke(out, o, 0xC0 | (cp >> 6))
        poke(out, o + 1, 0x80 | (cp & 0x3F))
        return 2
    if cp < 0x10000:
        poke(out, o, 0xE0 | (cp >> 12))
        poke(out, o + 1, 0x80 | ((cp >> 6) & 0x3F))
        poke(out, o + 2, 0x80 | (cp & 0x3F))
        return 3
    poke(out, o, 0xF0 | (cp >> 18))
    poke(out, o + 1, 0x80 | ((cp >> 12) & 0x3F))
    poke(out, o + 2, 0x80 | ((cp >> 6) & 0x3F))
    poke(out, o + 3, 0x80 | (cp & 0x3F))
    return 4


@device
def _emit(cps, kinds, n, flags, origin, reach, out, marks, span, want_origin):  # type: ignore[no-untyped-def]
    """Write the normalised text and its marks; the number of bytes.

    In word mode separators are not written: the marks alone tell tokens apart. With `want_origin`, span[o] holds
    where in the row the code point written at byte o begins and ends.
    """
    o = 0
    running = 0  # 0 no token, 1 a word, 2 a token that began with LONE
    in_digits = False
    space_from = -1
    by_char = flags & CHAR != 0
    for i in range(n):
        cp = np.int64(peek(cps, i))
        kind = np.int64(peek(kinds, i))
        if flags & DIGITS:
            if kind == DIGIT:
                if in_digits:
                    if want_origin:
                        span[o - 1, 1] = reach[i]
                    continue
                in_digits = True
                cp = 0x30
            else:
                in_digits = False
        if flags & PUNCTUATION and kind == OTHER:
            kind = SPACE
            cp = 0x20
        if by_char:
            if flags & WHITESPACE:
                if kind == SPACE:
                    if space_from < 0:
                        space_from = i
                    continue
                if space_from >= 0:
                    if o > 0:
                        out[o] = 0x20
                        marks[o] = _STARTS_TOKEN
                        if want_origin:
                            span[o, 0] = origin[space_from]
                            span[o, 1] = reach[i - 1]
                        o += 1
                    space_from = -1
            first = _STARTS_TOKEN
        else:
            if kind == OTHER or kind == SPACE:
                running = 0
                continue
            if kind == LONE:
                first = _STARTS_TOKEN
                running = 2
            elif running == 0 or (running == 2 and kind != MARK):
                first = _STARTS_TOKEN
                running = 1
            else:
                first = _IN_TOKEN
        size = _put(cp, out, o)
        poke(marks, o, first)
        for j in range(1, size):
            poke(marks, o + j, _IN_TOKEN)
        if want_origin:
            for j in range(size):
                span[o + j, 0] = origin[i]
                span[o + j, 1] = reach[i]
        o += size
    return o


@device
def _quick_words(data, start, end, lower, index, table, cls, expansion, out, marks):  # type: ignore[no-untyped-def]
    """`decode` and `emit` in one for word mode: (bytes written, invalid parts), or (-1, 0) for the long way.

    Sixteen bytes of ASCII a step, as a loop of fixed length that LLVM turns into vector instructions; other code
    points one by one. A separator is one byte with the mark 0. ASCII after a token that began with LONE must be told
    to start one of its own; elsewhere the marks of the neighbours suffice.
    """
    bit = np.uint8(0x20) if lower else np.uint8(0)
    at, o, invalid, after_lone = start, 0, 0, False
    while at < end:
        if at + 16 <= end and (load_u64(data, at) | load_u64(data, at + 8)) & _HIGH_BITS == _ZERO:
            for i in range(16):
                c = peek(data, at + i)
                upper = np.uint8(np.uint8(c - np.uint8(65)) < np.uint8(26))
                alpha = np.uint8(np.uint8((c | np.uint8(0x20)) - np.uint8(97)) < np.uint8(26))
                digit = np.uint8(np.uint8(c - np.uint8(48)) < np.uint8(10))
                connector = np.uint8(c == np.uint8(95))
                poke(out, o + i, c | np.uint8(upper * bit))
                poke(marks, o + i, alpha | digit | connector)
            if after_lone:
                poke(marks, o, peek(marks, o) * np.uint8(_STARTS_TOKEN))
                after_lone = False
            at += 16
            o += 16
            continue
        cp, size = _decode_one(data, at, end)
        at += size
        if cp < 0:
            cp = _REPLACEMENT
            invalid += 1
        entry = np.int64(peek(table, _place(index, cp)))
        more, offset = 1, 0
        if entry & (SLOW | MULTI):
            if entry & SLOW:
                return -1, 0
            offset = entry & POINT_MASK
            more = np.int64(expansion[offset])
        for i in range(more):
            if offset > 0:
                target = np.int64(expansion[offset + 1 + i])
                kind = np.int64(cls[_place(index, target)])
            else:
                target = (cp + entry) & POINT_MASK
                kind = (entry >> CLASS_SHIFT) & 7
            if kind == IGNORED:
                continue
            if kind <= SPACE:
                poke(marks, o, 0)
                o += 1
                after_lone = False
                continue
            size = _put(target, out, o)
            first = _IN_TOKEN
            if kind == LONE:
                first = _STARTS_TOKEN
                after_lone = True
            elif after_lone and kind != MARK:
                first = _STARTS_TOKEN
                after_lone = False
            poke(marks, o, first)
            for j in range(1, size):
                poke(marks, o + j, _IN_TOKEN)
            o += size
    return o, invalid


@device
def _bits(marks, at, shift):  # type: ignore[no-untyped-def]
    """One bit of each of 64 marks, as a 64-bit word: eight marks are gathered by one multiplication."""
    word = _ZERO
    for i in range(8):
        eight = (load_u64(marks, at + 8 * i) >> shift) & _LOW_BITS
        word |= ((eight * _GATHER) >> _TOP_BYTE) << np.uint64(8 * i)
    return word


@device
def _tokens(marks, n, places, ends):  # type: ignore[no-untyped-def]
    """Where each token begins and ends; the number of tokens.

    A token begins where a mark says so or where none runs before, and ends in front of a mark that does not go on. The
    t-th beginning and the t-th end belong together, so the two are read off separately.
    """
    count, ended = 0, 0
    before = _ZERO
    for at in range(0, n + 1, 64):
        inside = _bits(marks, at, _ZERO)
        forced = _bits(marks, at, _ONE)
        shifted = (inside << _ONE) | before
        before = inside >> np.uint64(63)
        begins = inside & (forced | ~shifted)
        stops = shifted & (forced | ~inside)
        while begins != _ZERO:
            poke(places, count, at + trailing_zeros(begins))
            begins &= begins - _ONE
            count += 1
        while stops != _ZERO:
            poke(ends, ended, at + trailing_zeros(stops))
            stops &= stops - _ONE
            ended += 1
    return count


@device
def _word_shingles(out, places, ends, count, k, hashes, codes):  # type: ignore[no-untyped-def]
    """codes[i] = the hash of the i-th run of k tokens; how many. A rolling sum drops the token k back."""
    for t in range(count):
        start = np.int64(peek(places, t))
        poke(hashes, t, hash_span(out, start, np.int64(peek(ends, t)) - start, _ZERO))
    return _token_shingles(hashes, count, k, codes)


@device
def _token_shingles(hashes, count, k, codes):  # type: ignore[no-untyped-def]
    factor, rolling = _ONE, _ZERO
    for _ in range(k):
        factor *= TOKEN_FACTOR
    k = min(k, count)
    salt = np.uint64(k) * GOLDEN
    for t in range(k):
        rolling = rolling * TOKEN_FACTOR + peek(hashes, t)
    if k > 0:
        poke(codes, 0, mix(rolling + salt))
    for t in range(k, count):
        rolling = rolling * TOKEN_FACTOR + peek(hashes, t) - peek(hashes, t - k) * factor
        poke(codes, t - k + 1, mix(rolling + salt))
    return count - k + 1 if k > 0 else 0


@device
def _char_shingles(out, places, ends, count, k, codes):  # type: ignore[no-untyped-def]
    """codes[i] = the hash of the UTF-8 bytes of the i-th run of k characters; how many."""
    k = min(k, count)
    if k == 0:
        return 0
    for i in range(count - k + 1):
        start = np.int64(peek(places, i))
        poke(codes, i, hash_span(out, start, np.int64(peek(ends, i + k - 1)) - start, _ZERO))
    return count - k + 1


@device
def _emptied(n, table):  # type: ignore[no-untyped-def]
    """The mask of a hash table of at least 2n slots, emptied."""
    capacity = 16
    while capacity < 2 * n:
        capacity *= 2
    for i in range(capacity):
        poke(table, i, _ZERO)
    return np.uint64(capacity - 1)


@device
def _find(x, table, mask):  # type: ignore[no-untyped-def]
    """The slot of x in the table, or the empty one (0) where it belongs, by linear probing."""
    slot = np.int64(x & mask)
    there = peek(table, slot)
    while there != _ZERO and there != x:
        slot = (slot + 1) & np.int64(mask)
        there = peek(table, slot)
    return slot, there


@device
def _distinct(codes, n, table, values, v):  # type: ignore[no-untyped-def]
    """Append each code once to values[v:]; how many."""
    mask = _emptied(n, table)
    begun = v
    for i in range(n):
        x = peek(codes, i)
        # 0 marks an empty slot, so the specification has G for a hash of 0.
        x = x if x != _ZERO else GOLDEN
        slot, there = _find(x, table, mask)
        poke(table, slot, x)
        poke(values, v, x)
        v += np.int64(there == _ZERO)
    return v - begun


@device
def _counted(codes, n, table, counts, values, v):  # type: ignore[no-untyped-def]
    """Append each code once and its j-th further occurrence as mix(x + j·G), so that a bag is a set; how many."""
    mask = _emptied(n, table)
    for i in range(n):
        x = peek(codes, i)
        x = x if x != _ZERO else GOLDEN
        slot, there = _find(x, table, mask)
        if there == _ZERO:
            poke(table, slot, x)
            poke(counts, slot, 0)
        else:
            times = peek(counts, slot) + 1
            poke(counts, slot, times)
            x = mix(x + np.uint64(times) * GOLDEN)
        poke(values, v + i, x)
    return n


@device
def _fingerprint(values, start, size):  # type: ignore[no-untyped-def]
    first, second = _ZERO, _ZERO
    for i in range(size):
        x = peek(values, start + i)
        first += mix(x ^ C1)
        second += mix(x + C2)
    return first, second


@device
def _row_tokens(
    data, start, end, flags, index, fold, keep, cls, ccc, strip, decompose, casefold, expansion, pair, composed,
    out, marks, cps, kinds, spare, origin, spare_origin, span, places, ends, want_origin,
):  # type: ignore[no-untyped-def]  # fmt: skip
    """Normalise one row and cut it into tokens; (number of tokens, invalid parts)."""
    n, invalid = -1, 0
    table = fold if flags & LOWER else keep
    if flags & (CHAR | DIGITS | ACCENTS) == 0 and not want_origin:
        n, invalid = _quick_words(
            data, start, end, flags & LOWER != 0, index, table, cls, expansion, out, marks
        )
    if n < 0:
        m = -1
        if flags & ACCENTS == 0:
            m, invalid = _decode_quick(
                data, start, end, index, table, cls, expansion, cps, kinds, origin, want_origin
            )
        if m < 0:
            m, invalid = _decode_slow(
                data, start, end, flags, index, cls, ccc, strip, decompose, casefold, expansion, pair, composed,
                cps, kinds, origin, spare, spare_origin, want_origin,
            )  # fmt: skip
        elif want_origin:
            spare_origin[:m] = origin[:m]
        if want_origin:
            _widen(origin, spare_origin, m, end)
        n = _emit(cps, kinds, m, flags, origin, spare_origin, out, marks, span, want_origin)
    for i in range(n, n + PAD):
        marks[i] = 0
    return _tokens(marks, n, places, ends), invalid


_BYTES = "Array(uint8,1,'C',readonly=True)"
_OFFSETS = "Array(int64,1,'C',readonly=True)"
_TABLES = (
    f"Array(uint16,1,'C',readonly=True), Array(uint32,1,'C',readonly=True), Array(uint32,1,'C',readonly=True), "
    f"{_BYTES}, {_BYTES}, {_BYTES}, "
    f"Array(uint16,1,'C',readonly=True), Array(uint16,1,'C',readonly=True), Array(uint32,1,'C',readonly=True), "
    f"Array(uint64,1,'C',readonly=True), Array(uint32,1,'C',readonly=True)"
)
_SCRATCH = "uint8[::1], uint8[::1], uint32[::1], uint8[::1], uint32[::1], int32[::1], int32[::1], uint64[::1], uint64[::1]"


@kernel(
    f"void({_BYTES}, {_OFFSETS}, int64, int64, {_TABLES}, {_SCRATCH}, "
    "uint64[::1], int32[::1], uint64[::1], int64[::1], uint64[:,::1], int64[::1])"
)
def shingle_rows(
    data, offsets, k, flags,
    index, fold, keep, cls, ccc, strip, decompose, casefold, expansion, pair, composed,
    out, marks, cps, kinds, spare, places, ends, hashes, codes,
    table, counts, values, row_ends, fingerprints, tally,
):  # type: ignore[no-untyped-def]  # fmt: skip
    """Shingle every row data[offsets[i] : offsets[i+1]].

    values[row_ends[i] : row_ends[i+1]] are the row's distinct elements in order of first occurrence, and
    fingerprints[i] the 128 bits of its set. tally counts the rows with invalid UTF-8, and those with fewer than k tokens.
    """
    nowhere = np.empty(0, np.int64)
    no_span = np.empty((0, 2), np.int64)
    tally[:] = 0
    v = 0
    row_ends[0] = 0
    for row in range(len(offsets) - 1):
        start, end = offsets[row], offsets[row + 1]
        count, invalid = _row_tokens(
            data, start, end, flags,
            index, fold, keep, cls, ccc, strip, decompose, casefold, expansion, pair, composed,
            out, marks, cps, kinds, spare, nowhere, nowhere, no_span, places, ends, False,
        )  # fmt: skip
        tally[0] += np.int64(invalid > 0)
        tally[1] += np.int64(0 < count < k)
        if flags & CHAR:
            n = _char_shingles(out, places, ends, count, k, codes)
        else:
            n = _word_shingles(out, places, ends, count, k, hashes, codes)
        if n == 0:
            size = 0
            first = hash_bytes(data, start, end - start, C1)
            second = hash_bytes(data, start, end - start, C2)
        else:
            if flags & BAG:
                size = _counted(codes, n, table, counts, values, v)
            else:
                size = _distinct(codes, n, table, values, v)
            first, second = _fingerprint(values, v, size)
        v += size
        row_ends[row + 1] = v
        fingerprints[row, 0] = first
        fingerprints[row, 1] = second


@kernel(
    f"int64({_BYTES}, int64, int64, {_TABLES}, {_SCRATCH}, int64[::1], int64[::1], int64[:,::1], int64[:,::1])"
)
def shingle_spans(
    data, k, flags,
    index, fold, keep, cls, ccc, strip, decompose, casefold, expansion, pair, composed,
    out, marks, cps, kinds, spare, places, ends, hashes, codes,
    origin, spare_origin, span, spans,
):  # type: ignore[no-untyped-def]  # fmt: skip
    """Every shingle of one text with the bytes it stands on: codes[i] is at data[spans[i,0] : spans[i,1]].

    For showing what two items share. Returns how many shingles, repeated ones each time. A span takes all of
    a character that became several, and all of a run of digits that became one.
    """
    count, _ = _row_tokens(
        data, 0, len(data), flags,
        index, fold, keep, cls, ccc, strip, decompose, casefold, expansion, pair, composed,
        out, marks, cps, kinds, spare, origin, spare_origin, span, places, ends, True,
    )  # fmt: skip
    if flags & CHAR:
        n = _char_shingles(out, places, ends, count, k, codes)
    else:
        n = _word_shingles(out, places, ends, count, k, hashes, codes)
    for i in range(n):
        spans[i, 0] = span[places[i], 0]
        spans[i, 1] = span[ends[min(i + k, count) - 1] - 1, 1]
    return n


@kernel(
    f"void(Array(uint64,1,'C',readonly=True), {_OFFSETS}, int64, int64, uint64[::1], "
    "uint64[::1], int32[::1], uint64[::1], int64[::1], uint64[:,::1])"
)
def shingle_tokens(hashes, offsets, k, flags, codes, table, counts, values, row_ends, fingerprints):  # type: ignore[no-untyped-def]
    """Shingle rows whose tokens were cut and hashed elsewhere (a callable's tokens); as `shingle_rows`.

    With k = 0 the hashes are the elements themselves (sets that the user brought). A row without tokens gets the
    fingerprint (0, 0): the caller knows its raw bytes.
    """
    v = 0
    row_ends[0] = 0
    for row in range(len(offsets) - 1):
        start, end = offsets[row], offsets[row + 1]
        if k > 0:
            n = _token_shingles(hashes[start:end], end - start, k, codes)
        else:
            n = end - start
            for i in range(n):
                codes[i] = hashes[start + i]
        if flags & BAG:
            size = _counted(codes, n, table, counts, values, v)
        else:
            size = _distinct(codes, n, table, values, v)
        first, second = _fingerprint(values, v, size)
        v += size
        row_ends[row + 1] = v
        fingerprints[row, 0] = first
        fingerprints[row, 1] = second
