"""From UTF-8 bytes to normalised code points: decode, case folding, NFC (docs/hash-spec.md, section 2).

The quick way is one look-up a code point in a frozen table, which gives the folded, composed code point and its class.
It is right for a row in which no code point can be reordered or composed with its neighbours. The first one that can
(a combining mark, a conjoining jamo) sends the whole row the long way of UAX #15: decompose, order the marks, fold,
compose.

    "Ångström"  as composed letters: quick.   "A" + U+030A + "ngstro" + U+0308 + "m": long.   Both: å n g s t r ö m

With `want_origin`, origin[i] is the byte of the row at which the i-th code point was written.
"""

from __future__ import annotations

import numpy as np

from lookalike.kernels.jit import device, peek, poke
from lookalike.represent.unicode import CLASS_SHIFT, IGNORED, MULTI, POINT_MASK, SLOW

__all__ = ["ACCENTS", "LOWER", "REPLACEMENT", "decode_one", "decode_quick", "decode_slow", "encode_one", "place"]

# Flags of the kernels; tokens.py has the others.
LOWER, ACCENTS = 1, 2

REPLACEMENT = 0xFFFD

_L, _V, _T, _S = 0x1100, 0x1161, 0x11A7, 0xAC00
_V_COUNT, _T_COUNT, _L_COUNT = 21, 28, 19
_S_COUNT = _L_COUNT * _V_COUNT * _T_COUNT

_LONG_RUN = 32


@device
def decode_one(data, at, end):
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
def encode_one(cp, out, o):
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
def place(index, cp):
    """Where the tables have the entry of `cp`."""
    return np.int64(peek(index, cp >> 7)) * 128 + (cp & 127)


@device
def decode_quick(data, start, end, quick, tables, cps, kinds, origin, want_origin):
    """Decode and map a row; (code points, invalid parts), or (-1, 0) if it needs the long way.

    `quick` is tables.fold or tables.keep. kinds[i] is the class of cps[i]; ignorable code points are dropped.
    """
    n, invalid, at = 0, 0, start
    while at < end:
        cp, size = decode_one(data, at, end)
        if cp < 0:
            cp = REPLACEMENT
            invalid += 1
        entry = np.int64(peek(quick, place(tables.index, cp)))
        if entry & (SLOW | MULTI):
            if entry & SLOW:
                return -1, 0
            offset = entry & POINT_MASK
            for i in range(np.int64(tables.expansion[offset])):
                target = np.int64(tables.expansion[offset + 1 + i])
                poke(cps, n, target)
                poke(kinds, n, tables.cls[place(tables.index, target)])
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
def decode_slow(data, start, end, flags, tables, cps, kinds, spare, origin, reach, want_origin):
    """Decode a row by the book: drop the ignorable, NFD, strip accents, fold, NFC; (code points, invalid parts).

    With `want_origin`, reach[i] is where the last code point of the row begins that went into the i-th.
    """
    n, invalid, at = 0, 0, start
    while at < end:
        cp, size = decode_one(data, at, end)
        if cp < 0:
            cp = REPLACEMENT
            invalid += 1
        if tables.cls[place(tables.index, cp)] != IGNORED:
            n = _append_decomposed(cp, at, tables, spare, reach, n, want_origin)
        at += size
    _order_marks(spare, reach, n, cps, origin, tables, want_origin)
    m = 0
    for i in range(n):
        cp = np.int64(spare[i])
        entry = place(tables.index, cp)
        if flags & ACCENTS and tables.strip[entry]:
            continue
        from_ = reach[i] if want_origin else 0
        offset = np.int64(tables.casefold[entry]) if flags & LOWER else 0
        # What is decomposed and ordered stays so under case folding (tests/represent/test_unicode_table.py).
        for j in range(np.int64(tables.expansion[offset]) if offset else 1):
            cps[m] = tables.expansion[offset + 1 + j] if offset else cp
            if want_origin:
                origin[m] = from_
            m += 1
    m = _compose(cps, origin, reach, m, tables, want_origin)
    for i in range(m):
        kinds[i] = tables.cls[place(tables.index, np.int64(cps[i]))]
    return m, invalid


@device
def _append_decomposed(cp, from_, tables, cps, origin, n, want_origin):
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
        offset = np.int64(tables.decompose[place(tables.index, cp)])
        if offset == 0:
            cps[n] = cp
            size = 1
        else:
            size = np.int64(tables.expansion[offset])
            for i in range(size):
                cps[n + i] = tables.expansion[offset + 1 + i]
    if want_origin:
        for i in range(size):
            origin[n + i] = from_
    return n + size


@device
def _rank(tables, cp):
    return np.int64(tables.ccc[place(tables.index, np.int64(cp))])


@device
def _order_marks(cps, origin, n, spare, spare_origin, tables, want_origin):
    """Canonical ordering: each run of marks, sorted by combining class, stable."""
    start = 0
    while start < n:
        end = start
        while end < n and _rank(tables, cps[end]) != 0:
            end += 1
        if end - start > _LONG_RUN:
            _count_marks(cps, origin, start, end, spare, spare_origin, tables, want_origin)
        else:
            _insert_marks(cps, origin, start, end, tables, want_origin)
        start = end + 1


@device
def _insert_marks(cps, origin, start, end, tables, want_origin):
    """An insertion sort: a run of marks is two or three long."""
    for i in range(start + 1, end):
        cp = cps[i]
        rank = _rank(tables, cp)
        from_ = origin[i] if want_origin else 0
        j = i
        while j > start and _rank(tables, cps[j - 1]) > rank:
            cps[j] = cps[j - 1]
            if want_origin:
                origin[j] = origin[j - 1]
            j -= 1
        cps[j] = cp
        if want_origin:
            origin[j] = from_


@device
def _count_marks(cps, origin, start, end, spare, spare_origin, tables, want_origin):
    """A counting sort: an insertion sort of a million marks, which nobody writes by accident, would take minutes."""
    places = np.zeros(257, np.int64)
    for i in range(start, end):
        places[_rank(tables, cps[i]) + 1] += 1
    for rank in range(256):
        places[rank + 1] += places[rank]
    for i in range(start, end):
        rank = _rank(tables, cps[i])
        spare[places[rank]] = cps[i]
        if want_origin:
            spare_origin[places[rank]] = origin[i]
        places[rank] += 1
    for i in range(end - start):
        cps[start + i] = spare[i]
        if want_origin:
            origin[start + i] = spare_origin[i]


@device
def _compose(cps, origin, reach, n, tables, want_origin):
    """Canonical composition in place; the new length. reach[i] is the last place in the row that went into cps[i]."""
    out, starter, last = 0, -1, np.int64(0)
    for i in range(n):
        cp = np.int64(cps[i])
        rank = np.int64(tables.ccc[place(tables.index, cp)])
        if starter >= 0 and (starter == out - 1 or (last != 0 and last < rank)):
            whole = _composition(np.int64(cps[starter]), cp, tables)
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
def _composition(first, second, tables):
    """The primary composite of two code points, or -1."""
    if _L <= first < _L + _L_COUNT and _V <= second < _V + _V_COUNT:
        return _S + ((first - _L) * _V_COUNT + (second - _V)) * _T_COUNT
    if _S <= first < _S + _S_COUNT and (first - _S) % _T_COUNT == 0 and _T < second < _T + _T_COUNT:
        return first + second - _T
    key = np.uint64((first << 21) | second)
    low, high = 0, len(tables.pair)
    while low < high:
        middle = (low + high) >> 1
        if tables.pair[middle] < key:
            low = middle + 1
        else:
            high = middle
    if low < len(tables.pair) and tables.pair[low] == key:
        return np.int64(tables.composed[low])
    return -1
