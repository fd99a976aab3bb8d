"""Band keys against their twin and the golden vectors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.collide.band import band_keys
from lookalike.twin import hashing
from lookalike.types import U32Array

GOLDEN: dict[str, Any] = json.loads(
    (Path(__file__).resolve().parents[1] / "golden" / "vectors.json").read_text(encoding="ascii")
)

some = settings(max_examples=100, deadline=None, derandomize=True)


def slots_of(digits: str) -> U32Array:
    return np.array([[int(digits[at : at + 8], 16) for at in range(0, len(digits), 8)]], np.uint32)


@some
@given(items=st.integers(0, 5), bands=st.integers(0, 9), rows=st.integers(1, 9), seed=st.integers(0, 2**32))
def test_keys_are_those_of_the_twin(items: int, bands: int, rows: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    signatures = rng.integers(0, 2**32, (items, bands * rows), dtype=np.uint32)
    keys = band_keys(signatures, bands, rows)
    assert keys.shape == (items, bands)
    assert keys.tolist() == [hashing.band_keys(slots, bands, rows) for slots in signatures.tolist()]


@pytest.mark.parametrize("extreme", [0, 1, 2**31, 2**32 - 1])
@pytest.mark.parametrize("rows", [1, 2, 3, 4, 5])
def test_extreme_slots_and_odd_and_even_rows(extreme: int, rows: int) -> None:
    signatures = np.full((1, 3 * rows), extreme, np.uint32)
    assert band_keys(signatures, 3, rows).tolist() == [hashing.band_keys([extreme] * 3 * rows, 3, rows)]


def test_slots_beyond_the_bands_do_not_count() -> None:
    signatures = np.arange(20, dtype=np.uint32).reshape(2, 10)
    assert band_keys(signatures, 3, 3).tolist() == band_keys(signatures[:, :9].copy(), 3, 3).tolist()


def test_equal_slots_in_two_bands_have_two_keys() -> None:
    keys = band_keys(np.full((1, 64), 7, np.uint32), 16, 4)
    assert len(set(keys[0].tolist())) == 16


def test_the_slots_of_a_band_have_an_order_and_each_counts() -> None:
    slots = np.array([[1, 2, 3, 4], [2, 1, 3, 4], [1, 2, 4, 3], [3, 4, 1, 2], [1, 2, 3, 5], [0, 2, 3, 4]], np.uint32)
    assert len(set(band_keys(slots, 1, 4)[:, 0].tolist())) == len(slots)


def test_the_golden_keys_are_met() -> None:
    for vector in GOLDEN["bands"]:
        (keys,) = band_keys(slots_of(vector["slots"]), vector["b"], vector["r"]).tolist()
        assert " ".join(f"{key:016x}" for key in keys) == vector["keys"]
    for text in GOLDEN["texts"]:
        for detail in text["default"].values():
            if "keys" in detail:
                (keys,) = band_keys(slots_of(detail["slots"][0]), 4, 4).tolist()
                assert " ".join(f"{key:016x}" for key in keys) == detail["keys"]
