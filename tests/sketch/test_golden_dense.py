"""The golden values of sign bits, stable slots and sampled bits: the kernels meet them, and so do the twins."""

from __future__ import annotations

import json

import numpy as np
import pytest
from numpy.typing import NDArray

from lookalike.sketch.rotation import sign_bits
from lookalike.sketch.sampling import positions, sampled_keys
from lookalike.sketch.stable import stable_matrix, stable_slots_of
from lookalike.spec import VERSION
from tools.make_golden_dense import OUTPUT, SLOTS, WIDTH, as_json, contents, drawn, vector

GOLDEN = json.loads(OUTPUT.read_text(encoding="ascii"))


def vectors(number: int, dimensions: int) -> NDArray[np.float32]:
    return np.array([vector(number, dimensions)], np.float32)


def hexadecimal(values: NDArray[np.uint64]) -> str:
    return " ".join(f"{value:016x}" for value in values.reshape(-1).tolist())


def test_the_golden_values_are_what_the_twins_say() -> None:
    assert as_json(contents()) == OUTPUT.read_text(encoding="ascii")
    assert GOLDEN["spec_version"] == VERSION


@pytest.mark.parametrize("case", GOLDEN["signs"])
def test_the_golden_sign_bits_are_met(case: dict[str, str | int]) -> None:
    found = sign_bits(vectors(1, int(case["dimensions"])), 2, int(str(case["seed"]), 16))
    assert hexadecimal(found) == case["words"]


@pytest.mark.parametrize("case", GOLDEN["stable"])
def test_the_golden_directions_and_slots_are_met(case: dict[str, int | float | str | list[str]]) -> None:
    dimensions, order, seed = int(str(case["dimensions"])), float(str(case["order"])), int(str(case["seed"]), 16)
    matrix = stable_matrix(dimensions, SLOTS, order, seed)
    directions = [matrix.panels[0, :3, j].view(np.uint32).tolist() for j in range(3)]
    assert [" ".join(f"{x:08x}" for x in direction) for direction in directions] == case["directions"]
    assert [float(u).hex() for u in matrix.starts[:3]] == case["starts"]
    (slots,) = stable_slots_of(vectors(2, dimensions), matrix, WIDTH).tolist()
    assert "".join(f"{slot:08x}" for slot in slots) == case["slots"]


@pytest.mark.parametrize("case", GOLDEN["sampled"])
def test_the_golden_positions_and_keys_are_met(case: dict[str, int | str | list[int]]) -> None:
    bits, rows, seed = int(str(case["bits"])), int(str(case["rows"])), int(str(case["seed"]), 16)
    keys = str(case["keys"])
    bands = len(keys.split())
    assert positions(bits, bands, rows, seed)[0].tolist() == case["positions"]
    words = np.array([[drawn(k) for k in range(-(-bits // 64))]], np.uint64)
    assert hexadecimal(sampled_keys(words, bits, bands, rows, seed)) == keys
