"""Counters of tasks, which are added up when all are done."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable

import numpy as np

from lookalike.engines.packed.blobs import Arrays1D

__all__ = ["Tallies"]


class Tallies:
    """Numbers by name; those of several tasks are added, but for the `largest …`, of which the largest counts."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def add(self, name: str, count: int) -> None:
        """So many more."""
        if count:
            self._counts[name] += count

    def largest(self, name: str, value: int) -> None:
        """At least this much."""
        self._counts[f"largest {name}"] = max(self._counts[f"largest {name}"], value)

    def packed(self) -> Arrays1D:
        """As a blob."""
        return {"json": np.frombuffer(json.dumps(dict(self._counts)).encode(), np.uint8)}

    @classmethod
    def merged(cls, found: Iterable[Arrays1D]) -> dict[str, int]:
        """What all tasks counted."""
        total = cls()
        for arrays in found:
            for name, count in json.loads(arrays["json"].tobytes()).items():
                if name.startswith("largest "):
                    total.largest(name.removeprefix("largest "), count)
                else:
                    total.add(name, count)
        return dict(total._counts)
