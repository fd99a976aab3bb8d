"""Modules of Numba, for functions that run only while a kernel is compiled: loaded when something of them is used."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["LaterModule", "cgutils", "extending", "models", "types"]


class LaterModule:
    """A module that is loaded at the first use."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._name), name)

    def __str__(self) -> str:
        return self._name


cgutils = LaterModule("numba.core.cgutils")
extending = LaterModule("numba.extending")
models = LaterModule("numba.core.datamodel.models")
types = LaterModule("numba.core.types")
