"""Sign bits of sparse vectors: as the twin has them, in any order, and agreeing as often as the angle says."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from lookalike.sketch.sparse import LEAST_WIDTH, sparse_sign_bits
from lookalike.theory import slot_probability
from lookalike.types import F32Array, I64Array, U64Array
from tests.hostile_vectors import apart
from tests.reference.vectors import sparse_signs, whole_weights
from tests.reference.weighted import bag_of_hex

GOLDEN: dict[str, Any] = json.loads(
    (Path(__file__).resolve().parents[1] / "golden" / "vectors.json").read_text(encoding="ascii")
)

Z = 5.0

Bag = dict[int, float]
F64 = NDArray[np.float64]
Pairs = Callable[[np.random.Generator, float, int], tuple[F64, F64]]


def arrays(bags: Sequence[Bag]) -> tuple[I64Array, U64Array, F32Array]:
    offsets = np.zeros(len(bags) + 1, np.int64)
    offsets[1:] = np.cumsum([len(bag) for bag in bags])
    elements = [(x, w) for bag in bags for x, w in bag.items()]
    return offsets, np.array([x for x, _ in elements], np.uint64), np.array([w for _, w in elements], np.float32)


def unpacked(bits: NDArray[np.uint64]) -> NDArray[np.uint8]:
    """bits[item, block, position]."""
    return np.unpackbits(bits.view(np.uint8), axis=-1, bitorder="little")


weights = st.one_of(st.floats(2.0**-30, 2.0**30, width=32), st.floats(-(2.0**30), -(2.0**-30), width=32))


@given(
    st.lists(st.dictionaries(st.integers(0, 2**64 - 1), weights, max_size=30), min_size=1, max_size=2),
    st.integers(1, 2),
    st.integers(0, 2**64 - 1),
)
@settings(max_examples=8, deadline=None, derandomize=True)
def test_bits_are_those_of_the_twin(bags: list[Bag], blocks: int, seed: int) -> None:
    found = unpacked(sparse_sign_bits(*arrays(bags), blocks, 1024, seed))
    assert found.tolist() == [sparse_signs(bag, blocks, 1024, seed) for bag in bags]


def test_the_golden_signs_are_met() -> None:
    for each in GOLDEN["bags"]:
        bag = bag_of_hex(each["bag"])
        signed = {x: -bag[x] if i % 2 else bag[x] for i, x in enumerate(sorted(bag))}
        (found,) = unpacked(sparse_sign_bits(*arrays([signed]), 2, 1024, 0))
        assert ["".join(map(str, block[:128])) for block in found] == each["signs"]


def test_a_vector_has_the_same_bits_alone_in_any_batch_and_in_any_order() -> None:
    """A thousand features on 1,024 places: sums of several, which floats would round by their order."""
    rng = np.random.default_rng(1)
    bags = [
        dict(zip(rng.integers(0, 2**63, n).tolist(), rng.normal(size=n).tolist(), strict=True)) for n in (1000, 3, 50)
    ]
    bags *= 60
    together = sparse_sign_bits(*arrays(bags), 2, 1024, 3)
    for i in (0, 1, 2, 127, 128, 179):
        backwards = dict(reversed(bags[i].items()))
        assert np.array_equal(sparse_sign_bits(*arrays([backwards]), 2, 1024, 3)[0], together[i])
    longer = sparse_sign_bits(*arrays(bags[:3]), 5, 1024, 3)
    assert np.array_equal(longer[:, :2], together[:3]), "more blocks begin with the same ones"
    assert not np.array_equal(sparse_sign_bits(*arrays(bags[:3]), 2, 1024, 4), together[:3])


def test_neither_length_nor_opposite_direction_is_mistaken() -> None:
    bag = {x: math.sin(x) for x in range(1, 40)}
    larger, opposite = ({x: factor * w for x, w in bag.items()} for factor in (2.0**20, -1.0))
    one, two, three = unpacked(sparse_sign_bits(*arrays([bag, larger, opposite]), 3, 1024, 0))
    assert np.array_equal(one, two)
    # A value of exactly 0 has the bit 1 on either side; sums of 39 odd numbers are hardly ever 0.
    assert (one == three).mean() < 0.001


def test_features_without_weight_are_absent_and_vectors_without_any_have_no_direction() -> None:
    found = unpacked(sparse_sign_bits(*arrays([{1: 2.0, 2: 0.0}, {1: 2.0}, {5: 0.0}, {}]), 2, 1024, 0))
    assert np.array_equal(found[0], found[1])
    assert found[2:].all()


def test_weights_become_whole_numbers_of_forty_bits() -> None:
    wholes = whole_weights({1: 1.0, 2: -0.75, 3: 2.0**-39, 4: 2.0**-45})
    assert wholes == {1: 2**39, 2: -3 * 2**37, 3: 1, 4: 0}


@pytest.mark.parametrize(
    ("width", "weight"), [(512, 1.0), (1500, 1.0), (1 << 18, 1.0), (1024, math.nan), (1024, -math.inf)]
)
def test_narrow_blocks_and_weights_without_size_are_refused(width: int, weight: float) -> None:
    with pytest.raises(ValueError, match=r"power of two|finite"):
        sparse_sign_bits(*arrays([{1: weight}]), 1, width, 0)


def spiky(rng: np.random.Generator, cosine: float, count: int) -> tuple[F64, F64]:
    """One feature, and a second one that only the other vector has."""
    u, v = np.zeros((2, count, 2))
    u[:, 0], v[:, 0], v[:, 1] = 1, cosine, math.sqrt(1 - cosine**2)
    return u, v


def spread(size: int, unequal: float) -> Pairs:
    """So many features of either sign, lognormal: at 2.5 the largest of 200 outweighs the median about 800 times."""

    def pairs(rng: np.random.Generator, cosine: float, count: int) -> tuple[F64, F64]:
        u, v = np.exp(unequal * rng.normal(size=(2, count, size))) * rng.choice([-1, 1], size=(2, count, size))
        v *= rng.normal(size=(count, size))
        u /= np.linalg.norm(u, axis=1, keepdims=True)
        v -= (u * v).sum(axis=1, keepdims=True) * u
        v /= np.linalg.norm(v, axis=1, keepdims=True)
        return u, cosine * u + math.sqrt(1 - cosine**2) * v

    return pairs


def agreements(u: F64, v: F64, blocks: int, width: int, seed: int) -> NDArray[np.bool_]:
    """agree[pair, block, position], features new for every pair."""
    count, size = u.shape
    values = np.random.default_rng(seed).integers(0, 2**64, count * size, dtype=np.uint64)
    offsets = np.arange(count + 1, dtype=np.int64) * size
    one, other = (
        unpacked(sparse_sign_bits(offsets, values, w.astype(np.float32).reshape(-1), blocks, width, seed))
        for w in (u, v)
    )
    agree: NDArray[np.bool_] = one == other
    return agree


def equal(rng: np.random.Generator, cosine: float, count: int) -> tuple[F64, F64]:
    """Two features that are nearly equal."""
    return apart(np.ones((count, 2)), rng.normal(size=(count, 2)), cosine)


SHAPES = [spiky, spread(3, 0.0), spread(3, 2.5), spread(20, 1.0), spread(200, 0.0), spread(200, 2.5), equal]
NAMES = ["one and two", "three", "three unequal", "twenty", "two hundred", "two hundred unequal", "two equal"]


@pytest.mark.parametrize("cosine", [-0.5, 0.0, 0.5, 0.8, 0.95])
@pytest.mark.parametrize("pairs", SHAPES, ids=NAMES)
def test_bits_agree_as_often_as_the_angle_says(pairs: Pairs, cosine: float) -> None:
    shares, bands = [], []
    rows, expected = 4, slot_probability("cosine", cosine)
    for seed in range(50):
        u, v = pairs(np.random.default_rng(seed), cosine, 24)
        agree = agreements(u, v, rows, LEAST_WIDTH, seed)
        shares.append(agree.mean())
        # A band takes one bit of each block.
        bands.append(np.all(agree, axis=1).mean())
    # Bits of one seed depend on one another, those of fifty seeds do not: the spread over seeds tells the error of the
    # mean, of which Z are allowed, beside the known bias of scattering.
    bias = 1 / (4 * LEAST_WIDTH)
    for found, truth, slope in ((shares, expected, 1.0), (bands, expected**rows, rows * expected ** (rows - 1))):
        error = np.std(found, ddof=1) / math.sqrt(len(found))
        assert np.mean(found) == pytest.approx(truth, abs=Z * error + slope * bias)


@pytest.mark.parametrize("cosine", [0.6, 0.8, 0.9])
@pytest.mark.parametrize("pairs", [SHAPES[0], SHAPES[3], SHAPES[5]], ids=[NAMES[0], NAMES[3], NAMES[5]])
def test_bands_over_the_same_blocks_find_what_independent_ones_would(pairs: Pairs, cosine: float) -> None:
    count, rows, bands = 1500, 8, 12
    u, v = pairs(np.random.default_rng(7), cosine, count)
    agree = agreements(u, v, rows, LEAST_WIDTH, 7)[:, :, :bands]
    found = float(np.any(np.all(agree, axis=1), axis=1).mean())
    truth = 1 - (1 - slot_probability("cosine", cosine) ** rows) ** bands
    # Beside the binomial error: the bias of scattering, for each of the rows.
    slope = rows / (4 * LEAST_WIDTH)
    assert found == pytest.approx(truth, abs=Z * math.sqrt(truth * (1 - truth) / count) + slope)


def test_a_block_that_mistakes_two_features_for_one_another_does_not_lose_a_pair() -> None:
    """All bands take a bit from each of the same twenty blocks: one block that makes all bits differ loses the pair."""
    count, rows = 2000, 20
    u, v = equal(np.random.default_rng(3), 0.999999, count)
    agree = agreements(u, v, rows, LEAST_WIDTH, 3)
    spoilt = (agree.mean(axis=2) < 0.9).any(axis=1)
    # Four places shared by chance: with one, 1/2,048 in each block, 20 of these pairs. Of so many pairs none.
    assert not spoilt.any()
