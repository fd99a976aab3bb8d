"""Darts against their twin, and against the theory: slots agree with probability Σmin / Σmax, independently.

The statistical tests are deterministic (fixed seeds), and their tolerance is Z = 5 standard errors: with new seeds each
time, one check in 1.7 million would fail.
"""

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

from lookalike.sketch.dart_minhash import sketch_bags
from lookalike.sketch.minhash import EMPTY_SLOT
from lookalike.types import F32Array, I64Array, U32Array, U64Array
from tests.reference import weighted as twin

pytestmark = pytest.mark.no_cover

GOLDEN: dict[str, Any] = json.loads(
    (Path(__file__).resolve().parents[1] / "golden" / "vectors.json").read_text(encoding="ascii")
)

Z = 5.0
BANDS, ROWS = 16, 6

Bag = dict[int, float]
Bags = tuple[I64Array, U64Array, F32Array]


def arrays(bags: Sequence[Bag]) -> Bags:
    offsets = np.zeros(len(bags) + 1, np.int64)
    offsets[1:] = np.cumsum([len(bag) for bag in bags])
    elements = [(x, w) for bag in bags for x, w in bag.items()]
    return offsets, np.array([x for x, _ in elements], np.uint64), np.array([w for _, w in elements], np.float32)


def test_the_golden_slots_are_met() -> None:
    for each in GOLDEN["bags"]:
        bag = twin.bag_of_hex(each["bag"])
        for seed, slots in enumerate(each["slots"]):
            (found,) = sketch_bags(*arrays([bag]), len(slots) // 8, seed).tolist()
            assert "".join(f"{slot:08x}" for slot in found) == slots


@given(
    st.lists(
        st.dictionaries(st.integers(0, 2**64 - 1), st.floats(2.0**-100, 2.0**100, width=32), max_size=12), max_size=4
    ),
    st.integers(1, 40),
    st.integers(0, 2**64 - 1),
)
@settings(max_examples=60, deadline=None, derandomize=True)
def test_slots_are_those_of_the_twin(bags: list[Bag], K: int, seed: int) -> None:
    expected = [twin.dart_signature(bag, K, seed) if bag else [int(EMPTY_SLOT)] * K for bag in bags]
    assert sketch_bags(*arrays(bags), K, seed).tolist() == expected


@pytest.mark.parametrize("size", [1, 255, 256, 257, 600])
def test_bags_of_every_size_across_blocks_are_those_of_the_twin(size: int) -> None:
    rng = np.random.default_rng(size)
    elements = rng.integers(0, 2**64, size, dtype=np.uint64).tolist()
    bag = dict(zip(elements, (10 ** rng.uniform(-3, 3, size)).tolist(), strict=True))
    assert sketch_bags(*arrays([bag]), 24, 5).tolist() == [twin.dart_signature(bag, 24, 5)]


def test_the_logarithm_of_the_twin_is_one() -> None:
    rng = np.random.default_rng(0)
    for x in [*np.exp(rng.uniform(-40, 40, 2000)), *(1 - rng.uniform(0, 1, 2000) ** 4), 0.5, 1.0, 2.0]:
        assert twin.ln(float(x)) == pytest.approx(math.log(x), rel=8 * 2.0**-53)


def test_a_bag_has_the_same_slots_alone_in_any_batch_and_in_any_order() -> None:
    rng = np.random.default_rng(1)
    bags = [
        dict(zip(rng.integers(0, 99, 30).tolist(), rng.lognormal(size=30).tolist(), strict=True)) for _ in range(20)
    ]
    together = sketch_bags(*arrays(bags), 50, 3)
    for bag, slots in zip(bags, together, strict=True):
        assert np.array_equal(sketch_bags(*arrays([dict(reversed(bag.items()))]), 50, 3)[0], slots)
    assert not np.array_equal(sketch_bags(*arrays(bags), 50, 4), together)


def test_an_element_without_weight_is_absent_and_a_bag_without_any_is_empty() -> None:
    found = sketch_bags(*arrays([{1: 2.0, 2: 0.0}, {1: 2.0}, {2: 0.0}, {}]), 30, 0)
    assert np.array_equal(found[0], found[1])
    assert (found[2:] == EMPTY_SLOT).all()
    assert not (found[:2] == EMPTY_SLOT).any()


@pytest.mark.parametrize("weight", [-1.0, math.nan, math.inf])
def test_weights_that_are_no_sizes_are_refused(weight: float) -> None:
    with pytest.raises(ValueError, match="finite and not negative"):
        sketch_bags(*arrays([{1: 1.0, 2: weight}]), 4, 0)


@pytest.mark.parametrize("weight", [1e-37, 1e-6, 1.0, 1e6, 3e38])
@pytest.mark.parametrize("K", [1, 2, 1000, 4096])
def test_one_element_of_any_weight_fills_every_slot_with_another_dart(K: int, weight: float) -> None:
    (slots,) = sketch_bags(*arrays([{7: weight}]), K, 1)
    # Of 4,096 values of 32 bits any two are equal with 4096²/2 · 2⁻³² = 0.002.
    assert len(set(slots.tolist())) == K


def private_parts(rng: np.random.Generator, pairs: int, s: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Common elements, and some of each bag alone."""
    weights = rng.exponential(size=(2, pairs, 30))
    common, one, other = weights[0, :, :20], weights[1, :, :15], weights[1, :, 15:]
    mean = common.sum(axis=1, keepdims=True) * (1 - s) / s / 2
    none = np.zeros_like(one)
    one, other = (part / part.sum(axis=1, keepdims=True) * mean for part in (one, other))
    return np.concatenate([common, one, none], axis=1), np.concatenate([common, none, other], axis=1)


def shrunk(rng: np.random.Generator, pairs: int, s: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The same elements with less weight: what tells weighted from plain Jaccard."""
    weights = rng.uniform(1, 2, size=(pairs, 12))
    return weights, weights * s


def single(rng: np.random.Generator, pairs: int, s: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """One element each."""
    weights = 10 ** rng.uniform(-6, 6, size=(pairs, 1))
    return weights, weights * s


def wide(rng: np.random.Generator, pairs: int, s: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Weights from 10⁻⁶ to 10⁶, each of them larger in one bag or the other: Σ(max - min) scaled to what s asks."""
    weights = 10 ** rng.uniform(-6, 6, size=(pairs, 40))
    larger = weights * (1 + rng.uniform(0, 1, size=(pairs, 40)))
    extra = (larger - weights) * ((1 / s - 1) * weights.sum(axis=1) / (larger - weights).sum(axis=1))[:, None]
    first = rng.integers(0, 2, size=(pairs, 40)) == 0
    return weights + np.where(first, extra, 0), weights + np.where(first, 0, extra)


Plant = Callable[[np.random.Generator, int, float], tuple[NDArray[np.float64], NDArray[np.float64]]]


def planted(plant: Plant, pairs: int, s: float, slots: int, seed: int) -> tuple[U32Array, U32Array]:
    """The sketches of pairs at similarity s."""
    rng = np.random.default_rng(seed)
    a, b = (weights.astype(np.float32) for weights in plant(rng, pairs, s))
    truth = np.minimum(a, b).sum(axis=1, dtype=float) / np.maximum(a, b).sum(axis=1, dtype=float)
    assert np.abs(truth - s).max() < 1e-6, "the pairs are where they should be"
    values = rng.integers(0, 2**64, a.shape, dtype=np.uint64).reshape(-1)
    offsets = np.arange(pairs + 1, dtype=np.int64) * a.shape[1]
    one, other = (sketch_bags(offsets, values, w.reshape(-1), slots, seed) for w in (a, b))
    return one, other


def check_rate(hits: int, trials: int, probability: float) -> None:
    """Within Z standard errors of a binomial."""
    assert abs(hits - trials * probability) <= Z * math.sqrt(trials * probability * (1 - probability))


@pytest.mark.parametrize("s", [0.1, 0.5, 0.7, 0.8, 0.9])
@pytest.mark.parametrize("plant", [private_parts, shrunk, single, wide])
def test_slots_and_bands_agree_as_often_as_independent_ones(plant: Plant, s: float) -> None:
    pairs, slots = 4000, BANDS * ROWS
    one, other = planted(plant, pairs, s, slots, seed=int(100 * s))
    equal = one == other
    check_rate(int(equal.sum()), equal.size, s)
    for slot in (0, slots - 1):
        check_rate(int(equal[:, slot].sum()), pairs, s)
    bands = equal.reshape(pairs, BANDS, ROWS).all(axis=2)
    check_rate(int(bands.sum()), bands.size, s**ROWS)
    check_rate(int(bands.any(axis=1).sum()), pairs, 1 - (1 - s**ROWS) ** BANDS)


@pytest.mark.parametrize("s", [0.5, 0.8, 0.95])
@pytest.mark.parametrize(("plant", "slots"), [(private_parts, 96), (wide, 96), (single, 64), (shrunk, 1024)])
def test_the_error_of_an_estimate_is_that_of_independent_slots(plant: Plant, slots: int, s: float) -> None:
    pairs = 1000
    one, other = planted(plant, pairs, s, slots, seed=slots)
    mean_square = np.mean(((one == other).mean(axis=1) - s) ** 2)
    # A mean of 1,000 squares spreads by sqrt(2/1000) = 4.5%, the root of it by half: 1.1 is more than 4 of those.
    assert math.sqrt(mean_square) <= 1.1 * math.sqrt(s * (1 - s) / slots)


def test_unlike_slots_of_one_bag_and_of_strangers_are_as_good_as_random() -> None:
    """No value stands twice but by chance: 2,000 · 64 values of 32 bits make 1.9 equal pairs, and 15 with 10⁻⁹."""
    rng = np.random.default_rng(9)
    offsets = np.arange(2001, dtype=np.int64)
    values = rng.integers(0, 2**64, 2000, dtype=np.uint64)
    found = sketch_bags(offsets, values, np.ones(2000, np.float32), 64, 0)
    assert found.size - len(np.unique(found)) < 15
    # 128,000 values, each bit set in half of them.
    for bit in range(32):
        check_rate(int((found >> np.uint32(bit) & np.uint32(1)).sum()), found.size, 0.5)
