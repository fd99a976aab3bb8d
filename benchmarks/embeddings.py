"""Vectors to measure on: made ones that behave like sentence embeddings, and GloVe's where the shared data is there.

The law of the made ones. A vector is a mean plus Gaussian noise whose covariance has the eigenvalues i^-0.8 in a random
basis, scaled to length 1: a few directions matter much, and all matter a little. The mean has the share that makes
random pairs have a cosine of 0.2; the spread of these cosines is then 0.1. (The 50,000 GloVe vectors: 0.13 and 0.18.)
One vector in five is planted: a blend of an earlier vector v and noise w at a cosine drawn evenly from 0.7 to 1, that
is c·v + √(1-c²)·w with w orthogonal to v. Which v is drawn by the square of an even number, so that early ones get
more: the largest families of 200,000 have about a hundred members. Queries are drawn from the same mixture.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Timed", "glove", "made", "threads_of", "unit"]

F32Array = NDArray[np.float32]

DIMENSIONS = 384
EXPONENT = 0.8
MEAN = 0.2  # of the cosines of random pairs
PLANTED = 0.2
SHARED = Path(__file__).resolve().parents[2] / "shared" / "data" / "glove_50k"
_CHUNK = 20_000


def unit(vectors: NDArray[Any]) -> F32Array:
    """The vectors scaled to length 1."""
    wide = vectors.astype(np.float32)
    wide /= np.linalg.norm(wide, axis=1, keepdims=True)
    return np.ascontiguousarray(wide)


def made(count: int, dimensions: int = DIMENSIONS, seed: int = 0) -> F32Array:
    """Unit vectors by the law above, in no particular order."""
    rng = np.random.default_rng(seed)
    values = np.arange(1, dimensions + 1) ** -EXPONENT
    basis = np.linalg.qr(rng.normal(size=(dimensions, dimensions)))[0]
    directions = (basis * np.sqrt(values / values.sum())).T.astype(np.float32)
    mean = rng.normal(size=dimensions)
    mean *= np.sqrt(MEAN / (1 - MEAN)) / np.linalg.norm(mean)

    def draw(size: int) -> F32Array:
        noise = rng.standard_normal((size, dimensions), dtype=np.float32) @ directions
        return unit(noise + mean.astype(np.float32))

    out = np.concatenate([draw(min(_CHUNK, count - start)) for start in range(0, count, _CHUNK)])
    first = count - int(PLANTED * count)
    for start in range(first, count, _CHUNK):
        rows = slice(start, min(start + _CHUNK, count))
        chosen = (rng.random(rows.stop - rows.start) ** 2 * first).astype(np.int64)
        cosines = rng.uniform(0.7, 1.0, (len(chosen), 1)).astype(np.float32)
        noise = out[rows] - (out[rows] * out[chosen]).sum(axis=1, keepdims=True) * out[chosen]
        out[rows] = unit(cosines * out[chosen] + np.sqrt(1 - cosines**2) * unit(noise))
    return np.ascontiguousarray(out[rng.permutation(count)])


def glove() -> tuple[F32Array, F32Array] | None:
    """The items and queries of the shared data, or None where they are absent."""
    if not SHARED.exists():
        return None
    return unit(np.load(SHARED / "base.npy")), unit(np.load(SHARED / "queries.npy"))


@dataclass
class Timed:
    """A contender: `run` gives what is judged; `seconds` are its rounds."""

    name: str
    run: Callable[[], Any]
    build: float = 0.0
    seconds: list[float] = field(default_factory=list)
    recall: float = float("nan")
    note: str = ""

    def round(self) -> Any:
        start = time.perf_counter()
        result = self.run()
        self.seconds.append(time.perf_counter() - start)
        return result

    @property
    def time(self) -> float:
        return median(self.seconds)


def threads_of(count: int) -> None:
    """So many threads for faiss; lookalike is told at each call."""
    import faiss

    faiss.omp_set_num_threads(count)
