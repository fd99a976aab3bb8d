"""Kernels stay where they are until the very end of a process."""

from __future__ import annotations

import os
import subprocess
import sys

_HELD = """
from lookalike.collide.band import band_rows


class Holder:
    pass


holder = Holder()
holder.itself, holder.kernel = holder, band_rows.loaded()
"""


def test_garbage_that_holds_a_kernel_does_not_outlive_it() -> None:
    """Python collects it when modules are empty already; what was freed too early is overwritten, and ends it badly."""
    overwriting = os.environ | {"PYTHONMALLOC": "malloc", "MALLOC_PERTURB_": "255"}
    done = subprocess.run([sys.executable, "-c", _HELD], env=overwriting, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
