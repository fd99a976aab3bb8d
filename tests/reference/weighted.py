"""Bags (weighted sets) by dicts and plain numbers: comparison, the darts of a sketch, weights of shingles."""

from __future__ import annotations

import math
import struct
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from lookalike.twin.hashing import C1, C2, MASK, G, mix

Bag = Mapping[int, float]


def bag_of_hex(bag: Mapping[str, str]) -> dict[int, float]:
    """A bag as the golden vectors have it: elements, and the bits of their weights."""
    return {int(x, 16): struct.unpack(">f", bytes.fromhex(w))[0] for x, w in bag.items()}


def row_words(bag: Bag) -> list[int]:
    """The words that a bag is compared as: elements ascending, then their weights, two a word."""
    elements = sorted(bag)
    weights = b"".join(struct.pack("<f", bag[x]) for x in elements)
    weights += b"\0" * (len(weights) % 8)
    return [*elements, *struct.unpack(f"<{len(weights) // 8}Q", weights)]


def weighted_jaccard(a: Bag, b: Bag) -> float:
    """Σmin / Σmax, and -inf for two bags without any weight."""
    both = a.keys() | b.keys()
    most = math.fsum(max(a.get(x, 0.0), b.get(x, 0.0)) for x in both)
    return math.fsum(min(a.get(x, 0.0), b.get(x, 0.0)) for x in both) / most if most > 0 else -math.inf


def cosine(a: Bag, b: Bag) -> float:
    """The cosine of the angle between two sparse vectors, and -inf where one has no length."""
    lengths = [math.sqrt(math.fsum(w * w for w in bag.values())) for bag in (a, b)]
    if min(lengths) == 0:
        return -math.inf
    found = math.fsum(w * b.get(x, 0.0) for x, w in a.items()) / lengths[0] / lengths[1]
    return 1.0 if found >= 1 - 2**-45 else found


def ln(x: float) -> float:
    """The logarithm of the specification."""
    m, e = math.frexp(x)
    if m < math.sqrt(0.5):
        m, e = 2 * m, e - 1
    s = (m - 1) / (m + 1)
    z = s * s
    y = z * z
    even = odd = 0.0
    for n in (17, 13, 9, 5, 1):
        even = 2 / n + y * even
        odd = 2 / (n + 2) + y * odd
    return e * 0.6931471805599453 + s * (even + z * odd)


def darts(element: int, weight: float, seed: int, limit: float) -> Iterator[tuple[float, int]]:
    """(rank, code) of the darts up to a rank that an element of this weight sees."""
    (bits,) = struct.unpack("<I", struct.pack("<f", weight))
    own = (bits >> 23) + 40
    if own == 40:
        return
    key = mix(element ^ mix(mix(seed & MASK) ^ C2))
    for column in range(own, 8 * (own // 8 - 5) - 1, -1):
        group, lane = divmod(column, 8)
        word = mix((key + (group + 1) * G) & MASK)
        risen, turn = 0.0, 0
        while True:
            dart = mix((word + (8 * turn + lane + 1) * G) & MASK)
            gap = dart >> 23
            if turn == 0:
                gap = gap % 2**33 + (word >> 8 * lane & 0xFF) * 2**33
            risen -= ln((2**41 - gap) / 2**41)
            rank = math.ldexp(risen, 167 - column)
            if rank > limit:
                break
            if column < own or dart % 2**23 < bits % 2**23:
                yield rank, mix((dart + C2) & MASK)
            turn += 1


def dart_signature(bag: Bag, K: int, seed: int) -> list[int]:
    """The slots of a bag that has weight: the lowest dart of each bucket, looking twice as high until there is one."""
    limit = K / sum(bag.values())
    buckets: dict[int, tuple[float, int]] = {}
    while len(buckets) < K:
        limit *= 2
        for element, weight in bag.items():
            for dart in darts(element, weight, seed, limit):
                bucket = (dart[1] >> 32) * K >> 32
                buckets[bucket] = min(dart, buckets.get(bucket, dart))
    return [buckets[bucket][1] % 2**32 for bucket in range(K)]


def document_counts(documents: Sequence[Iterable[int]], exact: int, width: int) -> Callable[[int], int]:
    """In how many documents an element stands: exactly up to so many elements, else as two rows of counters have it."""
    true = Counter(element for document in documents for element in set(document))
    if len(true) <= exact:
        return lambda element: true[element]
    rows: list[Counter[int]] = [Counter(), Counter()]

    def places(element: int) -> tuple[int, int]:
        h = mix(element ^ C1)
        return (h >> 32) * width >> 32, h % 2**32 * width >> 32

    for document in documents:
        for element in set(document):
            for row, place in zip(rows, places(element), strict=True):
                row[place] += 1
    return lambda element: min(row[place] for row, place in zip(rows, places(element), strict=True))


def tf_idf(tf: int, df: int, N: int) -> float:
    return tf * math.log(1 + N / df)


def bm25(tf: int, df: int, N: int, length: int, mean: float) -> float:
    idf = math.log(1 + (N - df + 0.5) / (df + 0.5))
    return idf * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * length / mean))


def weighted_fingerprint(bag: Bag) -> tuple[int, int]:
    """The fingerprint of elements with their weights."""
    codes = [mix((x + struct.unpack("<I", struct.pack("<f", w))[0] * G) & MASK) for x, w in bag.items()]
    return sum(mix(y ^ C1) for y in codes) & MASK, sum(mix((y + C2) & MASK) for y in codes) & MASK
