"""Arrow looks for pandas and loads it, to see whether an array is one of its own: a fifth of a second of every start.

The command line gives it none, so it is told that there is no pandas.
"""

from __future__ import annotations

import sys
from importlib.abc import MetaPathFinder

__all__ = ["load_lean"]


def load_lean() -> None:
    """Load Arrow without what it would load on the side; what is loaded already stays in use."""
    import numpy as np
    import pyarrow as pa

    refusing = _Refusing()
    sys.meta_path.insert(0, refusing)
    try:
        pa.array(np.empty(0)).to_numpy(zero_copy_only=False)
    finally:
        sys.meta_path.remove(refusing)


class _Refusing(MetaPathFinder):
    """Says of pandas that it is not installed."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(f"{name} is not needed here", name=name)
