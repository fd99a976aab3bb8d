"""Bags as dicts, with exact sums."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from itertools import groupby

import numpy as np

from lookalike.twin.hashing import C1, C2, MASK, G, hash_bytes, hash_element, mix

Element = int | str | bytes


def collected(pairs: Iterable[tuple[Element, float]]) -> dict[int, float]:
    """Hash -> weight, ascending: repeated elements added from the smallest weight on, zeros gone."""
    hashed = sorted((hash_element(element), float(weight)) for element, weight in pairs)
    with np.errstate(over="ignore"):
        sums = {x: float(np.float32(_sum(w for _, w in run))) for x, run in groupby(hashed, lambda pair: pair[0])}
    return {x: weight for x, weight in sums.items() if weight != 0}


def _sum(weights: Iterable[float]) -> float:
    # The sum() of newer Pythons corrects its rounding errors.
    total = 0.0
    for weight in weights:
        total += weight
    return total


def fingerprint(bag: dict[int, float]) -> tuple[int, int]:
    if not bag:
        return hash_bytes(b"", C1), hash_bytes(b"", C2)
    loads = {x: int.from_bytes(struct.pack("<f", weight), "little") for x, weight in bag.items()}
    mixed = [mix((x + load * G) & MASK) for x, load in loads.items()]
    return sum(mix(y ^ C1) for y in mixed) & MASK, sum(mix((y + C2) & MASK) for y in mixed) & MASK
