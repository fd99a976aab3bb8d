"""Codes have the bits of their slots, and differ as often as the theory says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.certify.intervals import binomial_tails
from lookalike.sketch.codes import CODE_BITS, CODE_NUMBERS, CODE_WORDS, codes_of_bits, codes_of_slots, sampled_codes
from lookalike.sketch.dart_minhash import sketch_bags
from lookalike.sketch.minhash import constants, sketch_sets
from lookalike.sketch.sampling import positions
from lookalike.sketch.stable import stable_matrix, stable_slots_of
from lookalike.theory import Stable
from lookalike.types import Sets, U32Array, U64Array
from tests.reference.bits import code

some = settings(max_examples=100, deadline=None, derandomize=True)
slot = st.integers(0, 2**32 - 1)


@some
@given(st.integers(0, 140).flatmap(lambda n: st.lists(st.lists(slot, min_size=n, max_size=n), max_size=4)))
def test_codes_of_numbers_are_those_of_the_twin(rows: list[list[int]]) -> None:
    slots = np.array(rows, np.uint32).reshape(len(rows), len(rows[0]) if rows else 0)
    assert codes_of_slots(slots).tolist() == [code(row) for row in rows]


@pytest.mark.parametrize("shape", [(3, 0, 1), (3, 1, 1), (3, 2, 2), (3, 3, 8), (0, 2, 2)])
def test_codes_of_bits_are_the_first_of_them(shape: tuple[int, ...]) -> None:
    bits = np.arange(1, np.prod(shape) + 1, dtype=np.uint64).reshape(shape)
    for row, found in zip(bits.tolist(), codes_of_bits(bits).tolist(), strict=True):
        words = [word for block in row for word in block][:CODE_WORDS]
        assert found == words + [0] * (CODE_WORDS - len(words))


@pytest.mark.parametrize("bits", [1, 64, 200, 256, 257, 1000])
def test_codes_of_strings_are_the_strings_or_bits_at_drawn_positions(bits: int) -> None:
    rng = np.random.default_rng(bits)
    strings = rng.integers(0, 2, (5, bits), dtype=np.uint8)
    padded = np.zeros((5, -(-bits // 64) * 64), np.uint8)
    padded[:, :bits] = strings
    words = np.packbits(padded, axis=1, bitorder="little").view(np.uint64)
    found = np.unpackbits(sampled_codes(words, bits, 7).view(np.uint8), axis=1, bitorder="little")
    if bits <= CODE_BITS:
        assert found[:, :bits].tolist() == strings.tolist()
        assert not found[:, bits:].any()
    else:
        places = positions(bits, 1, CODE_BITS, 7 ^ 0x434F_4445_5341_4D50)[0]
        assert found.tolist() == strings[:, places].tolist()


def differing(codes: U64Array) -> tuple[int, int]:
    """In how many slots the first half of the items differs from the second, and how many slots there are."""
    left, right = codes[: len(codes) // 2], codes[len(codes) // 2 :]
    apart = left ^ right
    return int(np.bitwise_count(apart[:, :2] | apart[:, 2:]).sum()), CODE_NUMBERS * len(left)


def assert_rate(slots: U32Array, chance: float) -> None:
    """Slots of different pairs are independent, and those of one pair too: a tail below 1e-6 refutes the chance."""
    count, trials = differing(codes_of_slots(slots))
    assert min(binomial_tails(count, trials, chance)) > 1e-6, (count / trials, chance)


def pairs_of_sets(similarity: float, pairs: int, seed: int) -> tuple[list[set[int]], float]:
    """Pairs of sets of 60 elements, the first halves, then the second; and the similarity that they have."""
    rng = np.random.default_rng(seed)
    shared = round(120 * similarity / (1 + similarity))
    drawn = [rng.integers(0, 2**64, 120 - shared, dtype=np.uint64).tolist() for _ in range(pairs)]
    left = [set(row[:60]) for row in drawn]
    right = [set(row[:shared] + row[60:]) for row in drawn]
    return left + right, shared / (120 - shared)


@pytest.mark.parametrize("similarity", [0.0, 0.3, 0.8])
def test_sets_differ_in_three_quarters_of_the_slots_that_do_not_agree(similarity: float) -> None:
    items, exact = pairs_of_sets(similarity, 400, 3)
    offsets = np.cumsum([0, *map(len, items)])
    values = np.array([x for item in items for x in item], np.uint64)
    sets = Sets(offsets, values, np.zeros((len(items), 2), np.uint64))
    assert_rate(sketch_sets(sets, *constants(CODE_NUMBERS, 5)), 0.75 * (1 - exact))


def test_bags_and_vectors_do_as_well() -> None:
    items, exact = pairs_of_sets(0.5, 300, 4)
    offsets = np.cumsum([0, *map(len, items)])
    values = np.array([x for item in items for x in sorted(item)], np.uint64)
    weights = np.ones(len(values), np.float32)
    assert_rate(sketch_bags(offsets, values, weights, CODE_NUMBERS, 5), 0.75 * (1 - exact))
    rng = np.random.default_rng(8)
    left = rng.normal(size=(300, 20)).astype(np.float32)
    away = rng.normal(size=(300, 20))
    right = (left + 2.0 * away / np.linalg.norm(away, axis=1, keepdims=True)).astype(np.float32)
    slots = stable_slots_of(np.concatenate([left, right]), stable_matrix(20, CODE_NUMBERS, 2.0, 5), 3.0)
    assert_rate(slots, 0.75 * (1 - Stable(2.0, 3.0)(2.0)))
