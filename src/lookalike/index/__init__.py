"""An index that is kept: items are looked up and added one by one."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lookalike.index.answers import Answer, Match, Near
    from lookalike.index.index import Index

__all__ = ["Answer", "Index", "Match", "Near"]

_HOME = {"Answer": "answers", "Index": "index", "Match": "answers", "Near": "answers"}

if not TYPE_CHECKING:  # a type checker would take every name for one that is there

    def __getattr__(name: str) -> Any:
        """Import what is asked for when it is asked for: what only looks at an address need not load NumPy."""
        if name not in _HOME:
            raise AttributeError(f"module 'lookalike.index' has no attribute {name!r}")
        return getattr(import_module(f"lookalike.index.{_HOME[name]}"), name)
