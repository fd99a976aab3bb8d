"""What the lectures do by hand: shingles, permutations, signatures and their costs, in plain Python.

Nothing here is fast, and nothing else in the package calls it. It is for students who want to see a slide
come out, and for tests as an oracle that shares no code with the kernels. Rows and columns are numbered
from 1, as on the slides.

Sources: Leskovec, Rajaraman and Ullman, "Mining of Massive Datasets", chapter 3, with its Stanford course;
the Waterloo and Masaryk courses on the same subject.

Worked example, seven rows and four columns (sets):

    row   C1 C2 C3 C4   position of the row in permutation 1
     1     1  0  1  0     2
     2     1  0  0  1     3
     3     0  1  0  1     7
     4     0  1  0  1     6
     5     0  1  0  1     1
     6     1  0  1  0     5
     7     1  0  1  0     4

C1 has its ones at positions 2, 3, 5 and 4: its min-hash is 2, attained in row 1. The four columns give 2 1 2
1, and stored as row indexes 1 5 1 5. C1 and C3 agree; they share 3 of the 4 rows in which one of them has a
one, so a random permutation makes them agree with chance 0.75.
"""

import math
from collections.abc import Callable, Collection, Iterable, Sequence, Set
from fractions import Fraction
from typing import TypeVar

from lookalike.errors import InputError, OptionError
from lookalike.theory.checks import real, whole

__all__ = [
    "bit_matrix",
    "bits_jaccard",
    "char_shingle_bag",
    "char_shingles",
    "column_similarity",
    "hamming_to_cosine",
    "minhash_of_order",
    "minhash_of_permutations",
    "minhash_row_indexes",
    "projection_cost",
    "set_jaccard",
    "signature_bytes",
    "signature_similarity",
    "universal_hash",
]

Element = TypeVar("Element")
Matrix = Sequence[Sequence[int]]


def char_shingle_bag(text: str, k: int) -> list[str]:
    """All runs of k characters in their order: `abcab`, 2 gives ab, bc, ca, ab.

    A text shorter than k has one shingle, the whole; an empty one has none.
    """
    k = whole("k", k)
    if not text:
        return []
    return [text[i : i + k] for i in range(max(len(text) - k, 0) + 1)]


def char_shingles(text: str, k: int) -> set[str]:
    """The set of all runs of k characters: `abcab`, 2 gives {ab, bc, ca}."""
    return set(char_shingle_bag(text, k))


def set_jaccard(a: Set[Element], b: Set[Element]) -> Fraction:
    """|A∩B| / |A∪B|, exactly; two empty sets have no Jaccard similarity."""
    union = len(a | b)
    if union == 0:
        raise InputError("both sets are empty: their Jaccard similarity is 0/0")
    return Fraction(len(a & b), union)


def bits_jaccard(a: str, b: str) -> Fraction:
    """Jaccard of the sets that two strings of 0 and 1 stand for: 10111 and 10011 give 3/4."""
    if len(a) != len(b):
        raise InputError(f"{a!r} has {len(a)} bits and {b!r} has {len(b)}: as many are needed")
    return set_jaccard(_ones(_bits(a)), _ones(_bits(b)))


def bit_matrix(text: str) -> list[list[int]]:
    """Rows of 0 and 1 from `"1010 1001 0101"`: three rows, four columns."""
    return _rows([_bits(row) for row in text.split()])


def column_similarity(matrix: Matrix, i: int, j: int) -> Fraction:
    """Jaccard of columns i and j (from 1): rows with two ones over rows with at least one."""
    return set_jaccard(_ones(_column(matrix, i)), _ones(_column(matrix, j)))


def minhash_of_permutations(matrix: Matrix, permutations: Sequence[Sequence[int]]) -> list[list[int]]:
    """The signature matrix, a row per permutation: for each column the smallest position of its 1-rows.

    `permutations[n][row]` is the position of that row in permutation n.
    """
    attained = minhash_row_indexes(matrix, permutations)
    return [[positions[row - 1] for row in rows] for rows, positions in zip(attained, permutations, strict=True)]


def minhash_row_indexes(matrix: Matrix, permutations: Sequence[Sequence[int]]) -> list[list[int]]:
    """The same signatures stored as row indexes: the row (from 1) that attains each smallest position."""
    rows = _rows(matrix)
    if not rows:
        raise InputError("the matrix has no rows")
    columns = [_ones(_column(rows, i)) for i in range(1, len(rows[0]) + 1)]
    for i, ones in enumerate(columns, 1):
        if not ones:
            raise InputError(f"column {i} has no 1: an empty set has no min-hash")
    for positions in permutations:
        if sorted(positions) != list(range(1, len(rows) + 1)):
            raise InputError(f"{tuple(positions)} is not a permutation of 1 to {len(rows)}")
    return [[min(ones, key=lambda row: positions[row - 1]) for ones in columns] for positions in permutations]


def minhash_of_order(items: Collection[Element], order: Iterable[Element]) -> Element:
    """The first element of `order` that belongs to `items`."""
    for element in order:
        if element in items:
            return element
    raise InputError("no element of the order belongs to the set")


def signature_similarity(signatures: Matrix, i: int, j: int) -> Fraction:
    """The share of rows in which columns i and j (from 1) of the signature matrix agree."""
    a, b = _column(signatures, i), _column(signatures, j)
    if not a:
        raise InputError("the signature matrix has no rows")
    return Fraction(sum(x == y for x, y in zip(a, b, strict=True)), len(a))


def signature_bytes(items: int, slots: int, slot_bytes: int = 4) -> int:
    """items · slots · slot_bytes: 100,000 documents of 100 4-byte slots take 40 MB."""
    return whole("items", items, least=0) * whole("slots", slots) * whole("slot_bytes", slot_bytes)


def universal_hash(a: int, b: int, p: int, n: int) -> Callable[[int], int]:
    """h(x) = ((a·x + b) mod p) mod n, for a prime p above every x, 1 <= a < p and 0 <= b < p.

    Drawn at random, a and b make two different x collide with chance at most about 1/n. That p is prime is
    the caller's word; a = 0 would send every x to one value.
    """
    p, n = whole("p", p, least=2), whole("n", n)
    a, b = whole("a", a), whole("b", b, least=0)
    if a >= p or b >= p:
        raise OptionError(f"a={a}, b={b}: both must be below p={p}")
    return lambda x: ((a * x + b) % p) % n


def projection_cost(items: int, bits: int, tables: int) -> float:
    """m·2^k·(N/2^k)²: comparisons inside the buckets of m evenly filled tables of 2^k buckets; against N²."""
    items, bits, tables = whole("items", items, least=0), whole("bits", bits), whole("tables", tables)
    return tables * items * items / (1 << bits)


def hamming_to_cosine(hamming: float, bits: int) -> float:
    """cos(pi·h/D): the cosine that h differing bits of a D-bit signature stand for."""
    bits = whole("bits", bits)
    allowed = f"a distance of 0 to bits={bits}"
    distance = real("hamming", hamming, allowed)
    if not 0.0 <= distance <= bits:
        raise OptionError(f"hamming={distance:g}: {allowed} is needed")
    return math.cos(math.pi * distance / bits)


def _bits(text: str) -> list[int]:
    if set(text) - {"0", "1"}:
        raise InputError(f"{text!r}: only 0 and 1 are bits")
    return [int(bit) for bit in text]


def _rows(matrix: Matrix) -> list[list[int]]:
    rows = [list(row) for row in matrix]
    for number, row in enumerate(rows, 1):
        if len(row) != len(rows[0]):
            raise InputError(f"row {number} has {len(row)} columns, row 1 has {len(rows[0])}")
    return rows


def _column(matrix: Matrix, i: int) -> list[int]:
    rows = _rows(matrix)
    width = len(rows[0]) if rows else 0
    if not 1 <= i <= width:
        raise InputError(f"column {i}: columns 1 to {width} are there")
    return [row[i - 1] for row in rows]


def _ones(bits: Sequence[int]) -> set[int]:
    """The numbers, from 1, of the rows with a one."""
    return {row for row, bit in enumerate(bits, 1) if bit}
