"""The chance that one slot of two sketches agrees, for each measure.

A family of hash functions is locality-sensitive when the chance that a random member gives two items the same
value, p(s), grows with their similarity s. Everything after this file (curve, planner, certificate) needs
nothing else of a measure.

| measure | one slot                                          | p(s)             |
| ------- | ------------------------------------------------- | ---------------- |
| jaccard | smallest hash of the set                          | s                |
| cosine  | sign of the product with a random Gaussian vector | 1 - arccos(s)/pi |
| hamming | one sampled bit, s = 1 - distance/bits            | s                |

Sources: min-hashing is Broder, "On the resemblance and containment of documents" (1997); the sign of a
projection is Charikar, "Similarity estimation techniques from rounding algorithms" (2002), after Goemans and
Williamson; all three stand in chapter 3 of Leskovec, Rajaraman and Ullman, "Mining of Massive Datasets".

Worked example: two vectors at 60 degrees have cosine 0.5. A random plane through the origin separates them if
it falls into the 60 of 180 degrees between them, so p(0.5) = 1 - 60/180 = 0.667. Two sets that share 3 of 8
elements agree in a min-hash with p = 3/8.
"""

import math
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from lookalike.errors import OptionError

__all__ = [
    "FAMILIES",
    "Array",
    "Family",
    "FloatOrArray",
    "cosine",
    "hamming",
    "jaccard",
    "like",
    "slot_probability",
]

Array = npt.NDArray[np.float64]
FloatOrArray = TypeVar("FloatOrArray", float, Array)


class Family(Protocol):
    """p(s) of a measure: a float for a float, an array for an array."""

    def __call__(self, s: FloatOrArray, /) -> FloatOrArray: ...


def like(value: Array, model: FloatOrArray) -> FloatOrArray:
    """`value` as a float where `model` was one, else as the array it is."""
    if isinstance(model, np.ndarray):
        return value
    return float(value)


def jaccard(s: FloatOrArray) -> FloatOrArray:
    """p(s) = s: the smallest hash of a union lies in the intersection with chance |A∩B| / |A∪B|."""
    return like(np.asarray(s, dtype=np.float64), s)


def cosine(s: FloatOrArray) -> FloatOrArray:
    """p(s) = 1 - arccos(s)/pi: a random hyperplane separates two vectors with chance angle/pi.

    Rounding makes the cosine of a vector with itself 1 + 1e-16 now and then, so `s` is clipped to [-1, 1].
    """
    angle = np.arccos(np.clip(np.asarray(s, dtype=np.float64), -1.0, 1.0))
    return like(1.0 - angle / math.pi, s)


def hamming(s: FloatOrArray) -> FloatOrArray:
    """p(s) = s, with s = 1 - distance/bits: the share of the bits in which two items agree."""
    return like(np.asarray(s, dtype=np.float64), s)


FAMILIES: dict[str, Family] = {"cosine": cosine, "hamming": hamming, "jaccard": jaccard}


def slot_probability(measure: str, s: FloatOrArray) -> FloatOrArray:
    """p(s) of the measure named `measure`; an unknown name is an `OptionError` that lists the known ones."""
    if measure not in FAMILIES:
        raise OptionError(f"measure={measure!r}: one of {', '.join(sorted(FAMILIES))} is needed")
    return FAMILIES[measure](s)
