"""lookalike finds similar items: near-duplicates, all similar pairs and clusters, by locality-sensitive hashing.

>>> import lookalike
>>> lookalike.pairs("docs.jsonl", threshold=0.8)         # doctest: +SKIP
>>> lookalike.dedup(["one text", "another text"]).table  # doctest: +SKIP
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lookalike.api import clusters, dedup, edges, images, neighbors, pairs, plan, tune
    from lookalike.errors import InputError, LookalikeError, OptionError, OutputError, ServerError, UnavailableError
    from lookalike.index.answers import Match, Near
    from lookalike.index.index import Index
    from lookalike.runs.opened_run import Run
    from lookalike.runs.results import Clusters, Dedup, Pairs
    from lookalike.search.queries import Neighbors
    from lookalike.server.async_client import AsyncClient
    from lookalike.server.client import Client
    from lookalike.theory import Plan
    from lookalike.tuning.tuner import Tuning

__all__ = [
    "AsyncClient",
    "Client",
    "Clusters",
    "Dedup",
    "Index",
    "InputError",
    "LookalikeError",
    "Match",
    "Near",
    "Neighbors",
    "OptionError",
    "OutputError",
    "Pairs",
    "Plan",
    "Run",
    "ServerError",
    "Tuning",
    "UnavailableError",
    "clusters",
    "dedup",
    "edges",
    "images",
    "neighbors",
    "pairs",
    "plan",
    "tune",
]

__version__ = "0.1.0"

_HOME = {
    "AsyncClient": "server.async_client",
    "Client": "server.client",
    "Clusters": "runs.results",
    "Dedup": "runs.results",
    "Index": "index.index",
    "InputError": "errors",
    "LookalikeError": "errors",
    "Match": "index.answers",
    "Near": "index.answers",
    "Neighbors": "search.queries",
    "OptionError": "errors",
    "OutputError": "errors",
    "Pairs": "runs.results",
    "Plan": "theory",
    "Run": "runs.opened_run",
    "ServerError": "errors",
    "Tuning": "tuning.tuner",
    "UnavailableError": "errors",
    "clusters": "api",
    "dedup": "api",
    "edges": "api",
    "images": "api",
    "neighbors": "api",
    "pairs": "api",
    "plan": "api",
    "tune": "api",
}


if not TYPE_CHECKING:  # a type checker would take every name for one that is there

    def __getattr__(name: str) -> Any:
        """Import what is asked for when it is asked for: NumPy and Arrow are heavy, and `--help` needs neither."""
        if name not in _HOME:
            raise AttributeError(f"module 'lookalike' has no attribute {name!r}")
        value = getattr(import_module(f"lookalike.{_HOME[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
