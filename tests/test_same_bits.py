"""Kernels made for another processor give the same bits: here for one without any of this machine's wide registers."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from lookalike.sketch.stable import stable_matrix, stable_slots_of
from lookalike.verify.cosine import norms


def digest() -> str:
    """A hash of slots and lengths of some vectors."""
    vectors = np.random.default_rng(0).normal(size=(40, 78)).astype(np.float32)
    found = hashlib.sha256(norms(vectors).tobytes())
    for order in (1.0, 1.5, 2.0):
        found.update(stable_slots_of(vectors, stable_matrix(78, 20, order, 3), 0.7).tobytes())
    return found.hexdigest()


def test_a_processor_without_wide_registers_gives_the_same_bits(tmp_path: Path) -> None:
    plain = os.environ | {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": "", "NUMBA_CACHE_DIR": str(tmp_path)}
    script = "from tests.test_same_bits import digest; print(digest())"
    path = os.pathsep.join(["src", ".", os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=plain | {"PYTHONPATH": path},
        cwd=Path(__file__).resolve().parents[1],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == digest()
