"""What a run is, in plain data: for telling it from another one, and for opening it again.

`describe_run` is known before a run begins, `describe_result` when it is done; `run.json` holds both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lookalike import __version__
from lookalike.config import Config
from lookalike.engines.local.known_items import KnownItems
from lookalike.io.reading.watch import fingerprints
from lookalike.io.source import Source
from lookalike.key import seed_shown
from lookalike.options import ConfigOptions
from lookalike.options.option_table import entries
from lookalike.runs.opened_run import TABLES
from lookalike.runs.run_inputs import source_of
from lookalike.spec import VERSION as SPEC_VERSION

if TYPE_CHECKING:
    from lookalike.runs.results import Clusters, Dedup, Pairs

__all__ = ["decisive_options", "describe_options", "describe_result", "describe_run"]

# Options that decide how a run is computed, not what comes out, or that stand in its description in another way.
_NOT_DECISIVE = ("threads", "memory", "shingle", "compared", "of_text", "strict")


def describe_run(
    kind: str, config: Config, source: Source, against: Source | None, *, annotate: bool = False,
    known: KnownItems | None = None,
) -> dict[str, Any]:  # fmt: skip
    """What a run is, for telling whether an unfinished one can be gone on with; its `kind` is the verb."""
    other = None if against is None else fingerprints(against)
    return {
        "kind": kind,
        **describe_options(config),
        "annotate": annotate,
        "limit": getattr(source, "limit", None),
        "recipe": getattr(source, "recipe", None),
        "inputs": fingerprints(source),
        "against": other if known is None else [known.describe()],
    }


def describe_options(config: Config) -> dict[str, Any]:
    """What of a run does not come from its inputs."""
    options = {name: value for name, value in asdict(config).items() if name not in _NOT_DECISIVE}
    options["seed"] = seed_shown(config.seed)
    options["shingle"] = str(config.shingle)
    options["compare"] = config.compare
    options["normalize"] = sorted(config.shingle.normalize)
    options["tokens"] = _function_name(config.shingle.tokens)
    return {"lookalike": __version__, "hash_spec": SPEC_VERSION, **options}


def describe_result(
    result: Pairs | Clusters | Dedup, run: Path, report: dict[str, Any], kept: list[str]
) -> dict[str, Any]:
    """What it takes to open a run again, see `opened_run.py`; `run` is its folder, `kept` are the files there."""
    found = result.found
    config = found.config
    kept_rows = getattr(result, "kept", None) if config.unit != "document" else None
    more = (
        "pairs",
        "pairs_left_out",
        "clusters",
        "kept",
        "removed",
        "spans",
        "words",
        "words_removed",
        "bytes_removed",
    )
    return {
        "kind": result.kind,
        "options": decisive_options(config),
        "items": {"columns": list(found.items.columns), "id": found.items.id, "form": found.items.form},
        "source": source_of(found.items.source, run),
        "plan": None if found.plan is None else asdict(found.plan),
        "counts": asdict(found.counts) | {name: report[name] for name in more if name in report},
        "tables": [name for name in TABLES[result.kind] if name not in result.left_out],
        "kept": kept,
        "emptied": None if kept_rows is None else np.flatnonzero(~kept_rows).tolist(),
    }


def decisive_options(config: Config) -> dict[str, Any]:
    """Every option that decides what comes out, under its name in Python, with the value that a run had for it."""
    shingle, scale = config.shingle, config.scale
    names = [name for name in entries(ConfigOptions) if hasattr(config, name) and name not in _NOT_DECISIVE]
    of_items: dict[str, list[str] | None] = {"vectors": None, "sets": None, "column": None}
    if not config.compared:
        of_items[config.form or "column"] = list(config.columns) or None
    return {
        **{name: getattr(config, name) for name in names},
        **of_items,
        "measure": None if config.exact or config.span else scale.measure,
        "threshold": None if scale.is_distance or config.span else scale.limit,
        "shingle": str(shingle),
        "normalize": sorted(shingle.normalize),
        "tokens": _function_name(shingle.tokens),
        "verify": "text" if config.verify_text else config.verify,
        "keep": config.keep if isinstance(config.keep, str) else _function_name(config.keep),
        "seed": seed_shown(config.seed),
    }


def _function_name(function: Callable[..., Any] | None) -> str | None:
    """What tells a function from another one when a run is resumed: its module and its name."""
    if function is None:
        return None
    name = getattr(function, "__qualname__", type(function).__qualname__)
    return f"{getattr(function, '__module__', None)}:{name}"
