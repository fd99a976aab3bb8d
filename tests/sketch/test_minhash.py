"""Min-hash against its twin, and against what the theory says of it: slots agree with probability J, independently.

The statistical tests are deterministic (fixed seeds), and their tolerance is Z = 5 standard errors. Were the theory
right and the seeds new each time, one check would fail in 1.7 million; there are some 300 of them here.
"""

from __future__ import annotations

import json
from collections.abc import Sequence, Set
from math import comb, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.represent.elements import element_sets
from lookalike.represent.text_sets import shingle_texts
from lookalike.shingle import parse_shingle
from lookalike.sketch.minhash import EMPTY_SLOT, constants, sketch_sets
from lookalike.twin import hashing
from lookalike.types import BoolArray, F64Array, Sets

pytestmark = pytest.mark.no_cover

GOLDEN: dict[str, Any] = json.loads(
    (Path(__file__).resolve().parents[1] / "golden" / "vectors.json").read_text(encoding="ascii")
)

Z = 5.0

some = settings(max_examples=100, deadline=None, derandomize=True)


def as_sets(rows: Sequence[Sequence[int]]) -> Sets:
    offsets = np.zeros(len(rows) + 1, np.int64)
    offsets[1:] = np.cumsum([len(row) for row in rows])
    values = np.array([x for row in rows for x in row], np.uint64)
    return Sets(offsets, values, np.zeros((len(rows), 2), np.uint64))


def expected(elements: Set[int], K: int, seed: int) -> list[int]:
    return hashing.signature(elements, K, seed) if elements else [int(EMPTY_SLOT)] * K


@some
@given(
    rows=st.lists(st.lists(st.integers(0, 2**64 - 1), max_size=40), max_size=8),
    K=st.integers(0, 70),
    seed=st.integers(0, 2**64 - 1),
)
def test_signatures_are_those_of_the_twin(rows: list[list[int]], K: int, seed: int) -> None:
    signatures = sketch_sets(as_sets(rows), *constants(K, seed))
    assert signatures.tolist() == [expected(set(row), K, seed) for row in rows]


@pytest.mark.parametrize("K", [1, 7, 8, 9, 128])
def test_sets_of_every_size_across_the_passes_of_eight(K: int) -> None:
    """The least element in each place of the set, so that none is passed over."""
    rng = np.random.default_rng(K)
    rows = [rng.integers(0, 2**64, size, dtype=np.uint64).tolist() for size in range(41)]
    rows += [[*row[turn:], *row[:turn]] for row in rows[15:19] for turn in range(len(row))]
    signatures = sketch_sets(as_sets(rows), *constants(K, 3))
    assert signatures.tolist() == [expected(set(row), K, 3) for row in rows]


def test_only_the_upper_half_of_an_element_counts() -> None:
    one, other = sketch_sets(as_sets([[7 << 32, 9 << 32], [(7 << 32) + 5, (9 << 32) + 2**32 - 1]]), *constants(16, 0))
    assert one.tolist() == other.tolist()


@some
@given(shorter=st.integers(0, 200), longer=st.integers(0, 200), seed=st.integers(0, 2**64 - 1))
def test_a_longer_sketch_begins_with_the_slots_of_a_shorter_one(shorter: int, longer: int, seed: int) -> None:
    shorter, longer = sorted((shorter, longer))
    for few, all_ in zip(constants(shorter, seed), constants(longer, seed), strict=True):
        assert few.tolist() == all_[:shorter].tolist()


def test_constants_are_those_of_the_twin_and_every_multiplier_is_odd() -> None:
    for seed in (0, 1, 42, 2**64 - 1):
        a, b = constants(300, seed)
        assert list(zip(a.tolist(), b.tolist(), strict=True)) == hashing.minhash_constants(300, seed)
        assert (a % 2 == 1).all()
        assert len(set(a.tolist())) == 300


def test_the_golden_slots_are_met() -> None:
    for text in GOLDEN["texts"]:
        raw = bytes.fromhex(text["hex"]) if "hex" in text else text["text"].encode()
        for shingle, detail in text["default"].items():
            sets = shingle_texts(pa.array([raw], pa.binary()), parse_shingle(shingle))
            for seed, slots in enumerate(detail.get("slots", [])):
                (signature,) = sketch_sets(sets, *constants(len(slots) // 8, seed)).tolist()
                assert "".join(f"{slot:08x}" for slot in signature) == slots


def random_pairs(pairs: int, both: int, each: int) -> Sets:
    """Rows 2i and 2i + 1 share `both` elements and have `each` of their own, all random."""
    x = np.random.default_rng(both * 1000 + each).integers(0, 2**64, (pairs, both + 2 * each), dtype=np.uint64)
    one, other = x[:, : both + each], np.concatenate([x[:, :both], x[:, both + each :]], axis=1)
    values = np.stack([one, other], axis=1).reshape(-1)
    offsets = np.arange(2 * pairs + 1, dtype=np.int64) * (both + each)
    return Sets(offsets, values, np.zeros((2 * pairs, 2), np.uint64))


def consecutive_pairs(pairs: int, both: int, each: int) -> Sets:
    """The same of consecutive integers: [s, s + n) and [s + each, s + each + n), as regular as data can be."""
    size = both + each
    starts = np.arange(pairs) * (both + 2 * each)
    starts = np.stack([starts, starts + each], axis=1).reshape(-1)
    values = (starts[:, None] + np.arange(size)).reshape(-1)
    offsets = np.arange(2 * pairs + 1, dtype=np.int64) * size
    return element_sets(pa.LargeListArray.from_arrays(offsets, pa.array(values)))


PAIRS, SLOTS = 2000, 120
MAKERS = {"random": random_pairs, "consecutive": consecutive_pairs}
# (shared, own of each): similarities from 0.05 to 0.95, of sets of 2 to 450 elements.
OVERLAPS = [(1, 1), (8, 1), (3, 6), (1, 10), (20, 40), (50, 25), (70, 15), (80, 10), (90, 5), (95, 2), (400, 50)]


def agreeing(made: str, overlap: tuple[int, int], seed: int) -> tuple[float, BoolArray]:
    """The similarity of the pairs, and per pair and slot whether it agrees."""
    both, each = overlap
    signatures = sketch_sets(MAKERS[made](PAIRS, both, each), *constants(SLOTS, seed))
    equal: BoolArray = signatures[0::2] == signatures[1::2]
    return both / (both + 2 * each), equal


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("overlap", OVERLAPS, ids=str)
@pytest.mark.parametrize("made", MAKERS)
def test_the_share_of_agreeing_slots_is_the_similarity(made: str, overlap: tuple[int, int], seed: int) -> None:
    """A slot agrees with probability J. The sum over PAIRS · SLOTS slots has the standard deviation
    sqrt(PAIRS · SLOTS · J(1-J)), so that the share is J ± Z · sqrt(J(1-J) / (PAIRS · SLOTS)): 0.004 at J = 0.8.
    Two elements may meet in 32 bits: a chance of at most 900²/2³³ = 10⁻⁴ a pair, far below that.
    """
    J, equal = agreeing(made, overlap, seed)
    assert abs(equal.mean() - J) <= Z * sqrt(J * (1 - J) / equal.size)


@pytest.mark.parametrize("overlap", OVERLAPS, ids=str)
@pytest.mark.parametrize("made", MAKERS)
def test_the_slots_of_a_pair_are_independent(made: str, overlap: tuple[int, int]) -> None:
    """The number of agreeing slots of a pair is then binomial, with the variance v = K·J(1-J). The variance s² of n
    such numbers has the mean v and the standard deviation v · sqrt(2/(n-1) + kurtosis/n), where the excess
    kurtosis of the binomial is (1 - 6J(1-J)) / v. Slots that depend on each other would add their covariances to v.
    """
    J, equal = agreeing(made, overlap, 0)
    numbers: F64Array = equal.sum(axis=1).astype(np.float64)
    variance = SLOTS * J * (1 - J)
    kurtosis = (1 - 6 * J * (1 - J)) / variance
    tolerance = Z * sqrt(2 / (PAIRS - 1) + kurtosis / PAIRS)
    assert abs(numbers.var(ddof=1) / variance - 1) <= tolerance


@pytest.mark.parametrize("rows", [2, 3, 5, 8])
@pytest.mark.parametrize("overlap", OVERLAPS, ids=str)
@pytest.mark.parametrize("made", MAKERS)
def test_agreeing_slots_in_a_band_are_binomial(made: str, overlap: tuple[int, int], rows: int) -> None:
    """m of r slots agree with probability p = C(r,m) · J^m · (1-J)^(r-m); all r, a collision of the band, with J^r.

    How many of N bands have m is N·p ± Z · sqrt(N·p(1-p)). Where fewer than 100 are expected the normal law is not
    good enough at Z = 5; such m are left out.
    """
    J, equal = agreeing(made, overlap, 1)
    per_band = equal.reshape(PAIRS * (SLOTS // rows), rows).sum(axis=1)
    N = len(per_band)
    checked = 0
    for m, found in enumerate(np.bincount(per_band, minlength=rows + 1).tolist()):
        p = comb(rows, m) * J**m * (1 - J) ** (rows - m)
        if N * p >= 100 and N * (1 - p) >= 100:
            assert abs(found - N * p) <= Z * sqrt(N * p * (1 - p)), f"{m} of {rows} slots"
            checked += 1
    assert checked >= 2
