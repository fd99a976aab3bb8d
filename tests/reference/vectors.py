"""What is made of vectors, step by step: structured rotations in float32, everything else in Python's own numbers."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from lookalike.twin.hashing import C1, C2, MASK, G, hash_bytes, mix


def vector_fingerprint(vector: Sequence[float]) -> tuple[int, int]:
    """128 bits of the float32 of a vector, in which zero has no sign."""
    raw = b"".join(struct.pack("<f", number or 0.0) for number in vector)
    return hash_bytes(raw, C1), hash_bytes(raw, C2)


def block_state(block: int, seed: int) -> int:
    return mix((mix(mix(seed) ^ C1) + (block + 1) * G) & MASK)


def flip_signs(block: int, width: int, seed: int) -> list[int]:
    """+1 or -1 for each position of a block."""
    state = block_state(block, seed)
    words = [mix((state + (number + 1) * G) & MASK) for number in range(width // 64)]
    return [1 if word >> j & 1 else -1 for word in words for j in range(64)]


def shuffled_places(block: int, width: int, seed: int) -> list[int]:
    """Where each position of a block is taken from: from the last on, each is swapped with one up to itself."""
    state, order = block_state(block, seed), list(range(width))
    for place in range(width - 1, 0, -1):
        other = (mix((state + (width + place) * G) & MASK) >> 32) * (place + 1) >> 32
        order[place], order[other] = order[other], order[place]
    return order


def normal_draws(block: int, width: int, seed: int) -> list[np.float32]:
    """A draw of N(0, 1) for each position of a block."""
    column = mix(block_state(block, seed))
    return [np.float32(drawn(column, place, 2.0)) for place in range(width)]


def hadamard(values: Sequence[np.float32]) -> list[np.float32]:
    """The transform by its definition in halves: (first + second, first - second), neighbours first."""
    out = list(values)
    h = 1
    while h < len(out):
        for i in range(0, len(out), 2 * h):
            for j in range(i, i + h):
                out[j], out[j + h] = out[j] + out[j + h], out[j] - out[j + h]
        h *= 2
    return out


def rotated_signs(vector: Sequence[float], blocks: int, width: int, seed: int) -> list[list[int]]:
    """1 for each position of each block whose value is not negative, 0 for the others."""
    return [rotated_block(vector, block, width, seed) for block in range(blocks)]


def rotated_block(vector: Sequence[float], block: int, width: int, seed: int) -> list[int]:
    """The same of one block; the largest component is brought between 1/2 and 1 first, by a power of two."""
    _, exponent = math.frexp(max(abs(float(x)) for x in vector))
    values = [np.float32(math.ldexp(x, -exponent)) for x in vector] + [np.float32(0)] * (width - len(vector))
    signs = flip_signs(block, width, seed)
    values = hadamard([np.float32(sign) * value for sign, value in zip(signs, values, strict=True)])
    moved = [values[place] for place in shuffled_places(block, width, seed)]
    draws = normal_draws(block, width, seed)
    values = hadamard([value * draw for value, draw in zip(moved, draws, strict=True)])
    return [int(value >= 0) for value in values]


def plane_bits(vector: Sequence[float], bits: int, seed: int) -> list[int]:
    """On which side of each of so many random hyperplanes a vector lies, one product after another."""
    out = []
    for j in range(bits):
        along = 0.0
        for i, x in enumerate(vector):
            along += x * float(np.float32(stable_draw(i, j, 2.0, seed)))
        out.append(int(along >= 0))
    return out


def sign_key(bits: Sequence[Sequence[int]], band: int, rows: int, share: int) -> int:
    """The key of a band from the sign bits of each block, of which it has `share` bits."""
    width = len(bits[0]) // share
    first = band // width * math.ceil(rows / share)
    mine = [bits[first + row // share][band % width + row % share * width] for row in range(rows)]
    key = mix((band + 1) * G & MASK)
    for start in range(0, rows, 64):
        key = mix(key ^ sum(bit << place for place, bit in enumerate(mine[start : start + 64])))
    return key


def norm(vector: Sequence[float]) -> float:
    return math.sqrt(math.fsum(x * x for x in vector))


def cosine(x: Sequence[float], y: Sequence[float]) -> float:
    """Of vectors that are not zero: products of float32 are exact, and the sum is rounded once.

    Within what the rounding to float32 can do to parallel vectors it is 1.
    """
    found = max(-1.0, math.fsum(a * b for a, b in zip(x, y, strict=True)) / (norm(x) * norm(y)))
    return 1.0 if found >= 1 - 2**-45 else found


def inner_product(x: Sequence[float], y: Sequence[float]) -> float:
    """Σ x_i·y_i: products of float32 are exact, and the sum is rounded once."""
    return math.fsum(a * b for a, b in zip(x, y, strict=True))


def uniform(hashed: int) -> float:
    """The middle of one of 2⁵² equal parts of (0, 1)."""
    return ((hashed >> 12) + 0.5) / 2**52


def stable_column(j: int, seed: int) -> int:
    return mix((mix(mix(seed) ^ C2) + (j + 1) * G) & MASK)


def stable_start(j: int, seed: int) -> float:
    return uniform(mix(stable_column(j, seed)))


def stable_draw(i: int, j: int, order: float, seed: int) -> float:
    """Component i of direction j before it is rounded to a float32: the formula for all orders, by the library."""
    return drawn(stable_column(j, seed), i, order)


def drawn(column: int, i: int, order: float) -> float:
    """Draw i of the stable distribution of an order, from a state."""
    angle = math.pi * (uniform(mix((column + (2 * i + 1) * G) & MASK)) - 0.5)
    wait = -math.log(uniform(mix((column + (2 * i + 2) * G) & MASK)))
    scale = math.pow(order * math.cos(angle), -1 / order)
    return scale * math.sin(order * angle) * math.pow(math.cos((order - 1) * angle) / wait, (1 - order) / order)


def stable_slot(vector: Sequence[float], direction: Sequence[float], start: float, width: float) -> int:
    """The slot of a vector, for a direction of float32: one product after another."""
    along = 0.0
    for x, a in zip(vector, direction, strict=True):
        along += x * a
    interval = float(math.floor(along / width + start))
    return mix(int.from_bytes(struct.pack("<d", interval), "little")) >> 32


def score(measure: str, x: Sequence[float], y: Sequence[float]) -> float:
    """The exact score, larger is nearer: 32 running sums, halves added to halves, then what fills no 32 one by one."""
    terms = [
        {"cosine": a * b, "dot": a * b, "euclidean": (a - b) * (a - b), "manhattan": abs(a - b)}[measure]
        for a, b in zip(x, y, strict=True)
    ]
    whole = len(terms) // 32 * 32
    sums = [0.0] * 32
    for place, term in enumerate(terms[:whole]):
        sums[place % 32] += term
    while len(sums) > 1:
        half = len(sums) // 2
        sums = [a + b for a, b in zip(sums[:half], sums[half:], strict=True)]
    for term in terms[whole:]:
        sums[0] += term
    if measure in ("cosine", "dot"):
        return sums[0]
    return -math.sqrt(sums[0]) if measure == "euclidean" else -sums[0]


def best_items(
    measure: str, items: Mapping[int, Sequence[float]], query: Sequence[float], k: int
) -> list[tuple[int, float]]:
    """The best k items and their scores, best first, equal scores by item number; (-1, -inf) where there are fewer."""
    scored = [(number, score(measure, vector, query)) for number, vector in items.items()]
    scored.sort(key=lambda entry: (-entry[1], entry[0]))
    return (scored + [(-1, -math.inf)] * k)[:k]


def pairs_reaching(measure: str, vectors: Sequence[Sequence[float]], limit: float) -> list[tuple[int, int]]:
    """All pairs (i < j) whose score is at least the limit."""
    numbers = range(len(vectors))
    return [(i, j) for i in numbers for j in numbers[i + 1 :] if score(measure, vectors[i], vectors[j]) >= limit]


def nearest_by_bits(items: Sequence[Sequence[int]], query: Sequence[int], count: int) -> list[int]:
    """The items with the fewest bits that differ from the query's, equals by item number; -1 where there are fewer."""
    distances = [sum((a ^ b).bit_count() for a, b in zip(item, query, strict=True)) for item in items]
    order = sorted(range(len(items)), key=lambda number: (distances[number], number))
    return (order + [-1] * count)[:count]


def minkowski(x: Sequence[float], y: Sequence[float], order: float) -> float:
    """The distance, its sum rounded once."""
    differences = [abs(a - b) for a, b in zip(x, y, strict=True)]
    largest = max(differences)
    if order == math.inf or largest == 0:
        return largest
    if order == 1:
        return math.fsum(differences)
    if order == 2:
        return math.sqrt(math.fsum(d * d for d in differences))
    return largest * math.pow(math.fsum(math.pow(d / largest, order) for d in differences), 1 / order)


def side_by_side(vectors: Sequence[Sequence[Any]], lanes: int) -> list[Any]:
    """The components of `lanes` vectors at a time, component by component, the last ones padded with zeros."""
    full = [*map(list, vectors), *([[0] * len(vectors[0])] * (-len(vectors) % lanes))]
    groups = [full[start : start + lanes] for start in range(0, len(full), lanes)]
    return [number for group in groups for component in zip(*group, strict=True) for number in component]


def rounded(vector: Sequence[np.float32]) -> tuple[np.float32, list[int]]:
    """A scale and whole numbers up to 127, whose products are the vector as nearly as whole numbers allow."""
    largest = max(abs(x) for x in vector)
    if largest <= 1e-30:
        return np.float32(0), [0] * len(vector)
    inverse = np.float32(127) / largest
    return largest / np.float32(127), [round(float(x * inverse)) for x in vector]


def most_score(measure: str, x: Sequence[np.float32], y: Sequence[np.float32]) -> float:
    """What rounding to bytes leaves of a score: the most that it can be, a cosine or -|x - y|²/2; by its own sums."""
    ours, theirs = (np.array(each, np.float64) for each in (x, y))
    about = [np.array(whole, np.float64) * float(scale) for scale, whole in map(rounded, (x, y))]
    if measure == "cosine":
        lengths = [float(np.linalg.norm(each)) for each in (ours, theirs)]
        ours, theirs = ours / lengths[0], theirs / lengths[1]
        about = [each / length for each, length in zip(about, lengths, strict=True)]
    off, their_off = float(np.linalg.norm(ours - about[0])), float(np.linalg.norm(theirs - about[1]))
    length, their_length = float(np.linalg.norm(ours)), float(np.linalg.norm(theirs))
    most = float(about[0] @ about[1]) + length * their_off + off * (their_length + their_off)
    return most if measure == "cosine" else most - (length**2 + their_length**2) / 2


def whole_weights(bag: Mapping[int, float]) -> dict[int, int]:
    """Weights as whole numbers of up to 40 bits, cut towards zero."""
    _, exponent = math.frexp(max(map(abs, bag.values()), default=0.0))
    return {x: int(Fraction(w) * Fraction(2) ** (40 - exponent)) for x, w in bag.items()}


def scattered(bag: Mapping[int, float], block: int, width: int, seed: int) -> list[int]:
    """The dense vector that a block makes of sparse features."""
    state = mix((mix((mix(seed) + C1) & MASK) + (block + 1) * G) & MASK)
    out = [0] * width
    for x, w in whole_weights(bag).items():
        h = mix(x ^ state)
        for quarter in range(4):
            mine = h >> 16 * quarter & 0xFFFF
            out[quarter * width // 4 + mine % (width // 4)] += w if mine >> 15 else -w
    return out


def sparse_signs(bag: Mapping[int, float], blocks: int, width: int, seed: int) -> list[list[int]]:
    """1 for each position of each block whose value is not negative, 0 for the others."""
    return [rotated_block(scattered(bag, b, width, seed), b, width, seed) for b in range(blocks)]
