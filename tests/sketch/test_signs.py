"""Band keys from sign bits: as the slow twin has them, and met as often as the angle says."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.sketch.rotation import sign_bits, width_of
from lookalike.sketch.signs import blocks_for, shared_rows, sign_keys
from lookalike.theory import candidate_probability
from tests.hostile_vectors import KINDS, spread
from tests.reference.vectors import sign_key
from tests.sketch.test_rotation import unpacked


@given(st.integers(1, 600), st.integers(1, 140), st.sampled_from([128, 256, 1024]), st.integers(0, 100))
@settings(max_examples=15, deadline=None)
def test_keys_are_those_of_the_twin(bands: int, rows: int, width: int, draw: int) -> None:
    shape = (2, blocks_for(bands, rows, width), width // 64)
    share = shared_rows(bands, width)
    bits = np.random.default_rng(draw).integers(0, 2**64, shape, dtype=np.uint64)
    keys, single = sign_keys(bits, bands, rows), unpacked(bits)
    for item in range(2):
        assert keys[:, item].tolist() == [sign_key(single[item].tolist(), band, rows, share) for band in range(bands)]


def test_as_many_blocks_as_rows_serve_the_bands_of_one_width() -> None:
    assert [blocks_for(bands, 7, 128) for bands in (1, 128, 129, 300)] == [7, 7, 14, 21]


def test_few_bands_share_blocks() -> None:
    assert [shared_rows(bands, 512) for bands in (1, 128, 129, 256, 257, 9000)] == [4, 4, 2, 2, 1, 1]
    assert [blocks_for(bands, 19, 512) for bands in (100, 200, 300, 600)] == [5, 10, 19, 38]


@pytest.mark.parametrize("cosine", [0.3, 0.6, 0.8, 0.95])
@pytest.mark.parametrize(("bands", "rows", "dimensions"), [(20, 5, 96), (200, 12, 96), (100, 12, 384), (90, 16, 600)])
def test_planted_pairs_meet_as_often_as_the_curve_says(cosine: float, bands: int, rows: int, dimensions: int) -> None:
    pairs = 3000
    u, v = spread(dimensions)(np.random.default_rng(rows), cosine, pairs)
    blocks = blocks_for(bands, rows, width_of(dimensions))
    one, other = (sign_keys(sign_bits(side, blocks, 5), bands, rows) for side in (u, v))
    met = (one == other).any(axis=0)
    chance = candidate_probability(cosine, bands, rows, "cosine")
    # Five standard deviations of so many coins, and one pair for chances near 0 and 1.
    assert abs(met.sum() - pairs * chance) < 5 * math.sqrt(pairs * chance * (1 - chance)) + 1


@pytest.mark.parametrize(("cosine", "bands", "rows"), [(0.8, 40, 8), (0.99, 3, 12), (0.9999, 1, 40)])
@pytest.mark.parametrize("kind", KINDS)
def test_hostile_pairs_meet_as_often_as_the_curve_says(kind: str, cosine: float, bands: int, rows: int) -> None:
    shares, pairs = [], 20
    chance = candidate_probability(cosine, bands, rows, "cosine")
    for seed in range(100):
        u, v = KINDS[kind](np.random.default_rng(seed), cosine, pairs)
        blocks = blocks_for(bands, rows, width_of(u.shape[1]))
        one, other = (sign_keys(sign_bits(side, blocks, seed), bands, rows) for side in (u, v))
        shares.append((one == other).any(axis=0).mean())
    # Pairs of one seed may lie alike, so the spread over seeds tells the error of the mean, of which 4.5 are allowed.
    error = max(float(np.std(shares, ddof=1)) / math.sqrt(len(shares)), 1 / (pairs * len(shares)))
    assert np.mean(shares) == pytest.approx(chance, abs=4.5 * error)
