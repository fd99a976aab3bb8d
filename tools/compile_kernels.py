"""Compile every kernel and keep its object code, on all cores, so that no test has to.

    python -m tools.compile_kernels

Tests would compile a kernel in each process that calls it before another has kept it, and half as slowly again, since
they measure the coverage meanwhile. Kernels that are kept already are only loaded.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import lookalike
from lookalike.kernels.jit import Kernel


def kernels() -> list[tuple[str, str]]:
    """(module, name) of all kernels, each where it is defined."""
    found = set()
    for info in pkgutil.walk_packages(lookalike.__path__, "lookalike."):
        for name, value in vars(importlib.import_module(info.name)).items():
            if isinstance(value, Kernel) and value.python.__module__ == info.name:
                found.add((info.name, name))
    return sorted(found)


def compile_one(module: str, name: str) -> None:
    getattr(importlib.import_module(module), name).loaded()


def main() -> None:
    modules, names = zip(*kernels(), strict=True)
    # Fresh processes: nothing that this one has loaded is needed, and threads do not survive a fork.
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
        list(pool.map(compile_one, modules, names))
    print(f"{len(names)} kernels are compiled")


if __name__ == "__main__":
    main()
