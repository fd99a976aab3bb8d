"""What an index stores and finds, in plain Python: the twins of the kernels of `lookalike.index`."""

from __future__ import annotations

from collections.abc import Sequence

from lookalike.twin.hashing import MASK, PUBLIC, G, hash_bytes
from tests.reference.sets import containment, jaccard

ELEMENT_BITS = 46
KEY_BITS = 45


def packed(elements: Sequence[int]) -> bytes:
    """A sorted set by Elias and Fano, from strings of bits; the first bit is the lowest."""
    n = len(elements)
    if not n:
        return b""
    upper = (n - 1).bit_length()
    lower = ELEMENT_BITS - upper
    string = 0
    for i, x in enumerate(elements):
        string |= 1 << ((x >> lower) + i)
    words = -(-(n + (1 << upper)) // 64)
    rest = sum((x & ((1 << lower) - 1)) << (i * lower) for i, x in enumerate(elements))
    return string.to_bytes(8 * words, "little") + rest.to_bytes(-(-n * lower // 8), "little")


def finished(elements: Sequence[int]) -> tuple[list[int], list[int]]:
    """The elements of a set in order, cut, and the four words of its odd signature."""
    distinct = sorted(set(elements))
    signature = sum(1 << bit for bit in range(256) if sum(x >> 56 == bit for x in distinct) % 2)
    return [x >> (64 - ELEMENT_BITS) for x in distinct], [(signature >> (64 * word)) & MASK for word in range(4)]


def packed_length(n: int) -> int:
    return len(packed(range(n)))


def bucketed(keys: Sequence[int], bits: int) -> list[list[tuple[int, int]]]:
    """The buckets of one band: of each the entries (what follows in the key, item), in the order of the items."""
    buckets: list[list[tuple[int, int]]] = [[] for _ in range(1 << bits)]
    for item, key in enumerate(keys):
        known = key >> (64 - KEY_BITS)
        buckets[known >> (KEY_BITS - bits)].append((known & ((1 << (KEY_BITS - bits)) - 1), item))
    return buckets


def sharing(stored: Sequence[Sequence[int]], query: Sequence[int], first: int, last: int) -> set[int]:
    """The items that share a key with the query in one of some bands."""
    return {
        item for item, keys in enumerate(stored) if any(keys[band] == query[band] for band in range(first, last))
    }  # fmt: skip


def chains(keys: Sequence[Sequence[int]], band: int, bits: int) -> dict[int, list[int]]:
    """For each head of a band the items that hang on it, the latest first."""
    found: dict[int, list[int]] = {}
    for item, its in enumerate(keys):
        found.setdefault(its[band] >> (64 - bits), []).insert(0, item)
    return found


def scored(query: set[int], stored: Sequence[set[int]], threshold: float, inside: bool) -> dict[int, float]:
    """The stored sets that match, with their similarity, or with how much of the smaller is inside the larger."""

    def score(its: set[int]) -> float:
        smaller, larger = sorted((query, its), key=len)
        return float(containment(smaller, larger) if inside else jaccard(query, its))

    scores = {item: score(its) for item, its in enumerate(stored)}
    return {item: score for item, score in scores.items() if score >= threshold}


def record(
    id: str | int, payload: bytes, row: bytes, size: int, *, volume: int, spot: int, now: int, synced: int = 0
) -> bytes:
    """A record, field by field."""
    integer = isinstance(id, int)
    name = id.to_bytes(8, "little", signed=True) if isinstance(id, int) else id.encode()
    length = 0xFFFF if integer else len(name)
    body = b"".join(part + bytes(-len(part) % 8) for part in (name, payload, row))
    fields = [(32 + len(body), 4), (len(payload), 4), (size, 4), (synced // 8, 4), (now, 8)]
    covered = b"".join(value.to_bytes(width, "little") for value, width in fields) + body
    checksum = hash_bytes(covered, (volume << 48 ^ spot << 16 ^ length + 1) * G & MASK, PUBLIC) & 0xFFFFFFFF
    return b"LL" + length.to_bytes(2, "little") + checksum.to_bytes(4, "little") + covered


def place(volume: int, spot: int, size: int) -> int:
    """Where a record is, in one number."""
    return spot // 8 | volume << 27 | min(size, 2**21 - 1) << 43


def gathered(memory: bytes, places: Sequence[int], lengths: Sequence[int]) -> bytes:
    """The bytes at some places, one after another."""
    return b"".join(memory[place : place + length] for place, length in zip(places, lengths, strict=True))
