"""Libraries look for others that they could work with, and load them: a quarter of a second of every start.

Arrow loads pandas to see whether an array is one of its own, Numba loads SciPy to see whether it brings BLAS. The
command line uses neither through them, so both are told that there is none.
"""

from __future__ import annotations

import importlib
import sys
from importlib.abc import MetaPathFinder

__all__ = ["load_lean"]


def load_lean() -> None:
    """Load Arrow and Numba without what they would load on the side; what is loaded already stays in use."""
    import numpy as np
    import pyarrow as pa

    refusing = _Refusing()
    sys.meta_path.insert(0, refusing)
    try:
        pa.array(np.empty(0)).to_numpy(zero_copy_only=False)
        importlib.import_module("numba.np.arraymath")
    finally:
        sys.meta_path.remove(refusing)


class _Refusing(MetaPathFinder):
    """Says of a few modules that they are not installed."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name in ("pandas", "scipy.linalg"):
            raise ModuleNotFoundError(f"{name} is not needed here", name=name)
