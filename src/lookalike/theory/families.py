"""The chance that one slot of two sketches agrees, for each measure.

A family of hash functions is locality-sensitive when the chance that a random member gives two items the same
value, p(s), grows with their similarity s. Everything after this file (curve, planner, certificate) needs
nothing else of a measure.

| measure   | one slot                                          | p(s)             |
| --------- | ------------------------------------------------- | ---------------- |
| jaccard   | smallest hash of the set                          | s                |
| cosine    | sign of the product with a random Gaussian vector | 1 - arccos(s)/pi |
| hamming   | one sampled bit, s = 1 - distance/bits            | s                |
| euclidean | floor((a·x + b)/w), a Gaussian                    | see `Stable`     |
| manhattan | floor((a·x + b)/w), a Cauchy                      | see `Stable`     |

For the last two s is a distance, and p falls with it.

Sources: min-hashing is Broder, "On the resemblance and containment of documents" (1997); the sign of a
projection is Charikar, "Similarity estimation techniques from rounding algorithms" (2002), after Goemans and
Williamson; these stand in chapter 3 of Leskovec, Rajaraman and Ullman, "Mining of Massive Datasets". Stable
projections are Datar, Immorlica, Indyk and Mirrokni, "Locality-sensitive hashing scheme based on p-stable
distributions" (2004).

Worked example: two vectors at 60 degrees have cosine 0.5. A random plane through the origin separates them if
it falls into the 60 of 180 degrees between them, so p(0.5) = 1 - 60/180 = 0.667. Two sets that share 3 of 8
elements agree in a min-hash with p = 3/8.
"""

import math
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from lookalike.errors import OptionError

__all__ = [
    "FAMILIES",
    "Array",
    "Family",
    "FloatOrArray",
    "Stable",
    "cosine",
    "family_of",
    "hamming",
    "is_stable",
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


_erf = np.frompyfunc(math.erf, 1, 1)


@dataclass(frozen=True)
class Stable:
    """p(d) of a stable projection: x becomes the number of the interval of length `width` that a·x + b falls into.

    The components of `a` are drawn from a stable distribution, so a·x - a·y is distributed as d·Z, d being the
    distance of x and y and Z one draw: Gaussian for the Euclidean distance, Cauchy for Manhattan. b is drawn evenly
    from [0, width), and two points t apart fall into the same interval with chance 1 - t/width:

        p(d) = integral from 0 to width of f(t) · (1 - t/width) dt,   f the density of d·|Z|.

    Only u = width/d matters, and both integrals have a closed form. Example: at a distance of a quarter of the width
    u = 4, and 80% of Euclidean slots agree, 62% of Manhattan ones: Cauchy has long tails.
    """

    measure: str
    width: float

    def __post_init__(self) -> None:
        if self.measure not in STABLE:
            raise OptionError(f"measure={self.measure!r}: one of {', '.join(STABLE)} is needed")
        if not (0.0 < self.width < math.inf):
            raise OptionError(f"width={self.width!r}: a number above 0 is needed")

    def __call__(self, distance: FloatOrArray, /) -> FloatOrArray:
        d = np.asarray(distance, dtype=np.float64)
        with np.errstate(divide="ignore"):
            u = self.width / d
        # Identical points always agree; and where u is beyond 1e8 the difference to 1 is lost in rounding anyway.
        inside = np.minimum(u, 1e8)
        p = _gaussian(inside) if self.measure == "euclidean" else _cauchy(inside)
        return like(np.where(d == 0.0, 1.0, p), distance)


def _gaussian(u: Array) -> Array:
    """erf(u/√2) - √(2/π)/u · (1 - exp(-u²/2))."""
    inner = np.asarray(_erf(u / math.sqrt(2.0)), dtype=np.float64)
    return np.asarray(inner + math.sqrt(2.0 / math.pi) / u * np.expm1(-u * u / 2.0), dtype=np.float64)


def _cauchy(u: Array) -> Array:
    """2·arctan(u)/π - ln(1 + u²)/(π·u)."""
    return np.asarray(2.0 / math.pi * np.arctan(u) - np.log1p(u * u) / (math.pi * u), dtype=np.float64)


FAMILIES: dict[str, Family] = {"cosine": cosine, "hamming": hamming, "jaccard": jaccard, "weighted-jaccard": jaccard}
STABLE = ("euclidean", "manhattan")


def is_stable(measure: str) -> bool:
    """Whether a measure is a distance with stable projections."""
    return measure in STABLE


def family_of(measure: str, width: float | None = None) -> Family:
    """The family of a measure; a stable projection has a width."""
    if measure in STABLE:
        if width is None:
            raise OptionError(f"measure={measure!r}: it has a width: Stable({measure!r}, width) is needed")
        return Stable(measure, width)
    if measure not in FAMILIES:
        raise OptionError(f"measure={measure!r}: one of {', '.join(sorted(FAMILIES))} is needed")
    return FAMILIES[measure]


def slot_probability(measure: str | Family, s: FloatOrArray) -> FloatOrArray:
    """p(s) of a family, or of the measure of that name; an unknown name is an `OptionError` that lists those known."""
    family = family_of(measure) if isinstance(measure, str) else measure
    return family(s)
