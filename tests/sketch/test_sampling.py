"""Sampled bits: as the slow twin has them, the same in any batch, and agreeing as often as the distance says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from lookalike.sketch.sampling import positions, sampled_keys
from lookalike.theory import slot_probability
from tests.reference import bits as twin

U64 = NDArray[np.uint64]


def strings(rng: np.random.Generator, count: int, bits: int) -> U64:
    """Random strings, zero behind their end."""
    words = rng.integers(0, 2**64, (count, -(-bits // 64)), dtype=np.uint64)
    if bits % 64:
        words[:, -1] &= np.uint64(2 ** (bits % 64) - 1)
    return words


@given(st.integers(1, 2**31), st.integers(1, 5), st.integers(1, 9), st.integers(0, 2**64 - 1))
@settings(max_examples=50, deadline=None, derandomize=True)
def test_positions_are_those_of_the_twin(bits: int, bands: int, rows: int, seed: int) -> None:
    assert positions(bits, bands, rows, seed).tolist() == twin.positions(bits, bands, rows, seed)


def test_positions_are_even_and_each_drawn_by_itself() -> None:
    """A position of 100 gets 1 in 100 of 60,000 draws, and the number is Poisson: 600 ± 5·√600."""
    drawn = positions(100, 3000, 20, seed=11)
    counts = np.bincount(drawn.reshape(-1), minlength=100)
    assert len(counts) == 100 and (abs(counts - 600) < 5 * 600**0.5).all()
    # Of the 190 pairs of a band 1 in 100 is of one position: 5,700 ± 5·√5700 in all.
    ordered = np.sort(drawn, axis=1)
    twice = sum(int((ordered[:, gap:] == ordered[:, :-gap]).sum()) for gap in range(1, 20))
    assert abs(twice - 5700) < 5 * 5700**0.5


@given(st.integers(1, 300), st.integers(0, 140), st.integers(1, 4), st.integers(1, 140), st.integers(0, 2**64 - 1))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_keys_are_those_of_the_twin(bits: int, items: int, bands: int, rows: int, seed: int) -> None:
    words = strings(np.random.default_rng(items), items, bits)
    places = twin.positions(bits, bands, rows, seed)
    expected = [[twin.sampled_key(twin.as_integer(x), t, places[t]) for x in words.tolist()] for t in range(bands)]
    assert sampled_keys(words, bits, bands, rows, seed).tolist() == expected


@pytest.mark.parametrize("items", [1, 63, 64, 65, 200])
def test_a_string_has_the_same_keys_alone_and_in_any_batch(items: int) -> None:
    words = strings(np.random.default_rng(3), items, 200)
    together = sampled_keys(words, 200, 7, 12, 5)
    for i in range(items):
        assert np.array_equal(sampled_keys(words[i : i + 1], 200, 7, 12, 5)[:, 0], together[:, i])


def flipped(words: U64, bits: int, distance: int) -> U64:
    """Each string with its last bits flipped: where draws that are not even would show."""
    out = words.copy()
    for place in range(bits - distance, bits):
        out[:, place // 64] ^= np.uint64(1 << place % 64)
    return out


@pytest.mark.parametrize(("bits", "distance"), [(64, 1), (100, 20), (512, 26), (512, 128), (7, 1)])
@pytest.mark.parametrize("rows", [1, 8])
def test_bands_agree_as_often_as_the_distance_says(bits: int, distance: int, rows: int) -> None:
    """Each seed gives a pair a fresh draw of bands, all independent: the agreements are binomial."""
    rng = np.random.default_rng(bits + distance)
    trials, agreed, bands = 0, 0, 400
    words = strings(rng, 100, bits)
    others = flipped(words, bits, distance)
    for i in range(100):
        pair = np.stack([words[i], others[i]])
        keys = sampled_keys(pair, bits, bands, rows, seed=i)
        agreed += int((keys[:, 0] == keys[:, 1]).sum())
        trials += bands
    p = slot_probability("hamming", 1 - distance / bits) ** rows
    assert abs(agreed - trials * p) < 4.5 * (trials * p * (1 - p)) ** 0.5
