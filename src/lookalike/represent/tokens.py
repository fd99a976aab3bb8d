"""From a row's bytes to its tokens: normalised UTF-8, and where in it each token begins and ends.

Beside each byte of the normalised text stands a mark: 0 no token, 1 in a token, 3 a token starts here whatever stands
before.

    "Vu déjà!"   →  v u d é . j à .        (é and à are two bytes each; separators need not be written)
                    3 1 3 1 1 1 1 1

Two shortcuts carry the speed. For words, `decode` and `emit` are one pass that takes sixteen bytes of ASCII a step. And
tokens come out of the marks as bits of a 64-bit word, so that no branch waits for a word's length.
"""

from __future__ import annotations

import numpy as np

from lookalike.kernels.jit import byte_bits, device, load_u64, peek, poke, trailing_zeros
from lookalike.kernels.simd import pop_count
from lookalike.represent.decode import (
    ACCENTS,
    LOWER,
    REPLACEMENT,
    decode_one,
    decode_quick,
    decode_slow,
    encode_one,
    place,
)
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
)

__all__ = ["CHAR", "DIGITS", "PAD", "PUNCTUATION", "WHITESPACE", "full_row", "quick_row"]

DIGITS, PUNCTUATION, WHITESPACE, CHAR = 4, 8, 16, 32

# Tokens are read off in blocks of 64 marks, the last one behind the text, and hashed by eight-byte loads.
PAD = 136

_IN_TOKEN = 1
_STARTS_TOKEN = 3

_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_TOP_BIT = np.uint64(63)
_HIGH_BITS = np.uint64(0x8080808080808080)
# Tokens that 64 bytes of text hardly ever have more of.
_MOSTLY = 12


@device
def quick_row(data, start, end, lower, tables, s):
    """Cut data[start:end] into words, the common way: (number of tokens, invalid parts), or (-1, 0) for `full_row`.

    Token t is s.out[s.places[t] : s.ends[t]].
    """
    quick = tables.fold if lower else tables.keep
    n, invalid = _quick_words(data, start, end, lower, quick, tables, s.out, s.marks)
    if n < 0:
        return -1, 0
    return _cut(s.marks, n, s.places, s.ends), invalid


@device
def full_row(data, start, end, flags, tables, s, origin, reach, span, want_origin):
    """Cut data[start:end] into words or characters under any options: (number of tokens, invalid parts).

    With `want_origin`, span[o] tells where in the row the code point written at byte o begins and ends.
    """
    if flags & (CHAR | DIGITS | PUNCTUATION) == CHAR and not want_origin and _is_ascii(data, start, end):
        return _ascii_chars(data, start, end, flags, s.out, s.places, s.ends), 0
    m, invalid = -1, 0
    if flags & ACCENTS == 0:
        quick = tables.fold if flags & LOWER else tables.keep
        m, invalid = decode_quick(data, start, end, quick, tables, s.cps, s.kinds, origin, want_origin)
    if m < 0:
        m, invalid = decode_slow(data, start, end, flags, tables, s.cps, s.kinds, s.spare, origin, reach, want_origin)
    elif want_origin:
        for i in range(m):
            reach[i] = origin[i]
    if want_origin:
        _widen(origin, reach, m, end)
    n = _emit(s.cps, s.kinds, m, flags, origin, reach, s.out, s.marks, span, want_origin)
    return _cut(s.marks, n, s.places, s.ends), invalid


@device
def _quick_words(data, start, end, lower, quick, tables, out, marks):
    """`decode` and `emit` in one for word mode: (bytes written, invalid parts), or (-1, 0) for the long way.

    Sixteen bytes of ASCII a step, as a loop of fixed length that LLVM turns into vector instructions; other code points
    one by one. A separator is one byte with the mark 0. ASCII after a token that began with LONE must be told to start
    one of its own; elsewhere the marks of the neighbours suffice.
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
        cp, size = decode_one(data, at, end)
        at += size
        if cp < 0:
            cp = REPLACEMENT
            invalid += 1
        entry = np.int64(peek(quick, place(tables.index, cp)))
        more, offset = 1, 0
        if entry & (SLOW | MULTI):
            if entry & SLOW:
                return -1, 0
            offset = entry & POINT_MASK
            more = np.int64(tables.expansion[offset])
        for i in range(more):
            if offset > 0:
                target = np.int64(tables.expansion[offset + 1 + i])
                kind = np.int64(tables.cls[place(tables.index, target)])
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
            first = _IN_TOKEN
            if kind == LONE:
                first = _STARTS_TOKEN
                after_lone = True
            elif after_lone and kind != MARK:
                first = _STARTS_TOKEN
                after_lone = False
            size = encode_one(target, out, o)
            poke(marks, o, first)
            for j in range(1, size):
                poke(marks, o + j, _IN_TOKEN)
            o += size
    return o, invalid


@device
def _is_ascii(data, start, end):
    seen = np.uint8(0)
    for i in range(end - start):
        seen |= peek(data, start + i)
    return seen < 0x80


@device
def _ascii_chars(data, start, end, flags, out, places, ends):
    """The characters of a row of plain ASCII: each byte is one; the number of them."""
    o = 0
    waiting = False
    for i in range(start, end):
        c = np.int64(peek(data, i))
        if flags & WHITESPACE and (c == 0x20 or 9 <= c <= 13):
            waiting = o > 0
            continue
        if waiting:
            poke(out, o, 0x20)
            o += 1
            waiting = False
        if flags & LOWER and 65 <= c <= 90:
            c += 32
        poke(out, o, c)
        o += 1
    for t in range(o):
        poke(places, t, t)
        poke(ends, t, t + 1)
    return o


@device
def _widen(origin, reach, n, end):
    """Let origin[i] : reach[i] be the bytes of the row that code point i comes from.

    Code points that one place of the row gave (ß is two s), or that changed places (marks), cannot be told apart in the
    row: they share their bytes. A border is where all that stands before came from before all that stands after.
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
def _emit(cps, kinds, n, flags, origin, reach, out, marks, span, want_origin):
    """Write the normalised text and its marks; the number of bytes. For words, separators are not written."""
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
        first = _STARTS_TOKEN
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
        else:
            if kind <= SPACE:
                running = 0
                continue
            if kind == LONE:
                running = 2
            elif running == 0 or (running == 2 and kind != MARK):
                running = 1
            else:
                first = _IN_TOKEN
        size = encode_one(cp, out, o)
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
def _cut(marks, n, places, ends):
    """Where each token begins and ends; the number of tokens.

    A token begins where a mark says so or where none runs before, and ends in front of a mark that does not go on. The
    t-th beginning and the t-th end belong together, so the two are read off separately.
    """
    for i in range(n, n + PAD):
        poke(marks, i, 0)
    count, ended = 0, 0
    before = _ZERO
    for at in range(0, n + 1, 64):
        inside = byte_bits(marks, at, np.uint8(1))
        forced = byte_bits(marks, at, np.uint8(2))
        shifted = (inside << _ONE) | before
        before = inside >> _TOP_BIT
        begins = inside & (forced | ~shifted)
        stops = shifted & (forced | ~inside)
        begun, over = pop_count(begins), pop_count(stops)
        # As many as there mostly are, whether they are there or not: what is too much is written over by the next ones.
        # A loop that ends with the last one ends in another place each time, which the processor does not foresee.
        for i in range(_MOSTLY):
            poke(places, count + i, at + trailing_zeros(begins))
            poke(ends, ended + i, at + trailing_zeros(stops))
            begins &= begins - _ONE
            stops &= stops - _ONE
        for i in range(_MOSTLY, begun):
            poke(places, count + i, at + trailing_zeros(begins))
            begins &= begins - _ONE
        for i in range(_MOSTLY, over):
            poke(ends, ended + i, at + trailing_zeros(stops))
            stops &= stops - _ONE
        count += begun
        ended += over
    return count
